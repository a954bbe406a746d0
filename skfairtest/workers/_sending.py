"""Work sent to the workers of joblib's context: threads, processes of this machine, or a cluster.

What many tasks need, such as the model, is a `Broadcast`: it travels to each worker once, instead
of once with each task, or with each call that sends tasks. Threads use the caller's own object.
"""

from __future__ import annotations

import os
import pickle
import platform
import uuid
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from typing import Any

import numpy as np
from joblib import effective_n_jobs, parallel_config, wrap_non_picklable_objects
from joblib.parallel import get_active_backend
from sklearn.utils.parallel import Parallel, delayed

from skfairtest.exceptions import WorkersFailedError, users_level
from skfairtest.workers._cluster import (
    ClusterMonitor,
    dask_client,
    is_gone,
    other_versions,
    wait_for_workers,
    worker_address,
)
from skfairtest.workers._versions import differences, versions

#: Number of broadcasts that a worker keeps unpickled; a search over models sends one after another.
KEPT = 4
#: How often tasks are repeated whose workers were lost.
AGAIN = 1
#: Backends of joblib whose workers are on this machine.
LOCAL = frozenset({
    "SequentialBackend", "ThreadingBackend", "LokyBackend", "MultiprocessingBackend",
})  # fmt: skip
_opened: OrderedDict[str, Any] = OrderedDict()


class Broadcast:
    """An object that travels to each worker once.

    It is pickled as a name and an array of bytes. Joblib's processes read large arrays from a file
    that is written once, and a cluster scatters large arguments once. A worker that has the name
    already unpickles nothing, and later calls send the name alone, as a `BroadcastRef`.

    Parameters
    ----------
    content : object
        The object. It is pickled by pickle or, where that fails, by cloudpickle.
    """

    def __init__(self, content: Any) -> None:
        self._content = content
        self.name = uuid.uuid4().hex
        #: Names of the clusters, or of the processes of this machine, that it was sent to.
        self.sent_to: set[str] = set()
        self._bytes: Any = None
        self._versions: dict[str, str] = {}
        #: The error of pickling the content, where that failed.
        self.failure: Exception | None = None

    def content(self) -> Any:
        """Return the object.

        Raises
        ------
        WorkersFailedError
            On a worker that has other versions of packages than the process that pickled it.
        """
        if self._content is None and self._bytes is not None:
            # Unpickled here and not on arrival, since clusters report errors on arrival badly.
            wrong = differences(versions(), self._versions)
            if wrong:
                raise WorkersFailedError(
                    _differ([f"worker {_here()} has {line}" for line in wrong])
                )
            self._content = pickle.loads(self._bytes.tobytes())
        return self._content

    def packed(self) -> Any:
        """Return the pickled content as an array of bytes.

        Raises
        ------
        TypeError
            If neither pickle nor cloudpickle can write it.
        """
        if self._bytes is None:
            try:
                wrapped = wrap_non_picklable_objects(self._content, keep_wrapper=False)
                self._bytes = np.frombuffer(pickle.dumps(wrapped), dtype=np.uint8)
            except Exception as error:
                self.failure = error
                raise TypeError(f"{type(error).__name__}: {error}") from error
        return self._bytes

    def __reduce__(self) -> Any:
        # A scheduler of Dask unpickles small ones and pickles them again; its versions may differ.
        return _arrive, (self.name, self.packed(), self._versions or versions())

    def __sizeof__(self) -> int:
        # Clusters of Dask scatter arguments by the size that they report.
        try:
            return object.__sizeof__(self) + int(self.packed().nbytes)
        except TypeError:
            return object.__sizeof__(self)


class Reply(Enum):
    """An answer of a worker in place of a result."""

    NOT_HERE = "not here"


class BroadcastRef:
    """A reference, by name, to a broadcast that was sent to the workers before.

    Parameters
    ----------
    name : str
        Name of the broadcast.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def content(self) -> Any:
        """Return the broadcast's object, or `Reply.NOT_HERE` if this worker does not have it."""
        return _opened[self.name].content() if self.name in _opened else Reply.NOT_HERE


def _arrive(name: str, packed: Any, packed_with: dict[str, str]) -> Broadcast:
    """Return the broadcast of this name on a worker, which keeps the latest ones unpickled."""
    if name not in _opened:
        broadcast = Broadcast(None)
        broadcast.name, broadcast._bytes, broadcast._versions = name, np.array(packed), packed_with
        _opened[name] = broadcast
        while len(_opened) > KEPT:
            _opened.popitem(last=False)
    _opened.move_to_end(name)
    found: Broadcast = _opened[name]
    return found


