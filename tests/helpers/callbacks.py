"""A callback as scikit-learn calls it."""


class Ticks:
    """Counts the ticks, and asks to stop at the given one."""

    def __init__(self, stop_at=None):
        self.stop_at, self.ticks = stop_at, 0

    def setup(self, estimator, context):
        """Begin."""

    teardown = setup

    def on_fit_task_begin(self, estimator, context):
        """Begin a task."""

    def on_fit_task_end(self, estimator, context):
        """Count."""
        self.ticks += 1
        return self.stop_at is not None and self.ticks >= self.stop_at
