"""Inputs that the model is asked about in place of the rows themselves."""
