"""How far a call has come: who is told, and what a terminal and a notebook show meanwhile."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from types import SimpleNamespace

import pytest
from clocks import HANGING
from places import TOP

from skfairtest import _progress
from skfairtest._progress import (
    Cell,
    Lines,
    Live,
    RichScreen,
    Screen,
    listening,
    make_progress,
    tell,
)


class Seconds:
    """A clock that stands still between the steps of a test."""

    now = 0.0

    def __call__(self):
        return self.now


class Paper(Screen):
    """Keeps what was drawn, and says when that was."""

    def __init__(self):
        super().__init__()
        self.drawn, self.closed, self.was_drawn = [], False, threading.Event()

    def show(self, rows):
        self.drawn.append(rows)
        self.was_drawn.set()

    def close(self):
        self.closed = True


class Stream:
    """A terminal that keeps what is written to it."""

    encoding = "utf-8"

    def __init__(self, is_terminal=True):
        self.text, self.is_terminal = "", is_terminal

    def write(self, text):
        self.text += text

    def flush(self):
        pass

    def isatty(self):
        return self.is_terminal

    def fileno(self):
        raise OSError("no window")


class Unopened(Paper):
    """Is not drawn on, so that no thread asks for rows beside the test."""

    def open(self):
        raise RuntimeError("no screen")


@pytest.fixture
def live():
    return Live(Unopened(), clock=Seconds())


def rows(live, width=80, height=24):
    return live.rows(width, height)


def test_what_is_told_reaches_who_listens_in_this_thread():
    heard = []
    tell(0.1, "nobody listens")
    with listening(lambda *told: heard.append(("outer", *told))):
        tell(0.2, "rows")
        with listening(lambda *told: heard.append(("inner", *told))):
            tell(None, "between 0.41 and 0.6")
        thread = threading.Thread(target=tell, args=(0.5, "of another thread"))
        thread.start()
        thread.join()
        tell(1.0, "rows")
    tell(0.3, "nobody listens")
    assert heard == [
        ("outer", 0.2, "rows"), ("inner", None, "between 0.41 and 0.6"), ("outer", 1.0, "rows")
    ]  # fmt: skip


def test_the_last_row_says_what_runs_and_how_far_it_is(live):
    live.begin("audit", 2)
    live.part("rows")
    assert rows(live) == ["[audit 1/2, 0.0 s] rows"]
    live.clock.now = 3.2
    tell(0.04, "1,200 of 30,000 rows")
    assert rows(live) == ["[audit 1/2, 3.2 s] rows 4%, 1,200 of 30,000 rows"]
    live.done("rows: 30,000 rows")
    live.part("certificate")
    tell(None, "between 0.41 and 0.6")
    assert rows(live)[-1] == "[audit 2/2, 3.2 s] certificate, between 0.41 and 0.6"
    assert rows(live, width=20)[-1] == "[audit 2/2, 3.2 s] c"
    live.done("certificate")
    assert rows(live)[-1].startswith("[audit 2/2, 3.2 s] certificate")
    live.finish()
    tell(0.5, "nobody listens")
    assert live.now[2] == "between 0.41 and 0.6"


def test_the_page_is_made_anew_where_a_part_has_ended_or_the_width_is_another(live):
    asked = []
    live.begin("audit", 3)
    live.page = lambda width: asked.append(width) or [f"Found      {len(asked)}\n           more"]
    assert rows(live) == ["[audit 1/3, 0.0 s] "] and not asked
    live.done("rows")
    assert rows(live)[:-1] == rows(live)[:-1] == ["Found      1", "           more"]
    assert rows(live, width=60)[0] == "Found      2" and asked == [80, 60]
    live.page = lambda width: 1 / 0
    live.done("more rows")
    assert rows(live)[0] == "Found      2"  # what was known stays
    live.finish()


def test_a_low_window_has_the_beginning_of_each_paragraph(live):
    live.begin("audit", 3)
    live.page = lambda width: [f"{name}\n  more\n  and more" for name in "abc"]
    live.done("rows")
    assert len(rows(live, height=11)) == 10
    assert rows(live, height=10)[:-1] == ["a ...", "b ...", "c ..."]
    assert rows(live, height=4)[:-1] == ["a ...", "b ..."]
    assert len(rows(live, height=1)) == 1
    live.finish()


def test_names_of_columns_are_no_commands_to_the_terminal(live):
    live.begin("audit", 1)
    live.part("rows: \x1b[2Jsex\n\r")
    assert rows(live) == ["[audit 1/1, 0.0 s] rows: ?[2Jsex??"]
    live.finish()


def test_without_a_page_there_is_what_the_parts_brought(live):
    live.begin("compare_mitigations", 2)
    live.done("original: 0.1 s a training")
    assert rows(live)[0] == "original: 0.1 s a training"
    live.finish()


def test_a_thread_draws_until_the_end():
    live = Live(Paper())
    live.begin("audit", 1)
    assert live.screen.was_drawn.wait(HANGING)
    live.finish()
    assert live.screen.closed and not live._thread.is_alive()
    assert live.screen.drawn[0][-1].startswith("[audit 1/1, ")


@pytest.mark.parametrize("when", ["open", "show", "size", "close"])
def test_a_screen_that_breaks_ends_nothing(when):
    class Broken(Paper):
        pass

    def fail(self, *given):
        self.was_drawn.set()
        raise RuntimeError("no screen")

    setattr(Broken, when, fail)
    live = Live(Broken())
    live.begin("audit", 1)
    assert live.screen.was_drawn.wait(HANGING)
    live.part("rows")
    live.done("rows")
    live.finish()
    assert live._thread is None or not live._thread.is_alive()


def test_ctrl_c_at_the_end_loses_nothing(monkeypatch):
    live = Live(Paper())

    def press(self, timeout=None):
        raise KeyboardInterrupt

    live.begin("audit", 1)
    monkeypatch.setattr(live._thread, "join", press.__get__(live._thread))
    live.finish()


def test_rows_are_drawn_over_those_before(monkeypatch):
    monkeypatch.setattr("sys.stderr", Stream())
    screen = Screen()
    assert screen.size() == (80, 24)
    screen.show(["a", "b", "c"])
    assert screen.stream.text == "\r\x1b[J\x1b[?7la\nb\nc\x1b[?7h"
    screen.stream.text = ""
    screen.close()
    assert screen.stream.text == "\r\x1b[2A\x1b[J\x1b[?7l\x1b[?7h"


def test_rich_takes_names_as_they_are(monkeypatch):
    pytest.importorskip("rich")
    monkeypatch.setattr("sys.stderr", Stream())
    screen = RichScreen()
    screen.open()
    screen.show(["Found      [bold]sex[/bold] [/]", "[audit 1/2, 0.0 s]"])
    screen.close()
    assert "Found      [bold]sex[/bold] [/]" in screen.stream.text
    assert "[audit 1/2, 0.0 s]" in screen.stream.text


@pytest.fixture
def notebook(monkeypatch):
    """A kernel that keeps what its cell shows."""
    shown = []

    def display(data, raw, display_id):
        shown.append(data)
        return SimpleNamespace(update=lambda data, raw: shown.append(data))

    shell = SimpleNamespace(kernel=object())
    found = SimpleNamespace(get_ipython=lambda: shell, display=SimpleNamespace(display=display))
    monkeypatch.setitem(sys.modules, "IPython", found)
    monkeypatch.setitem(sys.modules, "IPython.display", found.display)
    return SimpleNamespace(shown=shown, shell=shell)


def test_a_cell_of_a_notebook_is_drawn_anew_and_left_empty(notebook):
    live = make_progress("auto")
    assert isinstance(live, Live) and isinstance(live.screen, Cell)
    live.screen.show(["a < b", "[audit 1/2, 0.0 s]"])
    live.screen.show(["c"])
    live.screen.close()
    assert [one["text/html"] for one in notebook.shown] == [
        "<pre>a &lt; b\n[audit 1/2, 0.0 s]</pre>", "<pre>c</pre>", ""
    ]  # fmt: skip
    notebook.shell.kernel = None  # IPython in a terminal
    assert not isinstance(getattr(make_progress("auto"), "screen", None), Cell)


@pytest.mark.parametrize(
    ("stream", "term", "rich", "kind"),
    [
        (Stream(), "xterm", True, RichScreen),
        (Stream(), "xterm", False, Screen),
        (Stream(), "dumb", True, None),
        (Stream(is_terminal=False), "xterm", True, None),
        (None, "xterm", True, None),
    ],
)
def test_where_progress_is_drawn(monkeypatch, stream, term, rich, kind):
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setenv("TERM", term)
    monkeypatch.setattr(_progress, "find_spec", lambda name: rich or None)
    found = make_progress("auto")
    assert isinstance(found, Lines) if kind is None else type(found.screen) is kind
    assert isinstance(make_progress(True), Lines)


AUDIT = """
import importlib.util, sys, time
if sys.argv[1] == "without":
    found = importlib.util.find_spec
    importlib.util.find_spec = lambda name, *more: None if name == "rich" else found(name, *more)
