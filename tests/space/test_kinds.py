"""Tests of the kinds of columns: what is promised of all, and of one that is defined here."""

from __future__ import annotations

import builtins
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression
from tiers import slow_sample

from skfairtest import InputSpace, Is, Order, RandomAuditor, SBFTAuditor
from skfairtest.exact._constrained import narrowed
from skfairtest.exceptions import ConstraintWarning
from skfairtest.space import _kinds, _one_hot
from skfairtest.space._layout import Layout
from skfairtest.space._numbers import Numbers, finished
from skfairtest.space._summarize import summarize

N = 200


class Doublings(Numbers):
    """Sizes of memory: 1, 2, 4, 8, ...; codes are the exponents."""

    kind = "integer"
    whole = True

    @classmethod
    def learn(cls, facts):
        if not facts.is_number or len(facts.summary.distinct) < 4:
            return None
        exponents = np.log2(np.maximum(facts.ends, 0.5))
        seen = np.log2(np.maximum(facts.summary.distinct, 0.5))
        if (exponents < 0).any() or (seen != np.rint(seen)).any():
            return None
        return finished(cls(facts.name, *exponents), facts)

    @property
    def is_plain(self):
        return False

    def _encode(self, numbers):
        return np.log2(numbers)

    def _values(self, encoded):
        return np.exp2(encoded)

    def place(self, numbers):
        return np.log2(np.maximum(numbers, 0.5))

    def slope(self, encoded):
        return np.exp2(encoded)

    def operations(self):
        return None

    def in_words(self):
        return f"powers of two from {self.ends[0]:.0f} to {self.ends[1]:.0f}"


KINDS = {
    "a kind of one's own": lambda rng: 2.0 ** rng.integers(0, 9, N),
    "its integers": lambda rng: 2 ** rng.integers(0, 9, N),
    "it with missing values": lambda rng: np.where(
        rng.random(N) < 0.2, np.nan, 2.0 ** rng.integers(0, 9, N)
    ),
    "categories": lambda rng: rng.choice(list("abcd"), N),
    "categories and none": lambda rng: pd.Series(rng.choice(["a", "b", None], N), dtype=object),
    "integers": lambda rng: rng.integers(3, 70, N),
    "integers with missing values": lambda rng: np.where(
        rng.random(N) < 0.2, np.nan, rng.integers(3, 70, N)
    ),
    "steps": lambda rng: rng.integers(10, 90, N) / 10,
    "steps with missing values": lambda rng: np.where(
        rng.random(N) < 0.2, np.nan, rng.integers(10, 90, N) / 10
    ),
    "amounts": lambda rng: rng.choice([0, 0, 0, 15024, 7688, 3103], N),
    "few fractions": lambda rng: rng.choice([-0.9, 1.1, np.nan], N),
    "dates": lambda rng: pd.Timestamp("2020-01-01") + pd.to_timedelta(
        rng.integers(0, 90, N), unit="D"
    ),
    "real numbers": lambda rng: rng.normal(size=N),
    "real numbers with missing values": lambda rng: np.where(
        rng.random(N) < 0.2, np.nan, rng.normal(size=N)
    ),
}  # fmt: skip


@pytest.fixture(autouse=True)
def known(monkeypatch):
    monkeypatch.setattr(_kinds, "KINDS", [Doublings, *_kinds.KINDS])


@pytest.fixture(params=KINDS)
def case(request):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"sex": rng.integers(0, 2, N), "v": KINDS[request.param](rng)})
    space = InputSpace().fit(X, ["sex"])
    assert isinstance(space.domain.columns[1], Doublings) == (list(KINDS).index(request.param) < 3)
    return X, space


class Asked:
    """A regressor that can take anything, and keeps what it was asked about."""

    _estimator_type = "regressor"

    def __init__(self):
        self.rows = []

    def predict(self, X):
        self.rows.append(X.copy())
        return np.array([len(str(value)) for value in X["v"]]) * X["sex"].to_numpy()


# What is promised of every kind -------------------------------------------------------------------


def test_values_become_codes_and_the_same_values_again(case):
    X, space = case
    pd.testing.assert_frame_equal(space.decode(space.data), X, check_exact=True)
    np.testing.assert_array_equal(space.encode(X), space.data)
    assert pickle.dumps(pickle.loads(pickle.dumps(space.domain.columns))) == pickle.dumps(
        space.domain.columns
    )


def test_chunks_and_a_table_are_described_alike(case):
    X, space = case
    chunks = InputSpace().fit([X[:30], X[30:31], X[31:]], ["sex"])
    assert type(chunks.domain.columns[1]) is type(space.domain.columns[1])
    np.testing.assert_array_equal(chunks.data, space.data)
    pd.testing.assert_frame_equal(chunks.describe(), space.describe())


