"""Ranks within groups: what is reached, and that no more than needed is moved."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from planted_proxies import mixed
from scipy.stats import ks_2samp

from skfairtest.transports import QuantileTransport
from skfairtest.transports import _couplings as couplings
from skfairtest.transports._couplings import MonotoneMap, Quantiles, recategorized


def shares(column, names):
    return column.value_counts(normalize=True).reindex(names, fill_value=0.0)


def variation(one, other):
    names = sorted(set(one) | set(other))
    return float((shares(one, names) - shares(other, names)).abs().sum() / 2)


@pytest.fixture(scope="module")
def moved():
    groups, X = mixed(3000, 1)
    return groups, X, QuantileTransport().fit(X, groups).transport(X, groups)


@pytest.mark.parametrize("own, other", [("f", "m"), ("m", "f")])
def test_every_column_reaches_the_other_group(moved, own, other):
    groups, X, M = moved
    for name in ("size", "points", "grade"):
        assert ks_2samp(M[name][groups == own], X[name][groups == other]).statistic < 0.03
    for name in ("district", "color_0", "color_1"):
        assert variation(M[name][groups == own], X[name][groups == other]) < 0.03


def test_as_few_categories_as_possible_change():
    """Equal rows share their rank, so each row has a number that tells it from the others."""
    groups, X = mixed(20_000, 2)
    M = QuantileTransport(keep=["size"]).fit(X, groups).transport(X, groups)
    own, other = groups == "f", groups == "m"
    changed = (M["district"] != X["district"])[own].mean()
    assert changed == pytest.approx(variation(X["district"][own], X["district"][other]), abs=0.015)


def test_ranks_within_by(moved):
    groups, X, _ = moved
    income = X["size"] + 10 * (X["district"] == "east")
    X = pd.DataFrame({"district": X["district"], "income": income})
    M = QuantileTransport(by=["district"]).fit(X, groups).transport(X, groups)
    assert M["district"].tolist() == X["district"].tolist()
    for name in ("east", "west", "north"):
        here = (X["district"] == name).to_numpy()
        reached = M["income"][here & (groups == "f")]
        assert ks_2samp(reached, X["income"][here & (groups == "m")]).statistic < 0.05


def test_cells_of_by_with_few_rows_take_the_ranks_of_all():
    rng = np.random.default_rng(0)
    groups = np.repeat(["a", "b"], 200)
    place = np.where(np.arange(400) % 50 == 0, "seldom", "often")
    X = pd.DataFrame({"place": place, "v": rng.normal(size=400) + 3 * (groups == "b")})
    M = QuantileTransport(by=["place"]).fit(X, groups).transport(X, groups)
    few = (place == "seldom") & (groups == "a")
    plain = QuantileTransport(keep=["place"]).fit(X, groups).transport(X, groups)
    assert np.array_equal(M["v"][few], plain["v"][few])


def test_by_and_keep_may_not_name_all_columns(moved):
    groups, X, _ = moved
    with pytest.raises(ValueError, match="keep= and by= name all columns"):
        QuantileTransport(by=["size"], keep=list(X)[1:]).fit(X, groups)


def test_names_of_people_take_no_matrix_of_all_pairs():
    names = [f"person {k}" for k in range(20_000)]
    X = pd.DataFrame({"name": names, "v": np.arange(20_000.0)})
    groups = np.arange(20_000) % 2
    with pytest.warns(UserWarning, match="name"):
        transport = QuantileTransport().fit(X, groups)
    M = transport.transport(X, groups)
    assert set(M["name"][groups == 0]) <= set(X["name"][groups == 1])


numbers = st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=60, unique=True)
equal = st.lists(st.sampled_from([0.0, 1.0, 2.5, 7.0]), min_size=1, max_size=30)


@given(numbers, st.one_of(numbers, equal))
@example([0.0, 2.2e-309], [0.0, 1.0])
def test_curves_never_fall_and_are_the_ranks_taken_to_the_other_group(own, other):
    mine = Quantiles.learn(np.array(own), False)
    theirs = Quantiles.learn(np.array(other), False)
    curve = MonotoneMap.between(mine, theirs)
    some = np.unique(np.concatenate([own, np.linspace(min(own) - 1, max(own) + 1, 300)]))
    reached = curve.at(some)
    assert (np.diff(reached) >= 0).all()
    assert reached.min() >= theirs.values[0] and reached.max() <= theirs.values[-1]
    exact = theirs.at(mine.ranks(np.sort(own), np.zeros(len(own))))
    wide = np.diff(np.sort(own)).min() > 1e-6 * np.ptp(own)
    if wide:
        assert np.allclose(curve.at(np.sort(own)), exact, rtol=1e-6, atol=1e-6 * np.ptp(other))


def test_curves_find_the_same_points_by_cells_and_by_halving():
    rng = np.random.default_rng(0)
    mine = Quantiles.learn(rng.normal(size=20_000), False)
    curve = MonotoneMap.between(mine, Quantiles.learn(rng.gamma(2, size=20_000), False))
    assert len(curve.cells)
    x = np.concatenate([rng.normal(size=5000), curve.x, np.nextafter(curve.x, -np.inf)])
    halved = curve._replace(cells=curve.cells[:0])
    assert np.array_equal(curve.at(x), halved.at(x))


@given(st.integers(0, 10_000), st.booleans())
def test_recategorized_reaches_the_shares_with_least_change(seed, by_row):
    rng = np.random.default_rng(seed)
    n, k = 4000, 4
    own = rng.dirichlet(np.ones(k)) * (rng.random(k) > 0.2)
    own = own / own.sum() if own.sum() > 0 else np.eye(k)[0]
    other = rng.dirichlet(np.ones(k))
    here = rng.choice(k, n, p=own)
    given_shares = [np.tile(p, (n, 1)) if by_row else p for p in (own, other)]
    there = recategorized(*given_shares, here, rng.random(n))
    assert np.abs(np.bincount(there, minlength=k) / n - other).max() < 0.05
    assert abs((there != here).mean() - np.abs(own - other).sum() / 2) < 0.05
    # A category that the own group was not seen with, in a new row.
    new = np.full(5, int(np.argmin(own)))
    shares = [p[:5] if by_row else p for p in given_shares]
    assert recategorized(*shares, new, np.linspace(0, 0.99, 5)).max() < k


def test_places_are_those_of_halving_to_the_last_bit(monkeypatch):
    monkeypatch.setattr(couplings, "SETTINGS", couplings.SETTINGS._replace(n_to_look_up=1))
    rng = np.random.default_rng(0)
    for k in range(40):
        n = int(rng.integers(1, 2000))
        some = [rng.normal(size=n), rng.random(n) * 1e-300, np.round(50 * rng.normal(size=n)),
                rng.exponential(size=n) ** 6]  # fmt: skip
        values = np.unique(some[k % 4])
        known = rng.choice(values, 300)
        numbers = np.concatenate(
            [known, np.nextafter(known, np.inf), np.nextafter(known, -np.inf),
             rng.uniform(values[0] - 1, values[-1] + 1, 300), [-np.inf, np.inf]]
        )  # fmt: skip
        assert_array_equal(couplings._places(values, numbers), np.searchsorted(values, numbers))
