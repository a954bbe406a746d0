"""Ask the model about inputs in batches, compare twins, count queries and end the run."""