def test_draws_clips_and_steps_are_in_the_domain(case):
    X, space = case
    rng = np.random.default_rng(1)
    Z = space.domain.draw(300, rng)
    far = space.domain.clip(Z + rng.normal(0, 1e6, Z.shape))
    steps = space.domain.neighbours(Z, space.non_sensitive).reshape(-1, 2)
    for encoded in (Z, far, steps, space.domain.move_inside(space.data, rng)):
        assert space.contains(encoded).all()
        np.testing.assert_array_equal(space.encode(space.decode(encoded)), encoded)
    column = space.domain.columns[1]
    if column.n_values < 1000:
        drawn = space.decode(space.domain.draw(20_000, rng))["v"]
        assert set(drawn.dropna()) <= set(pd.Series(column.shown(column.grid())).dropna())
        assert drawn.nunique(dropna=False) == column.n_values


def test_a_search_and_an_audit_of_rows_ask_about_values_of_the_domain(case):
    X, space = case
    model = Asked()
    auditor = SBFTAuditor(model, space=space, max_queries=400, random_state=0).fit(X)
    asked = pd.concat(model.rows)
    assert space.contains(space.encode(asked)).all()
    assert auditor.on_data_degree_ > 0
    model.rows = []
    auditor.audit_rows(X)
    told = [str(value) for value in pd.concat(model.rows)["v"].unique()]
    assert set(told) == {str(value) for value in X["v"].unique()}


def test_the_domain_is_told_in_words(case):
    _, space = case
    column = space.domain.columns[1]
    row = space.describe().iloc[1]
    assert row["domain"] == column.in_words() and row["kind"]
    assert space.kinds[1] in ("categorical", "integer", "real")
    assert len(column.plain_values(space.data[:3, 1])) == 3


def test_constraints_know_the_numbers_of_every_kind(case):
    X, space = case
    column = space.domain.columns[1]
    if not column.is_numeric() or column.dates is not None:
        return
    middle = float(X["v"].median())
    bounded = InputSpace(constraint=Is("v", (None, middle))).fit(X, ["sex"])
    rng = np.random.default_rng(0)
    Z = bounded.sample(200, rng)
    values = bounded.decode(Z)["v"]
    assert ((values <= middle) | values.isna()).all()
    moved = bounded.feasibility.repair(bounded.domain.draw(200, rng), rng)
    assert bounded.valid(moved).all()


def test_a_kind_of_ones_own_is_told_and_constrained_by_its_values():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"sex": rng.integers(0, 2, N), "has": 2.0 ** rng.integers(0, 9, N)})
    X["wants"] = X["has"] * 2.0 ** rng.integers(0, 2, N)
    space = InputSpace(constraint=Order("has", "<=", "wants")).fit(X, ["sex"])
    assert space.describe()["domain"].tolist()[1:] == [
        "powers of two from 1 to 256", "powers of two from 1 to 512"
    ]  # fmt: skip
    rows = space.decode(space.sample(300, rng))
    assert (rows["has"] <= rows["wants"]).all() and rows["has"].nunique() == 9
    with pytest.warns(ConstraintWarning, match="rows of X break"):
        InputSpace(constraint=Order("wants", "<=", "has")).fit(X, ["sex"])


# Scales stay as they were learned -----------------------------------------------------------------


def off_grid_tables():
    rng = np.random.default_rng(0)
    columns = {"tenths": rng.integers(0, 100, 500) / 10,
               "amounts": rng.choice([1.5, 2.25, 10.0, 99.5, 250.0], 500)}  # fmt: skip
    X = pd.DataFrame({"sex": rng.integers(0, 2, 500), **columns})
    later = pd.DataFrame({"sex": rng.integers(0, 2, 2000), "tenths": rng.uniform(0, 10, 2000),
                          "amounts": rng.uniform(0, 300, 2000)})  # fmt: skip
    return X, later


def test_what_a_space_reads_leaves_no_trace():
    X, later = off_grid_tables()
    space = InputSpace().fit(X, ["sex"])
    before = pickle.dumps(space)
    pure = space.encode(later)
    np.testing.assert_array_equal(pure, space.encode(later))
    np.testing.assert_allclose(space.decode(pure), later, rtol=1e-9)
    other = space.with_data(later)
    pd.testing.assert_frame_equal(other.rows(), later, check_exact=True)
    some = np.array([7, 3])
    pd.testing.assert_frame_equal(other.rows(some), later.iloc[some].reset_index(drop=True))
    assert pickle.dumps(space) == before
    # The next table is read without the numbers of the one before.
    again = other.with_data(X)
    assert len(pickle.dumps(again)) <= len(pickle.dumps(space)) + 100


