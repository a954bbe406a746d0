"""A surrogate tree of the model, whose regions are searched for discriminatory inputs."""
