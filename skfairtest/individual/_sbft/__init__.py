"""SBFT: search-based fairness testing, as published and tuned."""