import numpy as np, pandas as pd
from skfairtest import SBFTAuditor, audit, _progress
_progress.EVERY = 0.01
class Model:
    classes_ = np.array([0, 1])
    __sklearn_is_fitted__ = lambda self: True
    def predict(self, X):
        time.sleep(0.01)
        return (X["[bold]sex"] + X["income"] > 5).astype(int).to_numpy()
rng = np.random.default_rng(0)
X = pd.DataFrame({"[bold]sex": rng.integers(0, 2, 300), "income": rng.integers(0, 10, 300)})
report = audit(Model(), X, sensitive_features="[bold]sex", auditor=SBFTAuditor(max_queries=2000),
               favourable=1, moved=False, random_state=0, max_time=None)
print("THE END")
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="needs a pseudo-terminal")
@pytest.mark.parametrize("rich", ["with", "without"])
def test_a_terminal_shows_what_runs_and_what_is_known(rich, tmp_path):
    import pty

    if rich == "with":
        pytest.importorskip("rich")
    main, end = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "PYTHONPATH": str(TOP)}
    command = [sys.executable, "-c", AUDIT, rich]
    with subprocess.Popen(command, stdout=end, stderr=end, env=environment, cwd=tmp_path) as run:
        os.close(end)
        text = b""
        while b"THE END" not in text:
            try:
                text += os.read(main, 65536)
            except OSError:  # the other end is closed
                break
        run.wait(HANGING)
    os.close(main)
    text = text.decode()
    assert run.returncode == 0, text[-2000:]
    assert re.search(r"\[audit \d/\d, \d+\.\d s\] (rows|search): \[bold\]sex \d+%, ", text)
    assert re.search(r"Found +\d+ of the 300 people in the table", text)
    # Nothing of it is left above what the user prints.
    after = text[: text.index("THE END")].rpartition("audit ")[2]
    assert "\x1b[" in after and "Found" not in after
