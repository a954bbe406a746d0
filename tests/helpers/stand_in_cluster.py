"""A stand-in for joblib's backend of Dask and its client, in which troubles come when they are due.

The package knows the backend by the name of its class and by its `client`. Here one thread does one
task after another, what it needs is pickled as for a worker, and a result is handed over before
anything else happens. So a trouble that is due in place of the k-th task always finds k results
that have come in.
"""

from __future__ import annotations

import pickle
import queue
import threading
import time
from types import SimpleNamespace

from clocks import HANGING
from joblib.parallel import ParallelBackendBase, register_parallel_backend


class CancelledError(Exception):
    """Of this name are the errors by which Dask says that a task was cancelled."""


class StandIn:
    """A client whose cluster does what a test has planned.

    Parameters
    ----------
    n_workers : int, default=2
        Workers at first.
    n_threads : int, default=1
        Threads of each.

    Attributes
    ----------
    plan : dict
        Troubles by the number of the call that sends tasks: (k, trouble), where the trouble is a
        method of this class, called with a job in place of the k-th task of that call.
    n_calls, n_taken : int
        Calls that sent tasks; results of the last one that its caller has taken.
    reached : list of int
        The calls whose troubles have come.
    waited_for : list of int
        How many workers were waited for.
    elsewhere : dict
        What other workers say of their versions, by addresses; None where they do not answer.
    n_looks : int
        How often somebody asked which workers there are.
    uploading : bool
        Whether what tasks need is on its way still, so that no task is known.
    """

    id = "stand-in"

    def __init__(self, n_workers=2, n_threads=1):
        self.n_workers, self.n_threads = n_workers, n_threads
        self.status, self.futures = "running", {}
        self.plan, self.reached, self.waited_for, self.elsewhere = {}, [], [], {}
        self.n_calls = self.n_taken = self.n_asked = self.n_looks = 0
        self.answers, self.uploading = True, False
        self.taken = threading.Condition()

    # What the package asks of a client --------------------------------------------------------

    def ncores(self):
        """Threads by workers."""
        self.n_looks += 1
        if self.status != "running" or not self.answers:
            raise OSError("Timed out trying to connect")
        return {f"tcp://worker:{k}": self.n_threads for k in range(self.n_workers)}

    def run(self, function, *args, workers, on_error):
        """What a function says on each worker."""
        assert on_error == "return"
        self.n_asked += len(workers)
        said = {address: function(*args) for address in workers}
        for address in said.keys() & self.elsewhere.keys():
            theirs = self.elsewhere[address]
            said[address] = OSError("cut off") if theirs is None else said[address] | theirs
        return said

    def wait_for_workers(self, n, timeout):
        """All of them come back at once."""
        self.waited_for.append(n)

    # Troubles ---------------------------------------------------------------------------------

    def goes(self, job):
        """The cluster goes away: the client knows, and all that is under way is cancelled."""
        self.status = "closed"
        self.cancelled(job)

    def cancelled(self, job):
        """The worker of a task is lost."""
        job.future.status = "cancelled"
        job.callback(CancelledError(job.key))

    def leave(self, job):
        """All workers leave, and the task stays under way."""
        self.n_workers = 0

    def fails(self, job):
        """The task fails on the cluster's side, which joblib is not told."""
        job.future.status, job.future.exception = "error", MemoryError("no room")

    def fails_in_silence(self, job):
        """The same, for a reason that nobody knows."""
        job.future.status = "error"

    def stays_lost(self, job):
        """The task was lost, and is in no state that says so."""
        for future in self.futures.values():
            future.status = "lost"

    def forgets(self, job):
        """Neither this task nor those behind it are known any more."""
        self.futures.clear()

    def fails_after_upload(self, job):
        """What the task needs is on its way for some looks; then the task fails at once."""
        looks = self.n_looks + 5
        while self.n_looks < looks:
            time.sleep(0.001)
        job.future.status, job.future.exception = "error", MemoryError("no room")
        self.futures[job.key] = job.future

    def falls_silent(self, job):
        """The scheduler does not answer, and the client believes that it will."""
        self.answers = False


class DaskDistributedBackend(ParallelBackendBase):
    """Sends tasks to a stand-in; the package goes by this name."""

    supports_retrieve_callback = True
    default_n_jobs = -1

    def __init__(self, client=None, wait_for_workers_timeout=10, nesting_level=None):
        super().__init__(nesting_level=nesting_level)
        self.client, self.wait_for_workers_timeout = client, wait_for_workers_timeout
        self._jobs, self._n_sent = None, 0

    def effective_n_jobs(self, n_jobs):
        """The threads of all workers, as Dask has it."""
        n = sum(self.client.ncores().values())
        if n == 0 and self.wait_for_workers_timeout:
            raise TimeoutError("DaskDistributedBackend has no worker")
        return n

    def start_call(self):
        """Begin a call with a thread of its own."""
        client = self.client
        client.n_calls, client.n_taken = client.n_calls + 1, 0
        client.futures.clear()
        self._jobs = queue.SimpleQueue()
        after, trouble = client.plan.get(client.n_calls, (None, None))
        args = (self._jobs, client, client.n_calls, after, trouble)
        threading.Thread(target=work, args=args, daemon=True).start()

    def stop_call(self):
        """End the call, and the thread with it."""
        self._jobs.put(None)

    def submit(self, func, callback):
        """Put a task behind the others."""
        key, self._n_sent = f"batch_of__do_1_calls-{self._n_sent}", self._n_sent + 1
        future = SimpleNamespace(status="pending", exception=None)
        items = pickle.dumps(func.items)
        if not self.client.uploading:
            self.client.futures[key] = future
        self._jobs.put(SimpleNamespace(key=key, future=future, callback=callback, items=items))
        return future

    def retrieve_result_callback(self, out):
        """A result, or the error that took its place."""
        if isinstance(out, BaseException):
            raise out
        return out


def work(jobs, client, call, after, trouble):
    """Do the tasks of a call until its trouble comes; what is behind it is never done."""
    k = 0
    while (job := jobs.get()) is not None:
        if k == after:
            with client.taken:
                in_time = client.taken.wait_for(lambda: client.n_taken == after, HANGING)
            client.reached.append(call)
            if in_time:
                trouble(job)
            end_what_hangs(jobs, job)
            return
        try:
            out = [function(*a, **named) for function, a, named in pickle.loads(job.items)]
        except Exception as error:
            out = error
        # Under way until the result is there: nothing is ever missing in between.
        job.callback(out)
        job.future.status = "finished"
        k += 1


def end_what_hangs(jobs, job):
    """Fail a task where the call that sent it does not end."""
    try:
        while jobs.get(timeout=HANGING) is not None:
            pass
    except queue.Empty:
        job.callback(AssertionError("nobody has ended the waiting"))


def counted(client, results_of):
    """`ClusterMonitor.over` that tells the stand-in how many results were taken."""

    def over(monitor, results):
        for result in results_of(monitor, results):
            with client.taken:
                client.n_taken += 1
                client.taken.notify_all()
            yield result

    return over


register_parallel_backend("stand-in", DaskDistributedBackend)
