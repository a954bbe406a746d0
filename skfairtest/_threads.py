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

#: Held by the thread that records warnings.
_RECORDS = threading.RLock()

#: What is known of the libraries of BLAS and of OpenMP, and how many modules there were then.
_blas: ThreadpoolController | None = None
_openmp: ThreadpoolController | None = None
_n_modules = 0


class _BlasLimit:
    """One thread of BLAS for as long as any thread of Python wants it.

    Its number of threads is the whole process's: what the second of two found on its way in, and
    gave back on its way out, would be the limit of the first.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._n_inside = 0
        self._limits: list[AbstractContextManager[object]] = []

    def enter(self, libraries: ThreadpoolController) -> None:
        """Limit the threads, unless they are limited."""
        with self._lock:
            self._n_inside += 1
            if not _is_single(libraries):
                self._limits.append(libraries.limit(limits=1))

    def leave(self) -> None:
        """Give back the threads, if nobody else wants them limited."""
        with self._lock:
            self._n_inside -= 1
            while self._limits and not self._n_inside:
                self._limits.pop().__exit__(None, None, None)


_LIMIT = _BlasLimit()


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit OpenMP and BLAS to one thread within a context, or within a decorated function."""
    global _blas, _openmp, _n_modules
    # Older ones do not know a library that was loaded since; to look takes 10 ms.
    if _blas is None or _openmp is None or len(sys.modules) != _n_modules:
        known, _n_modules = ThreadpoolController(), len(sys.modules)
        _blas, _openmp = known.select(user_api="blas"), known.select(user_api="openmp")
    openmp = nullcontext() if _is_single(_openmp) else _openmp.limit(limits=1)
    _LIMIT.enter(_blas)
    try:
        with openmp:  # its number of threads is that of this thread of Python alone
            yield
    finally:
        _LIMIT.leave()


def _is_single(libraries: ThreadpoolController) -> bool:
    # A limit takes as long as a fast model does for a thousand rows.
    return all(library.num_threads == 1 for library in libraries.lib_controllers)


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
        # The latest call counts for one half.
        self._seconds[size, single] = 0.5 * seconds + 0.5 * before

    def _choose(self, size: int) -> bool:
        """Return whether the next batch of this size uses one thread."""
        calls = self._calls[size] = self._calls.get(size, 0) + 1
        if calls <= 2:  # one way, then the other
            return calls == 1
        # Another thread may still be at its first batch.
        one, several = (self._seconds.get((size, way), math.inf) for way in (True, False))
        quicker = one <= several
        return quicker if calls % AGAIN else not quicker
