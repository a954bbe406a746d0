"""`make_proxy_*`: the counterfactuals, roles, effects and flips are those of the equations."""

from __future__ import annotations

import pickle
from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from pandas.testing import assert_frame_equal
from sklearn.base import clone
from sklearn.metrics import roc_auc_score

from skfairtest import audit
from skfairtest.datasets import make_proxy_classification, make_proxy_regression

VARIANTS = [
    "monotone", "no path", "resolving", "non-monotone", "category", "three groups", "thin overlap",
]  # fmt: skip
MAKERS = [make_proxy_regression, make_proxy_classification]
STRENGTH = {"a": 0.0, "b": 1.0, "c": -0.6}
ALWAYS = pytest.mark.parametrize("variant", VARIANTS)


@pytest.fixture(scope="module")
def bunches():
    return {
        name: make_proxy_classification(8_000, variant=name, random_state=0) for name in VARIANTS
    }


def pairs(bunch):
    return permutations(bunch.counterfactuals, 2)


def rank_correlation(before, after):
    return before.corr(after, method="spearman")


def written_score(X):
    """The score as the docstring states it, of a table without `district`."""
    z = (X["age"] - 42) / 13
    region = X["region"].map({"north": 0, "south": 1, "east": 2}).astype(float)
    hours, income = X["hours"] - 36, np.log(1 + X["income"]) - 3
    score = 0.2 + 0.3 * z + 0.2 * region + 0.05 * hours + 0.04 * (X["rating"] - 60)
    score += (1.2 + 0.03 * hours) * income - 0.2 * X["late_payments"].clip(upper=8)
    return score


def in_group_b(X):
    """Rows of group "a" in group "b": the equations of the docstring, solved for the noise."""
    z = (X["age"] - 42) / 13
    hours = 36 + 2 * z - 3 + 0.8 * (X["hours"] - 36 - 2 * z)
    rating = 60 + 4 * z - 8 + 0.8 * (X["rating"] - 60 - 4 * z)
    log_income = np.log(X["income"]) - 0.25
    log_income += 0.03 * (hours - X["hours"]) + 0.015 * (rating - X["rating"])
    distance = X["distance"] * np.exp(0.5)
    return X.assign(hours=hours, rating=rating, income=np.exp(log_income), distance=distance)


# Counterfactuals


@ALWAYS
def test_in_its_own_group_a_row_is_itself(bunches, variant):
    bunch = bunches[variant]
    for tables in (bunch.counterfactuals, bunch.counterfactuals_resolved):
        for group, moved in tables.items():
            mine = bunch.sensitive == group
            assert mine.any()
            assert_frame_equal(moved[mine], bunch.data[mine])


def test_real_columns_solve_the_written_equations(bunches):
    bunch = bunches["monotone"]
    of_a = bunch.data[bunch.sensitive == "a"]
    found = bunch.counterfactuals["b"].loc[of_a.index]
    real = ["hours", "rating", "income", "distance"]
    assert_frame_equal(found[real], in_group_b(of_a)[real], rtol=1e-9)
    assert (found["group"] == "b").all()
    # A count is rounded down, so its noise is known between two ends only.
    shift = np.exp(0.3 - 0.4 * np.log(found["income"] / of_a["income"]))
    low, high = (np.floor((of_a["late_payments"] + k) * shift) for k in (0, 1))
    assert found["late_payments"].between(low, high).all()
    assert (found["late_payments"] > of_a["late_payments"]).mean() > 0.3


@ALWAYS
def test_moved_rows_are_distributed_as_the_rows_of_the_group(bunches, variant):
    bunch = bunches[variant]
    for start, end in pairs(bunch):
        real = pd.get_dummies(bunch.data[bunch.sensitive == end][bunch.order], dtype=float)
        moved = bunch.counterfactuals[end][bunch.sensitive == start][bunch.order]
        moved = pd.get_dummies(moved, dtype=float)
        error = np.sqrt(real.var() / len(real) + moved.var() / len(moved))
        assert ((real.mean() - moved.mean()).abs() < 4.5 * error).all()


