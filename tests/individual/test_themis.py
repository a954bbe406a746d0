"""Themis: shares, honest intervals, groups, and the search for minimal subsets."""

import itertools

import numpy as np
import pandas as pd
import pytest
from tiers import slow_sample, some

from skfairtest._statistics import clopper_pearson
from skfairtest.datasets import make_biased_classification
from skfairtest.exceptions import NoDisparityWarning
from skfairtest.individual._themis.auditor import ThemisAuditor

pytestmark = pytest.mark.filterwarnings("ignore::skfairtest.exceptions.NoDisparityWarning")


def table(*sizes):
    """Every combination of whole numbers below the given sizes."""
    return np.array(list(itertools.product(*map(range, sizes))))


def approved(X):
    """Probability that depends on column 0 where column 2 is small, and on 1 and 3 together."""
    flip = (X[:, 0] == 1) & (X[:, 2] < 4)
    pair = (X[:, 1] == 1) & (X[:, 3] == 1)
    return np.where(flip | pair, 0.9, 0.1)


def brute_force(X, columns, labels):
    """Causal and group discrimination of a set of columns, over the whole table."""
    frame = pd.DataFrame(X).assign(label=labels)
    rest = [j for j in range(X.shape[1]) if j not in columns]
    causal = (frame.groupby(rest)["label"].nunique() > 1).mean()
    shares = frame.groupby(list(columns))["label"].mean()
    return causal, shares.max() - shares.min()


X = table(2, 2, 10, 3, 40)


# Shares -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("columns", [[0], [1], [0, 1], [1, 3]])
def test_exhausted_domain_gives_the_exact_shares(columns, models):
    small = table(2, 2, 10, 3)
    auditor = ThemisAuditor(
        models.Proba(approved), sensitive_features=columns, margin=0.001, random_state=0
    ).fit(small)
    causal, group = brute_force(small, columns, approved(small) > 0.5)
    assert auditor.causal_discrimination_ == pytest.approx(causal)
    assert auditor.group_discrimination_ == pytest.approx(group)
    assert auditor.causal_interval_ == [auditor.causal_discrimination_] * 2
    assert auditor.group_interval_ == [auditor.group_discrimination_] * 2


@pytest.mark.parametrize("measure", some(["causal", "group"]))
def test_shares_are_known_to_the_margin(measure, models):
    causal, group = brute_force(X, [0, 1], approved(X) > 0.5)
    for seed in range(5):
        auditor = ThemisAuditor(
            models.Proba(approved), sensitive_features=[0, 1], measure=measure, margin=0.1,
            random_state=seed,
        ).fit(X)  # fmt: skip
        assert auditor.stop_reason_ == "the search was complete"
        low, high = auditor.causal_interval_
        assert low <= causal <= high
        low, high = auditor.group_interval_
        assert low <= group <= high
        value = getattr(auditor, f"{measure}_discrimination_")
        low, high = getattr(auditor, f"{measure}_interval_")
        assert max(value - low, high - value) <= 0.1


