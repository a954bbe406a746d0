"""Threads of OpenMP and BLAS: one for small batches, for large ones whatever was faster of late.

Threads that wait for cores which other work uses cost many times what they save, and sums that
several threads share change in their last bits with the number of cores. So the models that the
package trains for itself always use one thread. No result depends on the choices made here.
"""

from __future__ import annotations

import math
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

from threadpoolctl import ThreadpoolController

#: Rows up to which a batch has one thread: starting several takes as long as the work.
FEW_ROWS = 256
#: Rows up to which models are trained with one thread. Fixed, not timed: sums that several threads
#: share change in their last bits, and with them trees.
FEW_TO_TRAIN = 10_000
#: How often the slower way is tried again, in calls: other work comes and goes.
AGAIN = 16
#: Weight of the latest call in what is known of the time of a row.
LATEST = 0.5

#: Held by the thread that records warnings.
_RECORDS = threading.RLock()

_controller: ThreadpoolController | None = None
_n_modules = 0


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit OpenMP and BLAS to one thread within a context, or within a decorated function."""
    global _controller, _n_modules
    # An older controller does not know a library that was loaded since; a new one takes 10 ms.
    if _controller is None or len(sys.modules) != _n_modules:
        _controller, _n_modules = ThreadpoolController(), len(sys.modules)
    if all(library.num_threads == 1 for library in _controller.lib_controllers):
        yield  # a limit takes as long as a fast model does for a thousand rows
        return
    with _controller.limit(limits=1):
        yield


@contextmanager
def taking_turns() -> Iterator[None]:
    """Let one thread at a time into a context, or a decorated function, that records warnings.

    Python's warnings are the whole process's: two threads would get each other's.
    """
    with _RECORDS:
        yield


def threads_to_train(n_rows: int) -> AbstractContextManager[None]:
    """Return the context in which the user's model is trained on this number of rows."""
    return one_thread() if n_rows <= FEW_TO_TRAIN else nullcontext()


class Threads:
    """Choose between one thread and the number that the user set, by the time of earlier calls.

    Batches of about the same size are compared. The clock is the real one even in tests, as it
    affects nothing but speed.
    """

    def __init__(self) -> None:
        self._seconds: dict[tuple[int, bool], float] = {}
        self._calls: dict[int, int] = {}

    @contextmanager
    def of(self, n_rows: int) -> Iterator[None]:
        """Limit threads, or not, in a context in which a batch of this size is predicted."""
        if n_rows <= FEW_ROWS:
            with one_thread():
                yield
            return
        size = int(n_rows).bit_length()
        single = self._choose(size)
        began = time.perf_counter()
        with one_thread() if single else nullcontext():
            yield
        seconds = (time.perf_counter() - began) / n_rows
        before = self._seconds.get((size, single), seconds)
        self._seconds[size, single] = LATEST * seconds + (1 - LATEST) * before

    def _choose(self, size: int) -> bool:
        """Return whether the next batch of this size uses one thread."""
        calls = self._calls[size] = self._calls.get(size, 0) + 1
        if calls <= 2:  # one way, then the other
            return calls == 1
        # Another thread may still be at its first batch.
        one, several = (self._seconds.get((size, way), math.inf) for way in (True, False))
        quicker = one <= several
        return quicker if calls % AGAIN else not quicker
