"""The surroundings of every test and doctest, set before anything is imported that reads them."""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from pathlib import Path

TOP = Path(__file__).parent


def numba_cache():
    """A folder outside the checkout for compiled functions, kept from run to run.

    numba looks at a function's own file to see whether what it compiled is still good, not at the
    files of the functions that this one calls and that were compiled into it. So each state of the
    sources has a folder of its own.
    """
    digest = hashlib.sha256(sys.version.encode())
    for path in sorted((TOP / "skfairtest").rglob("*.py")):
        text = path.read_bytes()
        if b"njit" in text:
            digest.update(text)
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(home) / "skfairtest-tests" / f"numba-{digest.hexdigest()[:16]}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:  # no home, or one that cannot be written to
        folder = Path(tempfile.gettempdir()) / folder.name
        folder.mkdir(exist_ok=True)
    return str(folder)


os.environ.setdefault("NUMBA_CACHE_DIR", numba_cache())
# The models of the tests are so small that the threads of OpenMP would only wait for each other,
# which takes minutes where other work has the cores.
os.environ.setdefault("OMP_NUM_THREADS", "1")
