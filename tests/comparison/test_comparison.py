"""compare_auditors and its statistics."""

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from scipy.stats import mannwhitneyu
from tiers import SAMPLE, slow_sample

from skfairtest import BaseAuditor, RandomAuditor, SBFTAuditor, compare_auditors
from skfairtest.comparison import a12, effect_size_word, measure_diversity
from skfairtest.datasets import make_biased_regression


class Crash(BaseAuditor):
    def _search(self, oracle, rng):
        raise ZeroDivisionError("as planned")


@pytest.fixture(scope="module")
def planted():
    return make_biased_regression(variant="narrow", random_state=0)


@pytest.fixture(scope="module")
def result(planted):
    auditors = {"sbft": SBFTAuditor(), "random": RandomAuditor(), "crash": Crash()}
    return compare_auditors(
        auditors, planted.estimator, planted.data, n_repeats=5, max_queries=3000, random_state=0
    )


@slow_sample
def test_every_run_is_a_row_and_keeps_the_budget(result):
    runs = result.runs
    assert len(runs) == 15
    assert (runs["queries"].dropna() <= 3000).all()
    # In a repeat all auditors have the same seed.
    assert (runs.groupby("repeat")["seed"].nunique() == 1).all()
    assert runs["seed"].nunique() == 5


def test_a_crash_is_a_row_not_the_end(result):
    crashed = result.runs[result.runs["auditor"] == "crash"]
    assert (crashed["error"] == "ZeroDivisionError: as planned").all()
    assert crashed["degree"].isna().all()
    summary = result.summary()
    assert summary["crashes"].to_dict() == {"sbft": 0, "random": 0, "crash": 5}
    assert np.isnan(summary.loc["crash", "degree"])


def test_the_summary_and_the_card_say_why_runs_crashed(planted):
    auditors = {"wrong": RandomAuditor(sensitive_features=["nobody"]), "right": RandomAuditor()}
    found = compare_auditors(
        auditors, planted.estimator, planted.data, n_repeats=2, max_queries=200, random_state=0
    )
    errors = found.summary()["error"]
    assert "names 'nobody', which is not a column" in errors["wrong"] and errors["right"] == ""
    card = found._repr_html_()
    assert "which is not a column" in card and "crashes of wrong" in card
    assert "crashes of right" not in card


def test_statistics_equal_scipy_and_the_definition(result):
    degrees = {name: group["degree"] for name, group in result.runs.groupby("auditor")}
    row = result.pairwise("degree").iloc[0]
    x, y = degrees["sbft"].to_numpy(), degrees["random"].to_numpy()
    assert (row["first"], row["second"]) == ("sbft", "random")
    assert row["p_value"] == mannwhitneyu(x, y).pvalue < 0.05
    larger = np.mean([(a > b) + 0.5 * (a == b) for a in x for b in y])
    assert row["a12"] == pytest.approx(larger)
    assert row["effect"] == "large"
    assert result.pairwise("degree").iloc[1]["effect"] == ""


def test_area_under_the_curve_is_that_of_the_steps(planted):
    result = compare_auditors(
        [RandomAuditor()], planted.estimator, planted.data, n_repeats=1, max_queries=20_000,
        random_state=3,
    )  # fmt: skip
    seed = int(result.runs["seed"].iloc[0])
    history = RandomAuditor(planted.estimator, random_state=seed).fit(planted.data).history_
    best, at, reached = history["degree"].max(), 0.0, 0.0
    area = 0.0
    for queries, degree in zip(history["queries"], history["degree"], strict=True):
        area += (queries - at) * reached
        at, reached = queries, degree
    area += (20_000 - at) * reached
    assert result.runs["auc_queries"].iloc[0] == pytest.approx(area / (20_000 * best))


