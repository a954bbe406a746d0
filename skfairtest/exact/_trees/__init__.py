"""Certificates of models of trees: a branch and bound on pairs of twins, by numba or NumPy."""
