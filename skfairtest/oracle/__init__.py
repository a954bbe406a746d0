"""Asks the model: predictions in batches, cached, compared among twins, counted; ends the run."""
