"""What joblib does not say of a cluster of Dask: it has gone, has no workers, lost a task.

joblib waits for ever where a task failed for good on the cluster's side, or where all workers went.
A thread looks on meanwhile. Of other clusters nothing is known here, and joblib's word counts.
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

#: Seconds between two looks at a cluster.
EVERY = 0.5
#: Seconds that a cluster may be without workers, or not answer: those that died are started anew in
#: a few.
WITHOUT_WORKERS = 30.0
#: Seconds without a task under way after which none is expected any more.
NOTHING_UNDER_WAY = 60.0
#: The same where no task has been seen yet: what tasks need is sent before them, and may be large.
NOTHING_SENT = 600.0
#: Seconds in which a client gets to know that its cluster has gone.
SETTLED = 1.0
#: What tells the versions on a worker.
ASKED = (
    "{name: str(getattr(__import__(name), '__version__', '?'))"
    " if __import__('importlib.util').util.find_spec(name) else None for name in %r}"
    " | {'python': __import__('platform').python_version()}"
)
#: Workers whose versions are ours, by clients.
_same: WeakKeyDictionary[Any, set[str]] = WeakKeyDictionary()
#: How joblib names its tasks on a cluster of Dask.
TASK = "batch_of_"
#: What makes joblib stop waiting, in seconds.
AT_ONCE = 1e-6


def dask_client() -> Any:
    """The client of the cluster that joblib's context sends tasks to; None where it is no Dask."""
    backend, _ = get_active_backend()
    known = type(backend).__name__ == "DaskDistributedBackend"
    return getattr(backend, "client", None) if known else None


def worker_address() -> str | None:
    """The address of the worker whose task this is; None outside of tasks of a cluster of Dask."""
    if "distributed" not in sys.modules:
        return None
    from distributed import get_worker

    try:
        return str(get_worker().address)
    except ValueError:
        return None


def is_gone(client: Any) -> bool:
    """Whether a client has lost its cluster, or was closed; asked after an error that says so.

    Tasks are cancelled before the client knows why.
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
    """Workers on which packages are missing or of other versions, in a line each.

    Asked before anything else is sent: a worker that cannot read its task may die of it. Workers
    that were asked once are not asked again.
    """
    if client is None:
        return []
    known = _same.setdefault(client, set())
    new = set(client.ncores()) - known
    if not new:
        return []
    lines = []
    # Text, as a worker without this package could not read any of its functions.
    seen = client.run(eval, ASKED % (PACKAGES,), workers=sorted(new), on_error="return")
    for address, theirs in sorted(seen.items()):
        if not isinstance(theirs, dict):  # it has gone meanwhile
            continue
        wrong = differences(theirs)
        lines += [f"worker {address} has {line}" for line in wrong]
        if not wrong:
            known.add(address)
    return lines


def wait_for_workers(client: Any, n: int) -> None:
    """Until there are as many workers as there were: those that died are started anew."""
    if client is not None and n > 0:
        with contextlib.suppress(Exception):  # whoever asks next says what is wrong
            client.wait_for_workers(n, timeout=WITHOUT_WORKERS)


class Watch:
    """Looks at a cluster while results are waited for, and ends the waiting that would not end.

    Parameters
    ----------
    parallel : joblib.Parallel
        That waits.

    Attributes
    ----------
    trouble : str or None
        Why the waiting was ended.
    """

    def __init__(self, parallel: Any) -> None:
        self.trouble: str | None = None
        self._parallel, self._client = parallel, dask_client()
        self._over = threading.Event()
        self._began = time.monotonic()
        self._waiting = False

    def __enter__(self) -> Watch:
        if self._client is not None:
            threading.Thread(target=self._look_on, name="skfairtest-watch", daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()

    def over(self, results: Iterator[Any]) -> Iterator[Any]:
        """The results, and a look at how long each is waited for."""
        while True:
            self._began, self._waiting = time.monotonic(), True
            try:
                result = next(results)
            except StopIteration:
                return
            finally:
                self._waiting = False
            yield result

    def _look_on(self) -> None:
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
            except Exception:  # it goes away, which joblib notices itself where a task was sent
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
            # A task may fail between two looks, and be seen in its last state only.
            if not sent and (under_way or any(str(key).startswith(TASK) for key in states)):
                sent, nothing = True, None
            nothing = None if under_way or not self._waiting else (nothing or now)
            most = NOTHING_UNDER_WAY if sent else NOTHING_SENT
            if nothing is not None and now - max(nothing, self._began) > most:
                self._end("results are missing, though nothing is under way any more")
                return

    def _error_of(self, key: Any) -> str:
        error = getattr(self._client.futures.get(key), "exception", None)
        return "for a reason unknown" if error is None else f"{type(error).__name__}: {error}"

    def _end(self, trouble: str) -> None:
        self.trouble = trouble
        self._parallel.timeout = AT_ONCE