def _here() -> str:
    """Name this process: by its address on a cluster of Dask, else by machine and process id."""
    return worker_address() or f"{platform.node()}, process {os.getpid()},"


def _differ(lines: list[str]) -> str:
    return (
        "The client and its workers must have the same versions of packages, since one unpickles "
        "what the other has pickled: "
        f"{'; '.join(lines)}. Install the client's versions on the workers."
    )


def n_workers(n_jobs: int | None) -> int:
    """Return how many tasks run at a time; None means what joblib's context says, 1 without one.

    Raises
    ------
    WorkersFailedError
        If the context's cluster has no workers, or cannot be reached.
    """
    try:
        n = int(effective_n_jobs(_unless_asked(n_jobs)))
    except Exception as error:
        if not is_cluster():
            raise
        raise WorkersFailedError(_unreachable(error)) from error
    if n < 1:
        raise WorkersFailedError(_unreachable(None))
    return n


def _unless_asked(n_jobs: int | None) -> int | None:
    """Return 1 in place of None inside a task of a cluster: such a task sends no further tasks.

    Joblib's processes and threads do so themselves; inside a task of Dask, the context of joblib is
    the whole cluster.
    """
    return 1 if n_jobs is None and worker_address() is not None else n_jobs


def _said(error: Exception) -> str:
    """Write an error of a backend in one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())}"


def _unreachable(error: Exception | None) -> str:
    said = "" if error is None else f" ({_said(error)})"
    if error is None or isinstance(error, TimeoutError):
        return (
            f"The cluster of joblib's context has no workers{said}. Start workers, check that they "
            "reach the scheduler, or run without the context."
        )
    return f"{GONE}{said}. {AGAIN_WITHOUT}"


def is_cluster() -> bool:
    """Return whether tasks sent from here may go to other machines, by Dask, Ray and the like.

    It is False inside such a task, which sends no tasks of its own.
    """
    return _reaches_out() and worker_address() is None


def _reaches_out() -> bool:
    backend, _ = get_active_backend()
    return type(backend).__name__ not in LOCAL


def n_threads(n_jobs: int | None) -> int:
    """Return how many threads may work here: 1 if the context's workers are on other machines."""
    return 1 if _reaches_out() else n_workers(n_jobs)


def on_workers(
    function: Callable[..., Any],
    broadcast: Broadcast,
    tasks: Iterable[tuple[Any, ...]],
    n_jobs: int | None,
    *,
    prefer: str | None = None,
) -> Iterator[Any]:
    """Yield the results of ``function(content, *task)`` in the order of the tasks.

    Parameters
    ----------
    function : callable
        A function of a module, so that workers can import it.
    broadcast : Broadcast
        The first argument, which all tasks share.
    tasks : iterable of tuple
        The other arguments, one tuple for each task.
    n_jobs : int or None
        Number of jobs, as everywhere in scikit-learn.
    prefer : {"threads", "processes"}, default=None
        The kind of workers to use if joblib's context does not say.

    Yields
    ------
    object
        The result of each task.

    Raises
    ------
    WorkersFailedError
        If the workers are lost, or if the broadcast cannot be sent to them. Errors of `function`
        itself pass through.
    """
    waiting, n_jobs = list(tasks), _unless_asked(n_jobs)
    n, n_at_first = len(waiting), 0
    place = _place(n_jobs, prefer) if waiting else None
    what = BroadcastRef(broadcast.name) if place in broadcast.sent_to else broadcast
    # Noted at once, since nothing is run after the last result that somebody asks for.
    if place is not None:
        broadcast.sent_to.add(place)
    later: list[Any] = []
    for attempt in range(1 + AGAIN):
        client = dask_client()
        if waiting and is_cluster():
            if attempt:
                wait_for_workers(client, n_at_first)
            n_at_first = _see_that_they_fit(client, n_jobs)
        jobs = (delayed(_do)(function, what, task) for task in list(waiting))
        parallel = Parallel(n_jobs=n_jobs, prefer=prefer, return_as="generator")
        with ClusterMonitor(parallel) as monitor:
            try:
                for result in monitor.over(parallel(jobs)):
                    if later or result is Reply.NOT_HERE:
                        later.append(result)
                        continue
                    del waiting[0]
                    yield result
                break
            except Exception as error:
                came_in = f"{n - len(waiting)} of {n} tasks had come in"
                failure = _failure(error, broadcast, monitor, client, came_in)
                if failure is not None:
                    raise failure from error
                if type(error).__name__ not in LOST:
                    raise  # an error of the function itself
                if attempt == AGAIN:
                    raise _lost_again(error, attempt + 1, came_in) from error
                warnings.warn(
                    f"Workers of joblib's context were lost ({type(error).__name__}); "
                    f"{len(waiting)} tasks without results are run again.",
                    RuntimeWarning,
                    stacklevel=users_level(),
                )
                what, later = broadcast, []
    if later:  # a worker is new, or has dropped the broadcast for later ones
        broadcast.sent_to.clear()
        again = [t for t, said in zip(waiting, later, strict=True) if said is Reply.NOT_HERE]
        missing = on_workers(function, broadcast, again, n_jobs, prefer=prefer)
        for result in later:
            yield next(missing) if result is Reply.NOT_HERE else result


