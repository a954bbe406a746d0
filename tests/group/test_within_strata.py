"""Groups within strata: figures of others, intervals, the decomposition, and odd input."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import optimize, special, stats
from sklearn.linear_model import LogisticRegression
from tiers import slow_sample

from skfairtest import SubgroupAuditor, selection_table
from skfairtest.group._inference.counting import Means
from skfairtest.group._inference.strata import (
    decomposed,
    pairs_in_strata,
    pooled_difference,
    pooled_ratio,
)

Z = float(stats.norm.isf(0.025))


def applicants(seed=0, n=600):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], n),
            "race": rng.choice(["a", "b", "c"], n, p=[0.6, 0.3, 0.1]),
            "dept": rng.choice(["A", "B", "C"], n),
            "age": rng.integers(20, 60, n),
        }
    )
    y = rng.random(n) < 0.4
    likely = 0.2 + 0.2 * y + 0.2 * (X["sex"] == "m") + 0.2 * (X["dept"] == "A")
    return X, y, rng.random(n) < likely, rng


def whole(table):
    return table[table["stratum"] == ""].reset_index(drop=True)


def pooled(x, n, x_out, n_out, confidence=0.95):
    """Ratio, difference of tables of shape (n_tables, n_strata), each pooled over its strata."""
    counts = [np.atleast_2d(np.asarray(part, dtype=float)).T for part in (x, x_out, n, n_out)]
    cases, size = np.hstack(counts[:2]), np.hstack(counts[2:])
    k = size.shape[1] // 2
    with np.errstate(invalid="ignore"):
        share = cases / size
    means = Means(share, size.astype(int), size, share * (1 - share))
    cells = pairs_in_strata(means, size, np.arange(k), np.arange(k, 2 * k), binary=True)
    return pooled_ratio(cells, confidence), pooled_difference(cells, confidence)


# The figures ---------------------------------------------------------------------------------


def test_rows_of_a_stratum_are_the_table_of_its_rows():
    X, y, predicted, _ = applicants()
    people = X[["sex", "race"]]
    table = selection_table(
        predicted, sensitive_features=people, y_true=y, control_features=X["dept"], favourable=True
    )
    plain = selection_table(predicted, sensitive_features=people, y_true=y, favourable=True)
    shared = [name for name in plain if name not in ("note", "share")]
    pd.testing.assert_frame_equal(
        whole(table)[[*shared, "share", "note"]], plain[[*shared, "share", "note"]]
    )
    rates = [name for name in shared if not name.startswith("impact_ratio")]
    for dept in "ABC":
        here = (X["dept"] == dept).to_numpy()
        alone = selection_table(
            predicted[here], sensitive_features=people[here], y_true=y[here], favourable=True
        )
        within = table[table["stratum"] == dept].reset_index(drop=True)
        pd.testing.assert_frame_equal(within[[*rates, "share"]], alone[[*rates, "share"]])
        # Ratios are to the reference of the whole table, whoever is highest here.
        for attribute, reference in table.attrs["reference"].items():
            part = within[within["attribute"] == attribute].set_index("group")
            found = part["selection_rate"] / part["selection_rate"][reference]
            np.testing.assert_allclose(part["impact_ratio"], found)
    assert table.attrs["n_strata"] == 3 and table.attrs["control_features"] == "dept"


@pytest.mark.services("fairlearn")
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("control", [["dept"], ["dept", "race"]])
def test_rates_are_those_of_fairlearn(weighted, control):
    from fairlearn import metrics
    from sklearn.metrics import accuracy_score

    X, y, predicted, rng = applicants()
    weights = 1.1 - rng.random(len(X)) if weighted else None
    table = selection_table(
        predicted, sensitive_features=X["sex"], y_true=y, sample_weight=weights, favourable=True,
        control_features=X[control],
    )  # fmt: skip
    ours = {
        "selection_rate": metrics.selection_rate,
        "false_positive_rate": metrics.false_positive_rate,
        "false_negative_rate": metrics.false_negative_rate,
        "accuracy": accuracy_score,
        "n": metrics.count,
    }
    params = {name: {"sample_weight": weights} for name in ours if name != "n"}
    theirs = metrics.MetricFrame(
        metrics=ours, y_true=y, y_pred=predicted, sensitive_features=X["sex"],
        control_features=X[control], sample_params=params if weighted else None,
    ).by_group.dropna(how="all")  # fmt: skip
    rows = table[table["stratum"] != ""]
    assert [
        (*stratum.split(", "), group)
        for stratum, group in zip(rows["stratum"], rows["group"], strict=True)
    ] == list(theirs.index)
    for name in ours:
        known = rows[name].notna().to_numpy()
        assert known.any()
        np.testing.assert_allclose(
            rows.loc[known, name].astype(float), theirs[name][known].astype(float), rtol=1e-12
        )


@pytest.mark.services("statsmodels")
def test_pooled_ratio_is_that_of_statsmodels():
    from statsmodels.stats.contingency_tables import StratifiedTable

    rng = np.random.default_rng(0)
    for _ in range(20):
        n, n_out = rng.integers(1, 40, (2, 7))
        x, x_out = rng.binomial(n, 0.4), rng.binomial(n_out, 0.5)
        tables = [
            np.array([[a, b - a], [c, d - c]])
            for a, b, c, d in zip(x, n, x_out, n_out, strict=True)
        ]
        ratio, _ = pooled(x, n, x_out, n_out)
        assert ratio.value[0] == pytest.approx(StratifiedTable(tables).riskratio_pooled, rel=1e-13)


@pytest.mark.services("statsmodels")
@pytest.mark.parametrize("counts", [(3, 20, 9, 25), (1, 12, 4, 30), (17, 18, 5, 9)])
def test_ratio_of_one_stratum_is_that_of_statsmodels(counts):
    from statsmodels.stats.proportion import confint_proportions_2indep

    ratio, _ = pooled(*counts)
    theirs = confint_proportions_2indep(*counts, method="score", compare="ratio")
    assert (ratio.low[0], ratio.high[0]) == pytest.approx(theirs, rel=1e-6)


@pytest.mark.parametrize(
    ("counts", "interval"),
    [
        ((56, 70, 48, 80), (0.0528, 0.3382)),
        ((9, 10, 3, 10), (0.1700, 0.8406)),
        ((5, 56, 0, 29), (-0.0326, 0.1933)),
        ((0, 10, 0, 10), (-0.2879, 0.2879)),
        ((10, 10, 0, 20), (0.7156, 1.0)),
    ],
)
def test_difference_of_one_stratum_is_as_published(counts, interval):
    # Newcombe (1998), Statistics in Medicine 17, 873-890, Table II, method 5.
    _, difference = pooled(*counts)
    assert (difference.low[0], difference.high[0]) == pytest.approx(interval, abs=6e-5)


def test_pooled_figures_by_hand():
    x, n, x_out, n_out = np.array([[8, 22], [106, 98], [5, 16], [120, 85]])
    ratio, difference = pooled(x, n, x_out, n_out)
    both = n + n_out
    assert ratio.value[0] == (x * n_out / both).sum() / (x_out * n / both).sum()
    weight = n * n_out / both
    assert difference.value[0] == pytest.approx(
        (weight * (x / n - x_out / n_out)).sum() / weight.sum()
    )
    # Of the University Group Diabetes Program textbooks have 1.33 (0.80 to 2.20) by the error of
    # Greenland and Robins; by Sato's the difference is from -0.028 to 0.097. Counts are large.
    for found, wanted in ((ratio, (1.33, 0.80, 2.20)), (difference, (0.035, -0.028, 0.097))):
        assert [found.value[0], found.low[0], found.high[0]] == pytest.approx(wanted, abs=0.006)


def likeliest(x, n, x_out, n_out, inside):
    """The likeliest shares, where that inside is a function of that outside."""

    def minus(q):
        p = inside(q)
        own = special.xlogy(x, p) + special.xlog1py(n - x, -p)
        return -(own + special.xlogy(x_out, q) + special.xlog1py(n_out - x_out, -q))

    grid = np.linspace(1e-9, 1 - 1e-9, 20_001)
    grid = grid[(inside(grid) > 0) & (inside(grid) < 1)]
    best = int(np.argmin(minus(grid)))
    ends = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    q = optimize.minimize_scalar(minus, bounds=ends, method="bounded", options={"xatol": 1e-10}).x
    return inside(q), q


@pytest.mark.parametrize("end", ["low", "high"])
def test_bounds_are_where_the_score_test_begins_to_refute(end):
    x, n, x_out, n_out = np.array([[3, 0, 7], [9, 2, 20], [8, 1, 9], [15, 6, 11]])
    both, weight = n + n_out, n * n_out / (n + n_out)
    for figure, inside, scale in (
        (pooled(x, n, x_out, n_out)[0], lambda q, at: at * q, lambda at: at),
        (pooled(x, n, x_out, n_out)[1], lambda q, at: q + at, lambda at: 1.0),
    ):
        at = float(getattr(figure, end)[0])
        away, variance = 0.0, 0.0
        for k in range(3):
            p, q = likeliest(x[k], n[k], x_out[k], n_out[k], lambda q: inside(q, at))  # noqa: B023
            away += weight[k] * (x[k] / n[k] - inside(x_out[k] / n_out[k], at))
            one = p * (1 - p) / n[k] + scale(at) ** 2 * q * (1 - q) / n_out[k]
            variance += weight[k] ** 2 * one * both[k] / (both[k] - 1)
        assert abs(away) / np.sqrt(variance) == pytest.approx(Z, rel=1e-3)
        assert figure.low[0] < figure.value[0] < figure.high[0]


def test_pairs_are_mcnemar_s():
    # Strata of a row of each group: the score test of a difference of 0 is McNemar's.
    x = np.repeat([1, 0, 1, 0], [14, 4, 9, 8])
    x_out = np.repeat([0, 1, 1, 0], [14, 4, 9, 8])
    one = np.ones(len(x))
    mcnemar = float(stats.norm.sf((14 - 4) / np.sqrt(14 + 4))) * 2
    for confidence, refuted in ((1 - mcnemar * 1.01, True), (1 - mcnemar * 0.99, False)):
        ratio, difference = pooled(x, one, x_out, one, confidence)
        assert (difference.low[0] > 0) == (ratio.low[0] > 1) == refuted


@pytest.mark.parametrize(
    ("counts", "ratio", "difference"),
    [
        (([0, 0], [5, 9], [0, 0], [6, 8]), (np.nan,) * 3, (0.0, -0.3, 0.3)),
        (([0, 0], [50, 90], [6, 8], [60, 80]), (0.0, 0.0, 0.3), (-0.1, -0.2, -0.03)),
        (([6, 8], [60, 80], [0, 0], [50, 90]), (np.inf, 3.7, np.inf), (0.1, 0.03, 0.2)),
        (([5, 9], [5, 9], [6, 8], [6, 8]), (1.0, 0.75, 1.35), (0.0, -0.3, 0.3)),
        (([3, 4], [6, 8], [0, 0], [0, 0]), (np.nan,) * 3, (np.nan,) * 3),
    ],
)
def test_figures_at_the_ends(counts, ratio, difference):
    for found, wanted in zip(pooled(*counts), (ratio, difference), strict=True):
        assert [found.value[0], found.low[0], found.high[0]] == pytest.approx(
            wanted, abs=0.12, nan_ok=True
        )


def test_strata_of_one_group_do_not_matter_to_pooled_figures():
    x, n, x_out, n_out = np.array([[8, 22], [106, 98], [5, 16], [120, 85]])
    more = [np.append(part, extra) for part, extra in ((x, 7), (n, 9), (x_out, 0), (n_out, 0))]
    for one, other in zip(pooled(x, n, x_out, n_out), pooled(*more), strict=True):
        np.testing.assert_array_equal(np.array(one), np.array(other))


def test_homogeneity():
    n = np.full((1, 3), 4000)
    same, _ = pooled(n * [0.1, 0.2, 0.3], n, n * [0.2, 0.4, 0.6], n)
    assert same.homogeneity[0] > 0.99
    ratio, difference = pooled(n * [0.1, 0.2, 0.3], n, n * [0.2, 0.3, 0.4], n)
    assert ratio.homogeneity[0] < 1e-6 and difference.homogeneity[0] > 0.99
    # Where counts are large it is Cochran's.
    p, q = np.array([0.21, 0.33, 0.42]), np.array([0.2, 0.3, 0.4])
    variance = p * (1 - p) / 4000 + q * (1 - q) / 4000
    mean = np.average(p - q, weights=1 / variance)
    cochran = float(stats.chi2.sf(((p - q - mean) ** 2 / variance).sum(), 2))
    assert pooled(n * p, n, n * q, n)[1].homogeneity[0] == pytest.approx(cochran, rel=0.02)
    assert np.isnan(pooled([3], [9], [4], [9])[0].homogeneity[0])


def test_figures_of_weighted_rows():
    X, _, predicted, rng = applicants()
    given = {"sensitive_features": X[["sex"]], "control_features": X["dept"], "favourable": True}
    plain = whole(selection_table(predicted, **given))
    equal = whole(selection_table(predicted, sample_weight=np.full(len(X), 7.0), **given))
    pd.testing.assert_frame_equal(plain, equal)
    times = rng.integers(0, 3, len(X))
    again = np.repeat(np.arange(len(X)), times)
    weighted = whole(selection_table(predicted, sample_weight=times, **given))
    repeated = whole(
        selection_table(
            predicted[again], sensitive_features=X[["sex"]].iloc[again], favourable=True,
            control_features=X["dept"].iloc[again],
        )
    )  # fmt: skip
    names = ["ratio_within", "difference_within", "from_rates", "from_composition"]
    np.testing.assert_allclose(weighted[names], repeated[names])
    # A row that counts twice is no second row: the interval is wider.
    wide, narrow = (
        t["ratio_within_high"][0] - t["ratio_within_low"][0] for t in (weighted, repeated)
    )
    assert wide > narrow


# Where a difference comes from ---------------------------------------------------------------


def test_decomposition_by_hand():
    # Women apply where few are admitted: within departments there is no difference.
    means, weight = np.array([[0.6, 0.6], [0.1, 0.1]]), np.array([[10, 90], [90, 10]])
    rates, composition = decomposed(means, weight, 1)
    assert rates.tolist() == [[0, 0], [0, 0]]
    # 0.15 less 0.55, half of it from where they are seldom, half from where they are often.
    np.testing.assert_allclose(composition, [[-0.2, 0], [-0.2, 0]], atol=1e-12)
    means = np.array([[0.5, 0.6], [0.1, 0.2]])
    rates, composition = decomposed(means, np.full((2, 2), 5), 1)
    np.testing.assert_allclose(rates, [[-0.05, 0], [-0.05, 0]])
    np.testing.assert_allclose(composition, 0, atol=1e-12)


@slow_sample
def test_parts_add_up_to_the_difference():
    X, _, predicted, rng = applicants()
    X["dept"] = np.where((X["race"] == "c") & (X["dept"] == "A"), "only c", X["dept"])
    for sample_weight in (None, rng.random(len(X))):
        table = selection_table(
            predicted, sensitive_features=X[["sex", "race"]], sample_weight=sample_weight,
            control_features=X[["dept", "age"]], favourable=True,
        )  # fmt: skip
        groups, parts = whole(table), ["from_rates", "from_composition"]
        for attribute, reference in table.attrs["reference"].items():
            chosen = groups[groups["attribute"] == attribute].set_index("group")
            gap = chosen["selection_rate"] - chosen["selection_rate"][reference]
            np.testing.assert_allclose(chosen[parts].sum(axis=1), gap, atol=1e-12)
        in_strata = table[table["stratum"] != ""]
        sums = in_strata.groupby(["attribute", "group"], sort=False)[parts].sum()
        # Strata in which a group has no row are not listed, and are composition.
        found = sums.reindex(groups.set_index(["attribute", "group"]).index)["from_rates"]
        np.testing.assert_allclose(found, groups["from_rates"], atol=1e-12)


def test_everything_that_cannot_be_compared_is_said():
    table = selection_table(
        [1, 0, 1, 1, 0, 1], sensitive_features={"sex": list("ffmmm") + [None]}, favourable=1,
        control_features={"dept": ["A", "A", "B", "B", None, "A"]},
    )  # fmt: skip
    groups = whole(table)
    assert groups["n_strata"].tolist()[:1] == [0] and groups["n_within"].tolist()[:1] == [0]
    assert groups["ratio_within"].isna().tolist() == [True, False, True]
    assert groups["from_rates"].tolist()[:2] == [0, 0]
    assert groups["from_composition"][0] == pytest.approx(0.5 - 2 / 3)
    assert table.attrs["smallest_within"] is None
    strata = table[table["stratum"] != ""]
    # Cells without a row are not there; a missing value is a stratum of its own.
    assert strata[["stratum", "group"]].to_numpy().tolist() == [
        ["A", "f"], ["A", "(unknown)"], ["B", "m"], ["(unknown)", "m"],
    ]  # fmt: skip
    assert strata["note"].tolist()[0] == "no rows of m here: no ratio; fewer than 30 rows"


def test_the_smallest_ratio_is_of_any_two_groups_in_any_direction():
    # On the whole b is best, within both strata c, of whom few apply where many are taken.
    cells = {("A", "a"): (30, 40), ("A", "b"): (400, 500), ("A", "c"): (18, 20),
             ("B", "a"): (90, 400), ("B", "b"): (10, 40), ("B", "c"): (150, 400)}  # fmt: skip
    rows = [(d, g, k < x) for (d, g), (x, n) in cells.items() for k in range(n)]
    X = pd.DataFrame(rows, columns=["dept", "group", "taken"])
    table = selection_table(
        X["taken"], sensitive_features=X["group"], control_features=X["dept"], favourable=True
    )
    assert table.attrs["reference"] == {"group": "b"}
    groups = whole(table).set_index("group")
    assert groups["ratio_within"]["c"] > 1.1 and groups["ratio_within"]["b"] == 1
    smallest = table.attrs["smallest_within"]
    assert (smallest["group"], smallest["to"]) == ("a", "c")
    assert smallest["low"] < smallest["value"] < smallest["high"] < groups["ratio_within"]["a"]


def test_means_within_strata():
    X, _, _, rng = applicants()
    outputs = rng.normal(size=len(X)) + (X["sex"] == "m") + 5.0 * (X["dept"] == "A")
    table = selection_table(
        outputs, sensitive_features=X["sex"], control_features=X["dept"], y_true=outputs + 1
    )
    groups = whole(table).set_index("group")
    assert "ratio_within" not in table and table.attrs["smallest_within"] is None
    reference = table.attrs["reference"]["sex"]
    # The same as least squares with a constant for each department.
    design = np.column_stack([X["sex"] != reference, pd.get_dummies(X["dept"])]).astype(float)
    slope = np.linalg.lstsq(design, outputs, rcond=None)[0][0]
    (other,) = {"f", "m"} - {reference}
    assert groups["difference_within"][other] == pytest.approx(slope)
    assert groups["difference_within_low"][other] < slope < groups["difference_within_high"][other]
    parts = groups["from_rates"] + groups["from_composition"]
    gap = groups["mean_prediction"] - groups["mean_prediction"][reference]
    np.testing.assert_allclose(parts, gap, atol=1e-12)
    # That of an interaction in least squares.
    many = np.column_stack([design, design[:, :1] * design[:, 2:]])
    rest, all_rest = (
        np.sum((outputs - d @ np.linalg.lstsq(d, outputs, rcond=None)[0]) ** 2)
        for d in (design, many)
    )
    far = (rest - all_rest) / 2 / (all_rest / (len(X) - 6))
    assert groups["homogeneity_difference"][other] == pytest.approx(stats.f.sf(far, 2, len(X) - 6))
    single = selection_table(
        outputs[:4], sensitive_features=list("fmfm"), control_features=list("aabb")
    )
    assert whole(single)["difference_within_low"].isna().any()


# Input ---------------------------------------------------------------------------------------


@slow_sample
def test_chunks_give_the_same_table():
    X, y, predicted, rng = applicants()
    X = X.assign(y=y, predicted=predicted, weight=rng.random(len(X)))
    names = ["sex", "race"]
    at_once = selection_table(
        predicted, sensitive_features=X[names], y_true=y, sample_weight=X["weight"],
        control_features=X[["dept", "age"]], favourable=True,
    )  # fmt: skip
    chunks = [X.iloc[start : start + 100] for start in range(0, len(X), 100)]
    found = selection_table(
        "predicted", sensitive_features=names, y_true="y", sample_weight="weight",
        control_features=["dept", "age"], favourable=True, data=chunks,
    )  # fmt: skip
    pd.testing.assert_frame_equal(found, at_once)
    same = selection_table(
        "predicted", sensitive_features="sex", control_features="sex", favourable=True, data=chunks
    )
    assert whole(same)["n_strata"].min() == 0


def test_numbers_are_cut_and_columns_are_crossed():
    X, _, predicted, _ = applicants()
    table = selection_table(
        predicted, sensitive_features=X["sex"], control_features=[X["dept"], X["age"]],
        favourable=True,
    )  # fmt: skip
    assert table.attrs["control_features"] == "dept × age" and table.attrs["n_strata"] == 12
    assert "A, age < 30" in set(table["stratum"])
    one = selection_table(
        predicted, sensitive_features=X["sex"], control_features=["x"] * len(X), favourable=True
    )
    groups = whole(one)
    np.testing.assert_allclose(groups["ratio_within"], groups["impact_ratio"])
    np.testing.assert_allclose(groups["from_composition"], 0, atol=1e-12)


def test_many_strata_are_figures_that_say_what_they_rest_on():
    X, _, predicted, rng = applicants(n=900)
    table = selection_table(
        predicted, sensitive_features=X["sex"], favourable=True,
        control_features={"team": [f"t{k}" for k in rng.integers(0, 500, len(X))]},
    )  # fmt: skip
    first = whole(table).iloc[0]
    assert table.attrs["n_strata"] > 400 and 50 < first["n_strata"] < 300
    assert first["n_within"] < len(X) and first["ratio_within_low"] < first["ratio_within_high"]


@pytest.mark.parametrize(
    ("control", "match"),
    [
        (["a"] * 5, "control_features must have one row for each row"),
        (pd.DataFrame(index=range(6)), "control_features has no column"),
        ({"a": ["x"] * 6, "b": ["y"] * 5}, "columns of control_features must be of one length"),
        ({"a": [np.inf, 1, 2, 3, 4, 5]}, "'a' has infinite values"),
    ],
)
def test_errors(control, match):
    with pytest.raises(ValueError, match=match):
        selection_table(
            [0, 1] * 3, sensitive_features=list("ffmmff"), control_features=control, favourable=1
        )


def test_wrong_kinds_and_rows():
    sex, labels = pd.Series(list("ffmm")), [0, 1, 0, 1]
    with pytest.raises(TypeError, match="control_features must hold the control values"):
        selection_table(labels, sensitive_features=sex, control_features="dept", favourable=1)
    moved = pd.Series(list("aabb"), index=[3, 2, 1, 0])
    with pytest.raises(ValueError, match=r"control_features has another index .*another order"):
        selection_table(labels, sensitive_features=sex, control_features=moved, favourable=1)
    with pytest.raises(TypeError, match="control_features must be names of its columns"):
        selection_table("y", sensitive_features="s", control_features=3, data=iter([]))
    many = np.arange(6000)
    with pytest.raises(ValueError, match=r"6,000 different values in 6,000 rows"):
        selection_table(
            many % 2, sensitive_features=many % 3, control_features=many.astype(str), favourable=1
        )


# SubgroupAuditor -----------------------------------------------------------------------------


def test_rules_within_strata_are_those_of_the_table():
    X, y, predicted, rng = applicants(n=1500)
    weights = rng.random(len(X))
    auditor = SubgroupAuditor(favourable=True, sensitive_features=["sex"], correction="none")
    auditor.fit(X, y_pred=predicted, control_features=["dept"], sample_weight=weights)
    found = auditor.strata_
    first = found.iloc[0]
    inside = first["rule"].removeprefix("sex = ")
    table = selection_table(
        predicted, sensitive_features=X["sex"], control_features=X["dept"], favourable=True,
        sample_weight=weights,
    )  # fmt: skip
    if table.attrs["reference"]["sex"] == inside:  # a ratio the other way round
        row = whole(table).set_index("group").drop(inside).iloc[0]
        assert first["ratio"] == pytest.approx(1 / row["ratio_within"])
        assert first["ratio_low"] == pytest.approx(1 / row["ratio_within_high"], rel=1e-5)
        assert first["difference"] == pytest.approx(-row["difference_within"])
        assert first["from_rates"] == pytest.approx(-row["from_rates"])
    else:
        row = whole(table).set_index("group").loc[inside]
        assert first["ratio"] == pytest.approx(row["ratio_within"])
        assert first["ratio_high"] == pytest.approx(row["ratio_within_high"])
    assert found["stratum"].tolist() == ["", "A", "B", "C"]
    here = X["dept"] == "A"
    assert found["n_inside"][1] == (here & (X["sex"] == inside)).sum()
    share = np.average(
        predicted[here & (X["sex"] == inside)], weights=weights[here & (X["sex"] == inside)]
    )
    assert found["value_inside"][1] == pytest.approx(share)
    # What is left of many rules is as sure as they are: intervals are wider.
    at_once = SubgroupAuditor(favourable=True, sensitive_features=["sex", "race", "age"])
    at_once.fit(X, y_pred=predicted, control_features=X["dept"], sample_weight=weights)
    wide = at_once.strata_.set_index(["rule", "stratum"]).loc[(first["rule"], "")]
    assert wide["ratio"] == pytest.approx(first["ratio"])
    assert wide["ratio_high"] > first["ratio_high"]


def test_rules_of_rates_of_some_rows_and_of_means():
    X, y, predicted, rng = applicants(n=1500)
    auditor = SubgroupAuditor(
        metric="false_negative_rate", favourable=True, sensitive_features=["sex"]
    )
    found = auditor.fit(X, y, y_pred=predicted, control_features=["dept"]).strata_.iloc[0]
    assert found["n_inside"] + found["n_outside"] == y.sum() and found["n_strata"] == 3
    sums = found["from_rates"] + found["from_composition"]
    assert sums == pytest.approx(found["value_inside"] - found["value_outside"])
    means = SubgroupAuditor(metric="mean_error", sensitive_features=["sex"])
    errors = rng.normal(size=len(X))
    made = means.fit(X, errors, y_pred=errors * 0, control_features=["dept"]).strata_
    assert "ratio" not in made and made["difference_low"][0] < made["difference"][0]


def test_control_features_of_an_auditor():
    X, _, predicted, _ = applicants()
    auditor = SubgroupAuditor(favourable=True, sensitive_features=["sex"])
    assert not hasattr(auditor, "strata_")
    auditor.fit(X, y_pred=predicted)
    with pytest.raises(AttributeError, match=r"strata_ is there where fit is given control_f"):
        auditor.strata_  # noqa: B018
    with pytest.raises(ValueError, match=r"control_features names 'dep'.* Did you mean 'dept'"):
        auditor.fit(X, y_pred=predicted, control_features=["dep"])
    # A column that the model does not take is kept from it.
    model = LogisticRegression().fit(X[["age"]], predicted)
    asked = SubgroupAuditor(model, favourable=True, sensitive_features=["age"])
    asked.fit(X[["age", "dept"]], control_features="dept")
    assert asked.strata_["n_strata"][0] == 3
    again = pickle.loads(pickle.dumps(asked)).strata_
    pd.testing.assert_frame_equal(again, asked.strata_)


# Coverage ------------------------------------------------------------------------------------


def assert_covers(seed, n_tables, n_strata, size, rare, least):
    rng = np.random.default_rng(seed)
    base = np.linspace(0.1, 0.5, n_strata)
    n = np.full((n_tables, n_strata), max(round(size * rare), 1))
    n_out = size - n
    x, x_out = rng.binomial(n, 0.8 * base), rng.binomial(n_out, base)
    ratio, _ = pooled(x, n, x_out, n_out)
    low, high = np.nan_to_num(ratio.low, nan=0.0), np.nan_to_num(ratio.high, nan=np.inf)
    assert least < ((low <= 0.8) & (high >= 0.8)).mean() < 0.985
    x = rng.binomial(n, base - 0.05)
    _, difference = pooled(x, n, x_out, n_out)
    assert least < ((difference.low <= -0.05) & (difference.high >= -0.05)).mean() < 0.985


def test_coverage_of_pooled_figures_shortly():
    assert_covers(0, 400, 5, 40, 0.5, least=0.92)


@slow_sample
@pytest.mark.parametrize(("n_strata", "size"), [(2, 20), (20, 20), (5, 200), (20, 200), (2, 2000)])
@pytest.mark.parametrize("rare", [0.5, 0.1])
def test_coverage_of_pooled_figures(n_strata, size, rare):
    # Of intervals by the textbook's errors 0.44 at worst, where a group has two rows in a stratum.
    assert_covers(1, 3000, n_strata, size, rare, least=0.935)
