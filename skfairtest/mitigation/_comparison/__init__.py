"""Ways to mitigate side by side."""