def test_group_shares_name_their_groups(models):
    frame = pd.DataFrame(
        {"g": np.tile(["a", "b", "c"], 40), "z": np.arange(120) % 60, "w": np.arange(120) // 2}
    )
    answers = {"a": 0.1, "b": 0.6, "c": 0.9}
    model = models.Proba(lambda rows: rows["g"].map(answers).to_numpy(float))
    auditor = ThemisAuditor(model, sensitive_features=["g"], random_state=0).fit(frame)
    assert auditor.groups_ == [["a"], ["b"], ["c"]]
    assert auditor.group_shares_.tolist() == [0, 1, 1]
    assert auditor.group_discrimination_ == 1


def test_rows_are_counted_and_the_sample_is_what_was_asked(models):
    model = models.Proba(approved)
    auditor = ThemisAuditor(model, sensitive_features=[0], random_state=0).fit(X)
    assert auditor.n_queries_ == model.rows
    assert auditor.causal_discrimination_ == auditor.n_found_ / auditor.n_inputs_


# Honest intervals -------------------------------------------------------------------------------


def test_interval_covers_at_least_as_often_as_it_says():
    from scipy.stats import binom

    for n, p in itertools.product([1, 11, 100], [0.0, 0.001, 0.02, 0.3, 0.5, 1.0]):
        counts = np.arange(n + 1)
        low, high = clopper_pearson(counts, n, 0.05)
        covered = (low <= p) & (p <= high)
        assert binom.pmf(counts, n, p)[covered].sum() >= 0.95 - 1e-9
    assert clopper_pearson(0, 11, 0.05)[1] > 0.2
    assert [float(end) for end in clopper_pearson(0, 0, 0.05)] == [0.0, 1.0]


def test_no_find_is_not_taken_for_no_discrimination(models):
    # A trap of the authors' code: it stopped after 11 inputs with a share of 0 and no doubt.
    rare = models.Proba(lambda Z: np.where((Z[:, 0] == 1) & (Z[:, 4] == 7), 0.9, 0.1))
    for seed in range(5):
        auditor = ThemisAuditor(rare, sensitive_features=[0], random_state=seed).fit(X)
        assert auditor.n_inputs_ >= 100
        low, high = auditor.causal_interval_
        assert low <= 1 / 40 <= high
        assert high > 0.02


@slow_sample
def test_stopping_early_does_not_spoil_the_confidence(models, monkeypatch):
    monkeypatch.setattr("skfairtest.individual._themis.measurement.MIN_SAMPLES", 5)
    # 1 of 20 intervals may miss; the union bound makes them rarer.
    causal, _ = brute_force(X, [0], approved(X) > 0.5)
    model = models.Proba(approved)
    misses = 0
    for seed in range(150):
        auditor = ThemisAuditor(model, sensitive_features=[0], margin=0.2, random_state=seed).fit(X)
        low, high = auditor.causal_interval_
        misses += not low <= causal <= high
    assert misses <= 150 * 0.05


def test_a_budget_that_ends_first_leaves_a_wide_interval(models):
    model = models.Proba(approved)
    for budget in (2, 3, 10, 61):
        auditor = ThemisAuditor(
            model, sensitive_features=[0], max_queries=budget, random_state=0
        ).fit(X)
        assert auditor.n_queries_ <= budget
        assert "max_queries" in auditor.stop_reason_
        low, high = auditor.causal_interval_
        assert 0 <= low < high <= 1
        assert np.isnan(auditor.causal_discrimination_) == (auditor.n_inputs_ == 0)
        assert high - low > 0.2


# Favourable -------------------------------------------------------------------------------------


def test_favourable_labels(models):
    codes = np.array([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]])
    data = table(3, 40)
    model = models.Proba(lambda Z: codes[Z[:, 0].astype(int)], classes=("bad", "fair", "good"))
    shares = {None: [0, 0, 1], "fair": [0, 1, 0], ("fair", "good"): [0, 1, 1]}
    for favourable, expected in shares.items():
        auditor = ThemisAuditor(
            model, sensitive_features=[0], favourable=favourable, random_state=0
        ).fit(data)
        assert auditor.group_shares_.tolist() == expected


def test_favourable_labels_where_predict_is_not_the_largest_probability(models):
    data = np.random.default_rng(0).permutation(table(2, 200))
    model = models.Proba(lambda Z: 0.2 + 0.2 * (Z[:, 0] == 1), classes=("no", "yes"), cut=0.3)
    auditor = ThemisAuditor(model, sensitive_features=[0], random_state=0).fit(data)
    assert auditor.group_shares_.tolist() == [0, 1]


def test_favourable_outputs_of_a_regressor(models):
    data = table(2, 200)
    model = models.Regressor(lambda Z: 100.0 * Z[:, 0] + Z[:, 1])
    auditor = ThemisAuditor(model, sensitive_features=[0], random_state=0).fit(data)
    # The mean over both groups is near 150.
    assert auditor.group_shares_[0] < 0.5 < auditor.group_shares_[1]
    auditor.set_params(favourable=250).fit(data)
    assert auditor.group_shares_[0] == 0
    assert 0.1 < auditor.group_shares_[1] < 0.4


def test_labels_without_known_classes_have_no_group_measure(models):
    model = models.LabelsOnly(lambda Z: np.where(Z[:, 0] == 1, "yes", "no"))
    auditor = ThemisAuditor(model, sensitive_features=[0], random_state=0).fit(X)
    assert auditor.causal_discrimination_ == 1
    assert np.isnan(auditor.group_discrimination_)
    auditor.set_params(favourable="yes").fit(X)
    assert auditor.group_discrimination_ == 1


# Subsets ----------------------------------------------------------------------------------------


@slow_sample
@pytest.mark.parametrize("measure", ["causal", "group"])
def test_minimal_subsets_are_those_of_brute_force(measure, models):
    columns, threshold = [0, 1, 2, 3], 0.37
    labels = approved(X) > 0.5
    which = 0 if measure == "causal" else 1
    minimal = []
    for size in (1, 2, 3):
        for subset in itertools.combinations(columns, size):
            share = brute_force(X, list(subset), labels)[which]
            assert abs(share - threshold) > 0.02
            if share > threshold and not any(set(m) <= set(subset) for m in minimal):
                minimal.append(subset)
    model = models.Proba(approved)
    auditor = ThemisAuditor(
        model, sensitive_features=[0], candidates=columns, measure=measure,
        discrimination_threshold=threshold, margin=0.03, max_queries=2_000_000, random_state=0,
    ).fit(X)  # fmt: skip
    assert sorted(map(tuple, auditor.minimal_subsets_)) == sorted(minimal)
    assert auditor.n_queries_ == model.rows
    assert auditor.history_["queries"].iloc[-1] == auditor.n_queries_
    measured = [set(score["subset"]) for score in auditor.subset_scores_]
    assert not any(set(m) < subset for m in minimal for subset in measured)
    for score in auditor.subset_scores_:
        share = brute_force(X, score["subset"], labels)[which]
        low, high = score[f"{measure}_interval"]
        assert low <= share <= high
        assert score["discriminates"] == (share > threshold)