@ALWAYS
def test_confounders_and_kept_columns_stay_and_proxies_move(bunches, variant):
    bunch = bunches[variant]
    for start, end in pairs(bunch):
        rows = bunch.sensitive == start
        own, moved, resolved = (
            table[rows]
            for table in (
                bunch.data, bunch.counterfactuals[end], bunch.counterfactuals_resolved[end]
            )
        )  # fmt: skip
        assert_frame_equal(moved[bunch.confounders], own[bunch.confounders])
        assert_frame_equal(
            resolved[bunch.confounders + bunch.resolving], own[bunch.confounders + bunch.resolving]
        )
        for name in bunch.proxies:
            assert not moved[name].equals(own[name])
            assert not resolved[name].equals(own[name])
        for name in bunch.resolving:
            assert not moved[name].equals(own[name])
        if bunch.resolving and variant != "resolving":
            assert not resolved["income"].equals(moved["income"])


# The graph and the roles


@ALWAYS
def test_parents_stand_before_their_children_and_roles_are_a_partition(bunches, variant):
    bunch = bunches[variant]
    assert list(bunch.graph) == bunch.order == [n for n in bunch.feature_names if n != "group"]
    for i, name in enumerate(bunch.order):
        assert set(bunch.graph[name]) <= {"group", *bunch.order[:i]}
    assert sorted(bunch.confounders + bunch.resolving + bunch.proxies) == sorted(bunch.order)
    assert bunch.mediators == [name for name in bunch.proxies if name != "distance"]


def test_columns_are_of_several_kinds(bunches):
    data = bunches["category"].data
    kinds = data.dtypes.astype(str)
    assert list(kinds[["hours", "rating", "income"]]) == ["float64"] * 3
    assert list(kinds[["age", "late_payments"]]) == ["int64"] * 2
    assert list(kinds[["group", "region", "district"]]) == ["category"] * 3
    assert data["income"].skew() > 0.8 > 0.2 > abs(data["rating"].skew())
    assert data["late_payments"].min() == 0


# Effects and flips


@ALWAYS
@pytest.mark.parametrize("table", ["path_effects", "column_effects"])
def test_effects_sum_to_the_total_change_of_the_score(variant, table):
    bunch = make_proxy_regression(500, variant=variant, direct=0.7, random_state=1)
    for start, end in pairs(bunch):
        effects = bunch[table].loc[(start, end)]
        assert list(effects.index) == [*bunch.order, "direct", "total"]
        assert effects.drop("total").sum() == pytest.approx(effects["total"], abs=1e-12)
        rows = bunch.sensitive == start
        before, after = (
            bunch.estimator.predict(X[rows]) for X in (bunch.data, bunch.counterfactuals[end])
        )
        direct = 0.0 if variant == "no path" else 0.7 * (STRENGTH[end] - STRENGTH[start])
        assert effects["direct"] == pytest.approx(direct)
        assert effects["total"] == pytest.approx((after - before).mean() + direct, abs=1e-12)


def test_paths_begin_at_the_group_and_columns_end_at_the_score(bunches):
    bunch = bunches["monotone"]
    paths, columns = (bunch[table].loc[("a", "b")] for table in ("path_effects", "column_effects"))
    for name in ("age", "region", "distance"):
        assert paths[name] == columns[name] == 0.0
    own = bunch.data[bunch.sensitive == "a"]
    moved = in_group_b(own)
    score = written_score(own)

    def change(**columns):
        return (written_score(own.assign(**columns)) - score).mean()

    assert columns["hours"] == pytest.approx(change(hours=moved["hours"]), rel=1e-9)
    two = change(hours=moved["hours"], rating=moved["rating"])
    assert columns["hours"] + columns["rating"] == pytest.approx(two, rel=1e-9)
    # Fewer hours lower the income, too, and a lower income delays payments: the path is stronger.
    lower = own["income"] * np.exp(0.03 * (moved["hours"] - own["hours"]))
    without_late = change(hours=moved["hours"], income=lower)
    assert paths["hours"] < without_late < columns["hours"] < 0
    # With `hours` kept the income falls less, so no more payments are late.
    kept = bunch.counterfactuals_resolved["b"].loc[own.index]
    into_late = bunch.counterfactuals["b"].loc[own.index, "late_payments"]
    assert (kept["late_payments"] <= into_late).all()


