"""Training a model again on what was found: the course, its rounds, and what guards them."""
