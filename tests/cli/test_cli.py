"""skfairtest audit: models and data in, verdicts, files and exit codes out."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from xml.etree import ElementTree as ET

import gate_samples
import numpy as np
import pandas as pd
import pytest
from clocks import HANGING
from gate_samples import Drawn, Fails, Foreign, ReadsDates, Talkative, Varies, people
from jsonschema import Draft202012Validator
from light_skops import skops
from places import TOP
from tiers import SAMPLE, slow_sample
from typed_reports import altered, searches

import skfairtest
from skfairtest import AuditReport
from skfairtest.cli import _alternatives, _audit, _certify, _compare, _demo, _main
from skfairtest.report._types import LimitsOutcome
from skfairtest.report.parts.rows.results import RowsPart
from skfairtest.report.parts.search.results import SearchPart
from skfairtest.report.parts.twins.results import TwinsPart

QUICK = ["--max-queries", "300", "--max-time", "none", "--quiet"]
WHO = ["--sensitive", "sex", "--target", "hired"]


def model_file(model, name="own.skops"):
    """A model of gate_samples in a file, and the options that let it be loaded."""
    frame = people()
    skops.io.dump(model.fit(frame.drop(columns="hired"), frame["hired"]), name)
    kind = type(model)
    return [name, "data.csv", *WHO, "--trust", f"{kind.__module__}.{kind.__qualname__}"]


# Verdicts and exit codes ------------------------------------------------------------------------


@slow_sample
def test_within_exceeded_and_without_limits(run):
    code, out, err = run("audit", "model.skops", "data.csv", *WHO, *QUICK, "--max-degree", "0.9")
    assert code == 0 and err.startswith(
        "skfairtest: UserWarning: yes taken as favourable, which is"
    )
    assert re.fullmatch(r"Within: no difference in the domain is above 0.9 \(proven\)\.\n", out)
    told = ["--favourable", "no", "--json", "out.json"]
    code, out, err = run(
        "audit", "model.skops", "data.csv", *WHO, *QUICK, "--max-degree", "0.01", *told
    )
    taken = json.loads(Path("out.json").read_bytes())["favourable"]
    assert err == "" and taken["labels"] == "no" and taken["how"] == "given"
    assert code == 1 and re.fullmatch(r"Exceeded: a difference of 0.\d+ is above 0.0\d+\.\n", out)
    code, out, _ = run("audit", "model.skops", "data.csv", *WHO, *QUICK)
    assert code == 0 and re.match(
        r"No limits were given. \d+ of the 200 people in the table would get another decision", out
    )
    assert out.count("\n") == 1


@slow_sample
def test_a_search_that_finds_nothing_says_what_it_did(run):
    words = model_file(Foreign())
    way = ["--seed", "3", "--estimates-decide"]
    code, out, _ = run("audit", *words, *QUICK, "--max-degree", "0.35", *way)
    said = r"Within: no difference above 0.35 found in \d+ queries \(seed 3\)\.\n"
    assert code == 0 and re.fullmatch(said, out)


@slow_sample
def test_undecided_where_there_is_no_proof(run):
    words = model_file(Foreign())
    words += ["--max-degree", "0.35", "--junit", "out.xml", "--markdown", "out.md"]
    code, out, _ = run("audit", *words, *QUICK)
    assert code == 3 and out.startswith("Undecided: ") and "there is no upper bound" in out
    figure = "largest difference between twins in sex: 0.30 (lower bound)"
    assert figure in Path("out.xml").read_text("utf-8")
    assert figure in Path("out.md").read_text("utf-8")


@pytest.mark.parametrize("after", [0, pytest.param(150, marks=SAMPLE)])
def test_a_model_that_fails_is_4(run, after):
    words = model_file(Fails(after=after, message="the database is gone"))
    code, out, err = run("audit", *words, *QUICK, "--max-degree", "0.35", "--json", "out.json")
    assert code == 4 and "the database is gone" in out + err
    assert Path("out.json").exists() == (after > 0)  # what ran before is there
    assert "Traceback" not in err


@pytest.mark.parametrize("model", [Varies(), Drawn()])
@pytest.mark.parametrize("command", [["audit"], ["compare", "own.skops"]])
def test_a_model_whose_answers_vary_is_refused(run, command, model):
    code, out, err = run(*command, *model_file(model), *QUICK)
    assert code == 4 and "rows that were asked twice" in out + err


def test_a_model_that_fails_or_ends_the_program_is_4_without_limits_too(run):
    code, out, _ = run("audit", *model_file(Fails(after=250)), *QUICK)
    assert code == 4 and out.startswith("Failed: the audit failed: ") and out.count("\n") == 1
    for after in (0, 250):
        words = model_file(Fails(after=after, error="SystemExit", message=0))
        code, _, err = run("audit", *words, *QUICK)
        assert code == 4 and "SystemExit" in err


def test_interrupted_runs_write_what_was_found(run):
    words = model_file(Fails(after=1200, error="KeyboardInterrupt"))
    code, out, _ = run(
        "audit", *words, *QUICK, "--max-degree", "0.1", "--json", "out.json", "--html", "out.html",
        "--junit", "out.xml", "--markdown", "out.md",
    )  # fmt: skip
    assert code == 130 and out.startswith("Interrupted; this is what was found so far.")
    report = AuditReport.from_json("out.json")
    assert report.status == "interrupted" and report.fairness_degree > 0
    assert "interrupted" in Path("out.xml").read_text("utf-8")
    assert Path("out.html").stat().st_size and Path("out.md").stat().st_size
    words = model_file(Fails(error="KeyboardInterrupt"))
    code, out, err = run("audit", *words, *QUICK, "--json", "none.json")
    assert (code, out) == (130, "") and "interrupted before the end" in err
    assert not Path("none.json").exists()


def test_what_is_unexpected_does_not_look_like_a_limit(run, monkeypatch):
    monkeypatch.setattr(_audit, "run_audit", lambda *_: 1 / 0)
    code, _, err = run("audit", "model.skops", "data.csv", *WHO)
    assert code == 4 and "ZeroDivisionError" in err and "nothing is known" in err


# What is written --------------------------------------------------------------------------------


@slow_sample
def test_files(run):
    code, _, _ = run(
        "audit", "model.skops", "data.csv", *WHO, *QUICK, "--max-degree", "0.01",
        "--min-impact-ratio", "0.0", "--json", "a.json", "--html", "a.html", "--junit", "a.xml",
        "--markdown", "a.md",
    )  # fmt: skip
    assert code == 1
    schema = json.loads((files("skfairtest.report") / "schema" / "v2.json").read_text("utf-8"))
    report = json.loads(Path("a.json").read_bytes())
    Draft202012Validator(schema).validate(report)
    assert report["seed"] == 0 and report["data"]["target_given"]
    assert Path("a.html").read_text("utf-8").rstrip().endswith("</html>")
    lines = Path("a.md").read_text("utf-8").split("\n")
    assert lines[0].startswith("**Exceeded: ") and "| `max_degree` 0.01" in "\n".join(lines)
    suite = ET.parse("a.xml").getroot().find("testsuite")
    assert [suite.get(name) for name in ("tests", "failures", "errors")] == ["2", "1", "0"]
    first, second = suite.findall("testcase")
    assert (
        first.get("name") == "max_degree 0.01" and first.find("failure").get("type") == "exceeded"
    )
    assert second.find("failure") is None
    assert not list(Path().glob(".*part"))
    (suite,) = pytest.importorskip("junitparser").JUnitXml.fromfile("a.xml")
    assert (suite.tests, suite.failures) == (2, 1)


@slow_sample
def test_a_disk_that_is_full_at_the_end(run, monkeypatch):
    from skfairtest.report import _writing

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(_writing.tempfile, "mkstemp", full)
    words = ["audit", "model.skops", "data.csv", *WHO, *QUICK, "--max-degree", "0.01"]
    code, out, err = run(*words, "--json", "a.json", "--junit", "a.xml")
    assert code == 2 and out.startswith("Exceeded: ")
    assert "--json 'a.json' could not be written: No space" in err and "--junit 'a.xml'" in err


def test_junit_and_the_exit_code_agree_where_a_part_failed():
    from report_samples import usual

    report = altered(usual(), status="failed", reason="groups: ValueError: x")
    for limits, errors in ((skfairtest.Limits(max_degree=0.9), "0"), (skfairtest.Limits(), "0")):
        root = ET.fromstring(_audit.junit(report.with_limits(limits)))
        assert report.check(limits).exit_code == 0 and root.get("errors") == errors
        assert "groups: ValueError: x" in root.findtext(".//testcase[@name='audit']/system-out")
    for kind in (TwinsPart, RowsPart):
        report = altered(report, kind, degree=None)
    report = altered(report, SearchPart, status="failed")
    for limits in (skfairtest.Limits(max_degree=0.9), skfairtest.Limits()):
        root = ET.fromstring(_audit.junit(report.with_limits(limits)))
        assert report.check(limits).exit_code == 4 and root.get("errors") == "1"
    # Of a part that no limit is about, the figures of others say nothing.
    assert report.check(skfairtest.Limits(min_impact_ratio=0.0)).exit_code == 0


def test_junit_of_undecided_failed_and_hostile(run):
    from report_samples import hostile, nothing_found

    report = AuditReport(hostile())
    root = ET.fromstring(_audit.junit(report.with_limits(max_degree=0.1)).encode())
    assert root.get("failures") == "1"
    bad = 'a\x00b\x1b[31m\ud800\ufffe]]>&"<'
    check = skfairtest.report.LimitCheck(
        name="max_degree",
        limit=0.1,
        status="failed",
        figure=bad,
        value=None,
        low=None,
        high=None,
        interval="",
        words=bad,
        left_out=[bad],
    )
    report = altered(report, limits=LimitsOutcome("failed", [check], bad))
    root = ET.fromstring(_audit.junit(report).encode())
    assert root.get("errors") == "1"
    assert "Not judged: a" in "".join(root.itertext())
    report = AuditReport(nothing_found()).with_limits(max_degree=0.1)
    root = ET.fromstring(_audit.junit(report))
    assert root.find(".//failure").get("type") == "undecided"


@slow_sample
def test_a_file_on_standard_output_is_alone_there(run):
    words = ["--max-queries", "300", "--max-time", "none"]
    code, out, err = run("audit", *model_file(Talkative()), *words, "--json", "-")
    assert code == 0 and json.loads(out)["status"] == "complete"
    assert "predicting" in err and "No limits were given" in err


@slow_sample
def test_letters_that_the_terminal_has_not(run, monkeypatch):
    frame = people().rename(columns={"sex": "Geschlecht ♀"})
    frame.to_csv("data.csv", index=False)
    Path("letters_of_test.py").write_text(
        "import numpy as np\nfrom gate_samples import Foreign, people\n"
        "class Letters(Foreign):\n"
        "    def predict_proba(self, X):\n"
        "        return super().predict_proba(X.rename(columns={'Geschlecht \u2640': 'sex'}))\n"
        "frame = people().rename(columns={'sex': 'Geschlecht \u2640'})\n"
        "model = Letters().fit(frame.drop(columns='hired'), frame['hired'])\n",
        encoding="utf-8",
    )
    words = ["letters_of_test:model", "data.csv", "--sensitive", "Geschlecht ♀", *WHO[2:]]
    for output in ([], ["--json", "-"], ["--markdown", "-"]):
        raw = io.BytesIO()
        monkeypatch.setattr("sys.stdout", io.TextIOWrapper(raw, encoding="ascii"))
        assert run("audit", *words, *QUICK[:-1], *output)[0] == 0
        assert ("Geschlecht ♀" if output else "Geschlecht ?") in raw.getvalue().decode("utf-8")


@pytest.mark.slow
def test_a_talkative_model_in_a_process_of_its_own(here):
    name, _, *words = model_file(Talkative())
    rows = Path("data.csv").read_text(encoding="utf-8")
    done = command("audit", name, "-", *words, *QUICK, "--max-degree", "0.2", stdin=rows)
    assert done.returncode == 1 and re.fullmatch("Exceeded: .*\n", done.stdout)
    assert "predicting" in done.stderr and "from compiled code" in done.stderr


@slow_sample
def test_lines_of_progress_in_a_log_and_none_if_quiet(run):
    _, out, err = run("audit", "model.skops", "data.csv", *WHO, *QUICK[:-1], "--max-degree", "0.01")
    assert "[audit 1/" in err and "\x1b" not in err
    assert re.search(r"^Limits +Fail: a difference of", out, re.M) and "Exceeded:" in out
    found = re.search(r"^Found +(.*?)^Limits", out, re.M | re.S).group(1)
    assert "if only their sex were changed" in " ".join(found.split())


# Where options come from ------------------------------------------------------------------------


CONFIG = """
[tool.skfairtest.audit]
model = "model.skops"
data = "data.csv"
sensitive = ["sex"]
target = "hired"
max-degree = 0.01
max_queries = 300
quiet = true
seed = 5
json = "out.json"
"""


@slow_sample
def test_options_of_a_file_and_the_command_line_first(run, here, monkeypatch):
    Path("pyproject.toml").write_text(CONFIG, encoding="utf-8")
    code, out, _ = run("audit", "--config", "pyproject.toml")
    assert code == 1 and json.loads(Path("out.json").read_bytes())["seed"] == 5
    code, *_ = run("audit", "--config", "pyproject.toml", "--max-degree", "0.9", "--seed", "6")
    assert code == 0 and json.loads(Path("out.json").read_bytes())["seed"] == 6
    # Paths in the file are beside it.
    Path("below").mkdir()
    monkeypatch.chdir("below")
    assert run("audit", "--config", "../pyproject.toml")[0] == 1


@pytest.mark.parametrize(
    "text, told",
    [
        ("max-degre = 1", "Did you mean '--max-degree'"),
        ('sensitiv = "sex"', "Did you mean '--sensitive'"),
        ('max-degree = "high"', "argument --max-degree: expected a number; got 'high'"),
        ("max-degree = true", "argument --max-degree: expected one argument"),
        ('quiet = "yes"', "argument --quiet: ignored explicit argument"),
        ("sensitive = [[1]]", "is no option"),
        ("model = 1", "model must be a text"),
        ('rows = "all"', "argument --rows: invalid choice"),
        ("unsafe-pickle = true", "cannot be set"),
        ("config = 'x'", "cannot be set"),
        ("max-degree = ", "is not TOML"),
        ("[tool.other]", "has no table [tool.skfairtest.audit]"),
    ],
)
def test_files_of_options_that_mean_nothing(run, text, told):
    table = "" if "other" in text else "[tool.skfairtest.audit]\n"
    Path("p.toml").write_text(f"{table}{text}\n", encoding="utf-8")
    code, _, err = run("audit", "model.skops", "data.csv", *WHO, "--config", "p.toml")
    assert code == 2 and told in err and "'p.toml'" in err
    assert run("audit", "--config", "no.toml")[0] == 2


# Models and data in their ways ------------------------------------------------------------------


@slow_sample
def test_standard_input(run, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(Path("data.csv").read_bytes())))
    assert run("audit", "model.skops", "-", *WHO, *QUICK)[0] == 0


def test_parquet_without_pyarrow(run, monkeypatch):
    monkeypatch.setattr("skfairtest.cli._data_file.find_spec", lambda name: None)
    Path("data.parquet").write_bytes(b"PAR1")
    code, _, err = run("audit", "model.skops", "data.parquet", *WHO, *QUICK)
    assert code == 2 and "needs pyarrow" in err and "pip install pyarrow" in err


@slow_sample
def test_a_model_that_is_imported(run):
    text = "import joblib\nmodel = joblib.load('model.joblib')\nclass Box: inner = model\n"
    Path("my_models_of_test.py").write_text(text, encoding="utf-8")
    for name in ("model", "Box.inner"):
        code, out, _ = run("audit", f"my_models_of_test:{name}", "data.csv", *WHO, *QUICK)
        assert code == 0 and "differ only in sex" in out
    code, _, err = run("audit", "my_models_of_test:modl", "data.csv", *WHO, *QUICK)
    assert code == 2 and "Did you mean 'model'" in err
    code, _, err = run("audit", "my_models_of_tests:model", "data.csv", *WHO, *QUICK)
    assert code == 2 and "Did you mean 'my_models_of_test'" in err
    code, _, err = run("audit", "my_models_of_test:Box", "data.csv", *WHO, *QUICK)
    assert code == 2 and "the class Box" in err


@pytest.mark.parametrize("text", ["raise RuntimeError('x')", "import sys; sys.exit(0)", "1 +"])
def test_a_module_that_cannot_be_imported(run, text):
    name = f"broken_of_test_{len(text)}"
    Path(f"{name}.py").write_text(text, encoding="utf-8")
    code, _, err = run("audit", f"{name}:model", "data.csv", *WHO)
    assert code == 2 and f"'{name}:model' cannot be imported: " in err


@slow_sample
def test_pickles_only_where_asked_for(run):
    code, _, err = run("audit", "model.joblib", "data.csv", *WHO, *QUICK)
    assert code == 2 and "--unsafe-pickle" in err and "runs whatever code" in err
    code, out, err = run("audit", "model.joblib", "data.csv", *WHO, *QUICK, "--unsafe-pickle")
    assert code == 0 and "runs whatever code" in err and "differ only in sex" in out


def test_a_pickle_is_not_opened_without_being_asked_for(run):
    Path("evil.skops").write_bytes(b"\x80\x04cos\nsystem\n(S'touch evil_ran'\ntR.")
    Path("evil.pkl").write_bytes(b"cos\nsystem\n(S'touch evil_ran'\ntR.")
    for name in ("evil.skops", "evil.pkl"):
        code, _, err = run("audit", name, "data.csv", *WHO)
        assert code == 2 and "refused" in err
    assert not Path("evil_ran").exists()


@slow_sample
def test_types_that_nobody_trusts(run):
    code, _, err = run("audit", "foreign.skops", "data.csv", *WHO, *QUICK)
    assert code == 2 and "\n  gate_samples.Foreign\n" in err
    assert "--trust gate_samples.Foreign" in err
    words = ["audit", "foreign.skops", "data.csv", *WHO, *QUICK]
    assert run(*words, "--trust", "gate_samples.Foreigner")[0] == 2
    assert run(*words, "--trust", "gate_samples.Foreign")[0] == 0


def test_arrays_have_positions(run):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"sex": rng.integers(0, 2, 50), "size": rng.integers(0, 9, 50)})
    frame.to_csv("plain.csv", index=False)
    skops.io.dump(gate_samples.ArrayOnly().fit(frame.to_numpy()), "array.skops")
    words = ["array.skops", "plain.csv", "--trust", "gate_samples.ArrayOnly", *QUICK]
    for sensitive in ("sex", "auto"):
        code, out, _ = run("audit", *words, "--sensitive", sensitive, "--json", "a.json")
        assert code == 0
        assert AuditReport.from_json("a.json").fairness_degree == 3.0


# The program ------------------------------------------------------------------------------------


def command(*words, stdin=None, **more):
    """The program in a process of its own."""
    paths = os.pathsep.join([str(TOP), str(TOP / "tests" / "helpers")])
    return subprocess.run(
        [sys.executable, "-m", "skfairtest", *words], input=stdin, capture_output=True,
        encoding="utf-8", env={**os.environ, "PYTHONPATH": paths}, timeout=HANGING, **more,
    )  # fmt: skip


@pytest.fixture
def ends(here):
    """A model that ends the process which asks it for much, in a module."""
    text = (
        "from gate_samples import *\nimport os, signal\n"
        "class Ends(Foreign):\n"
        "    rows = 0\n"
        "    def predict_proba(self, X):\n"
        "        self.rows += len(X)\n"
        "        if self.rows > 1200: os.kill(os.getpid(), signal.SIGTERM)\n"
        "        return super().predict_proba(X)\n"
        "frame = people()\n"
        "model = Ends().fit(frame.drop(columns='hired'), frame['hired'])\n"
    )
    Path("ends.py").write_text(text, encoding="utf-8")
    yield ["audit", "ends:model", "data.csv", *WHO, *QUICK, "--json", "out.json"]
    sys.modules.pop("ends", None)


def is_cut_short():
    report = AuditReport.from_json("out.json")
    return report.status == "interrupted" and report.fairness_degree > 0


@pytest.fixture
def unheard():
    """What becomes of a request to end that nobody takes for an interruption."""

    def fail(*_):
        raise AssertionError("the program did not see to it")

    before = signal.signal(signal.SIGTERM, fail)
    yield fail
    signal.signal(signal.SIGTERM, before)


@pytest.mark.skipif(os.name != "posix", reason="requests to end come as signals there alone")
def test_end_requests_count_as_interruptions(ends, unheard, run):
    code, _, err = run(*ends)
    assert code == 130, err
    assert is_cut_short()
    assert signal.getsignal(signal.SIGTERM) == unheard


@pytest.mark.slow
def test_end_requests_to_a_process_of_its_own(ends):
    done = command(*ends)
    assert done.returncode == 130, done.stderr
    assert is_cut_short()
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


HELPS = {
    "": (_main.HELP, 24), "audit": (_audit.HELP, 40), "certify": (_certify.HELP, 24),
    "compare": (_compare.HELP, 24), "demo": (_demo.HELP, 24),
    "alternatives": (_alternatives.HELP, 40),
}  # fmt: skip


@pytest.mark.parametrize("name", HELPS)
def test_help_fits_a_screen_and_has_an_example(run, name):
    text, most = HELPS[name]
    code, out, err = run(*([name] if name else []), "--help")
    assert code == 0 and out.strip() == text.strip() and not err
    lines = out.rstrip("\n").split("\n")
    assert len(lines) <= most and max(map(len, lines)) <= 80
    assert lines[0].startswith("usage: skfairtest") and "\nExample: " in out


@pytest.mark.parametrize("command", [_audit, _alternatives], ids=["audit", "alternatives"])
def test_help_has_all_options_and_no_other(command):
    parser = command.make_parser()
    known = {o for a in parser.options for o in a.option_strings} - {"-h", "--help"}
    named = set(re.findall(r"--[a-z][a-z-]*", command.HELP))
    assert named == known


def test_version(run):
    assert run("--version") == (0, f"{skfairtest.__version__}\n", "")


def test_commands_that_are_not_there(run):
    code, out, err = run("audt", "model.skops")
    assert code == 2 and not out and "Did you mean 'audit'" in err
    assert run()[0] == 2


def test_importing_the_command_line_is_quick():
    code = "import skfairtest.cli, sys; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, encoding="utf-8", cwd=TOP
    )
    loaded = set(done.stdout.split())
    assert "skfairtest.cli" in loaded and not loaded & {"sklearn", "scipy", "pandas", "numpy"}


@slow_sample
def test_dates_and_categories_in_parquet(run):
    pytest.importorskip("pyarrow")
    opened = pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(200) % 70, unit="D")
    frame = people().assign(opened=opened).astype({"sex": "category"})
    frame.loc[3, "opened"] = pd.NaT
    frame.to_parquet("data.pq")
    skops.io.dump(ReadsDates().fit(frame.drop(columns="hired"), frame["hired"]), "dates.skops")
    trust = ["--trust", "gate_samples.ReadsDates"]
    told = [*WHO, *QUICK, *trust, "--json", "out.json"]
    code, _, err = run("audit", "dates.skops", "data.pq", *told)
    assert code == 0, err
    pair = searches(AuditReport.from_json("out.json"))[0].known.pair
    cells = {cell.name: cell.first for cell in pair.cells}
    assert re.fullmatch(r"2020-\d\d-\d\dT00:00:00", cells["opened"])


@slow_sample
def test_a_target_in_the_data_is_named(run):
    frame = people()
    frame["label"] = frame["hired"]
    frame.to_csv("data.csv", index=False)
    skops.io.dump(Foreign().fit(frame.drop(columns="hired"), frame["hired"]), "own.skops")
    trust = ["--trust", "gate_samples.Foreign"]
    _, _, err = run("audit", "own.skops", "data.csv", *WHO, *QUICK, *trust)
    assert err.count("X seems to hold the target: column 'label' (it is equal to y)") == 1
