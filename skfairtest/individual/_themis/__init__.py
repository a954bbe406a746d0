"""Themis: causal discrimination and group discrimination with intervals."""
