"""Constraint objects: verdicts against plain pandas, repairs, draws, bad input, all testers.

What an object says is compared with a formula of the test's own on the decoded table, and what a
model is shown is looked at from outside.
"""

import copy
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from light_skops import skops
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.tree import DecisionTreeRegressor
from tiers import slow_sample, some

from skfairtest import Allowed, Implies, InputSpace, Is, Linear, Order, RandomAuditor
from skfairtest.exceptions import ConstraintWarning
from skfairtest.io import TRUSTED_TYPES
from skfairtest.space._constraints.base import name_of
from skfairtest.space._constraints.table_rule import TableRule


def people(n=300, seed=0):
    """A table with an order, a sum, an implication, a group of 0/1 columns and a hierarchy."""
    rng = np.random.default_rng(seed)
    age = rng.integers(17, 80, n)
    city = rng.integers(0, 60, n)
    sex = rng.choice(["f", "m"], n)
    color = rng.integers(0, 3, n)
    hours = rng.integers(10, 60, n)
    return pd.DataFrame(
        {
            "sex": sex,
            "age": age,
            "experience": np.maximum(0, age - 15 - rng.integers(0, 20, n)),
            "income": np.minimum(rng.normal(40, 15, n), 2.0 * hours + 20).round(2),
            "hours": hours,
            "children": np.where(sex == "m", 0, rng.integers(0, 5, n)),
            "red": (color == 0).astype(int),
            "green": (color == 1).astype(int),
            "blue": (color == 2).astype(int),
            "city": [f"c{k}" for k in city],
            "state": [f"s{k % 20}" for k in city],
        }
    )


#: Each object with what it means in pandas.
MEANINGS = {
    "order": (
        Order("experience", "<=", "age", offset=-15),
        lambda X, _: X["experience"] <= X["age"] - 15,
    ),
    "strict": (Order("experience", "<", "age"), lambda X, _: X["experience"] < X["age"]),
    "sum": (
        Linear({"income": 1, "hours": -2}, "<=", 20),
        lambda X, _: X["income"] - 2 * X["hours"] <= 20,
    ),
    "implies": (
        Implies({"sex": "m"}, {"children": 0}),
        lambda X, _: (X["sex"] != "m") | (X["children"] == 0),
    ),
    "implies order": (
        Implies({"sex": ["f"], "age": (None, 30)}, Linear({"hours": 1}, "<=", 59)),
        lambda X, _: ~((X["sex"] == "f") & (X["age"] <= 30)) | (X["hours"] <= 59),
    ),
    "one hot": (
        Allowed({"red": [1, 0, 0], "green": [0, 1, 0], "blue": [0, 0, 1]}),
        lambda X, _: X[["red", "green", "blue"]].sum(axis=1) == 1,
    ),
    "range": (Is("age", (17, 75)), lambda X, _: X["age"].between(17, 75)),
    "values": (Is("hours", list(range(10, 60))), lambda X, _: X["hours"].isin(range(10, 60))),
    "allowed": (
        Allowed(["city", "state"]),
        lambda X, data: (X["city"] + X["state"]).isin(set(data["city"] + data["state"])),
    ),
}
ALL = [
    MEANINGS[name][0] for name in ("order", "sum", "implies", "implies order", "one hot", "allowed")
]


def holds(X, data, names=("order", "sum", "implies", "implies order", "one hot", "allowed")):
    return np.logical_and.reduce([MEANINGS[name][1](X, data).to_numpy() for name in names])


@pytest.fixture(scope="module")
def data():
    return people()


def quiet_space(X, sensitive, constraint, **settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConstraintWarning)
        return InputSpace(constraint=constraint, **settings).fit(X, sensitive)


# Verdicts ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MEANINGS)
def test_verdicts_are_those_of_pandas(data, name):
    constraint, meaning = MEANINGS[name]
    space = quiet_space(data, ["sex"], constraint)
    Z = space.domain.draw(2000, np.random.default_rng(0))
    expected = meaning(space.decode(Z), data).to_numpy()
    np.testing.assert_array_equal(space.valid(Z), expected)
    # On a table alone, "as in the data" means that table.
    if name != "allowed":
        np.testing.assert_array_equal(constraint(space.decode(Z)), expected)


