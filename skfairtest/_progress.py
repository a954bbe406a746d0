"""Progress of a fit in percent of its budget, and of a call in its parts."""

from __future__ import annotations

import os
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar, copy_context
from html import escape
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
#: Seconds between two drawings of what is known so far.
EVERY = 0.5
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
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
    #: Parts that the call has; fewer where one turns out not to be needed.
    n_parts = 0
    #: Gives what is known so far, in paragraphs of a width; None where the call has no such page.
    page: Callable[[int], list[str]] | None = None

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


class Live(PartsProgress):
    """What is known so far, and below it what runs now, drawn anew on a screen until the end.

    A thread draws, so that no part is silent, and the main thread only notes what there is to draw:
    neither a mistake here nor Ctrl-C ends the call. The clock is the real one even in tests, as it
    affects no result.
    """

    def __init__(self, screen: Screen, clock: Callable[[], float] = time.perf_counter) -> None:
        self.screen, self.clock = screen, clock
        self._thread: threading.Thread | None = None
        self._ended = threading.Event()

    def begin(self, what: str, n_parts: int) -> None:
        """Begin to draw, and to listen to what the parts tell."""
        self.what, self.n_parts, self.began = what, n_parts, self.clock()
        self.brought: list[str] = []
        self._paragraphs: list[str] = []
        self._drawn: Any = None  # what the paragraphs were made of
        self.part("")
        self._before = _LISTENER.set(self.tell)
        with suppress(Exception):
            self.screen.open()
            # In this context, where notebooks keep which cell runs.
            run = copy_context().run
            self._thread = threading.Thread(target=run, args=(self._keep_drawing,), daemon=True)
            self._thread.start()

    def part(self, name: str) -> None:
        """Note which part runs."""
        self.now: tuple[str, float | None, str] = name, None, ""

    def tell(self, share: float | None, words: str) -> None:
        """Note how far the part has come."""
        self.now = self.now[0], share, words

    def done(self, words: str) -> None:
        """Note what the part brought."""
        self.brought.append(words)

    def finish(self) -> None:
        """Take everything away."""
        _LISTENER.reset(self._before)
        self._ended.set()
        with suppress(Exception, KeyboardInterrupt):  # what was found would be lost
            if self._thread is not None:
                self._thread.join()
                self.screen.close()

    def _keep_drawing(self) -> None:
        while not self._ended.is_set():
            with suppress(Exception):
                self.screen.show(self.rows(*self.screen.size()))
            self._ended.wait(EVERY)

    def rows(self, width: int, height: int) -> list[str]:
        """What stands in a window of this size; where it is too low, each paragraph begun."""
        drawn = len(self.brought), width
        if drawn[0] and drawn != self._drawn:
            self._drawn = drawn
            with suppress(Exception):
                self._paragraphs = self.brought if self.page is None else self.page(width)
        most = max(0, height - 2)
        rows = [row for one in self._paragraphs for row in one.split("\n")]
        if len(rows) > most:
            begun = [one.partition("\n") for one in self._paragraphs]
            rows = [f"{first} ..." if rest else first for first, _, rest in begun][:most]
        # Names of columns may hold what a terminal takes for commands.
        return [CONTROL.sub("?", row)[:width] for row in [*rows, self._status()]]

    def _status(self) -> str:
        name, share, words = self.now
        place = min(len(self.brought) + 1, self.n_parts)
        far = "" if share is None else f" {min(share, 1.0):.0%}"
        told = ", ".join(filter(None, [f"{name}{far}", words]))
        return f"[{self.what} {place}/{self.n_parts}, {self.clock() - self.began:.1f} s] {told}"


class Screen:
    """Rows at the cursor of a terminal, each drawn over the ones before."""

    def __init__(self) -> None:
        self.stream, self._n_rows = sys.stderr, 1

    def size(self) -> tuple[int, int]:
        """Width and height of the window."""
        try:
            width, height = os.get_terminal_size(self.stream.fileno())
        except (OSError, ValueError):
            width = height = 0
        return width or 80, height or 24

    def open(self) -> None:
        """Begin."""

    def show(self, rows: list[str]) -> None:
        """Draw these rows in place of those before."""
        up = f"\x1b[{self._n_rows - 1}A" if self._n_rows > 1 else ""
        # Without wrapping, so that a row is a row however wide its letters are.
        text = "\n".join(rows)
        self.stream.write(f"\r{up}\x1b[J\x1b[?7l{text}\x1b[?7h")
        self.stream.flush()
        self._n_rows = len(rows)

    def close(self) -> None:
        """Take the rows away."""
        self.show([""])


class RichScreen(Screen):
    """The same by rich, above which stands what others print meanwhile."""

    def open(self) -> None:
        """Begin in the thread that ends it: rich puts its own in place of standard output."""
        from rich.console import Console
        from rich.live import Live as RichLive

        console = Console(file=self.stream)
        self.live = RichLive(console=console, auto_refresh=False, transient=True)
        self.live.start()

    def show(self, rows: list[str]) -> None:
        """Draw these rows in place of those before."""
        from rich.text import Text

        self.live.update(Text("\n".join(rows), no_wrap=True, overflow="crop"), refresh=True)

    def close(self) -> None:
        """Take the rows away."""
        self.live.stop()


class Cell(Screen):
    """The output of a cell in a notebook."""

    handle: Any = None

    def size(self) -> tuple[int, int]:
        """As wide as a page; a cell is as high as what it shows."""
        return 88, 1000

    def show(self, rows: list[str]) -> None:
        """Draw these rows in place of those before."""
        text = "\n".join(rows)
        self._display({"text/plain": text, "text/html": f"<pre>{escape(text)}</pre>"})

    def close(self) -> None:
        """Leave an empty output."""
        self._display({"text/plain": "", "text/html": ""})

    def _display(self, data: dict[str, str]) -> None:
        from IPython.display import display

        if self.handle is None:
            self.handle = display(data, raw=True, display_id=True)
        else:
            self.handle.update(data, raw=True)


def _screen() -> Screen | None:
    """Where progress can be drawn; None where there are only lines, as in a log."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if getattr(shell, "kernel", None) is not None:
        return Cell()
    if sys.stderr is None or not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        return None
    if find_spec("rich") is not None:
        return RichScreen()
    # Older consoles of Windows have no commands.
    return Screen() if os.name != "nt" or "WT_SESSION" in os.environ else None


class Callbacks(PartsProgress):
    """Callbacks of scikit-learn, which the estimators inside tell of their progress."""

    def __init__(self, callbacks: tuple[Any, ...]) -> None:
        self.callbacks = callbacks


def make_progress(given: Any) -> PartsProgress:
    """What `progress=` stands for.

    "auto" is drawn in a terminal and a notebook, and plain lines elsewhere; True is plain lines;
    False is nothing; anything else is a callback of scikit-learn, or several.
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
        screen = _screen()
        return Lines() if screen is None else Live(screen)
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
