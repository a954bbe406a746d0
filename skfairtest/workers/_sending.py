"""Work sent to the workers of joblib's context: threads, processes of this machine, or a cluster.

What many tasks need, such as the model, is a `Parcel`: it travels to each worker once, not with
each task, nor with each call that sends tasks. Threads get the very object.
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

from skfairtest._progress import users_level
from skfairtest.exceptions import WorkersFailedError
from skfairtest.workers._cluster import (
    Watch,
    dask_client,
    is_gone,
    other_versions,
    wait_for_workers,
    worker_address,
)
from skfairtest.workers._versions import differences, versions

#: Parcels that a worker keeps open: a search over models opens one after another.
KEPT = 4
#: How often tasks are done again whose workers were lost.
AGAIN = 1
#: Backends of joblib that stay on this machine.
LOCAL = frozenset({
    "SequentialBackend", "ThreadingBackend", "LokyBackend", "MultiprocessingBackend",
})  # fmt: skip
_opened: OrderedDict[str, Any] = OrderedDict()


class Parcel:
    """An object that travels to each worker once.

    Pickled, it is bytes in an array and a name. Joblib's processes read large arrays from a file
    that is written once, and a cluster scatters what is large once; a worker that knows the name
    unpickles nothing. What was sent once is asked for by its name from then on, see `Sent`.

    Parameters
    ----------
    content : object
        What travels, by pickle or, where that fails, by cloudpickle.
    """

    def __init__(self, content: Any) -> None:
        self._content = content
        self.name = uuid.uuid4().hex
        #: Clusters, and the processes of this machine, that it was sent to.
        self.sent_to: set[str] = set()
        self._bytes: Any = None
        self._versions: dict[str, str] = {}
        #: Why the content cannot travel, once that was tried.
        self.failure: Exception | None = None

    def content(self) -> Any:
        """What is inside.

        Raises
        ------
        WorkersFailedError
            On a worker where other versions are installed than where it was packed.
        """
        if self._content is None and self._bytes is not None:
            # Opened here, and not on arrival: what fails then, clusters do not report well.
            wrong = differences(versions(), self._versions)
            if wrong:
                raise WorkersFailedError(
                    _differ([f"worker {_here()} has {line}" for line in wrong])
                )
            self._content = pickle.loads(self._bytes.tobytes())
        return self._content

    def packed(self) -> Any:
        """The content as bytes in an array.

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
        # A scheduler of Dask reads small ones and sends them on, with versions of its own.
        return _arrive, (self.name, self.packed(), self._versions or versions())

    def __sizeof__(self) -> int:
        # Clusters of Dask scatter arguments that say that they are large, and ask nobody else.
        try:
            return object.__sizeof__(self) + int(self.packed().nbytes)
        except TypeError:
            return object.__sizeof__(self)


class Reply(Enum):
    """What a worker says in place of a result."""

    NOT_HERE = "not here"


class Sent:
    """The name of a parcel that workers have: they were sent it before.

    Parameters
    ----------
    name : str
        Of the parcel.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def content(self) -> Any:
        """What is inside the parcel; a reply where this worker does not have it."""
        return _opened[self.name].content() if self.name in _opened else Reply.NOT_HERE


def _arrive(name: str, packed: Any, packed_with: dict[str, str]) -> Parcel:
    """A parcel on a worker; the latest ones are kept open."""
    if name not in _opened:
        parcel = Parcel(None)
        parcel.name, parcel._bytes, parcel._versions = name, np.array(packed), packed_with
        _opened[name] = parcel
        while len(_opened) > KEPT:
            _opened.popitem(last=False)
    _opened.move_to_end(name)
    found: Parcel = _opened[name]
    return found


def _here() -> str:
    """What this process is called: on a cluster of Dask, its address."""
    return worker_address() or f"{platform.node()}, process {os.getpid()},"


def _differ(lines: list[str]) -> str:
    return (
        "Client and workers need the same versions, as the one reads what the other has pickled: "
        f"{'; '.join(lines)}. Install the client's versions on the workers."
    )


def n_workers(n_jobs: int | None) -> int:
    """How many tasks run at a time; None is what joblib's context says, and 1 without one.

    Raises
    ------
    WorkersFailedError
        If the context's cluster has no workers, or has gone.
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
    """One job, and no more, for what is itself a task of a cluster and was asked for nothing.

    joblib's processes and threads see to that themselves; a task of Dask finds the whole cluster as
    its context.
    """
    return 1 if n_jobs is None and worker_address() is not None else n_jobs


def _said(error: Exception) -> str:
    """An error of a backend in one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())}"


def _unreachable(error: Exception | None) -> str:
    said = "" if error is None else f" ({_said(error)})"
    if error is None or isinstance(error, TimeoutError):
        return (
            f"The cluster of joblib's context has no workers{said}. Start some, see that they "
            "reach the scheduler, or run without the context."
        )
    return f"{GONE}{said}. {AGAIN_WITHOUT}"


def is_cluster() -> bool:
    """Whether joblib's context sends tasks to other machines, or may: Dask, Ray and others.

    A task there is at its end: it sends nothing on by itself.
    """
    return _reaches_out() and worker_address() is None


def _reaches_out() -> bool:
    backend, _ = get_active_backend()
    return type(backend).__name__ not in LOCAL


def n_threads(n_jobs: int | None) -> int:
    """How many threads of this machine may work: 1 where the context's workers are elsewhere."""
    return 1 if _reaches_out() else n_workers(n_jobs)