@pytest.mark.parametrize("name", MEANINGS)
def test_repair_moves_every_row_to_where_it_holds_and_leaves_good_ones(data, name):
    constraint, meaning = MEANINGS[name]
    space = quiet_space(data, ["sex"], constraint)
    rng = np.random.default_rng(1)
    Z = space.domain.draw(1000, rng)
    before = meaning(space.decode(Z), data).to_numpy()
    admitted = space.feasibility.repair(Z, rng)
    assert meaning(space.decode(admitted), data).to_numpy().all()
    if name not in ("implies", "implies order"):  # they look at another twin as well
        np.testing.assert_array_equal(admitted[before], Z[before])
    changed = (admitted != Z).any(axis=0)
    about = {
        "order": {"experience", "age"},
        "one hot": {"red", "green", "blue"},
        "allowed": {"city", "state"},
    }.get(name)
    if about:
        assert {space.feature_names[j] for j in np.flatnonzero(changed)} <= about


def test_all_at_once_without_rejection(data):
    space = quiet_space(data, ["sex"], ALL)
    rng = np.random.default_rng(0)
    Z = space.domain.draw(4000, rng)
    assert space.valid(Z).mean() < 0.005
    admitted = space.feasibility.repair(Z, rng)
    assert holds(space.decode(admitted), data).mean() > 0.999
    # As proposals: both twins of nearly every input exist.
    values = np.broadcast_to(space.twins_.sensitive_values, (len(Z), 2, 1))
    both = space.feasibility.repair(Z, rng, values)
    for encoded in space.twins_.sensitive_values:
        assert space.valid(space.twins_.with_sensitive(both, encoded)).mean() > 0.999
    np.testing.assert_array_equal(both[:, space.sensitive], Z[:, space.sensitive])


def test_three_orders_and_one_combination_in_ten_thousand():
    rng = np.random.default_rng(0)
    pairs = rng.permutation(10_000)[:200]
    n = 400
    own = pairs[rng.integers(len(pairs), size=n)]
    steps = np.sort(rng.random((n, 4)).round(3), axis=1)
    X = pd.DataFrame(steps, columns=list("abcd")).assign(
        e=own // 100, f=own % 100, g=own // 100 + rng.integers(0, 3, n), s=rng.integers(0, 2, n)
    )
    # One in ten thousand of the combinations of e, f and g.
    rules = [
        Order("a", "<=", "b"),
        Order("b", "<=", "c"),
        Order("c", "<", "d"),
        Linear({"a": 1, "b": 1, "c": 1, "d": 1}, "<=", 2.5),
        Allowed(["e", "f", "g"]),
    ]
    space = quiet_space(X, ["s"], rules)
    assert space.valid(space.domain.draw(20_000, rng)).sum() <= 3
    assert space.valid(space.feasibility.repair(space.domain.draw(2000, rng), rng)).mean() > 0.999
    drawn = space.valid_rows().sample(2000, rng)
    assert space.valid(drawn.rows).all()
    assert len(np.unique(drawn.rows, axis=0)) > 1900


def test_missing_numbers_break_no_comparison_and_missing_values_are_values():
    X = pd.DataFrame(
        {
            "a": [1.0, np.nan, 5.0, 9.0],
            "b": [2.0, 2.0, np.nan, 1.0],
            "job": ["cook", None, "driver", "cook"],
        }
    )
    np.testing.assert_array_equal(Order("a", "<=", "b")(X), [True, True, True, False])
    np.testing.assert_array_equal(Linear({"a": 2}, "<", 10)(X), [True, True, False, False])
    np.testing.assert_array_equal(Is("a", (0, 5))(X), [True, True, True, False])
    np.testing.assert_array_equal(Is("job", ["cook"])(X), [True, False, False, True])
    np.testing.assert_array_equal(Is("job", ["cook", None])(X), [True, True, False, True])
    # A condition on a missing number is not met.
    rule = Implies({"a": (0, 100)}, {"job": "driver"})
    np.testing.assert_array_equal(rule(X), [False, True, True, False])
    allowed = Allowed(pd.DataFrame({"job": ["cook", None], "b": [2.0, 2.0]}))
    np.testing.assert_array_equal(allowed(X), [True, True, False, False])


