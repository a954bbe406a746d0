"""The surroundings of every test and doctest; a run of everything is shared by the cores."""

from __future__ import annotations

import hashlib
import locale
import os
import re
import sys
import tempfile
import traceback
from importlib.util import find_spec
from pathlib import Path

import pytest
from clocks import CLOCK, STEP, install
from hypothesis import HealthCheck, settings

#: Processes of a run of everything, where there are so many cores.
MOST_PROCESSES = 4

TOP = Path(__file__).parent
#: Tests that search compiled boxes: in one process, so that numba compiles once.
COMPILING = ("tests/exact/test_exact_engines", "tests/exact/test_exact_s")
#: What the build of the site leaves in docs/ holds copies of examples and of docstrings; the
#: settings of that build are no module to import here.
collect_ignore = ["docs/_build", "docs/auto_examples", "docs/reference/api", "docs/conf.py"]


def numba_cache():
    """A folder outside the checkout for compiled functions, kept from run to run.

    numba looks at a function's own file to see whether what it compiled is still good, not at the
    files of the functions that this one calls and that were compiled into it. So each state of the
    sources has a folder of its own.
    """
    digest = hashlib.sha256(sys.version.encode())
    for path in sorted((TOP / "skfairtest").rglob("*.py")):
        text = path.read_bytes()
        if b"workers._compiled import" in text:
            digest.update(text)
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(home) / "skfairtest-tests" / f"numba-{digest.hexdigest()[:16]}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:  # no home, or one that cannot be written to
        folder = Path(tempfile.gettempdir()) / folder.name
        folder.mkdir(exist_ok=True)
    return str(folder)


# No test's outcome depends on how fast the machine is: max_time counts readings of this clock.
install()

# Before anything is imported that reads them.
os.environ.setdefault("NUMBA_CACHE_DIR", numba_cache())
# The models of the tests are so small that the threads of OpenMP would only wait for each other,
# which takes minutes where other work has the cores.
os.environ.setdefault("OMP_NUM_THREADS", "1")


# The same examples in each run, however slow the machine: few for whoever waits for them, many with
# --hypothesis-profile=ci.
common = settings(
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.register_profile("dev", common, max_examples=10)
settings.register_profile("ci", common, max_examples=100)
settings.load_profile("dev")


@pytest.fixture(autouse=True)
def clock():
    """The clock that the package reads (tests/helpers/clocks.py), at its usual pace."""
    CLOCK.begin()
    yield CLOCK
    CLOCK.step, CLOCK.interrupts_at = STEP, None


def pytest_runtest_setup(item):
    """Leave out what needs packages that are missing: `pytest.mark.services("xgboost")`."""
    wanted = {name for mark in item.iter_markers("services") for name in mark.args}
    missing = sorted(name for name in wanted if find_spec(name) is None)
    if missing:
        pytest.skip(f"{', '.join(missing)} not installed (pip install --group services)")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call():
    """Leave out what scikit-learn cannot do where the locale is not UTF-8."""
    try:
        return (yield)
    except UnicodeDecodeError as error:
        frames = traceback.extract_tb(error.__traceback__)
        its_own = any("_repr_html" in Path(frame.filename).parts for frame in frames)
        if its_own and locale.getencoding().lower().replace("-", "") != "utf8":
            pytest.skip(
                "scikit-learn reads its own files in the locale's encoding, which is not UTF-8"
            )
        raise


def pytest_ignore_collect(collection_path, config):
    """Read no file of services alone where none is asked for; one that is named is read."""
    if "not services" not in config.option.markexpr:
        return None
    if collection_path.is_relative_to(TOP / "docs"):
        return True
    if not (collection_path.name.startswith("test_") and collection_path.suffix == ".py"):
        return None
    marks = re.search(rb"^pytestmark = .*\bmark\.services\b", collection_path.read_bytes(), re.M)
    return True if marks else None


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path):
    """Look for doctests in modules that hold some."""
    collectors = yield
    if file_path.suffix != ".py" or b">>> " in file_path.read_bytes():
        return collectors
    return [found for found in collectors if type(found).__name__ != "DoctestModule"]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Sessions of pages belong to the services, as the site that they are parts of."""
    for item in items:
        if item.path.is_relative_to(TOP / "docs"):
            item.add_marker("services")


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config):
    """Share a run of everything among the cores; a run of some files stays in one process."""
    options = config.option
    whole = config.args_source is pytest.Config.ArgsSource.TESTPATHS
    if not (whole and config.pluginmanager.hasplugin("xdist")):
        return
    if hasattr(config, "workerinput"):  # one of these processes, which would start its own
        return
    if options.numprocesses is None and not (options.usepdb or options.collectonly):
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        if cores and cores > 1:
            options.numprocesses = min(cores, MOST_PROCESSES)
            options.dist = "loadscope"


def pytest_report_header():
    """Say what `pytest` alone leaves out."""
    return "tiers: the default one, unless -m names others (slow, services): tests/README.md"


def group_of(nodeid):
    """What has to run in one process: a file with its fixtures, or all files that compile."""
    file = nodeid.partition("::")[0]
    return "compiled" if file.startswith(COMPILING) else file


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Hand the tests to the processes by these groups."""
    from xdist.scheduler import LoadScopeScheduling

    class ByGroup(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            return group_of(nodeid)

    return ByGroup(config, log) if config.option.dist == "loadscope" else None
