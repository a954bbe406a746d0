"""Failures of a cluster of Dask that joblib does not report: no workers, a lost task, no answer.

Joblib waits for ever if a task has failed for good on the cluster's side, or if all workers are
lost. A thread therefore monitors the cluster during the wait. Other clusters are not monitored.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any
from weakref import WeakKeyDictionary

from joblib.parallel import get_active_backend

from skfairtest.workers._versions import PACKAGES, differences

#: Seconds between two checks of a cluster.
EVERY = 0.5
#: Seconds that a cluster may have no workers, or not answer. Workers that died are usually
#: restarted within a few seconds.
WITHOUT_WORKERS = 30.0
#: Seconds without a pending task after which no further result is expected.
NOTHING_UNDER_WAY = 60.0
#: The same before the first task was seen: a broadcast is sent before tasks, and may be large.
NOTHING_SENT = 600.0
#: Seconds within which a client notices that its cluster is gone.
SETTLED = 1.0
#: An expression that gives the versions on a worker.
ASKED = (
    "{name: str(getattr(__import__(name), '__version__', '?'))"
    " if __import__('importlib.util').util.find_spec(name) else None for name in %r}"
    " | {'python': __import__('platform').python_version()}"
)
#: Addresses of the workers that have the versions of this process, by client.
_same: WeakKeyDictionary[Any, set[str]] = WeakKeyDictionary()
#: How the names of joblib's tasks on a cluster of Dask begin.
TASK = "batch_of_"
#: A timeout, in seconds, that makes joblib stop waiting at once.
AT_ONCE = 1e-6


def dask_client() -> Any:
    """Return the client of Dask of joblib's context; None if the context is another one."""
    backend, _ = get_active_backend()
    known = type(backend).__name__ == "DaskDistributedBackend"
    return getattr(backend, "client", None) if known else None


def worker_address() -> str | None:
    """Return the address of the worker that runs this task; None outside of tasks of Dask."""
    if "distributed" not in sys.modules:
        return None
    from distributed import get_worker

    try:
        return str(get_worker().address)
    except ValueError:
        return None


def is_gone(client: Any) -> bool:
    """Return whether a client has lost its cluster, or was closed.

    It waits a second for the client to notice, since tasks are cancelled before that.
    """
    if client is None:
        return False
    until = time.monotonic() + SETTLED
    while getattr(client, "status", "running") == "running":
        if time.monotonic() >= until:
            return False
        time.sleep(EVERY / 10)
    return True


def other_versions(client: Any) -> list[str]:
    """List, in a line each, the packages that workers lack or have in other versions.

    This is done before any task is sent, since a worker that cannot unpickle a task may die. Each
    worker is asked once.
    """
    if client is None:
        return []
    known = _same.setdefault(client, set())
    new = set(client.ncores()) - known
    if not new:
        return []
    lines = []
    # A text, since a worker without this package could not unpickle any of its functions.
    seen = client.run(eval, ASKED % (PACKAGES,), workers=sorted(new), on_error="return")
    for address, theirs in sorted(seen.items()):
        if not isinstance(theirs, dict):  # the worker was lost meanwhile
            continue
        wrong = differences(theirs)
        lines += [f"worker {address} has {line}" for line in wrong]
        if not wrong:
            known.add(address)
    return lines


def wait_for_workers(client: Any, n: int) -> None:
    """Wait until there are n workers again: those that died are restarted."""
    if client is not None and n > 0:
        with contextlib.suppress(Exception):  # the next call to the cluster reports what is wrong
            client.wait_for_workers(n, timeout=WITHOUT_WORKERS)


class ClusterMonitor:
    """Monitor a cluster of Dask from a thread, and stop joblib from waiting for ever.

    Parameters
    ----------
    parallel : joblib.Parallel
        The call that waits for results.

    Attributes
    ----------
    trouble : str or None
        Why the wait was ended; None while it was not.
    """

    def __init__(self, parallel: Any) -> None:
        self.trouble: str | None = None
        self._parallel, self._client = parallel, dask_client()
        self._over = threading.Event()
        self._began = time.monotonic()
        self._waiting = False

    def __enter__(self) -> ClusterMonitor:
        if self._client is not None:
            threading.Thread(target=self._monitor, name="skfairtest-monitor", daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()

    def over(self, results: Iterator[Any]) -> Iterator[Any]:
        """Yield the results, and note since when each is waited for."""
        while True:
            self._began, self._waiting = time.monotonic(), True
            try:
                result = next(results)
            except StopIteration:
                return
            finally:
                self._waiting = False
            yield result

    def _monitor(self) -> None:
        without: float | None = None
        nothing: float | None = None
        silent: float | None = None
        sent = False
        while not self._over.wait(EVERY):
            now = time.monotonic()
            try:
                states = {key: state.status for key, state in list(self._client.futures.items())}
                failed = [key for key, state in states.items() if state == "error"]
                failed = [key for key in failed if str(key).startswith(TASK)]
                n_workers = len(self._client.ncores())
            except Exception:  # the cluster is closing, which joblib notices if a task was sent
                silent = silent or now
                if now - silent > WITHOUT_WORKERS:
                    self._end(f"it has not answered for {now - silent:.0f} seconds")
                    return
                continue
            silent = None
            if failed:
                self._end(f"a task could not be done there ({self._error_of(failed[0])})")
                return
            without = None if n_workers else (without or now)
            if without is not None and now - without > WITHOUT_WORKERS:
                self._end(f"it has had no workers for {now - without:.0f} seconds")
                return
            under_way = "pending" in states.values()
            # A task may end between two checks, and is then seen in its last state only.
            if not sent and (under_way or any(str(key).startswith(TASK) for key in states)):
                sent, nothing = True, None
            nothing = None if under_way or not self._waiting else (nothing or now)
            most = NOTHING_UNDER_WAY if sent else NOTHING_SENT
            if nothing is not None and now - max(nothing, self._began) > most:
                self._end("results are missing, though nothing is under way any more")
                return

    def _error_of(self, key: Any) -> str:
        error = getattr(self._client.futures.get(key), "exception", None)
        return "for an unknown reason" if error is None else f"{type(error).__name__}: {error}"

    def _end(self, trouble: str) -> None:
        self.trouble = trouble
        self._parallel.timeout = AT_ONCE
