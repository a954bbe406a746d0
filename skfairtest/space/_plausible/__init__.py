"""Inputs that look like the data: their judge, and proposals near rows."""