def test_rows_outside_the_domain_are_judged_by_the_same_rule(data):
    space = quiet_space(data, ["sex"], Order("experience", "<=", "age"), bounds={"age": (30, 40)})
    others = people(50, seed=1).assign(experience=75)
    verdict = space.valid(space.with_data(others).data)
    np.testing.assert_array_equal(verdict, others["experience"] <= others["age"])


def test_order_of_ordered_categories_and_of_few_levels():
    levels = ["primary", "college", "phd"]
    kind = pd.CategoricalDtype(levels, ordered=True)
    X = pd.DataFrame(
        {
            "own": pd.Categorical(["phd", "primary", "college"], dtype=kind),
            "needed": pd.Categorical(["college", "college", "phd"], dtype=kind),
        }
    )
    np.testing.assert_array_equal(Order("needed", "<=", "own")(X), [True, False, False])
    np.testing.assert_array_equal(Is("own", ("college", None))(X), [True, False, True])
    space = quiet_space(X.assign(s=[0, 1, 0]), ["s"], Order("needed", "<=", "own"))
    rng = np.random.default_rng(0)
    admitted = space.decode(space.feasibility.repair(space.domain.draw(200, rng), rng))
    assert (admitted["needed"].cat.codes <= admitted["own"].cat.codes).all()
    assert len(admitted.drop_duplicates()) > 3


def test_equations_hold_after_repair():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.random((100, 3)), columns=list("abc")).assign(s=rng.integers(0, 2, 100))
    X["d"] = rng.integers(0, 9, 100)
    space = quiet_space(X, ["s"], Linear({"a": 1, "b": 2, "c": -1, "d": 0.1}, "==", 1))
    admitted = space.decode(space.feasibility.repair(space.domain.draw(500, rng), rng))
    total = admitted["a"] + 2 * admitted["b"] - admitted["c"] + 0.1 * admitted["d"]
    np.testing.assert_allclose(total, 1, atol=1e-8)


def test_single_precision_does_not_undo_a_repair():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.random((100, 2)).astype(np.float32), columns=list("ab"))
    X["s"] = rng.integers(0, 2, 100)
    space = quiet_space(X, ["s"], Order("a", "<", "b", offset=-0.1))
    admitted = space.decode(space.feasibility.repair(space.domain.draw(2000, rng), rng))
    assert (admitted["a"].astype(float) < admitted["b"].astype(float) - 0.1).all()


# Draws ------------------------------------------------------------------------------------------


def test_uniform_draws_are_uniform_among_the_valid():
    """By counts of all valid rows, which are few enough to be listed."""
    grid = np.array(np.meshgrid(range(4), range(4), range(3), range(2))).reshape(4, -1).T
    X = pd.DataFrame(grid, columns=["a", "b", "k", "s"])
    table = pd.DataFrame({"b": [0, 1, 3, 3], "k": [0, 0, 1, 2]})
    rules = [Order("a", "<=", "b"), Allowed(table), Implies({"s": 1}, {"a": (1, None)})]
    space = quiet_space(X, ["s"], rules)
    exist = space.decode(space.data)[space.valid(space.data)]
    Z = space.sample(20_000, np.random.default_rng(0), uniform=True)
    counts = space.decode(Z).value_counts()
    assert len(counts) == len(exist)
    expected = len(Z) / len(exist)
    chi2 = ((counts - expected) ** 2 / expected).sum()
    assert chi2 < len(exist) + 6 * np.sqrt(2 * len(exist))


def test_no_objects_draw_as_before(data):
    plain = InputSpace().fit(data, ["sex"])
    called = InputSpace(constraint=lambda X: X["age"] > 20).fit(data, ["sex"])
    for space in (plain, called):
        rng, same = np.random.default_rng(3), np.random.default_rng(3)
        Z = space.feasibility.draw(100, rng)
        np.testing.assert_array_equal(Z, space.domain.draw(100, same))
        assert space.feasibility.repair(Z, rng) is Z
        assert rng.random() == same.random()


def test_callables_stand_beside_objects(data):
    asked = []

    def young(X):
        asked.append(len(X))
        return X["age"] < 40

    space = quiet_space(data, ["sex"], [Order("experience", "<", "age"), young])
    Z = space.sample(500, np.random.default_rng(0))
    rows = space.decode(Z)
    assert ((rows["experience"] < rows["age"]) & (rows["age"] < 40)).all()
    assert [name_of(one) for one in space.constraints_] == ["experience < age", "young"]
    assert asked