def on_workers(
    function: Callable[..., Any],
    parcel: Parcel,
    tasks: Iterable[tuple[Any, ...]],
    n_jobs: int | None,
    *,
    prefer: str | None = None,
) -> Iterator[Any]:
    """Results of ``function(content, *task)``, in the order of the tasks, as they come in.

    Parameters
    ----------
    function : callable
        Of a module, so that workers can import it.
    parcel : Parcel
        What all tasks need.
    tasks : iterable of tuple
        The further arguments of each.
    n_jobs : int or None
        As everywhere in scikit-learn.
    prefer : {"threads", "processes"}, default=None
        Where the context does not say.

    Yields
    ------
    object
        The result of each task.

    Raises
    ------
    WorkersFailedError
        If the workers are lost, or what they need cannot be sent to them. Errors of `function`
        itself pass through.
    """
    waiting, n_jobs = list(tasks), _unless_asked(n_jobs)
    n, n_at_first = len(waiting), 0
    place = _place(n_jobs, prefer) if waiting else None
    what = Sent(parcel.name) if place in parcel.sent_to else parcel
    later: list[Any] = []
    for attempt in range(1 + AGAIN):
        client = dask_client()
        if waiting and is_cluster():
            if attempt:
                wait_for_workers(client, n_at_first)
            n_at_first = _see_that_they_fit(client, n_jobs)
        jobs = (delayed(_do)(function, what, task) for task in list(waiting))
        parallel = Parallel(n_jobs=n_jobs, prefer=prefer, return_as="generator")
        with Watch(parallel) as watch:
            try:
                for result in watch.over(parallel(jobs)):
                    if later or result is Reply.NOT_HERE:
                        later.append(result)
                        continue
                    del waiting[0]
                    yield result
                break
            except Exception as error:
                if parcel.failure is not None:
                    raise WorkersFailedError(
                        f"{type(parcel.failure).__name__}: {parcel.failure}. The estimator, or "
                        "what it is asked with, cannot be pickled, not even by cloudpickle, so "
                        "that other processes cannot have it. Use threads: with "
                        "joblib.parallel_config('threading', n_jobs=...)."
                    ) from error
                came_in = f"{n - len(waiting)} of {n} tasks had come in"
                if watch.trouble is not None:
                    raise WorkersFailedError(
                        "The cluster of joblib's context does not go on: "
                        f"{watch.trouble}; {came_in}. {AGAIN_WITHOUT}"
                    ) from error
                lost = type(error).__name__ in LOST
                if lost and is_gone(client):
                    raise WorkersFailedError(
                        f"{GONE} ({_said(error)}); {came_in}. {AGAIN_WITHOUT}"
                    ) from error
                if not lost:
                    raise
                if attempt == AGAIN:
                    raise WorkersFailedError(
                        f"Workers of joblib's context were lost {attempt + 1} times "
                        f"({_said(error)}); {came_in}. They may have run out of "
                        f"memory, or the cluster has gone. {AGAIN_WITHOUT}"
                    ) from error
                warnings.warn(
                    f"Workers of joblib's context were lost ({type(error).__name__}); "
                    f"{len(waiting)} tasks whose results had not come in are done again.",
                    RuntimeWarning,
                    stacklevel=users_level(),
                )
                what, later = parcel, []
    if place is not None:
        parcel.sent_to.add(place)
    if later:  # a worker that is new, or has been sent many others meanwhile
        parcel.sent_to.clear()
        again = [t for t, said in zip(waiting, later, strict=True) if said is Reply.NOT_HERE]
        missing = on_workers(function, parcel, again, n_jobs, prefer=prefer)
        for result in later:
            yield next(missing) if result is Reply.NOT_HERE else result


def _place(n_jobs: int | None, prefer: str | None) -> str | None:
    """What tells the workers of joblib's context from others; None for this very process."""
    backend, _ = get_active_backend(prefer=prefer)
    name = type(backend).__name__
    if name in ("SequentialBackend", "ThreadingBackend") or n_workers(n_jobs) == 1:
        return None
    return f"{name} {getattr(dask_client(), 'id', '')}"


def _see_that_they_fit(client: Any, n_jobs: int | None) -> int:
    """How many workers a cluster has; it has some, with the versions of this process.

    Of a worker with several threads, joblib counts each.
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


#: What is said of a cluster that does not answer, and what to do.
GONE = (
    "The cluster of joblib's context has gone: its scheduler does not answer, or its client was "
    "closed"
)
AGAIN_WITHOUT = (
    "An auditor keeps what had come in. Run again with workers that are there, with fewer of them "
    "where memory was short, or without a context."
)
#: Errors by which backends say that a worker has gone, by name: none of them is imported here.
LOST = frozenset({
    "TerminatedWorkerError", "BrokenProcessPool", "BrokenExecutor", "KilledWorker",
    "FutureCancelledError", "FuturesCancelledError", "CancelledError", "CommClosedError",
    "NoValidWorkerError", "ShutdownExecutorError", "RayActorError", "WorkerCrashedError",
})  # fmt: skip


def _do(function: Callable[..., Any], parcel: Parcel | Sent, task: tuple[Any, ...]) -> Any:
    content = parcel.content()
    if content is Reply.NOT_HERE:
        return content
    with alone():
        return function(content, *task)


def alone() -> Any:
    """A context in which what says nothing of jobs runs in one, as everywhere without a context.

    A forest that predicts in threads of joblib's context adds up its trees in the order in which
    they are ready, and its last bits change from call to call; and tasks on workers would ask for
    workers themselves. Estimators that were given a number of jobs keep it.
    """
    return parallel_config(backend="threading", n_jobs=1)