@pytest.mark.parametrize(("candidates", "size"), [([0, 1, 2, 3, 4], 2), ([1, 2, 3, 4], 2)])
def test_larger_subsets_than_can_be_compared_are_left_out_with_a_warning(models, candidates, size):
    with pytest.warns(UserWarning, match=f"subsets of up to {size} columns are searched") as caught:
        auditor = ThemisAuditor(
            models.Proba(approved), sensitive_features=[0], candidates=candidates, margin=0.3,
            max_queries=3000, random_state=0,
        ).fit(X)  # fmt: skip
    assert [w.filename for w in caught] == [__file__]
    assert max(len(score["subset"]) for score in auditor.subset_scores_) <= size


def test_supersets_of_a_discriminating_subset_cost_nothing(models):
    data = make_biased_classification(random_state=0)
    auditor = ThemisAuditor(
        data.estimator, candidates=["sex", "owner", "job"], discrimination_threshold=0.01,
        max_queries=100_000, random_state=0,
    ).fit(data.data)  # fmt: skip
    subsets = [score["subset"] for score in auditor.subset_scores_]
    assert ["sex"] in auditor.minimal_subsets_
    assert all("sex" not in subset for subset in subsets if len(subset) > 1)


def test_subsets_of_the_sensitive_columns_share_the_budget(models):
    model = models.Proba(approved)
    for budget in (50, 1000, 3000):
        model.rows = 0
        auditor = ThemisAuditor(
            model, sensitive_features=[0, 1, 3], candidates=[0, 1, 3], margin=0.02,
            max_queries=budget, random_state=0,
        ).fit(X)  # fmt: skip
        assert auditor.n_queries_ == auditor.estimator_.rows <= budget
        assert "max_queries" in auditor.stop_reason_
    assert len(auditor.subset_scores_) < 7


def test_limits_on_inputs_hold_for_the_subsets_too(models):
    auditor = ThemisAuditor(
        models.Proba(approved), sensitive_features=[0], candidates=[1, 3], max_inputs=500,
        margin=0.1, random_state=0,
    ).fit(X)  # fmt: skip
    assert "max_inputs" in auditor.stop_reason_
    assert auditor.n_inputs_ < 500


# Bad input --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"margin": 0}, r"margin must be a number in \(0, 1\)"),
        ({"margin": 1.0}, r"margin must be a number in \(0, 1\)"),
        ({"confidence": 95}, r"confidence must be a number in \(0, 1\).*got 95"),
        ({"confidence": float("nan")}, r"confidence must be a number in \(0, 1\)"),
        ({"measure": "both"}, r"measure must be one of \['causal', 'group'\]; got 'both'"),
        ({"discrimination_threshold": 20}, r"discrimination_threshold must be a number in \[0, 1"),
        ({"favourable": "maybe"}, r"'maybe' is a label that never occurs.*\[0, 1\]"),
        ({"favourable": []}, "favourable= is empty"),
        ({"favourable": [0, 1]}, "names every class"),
        ({"candidates": ["nowhere"]}, "candidates names 'nowhere'"),
        ({"sensitive_features": [2, 3, 4]}, r"at most 1000.*1200 combinations.*RandomAuditor"),
    ],
)
def test_wrong_parameters_are_named_before_the_first_query(wrong, says, models):
    model = models.Proba(approved)
    with pytest.raises(ValueError, match=says):
        ThemisAuditor(model, **{"sensitive_features": [0], **wrong}).fit(X)
    assert model.rows == 0


def test_favourable_of_a_regressor_is_a_number(models):
    model = models.Regressor(lambda Z: Z[:, 0])
    with pytest.raises(ValueError, match="favourable must be a finite number"):
        ThemisAuditor(model, sensitive_features=[0], favourable="good").fit(X)
    assert model.rows == 0


def test_constant_candidates_are_refused(models):
    data = np.column_stack([table(2, 50), np.zeros(100, dtype=int)])
    with pytest.raises(ValueError, match="candidates must have two values"):
        ThemisAuditor(
            models.Proba(lambda Z: Z[:, 0] / 2), sensitive_features=[0], candidates=[2]
        ).fit(data)


def test_a_model_that_ignores_the_column_still_warns(models):
    model = models.Proba(lambda Z: 0.3 + 0 * Z[:, 0])
    with pytest.warns(NoDisparityWarning):
        auditor = ThemisAuditor(model, sensitive_features=[0], random_state=0).fit(X)
    assert auditor.causal_discrimination_ == 0
    assert auditor.causal_interval_[1] > 0
