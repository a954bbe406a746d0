"""Plans between groups: exact and entropic, rows outside samples, and POT that is missing."""

import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from planted_proxies import mixed, planted, with_proxies
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist
from scipy.stats import ks_2samp

from skfairtest import InputSpace
from skfairtest.space._numbers import Integer
from skfairtest.transports import OptimalTransport
from skfairtest.transports._optimal import ColumnPlan, GroupSample, Projection
from skfairtest.transports._ranks import RowRanks

needs_pot = pytest.mark.services("ot")


def test_without_pot_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "ot", None)
    X = pd.DataFrame({"v": [1.0, 2.0, 3.0, 4.0]})
    with pytest.raises(ImportError, match=r"pip install 'skfairtest\[transport\]'"):
        OptimalTransport().fit(X, [0, 0, 1, 1])


@needs_pot
def test_one_column_is_moved_by_its_ranks():
    X = pd.DataFrame({"income": [10.0, 20.0, 30.5, 20.0, 40.0, 60.5]})
    transport = OptimalTransport().fit(X, list("aaabbb"))
    assert transport.transport(X.iloc[:3], "a", to="b")["income"].tolist() == [20.0, 40.0, 60.5]


@needs_pot
@pytest.mark.parametrize("reg", [None, 0.02])
def test_columns_reach_the_other_group(reg):
    groups, X = mixed(1200, 0)
    moved = OptimalTransport(reg=reg).fit(X, groups).transport(X, groups)
    for own, other in (("f", "m"), ("m", "f")):
        for name in ("size", "points"):
            here, there = moved[name][groups == own], X[name][groups == other]
            assert ks_2samp(here, there).statistic < (0.1 if reg is None else 0.2)
            assert here.mean() == pytest.approx(there.mean(), abs=0.1)
        east = (moved["district"] == "east")[groups == own].mean()
        assert abs(east - (X["district"] == "east")[groups == other].mean()) < 0.03


@needs_pot
@pytest.mark.parametrize("reg", [None, 0.05])
def test_moved_rows_come_near_planted_twins(reg):
    groups, X, true = planted(1000, 0)
    moved = OptimalTransport(reg=reg).fit(X, groups).transport(X, groups)
    for name in ("age", "school", "hours", "pay"):
        assert (moved[name] - true[name]).abs().mean() / X[name].std() < 0.25, name


@needs_pot
@pytest.mark.parametrize("reg", [None, 0.05])
def test_what_no_row_of_the_group_had_stays(reg):
    rng = np.random.default_rng(0)
    groups = np.repeat(["a", "b"], 200)
    X = pd.DataFrame({"v": rng.normal(size=400) + (groups == "b")})
    X["kind"] = np.where(rng.random(400) < 0.3 + 0.4 * (groups == "b"), "x", "y")
    X["gaps"] = np.where((groups == "b") & (rng.random(400) < 0.3), np.nan, rng.normal(size=400))
    space = InputSpace(categories={"kind": ["x", "y", "z"]})
    transport = OptimalTransport(reg=reg, space=space).fit(X, groups)
    rows = X[groups == "a"].head(50).assign(kind="z", gaps=np.nan)
    moved = transport.transport(rows, "a", to="b")
    assert (moved["kind"] == "z").all() and moved["gaps"].isna().all()
    assert (moved["v"] > rows["v"]).all()


@needs_pot
def test_blur_is_taken_off_and_values_are_those_of_the_other_group():
    rng = np.random.default_rng(0)
    groups = np.repeat([0, 1], 500)
    X = pd.DataFrame(rng.normal(size=(1000, 5)), columns=list("vwxyz"))
    X["few"] = rng.poisson(1, 1000)
    own = X[groups == 0].reset_index(drop=True)
    exact, blurred = (
        OptimalTransport(reg=reg).fit(X, groups).transport(own, 0) for reg in (None, 0.2)
    )
    points = (X / X.std(ddof=0)).to_numpy()
    mates = linear_sum_assignment(cdist(points[groups == 0], points[groups == 1], "sqeuclidean"))[1]
    alone = X[groups == 1].iloc[mates].reset_index(drop=True)
    # The groups are alike, so that the rows had better stay.
    assert (blurred - own)["v"].abs().mean() < 0.5 * (alone - own)["v"].abs().mean()
    assert (exact - own)["v"].abs().mean() < 0.6 * (alone - own)["v"].abs().mean()
    for name in X:
        for moved in (exact, blurred):
            reached = ks_2samp(moved[name], X[name][groups == 1], method="asymp")
            assert reached.statistic < 0.03, name


@needs_pot
def test_new_rows_are_shifted_as_their_neighbours_are():
    rng = np.random.default_rng(0)
    groups = np.repeat([0, 1], 200)
    X = rng.normal(size=(400, 2))
    X[groups == 1] = X[groups == 0] + [3.0, -2.0]
    transport = OptimalTransport(reg=None).fit(X, groups)
    # Beyond the domain there is nothing to go to; these lie well inside.
    new = X[groups == 0][:50] * 0.5
    assert np.allclose(transport.transport(new, 0, to=1) - new, [3.0, -2.0])
    blurred = OptimalTransport().fit(X, groups).transport(new, 0, to=1)
    assert np.abs(blurred - new - [3.0, -2.0]).mean() < 0.1


