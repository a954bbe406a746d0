"""Twins that a transport moves: searches and audits of rows compare rows with where they go."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline

from skfairtest import (
    ADFAuditor,
    AequitasAuditor,
    InputSpace,
    RandomAuditor,
    SBFTAuditor,
    SurrogateAuditor,
    ThemisAuditor,
)
from skfairtest.exceptions import NoDisparityWarning
from skfairtest.oracle._oracle import Oracle
from skfairtest.space._chunks import as_chunks
from skfairtest.transports import QuantileTransport


def table(n=300, seed=0, groups=("f", "m")):
    rng = np.random.default_rng(seed)
    sex = rng.choice(list(groups), size=n)
    shift = np.array([groups.index(one) for one in sex])
    income = 20 + 10 * shift + rng.normal(0, 5, size=n)
    income[rng.random(n) < 0.1 * (1 + shift)] = np.nan
    return pd.DataFrame(
        {
            "sex": sex,
            "age": rng.integers(20, 50, size=n) + 5 * shift,
            "income": income,
            "job": np.where(rng.random(n) < 0.3 + 0.2 * shift, "a", rng.choice(["b", "c"], size=n)),
        }
    )


class Blind(RegressorMixin, BaseEstimator):
    """Never looks at the sensitive column."""

    def __init__(self, log=None):
        self.log = log

    def fit(self, X, y=None):
        self.n_features_in_ = X.shape[1]
        return self

    def predict(self, X):
        if self.log is not None:
            self.log.append(X.copy())
        paid = X["income"].fillna(11.0).to_numpy() + X["age"].to_numpy()
        return paid + 7.0 * (X["job"] == "a").to_numpy()


def moved_space(X, sensitive=("sex",), **params):
    return InputSpace(twins=QuantileTransport(), **params).fit(X, list(sensitive))


def tables_moved(X, groups, **params):
    """Tables of all rows in each group, by the transport itself, which keeps the group."""
    transport = QuantileTransport(keep=["sex"], **params).fit(X, X["sex"])
    tables = []
    for group in groups:
        moved = transport.transport(X, X["sex"], to=group)
        moved["sex"] = group
        tables.append(moved)
    return tables


@pytest.mark.parametrize("groups", [("f", "m"), ("d", "f", "m")])
def test_a_row_is_compared_with_where_the_transport_moves_it(groups):
    X = table(groups=groups)
    model = Blind().fit(X)
    tables = tables_moved(X, groups)
    outputs = np.stack([model.predict(moved) for moved in tables])
    expected = np.ptp(outputs, axis=0)
    assert (expected > 0).sum() > 100

    space = moved_space(X)
    auditor = RandomAuditor(model, space=space, max_queries=100, random_state=0).fit(X)
    audit = auditor.audit_rows(X)
    np.testing.assert_allclose(audit.disparities, expected, rtol=0, atol=1e-12)
    assert auditor.on_data_degree_ == pytest.approx(expected.max(), abs=1e-12)

    chunks = auditor.audit_rows([X.iloc[:100], X.iloc[100:]])
    assert chunks.degree == pytest.approx(expected.max(), abs=1e-12)
    assert chunks.n_discriminatory == (expected > 0).sum()
    assert as_chunks(X) is None


def test_the_twin_of_the_own_group_is_the_row():
    X = table(groups=("d", "f", "m"))
    space = moved_space(X)
    own = space.data[:, space.sensitive]
    np.testing.assert_array_equal(space.twins_.with_sensitive(space.data, own), space.data)
    np.testing.assert_array_equal(space.twins_.apply_dependents(space.data.copy()), space.data)


def test_moved_rows_lie_in_the_domain_though_it_is_narrower_than_the_data():
    X = table()
    space = moved_space(X, bounds={"age": (25, 40), "income": (15, 30)})
    Z = space.sample(500, np.random.default_rng(0))
    for codes in space.twins_.sensitive_values:
        twins = space.twins_.with_sensitive(Z, codes)
        assert space.contains(twins).all()
        assert (twins[:, space.sensitive] == codes).all()


def test_rows_of_data_outside_the_domain_keep_what_does_not_move():
    X = table()
    space = InputSpace(bounds={"age": (25, 30)}, twins=QuantileTransport(keep=["age"])).fit(
        X, "sex"
    )
    for codes in space.twins_.sensitive_values:
        twins = space.twins_.with_sensitive(space.data, codes)
        np.testing.assert_array_equal(twins[:, 1], space.data[:, 1])


def test_inputs_of_other_groups_are_other_inputs():
    X = table()
    space = moved_space(X)
    oracle = Oracle(Blind().fit(X), space)
    z = np.nan_to_num(space.data[:1], nan=20.0)
    both = np.concatenate([z, z])
    both[:, 0] = [0, 1]
    keys = oracle.model.input_keys(both)
    assert keys[0] != keys[1]
    judged = oracle.disparity(both)
    assert oracle.n_inputs == 2
    for one in range(2):
        twins = space.twins_.with_sensitive(both[[one, one]], np.array([[0.0], [1.0]]))
        said = oracle.model.model.ask(twins)[0]
        assert judged.disparity[one] == pytest.approx(np.ptp(said))
    assert space.n_inputs == np.inf


def test_what_was_asked_once_is_not_taken_for_another_twin():
    """Twins of equal free columns and other groups must not share an answer."""
    X = table()
    space = moved_space(X)
    model = Blind().fit(X)
    Z = space.sample(200, np.random.default_rng(0))
    other = Z.copy()
    other[:, 0] = 1 - other[:, 0]
    together = Oracle(model, space).disparity(np.concatenate([Z, other])).disparity
    apart = [Oracle(model, space).disparity(part).disparity for part in (Z, other)]
    np.testing.assert_array_equal(together, np.concatenate(apart))


def check_pairs(auditor, model, X):
    """Each reported pair is an input and where its ranks lie in another group."""
    space = auditor.space_
    state = auditor._state
    assert len(state["Z"])
    first, second = (
        space.twins_.with_sensitive(state["Z"], state["pairs"][:, side]) for side in (0, 1)
    )
    own = state["Z"][:, space.sensitive]
    np.testing.assert_array_equal(space.twins_.with_sensitive(state["Z"], own), state["Z"])
    assert (first != second)[:, space.free].any(axis=1).any()
    worst = auditor.worst_case_
    said = model.predict_proba(worst)[:, 1] if hasattr(model, "predict_proba") else None
    if said is None:
        said = model.predict(worst)
    assert abs(said[0] - said[1]) == pytest.approx(auditor.fairness_degree_, abs=1e-9)
    assert auditor.fairness_degree_ > 0


SEARCHES = [RandomAuditor, SBFTAuditor, SurrogateAuditor, AequitasAuditor, ThemisAuditor]


@pytest.mark.parametrize("kind", SEARCHES)
def test_searches_find_moved_twins_of_both_groups(kind):
    X = table().dropna()
    y = (X["income"] + X["age"] > 65).to_numpy()
    # The model takes the whole table, and looks at two columns of it.
    model = make_pipeline(
        ColumnTransformer([("blind", "passthrough", ["age", "income"])]),
        GradientBoostingClassifier(n_estimators=10, random_state=0),
    ).fit(X, y)
    with pytest.warns(NoDisparityWarning):
        plain = kind(model, sensitive_features="sex", max_queries=1500, random_state=0).fit(X)
    assert plain.fairness_degree_ == 0
    space = InputSpace(twins=QuantileTransport())
    auditor = kind(
        model, space=space, sensitive_features="sex", max_queries=1500, random_state=0
    ).fit(X)
    check_pairs(auditor, model, X)
    sources = auditor._state["Z"][:, auditor.space_.sensitive]
    assert len(np.unique(sources)) == 2
    again = kind(
        model, space=space, sensitive_features="sex", max_queries=1500, random_state=0
    ).fit(X)
    np.testing.assert_array_equal(auditor._state["Z"], again._state["Z"])


def test_a_search_by_gradients_finds_moved_twins():
    X = table().dropna().drop(columns="job")
    codes = X.assign(sex=(X["sex"] == "m").astype(int))
    model = MLPClassifier((4,), solver="lbfgs", max_iter=5000, random_state=0)
    model.fit(codes.to_numpy(), X["income"] + X["age"] > 65)
    auditor = ADFAuditor(
        model, sensitive_features=[0], space=InputSpace(twins=QuantileTransport()),
        max_queries=3000, random_state=0,
    ).fit(codes.to_numpy())  # fmt: skip
    check_pairs(auditor, model, codes)


def test_a_small_domain_is_searched_to_its_end_from_every_group():
    rng = np.random.default_rng(0)
    sex = rng.integers(0, 2, size=200)
    X = pd.DataFrame(
        {"sex": sex, "grade": rng.integers(0, 4, size=200) + sex, "b": rng.integers(0, 2, size=200)}
    )
    model = GradientBoostingRegressor(n_estimators=5, random_state=0).fit(X, X["grade"] * X["b"])
    space = moved_space(X)
    assert space.n_inputs == 2 * 5 * 2
    auditor = SurrogateAuditor(model, space=space, max_queries=5000, random_state=0).fit(X)
    assert auditor.n_inputs_ == 20
    every = np.array([[s, g, b] for s in (0, 1) for g in range(5) for b in (0, 1)], dtype=float)
    outputs = [
        model.predict(space.decode(space.twins_.with_sensitive(every, [code]))) for code in (0, 1)
    ]
    largest = np.abs(outputs[0] - outputs[1]).max()
    assert auditor.fairness_degree_ == pytest.approx(largest)


def test_a_constraint_takes_twins_out_that_break_it():
    X = table().dropna()
    rule = lambda rows: np.asarray(rows["income"] + rows["age"] < 70)  # noqa: E731
    space = moved_space(X, constraint=rule)
    log = []
    auditor = RandomAuditor(Blind(log).fit(X), space=space, max_queries=500, random_state=0)
    auditor.fit(X)
    assert all(rule(rows).all() for rows in log)


def test_other_sensitive_columns_learn_another_map():
    X = table()
    X["old"] = np.where(X["age"] > 35, "yes", "no")
    space = moved_space(X, ["sex"])
    other = space.with_sensitive_features([4])
    fresh = moved_space(X, ["old"])
    codes = fresh.twins_.sensitive_values[0]
    np.testing.assert_array_equal(
        other.twins_.with_sensitive(space.data, codes),
        fresh.twins_.with_sensitive(fresh.data, codes),
    )
    # Data that is only audited teaches nothing.
    few = space.with_data(X.iloc[:3])
    assert few.twins_.moved is space.twins_.moved
    assert space.with_sensitive_features([]).twins_.moved is None


def test_two_sensitive_columns_make_groups_of_their_combinations():
    X = table()
    X["old"] = np.where(np.arange(len(X)) % 3 == 0, "yes", "no")
    space = moved_space(X, ["sex", "old"])
    assert len(space.twins_.moved.codes) == 4
    groups = X["sex"] + X["old"]
    transport = QuantileTransport(keep=["sex", "old"]).fit(X, groups)
    moved = transport.transport(X, groups, to="mno").assign(sex="m", old="no")
    twins = space.decode(space.twins_.with_sensitive(space.data, [1, 0]))
    pd.testing.assert_frame_equal(twins, moved)


def test_a_report_says_that_twins_are_moved():
    (line,) = moved_space(table()).conditions
    assert "QuantileTransport" in line and "rank" in line


def test_a_value_that_fewer_than_two_rows_have_is_an_error():
    X = table()
    X.loc[0, "sex"] = "d"
    with pytest.raises(ValueError, match=r"too few of sex=d \(1\).*join categories"):
        moved_space(X)
    with pytest.raises(ValueError, match=r"too few of sex=f, z=q \(0\)"):
        Y = table().assign(z="p")
        Y.loc[Y["sex"] == "m", "z"] = "q"
        moved_space(Y, ["sex", "z"])


def test_a_sensitive_column_of_too_many_values_is_an_error():
    with pytest.raises(ValueError, match="more than 64 combinations.*few classes"):
        moved_space(table(), ["income"])


def test_transports_that_cannot_be_used_are_errors():
    class Foreign:
        def fit(self, X, groups):
            return self

        def transport(self, X, groups, to=None):
            return X

    with pytest.raises(TypeError, match="QuantileTransport"):
        InputSpace(twins=Foreign()).fit(table(), "sex")
    with pytest.raises(ValueError, match="space= of the transport"):
        InputSpace(twins=QuantileTransport(space=InputSpace())).fit(table(), "sex")
    with pytest.raises(TypeError, match="A transport"):
        InputSpace(twins=QuantileTransport).fit(table(), "sex")


def test_the_attribute_may_be_named_among_the_columns_that_stay():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"sex": np.tile(["f", "m"], 50), "pay": rng.normal(size=100)})
    space = InputSpace(twins=QuantileTransport(keep=["sex"])).fit(X, ["sex"])
    assert space.twins_.moved.moving.tolist() == [1]
    with pytest.raises(ValueError, match="keep= names all columns but those that say the group"):
        InputSpace(twins=QuantileTransport(keep=["pay"])).fit(X, ["sex"])
    with pytest.raises(ValueError, match="random_state must be a whole number"):
        InputSpace(twins=QuantileTransport(random_state="x")).fit(X, ["sex"])


def test_a_column_with_one_value_in_a_group_is_warned_of():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"sex": np.tile(["f", "m"], 50), "pay": rng.normal(size=100)})
    X.loc[X["sex"] == "f", "pay"] = 1.0
    with pytest.warns(UserWarning, match="Column 'pay' has a single value in all 50 rows of"):
        InputSpace(twins=QuantileTransport()).fit(X, ["sex"])