@ALWAYS
@pytest.mark.parametrize("make", MAKERS)
def test_flips_count_predictions_by_direction(make, variant):
    bunch = make(400, variant=variant, random_state=2)
    assert list(bunch.flips.index) == list(pairs(bunch))
    for start, end in pairs(bunch):
        rows = bunch.sensitive == start
        before, after = (
            bunch.estimator.predict(X[rows]) for X in (bunch.data, bunch.counterfactuals[end])
        )
        up, down = bunch.flips.loc[(start, end)]
        if make is make_proxy_classification:
            assert up == ((before == "no") & (after == "yes")).mean()
            assert down == ((before == "yes") & (after == "no")).mean()
        else:
            assert up == (after > before).mean()
            assert down == (after < before).mean()


# What is special about each variant


def test_monotone_maps_keep_ranks_and_non_monotone_ones_reverse_them(bunches):
    for variant, sign in (("monotone", 1), ("non-monotone", -1)):
        bunch = bunches[variant]
        # At one age, `rating` has one parent: the group.
        rows = (bunch.sensitive == "a") & (bunch.data["age"] == 40)
        own, moved = bunch.data[rows], bunch.counterfactuals["b"][rows]
        assert len(own) > 50
        assert rank_correlation(own["rating"], moved["rating"]) == pytest.approx(sign)
        assert rank_correlation(own["hours"], moved["hours"]) == pytest.approx(1)


def test_without_a_path_nothing_differs(bunches):
    bunch = bunches["no path"]
    for moved in bunch.counterfactuals.values():
        assert_frame_equal(moved[bunch.order], bunch.data[bunch.order])
    assert bunch.proxies == bunch.mediators == bunch.resolving == []
    assert not any("group" in parents for parents in bunch.graph.values())
    assert not bunch.flips.to_numpy().any()
    assert not bunch.path_effects.to_numpy().any()
    same = make_proxy_classification(8_000, variant="no path", direct=5.0, random_state=0)
    pd.testing.assert_series_equal(same.target, bunch.target)


def test_resolving_moves_hours_alone(bunches):
    bunch = bunches["resolving"]
    rest = [name for name in bunch.order if name != "hours"]
    for moved in bunch.counterfactuals.values():
        assert_frame_equal(moved[rest], bunch.data[rest])
    for resolved in bunch.counterfactuals_resolved.values():
        assert_frame_equal(resolved[bunch.order], bunch.data[bunch.order])
    assert (bunch.resolving, bunch.proxies) == (["hours"], [])
    assert bunch.flips.loc[("a", "b"), "down"] > 0.03


def test_a_category_moves_no_more_people_than_its_shares_force_to(bunches):
    bunch = bunches["category"]
    assert "district" in bunch.mediators
    rows = (bunch.sensitive == "a") & (bunch.data["age"] == 42)
    own, moved = (X.loc[rows, "district"] for X in (bunch.data, bunch.counterfactuals["b"]))
    shares = [X.value_counts(normalize=True) for X in (own, moved)]
    assert (own != moved).mean() == pytest.approx((shares[0] - shares[1]).abs().sum() / 2)
    assert (own != moved).mean() == pytest.approx(
        0.8 / (1 + np.exp(-0.5)) - 0.8 / (1 + np.exp(0.7)), abs=0.1
    )
    is_river = bunch.data["district"] == "River"
    assert is_river.equals(bunch.counterfactuals["b"]["district"] == "River")
    assert is_river.mean() == pytest.approx(0.2, abs=0.02)
    mixed = make_proxy_regression(300, variant="category", random_state=0)
    hill, river = (
        mixed.estimator.predict(mixed.data.assign(district=name)) for name in ("Hill", "River")
    )
    np.testing.assert_allclose(hill - river, 0.9)


def test_three_groups_lie_on_both_sides(bunches):
    bunch = bunches["three groups"]
    assert bunch.sensitive.value_counts(normalize=True).to_dict() == {"a": 0.5, "b": 0.3, "c": 0.2}
    means = bunch.data.groupby("group", observed=True)["rating"].mean()
    assert means["b"] < means["a"] < means["c"]
    assert len(bunch.flips) == len(bunch.path_effects) == 6
    there = {name: moved["rating"] for name, moved in bunch.counterfactuals.items()}
    z = 4 * (bunch.data["age"] - 42) / 13
    noise = (there["a"] - 60 - z) / 10
    np.testing.assert_allclose(there["c"], 60 + z + 4.8 + 11.2 * noise)


