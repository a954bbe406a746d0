"""A cluster of Dask in a process of its own: one that ends by SIGKILL needs no other end.

What a cluster does when it is closed midway, and for how long, is its own affair: nobody waits for
that here. `python cluster_apart.py WORKERS THREADS KIND` prints the address of a scheduler; the
workers of the kind "threads" live in the same process, and those of the kind "processes" in others,
where they are started anew when they die.
"""

from __future__ import annotations

import contextlib
import os
import queue
import subprocess
import sys
import threading
import time

from clocks import HANGING

#: Seconds for what does not matter any more.
AT_THE_END = 10
#: Tasks that are done where others are held.
PASSING = 2
#: What a cluster prints when a task is held.
HELD = "held"


class Apart:
    """A cluster in a process of its own.

    Parameters
    ----------
    n_workers : int
        Workers at first.
    n_threads : int, default=1
        Threads of each.
    kind : {"threads", "processes"}, default="threads"
        What the workers are.

    Attributes
    ----------
    address : str
        Of the scheduler.
    """

    def __init__(self, n_workers, n_threads=1, kind="threads"):
        self._processes, self._lines = [], queue.SimpleQueue()
        # Without a cluster nobody waits for it any more.
        self._limit = threading.Timer(2 * HANGING, self.kill)
        self._limit.daemon = True
        self._limit.start()
        args = [os.path.abspath(__file__), str(n_workers), str(n_threads), kind]
        process = self._start(args, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._reader = threading.Thread(target=self._read, args=(process.stdout,), daemon=True)
        self._reader.start()
        try:
            self.address = self._lines.get(timeout=HANGING)
        except queue.Empty:
            self.kill()
            raise

    def _start(self, args, **params):
        # Workers import the modules of the tests.
        env = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        self._processes.append(subprocess.Popen([sys.executable, *args], env=env, **params))
        return self._processes[-1]

    def _read(self, lines):
        for line in lines:
            self._lines.put(line.strip())

    def add_worker(self):
        """A worker of two threads in a process of its own, which nobody starts anew."""
        args = ["--no-nanny", "--nthreads", "2", "--no-dashboard"]
        return self._start(["-m", "distributed.cli.dask_worker", self.address, *args])

    def wait_until_held(self):
        """Whether a task is held, and others have been done or will be."""
        until = time.monotonic() + HANGING
        with contextlib.suppress(queue.Empty):
            while self._lines.get(timeout=max(0.0, until - time.monotonic())) != HELD:
                pass
            return True
        return False

    def kill(self):
        """End the processes at once, and see that they are gone."""
        self._limit.cancel()
        for process in self._processes:
            process.kill()
        for process in self._processes:
            process.wait(HANGING)
        # The thread that reads the output has come to its end, too.
        self._reader.join(HANGING)
        for pipe in (self._processes[0].stdin, self._processes[0].stdout):
            pipe.close()


@contextlib.contextmanager
def client_of(apart):
    """A client that is the current one, and is closed in bounded time."""
    from distributed import Client

    client = Client(apart.address, timeout=HANGING, set_as_default=False)
    try:
        with client.as_current():
            yield client
    finally:
        with contextlib.suppress(Exception):
            client.close(timeout=AT_THE_END)


def passing(k, do, function, what, task):
    """A task on a worker; where its number is too high, one that never ends."""
    if k >= PASSING:
        hold()
    return do(function, what, task)


def hold():
    """Leave the threads of the worker to other tasks, and wait for the end of the process."""
    from distributed import secede

    secede()
    print(HELD, flush=True)
    threading.Event().wait()


def first_only(content, k):
    """The first task is done, and others never end."""
    if k:
        hold()
    return k


def forever(n_workers, n_threads, kind):
    """A cluster until the process that started it ends, or ends it."""
    from distributed import LocalCluster

    cluster = LocalCluster(
        n_workers=n_workers, threads_per_worker=n_threads, processes=kind == "processes",
        protocol="tcp://", dashboard_address=None,
    )  # fmt: skip
    print(cluster.scheduler_address, flush=True)
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    forever(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
