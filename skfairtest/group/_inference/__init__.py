"""Intervals, tests and corrections."""
