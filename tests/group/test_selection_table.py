"""Tables of selection rates: definitions, fairlearn's figures, intervals, and odd input."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import stats
from tiers import slow_sample

from skfairtest import selection_table
from skfairtest._statistics import ratio_interval
from skfairtest.group._inference.counting import Means
from skfairtest.group._inference.ratios import ratios_to_highest
from skfairtest.group._selection import weighted_median

RATES = ("false_positive_rate", "false_negative_rate", "accuracy")


def people(seed, n=400):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "sex": rng.choice(["female", "male"], n),
            "race": rng.choice(["a", "b", "c", "d"], n, p=[0.6, 0.3, 0.08, 0.02]),
            "old": rng.random(n) < 0.3,
        }
    )
    y = rng.random(n) < 0.4
    return X, y, rng.random(n) < 0.3 + 0.3 * y + 0.2 * (X["sex"] == "male"), rng


def row(table, group, attribute=None):
    chosen = table[table["group"] == group]
    return (chosen if attribute is None else chosen[chosen["attribute"] == attribute]).iloc[0]


# The figures ---------------------------------------------------------------------------------


def test_by_hand():
    sex = ["f"] * 40 + ["m"] * 50 + [None] * 10
    y_true = np.array([1] * 20 + [0] * 20 + [1] * 20 + [0] * 30 + [1] * 10)
    y_pred = np.zeros(100, dtype=int)
    y_pred[:5] = y_pred[20:25] = y_pred[40:60] = y_pred[60:65] = y_pred[90:] = 1
    table = selection_table(y_pred, sensitive_features=pd.Series(sex, name="sex"), y_true=y_true)
    assert table["group"].tolist() == ["f", "m", "(unknown)"]
    assert table["n"].tolist() == [40, 50, 10]
    assert table["share"].tolist() == [0.4, 0.5, 0.1]
    assert table["selection_rate"].tolist() == [0.25, 0.5, 1.0]
    # The rows of whom nothing is known have the highest rate, and are no group.
    assert table["impact_ratio"].tolist()[:2] == [0.5, 1.0] and np.isnan(table["impact_ratio"][2])
    female = row(table, "f")
    assert (female["false_positive_rate"], female["false_positive_rate_n"]) == (0.25, 20)
    assert (female["false_negative_rate"], female["false_negative_rate_n"]) == (0.75, 20)
    assert (female["accuracy"], female["accuracy_n"]) == (0.5, 40)
    unknown = row(table, "(unknown)")
    assert unknown["false_positive_rate_n"] == 0 and np.isnan(unknown["false_positive_rate"])
    assert np.isnan(unknown["false_positive_rate_low"])
    assert table.attrs["unknown"] == {"sex": 10} and table.attrs["highest"] == {"sex": "m"}
    assert table.attrs["favourable"] == [1] and table.attrs["n_rows"] == 100
    assert table["note"].tolist() == [
        "", "", "value missing: no ratio; fewer than 30 rows",
    ]  # fmt: skip


def test_columns():
    X, y, predicted, rng = people(0)
    ends = ("", "_low", "_high")
    plain = selection_table(predicted, sensitive_features=X["sex"])
    assert plain.columns.tolist() == [
        "attribute", "group", "n", "share", *(f"selection_rate{end}" for end in ends),
        "impact_ratio", "impact_ratio_low", "impact_ratio_high", "note",
    ]  # fmt: skip
    with_truth = selection_table(predicted, sensitive_features=X["sex"], y_true=y)
    added = [f"{name}{end}" for name in RATES for end in (*ends, "_n")]
    assert with_truth.columns.tolist() == [*plain.columns[:-1], *added, "note"]
    means = selection_table(
        rng.normal(size=400), sensitive_features=X["sex"], y_true=rng.normal(size=400)
    )
    assert means.columns.tolist() == [
        "attribute", "group", "n", "share", *(f"mean_prediction{end}" for end in ends),
        *(f"mean_error{end}" for end in ends), "mean_error_n", "note",
    ]  # fmt: skip


@pytest.mark.services("fairlearn")
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("weighted", [False, True])
def test_figures_are_those_of_fairlearn(seed, weighted):
    from fairlearn import metrics

    X, y, predicted, rng = people(seed)
    weights = 1.1 - rng.random(len(X)) if weighted else None
    table = selection_table(predicted, sensitive_features=X, y_true=y, sample_weight=weights)
    from sklearn.metrics import accuracy_score

    ours = {
        "selection_rate": metrics.selection_rate,
        "false_positive_rate": metrics.false_positive_rate,
        "false_negative_rate": metrics.false_negative_rate,
        "accuracy": accuracy_score,
        "n": metrics.count,
    }
    params = {name: {"sample_weight": weights} for name in ours if name != "n"}
    places = [["sex"], ["race"], ["old"], ["sex", "race"], ["sex", "old"], ["race", "old"]]
    for columns in [*places, ["sex", "race", "old"]]:
        theirs = metrics.MetricFrame(
            metrics=ours, y_true=y, y_pred=predicted, sensitive_features=X[columns],
            sample_params=params if weighted else None,
        ).by_group.dropna(how="all")  # fmt: skip
        part = table[table["attribute"] == " × ".join(columns)].reset_index(drop=True)
        named = [key if isinstance(key, tuple) else (key,) for key in theirs.index]
        assert part["group"].tolist() == [", ".join(map(str, key)) for key in named]
        for name in ours:
            # A rate of nobody is 0 there, and not known here.
            known = part[name].notna()
            assert (known == (part.get(f"{name}_n", part["n"]) > 0)).all() and known.any()
            found = theirs[name].to_numpy().astype(float)
            np.testing.assert_allclose(part.loc[known, name].astype(float), found[known])
            assert (found[~known] == 0).all()
        ratio = metrics.demographic_parity_ratio(
            y, predicted, sensitive_features=X[columns], sample_weight=weights
        )
        assert part["impact_ratio"].min() == pytest.approx(ratio)


@pytest.mark.services("fairlearn")
@pytest.mark.parametrize("weighted", [False, True])
def test_means_are_those_of_fairlearn(weighted):
    from fairlearn import metrics

    X, _, _, rng = people(0)
    outputs, targets = rng.normal(size=(2, 400))
    weights = rng.random(400) if weighted else None
    table = selection_table(
        outputs, sensitive_features=X["race"], y_true=targets, sample_weight=weights
    )
    for name, values in (("mean_prediction", outputs), ("mean_error", outputs - targets)):
        theirs = metrics.MetricFrame(
            metrics=metrics.mean_prediction, y_true=values, y_pred=values,
            sensitive_features=X["race"], sample_params={"sample_weight": weights},
        ).by_group  # fmt: skip
        np.testing.assert_allclose(table[name], theirs)


def test_scoring_rate_counts_scores_above_the_median_of_everyone():
    score = [1, 2, 3, 3, 3, 4, 5, 9, 9]
    sex = ["f", "f", "f", "f", "m", "m", "m", None, None]
    table = selection_table(None, y_score=score, sensitive_features={"sex": sex})
    # The median is 3, of all nine; a score of 3 is not above it.
    assert table.attrs["median_score"] == 3
    assert table["scoring_rate"].tolist() == [0.0, pytest.approx(2 / 3), 1.0]
    assert table["impact_ratio"].tolist()[:2] == [0.0, 1.0]
    assert "selection_rate" not in table


def test_weighted_median():
    rng = np.random.default_rng(0)
    for n in (1, 2, 7, 8):
        values = rng.normal(size=n)
        assert weighted_median(values, None) == np.median(values)
        assert weighted_median(values, np.full(n, 0.1)) == pytest.approx(np.median(values))
        whole = rng.integers(0, 4, n) + (np.arange(n) == 0)
        repeated = np.repeat(values, whole)
        assert weighted_median(values, whole.astype(float)) == pytest.approx(np.median(repeated))


def test_rows_without_weight():
    table = selection_table(
        [1, 0, 1, 1], sensitive_features=list("aabb"), y_true=[1] * 4, sample_weight=[1, 1, 0, 0]
    )
    assert table["n"].tolist() == [2, 2] and table["selection_rate"][0] == 0.5
    nothing = table.loc[1, ["selection_rate", "selection_rate_low", "impact_ratio", "accuracy"]]
    assert nothing.isna().all() and table["note"][1].startswith("its rows have no weight")


@slow_sample
def test_whole_weights_are_rows_that_repeat():
    X, y, predicted, rng = people(1)
    whole = rng.integers(0, 3, len(X))
    weighted = selection_table(predicted, sensitive_features=X, y_true=y, sample_weight=whole)
    again = np.repeat(np.arange(len(X)), whole)
    repeated = selection_table(predicted[again], sensitive_features=X.iloc[again], y_true=y[again])
    shared = weighted.merge(repeated, on=["attribute", "group"], suffixes=("", "_again"))
    assert len(shared) == len(repeated)
    for name in ("selection_rate", "impact_ratio", *RATES):
        np.testing.assert_allclose(shared[name], shared[f"{name}_again"])
    # A row that counts twice is no second row: the interval is wider.
    wider = shared["selection_rate_high"] - shared["selection_rate_low"]
    narrow = shared["selection_rate_high_again"] - shared["selection_rate_low_again"]
    many = shared["n"] > 30
    assert (wider[many] > narrow[many]).all()
    equal = selection_table(predicted, sensitive_features=X, sample_weight=np.full(len(X), 7.0))
    pd.testing.assert_frame_equal(equal, selection_table(predicted, sensitive_features=X))


# Intervals -----------------------------------------------------------------------------------


def test_intervals_of_rates_and_means_are_the_textbook_s():
    X, y, predicted, rng = people(0)
    table = selection_table(predicted, sensitive_features=X["race"], confidence=0.9)
    for _, found in table.iterrows():
        count = round(found["selection_rate"] * found["n"])
        wilson = stats.binomtest(count, found["n"]).proportion_ci(0.9, method="wilson")
        assert (found["selection_rate_low"], found["selection_rate_high"]) == pytest.approx(wilson)
    outputs = rng.normal(size=400)
    means = selection_table(outputs, sensitive_features=X["race"], confidence=0.9)
    for _, found in means.iterrows():
        values = outputs[X["race"] == found["group"]]
        student = stats.t.interval(0.9, len(values) - 1, values.mean(), stats.sem(values))
        assert (found["mean_prediction_low"], found["mean_prediction_high"]) == pytest.approx(
            student
        )


def test_ratio_interval_is_near_that_on_the_logarithms_where_counts_are_large():
    x, n, x_other, n_other = 300, 1000, 900, 2000
    low, high = ratio_interval(*map(np.array, (x / n, n, x_other / n_other, n_other)), 1.959964)
    katz = 1.959964 * np.sqrt(1 / x - 1 / n + 1 / x_other - 1 / n_other)
    ratio = (x / n) / (x_other / n_other)
    assert (float(low), float(high)) == pytest.approx(
        (ratio * np.exp(-katz), ratio * np.exp(katz)), rel=0.005
    )


def test_ratio_interval_at_the_ends():
    zero, one, n = np.array(0.0), np.array(1.0), np.array(50.0)
    low, high = ratio_interval(zero, n, one, n, 1.96)
    assert low == 0 and 0 < high < 0.2
    low, high = ratio_interval(one, n, one, n, 1.96)
    assert 0.85 < low < 1 < high < 1.15
    low, high = ratio_interval(one, n, zero, n, 1.96)
    assert low > 10 and high == np.inf
    low, high = ratio_interval(zero, n, zero, n, 1.96)
    assert low == 0 and high == np.inf


def ratios(counts, n, confidence=0.95):
    share = np.asarray(counts) / n
    means = Means(share, n, np.asarray(n, dtype=float), share * (1 - share))
    return ratios_to_highest(means, np.ones(len(share), dtype=bool), confidence)


def test_the_highest_group_need_not_be_the_highest():
    close = ratios([50, 49], np.array([100, 100]))
    assert close.value.tolist() == [1.0, 0.98] and close.high.tolist() == [1.0, 1.0]
    assert close.low[0] < 0.9
    far = ratios([90, 10], np.array([100, 100]))
    assert far.low[0] == far.high[0] == 1.0 and far.high[1] < 0.3


def test_coverage_of_ratios_shortly():
    assert_coverage(0, [0.3] * 8, [60] * 8, 300, least=0.93)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rates", "n"),
    [
        ([0.5, 0.4], [200, 200]),
        ([0.5, 0.5], [100, 100]),
        ([0.1, 0.05], [60, 60]),
        ([0.02, 0.01], [500, 500]),
        ([0.9, 0.8, 0.5], [40, 30, 20]),
        ([0.5, 0.45, 0.4, 0.3, 0.2], [50, 100, 200, 400, 30]),
        ([0.3] * 5, [100] * 5),
        ([0.3] * 20, [60] * 20),
    ],
)
def test_coverage_of_ratios(rates, n):
    # Seen with 2,000 tables: from 0.949 (two groups, 0.5 and 0.4) to 1; of one interval with the
    # group that looks highest, without regard to how it was picked, 0.72 at worst.
    assert_coverage(1, rates, n, 4000, least=0.94)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "least"), [((1, 100), 0.79), ((10, 10), 0.91), ((30, 30), 0.93)])
def test_coverage_of_ratios_of_small_groups(n, least):
    # Exact, by the probability of every table: small groups have worse intervals, and a note.
    found = np.empty((n[0] + 1, n[1] + 1, 2, 2))
    for counts in np.ndindex(*found.shape[:2]):
        made = ratios(counts, np.array(n))
        ends = np.column_stack([made.low, made.high])
        found[counts] = np.where(np.isfinite(ends), ends, [0, 1])
    grid, worst = np.array([0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 0.98]), 1.0
    for rates in np.array(np.meshgrid(grid, grid)).reshape(2, -1).T:
        chance = np.multiply.outer(
            *(stats.binom.pmf(np.arange(m + 1), m, p) for m, p in zip(n, rates, strict=True))
        )
        truth = rates / rates.max()
        hit = (found[..., 0] <= truth + 1e-9) & (truth - 1e-9 <= found[..., 1])
        worst = min(worst, float((chance[..., None] * hit).sum(axis=(0, 1)).min()))
    assert least < worst < 0.95


def assert_coverage(seed, rates, n, n_tables, *, least):
    rng = np.random.default_rng(seed)
    rates, n = np.array(rates), np.array(n)
    truth, hits = rates / rates.max(), np.zeros(len(rates))
    for _ in range(n_tables):
        found = ratios(rng.binomial(n, rates), n)
        if np.isfinite(found.value).all():
            hits += (found.low <= truth + 1e-12) & (truth - 1e-12 <= found.high)
        else:
            hits += 1  # nobody was selected: nothing is said
    assert (hits / n_tables).min() > least


# Groups --------------------------------------------------------------------------------------


def test_small_groups_are_listed_and_left_out_of_ratios():
    race = ["a"] * 60 + ["b"] * 39 + ["c"]
    selected = np.array([1] * 30 + [0] * 30 + [1] * 10 + [0] * 29 + [1])
    everyone = selection_table(selected, sensitive_features={"race": race})
    assert everyone.attrs["highest"] == {"race": "c"}
    assert row(everyone, "c")["note"] == "fewer than 30 rows"
    large = selection_table(selected, sensitive_features={"race": race}, min_share=0.02)
    small = row(large, "c")
    assert small["selection_rate"] == 1 and np.isnan(small["impact_ratio"])
    assert small["note"] == "under 2% of the rows: no ratio; fewer than 30 rows"
    assert row(large, "a")["impact_ratio"] == 1 and large.attrs["highest"] == {"race": "a"}
    # Less than the share; a group of exactly that share is compared.
    exactly = selection_table(selected, sensitive_features={"race": race}, min_share=0.01)
    assert row(exactly, "c")["impact_ratio"] == 1


def test_intersections():
    X, _, predicted, _ = people(0)
    by = {
        name: selection_table(predicted, sensitive_features=X, intersections=given)["attribute"]
        for name, given in {
            "all": True, "none": False, "one": [("race", "sex")], "empty": [],
        }.items()
    }  # fmt: skip
    single = ["sex", "race", "old"]
    pairs = ["sex × race", "sex × old", "race × old"]
    assert by["all"].unique().tolist() == [*single, *pairs, "sex × race × old"]
    assert by["none"].unique().tolist() == by["empty"].unique().tolist() == single
    assert by["one"].unique().tolist() == [*single, "race × sex"]
    two = selection_table(predicted, sensitive_features=X[["sex", "race"]])
    assert two["attribute"].unique().tolist() == ["sex", "race", "sex × race"]
    assert row(two, "male, d")["n"] == ((X["sex"] == "male") & (X["race"] == "d")).sum()
    for wrong in ("sex", [("sex",)], [("sex", "sex")], [("sex", "height")], None, ["sex", "race"]):
        with pytest.raises(ValueError, match="intersections must be"):
            selection_table(predicted, sensitive_features=X, intersections=wrong)


def test_unknowns_of_one_attribute_are_unknown_in_the_intersection():
    X = pd.DataFrame({"sex": ["f", "m", None, "f"] * 5, "race": ["a", None, None, "b"] * 5})
    table = selection_table(np.arange(20) % 2, sensitive_features=X)
    assert table.attrs["unknown"] == {"sex": 5, "race": 10, "sex × race": 10}
    assert table.groupby("attribute")["n"].sum().tolist() == [20, 20, 20]


def test_all_values_unknown():
    table = selection_table([0, 1], sensitive_features={"sex": [None, None], "n": [np.nan] * 2})
    assert table["group"].tolist() == ["(unknown)"] * 3 and table["n"].tolist() == [2] * 3


def test_numbers_are_cut_and_categories_keep_their_order():
    age = np.arange(100.0)
    table = selection_table(np.arange(100) % 2, sensitive_features={"age": age})
    assert table["group"].tolist() == [
        "age < 25", "age from 25 to below 50", "age from 50 to below 75", "age >= 75",
    ]  # fmt: skip
    few = selection_table(np.arange(100) % 2, sensitive_features={"n": np.arange(100) % 3})
    assert few["group"].tolist() == ["0", "1", "2"]
    sizes = pd.Categorical(["small", "large"] * 50, categories=["small", "large"], ordered=True)
    ordered = selection_table(np.arange(100) % 3 == 0, sensitive_features={"size": sizes})
    assert ordered["group"].tolist() == ["small", "large"]
    # Numbers that are codes: as categories they are not cut.
    codes = pd.Series(np.arange(100) % 10).astype("category")
    assert len(selection_table(np.arange(100) % 2, sensitive_features=codes)) == 10


def test_values_that_read_alike_are_told_apart():
    values = pd.Series(["1", 1] * 10, dtype=object, name="x")
    table = selection_table(np.arange(20) % 3 == 0, sensitive_features=values)
    assert sorted(table["group"]) == ["'1'", "1"]


def test_one_group_and_nobody_selected():
    alone = selection_table([0, 1, 1], sensitive_features=["a"] * 3)
    assert alone["impact_ratio"].isna().all() and alone.attrs["smallest_ratio"] == (None, None)
    assert alone["note"][0].startswith("nothing to compare with: no ratio")
    half = selection_table([0, 1] * 60, sensitive_features=["a"] * 60 + [None] * 60)
    assert half["impact_ratio"].isna().all() and half.attrs["highest"] == {}
    nobody = selection_table([0] * 60, sensitive_features=["a", "b"] * 30)
    assert nobody["impact_ratio"].isna().all() and nobody["impact_ratio_high"].isna().all()
    assert (nobody["note"] == "all rates are 0: no ratio").all()
    assert nobody.attrs["highest"] == {}
    everyone = selection_table([1] * 60, sensitive_features=["a", "b"] * 30)
    assert everyone["impact_ratio"].tolist() == [1, 1] and (everyone["impact_ratio_low"] < 1).all()


def test_three_hundred_groups_and_names_in_any_script():
    rng = np.random.default_rng(0)
    names = np.array([f"<script>{chr(0x5D0 + j % 27)}{chr(0x4E00 + j)}" for j in range(300)])
    table = selection_table(
        rng.random(9000) < 0.3, sensitive_features={"שם": rng.choice(names, 9000)}
    )
    assert len(table) == 300 and set(table["group"]) == set(names)
    assert (table["impact_ratio_low"] <= table["impact_ratio"]).all()
    assert (table["impact_ratio_high"] >= table["impact_ratio"]).all()


def test_every_intersection_that_occurs_is_listed_with_its_rates():
    X, y, predicted, rng = people(0)
    X = X.assign(sex=X["sex"].where(rng.random(len(X)) > 0.1, None))
    weights = rng.random(len(X)) * (rng.random(len(X)) < 0.9)
    table = selection_table(
        predicted, sensitive_features=X[["sex", "race"]], y_true=y, sample_weight=weights
    )
    occurring = X[["sex", "race"]].dropna().drop_duplicates()
    both = table[(table["attribute"] == "sex × race") & (table["group"] != "(unknown)")]
    assert sorted(both["group"]) == sorted(", ".join(row) for row in occurring.to_numpy())
    assert table[["selection_rate", *RATES]].notna().all(axis=None)


def test_a_column_of_names_of_people_is_refused():
    with pytest.raises(ValueError, match="'name' has 6,000 different values"):
        selection_table(np.arange(6000) % 2, sensitive_features={"name": map_names(6000)})


def map_names(n):
    return [f"person {j}" for j in range(n)]


# What is handed in -----------------------------------------------------------------------------

SEX = ["f", "m", "f", "m", "f", "m"]


@pytest.mark.parametrize(
    "given",
    [
        SEX,
        np.array(SEX),
        np.array(SEX).reshape(-1, 1),
        pd.Series(SEX, index=list("uvwxyz")),
        pd.Series(SEX, dtype="category"),
        pd.Index(SEX),
        pl.Series("sex", SEX),
        pl.DataFrame({"sex": SEX}),
        pd.DataFrame({"sex": SEX}),
        {"sex": SEX},
        {"sex": pd.Series(SEX, index=[9, 8, 7, 6, 5, 4])},
        [SEX],
        [np.array(SEX)],
        tuple(SEX),
    ],
    ids=lambda given: type(given).__name__,
)
def test_sensitive_features_of_any_kind(given):
    table = selection_table([1, 0, 1, 0, 0, 1], sensitive_features=given)
    assert table["group"].tolist() == ["f", "m"] and table["n"].tolist() == [3, 3]
    assert table["selection_rate"].tolist() == [pytest.approx(2 / 3), pytest.approx(1 / 3)]


def test_lists_of_columns_and_missing_values_in_lists():
    two = selection_table(
        [1, 0, 1, 0, 0, 1], sensitive_features=[SEX, pd.Series(range(6), name="n")]
    )
    assert two["attribute"].unique().tolist() == [
        "sensitive feature 0",
        "n",
        "sensitive feature 0 × n",
    ]
    # np.asarray would make the word "nan" of it.
    missing = selection_table([1, 0, 1], sensitive_features=["f", float("nan"), None])
    assert missing["group"].tolist() == ["f", "(unknown)"] and missing["n"].tolist() == [1, 2]


@pytest.mark.parametrize(
    ("labels", "favourable", "taken"),
    [
        ([0, 1, 0, 1], None, [1]),
        ([False, True, False, True], None, [True]),
        (["no", "yes", "no", "yes"], None, ["yes"]),
        (np.array([0.0, 1.0, 0.0, 1.0]), None, [1.0]),
        (["accept", "reject", "reject", "accept"], "accept", ["accept"]),
        ([0, 2, 1, 2], 2, [2]),
        ([0, 2, 1, 1], [1, 2], [1, 2]),
        (np.array([-1, 1, -1, 1]), None, [1]),
        (pd.array([0, 1, 0, 1], dtype="Int64"), None, [1]),
        (pd.Categorical(["a", "b", "a", "b"]), None, ["b"]),
        (pl.Series([False, True, False, True]), None, [True]),
        (np.zeros(4, dtype=int), None, [1]),
        ([False] * 4, None, [True]),
        (["no"] * 4, "yes", ["yes"]),
    ],
)
def test_favourable_labels(labels, favourable, taken):
    table = selection_table(labels, sensitive_features=["a", "b"] * 2, favourable=favourable)
    assert table.attrs["favourable"] == taken
    expected = np.isin(np.asarray(labels, dtype=object), taken)
    assert table["selection_rate"].tolist() == [expected[::2].mean(), expected[1::2].mean()]


def test_outputs_with_a_least_favourable_one():
    outputs, targets = np.array([0.1, 0.6, 0.7, 0.2]), np.array([0.5, 0.5, 0.1, 0.1])
    table = selection_table(
        outputs, sensitive_features=list("aabb"), y_true=targets, favourable=0.5
    )
    assert table["selection_rate"].tolist() == [0.5, 0.5] and table.attrs["favourable"] == 0.5
    assert table["false_negative_rate"].tolist()[0] == 0.5 and table["accuracy_n"].tolist() == [
        2,
        2,
    ]
    assert table["accuracy"].tolist() == [0.5, 0.5]


def test_multiclass_accuracy_is_of_labels():
    table = selection_table(
        [0, 1, 2, 2], sensitive_features=["a"] * 4, y_true=[0, 2, 2, 1], favourable=[1, 2]
    )
    assert table["accuracy"][0] == 0.5 and table["false_negative_rate"][0] == 0


def test_whole_outputs_of_a_regressor():
    counts = np.arange(100.0)
    table = selection_table(counts, sensitive_features=["a", "b"] * 50, y_true=counts + 1)
    assert table["mean_error"].tolist() == [-1, -1] and table["mean_prediction"][0] == 49


@pytest.mark.parametrize(
    ("params", "match"),
    [
        ({"y_pred": [0, 1, 2] * 2}, "3 labels, \\[0, 1, 2\\].*favourable="),
        ({"y_pred": ["a"] * 6}, "Only one label occurs, 'a'"),
        ({"y_pred": [0, 1, np.nan, 1, 0, 1]}, "y_pred has 1 missing values among 6, the first in"),
        ({"y_pred": [0, 1, None, 1, 0, None]}, "y_pred has 2 missing values"),
        ({"y_pred": []}, "y_pred has 0 rows"),
        ({"y_pred": None}, "y_pred must hold one prediction per row"),
        ({"y_pred": np.zeros((6, 2))}, "shape \\(6, 2\\)"),
        ({"y_true": [1, 0]}, "y_true must have one value per row, 6; got 2"),
        ({"y_true": [1, 0, 1, 0, np.nan, 1]}, "y_true has 1 missing"),
        ({"y_true": ["yes", "no"] * 3}, "labels of one kind"),
        ({"y_score": [0.1] * 5}, "y_score must have one value per row, 6; got 5"),
        ({"y_score": [0.1] * 5 + [np.nan]}, "y_score has 1 missing"),
        ({"y_score": list("abcdef")}, "y_score must hold numbers"),
        ({"sample_weight": [-1] * 6}, "sample_weight must be finite"),
        ({"sample_weight": [0] * 6}, "not zero everywhere"),
        ({"sample_weight": [1] * 5}, "sample_weight must have one value per row"),
        ({"favourable": 3, "y_true": [0, 1] * 3}, "3 is a label that never occurs"),
        ({"favourable": "1"}, "'1' is a label that never occurs"),
        ({"favourable": [0, 1]}, "names every class"),
        ({"favourable": []}, "favourable= is empty"),
        ({"confidence": 1.0}, "confidence must be a number in \\(0, 1\\); got 1.0"),
        ({"confidence": "high"}, "confidence must be"),
        ({"min_share": -0.1}, "min_share must be"),
        ({"min_share": True}, "min_share must be"),
        ({"sensitive_features": ["a"] * 5}, "one row for each row"),
        ({"sensitive_features": pd.DataFrame(index=range(6))}, "no column"),
        ({"sensitive_features": {}}, "no column"),
        ({"sensitive_features": []}, "no column"),
        ({"y_score": [-np.inf] * 3 + [np.inf] * 3}, "y_score has no finite median"),
        ({"y_pred": [0.5, np.inf] * 3}, "y_pred has 3 infinite values"),
        ({"y_pred": "yes"}, "y_pred must have one value per row"),
        ({"sensitive_features": [["a", "b"], ["c"]]}, "list of columns"),
        ({"sensitive_features": {"a": ["x"] * 6, "b": ["y"] * 5}}, "of one length"),
    ],
)  # fmt: skip
def test_errors(params, match):
    given = {"y_pred": [0, 1, 0, 1, 0, 1], "sensitive_features": SEX} | params
    with pytest.raises(ValueError, match=match):
        selection_table(given.pop("y_pred"), **given)


@pytest.mark.parametrize("wrong", [None, "sex", 3])
def test_sensitive_features_that_are_none(wrong):
    with pytest.raises(TypeError, match="sensitive_features must hold|must be a NumPy array"):
        selection_table([0, 1], sensitive_features=wrong)


def test_labels_of_two_kinds():
    with pytest.raises(TypeError, match="'x' holds values that cannot be categories"):
        selection_table([0, 1], sensitive_features={"x": [[1], [2]]})
    with pytest.raises(TypeError, match="y_pred must be array-like"):
        selection_table(1, sensitive_features=SEX[:1])
    with pytest.raises(TypeError, match="Labels must be of one kind"):
        selection_table(np.array([0, "a"], dtype=object), sensitive_features=SEX[:2])


def test_outputs_that_look_like_labels():
    outputs = [0, 1, 1, 3]
    means = selection_table(outputs, sensitive_features=list("aabb"), favourable="mean")
    assert means["mean_prediction"].tolist() == [0.5, 2.0] and "impact_ratio" not in means
    labels = selection_table(["mean", "x"], sensitive_features=["a", "b"], favourable="mean")
    assert labels["selection_rate"].tolist() == [1, 0]


def test_probabilities_beside_true_labels_are_means():
    table = selection_table([0.2, 0.7], sensitive_features=["a", "b"], y_true=[0, 1])
    assert table["mean_error"].tolist() == [pytest.approx(0.2), pytest.approx(-0.3)]
    with pytest.raises(ValueError, match=r"outputs of a regressor"):
        selection_table([0.2, 0.7], sensitive_features=["a", "b"], y_true=[0, 1], y_score=[0, 1])


def test_what_was_given_stays_and_the_table_joins_others():
    X, y, predicted, _ = people(0)
    before = X.copy()
    table = selection_table(predicted, sensitive_features=X, y_true=y, intersections=False)
    pd.testing.assert_frame_equal(X, before)
    # pandas compares attrs where tables are joined.
    assert len(pd.concat([table, table])) == 2 * len(table)


def test_a_threshold_among_labels_is_no_label():
    with pytest.raises(ValueError, match=r"0\.5 is a label that never occurs.*\[0, 1\]"):
        selection_table([0, 1, 0, 1], sensitive_features=list("aabb"), favourable=0.5)
    rates = selection_table([0.25, 0.5, 0.1, 0.9], sensitive_features=list("aabb"), favourable=0.5)
    assert rates["selection_rate"].tolist() == [0.5, 0.5]


@pytest.mark.parametrize("name", ["y_pred", "y_true", "y_score"])
def test_sensitive_values_of_other_rows(name):
    labels = pd.Series([0, 1, 0, 1])
    given = {"y_pred": labels.to_numpy(), "y_true": labels.to_numpy(), "y_score": None}
    given[name] = labels
    for index, how in ((range(1, 5), "other labels"), ([3, 2, 1, 0], "another order")):
        sex = pd.Series(list("ffmm"), index=index)
        with pytest.raises(ValueError, match=f"another index than {name} .*{how}"):
            selection_table(given["y_pred"], sensitive_features={"sex": sex}, favourable=1,
                            y_true=given["y_true"], y_score=given["y_score"])  # fmt: skip
    table = selection_table(labels, sensitive_features=sex.to_numpy(), favourable=1)
    assert table["selection_rate"].tolist() == [0.5, 0.5]


def test_names_and_numbers_of_groups():
    labels = np.arange(6000) % 2
    with pytest.raises(
        ValueError, match="has 6,000 different values in 6,000 rows; expected at most 5,000"
    ):
        selection_table(labels, sensitive_features=[f"id {i}" for i in range(6000)])
    twice = pd.DataFrame({"a": list("xy"), "b": list("xy")}).set_axis(["a", "a"], axis=1)
    with pytest.raises(ValueError, match="Column names must differ"):
        selection_table([0, 1], sensitive_features=twice)
    levels = pd.MultiIndex.from_tuples([("p", "a"), ("p", "b")])
    table = selection_table([0, 1], sensitive_features=twice.set_axis(levels, axis=1), favourable=1)
    assert table["attribute"].iloc[0] == "('p', 'a')"
    one = selection_table([1], sensitive_features=["a"], favourable=1)
    assert one["note"].tolist() == ["nothing to compare with: no ratio; fewer than 30 rows"]
    kinds = pd.Categorical(["a", "b", "a"], categories=["a", "b", "nobody"])
    assert selection_table([0, 1, 1], sensitive_features=kinds)["group"].tolist() == ["a", "b"]


def test_the_smallest_ratio_has_ends_that_hold_for_all_groups():
    rng = np.random.default_rng(0)
    groups = rng.choice(list("abcd"), 800)
    labels = rng.random(800) < np.where(groups == "a", 0.2, 0.6)
    table = selection_table(labels, sensitive_features=groups, favourable=True)
    low, high = table.attrs["smallest_ratio"]
    assert low == table["impact_ratio_low"].min()
    assert low < table["impact_ratio"].min() < table["impact_ratio_high"].min() < high < 1
    means = selection_table(rng.random(800), sensitive_features=groups)
    assert means.attrs["smallest_ratio"] == (None, None)