def planned(means, wanted, *, rounds):
    """Rows of one number that a plan sends to these means, and what they become."""
    n = len(means)
    encoded, ones = np.column_stack([np.ones(n), np.arange(n)]), np.ones(n, dtype=int)
    present = np.tile([1.0, 0.0], (n, 1))
    there, here = Projection(np.asarray(means), present), Projection(np.ones(n), present)
    own = GroupSample(encoded, ones)
    other = GroupSample(np.asarray(wanted, dtype=float)[:, None], ones)
    column, ranks = Integer("n", 0, 9), RowRanks(encoded, 0)
    made = ColumnPlan(np.array([True, False]), there, here, rounds)
    made = made.ending(column, own, other, ranks, 0)
    return made.move(column, encoded[:, 0], np.arange(n), ranks, 0)


def test_an_exact_plan_orders_rows_of_one_number():
    moved = planned([2.4, 2.1, 2.3, 2.2], [2, 3, 4, 5], rounds=False)
    assert moved.tolist() == [5, 2, 4, 3]


def test_an_entropic_plan_does_not_order_rows_of_one_number():
    moved = planned(2 + np.arange(400) / 1e4, np.repeat([2, 3], 200), rounds=True)
    assert sorted(set(moved)) == [2, 3]
    for half in (moved[:200], moved[200:]):
        assert 70 < (half == 3).sum() < 130


@needs_pot
@pytest.mark.parametrize("reg", [None, 0.05])
def test_planted_counts_are_moved_nearly_as_their_ranks_allow(reg):
    bunch = with_proxies(3000, random_state=1)
    X, own = bunch.data.drop(columns="group"), bunch.sensitive == "a"
    moved = OptimalTransport(reg=reg).fit(X, bunch.sensitive).transport(X[own], "a", to="b")
    true = bunch.moved["b"][own]
    away = (moved["late_payments"] - true["late_payments"]).abs().mean()
    # The map of the equations, with rows of one number told apart by chance, has 0.2.
    assert away / X["late_payments"].std() < 0.26


@needs_pot
def test_samples_are_drawn_with_the_seed():
    groups, X, _ = planted(600, 0)
    moved = [
        OptimalTransport(max_rows=50, random_state=seed).fit(X, groups).transport(X, groups)
        for seed in (0, 0, 1)
    ]
    assert moved[0].equals(moved[1]) and not moved[0].equals(moved[2])


@needs_pot
def test_equal_rows_are_one_with_their_share():
    groups = np.repeat([0, 1], 30)
    X = pd.DataFrame({"v": np.where(groups == 0, np.arange(60) % 3, np.arange(60) % 3 + 10)})
    transport = OptimalTransport().fit(X, groups)
    assert [len(sample.encoded) for sample in transport.samples_] == [3, 3]
    assert transport.transport(X, groups)["v"][:3].tolist() == [10, 11, 12]


@needs_pot
def test_the_weight_says_what_a_category_costs():
    X = pd.DataFrame({"v": [0.0, 1.0, 0.1, 1.1], "kind": ["x", "y", "y", "x"]})
    groups = [0, 0, 1, 1]
    by_number = OptimalTransport(weight=0.0).fit(X, groups).transport(X, groups)
    by_kind = OptimalTransport(weight=100.0).fit(X, groups).transport(X, groups)
    assert by_number["v"][:2].tolist() == pytest.approx([0.1, 1.1])
    assert by_kind["kind"].tolist() == X["kind"].tolist()
    assert by_kind["v"][:2].tolist() == pytest.approx([1.1, 0.1])


@needs_pot
@pytest.mark.parametrize("reg", [0, -1.0, "much"])
def test_refused_regularization(reg):
    with pytest.raises(ValueError, match="reg must be a number in"):
        OptimalTransport(reg=reg).fit(pd.DataFrame({"v": [1.0, 2, 3, 4.5]}), [0, 0, 1, 1])


@needs_pot
@pytest.mark.parametrize("seed", range(3))
def test_heavy_tails_take_a_larger_regularization(seed):
    rng = np.random.default_rng(seed)
    groups = np.repeat(["a", "b"], 200)
    X = pd.DataFrame({"v": rng.normal(size=400), "t": rng.normal(size=400)})
    X["v"] += 2.0 * (groups == "b")
    X.loc[7, "t"] = 500.0  # beside which all other costs are next to nothing
    with pytest.warns(UserWarning, match="reg=0.05 is too small .* reg=0.[1-9]+ was taken"):
        moved = OptimalTransport().fit(X, groups).transport(X[:200], groups[:200], to="b")
    assert np.isfinite(moved.to_numpy()).all()
    assert abs(moved["v"].mean() - X["v"][200:].mean()) < 0.3
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        OptimalTransport(reg=None).fit(X, groups).transport(X[:200], groups[:200], to="b")


@needs_pot
def test_a_regularization_that_is_too_small_is_said():
    groups, X, _ = planted(300, 0)
    transport = OptimalTransport(reg=1e-6).fit(X, groups)
    with pytest.raises(ValueError, match="reg=1e-06 is too small"):
        transport.transport(X, groups)
