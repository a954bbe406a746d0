"""InputSpace as an estimator: parameters, learning, copies, searches, and what twins may be."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from light_skops import skops
from sklearn.base import BaseEstimator, RegressorMixin, TransformerMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import ParameterGrid

from skfairtest import InputSpace, Order, RandomAuditor, SBFTAuditor
from skfairtest.io import TRUSTED_TYPES


def people(n=120):
    rng = np.random.default_rng(0)
    age = rng.integers(18, 70, n)
    return pd.DataFrame(
        {"sex": rng.integers(0, 2, n), "age": age, "years": np.minimum(age - 16, 20)}
    )


X = people()


class Wage(RegressorMixin, BaseEstimator):
    """Men get three more, a tenth of their age, and everybody a unit for each year."""

    def fit(self, X, y=None):
        return self

    def __sklearn_is_fitted__(self):
        return True

    def predict(self, X):
        return X["sex"] * (3.0 + 0.1 * X["age"]) + X["years"]


MODEL = Wage()


def test_parameters_are_those_of_an_estimator():
    space = InputSpace(bounds={"age": (18, 70)}, constraint=Order("years", "<=", "age"))
    assert space.get_params()["constraint__relation"] == "<="
    again = clone(space)
    assert again is not space and again.get_params()["bounds"] == {"age": (18, 70)}
    assert repr(InputSpace(plausible=0.9)) == "InputSpace(plausible=0.9)"
    with pytest.raises(ValueError, match="Invalid parameter 'bound'"):
        space.set_params(bound={})
    with pytest.raises(ValueError, match=r"proposals must be one of \['uniform', 'data'\]; got 3"):
        InputSpace(proposals=3).fit(X)


def test_what_is_not_learned_yet_says_so():
    for use in (
        lambda space: space.encode(X),
        lambda space: space.with_data(X),
        lambda space: space.describe(),
        lambda space: space.kinds,
        lambda space: space.sample(3, np.random.default_rng(0)),
    ):
        with pytest.raises(NotFittedError, match=r"before it has learned. Call fit\(X"):
            use(InputSpace())
    assert not hasattr(InputSpace(), "domain")
    with pytest.raises(AttributeError, match="no attribute 'kind'"):
        InputSpace().fit(X).kind  # noqa: B018


def test_a_refused_fit_leaves_what_was_learned():
    space = InputSpace().fit(X, ["sex"])
    data = space.data
    with pytest.raises(ValueError, match="'gender'"):
        space.fit(X, ["gender"])
    assert space.data is data and space.sensitive_features == ["sex"]


def test_other_parameters_make_it_forget():
    space = InputSpace().fit(X, ["sex"])
    assert space.set_params() is space and len(space.data)
    assert not hasattr(space.set_params(bounds={"age": (0, 99)}), "data")
    assert space.fit(X, ["sex"]).domain.high[1] == 99


def test_a_clone_of_a_learned_space_shares_its_rows():
    space = InputSpace().fit(X, ["sex"])
    auditor = RandomAuditor(MODEL, space=space, max_queries=40, random_state=0)
    own = clone(auditor).space
    assert own is not space and own.data is space.data
    # Other parameters of the copy leave the first one as it is.
    clone(auditor).set_params(space__bounds={"age": (0, 99)})
    assert space.data is own.data and space.bounds is None
    assert clone(auditor).fit(X).space_.data.shape == space.data.shape


def test_a_clone_of_the_space_itself_is_unfitted():
    space = InputSpace(bounds={"age": (0, 99)}).fit(X, ["sex"])
    assert not hasattr(clone(space), "data") and clone(space).bounds == space.bounds


def test_an_auditor_learns_a_copy():
    space = InputSpace(bounds={"age": (0, 99)})
    auditor = SBFTAuditor(MODEL, space=space, max_queries=400, random_state=0).fit(X)
    assert not hasattr(space, "data") and auditor.space is space
    assert auditor.space_.domain.high[1] == 99
    assert auditor.fairness_degree_ == pytest.approx(3 + 9.9)


def test_parameters_of_the_space_are_searched():
    auditor = RandomAuditor(MODEL, space=InputSpace(), max_queries=400, random_state=0)
    degrees = {}
    for own in ParameterGrid({"space__bounds": [None, {"age": (18, 20)}, {"age": (0, 99)}]}):
        degrees[str(own["space__bounds"])] = clone(auditor).set_params(**own).fit(X)
    low, middle, high = (
        degrees[key].fairness_degree_ for key in ("{'age': (18, 20)}", "None", "{'age': (0, 99)}")
    )
    assert low < middle < high


@pytest.mark.parametrize("learned", [False, True])
def test_a_space_is_saved(learned):
    space = InputSpace(bounds={"age": (0, 99)}, twins={"sex": {1: {"years": 2}}})
    if learned:
        with pytest.warns(UserWarning, match="twins= does not hold"):
            space.fit(X, ["sex"])
    kept = skops.io.loads(skops.io.dumps(space), trusted=TRUSTED_TYPES)
    for other in (kept, pickle.loads(pickle.dumps(space))):
        assert repr(other) == repr(space)
        if learned:
            Z = space.domain.draw(50, np.random.default_rng(0))
            np.testing.assert_array_equal(other.domain.clip(Z), Z)
            np.testing.assert_array_equal(other.twins_.with_sensitive(Z, 1)[:, 2], 2)


class Retired(TransformerMixin, BaseEstimator):
    """Learns the most years in the data, which men of its tables get."""

    def fit(self, X, y=None):
        self.most_ = X["years"].max()
        return self

    def transform(self, X):
        return X.assign(years=np.where(X["sex"] == 1, self.most_, X["years"]))


@pytest.mark.filterwarnings("ignore:twins= does not hold")
def test_twins_may_be_an_object_that_learns():
    twins = Retired()
    space = InputSpace(twins=twins)
    auditor = RandomAuditor(MODEL, space=space, max_queries=400, random_state=0).fit(X)
    assert not hasattr(twins, "most_")
    found = auditor.discriminatory_inputs_
    assert (found.loc[found["sex"] == 1, "years"] == 20).all()
    # As much as by the function, as soon as it has learned.
    learned = Retired().fit(X)
    by_function = clone(auditor).set_params(space=InputSpace(twins=learned.transform)).fit(X)
    assert by_function.fairness_degree_ == auditor.fairness_degree_ > 7
    assert "twins also differ in the columns that" in " ".join(auditor.space_.conditions)
