"""Work sent to the workers of joblib's context: threads, processes of this machine, a cluster."""

from __future__ import annotations

import os
import pickle
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing, contextmanager
from typing import Any

from joblib import effective_n_jobs, parallel_config, wrap_non_picklable_objects
from joblib.parallel import get_active_backend
from sklearn.utils.parallel import Parallel, delayed

from skfairtest.exceptions import WorkersFailedError

#: Seconds for which a cluster of Dask may have no workers, or not answer, before nobody waits for
#: it any more. Workers that died are usually there again within a few seconds.
LIMIT = 60.0
#: Seconds between two looks at a cluster.
EVERY = 0.5


def n_workers(n_jobs: int | None) -> int:
    """Return how many tasks run at a time; None means what joblib's context says, 1 without one.

    Raises
    ------
    WorkersFailedError
        If the context's cluster has no workers, or cannot be reached.
    """
    if n_jobs is None and _is_task_of_dask():
        return 1  # joblib would use all of the cluster from inside a task, too
    try:
        n = int(effective_n_jobs(n_jobs))
        if n < 1:
            raise RuntimeError("It has no workers")
    except Exception as error:
        if _dask_client() is None:
            raise
        raise _failed(error) from error
    return n


def n_threads(n_jobs: int | None) -> int:
    """Return how many threads may work here: 1 if the context's workers are on other machines."""
    return 1 if _dask_client() is not None else n_workers(n_jobs)


def without_threads(n_jobs: int | None) -> int | None:
    """Return 1 where joblib's context has threads: for tasks that record Python's warnings.

    What is recorded where, and what is shown, is the whole process's.
    """
    return 1 if type(get_active_backend()[0]).__name__ == "ThreadingBackend" else n_jobs


def on_workers(
    function: Callable[..., Any],
    shared: Any,
    tasks: Iterable[tuple[Any, ...]],
    n_jobs: int | None,
    *,
    prefer: str | None = None,
) -> Iterator[Any]:
    """Yield the results of ``function(shared, *task)`` in the order of the tasks.

    Parameters
    ----------
    function : callable
        A function of a module, so that workers can import it.
    shared : object
        The first argument of all tasks.
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
        If the workers are lost, or if something cannot be sent to them. Errors of `function` itself
        pass through.
    """
    tasks = list(tasks)
    if len(tasks) < 2 or n_workers(n_jobs) == 1:
        for task in tasks:
            with alone():
                result = function(shared, *task)
            yield result
        return
    with closing(_sent(function, shared, tasks, n_jobs, prefer)) as results:
        for result, error in results:
            if error is not None:
                raise error
            yield result


def _sent(
    function: Callable[..., Any],
    shared: Any,
    tasks: list[Any],
    n_jobs: int | None,
    prefer: str | None,
) -> Generator[tuple[Any, Exception | None], None, None]:
    """Yield the result of each task, or its own error; what joblib's backend raises is another."""
    n_done, client = 0, _dask_client()
    parallel = Parallel(n_jobs=n_jobs, prefer=prefer, return_as="generator")
    results: Any = None
    with _watched(client, parallel) as given_up:
        try:
            if client is not None:
                # On all workers: joblib sends it to one, with which it would be lost. And what
                # cannot be pickled is seen here: joblib would wait for it for ever.
                shared = client.scatter(_packed(shared), broadcast=True, hash=False)
                tasks = [_packed(task) for task in tasks]
            results = parallel(delayed(_do)(function, shared, task, os.getpid()) for task in tasks)
            for result in results:
                n_done += 1
                yield result
        except Exception as error:
            cause = given_up[0] if given_up else error
            raise _failed(cause, f"; {n_done} of {len(tasks)} tasks had come in") from cause
        finally:
            with warnings.catch_warnings():
                # Tasks that go on when nobody waits for them any more are no news to the user.
                warnings.filterwarnings("ignore", "[0-9]+ tasks? ", UserWarning, "joblib")
                if results is not None:
                    results.close()


def _do(
    function: Callable[..., Any], shared: Any, task: Any, caller: int
) -> tuple[Any, Exception | None]:
    """Return the result of a task and its own error, of which one is None."""
    try:
        if isinstance(task, bytes):
            shared, task = pickle.loads(shared), pickle.loads(task)
        with alone():
            return function(shared, *task), None
    except Exception as error:
        if os.getpid() != caller:  # tracebacks do not travel
            error.add_note(traceback.format_exc())
        return None, error


def alone() -> Any:
    """Return a joblib context in which estimators without an explicit `n_jobs` use one job.

    Estimators with an explicit `n_jobs` keep it. Others would use the workers of the user's
    context: a forest that predicts in several threads adds up its trees in the order in which they
    are ready, so that the last bits of its output change from call to call, and tasks on workers
    would ask for workers themselves.
    """
    return parallel_config(backend="threading", n_jobs=1)


def _packed(thing: Any) -> bytes:
    """Pickle a thing, also if it is of a class or function of the main program."""
    return pickle.dumps(wrap_non_picklable_objects(thing, keep_wrapper=False))


def _failed(error: BaseException, came_in: str = "") -> WorkersFailedError:
    return WorkersFailedError(
        f"The workers of joblib's context failed ({type(error).__name__}: "
        f"{' '.join(str(error).split())}){came_in}. An auditor keeps the results that had come in. "
        "Run again with workers that can be reached, with fewer of them if memory was short, or "
        "in threads, for which nothing is pickled: joblib.parallel_config('threading', n_jobs=...)."
    )


# Clusters of Dask ---------------------------------------------------------------------------------


def _dask_client() -> Any:
    """Return the client of Dask of joblib's context; None if the context is another one."""
    backend, _ = get_active_backend()
    known = type(backend).__name__ == "DaskDistributedBackend"
    return getattr(backend, "client", None) if known else None


def _is_task_of_dask() -> bool:
    if "distributed" not in sys.modules:
        return False
    from distributed import get_worker

    try:
        return get_worker() is not None
    except ValueError:
        return False


@contextmanager
def _watched(client: Any, parallel: Parallel) -> Iterator[list[BaseException]]:
    """Yield the errors by which a cluster gave up; joblib waits for ever for such tasks.

    A thread looks at the cluster, and ends joblib's waiting.
    """
    given_up: list[BaseException] = []
    over = threading.Event()
    earlier = set() if client is None else set(client.futures)

    def look() -> None:
        answered = time.monotonic()
        while not over.wait(EVERY):
            known = list(client.futures.items())
            own = [state for key, state in known if key not in earlier and str(key)[:5] == "batch"]
            given_up.extend(
                state.exception or RuntimeError("A task failed there")
                for state in own
                if state.status in ("error", "cancelled", "lost")
            )
            try:
                answered = time.monotonic() if client.ncores() else answered
            except Exception:  # the cluster is closing
                pass
            if time.monotonic() - answered > LIMIT:
                message = f"the cluster has had no workers, or not answered, for {LIMIT:g} seconds"
                given_up.append(TimeoutError(message))
            if given_up:
                parallel.timeout = 1e-6  # which makes joblib stop waiting at once
                return

    if client is not None:
        threading.Thread(target=look, name="skfairtest-watch", daemon=True).start()
    try:
        yield given_up
    finally:
        over.set()