# Bad input --------------------------------------------------------------------------------------

BAD = {
    "unknown": (Order("experience", "<=", "agee"), ValueError, "'agee'.*not a column of X"),
    "strings": (Order("city", "<=", "state"), ValueError, "needs numbers.*'city'"),
    "itself": (Order("age", "<=", "age"), ValueError, "with itself"),
    "weight": (Linear({"age": 0}, "<=", 1), ValueError, "weight of 'age'"),
    "limit": (Linear({"age": 1}, "<=", np.nan), ValueError, "limit must be a finite"),
    "range": (Is("age", (5, 3)), ValueError, "low <= high"),
    "range of words": (Is("age", ("a", None)), ValueError, "must be numbers"),
    "no combination": (Allowed({"city": ["x"]}), ValueError, "none of the 1 combinations"),
    "lengths": (Allowed({"city": ["c1"], "age": []}), ValueError, "same length"),
    "implies": (Implies("sex", {"age": 3}), TypeError, "Implies takes dicts"),
    "no rule": ("age > 3", TypeError, "callable on rows, a constraint such as"),
    "in a list": ([Order("hours", "<", "age"), 3], TypeError, "got int"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_constraints_say_what_is_wrong(data, name):
    constraint, kind, message = BAD[name]
    with pytest.raises(kind, match=message):
        quiet_space(data, ["sex"], constraint)


def test_relation_is_checked_at_once():
    with pytest.raises(ValueError, match="relation must be one of.*'=<'"):
        Order("a", "=<", "b")


CONTRADICTIONS = {
    "by intervals": [Is("age", (30, None)), Linear({"age": 1}, "<=", 20)],
    "by a table": [Is("red", 1), Is("green", 1), MEANINGS["one hot"][0]],
    "by sums": [Order("age", "<", "experience"), Order("experience", "<", "age")],
    "by a condition": [Implies({"sex": "m"}, {"age": (200, 300)}), Is("sex", "m")],
    "alone": [Linear({"age": 1, "hours": 1}, "<=", 20)],
    "by search": [
        Implies({"red": 1}, {"green": 1}),
        Implies({"green": 1}, {"red": 0}),
        Implies({"red": 0}, Order("age", "<", "experience")),
        Order("experience", "<", "age"),
    ],
}


NONE_FOUND = "constraint=: expected inputs that satisfy .*; got none in .* Correct or leave out"


@pytest.mark.parametrize("name", some(CONTRADICTIONS, 3))
def test_constraints_that_no_row_is_found_for_are_named(data, name):
    parts = CONTRADICTIONS[name]
    space = quiet_space(data, ["sex"], parts)
    with pytest.raises(ValueError, match=NONE_FOUND) as error:
        space.sample(10, np.random.default_rng(0))
    for part in parts:
        assert str(part) in str(error.value)


def test_a_search_says_so_too_where_its_time_is_up(data, clock):
    clock.step = 1.0
    auditor = RandomAuditor(
        DecisionTreeRegressor().fit(data[["age", "hours"]], data["hours"]),
        sensitive_features="hours",
        max_time=2,
        space=InputSpace(constraint=[Order("age", "<", "hours"), Order("hours", "<", "age")]),
    )
    with pytest.warns(ConstraintWarning), pytest.raises(ValueError, match=NONE_FOUND):
        auditor.fit(data[["age", "hours"]])


def test_a_callable_that_contradicts_objects_is_named(data):
    def old(X):
        return X["age"] > 60

    space = quiet_space(data, ["sex"], [Is("hours", (5, 70)), Is("age", (None, 40)), old])
    with pytest.raises(ValueError, match="all others are refused by old"):
        space.sample(10, np.random.default_rng(0))


def test_rows_that_break_a_constraint_are_counted():
    X = people()
    X.loc[[3, 7], "experience"] = 99
    with pytest.warns(ConstraintWarning, match=r"2 of 300 rows.*experience <= age \(rows 3, 7\)"):
        InputSpace(constraint=Order("experience", "<=", "age")).fit(X, ["sex"])


def test_values_that_do_not_occur_are_named(data):
    with pytest.warns(ConstraintWarning, match=r"\['male'\].*'sex'"):
        InputSpace(constraint=Implies({"sex": "male"}, {"children": 0})).fit(data, ["sex"])


def test_data_that_keep_to_the_constraints_warn_of_nothing(data):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        InputSpace(constraint=ALL).fit(data, ["sex"])


def test_warnings_are_of_the_users_line():
    data = pd.DataFrame({"sex": ["f", "m"] * 20, "job": ["cook", "nurse"] * 20, "v": range(40)})
    strange, broken = Is("job", ["cook", "kook"]), Is("v", (3, None))
    model = LinearRegression().fit(data[["v"]], data["v"])
    model = make_pipeline(FunctionTransformer(lambda X: X[["v"]]), model)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        InputSpace(constraint=strange).fit(data, ["sex"])
        InputSpace(constraint=broken).fit(data, ["sex"])
        RandomAuditor(
            model,
            sensitive_features="sex",
            max_queries=20,
            space=InputSpace(constraint=[strange, broken]),
        ).fit(data)
    caught = [w for w in caught if w.category is ConstraintWarning]
    assert len(caught) >= 4
    assert {w.filename for w in caught} == {__file__}


# Plain values -----------------------------------------------------------------------------------


@pytest.mark.parametrize("constraint", [*ALL, Implies(ALL[:2], ALL[2])])
def test_constraints_are_plain_values(constraint):
    assert clone(constraint) == constraint
    assert pickle.loads(pickle.dumps(constraint)) == constraint
    kept = skops.io.loads(skops.io.dumps(constraint), trusted=TRUSTED_TYPES)
    assert repr(kept) == repr(constraint)
    assert kept.get_params().keys() == constraint.get_params().keys()
    assert str(constraint) and "object at" not in repr(constraint)


@pytest.mark.parametrize("constraint", [*ALL, Implies(ALL[:2], ALL[2])])
def test_parameters_make_the_same_constraint_again(constraint):
    assert type(constraint)(**constraint.get_params()) == constraint


@pytest.mark.parametrize(
    ("one", "other"),
    [(Is("a", 1), Is("a", 1.0)), (Is("a", [1, 2]), Is("a", np.array([1.0, 2.0]))),
     (Is("a", [np.nan]), Is("a", np.array([np.nan]))),
     (Linear({"a": 1, "b": 2}, "<=", 3), Linear({"b": 2.0, "a": 1}, "<=", 3.0)),
     (Allowed({"a": np.array([1, 2])}), Allowed(pd.DataFrame({"a": [1, 2]})))],
)  # fmt: skip
def test_equal_constraints_have_equal_hashes(one, other):
    assert one == other and hash(one) == hash(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [(Is("a", 1), Is("a", 2)), (Is("a", 1), Is("b", 1)), (Is("a", [1, 2]), Is("a", (1, 2))),
     (Is("a", np.array([1, 2])), Is("a", np.array([1, 3]))),
     (Is("a", np.array([1, 2])), Is("a", 1)), (Is("a", 1), 1),
     (Implies({"a": 1}, {"b": 1}), Is("a", 1))],
)  # fmt: skip
def test_other_constraints_are_not_equal(one, other):
    assert one != other


def test_parameters_reach_from_an_auditor():
    auditor = RandomAuditor(space=InputSpace(constraint=Order("a", "<=", "b")))
    clone(auditor).set_params(space__constraint__offset=2)
    auditor.set_params(space__constraint__relation="<")
    assert auditor.get_params()["space__constraint"] == Order("a", "<", "b")
    assert "constraint=Order('a', '<', 'b')" in repr(auditor)
    with pytest.raises(ValueError, match="Invalid parameter 'ofset'"):
        auditor.set_params(space__constraint__ofset=3)


def test_texts():
    assert str(Order("a", ">", "b", offset=2.5)) == "a > b + 2.5"
    assert str(Linear({"a": -1, "b": 2, "c": 0.5}, "==", 1e7)) == "-a + 2 b + 0.5 c == 1e+07"
    assert str(Implies({"a": [1, 2]}, {"b": (None, 3)})) == "a in (1, 2) implies b <= 3"
    assert (
        str(Implies([Order("a", "<", "b"), {"c": 1}], {"d": 2})) == "a < b and c = 1 implies d = 2"
    )
    assert str(Is("c", None)) == "c = missing"


@slow_sample
def test_a_fitted_auditor_is_saved_with_its_constraints(data, models):
    model = DecisionTreeRegressor(max_depth=2, random_state=0)
    X = data[["red", "green", "blue", "age"]]
    auditor = RandomAuditor(
        model,
        sensitive_features=["age"],
        max_queries=200,
        random_state=0,
        space=InputSpace(constraint=[Allowed(["red", "green", "blue"])]),
    ).fit(X, data["income"])
    types = [*TRUSTED_TYPES, "sklearn.tree._tree.Tree"]
    again = skops.io.loads(skops.io.dumps(auditor), trusted=types)
    Z = auditor.space_.domain.draw(100, np.random.default_rng(0))
    np.testing.assert_array_equal(again.space_.valid(Z), auditor.space_.valid(Z))
    assert pickle.loads(pickle.dumps(auditor)).space_.constraints_ == auditor.space_.constraints_
    assert again.on_data_degree_ == auditor.on_data_degree_


# Columns of one-hot groups ----------------------------------------------------------------------


def dummies(n=300):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"s": rng.integers(0, 2, n), "age": rng.integers(10, 60, n)})
    X["experience"] = rng.integers(0, 10, n)
    names = {"color": ["red", "green", "blue"], "job": ["cook", "driver", "none", "teacher"]}
    for name, levels in names.items():
        k = rng.integers(0, len(levels), n)
        for i, level in enumerate(levels):
            X[f"{name}_{level}"] = k == i if name == "job" else (k == i).astype(int)
    return X


