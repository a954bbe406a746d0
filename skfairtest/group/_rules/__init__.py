"""Attributes as conditions, and every rule over them."""
