"""Progress in percent of the budget, for scikit-learn's callbacks and for `verbose` lines."""

from __future__ import annotations

from typing import Any

try:  # scikit-learn 1.9 and later
    from sklearn.callback import CallbackSupportMixin, with_callbacks

    #: Calls that scikit-learn puts between a user's fit and ours.
    FIT_WRAPPERS = 1
except ImportError:  # pragma: no cover - which branch runs depends on the environment
    FIT_WRAPPERS = 0

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands in for scikit-learn's mixin where the installed version has none."""

        def set_callbacks(self, *callbacks: Any) -> Any:
            """Refuse callbacks, which the installed scikit-learn does not support."""
            from sklearn import __version__

            raise AttributeError(
                f"Callbacks need scikit-learn 1.9 or later; got {__version__}. Use verbose=1, or "
                f"upgrade."
            )

    def with_callbacks(method: Any) -> Any:
        """Return the method as it is."""
        return method


__all__ = [
    "ABOUT_X",
    "FIT_WRAPPERS",
    "CallbackSupportMixin",
    "Progress",
    "with_callbacks",
]

STEPS = 100
#: How warnings of the table begin, which are said once, though it is looked at in several places.
ABOUT_X = "X (seems to hold the target|holds columns that say who)"


class Progress:
    """Report the share of the budget that is spent, in at most a hundred ticks.

    Parameters
    ----------
    auditor : estimator
        Estimator whose callbacks are called.
    X : object
        Training table, passed on to the callbacks.
    verbose : int
        1 prints ten lines in a run, 2 a line for each percent.
    """

    def __init__(self, auditor: Any, X: Any, verbose: int) -> None:
        self.auditor = auditor
        self.verbose = verbose
        self.done = 0
        self.context: Any = None
        if hasattr(auditor, "_init_callback_context"):
            self.context = auditor._init_callback_context(max_subtasks=STEPS)
            self.context.call_on_fit_task_begin(estimator=auditor, X=X)

    def update(self, share: float, line: str) -> bool:
        """Report the share of the budget that is spent; return True if a callback asks to stop."""
        stop = False
        target = min(STEPS, int(share * STEPS + 1e-9))
        every = STEPS // 10 if self.verbose == 1 else 1
        if self.verbose and target // every > self.done // every:
            print(f"[{type(self.auditor).__name__}] {target:3d}%  {line}")
        while self.done < target:
            self.done += 1
            if self.context is not None:
                tick = self.context.subcontext(task_name="search")
                tick.call_on_fit_task_begin(estimator=self.auditor)
                stop |= bool(tick.call_on_fit_task_end(estimator=self.auditor))
        return stop

    def finish(self) -> None:
        """Report that the run has ended, whatever is left of the budget."""
        if self.context is not None:
            self.context.call_on_fit_task_end(estimator=self.auditor)
