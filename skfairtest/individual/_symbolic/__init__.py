"""Symbolic generation (SG): local explanations as paths of constraints to solve."""