# Processes take seconds to start.
@pytest.mark.parametrize("backend", ["threading", pytest.param("loky", marks=SAMPLE)])
def test_same_seed_same_result_with_two_jobs(planted, backend):
    settings = {"n_repeats": 2, "max_queries": 1000, "random_state": 5}
    with parallel_config(backend=backend):
        one, two = (
            compare_auditors(
                [RandomAuditor()], planted.estimator, planted.data, n_jobs=n, **settings
            )
            for n in (1, 2)
        )
    exact = ["degree", "found", "inputs", "queries", "auc_queries"]
    pd.testing.assert_frame_equal(one.runs[exact], two.runs[exact])


def test_time_budget_overrides_the_auditors_own_queries(planted, clock):
    clock.step = 0.02
    result = compare_auditors(
        [RandomAuditor(max_queries=10)], planted.estimator, planted.data, n_repeats=1, max_time=0.2
    )
    assert result.runs["stop_reason"].iloc[0] == "max_time=0.2 reached"


def test_progress_is_shown(planted, capsys):
    compare_auditors(
        [RandomAuditor(), Crash()], planted.estimator, planted.data, n_repeats=1, max_queries=100,
        verbose=1,
    )  # fmt: skip
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("[compare_auditors] 1/2 RandomAuditor: degree ")
    assert lines[1] == "[compare_auditors] 2/2 Crash: ZeroDivisionError: as planned"


@pytest.mark.parametrize(
    ("value", "word"),
    [(0.5, "negligible"), (0.57, "negligible"), (0.58, "small"), (0.65, "medium"), (0.75, "large"),
     (0.42, "small"), (0.25, "large")],
)  # fmt: skip
def test_words_of_the_paper(value, word):
    assert effect_size_word(value) == word


def test_a12_counts_ties_half():
    assert a12([1, 1], [1, 1]) == 0.5
    assert a12([2], [1]) == 1.0


def test_diversity_counts_leaves_and_distances(models):
    X = np.random.default_rng(0).integers(0, [2, 10, 10], size=(300, 3)).astype(float)
    X[:2] = [[0, 0, 0], [1, 9, 9]]
    # Outputs of 100 levels, one for each input; half of the inputs discriminate.
    model = models.Proba(lambda Z: (Z[:, 1] * 10 + Z[:, 2]) / 200 + 0.5 * Z[:, 0] * (Z[:, 1] > 4))
    auditor = RandomAuditor(model, sensitive_features=[0], random_state=0).fit(X)
    all_of_them = measure_diversity(auditor, n_leaves=100, random_state=0)
    assert all_of_them["found"] == all_of_them["compared"] == 50
    assert all_of_them["success"] == 0.5
    assert 0.4 < all_of_them["paths"] < 0.6
    # Two different ones of a grid of 5 by 10 values, over the ends of the domain.
    grid = np.stack(np.meshgrid(np.arange(5), np.arange(10)), axis=-1).reshape(-1, 2) / 9
    gaps = np.abs(grid[:, None] - grid).mean(axis=2)
    assert all_of_them["distance"] == pytest.approx(gaps.sum() / (50 * 49), abs=0.01)
    some = measure_diversity(auditor, n_leaves=100, n_compared=5, random_state=0)
    assert some["compared"] == 5
    assert some["paths"] <= 0.05 < all_of_them["paths"]
    assert some.equals(measure_diversity(auditor, n_leaves=100, n_compared=5, random_state=0))
    with pytest.raises(ValueError, match="n_leaves must be a whole number of at least 2; got 1"):
        measure_diversity(auditor, n_leaves=1)


def test_bad_input(planted):
    with pytest.raises(ValueError, match="different names; got .*RandomAuditor.*dict"):
        compare_auditors([RandomAuditor(), RandomAuditor()], planted.estimator, planted.data)
    with pytest.raises(ValueError, match="n_repeats must be"):
        compare_auditors([RandomAuditor()], planted.estimator, planted.data, n_repeats=0)
    with pytest.raises(ValueError, match="one or more auditors"):
        compare_auditors([], planted.estimator, planted.data)
