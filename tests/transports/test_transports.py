"""What all transports promise: seeds, columns that stay, kinds of tables, files, errors."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from light_skops import skops
from numpy.testing import assert_array_equal
from pandas.testing import assert_frame_equal
from planted_proxies import mixed
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, LogisticRegression

from skfairtest import InputSpace, Order
from skfairtest.exceptions import ConstraintWarning
from skfairtest.io import TRUSTED_TYPES
from skfairtest.transports import OptimalTransport, QuantileTransport, SequentialTransport


def quantile(**params):
    return QuantileTransport(**params)


def sequential(**params):
    models = {"regressor": LinearRegression(), "classifier": LogisticRegression()}
    return SequentialTransport(**models, **params)


def optimal(**params):
    return OptimalTransport(max_rows=300, **params)


ALL = [quantile, sequential, pytest.param(optimal, marks=pytest.mark.services("ot"))]
every_transport = pytest.mark.parametrize("make", ALL)


@pytest.fixture(scope="module")
def table():
    return mixed(600, 0)


@every_transport
def test_a_row_moves_alike_in_every_table(make, table):
    groups, X = table
    transport = make().fit(X, groups)
    moved = transport.transport(X, groups)
    some = np.random.default_rng(1).permutation(len(X))[:50]
    again = transport.transport(X.iloc[some], groups[some])
    assert_frame_equal(
        again.reset_index(drop=True), moved.iloc[some].reset_index(drop=True), rtol=1e-9
    )


@every_transport
def test_equal_seeds_give_equal_rows_and_others_do_not(make, table):
    groups, X = table
    one, two, other = (
        make(random_state=seed).fit(X, groups).transport(X, groups) for seed in (3, 3, 4)
    )
    assert_frame_equal(one, two)
    assert not one.equals(other)


@every_transport
def test_kept_columns_stay_and_the_others_do_not(make, table):
    groups, X = table
    moved = make(keep=["size", "color_1"]).fit(X, groups).transport(X, groups)
    stay = ["size", "color_0", "color_1", "color_2"]
    assert_frame_equal(moved[stay].reset_index(drop=True), X[stay])
    for name in ("points", "grade", "district", "gap"):
        assert not moved[name].equals(X[name]), name


@every_transport
def test_one_hot_groups_stay_one_hot_and_steps_are_kept(make, table):
    groups, X = table
    moved = make().fit(X, groups).transport(X, groups)
    assert (moved[["color_0", "color_1", "color_2"]].sum(axis=1) == 1).all()
    assert moved["points"].dtype == X["points"].dtype
    assert moved["points"].min() >= X["points"].min()
    assert moved["points"].max() <= X["points"].max()
    assert np.isin(moved["grade"], X["grade"]).mean() > 0.99
    assert_array_equal(moved["grade"], moved["grade"].round(1))
    assert set(moved["district"]) <= set(X["district"])


@every_transport
def test_a_row_moved_to_its_own_group_stays(make, table):
    groups, X = table
    moved = make().fit(X, groups).transport(X, groups, to=groups)
    assert_frame_equal(moved.reset_index(drop=True), X)


@every_transport
def test_missing_values_reach_the_share_of_the_other_group(make, table):
    groups, X = table
    moved = make().fit(X, groups).transport(X, groups)
    for own, other in (("f", "m"), ("m", "f")):
        reached = moved["gap"][groups == own].isna().mean()
        assert abs(reached - X["gap"][groups == other].isna().mean()) < 0.07


@pytest.mark.parametrize("make", [quantile, sequential])
def test_what_no_row_had_in_fit_stays(make):
    rng = np.random.default_rng(0)
    groups = np.repeat(["a", "b"], 50)
    X = pd.DataFrame({
        "number": rng.normal(size=100) + (groups == "b"), "job": rng.choice(["p", "q"], 100),
    })  # fmt: skip
    space = InputSpace(categories={"job": ["p", "q", "r"]})
    transport = make(space=space).fit(X, groups)
    rows = X.iloc[:4].copy()
    rows.loc[0, "number"], rows.loc[1, "job"] = np.nan, "r"
    moved = transport.transport(rows, "a", to="b")
    assert moved["number"].isna().tolist() == [True, False, False, False]
    assert moved.loc[1, "job"] == "r" and not (moved["job"].drop(1) == "r").any()
    # So it is where a column is moved given another one.
    if make is sequential:
        moved = make(space=space, order=["job", "number"]).fit(X, groups).transport(rows, "a")
        assert moved["number"].isna().tolist() == [True, False, False, False]
        assert moved.loc[1, "job"] == "r"


@every_transport
def test_of_several_groups_the_target_is_named(make, table):
    _, X = table
    groups = np.arange(len(X)) % 3
    X = X.assign(size=X["size"] + 5 * groups)
    transport = make().fit(X, groups)
    with pytest.raises(ValueError, match="to= must say where rows are moved"):
        transport.transport(X, groups)
    moved = transport.transport(X[groups == 0], 0, to=2)
    assert abs(moved["size"].mean() - X["size"][groups == 2].mean()) < 0.5
    with pytest.raises(ValueError, match="groups that were not in fit: \\[7\\]"):
        transport.transport(X, groups, to=7)


@every_transport
def test_arrays_and_polars_frames_come_back_as_such(make, table):
    groups, X = table
    numbers = X[["size", "points", "grade"]]
    by_frame = make().fit(numbers, groups).transport(numbers, groups)
    array = numbers.to_numpy()
    moved = make().fit(array, groups).transport(array, groups)
    assert isinstance(moved, np.ndarray) and moved.shape == array.shape
    assert_array_equal(moved[:, 0], by_frame["size"])
    frame = pl.DataFrame(numbers.to_dict("list"))
    moved = make().fit(frame, groups).transport(frame, groups)
    assert isinstance(moved, pl.DataFrame)
    assert_array_equal(moved["size"].to_numpy(), by_frame["size"])


@every_transport
def test_broken_constraints_are_counted(make, table):
    groups, _ = table
    rng = np.random.default_rng(0)
    low = rng.uniform(0, 1, len(groups)) + (groups == "m")
    X = pd.DataFrame({"low": low, "high": low + rng.uniform(0, 1, len(low))})
    space = InputSpace(constraint=Order("low", "<=", "high"))
    transport = make(space=space, keep=["high"]).fit(X, groups)
    with pytest.warns(ConstraintWarning, match="moved rows break the constraint") as caught:
        moved = transport.transport(X, groups)
    broken = int((moved["low"] > moved["high"]).sum())
    assert broken > 0
    assert str(caught[0].message).startswith(f"{broken} of {len(X)} moved rows")


@every_transport
def test_clones_and_parameters(make, table):
    transport = make(keep=["size"], random_state=5)
    copy = clone(transport)
    assert copy.get_params()["keep"] == ["size"] and copy.random_state == 5
    assert not hasattr(clone(transport.fit(table[1], table[0])), "maps_")
    assert "keep=['size']" in repr(transport)


@every_transport
def test_files_hold_transports_and_only_our_own_types(make, table):
    groups, X = table
    transport = make().fit(X, groups)
    moved = transport.transport(X, groups)
    data = skops.io.dumps(transport)
    models = [LinearRegression(), LogisticRegression()]
    trusted = [*TRUSTED_TYPES, *skops.io.get_untrusted_types(data=skops.io.dumps(models))]
    again = skops.io.loads(data, trusted=trusted)
    assert_frame_equal(again.transport(X, groups), moved)


@every_transport
def test_refused_groups_and_columns(make, table):
    groups, X = table
    with pytest.raises(ValueError, match="two groups or more"):
        make().fit(X, np.zeros(len(X)))
    with pytest.raises(ValueError, match="'x' has 1 row"):
        make().fit(X, np.where(np.arange(len(X)) == 3, "x", groups))
    gaps = np.where(np.arange(len(X)) == 3, None, groups)
    with pytest.raises(ValueError, match="missing labels in 1 of .* row 3"):
        make().fit(X, gaps)
    with pytest.raises(ValueError, match="one label for each of 600 rows"):
        make().fit(X, groups[:5])
    with pytest.raises(ValueError, match="keep= names all columns"):
        make(keep=list(X)).fit(X, groups)
    with pytest.raises(ValueError, match="^keep= names 'nowhere'"):
        make(keep=["nowhere"]).fit(X, groups)
    with pytest.raises(ValueError, match="random_state"):
        make(random_state=-1).fit(X, groups)


@every_transport
def test_constant_columns_and_groups_without_overlap(make):
    rng = np.random.default_rng(0)
    groups = np.repeat([0, 1], 100)
    X = pd.DataFrame(
        {
            "flat": np.where(groups == 0, 2.0, rng.normal(size=200)),
            "far": rng.uniform(0, 1, 200) + 100 * groups,
            "only": np.where(groups == 0, rng.choice(["a", "b"], 200), rng.choice(["b", "c"], 200)),
        }
    )
    with pytest.warns(UserWarning) as caught:
        moved = make().fit(X, groups).transport(X, groups)
    (warning,) = caught
    assert str(warning.message).startswith(
        "Column 'flat' has a single value in all 100 rows of group 0, and several values in another"
    )
    to_flat = moved["flat"][groups == 1]
    assert np.allclose(to_flat, 2.0)
    assert moved["far"][groups == 0].between(99, 102).all()
    assert moved["far"][groups == 1].between(-1, 2).all()
    assert set(moved["only"][groups == 0]) <= {"b", "c"}
    assert set(moved["only"][groups == 1]) <= {"a", "b"}


@every_transport
def test_a_column_that_is_the_same_in_each_group_is_not_warned_of(make):
    rng = np.random.default_rng(0)
    groups = np.repeat([0, 1], 100)
    X = pd.DataFrame({"flat": 2.0, "gone": np.nan, "own": 3.0 * groups, "v": rng.normal(size=200)})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        make(keep=["gone"]).fit(X, groups)
    X.loc[groups == 1, "gone"] = rng.normal(size=100)
    with pytest.warns(UserWarning, match="Column 'gone' has a single value in all 100 rows of"):
        make().fit(X, groups)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        make(keep=["gone"]).fit(X, groups)


@every_transport
def test_numbers_beyond_the_domain_are_no_missing_values(make):
    rng = np.random.default_rng(0)
    groups = np.repeat([0, 1], 100)
    X = pd.DataFrame({"v": rng.normal(size=200) + groups, "w": rng.normal(size=200)})
    X.loc[::10, "v"] = np.nan
    transport = make().fit(X, groups)
    far = pd.DataFrame({"v": np.full(20, 50.0), "w": np.linspace(-1, 1, 20)})
    # A tenth of both groups lacks the number, so that hardly any present one goes missing.
    assert transport.transport(far, 0, to=1)["v"].notna().mean() > 0.7


@every_transport
def test_one_column_may_be_named_without_a_list(make, table):
    groups, X = table
    alone = make(keep="size").fit(X, groups)
    assert_array_equal(alone.moving_, make(keep=["size"]).fit(X, groups).moving_)
    with pytest.raises(ValueError, match="^keep= must be a column or a list of columns"):
        make(keep=None).fit(X, groups)


@every_transport
def test_groups_may_be_words_and_numbers(make, table):
    groups, X = table
    mixed_labels = np.array([1 if one == "f" else "m" for one in groups], dtype=object)
    transport = make().fit(X, mixed_labels)
    assert transport.groups_.tolist() == [1, "m"]
    assert_frame_equal(
        transport.transport(X, mixed_labels), make().fit(X, groups).transport(X, groups)
    )


@every_transport
def test_groups_of_another_index_are_refused(make, table):
    groups, X = table
    turned = pd.Series(groups, index=X.index[::-1])
    with pytest.raises(ValueError, match=r"^groups has another index than X \(in another order\)"):
        make().fit(X, turned)
    transport = make().fit(X, pd.Series(groups, index=X.index))
    with pytest.raises(ValueError, match="^groups has another index than X"):
        transport.transport(X, turned)
    with pytest.raises(ValueError, match="^to has another index than X"):
        transport.transport(X, groups, to=turned)


@every_transport
def test_infinite_numbers_and_what_is_no_space_are_refused(make, table):
    groups, X = table
    with pytest.raises(TypeError, match="^space must be an InputSpace or None; got 'x'"):
        make(space="x").fit(X, groups)
    far = X.assign(size=np.where(np.arange(len(X)) == 3, np.inf, X["size"]))
    with pytest.raises(ValueError, match="Column 'size' contains infinity"):
        make().fit(X, groups).transport(far, groups)


@every_transport
def test_a_seed_may_be_any_whole_number(make, table):
    groups, X = table
    assert len(make(random_state=2**70).fit(X, groups).transport(X, groups)) == len(X)
