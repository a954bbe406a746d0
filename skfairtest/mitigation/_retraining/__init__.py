"""Training a model again on what was found: its rounds, and what guards them."""
