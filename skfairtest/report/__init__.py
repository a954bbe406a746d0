"""One call to audit a model, and the report for those who decide."""

__all__: list[str] = []