def test_thin_overlap_hardly_overlaps(bunches):
    for variant, least, most in (("monotone", 0.6, 0.85), ("thin overlap", 0.98, 0.9999)):
        data = bunches[variant].data
        for name in ("rating", "income"):
            assert least < roc_auc_score(data["group"] == "a", data[name]) < most


# The target, the estimator and the parameters


def test_the_estimator_is_the_written_score_and_does_not_see_the_group(bunches):
    bunch = bunches["monotone"]
    estimator, data = bunch.estimator, bunch.data
    score = written_score(data)
    np.testing.assert_allclose(estimator.decision_function(data), score, rtol=1e-9, atol=1e-9)
    proba = estimator.predict_proba(data[bunch.order])
    np.testing.assert_allclose(proba[:, 1], 1 / (1 + np.exp(-score)))
    np.testing.assert_array_equal(estimator.predict(data), np.where(score > 0, "yes", "no"))
    assert list(estimator.feature_names_in_) == bunch.order
    assert abs((bunch.target == "yes").mean() - proba[:, 1].mean()) < 0.02
    again = clone(pickle.loads(pickle.dumps(bunch)).estimator)
    np.testing.assert_array_equal(again.predict(data[:9]), estimator.predict(data[:9]))


def test_the_target_adds_the_direct_effect_and_noise():
    quiet = make_proxy_regression(200, direct=2.0, noise=0.0, random_state=3)
    expected = written_score(quiet.data) + 2.0 * (quiet.sensitive == "b")
    np.testing.assert_allclose(quiet.target, expected)
    loud = make_proxy_regression(5000, noise=2.0, random_state=3)
    assert np.std(loud.target - loud.estimator.predict(loud.data)) == pytest.approx(2.0, rel=0.05)


def test_the_attribute_can_lie_beside_the_table_or_in_it():
    bunch = make_proxy_classification(200, random_state=0)
    inside, beside = (
        audit(bunch.estimator, X, sensitive_features=groups, favourable="yes")
        for X, groups in (
            (bunch.data, bunch.sensitive_features), (bunch.data[bunch.order], bunch.sensitive)
        )
    )  # fmt: skip
    for report in (inside, beside):
        assert "The model does not take group. Changing it alone changes no answer." in " ".join(
            str(report).split()
        )


@pytest.mark.parametrize("make", MAKERS)
def test_the_same_seed_gives_the_same_data(make):
    one, two = make(50, random_state=7), make(50, random_state=np.random.default_rng(7))
    assert_frame_equal(one.data, two.data)
    pd.testing.assert_series_equal(one.target, two.target)
    for group, moved in one.counterfactuals.items():
        assert_frame_equal(moved, two.counterfactuals[group])
    assert not make(50, random_state=8).data.equals(one.data)


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"variant": "thin"}, "variant must be one of .*'thin overlap'.*got 'thin'"),
        ({"variant": ["monotone"]}, "variant must be one of"),
        ({"n_samples": 19}, "n_samples must be an integer of at least 20, got 19"),
        ({"n_samples": True}, "n_samples must be an integer"),
        ({"n_samples": 100.0}, "n_samples must be an integer"),
        ({"direct": np.inf}, "direct must be a finite number, got inf"),
        ({"direct": "a"}, "direct must be a finite number, got 'a'"),
        ({"random_state": -1}, "random_state must be None, an integer"),
    ],
)
def test_parameters_out_of_range_are_refused(make, parameters, message):
    with pytest.raises(ValueError, match=message):
        make(**parameters)


def test_negative_noise_is_refused():
    with pytest.raises(ValueError, match="noise must be a finite number of at least 0, got -1"):
        make_proxy_regression(noise=-1)


@ALWAYS
def test_the_smallest_table_has_all_groups(variant):
    bunch = make_proxy_classification(20, variant=variant, random_state=0)
    assert set(bunch.sensitive) == set(bunch.counterfactuals)