def test_columns_of_one_hot_groups_are_refused_with_the_group():
    for wrong in (
        Is("color_red", 1),
        Implies({"color_red": 1}, {"age": (20, None)}),
        Linear({"color_red": 30, "age": 1}, "<=", 70),
        Allowed(["color_red", "age"]),
    ):
        with pytest.raises(
            ValueError, match="the one-hot group 'color'.*'red'.*Is..color.*one_hot="
        ):
            quiet_space(dummies(), ["s"], wrong)
        quiet_space(dummies(), ["s"], wrong, one_hot=None)


def test_groups_are_named_as_one_attribute():
    rule = Implies({"color": "red"}, [{"age": (20, None)}, {"job": ["cook", "none"]}])
    space = quiet_space(dummies(), ["s"], rule)
    rng = np.random.default_rng(0)
    Z = space.domain.draw(1000, rng)
    for encoded in (Z, space.feasibility.repair(Z, rng)):
        X = space.decode(encoded)
        fits = (X["age"] >= 20) & (X["job_cook"] | X["job_none"])
        np.testing.assert_array_equal(space.valid(encoded), (X["color_red"] == 0) | fits)
    assert space.valid(encoded).all() and not space.valid(Z).all()


def test_boxes_know_one_hot_groups():
    rules = [Is("color", ["green", "blue"]), Implies({"job": "cook"}, {"age": (200, None)})]
    space = quiet_space(dummies(), ["s"], rules)
    root = space.feasibility.root
    left = {space.feature_names[j]: own[0].sum() for j, own in root.sets.items()}
    assert left == {"color": 2, "job": 3}
    rows = space.decode(space.sample(300, np.random.default_rng(0), uniform=True))
    assert not rows["color_red"].any() and not rows["job_cook"].any()
    assert rows["color_green"].any() and rows["color_blue"].any()


def test_a_table_repairs_into_the_domain_that_it_is_given():
    rows = np.column_stack([np.arange(10.0), np.arange(10.0)])
    X = pd.DataFrame({"sex": [0, 1] * 5, "a": range(10), "b": range(10)})
    domain = InputSpace(constraint=Allowed({"a": X["a"], "b": X["b"]})).fit(X, ["sex"]).domain
    rule, rng = TableRule([1, 2], rows), np.random.default_rng(0)
    Z = domain.draw(200, rng)
    for low, high in ((0, 4), (5, 9)):
        part = copy.copy(domain)
        part.low, part.high = domain.low.copy(), domain.high.copy()
        part.low[1:], part.high[1:] = low, high
        moved = rule.repair(Z, np.array([False, True, True]), part, rng)[:, 1:]
        assert ((moved >= low) & (moved <= high)).all()
