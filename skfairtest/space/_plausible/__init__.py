"""Inputs that look like the data: which do, and proposals near rows."""
