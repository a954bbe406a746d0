"""Describe which inputs exist, and convert tables to codes and back."""
