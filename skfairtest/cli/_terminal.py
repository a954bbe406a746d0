"""Writes results to standard output, and everything else to standard error."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import warnings
from collections.abc import Iterator
from typing import Any


def note(text: str) -> None:
    """Write a line that the user should know to standard error."""
    print(f"skfairtest: {text}", file=sys.stderr, flush=True)


def say(text: str) -> None:
    """Write a result to standard output, and ignore a reader that has closed it."""
    try:
        print(text, flush=True)
    except UnicodeEncodeError:
        encoding = sys.stdout.encoding or "ascii"
        print(text.encode(encoding, "replace").decode(encoding), flush=True)
    except BrokenPipeError:
        # The interpreter would complain when it flushes at its end.
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextlib.contextmanager
def models_prints_aside() -> Iterator[None]:
    """Send what a model prints to standard error, because standard output is for results.

    Also what compiled code and other processes print, where there are real files behind the two.
    """
    kept = None
    with contextlib.suppress(OSError, ValueError, AttributeError):
        if sys.stdout.fileno() == 1:
            sys.stdout.flush()
            kept = os.dup(1)
            os.dup2(2, 1)
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    finally:
        if kept is not None:
            sys.stderr.flush()
            os.dup2(kept, 1)
            os.close(kept)


@contextlib.contextmanager
def plain_warnings() -> Iterator[None]:
    """Show warnings as one line each, without the line of code that raised them."""

    def show(message: Any, category: Any, *place: Any, **more: Any) -> None:
        note(f"{category.__name__}: {str(message).splitlines()[0] if str(message) else ''}")

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


@contextlib.contextmanager
def ended_like_interrupted() -> Iterator[None]:
    """Treat SIGTERM, which CI services and `timeout` send, like Ctrl-C."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
