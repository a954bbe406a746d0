"""`skfairtest alternatives`: what it searches, writes and returns."""

from __future__ import annotations

import json

import pytest
from gate_samples import people
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tiers import slow_sample

from skfairtest.cli import _alternatives
from skfairtest.cli._alternatives import CODES, settings_of
from skfairtest.model_selection import AlternativesResult

WHO = ("--sensitive", "sex", "--target", "hired", "--favourable", "yes", "--quiet")
FILES = ("--json", "out.json", "--markdown", "out.md")


def result():
    return AlternativesResult.from_json("out.json")


@slow_sample
def test_columns_of_a_model_in_a_file(run, here):
    told = ["--candidates", "columns", "--margin", "0.02", "--html", "out.html"]
    code, out, err = run("alternatives", "model.skops", "data.csv", *WHO, *FILES, *told)
    found = result()
    assert code == CODES[found.verdict], err
    assert out.strip() == found.sentence
    assert {one.kind for one in found.alternatives[1:]} == {"columns"}
    assert found.settings.margin == 0.02 and found.settings.sensitive_features == ["sex"]
    assert "# Search for alternatives to LogisticRegression" in (here / "out.md").read_text("utf-8")
    assert "<svg" in (here / "out.html").read_text("utf-8")


@pytest.mark.parametrize("verdict, code", [("found", 1), ("not found", 0), ("cannot be told", 3)])
def test_exit_codes_are_those_of_a_gate(run, monkeypatch, verdict, code):
    from alternatives_samples import found_in

    made = found_in(verdict)
    monkeypatch.setattr(_alternatives, "searched", lambda *_: Made(made))
    assert run("alternatives", "model.skops", "data.csv", *WHO)[0] == code
    made = found_in(verdict, stop_reason="interrupted")
    monkeypatch.setattr(_alternatives, "searched", lambda *_: Made(made))
    assert run("alternatives", "model.skops", "data.csv", *WHO)[0] == 130


class Made:
    """A search that was fitted."""

    def __init__(self, result):
        self.result_ = result
        self.to_json, self.to_markdown, self.to_html = (
            result.to_json, result.to_markdown, result.to_html,
        )  # fmt: skip


@slow_sample
def test_settings_in_json_stand_in_place_of_the_known_ones(run, here):
    (here / "params.json").write_text(json.dumps({"logisticregression__C": [0.1, 0.5]}))
    for given in ("params.json", '{"logisticregression__C": [0.1, 0.5]}'):
        told = ["--candidates", "settings", "--params", given, "--n-iter", "2", "--held-out", "0.4"]
        code, _, err = run("alternatives", "model.skops", "data.csv", *WHO, *FILES, *told)
        assert code in (0, 1, 3), err
        tried = {one.params["logisticregression__C"] for one in result().alternatives[1:]}
        assert tried == {"0.1", "0.5"}


@slow_sample
def test_a_regressor_and_numbers_of_its_own(run, here):
    frame = people()
    numbers = frame[["age", "income"]].assign(sex=(frame["sex"] == "m") * 1)
    numbers["y"] = numbers["income"] + 5 * numbers["sex"]
    numbers.to_csv(here / "targets.csv", index=False)
    code, out, err = run(
        "alternatives", "numbers.skops", "targets.csv", "--sensitive", "sex", "--target", "y",
        "--disparity", "mean_prediction_difference", "--candidates", "drop", *FILES,
    )  # fmt: skip
    assert code in (0, 1, 3), err
    assert out.startswith("Verdict") and "the page that --html writes" in out
    assert result().settings.disparity == ["mean_prediction_difference"]


@pytest.mark.parametrize(
    "words, said",
    [
        ([], "expected --target"),
        (["--target", "hired", "--candidates", "colums"], "Did you mean 'columns'"),
        (["--target", "hired", "--params", "nowhere.json"], "cannot be read"),
        (["--target", "hired", "--params", '{"C": 1}'], "a list of values for each setting"),
        (["--target", "hired", "--params", "{"], "cannot be read"),
        (["--target", "hired", "--margin", "-1"], "margin"),
        (["--target", "hired", "--held-out", "1.5"], "held_out"),
        (["--target", "hired", "--disparity", "fairness"], "fairness"),
        (["--target", "hired", "--json", "data.csv"], "would replace a file"),
        (["--target", "hired", "--space", "x"], "unrecognized"),
        (["--target", "gone"], "not a column of the data"),
    ],
)
def test_wrong_usage_is_said_and_nothing_is_written(run, here, words, said):
    files = [] if "--json" in words else ["--json", "out.json"]
    code, out, err = run("alternatives", "model.skops", "data.csv", "--sensitive", "sex", "--quiet",
                         "--favourable", "yes", *words, *files)  # fmt: skip
    assert code == 2 and said in err and not out
    assert not (here / "out.json").exists()


def test_known_settings_are_those_of_the_last_step():
    assert list(settings_of(LogisticRegression(C=7))) == ["C"]
    assert settings_of(LogisticRegression(C=7))["C"][0] == 7
    model = make_pipeline(StandardScaler(), HistGradientBoostingClassifier())
    prefix = "histgradientboostingclassifier__"
    names = {name.removeprefix(prefix) for name in settings_of(model)}
    assert names == {"learning_rate", "max_leaf_nodes", "max_depth", "min_samples_leaf"}
    assert settings_of(Ridge(alpha=2.0)) == {"alpha": [0.2, 2.0, 20.0, 200.0]}
    assert settings_of(object()) == {}