def _failure(
    error: Exception, broadcast: Broadcast, monitor: ClusterMonitor, client: Any, came_in: str
) -> WorkersFailedError | None:
    """Return why tasks cannot be run by these workers, however often; None if that is not why."""
    if broadcast.failure is not None:
        return WorkersFailedError(
            f"{type(broadcast.failure).__name__}: {broadcast.failure}. The estimator, "
            "or data that it needs, cannot be pickled, not even by cloudpickle, so it "
            "cannot be sent to other processes. Use threads: with "
            "joblib.parallel_config('threading', n_jobs=...)."
        )
    if monitor.trouble is not None:
        return WorkersFailedError(
            "The cluster of joblib's context does not go on: "
            f"{monitor.trouble}; {came_in}. {AGAIN_WITHOUT}"
        )
    if type(error).__name__ in LOST and is_gone(client):
        return WorkersFailedError(f"{GONE} ({_said(error)}); {came_in}. {AGAIN_WITHOUT}")
    return None


def _lost_again(error: Exception, times: int, came_in: str) -> WorkersFailedError:
    return WorkersFailedError(
        f"Workers of joblib's context were lost {times} times ({_said(error)}); {came_in}. They "
        f"may have run out of memory, or the cluster has gone. {AGAIN_WITHOUT}"
    )


def _place(n_jobs: int | None, prefer: str | None) -> str | None:
    """Name the workers of joblib's context, to tell them from others; None for this process."""
    backend, _ = get_active_backend(prefer=prefer)
    name = type(backend).__name__
    if name in ("SequentialBackend", "ThreadingBackend") or n_workers(n_jobs) == 1:
        return None
    return f"{name} {getattr(dask_client(), 'id', '')}"


def _see_that_they_fit(client: Any, n_jobs: int | None) -> int:
    """Check that a cluster has workers, of the same versions as here, and return their number.

    Workers with several threads count once here, while joblib counts each thread.
    """
    n = n_workers(n_jobs)
    try:
        wrong = other_versions(client)
        n = n if client is None else len(client.ncores())
    except Exception as error:
        raise WorkersFailedError(_unreachable(error)) from error
    if wrong:
        raise WorkersFailedError(_differ(wrong))
    return n


#: The messages about a cluster that does not answer, and about what to do.
GONE = (
    "The cluster of joblib's context has gone: its scheduler does not answer, or its client was "
    "closed"
)
AGAIN_WITHOUT = (
    "An auditor keeps the results that had come in. Run again with workers that can be reached, "
    "with fewer of them if memory was short, or without a context."
)
#: Names of the errors by which backends say that a worker was lost; no backend is imported here.
LOST = frozenset({
    "TerminatedWorkerError", "BrokenProcessPool", "BrokenExecutor", "KilledWorker",
    "FutureCancelledError", "FuturesCancelledError", "CancelledError", "CommClosedError",
    "NoValidWorkerError", "ShutdownExecutorError", "RayActorError", "WorkerCrashedError",
})  # fmt: skip


def _do(
    function: Callable[..., Any], broadcast: Broadcast | BroadcastRef, task: tuple[Any, ...]
) -> Any:
    content = broadcast.content()
    if content is Reply.NOT_HERE:
        return content
    with alone():
        return function(content, *task)


def alone() -> Any:
    """Return a joblib context in which estimators without an explicit `n_jobs` use one job.

    Estimators with an explicit `n_jobs` keep it. Others would use the workers of the user's
    context: a forest that predicts in several threads adds up its trees in the order in which they
    are ready, so that the last bits of its output change from call to call, and tasks on workers
    would ask for workers themselves.
    """
    return parallel_config(backend="threading", n_jobs=1)
