"""Processes that go on when the one that started them has ended, and files that they lock."""

import subprocess
import sys

import pytest
from clocks import HANGING
from detached import start_python
from places import TOP

from skfairtest.workers import _detached
from skfairtest.workers._detached import locked


class Started(list):
    """In the place of `Popen`: what was asked of it; nothing runs."""

    def __call__(self, command, **settings):
        self.append((command, settings))
        return self

    def wait(self):
        return 0


def test_a_process_has_no_streams_and_a_session_of_its_own(monkeypatch):
    started = Started()
    monkeypatch.setattr(subprocess, "Popen", started)
    monkeypatch.setattr(sys, "path", ["here", "there"])
    start_python("pass")
    [((executable, option, code), settings)] = started
    assert option == "-c"
    assert code == "import sys; sys.path[:] = ['here', 'there']; pass"
    assert executable
    streams = {settings[name] for name in ("stdin", "stdout", "stderr")}
    assert streams == {subprocess.DEVNULL}
    assert settings["start_new_session"]


def test_frozen_applications_start_nothing(monkeypatch):
    started = Started()
    monkeypatch.setattr(subprocess, "Popen", started)
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    start_python("pass")
    assert started == []


def test_where_processes_are_forbidden_nothing_is_said(monkeypatch):
    def forbid(*args, **settings):
        raise PermissionError

    monkeypatch.setattr(subprocess, "Popen", forbid)
    start_python("pass")


def test_one_lock_at_a_time(tmp_path):
    path = tmp_path / "file"
    with locked(path) as first, locked(path) as second:
        assert first
        assert not second
    with locked(path) as again:
        assert again
    assert path.read_bytes() == b""


def test_a_lock_ends_with_its_process_however_that_ends(tmp_path):
    path = tmp_path / "file"
    code = (
        "import os; from pathlib import Path; from skfairtest.workers._detached import locked\n"
        f"with locked(Path({str(path)!r})) as is_free:\n"
        "    print(is_free, flush=True)\n"
        "    input()\n"
        "    os._exit(1)\n"
    )
    command = [sys.executable, "-c", code]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, cwd=TOP, text=True, **pipes) as process:
        assert process.stdout.readline() == "True\n"
        with locked(path) as is_free:
            assert not is_free
        process.communicate("\n", timeout=HANGING)
    with locked(path) as is_free:
        assert is_free


@pytest.mark.skipif(sys.platform == "win32", reason="file systems without locks")
def test_where_nothing_can_be_locked_everything_counts_as_free(tmp_path, monkeypatch):
    def fail(file, how):
        raise OSError("no locks available")

    monkeypatch.setattr(_detached.fcntl, "flock", fail)
    with locked(tmp_path / "file") as is_free:
        assert is_free
