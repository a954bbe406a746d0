"""Describe which inputs exist, and convert tables to encoded rows and back."""
