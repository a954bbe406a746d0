"""SurrogateAuditor and the regions that it draws from."""

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

from skfairtest import InputSpace, RandomAuditor, SurrogateAuditor
from skfairtest.datasets import make_biased_classification, make_biased_regression
from skfairtest.individual._surrogate.regions import Regions, leaf_boxes


@pytest.fixture
def space():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], size=200),
            "city": rng.choice(list("abcde"), size=200),
            "years": rng.integers(0, 30, size=200),
            "pay": rng.random(200),
        }
    )
    return InputSpace.from_data(X, ["sex"])


def fitted_tree(space, depth=6):
    rng = np.random.default_rng(1)
    Z = space.sample(3000, rng)[:, space.free]
    y = (Z[:, 1] > 20) & (Z[:, 2] < 0.4) & (Z[:, 0] != 2)
    return DecisionTreeClassifier(max_depth=depth, random_state=0).fit(Z, y), Z, y


def test_leaf_boxes_hold_exactly_the_inputs_of_their_leaves(space):
    tree, _, _ = fitted_tree(space)
    low, high, leaves = leaf_boxes(tree.tree_, space)
    Z = space.sample(2000, np.random.default_rng(2))
    inside = ((Z[:, None, space.free] >= low[:, space.free]) &
              (Z[:, None, space.free] <= high[:, space.free])).all(axis=2)  # fmt: skip
    assert (inside.sum(axis=1) == 1).all()
    np.testing.assert_array_equal(
        leaves[inside.argmax(axis=1)], tree.apply(Z[:, space.free].astype(np.float32))
    )


def test_regions_are_drawn_where_the_tree_believes(space):
    tree, Z, y = fitted_tree(space)
    regions = Regions(space)
    regions.learn(tree, Z, y.astype(float))
    drawn = regions.sample(1000, np.random.default_rng(3))
    assert tree.predict(drawn[:, space.free]).mean() > 0.99
    assert regions.believe(drawn).min() > 0.4
    assert (drawn >= space.low).all() and (drawn <= space.high).all()


@pytest.mark.parametrize("make", [make_biased_regression, make_biased_classification])
def test_finds_far_more_than_random_testing_in_a_planted_pocket(make):
    for seed in range(5):
        data = make(variant="narrow", random_state=seed)
        # Half of the planted degree: about one uniform input in a thousand.
        settings = {"threshold": data.fairness_degree / 2, "random_state": seed}
        settings |= {"estimator": data.estimator, "sensitive_features": data.sensitive_features}
        found = SurrogateAuditor().set_params(**settings).fit(data.data).n_found_
        by_chance = RandomAuditor().set_params(**settings).fit(data.data).n_found_
        assert found >= 1000
        assert found >= 20 * max(by_chance, 1)


def test_objective_degree_climbs_where_finds_only_count():
    degrees = []
    for seed in range(5):
        data = make_biased_regression(variant="narrow", random_state=seed)
        auditor = SurrogateAuditor(data.estimator, objective="degree", random_state=seed)
        degrees.append(auditor.fit(data.data).fairness_degree_ / data.fairness_degree)
    assert min(degrees) >= 0.99


def test_many_valued_attribute():
    data = make_biased_classification(variant="many-valued", random_state=0)
    settings = {"sensitive_features": data.sensitive_features, "random_state": 0}
    found = SurrogateAuditor(data.estimator, **settings).fit(data.data).n_found_
    assert found >= 5 * RandomAuditor(data.estimator, **settings).fit(data.data).n_found_ > 0


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"objective": "many"}, r"objective must be one of .*'count'.*got 'many'"),
        ({"batch_size": 0}, "batch_size must be a whole number of at least 1; got 0"),
        ({"explore_share": 0.0}, r"explore_share must be a number in \(0, 1\]; got 0.0"),
        ({"min_samples_leaf": 1.5}, "min_samples_leaf must be a whole number"),
    ],
)
def test_bad_parameters(params, message):
    data = make_biased_regression(random_state=0)
    with pytest.raises(ValueError, match=message):
        SurrogateAuditor(data.estimator, **params).fit(data.data)
