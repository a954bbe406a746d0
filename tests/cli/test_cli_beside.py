"""The command line with sensitive columns that the model does not take."""

import re
from pathlib import Path

import numpy as np
import pytest
from gate_samples import people
from light_skops import skops
from sklearn.linear_model import LogisticRegression
from tiers import slow_sample
from typed_reports import data, searches

from skfairtest import AuditReport

QUICK = ["--max-queries", "300", "--max-time", "none", "--quiet", "--favourable", "yes"]


@pytest.fixture(autouse=True)
def files(here):
    """A model of age and income, and data that have sex and region, too."""
    frame = people()
    frame.drop(columns=["sex", "region"]).to_csv("inputs.csv", index=False)
    frame[["sex", "region"]].to_csv("people.csv", index=False)
    # With an index of its own: rows go together by their places.
    frame[["sex"]].set_axis(range(500, 700)).to_parquet("people.parquet")
    frame[["sex"]][:10].to_csv("few.csv", index=False)
    frame[["income"]].to_csv("income.csv", index=False)
    model = LogisticRegression(max_iter=1000).fit(frame[["age", "income"]], frame["hired"])
    skops.io.dump(model, "model.skops")
    bare = LogisticRegression(max_iter=1000).fit(
        frame[["age", "income"]].to_numpy(), frame["hired"]
    )
    skops.io.dump(bare, "bare.skops")


@pytest.mark.parametrize(
    "words",
    [
        ["data.csv", "--drop", "sex,region", "--sensitive", "sex"],
        ["data.csv", "--drop", "region", "--sensitive", "sex"],
        ["data.csv", "--drop", "sex,region", "--sensitive", "sex", "--sensitive", "sex"],
        ["inputs.csv", "--sensitive-file", "people.csv", "--sensitive", "sex"],
        ["inputs.csv", "--sensitive-file", "people.parquet"],
    ],
)
@slow_sample
def test_each_way_gives_the_same_headline(run, words):
    code, out, err = run("audit", "model.skops", *words, "--target", "hired", *QUICK)
    assert code == 0 and not err
    assert out.startswith("No limits were given. The model does not take sex. 'yes' is predicted")


@slow_sample
def test_some_are_taken_and_some_are_not(run):
    words = ["--sensitive", "age,sex,region", "--target", "hired", *QUICK, "--json", "r.json"]
    assert run("audit", "model.skops", "data.csv", *words)[0] == 0
    report = AuditReport.from_json("r.json")
    assert data(report).sensitive_features == ["age", "sex", "region"]
    assert [s.known.of for s in searches(report) if not s.known.taken] == ["sex", "region"]
    auto = ["--sensitive", "auto", "--drop", "region", *words[2:]]
    assert run("audit", "model.skops", "data.csv", *auto)[0] == 0
    assert data(AuditReport.from_json("r.json")).sensitive_features == ["age", "sex"]
    # All columns of the file, beside a model that knows columns by their places.
    words = ["--sensitive", "age", "--sensitive-file", "people.csv", *words[2:]]
    code, _, err = run("audit", "bare.skops", "inputs.csv", *words)
    assert code == 0, err
    found = searches(AuditReport.from_json("r.json"))
    assert len(found) == 3 and found[-1].known.taken


@slow_sample
def test_a_limit_on_moved_twins_holds_for_what_the_model_does_not_take(run):
    words = ["data.csv", "--drop", "region", "--sensitive", "sex", "--target", "hired", *QUICK]
    words += ["--max-moved-rate", "0", "--junit", "j.xml", "--markdown", "r.md"]
    code, out, _ = run("audit", "model.skops", *words)
    assert code in (1, 3) and "whose moved twin in sex gets another decision" in out
    assert "max_moved_rate 0" in Path("j.xml").read_text("utf-8")
    assert "moved twin in sex" in Path("r.md").read_text("utf-8")
    code, out, _ = run("audit", "model.skops", *words[:-6], "--max-moved-rate", "1", *words[-4:])
    assert code == 0 and "above" not in out


@slow_sample
def test_two_models_are_compared(run):
    words = ["data.csv", "--sensitive", "sex", "--drop", "region", "--target", "hired", *QUICK]
    code, out, err = run("compare", "model.skops", "model.skops", *words)
    assert code == 0 and "largest difference: sex" in out and "does not take sex" in out + err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["inputs.csv", "--sensitive-file", "few.csv"], "has 10 rows, the data have 200"),
        (["inputs.csv", "--sensitive-file", "income.csv"], "columns that the data have, too"),
        (["inputs.csv", "--sensitive-file", "none.csv"], "'none.csv' does not exist"),
        (["inputs.csv", "--sensitive-file", "people.csv", "--sensitive", "sxe"], "mean 'sex'"),
        (["inputs.csv", "--sensitive", "sex"], "names 'sex', which is not a column"),
        (["data.csv", "--sensitive", "sex"], "does not know: 'region'"),
        (["data.csv", "--drop", "region,sex"], "Name the sensitive columns"),
    ],
)
def test_bad_input_is_one_line(run, words, says):
    code, out, err = run("audit", "model.skops", *words, "--target", "hired", *QUICK)
    assert code == 2 and not out and says in err and err.count("\n") == 1, err


def test_there_is_nothing_to_certify(run):
    words = ["data.csv", "--drop", "region", "--sensitive", "sex", "--target", "hired"]
    code, _, err = run("certify", "model.skops", *words)
    assert code == 2 and "There is nothing to certify: the model does not take sex" in err


def test_a_constant_column_divides_nobody(run):
    np.savetxt("one.csv", np.ones(200), header="ward", comments="", fmt="%d")
    code, _, err = run(
        "audit", "model.skops", "inputs.csv", "--sensitive-file", "one.csv", "--target", "hired"
    )
    assert code == 2 and "'ward' has only one value" in err


@slow_sample
def test_groups_within_strata(run):
    taken = ["data.csv", "--sensitive", "sex", "--target", "hired"]
    words = [*taken, "--min-impact-ratio", "0.01"]
    code, out, _ = run("audit", "model.skops", *words, "--control", "region", "--within", *QUICK)
    assert code == 0 and "within region" in out and "strata chosen by the user: region" in out
    for more, match in (
        (
            ["--within", "--drop", "region"],
            "--within compares groups within strata, and --control makes none",
        ),
        (["--control", "regin"], "--control names 'regin', which is not a column .*mean 'region'"),
    ):
        code, _, err = run("audit", "model.skops", *words, *more, *QUICK)
        assert code == 2 and re.search(match, err)
    code, _, err = run("audit", "model.skops", *taken, "--within", *QUICK)
    assert code == 2 and "--within is about --min-impact-ratio, and none is given" in err