@pytest.mark.parametrize("constraint", [None, Is("sex", [0, 1])])
def test_audits_of_rows_ask_about_the_very_same_numbers(constraint):
    X, later = off_grid_tables()
    model = Asked()
    model.predict = lambda T: model.rows.append(T.copy()) or T["tenths"] * T["sex"]
    auditor = RandomAuditor(
        model,
        sensitive_features=["sex"],
        threshold=1,
        max_queries=300,
        random_state=0,
        space=InputSpace(constraint=constraint),
    ).fit(X)
    before = len(pickle.dumps(auditor.space_))
    for rows in (later, [later[:700], later[700:]]):
        model.rows = []
        found = auditor.audit_rows(rows)
        for name in ("tenths", "amounts"):
            # First the worst pair of the search: that the model is the one that was audited.
            asked = np.concatenate([table[name] for table in model.rows[1:]])
            assert set(asked) == set(later[name])
            assert set(found.discriminatory[name]) <= set(later[name])
        assert found.degree == later["tenths"].max()
    assert len(pickle.dumps(auditor.space_)) == before


def test_results_on_data_are_the_very_same_rows():
    X, later = off_grid_tables()
    X = pd.concat([X, later]).reset_index(drop=True)
    space = InputSpace(steps={"tenths": 0.1})
    settings = {"sensitive_features": ["sex"], "space": space, "threshold": 1,
                "max_queries": 300, "random_state": 0}  # fmt: skip
    model = LinearRegression().fit(X, X["sex"] * 3.0 + X["tenths"])
    for rows in (X, [X[:700], X[700:]]):
        auditor = RandomAuditor(model, **settings).fit(rows if isinstance(rows, list) else X)
        assert set(auditor.on_data_discriminatory_["tenths"]) == set(X["tenths"])


@slow_sample
def test_a_function_of_twins_in_threads_finds_what_it_finds_alone():
    X, _ = off_grid_tables()
    X["w"] = np.random.default_rng(1).integers(0, 50, len(X))

    def given(T):
        T = T.copy()
        T["amounts"] = np.where(T["sex"] == 1, 1.5 + T["w"] * np.pi, T["amounts"])
        return T

    model = LinearRegression().fit(X, X["amounts"] + 3 * X["sex"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        auditor = RandomAuditor(
            model,
            sensitive_features=["sex"],
            max_queries=4000,
            random_state=0,
            space=InputSpace(twins=given),
        ).fit(X)
    found = auditor.counterfactuals_[auditor.counterfactuals_["sex"] == 1]
    np.testing.assert_allclose(found["amounts"], 1.5 + found["w"] * np.pi, rtol=1e-12)


def test_a_part_of_a_list_of_amounts_is_drawn_whole():
    """Amounts are numbered from the first of the list, also in a domain that begins later."""
    rng = np.random.default_rng(0)
    gain = rng.choice([0, 10, 500, 7688, 15024, 50000, 70000, 90000], 2000)
    X = pd.DataFrame({"sex": rng.integers(0, 2, 2000), "gain": gain})
    space = InputSpace(constraint=Is("gain", (500, None))).fit(X, ["sex"])
    low, high = space.domain.low.copy(), space.domain.high.copy()
    low[1], high[1] = 4, 6
    part = narrowed(space, low, high)
    assert set(part.feasibility.draw(200, rng)[:, 1]) == {4, 5, 6}


# One way to learn -------------------------------------------------------------------------------


def test_a_summary_in_pieces_is_that_of_the_whole():
    rng = np.random.default_rng(0)
    for values in (rng.integers(0, 9, 300) / 4, rng.normal(size=300),
                   np.array([None, "a", "b", True] * 25, dtype=object)):  # fmt: skip
        whole = summarize("v", values)
        assert len(whole.distinct) == len(whole.counts)
        assert whole.n_present == int((~pd.isna(values)).sum())


def test_a_hundred_columns_of_chunks_are_kept_as_arithmetic():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(0, 40, (200, 100)) / 10).rename(columns=str)
    layout = InputSpace().fit(X, ["0"]).layout
    assert isinstance(layout, Layout) and len(layout._fractions[0]) == 100


def test_the_work_of_finding_groups_grows_like_the_columns(monkeypatch):
    """How often columns are looked at, in all tests of a prefix and in naming what was found."""
    looked = []

    def counted(function):
        def wrapped(values=(), *args, **kwargs):
            values = list(values)
            looked.append(len(values))
            return function(values, *args, **kwargs)

        return wrapped

    for name in ("set", "max", "sorted"):
        monkeypatch.setattr(_one_hot, name, counted(getattr(builtins, name)), raising=False)

    def work(n_groups):
        looked.clear()
        rng = np.random.default_rng(0)
        names, values = [], []
        for i in range(n_groups):
            drawn = rng.integers(0, 5, 300)
            names += [f"q_{i}_{j}" for j in range(5)]
            values += [(drawn == j).astype(float) for j in range(5)]
        found = _one_hot.find_groups(names, values, set())
        assert found == {f"q_{i}": list(range(5 * i, 5 * i + 5)) for i in range(n_groups)}
        return sum(looked)

    assert work(80) <= 5 * work(20)
