"""certify, compare and demo; and limits in tests of users."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from gate_samples import Fails, Foreign, classifier, people
from light_skops import skops
from msgspec.structs import replace
from sklearn.tree import DecisionTreeRegressor
from tiers import slow_sample

from skfairtest import AuditReport, CertifiedAuditor, Limits, RandomAuditor, audit
from skfairtest.report.parts.groups import GroupsPart
from skfairtest.report.parts.selection.results import SelectionPart
from skfairtest.report.parts.twins.finalize import put_together
from skfairtest.report.parts.twins.results import TwinsPart
from skfairtest.testing import assert_within

WHO = ["--sensitive", "sex", "--drop", "hired"]


# certify ----------------------------------------------------------------------------------------


@slow_sample
def test_certify_brackets(run):
    words = ["certify", "numbers.skops", "numbers.csv", "--sensitive", "sex"]
    code, out, _ = run(*words, "--json", "out.json")
    report = AuditReport.from_json("out.json")
    (known,) = report.results(TwinsPart)
    assert code == 0 and out.startswith("No limits were given. ")
    assert known.certified and report.fairness_degree == pytest.approx(5)
    assert report.limits is None and not report.results(GroupsPart)
    assert run(*words, "--max-degree", "4.9", "--quiet")[:2] == (
        1, "Exceeded: a difference of 5.00 is above 4.9.\n"
    )  # fmt: skip
    code, out, _ = run(*words, "--max-degree", "5.1")
    assert code == 0 and "Within: " in out
    code, out, err = run(*words, "--max-degree", "4.9", "--json", "-")
    assert (
        code == 1 and AuditReport.from_json(out).limits.status == "exceeded" and "Exceeded" in err
    )


@slow_sample
def test_certify_agrees_with_the_auditor(run):
    frame = people()
    X = frame.drop(columns="hired")
    auditor = CertifiedAuditor(classifier(frame), sensitive_features=["sex"], random_state=0)
    run("certify", "model.skops", "data.csv", *WHO, "--json", "out.json", "--quiet")
    # The rows of a CSV file are those of the table, so the domain is the same.
    assert AuditReport.from_json("out.json").upper_bound == pytest.approx(
        auditor.fit(X).fairness_degree_upper_bound_
    )


def test_certify_is_undecided_where_the_bracket_straddles_the_limit(run, monkeypatch):
    def loose(*given):
        return replace(put_together(*given), upper=9.0, certified=False)

    monkeypatch.setattr("skfairtest.report.parts.twins.finalize.put_together", loose)
    words = ["certify", "numbers.skops", "numbers.csv", "--sensitive", "sex", "--max-degree", "6"]
    code, out, _ = run(*words)
    assert code == 3 and "it may be up to 9.00" in out


def test_certify_looks_at_rows_outside_of_the_domain(run):
    """Its bound is of the domain that --space tells, and the gate was "within (certified)"."""
    X = pd.DataFrame({"sex": [0, 1] * 20, "age": np.arange(40)})
    y = X["sex"] * np.where(X["age"] < 35, 1.0, 100.0)
    skops.io.dump(DecisionTreeRegressor().fit(X, y), "tree.skops")
    X.to_csv("tree.csv", index=False)
    words = ["certify", "tree.skops", "tree.csv", "--sensitive", "sex", "--json", "out.json"]
    words += ["--trust", "sklearn.tree._tree.Tree"]
    assert run(*words, "--max-degree", "100.1")[0] == 0
    whole = AuditReport.from_json("out.json")
    assert whole.on_data_degree == whole.fairness_degree
    Path("space.json").write_text('{"columns": {"age": {"bounds": [0, 30]}}}')
    code, out, _ = run(*words, "--space", "space.json", "--max-degree", "50")
    found = AuditReport.from_json("out.json")
    assert (found.upper_bound, found.on_data_degree) == pytest.approx((1, 100))
    assert code == 1 and "100 among the rows of the data is above 50" in out


def test_certify_refuses_what_it_cannot_read(run):
    code, _, err = run("certify", "foreign.skops", "data.csv", *WHO, "--trust",
                       "gate_samples.Foreign")  # fmt: skip
    assert code == 2 and "Foreign" in err and "Traceback" not in err
    code, _, err = run("certify", "model.skops", "data.csv", *WHO, "--max-degree", "1")
    assert code == 2 and "can never be exceeded" in err
    assert run("certify", "model.skops")[0] == 2


@slow_sample
def test_certify_that_is_interrupted(run, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    words = ["certify", "numbers.skops", "numbers.csv", "--sensitive", "sex", "--json", "out.json"]
    monkeypatch.setattr("skfairtest.exact._certify.close", interrupt)
    code, out, _ = run(*words)
    assert code == 130 and out.startswith("Interrupted; this is what was found so far.")
    report = AuditReport.from_json("out.json")
    assert report.status == "interrupted" and report.upper_bound >= 5
    monkeypatch.setattr("skfairtest.exact._certify.read_verifier", interrupt)
    assert run(*words)[0] == 130
    report = AuditReport.from_json("out.json")
    assert report.fairness_degree == pytest.approx(5) and np.isnan(report.upper_bound)


# compare ----------------------------------------------------------------------------------------


QUICK = ["--max-queries", "200", "--max-time", "none", "--quiet"]


@slow_sample
def test_compare_reports(run):
    words = ["--sensitive", "sex", "--target", "hired", *QUICK]
    run("audit", "model.skops", "data.csv", *words, "--json", "a.json")
    trust = ["--trust", "gate_samples.Foreign"]
    run("audit", "foreign.skops", "data.csv", *words, *trust, "--json", "b.json", "--seed", "1")
    code, out, _ = run("compare", "a.json", "b.json", "--markdown", "c.md")
    lines = out.split("\n")
    assert code == 0 and lines[0].split() == ["a", "b"]
    (largest,) = (line for line in lines if line.startswith("largest difference: sex"))
    assert "at least 0.30" in largest
    assert "The seeds differ." in out
    assert Path("c.md").read_text("utf-8").startswith("| figure | a | b | what is known |\n| --- |")
    code, out, _ = run("compare", "a.json", "b.json", "--names", "before,after", "--markdown", "-")
    assert code == 0 and out.startswith("| figure | before | after |")


@slow_sample
def test_compare_models(run):
    words = ["data.csv", *WHO, *QUICK, "--trust", "gate_samples.Foreign"]
    code, out, err = run("compare", "model.skops", "foreign.skops", *words)
    assert code == 0 and out.split("\n")[0].split() == ["model", "foreign"]
    words[-1] = "gate_samples.Fails"
    code, _, err = run("compare", "model.skops", "fails.skops", *words)
    assert code == 4 and "fails" in err


@pytest.mark.parametrize(
    "words, told",
    [
        (["model.skops", "data.csv"], "is not a report"),
        (["no.json", "data.csv"], "cannot be read"),
        (["model.skops", "foreign.skops", "-", *WHO], "can be read once only"),
        (["a.json", "a.json", "--seed", "3"], "--seed applies to models"),
        (["a.json", "a.json", "--names", "x"], "two different names"),
        (["a.json"], "required"),
    ],
)
def test_comparisons_that_cannot_be(run, words, told):
    Path("a.json").write_text('{"schema": 1}', encoding="utf-8")
    code, _, err = run("compare", *words)
    assert code == 2 and told in err and "Traceback" not in err


@slow_sample
@pytest.mark.parametrize(
    "wrong", [None, [], *(pytest.param(wrong, marks=pytest.mark.slow) for wrong in (3, {}))]
)
def test_compare_reports_that_were_damaged(run, wrong):
    from report_samples import usual

    whole = AuditReport(usual()).to_dict()
    Path("a.json").write_text(json.dumps(whole), encoding="utf-8")
    assert run("compare", "a.json", "a.json")[0] == 0
    for key in whole:
        Path("b.json").write_text(json.dumps({**whole, key: wrong}), encoding="utf-8")
        code, _, err = run("compare", "a.json", "b.json")
        assert code in (0, 2) and "Traceback" not in err, (key, wrong, err)
    Path("b.json").write_text("[" * 100_000, encoding="utf-8")
    assert run("compare", "a.json", "b.json")[0] == 2


# demo -------------------------------------------------------------------------------------------


@slow_sample
def test_demo_with_a_page(run):
    code, out, _ = run("demo", "--max-queries", "300", "--trees", "3", "--html", "demo.html")
    assert code == 0 and "Trained a model of 3 trees" in out and "demo.html" in out
    assert Path("demo.html").read_text("utf-8").rstrip().endswith("</html>")


def test_demo_refuses(run):
    assert run("demo", "--trees", "0")[0] == 2
    assert run("demo", "--html", "no/such/folder.html")[0] == 2
    code, _, err = run("demo", "--threshold", "-1")
    assert code == 2 and "threshold" in err and "Traceback" not in err


# Limits in tests --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def foreign():
    frame = people()
    X = frame.drop(columns="hired")
    return Foreign().fit(X, frame["hired"]), X


OPTIONS = {"auditor": RandomAuditor(max_queries=100), "groups": False}


def test_assert_within(foreign):
    model, X = foreign
    limits = Limits(max_degree=0.35, estimates_decide=True)
    report = assert_within(model, X, limits, sensitive_features="sex", **OPTIONS)
    assert report.fairness_degree == pytest.approx(0.3) and report._data.seed == 0
    with pytest.raises(AssertionError) as failed:
        assert_within(model, X, Limits(max_degree=0.2), sensitive_features=["sex"], **OPTIONS)
    first, *rest = str(failed.value).split("\n")
    assert first == "Exceeded: a difference of 0.30 is above 0.2."
    told = " ".join(" ".join(rest).split())
    assert "if only their sex were changed" in told and "exceeded: a difference" in told
    assert "No limits were given" not in told


def test_assert_within_fails_where_nothing_is_decided(foreign):
    model, X = foreign
    limits = Limits(max_degree=0.35)
    with pytest.raises(AssertionError, match="^Undecided: .*no upper bound"):
        assert_within(model, X, limits, sensitive_features=["sex"], **OPTIONS)
    broken = Fails().fit(X, people()["hired"])
    with pytest.raises(AssertionError, match="^Failed: "):
        assert_within(broken, X, Limits(max_degree=0.5), sensitive_features=["sex"], **OPTIONS)


def test_assert_within_of_limits_that_no_model_could_exceed(foreign):
    model, X = foreign
    for limits in (Limits(), Limits(estimates_decide=True)):
        with pytest.raises(ValueError, match="no model could exceed it"):
            assert_within(model, X, limits, sensitive_features=["sex"])
    with pytest.raises(TypeError, match="must be Limits"):
        assert_within(model, X, {"max_degree": 0.1})


def test_assert_within_that_is_interrupted(foreign):
    _, X = foreign
    model = Fails(error="KeyboardInterrupt").fit(X, people()["hired"])
    with pytest.raises(KeyboardInterrupt):
        assert_within(model, X, Limits(max_degree=0.5), sensitive_features=["sex"], **OPTIONS)


def test_a_model_of_one_label_has_no_rates_and_has_not_failed(foreign):
    class Refuses(Foreign):
        """Says no to everybody, with different probabilities."""

        def predict_proba(self, X):
            yes = super().predict_proba(X)[:, 1] / 2
            return np.column_stack([1 - yes, yes])

    _, X = foreign
    model = Refuses().fit(X, people()["hired"])
    report = audit(model, X, sensitive_features="sex", max_time=None, progress=False,
                   moved=False, random_state=0, auditor=RandomAuditor(max_queries=50))  # fmt: skip
    (selection,) = report.results(SelectionPart)
    assert (selection.status, report.status) == ("left out", "complete")
    assert selection.reason.startswith("no prediction is yes")
    assert report.check().exit_code == 0
    check = report.check(min_impact_ratio=0.5).checks[0]
    assert check.status == "undecided" and "no rates to compare" in check.words
