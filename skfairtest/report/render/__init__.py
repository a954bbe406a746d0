"""A report in the forms that people read."""
