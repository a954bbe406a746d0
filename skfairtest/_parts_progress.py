"""How many parts of a call are done: a bar in a terminal, lines elsewhere, or callbacks."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from typing import Any

from skfairtest import _clock
from skfairtest._progress import CallbackSupportMixin


class Progress:
    """Shows nothing; the base of those that do."""

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


class Lines(Progress):
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


class Bar(Progress):
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


class Callbacks(Progress):
    """Callbacks of scikit-learn, which the estimators inside tell of their progress."""

    def __init__(self, callbacks: tuple[Any, ...]) -> None:
        self.callbacks = callbacks


def make_progress(given: Any) -> Progress:
    """What `progress=` stands for.

    "auto" is a bar where standard error is a terminal and rich is installed, else plain lines;
    True is plain lines; False is nothing; anything else is a callback of scikit-learn, or several.
    """
    if given is False or given is None:
        return Progress()
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
