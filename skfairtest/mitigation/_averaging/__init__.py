"""Predicting the mean over the sensitive values."""
