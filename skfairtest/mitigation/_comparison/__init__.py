"""Methods of mitigation side by side."""
