"""Searches for models that are as good and treat groups more alike, and judges what is found."""
