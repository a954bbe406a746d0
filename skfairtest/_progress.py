"""Progress of a fit in percent of its budget, and of a call in its parts."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from importlib.util import find_spec
from typing import Any

from skfairtest import _clock

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
    "PartsProgress",
    "Progress",
    "listening",
    "make_progress",
    "tell",
    "with_callbacks",
]

STEPS = 100
#: How warnings of the table begin, which are given once, though it is looked at in several places.
ABOUT_X = "X (seems to hold the target|holds columns that identify rows)"

#: Who is told how far a long part is, in this context: threads that a part starts tell nobody.
_LISTENER: ContextVar[Callable[[float | None, str], None] | None] = ContextVar(
    "listener", default=None
)


def tell(share: float | None, words: str) -> None:
    """Tell whoever listens, such as a call of `audit`, how far the part that runs has come.

    It takes less than a microsecond where nobody listens, and about one where somebody does: call
    it after each batch, not for each row.

    Parameters
    ----------
    share : float or None
        What is done of all that is to be done, from 0 to 1; None where nobody knows.
    words : str
        How far that is: "1,200 of 30,000 rows", "between 0.41 and 0.6".
    """
    listener = _LISTENER.get()
    if listener is not None:
        listener(share, words)


@contextmanager
def listening(listener: Callable[[float | None, str], None]) -> Iterator[None]:
    """Pass what is told within a context, in this thread, to a function."""
    token = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(token)


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
        tell(share, line)
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


# Calls that have parts ------------------------------------------------------------------------


class PartsProgress:
    """Progress of a call such as `audit`, by its parts; this one shows nothing."""

    #: Callbacks for the estimators that report their own progress.
    callbacks: tuple[Any, ...] = ()

    def begin(self, what: str, n_parts: int) -> None:
        """The call, named `what`, begins."""

    def part(self, name: str) -> None:
        """A part begins."""

    def done(self, words: str) -> None:
        """A part has ended; `words` say which, and what it brought."""

    def finish(self) -> None:
        """The call has ended."""


class Lines(PartsProgress):
    """A line a part, on standard error."""

    def begin(self, what: str, n_parts: int) -> None:
        """Start the clock."""
        self.began = _clock.now()
        self.what, self.n_parts, self.n_done = what, n_parts, 0

    def done(self, words: str) -> None:
        """Print what the part brought."""
        self.n_done += 1
        seconds = _clock.now() - self.began
        print(
            f"[{self.what} {self.n_done}/{self.n_parts}, {seconds:.1f} s] {words}",
            file=sys.stderr,
            flush=True,
        )


class Bar(PartsProgress):
    """A bar by rich, which shows the part that runs."""

    def begin(self, what: str, n_parts: int) -> None:
        """Show the bar."""
        from rich.console import Console
        from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as RichProgress

        self.bar = RichProgress(
            SpinnerColumn(),
            BarColumn(),
            TextColumn("{task.completed}/{task.total}"),
            TimeElapsedColumn(),
            # Names of columns may hold what rich takes for markup.
            TextColumn("{task.description}", markup=False),
            console=Console(stderr=True),
            transient=True,
        )
        self.task = self.bar.add_task(what, total=n_parts)
        self.bar.start()

    def part(self, name: str) -> None:
        """Show the name of the part."""
        self.bar.update(self.task, description=name)

    def done(self, words: str) -> None:
        """Print what the part brought above the bar."""
        self.bar.console.print(words, markup=False, highlight=False)
        self.bar.advance(self.task)

    def finish(self) -> None:
        """Take the bar away."""
        self.bar.stop()


class Callbacks(PartsProgress):
    """Callbacks of scikit-learn, which the estimators inside tell of their progress."""

    def __init__(self, callbacks: tuple[Any, ...]) -> None:
        self.callbacks = callbacks


def make_progress(given: Any) -> PartsProgress:
    """What `progress=` stands for.

    "auto" is a bar where standard error is a terminal and rich is installed, else plain lines;
    True is plain lines; False is nothing; anything else is a callback of scikit-learn, or several.
    """
    if given is False or given is None:
        return PartsProgress()
    if given is True:
        return Lines()
    if isinstance(given, str):
        if given != "auto":
            raise ValueError(
                f"progress must be 'auto', True, False, a callback or several; got {given!r}."
            )
        terminal = sys.stderr is not None and sys.stderr.isatty()
        return Bar() if terminal and find_spec("rich") is not None else Lines()
    callbacks = tuple(given) if isinstance(given, (list, tuple)) else (given,)
    missing = [c for c in callbacks if not hasattr(c, "on_fit_task_end")]
    if missing:
        raise TypeError(
            "progress must be 'auto', True, False, or callbacks of scikit-learn such as "
            f"sklearn.callback.ProgressBar(); got {missing[0]!r}."
        )
    # Where scikit-learn has none, this says so before anything runs.
    if not hasattr(CallbackSupportMixin, "_init_callback_context"):
        CallbackSupportMixin().set_callbacks(*callbacks)
    return Callbacks(callbacks)
