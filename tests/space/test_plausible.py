"""Plausible inputs, proposals near the data, and what both say of what is found."""

from __future__ import annotations

import pickle
from itertools import product

import numpy as np
import pandas as pd
import pytest
from couples import people
from light_skops import skops
from searches import handle_of
from sklearn.base import BaseEstimator, OutlierMixin, RegressorMixin
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import IsolationForest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import LocalOutlierFactor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures
from tiers import slow_sample, some

from skfairtest import (
    AequitasAuditor,
    InputSpace,
    RandomAuditor,
    SBFTAuditor,
    SurrogateAuditor,
    ThemisAuditor,
)
from skfairtest.exceptions import DetectorFailedError
from skfairtest.individual._surrogate.crossover import choose
from skfairtest.io import TRUSTED_TYPES
from skfairtest.oracle._compare import compare
from skfairtest.space._plausible.neighbours import Neighbours
from skfairtest.space._plausible.plausibility import Plausibility

X = people(400)
NEAR_SPACE = InputSpace().fit(X, ["sex"])
NEAR = Neighbours(NEAR_SPACE.domain, NEAR_SPACE.data, np.random.default_rng(0))


FOREST = IsolationForest(n_estimators=10, contamination=0.1, random_state=0)


class OldPeople(OutlierMixin, BaseEstimator):
    """Accepts rows of a table with age of at least the limit; counts the rows it is asked about."""

    def __init__(self, limit=40, rows=0):
        self.limit, self.rows = limit, rows

    def fit(self, X, y=None):
        self.fitted_on_ = type(X)
        return self

    def predict(self, X):
        self.rows += len(X)
        age = np.asarray(X["age"] if isinstance(X, pd.DataFrame) else X[:, 1])
        return np.where(age >= self.limit, 1, -1)


class Model(RegressorMixin, BaseEstimator):
    """A regressor that treats old men and women differently; keeps what it was shown."""

    def __init__(self):
        self.shown = []

    def __sklearn_is_fitted__(self):
        return True

    def fit(self, X, y=None):
        return self

    def predict(self, X):
        self.shown.append(X)
        return np.asarray(X["age"]) / 10 * np.asarray(X["sex"] == "m")


class KnownModel(Model):
    """The same for a column of numbers."""

    def predict(self, X):
        return np.asarray(X["age"] / 10 * X["sex"])


@pytest.fixture(scope="module")
def space():
    return InputSpace(plausible="auto").fit(X, ["sex"])


# Neighbours ---------------------------------------------------------------------------------


def test_neighbours_are_the_nearest_rows(space):
    near = Neighbours(space.domain, space.data, np.random.default_rng(0))
    apart = near.distance(near.rows[:, None], near.rows[None])
    np.fill_diagonal(apart, 9)
    found = near.neighbours(np.arange(len(X)))
    assert found.shape == (len(X), near.n_neighbours)
    assert (found != np.arange(len(X))[:, None]).all()
    # By squared differences of scaled values: the order is nearly that of the distances.
    kth = np.sort(apart, axis=1)[:, near.n_neighbours - 1]
    taken = np.take_along_axis(apart, found, axis=1).mean(axis=1)
    assert np.median(taken / kth) < 1 and (taken / kth).mean() < 0.5 * (apart.mean(1) / kth).mean()


def test_crossings_take_every_value_from_the_row_or_one_neighbour(space):
    near = Neighbours(space.domain, space.data, np.random.default_rng(0))
    places = np.repeat(np.arange(50), 10)
    crossed = near.cross(places, np.random.default_rng(1))
    candidates = near.rows[near.neighbours(places)]
    one = (crossed == near.rows[places])[:, None] | (crossed[:, None] == candidates)
    assert one.all(axis=2).any(axis=1).all()
    assert (crossed != near.rows[places]).any(axis=1).mean() > 0.3


def test_nearest_is_that_of_all_rows(space):
    near = Neighbours(space.domain, space.data, np.random.default_rng(0))
    Z = np.concatenate([near.crossover(100, np.random.default_rng(2)).rows, near.rows[:20]])
    places, distances = near.nearest(Z)
    apart = near.distance(near.rows[None], Z[:, None])
    assert np.isclose(distances, apart.min(axis=1)).mean() > 0.95
    assert np.allclose(distances, near.distance(near.rows[places], Z))
    assert (distances[-20:] == 0).all()


def test_distance_is_the_mean_of_ranges_and_categories(space):
    near = Neighbours(space.domain, space.data, np.random.default_rng(0))
    first = space.domain.low.copy()
    second = first.copy()
    second[1] += (space.domain.high[1] - space.domain.low[1]) / 2
    second[3] = 2  # another role
    assert near.distance(first, second) == pytest.approx((0.5 + 1) / 5)


def test_parts_of_a_large_table_give_neighbours_as_well(monkeypatch, space):
    monkeypatch.setattr("skfairtest.space._plausible.neighbours.PART", 100)
    near = Neighbours(space.domain, space.data, np.random.default_rng(0))
    found = near.neighbours(np.arange(len(X)))
    assert len(near._parts) >= 4 and (found != np.arange(len(X))[:, None]).all()
    away = near.distance(near.rows[found], near.rows[:, None]).mean()
    assert away < 0.4 * near.distance(near.rows[:200], near.rows[200:]).mean()


def test_missing_and_foreign_values_are_those_of_other_rows():
    table = X.copy()
    table.loc[:5, "score"] = np.nan
    space = InputSpace(categories={"role": ["single", "wife"]}).fit(table, ["sex"])
    rows = Neighbours(space.domain, space.data, np.random.default_rng(0)).rows
    scores = space.decode(rows)["score"]
    assert set(scores.dropna()) <= set(X["score"]) and rows[:, 3].max() <= 1
    assert scores.isna().sum() == 6  # missing is a value of this column


@pytest.mark.parametrize("n", [1, 2, 3])
def test_few_rows_are_crossed_as_well(n):
    table = pd.DataFrame({"sex": [0, 1, 0], "a": [1, 5, 2], "b": [3, 3, 4]})
    space = InputSpace(proposals="data").fit(table, ["sex"]).with_data(table[:n])
    Z = space.valid_rows().sample(20, np.random.default_rng(0)).rows
    assert Z.shape == (20, 3)


# Proposals ----------------------------------------------------------------------------------


def test_sample_near_the_data_holds_the_constraint():
    space = InputSpace(constraint=lambda X: X["age"] > 40, proposals="data").fit(X, ["sex"])
    Z = space.valid_rows().sample(500, np.random.default_rng(0)).rows
    assert len(Z) == 500 and (Z[:, 1] > 40).all()
    near = Neighbours(space.domain, space.data, np.random.default_rng(0))
    uniform = (
        space.set_params(proposals="uniform").fit(X, ["sex"]).sample(500, np.random.default_rng(0))
    )
    assert np.median(near.nearest(Z)[1]) < np.median(near.nearest(uniform)[1]) / 4


@pytest.mark.parametrize(
    "kind", some([RandomAuditor, SBFTAuditor, SurrogateAuditor, AequitasAuditor, ThemisAuditor])
)
def test_every_tester_takes_proposals_near_the_data(kind):
    def distance(proposals):
        model = Model()
        auditor = kind(
            model, sensitive_features="sex", random_state=0, space=InputSpace(proposals=proposals)
        )
        # The first few hundred queries of some testers are about rows of the data in any case.
        auditor.set_params(max_queries=1200).fit(X)
        return np.median(NEAR.nearest(auditor.space_.encode(pd.concat(model.shown)))[1])

    assert distance("data") < 0.5 * distance("uniform")


def test_random_estimates_the_share_near_the_data():
    # Everybody in the data is at least 18 years old; the domain begins at 0.
    auditor = RandomAuditor(
        Model(),
        sensitive_features="sex",
        threshold=5,
        random_state=0,
        max_queries=4000,
        space=InputSpace(bounds={"age": (0, 200)}),
    )
    share = (X["age"] > 50).mean()
    near = auditor.set_params(space__proposals="data").fit(X)
    assert near.discrimination_rate_ == pytest.approx(share, abs=0.1)
    uniform = auditor.set_params(space__proposals="uniform").fit(X)
    assert uniform.discrimination_rate_ == pytest.approx(0.75, abs=0.05)


def test_same_seed_same_inputs_near_the_data():
    def found():
        auditor = RandomAuditor(
            Model(), random_state=1, max_queries=500, space=InputSpace(proposals="data")
        )
        return auditor.fit(X).discriminatory_inputs_

    pd.testing.assert_frame_equal(found(), found())


# The judge ----------------------------------------------------------------------------------


def test_auto_knows_the_ties_between_columns(space):
    judge = space.plausibility
    held = space.encode(people(600, seed=1))
    assert judge.accepts(held).mean() > 0.9
    broken = held.copy()
    broken[:, 2] = held[::-1, 2]  # years that belong to another age
    assert judge.accepts(broken).mean() < 0.6
    uniform = space.domain.draw(1000, np.random.default_rng(0))
    assert judge.accepts(uniform).mean() < 0.1


def test_a_husband_is_plausible_and_his_twin_is_not(space):
    twins = pd.DataFrame(
        {"sex": ["m", "f"], "age": 40, "years": 21, "role": "husband", "score": 0.57}
    )
    judge = space.plausibility
    rank = judge.rank(space.encode(twins))
    assert judge.accepts(space.encode(twins))[0]
    assert rank[0] > 0.3 and rank[1] < 0.1


@slow_sample
@pytest.mark.parametrize("share", [0.5, 0.9])
def test_a_share_is_that_of_real_rows(share):
    space = InputSpace(plausible=share).fit(X, ["sex"])
    accepted = space.plausibility.accepts(space.encode(people(600, seed=1))).mean()
    assert accepted == pytest.approx(share, abs=0.1)
    assert space.plausibility.share_accepted == share


def test_ranks_are_shares_of_real_rows():
    judge = InputSpace(plausible=OldPeople()).fit(X, ["sex"]).plausibility
    old = (X["age"] >= 40).mean()
    assert judge.share_accepted == pytest.approx(old)
    Z = np.array([[0.0, 60, 40, 0, 0.5], [0.0, 20, 1, 0, 0.5]])
    assert judge.rank(Z).tolist() == [pytest.approx(1 - old), 0.0]


def test_a_detector_gets_the_table_where_it_can():
    by_name = InputSpace(plausible=OldPeople().fit(X)).fit(X, ["sex"]).plausibility
    assert not by_name._gets_encoded
    encoded = InputSpace(plausible=FOREST).fit(X, ["sex"])
    assert encoded.plausibility._gets_encoded and encoded.plausibility.share_accepted > 0.85
    numeric = X[["age", "years", "score"]].assign(sex=X["sex"] == "m")
    table = InputSpace(plausible=OldPeople()).fit(numeric, ["sex"])
    assert table.plausibility._detector.fitted_on_ is pd.DataFrame
    pipeline = make_pipeline(
        make_column_transformer(
            (OneHotEncoder(), make_column_selector(dtype_exclude="number")), remainder="passthrough"
        ),
        LocalOutlierFactor(novelty=True),
    )
    whole = InputSpace(plausible=pipeline).fit(X, ["sex"])
    assert not whole.plausibility._gets_encoded and whole.plausibility.share_accepted > 0.8
    assert not hasattr(pipeline, "n_features_in_")  # a clone was fitted


# Which pairs count --------------------------------------------------------------------------


def best_pair(scores, labels, valid, plausible):
    """The largest difference over all pairs of which one is plausible; whether any pair flips."""
    degree, flips = 0.0, False
    for a, b in product(range(len(scores)), repeat=2):
        if valid[a] and valid[b] and plausible[a]:
            degree = max(degree, abs(scores[a] - scores[b]).max())
            flips |= labels[a] != labels[b]
    return degree, flips


@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("response", ["predict_proba", "regression", "labels"])
def test_pairs_count_where_one_twin_is_plausible(n_outputs, response):
    rng = np.random.default_rng(n_outputs)
    n, k = 400, 4
    scores = rng.random((n, k, n_outputs))
    labels = rng.integers(0, 3, (n, k))
    valid = rng.random((n, k)) < 0.8
    plausible = (rng.random((n, k)) < 0.4) & valid
    own = np.arange(k) == rng.integers(0, k, (n, 1))
    shown = compare(
        scores, labels, valid, response=response, threshold=None, single=False,
        plausible=plausible, own=own,
    )  # fmt: skip
    for i in range(n):
        degree, flips = best_pair(scores[i], labels[i], valid[i], plausible[i])
        if response == "labels":
            degree = float(flips)
        assert shown.disparity[i] == pytest.approx(degree)
        a, b = shown.pair[i]
        if degree:
            assert plausible[i, a] or plausible[i, b]
            assert valid[i, a] and valid[i, b] and shown.outputs[i, 0] >= shown.outputs[i, 1]
        assert shown.verdict[i] == (degree > 0 if response == "regression" else flips)
        if shown.verdict[i]:
            first, second = shown.twins[i]
            assert plausible[i, first] and valid[i, second]
            if response != "regression":
                assert labels[i, first] != labels[i, second]
            stands = (own & plausible)[i]
            if stands.any() and response == "regression":
                assert stands[first]


def test_only_plausible_inputs_are_reported_and_asked_about():
    model, detector = Model(), OldPeople().fit(X)
    auditor = RandomAuditor(
        model,
        sensitive_features="sex",
        max_queries=600,
        random_state=0,
        space=InputSpace(plausible=detector),
    ).fit(X)
    assert (auditor.discriminatory_inputs_["age"] >= 40).all() and auditor.n_found_ > 100
    assert all((shown["age"] >= 40).all() for shown in model.shown)


@pytest.mark.parametrize(
    "kind", some([RandomAuditor, SBFTAuditor, SurrogateAuditor, AequitasAuditor, ThemisAuditor])
)
def test_every_tester_reports_plausible_inputs_alone(kind, space):
    auditor = kind(Model(), space=space, max_queries=800, random_state=0).fit(X)
    judge = space.plausibility
    found = auditor.space_.encode(auditor.discriminatory_inputs_)
    assert len(found) and judge.accepts(found).all()
    assert judge.accepts(auditor.space_.encode(auditor.worst_case_)).any()
    assert (auditor.plausibility_ >= 0.02).all()


def test_the_detector_is_asked_once_a_row():
    detector = OldPeople().fit(X)
    space = InputSpace(plausible=detector).fit(X, ["sex"])
    search = handle_of(Model(), space)
    Z = space.sample(200, np.random.default_rng(0))
    detector.rows = 0
    search.evaluate(Z)
    first = detector.rows
    assert first <= 2 * len(np.unique(Z[:, space.non_sensitive], axis=0))
    search.evaluate(Z)
    assert detector.rows <= first + 3  # two rows may share a place in the memory


def test_an_input_without_a_plausible_twin_costs_nothing():
    space = InputSpace(plausible=OldPeople().fit(X)).fit(X, ["sex"])
    model = Model()
    search = handle_of(model, space)
    young = space.data[space.data[:, 1] < 40]
    judged = search.evaluate(young)
    assert not judged.disparity.any() and not judged.verdict.any()
    assert search.so_far.queries == 0 and search.so_far.inputs == 0 and not model.shown


# Results ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def fitted():
    auditor = RandomAuditor(Model(), sensitive_features="sex", max_queries=500, random_state=0)
    return auditor.fit(X)


@slow_sample
def test_results_say_how_plausible_found_inputs_are(fitted):
    asked = len(fitted.estimator_.shown)
    n = len(fitted.discriminatory_inputs_)
    judge = Plausibility("auto", fitted.space_.layout, fitted.space_.domain, fitted.space_.data)
    Z = fitted.space_.encode(fitted.discriminatory_inputs_)
    assert fitted.plausibility_.tolist() == judge.rank(Z).tolist()
    assert fitted.distances_.shape == (n,) and len(fitted.nearest_rows_) == n
    near = fitted.space_.encode(fitted.nearest_rows_)
    assert np.allclose(judge.neighbours.distance(near, Z), fitted.distances_)
    assert 0 < fitted.fairness_degree_plausible_ <= fitted.fairness_degree_
    worst = fitted.space_.encode(fitted.worst_case_plausible_)
    assert judge.accepts(worst).any()
    assert len(fitted.estimator_.shown) == asked


@slow_sample
def test_the_three_domains_side_by_side(fitted):
    table = fitted.domains_
    assert list(table.index) == ["rows", "plausible", "whole"]
    assert table["degree"].is_monotonic_increasing
    assert table.loc["rows", "degree"] == fitted.on_data_degree_
    assert table.loc["whole", "found"] == fitted.n_found_ > table.loc["plausible", "found"]
    assert not table["outside"].any()


def test_rows_outside_of_the_domain_are_told_where_their_degree_is():
    X = np.column_stack([np.arange(40) % 2, np.arange(40.0)])
    model = LinearRegression().fit(X, X[:, 0] * X[:, 1])
    steep = make_pipeline(PolynomialFeatures(2), model).fit(X, X[:, 0] * X[:, 1])
    space = InputSpace(bounds={1: (0, 9)})
    auditor = RandomAuditor(steep, sensitive_features=[0], space=space, random_state=0)
    table = auditor.set_params(max_queries=200).fit(X).domains_
    assert table.loc["rows", "degree"] > 3 * table.loc["whole", "degree"]
    assert table["outside"].tolist() == [30, 0, 0]


@slow_sample
def test_names_are_listed_once_they_were_asked_for():
    auditor = RandomAuditor(Model(), sensitive_features="sex", max_queries=100, random_state=0)
    auditor.fit(X)
    names = {"plausibility_", "distances_", "nearest_rows_", "worst_case_plausible_", "domains_"}
    assert not names & set(dir(auditor))
    assert len(auditor.plausibility_) == len(auditor.distances_)
    assert names - {"domains_"} <= set(dir(auditor)) and "domains_" not in dir(auditor)
    assert "on_data" not in auditor._state


@slow_sample
def test_nothing_found_has_no_plausible_worst_case():
    flat = LogisticRegression().fit(X[["age", "score"]], X["sex"] == "m")
    table = X[["age", "score"]].assign(sex=np.arange(400) % 2)
    model = make_pipeline(make_column_transformer(("passthrough", ["age", "score"])), flat)
    model.fit(table, X["sex"] == "m")
    with pytest.warns(UserWarning, match="No disparity"):
        auditor = RandomAuditor(model, sensitive_features="sex", max_queries=100).fit(table)
    assert auditor.worst_case_plausible_ is None and auditor.fairness_degree_plausible_ == 0
    assert len(auditor.plausibility_) == 0 and len(auditor.nearest_rows_) == 0


@slow_sample
@pytest.mark.parametrize("plausible", ["auto", FOREST], ids=["auto", "detector"])
def test_fitted_auditors_are_pickled_with_their_judge(plausible):
    table = X[["age", "years", "score"]].assign(sex=(X["sex"] == "m").astype(int))
    model = LogisticRegression().fit(table, table["age"] + 9 * table["sex"] > 45)
    auditor = RandomAuditor(
        model,
        sensitive_features="sex",
        max_queries=400,
        random_state=0,
        space=InputSpace(plausible=plausible),
    ).fit(table)
    again = pickle.loads(pickle.dumps(auditor))
    assert (again.plausibility_ == auditor.plausibility_).all()
    if plausible == "auto":
        del auditor._state["ranks"]
        loaded = skops.io.loads(skops.io.dumps(auditor), trusted=TRUSTED_TYPES)
        assert loaded.plausibility_.tolist() == again.plausibility_.tolist()
        assert len(pickle.dumps(auditor)) < 200_000  # what was learned is not written out


# Plausible discriminatory inputs --------------------------------------------------------------


@slow_sample
def test_surrogate_finds_more_plausible_inputs_than_crossings_as_they_come():
    space = InputSpace(plausible=FOREST).fit(X, ["sex"])

    def found(kind):
        model = Model()
        auditor = kind(model, space=space, threshold=6.7, max_queries=3000, random_state=0).fit(X)
        asked = auditor.space_.encode(pd.concat(model.shown))
        # Every value of an input is one of the data: nothing steps away from crossings.
        assert set(asked[:, 4]) <= set(space.data[:, 4])
        return auditor.discrimination_rate_

    assert 0.02 < 3 * found(RandomAuditor) < found(SurrogateAuditor)


def test_chances_choose():
    rng = np.random.default_rng(0)
    chance = np.repeat([0.9, 0.1], 5000)
    taken = choose(chance, 500, rng)
    assert len(set(taken)) == 500 and (taken < 5000).mean() == pytest.approx(0.9, abs=0.06)
    assert len(choose(chance, 20_000, rng)) == 10_000


def test_few_crossings_end_the_run():
    table = pd.DataFrame({"sex": [0, 1] * 10, "age": np.repeat([30, 40], 10), "b": [1] * 20})
    auditor = SurrogateAuditor(
        KnownModel(),
        sensitive_features="sex",
        random_state=0,
        max_queries=None,
        max_inputs=10_000,
        space=InputSpace(plausible=OldPeople(20).fit(table)),
    ).fit(table)
    assert auditor.stop_kind_ == "complete" and auditor.n_inputs_ <= 4


# Bad input ----------------------------------------------------------------------------------


class Broken(OldPeople):
    """Fails, or answers nonsense."""

    def __init__(self, answer=None):
        self.answer = answer
        self.rows = 0

    def predict(self, X):
        if self.answer is None:
            raise RuntimeError("out of order")
        return self.answer(X)


BAD = {
    "a word": ("autoo", ValueError, "'auto', a share.*'autoo'"),
    "too much": (1.0, ValueError, "between 0 and 1; got 1.0"),
    "nothing": (0, ValueError, "between 0 and 1; got 0"),
    "negative": (-0.5, ValueError, "between 0 and 1; got -0.5"),
    "boolean": (True, TypeError, "neither fit nor predict"),
    "a list": ([1], TypeError, "got list"),
    "a class": (IsolationForest, TypeError, "class IsolationForest.*instance"),
    "no new rows": (LocalOutlierFactor(), TypeError, "novelty=True"),
    "fails": (Broken().fit(X), DetectorFailedError, "in predict: RuntimeError: out of order"),
    "needs numbers": (
        make_pipeline(IsolationForest()), DetectorFailedError, "failed in fit.*needs numbers",
    ),
    "no verdicts": (
        Broken(lambda X: np.zeros(len(X))).fit(X), DetectorFailedError, "predict 1.*and -1.*0.0",
    ),
    "words": (Broken(lambda X: ["in"] * len(X)).fit(X), DetectorFailedError, "one number for"),
    "one answer": (Broken(lambda X: 1).fit(X), DetectorFailedError, r"shape \(400,\)"),
    "rejects all": (OldPeople(200).fit(X), ValueError, "accepts none of 400 rows"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_detectors_are_refused_before_the_first_query(case):
    plausible, error, message = BAD[case]
    model = Model()
    with pytest.raises(error, match=message):
        RandomAuditor(model, sensitive_features="sex", space=InputSpace(plausible=plausible)).fit(X)
    assert not model.shown


def test_a_detector_that_rejects_most_rows_is_told():
    with pytest.warns(UserWarning, match=r"accepts only \d+\.\d% of the rows"):
        InputSpace(plausible=OldPeople(60).fit(X)).fit(X, ["sex"])


def test_a_detector_that_fails_later_keeps_what_was_found():
    def tired(X):
        tired.calls += 1
        if tired.calls > 6:
            raise RuntimeError("tired")
        return np.ones(len(X))

    tired.calls = 0
    auditor = RandomAuditor(
        Model(),
        sensitive_features="sex",
        random_state=0,
        max_queries=100_000,
        space=InputSpace(plausible=Broken(tired).fit(X)),
    )
    with pytest.raises(DetectorFailedError, match="tired"):
        auditor.fit(X)
    assert auditor.stop_kind_ == "failed" and auditor.n_found_ > 0


def test_too_few_rows_for_auto():
    with pytest.raises(ValueError, match="at least 10 rows of X; got 6"):
        InputSpace(plausible="auto").fit(X[:6], ["sex"])


@pytest.mark.parametrize("proposals", ["near", None, 1])
def test_unknown_proposals(proposals):
    with pytest.raises(ValueError, match="proposals must be one of"):
        RandomAuditor(Model(), sensitive_features="sex", space=InputSpace(proposals=proposals)).fit(
            X
        )


def test_a_learned_space_keeps_its_judge(space):
    auditor = RandomAuditor(Model(), space=space, max_queries=100, random_state=0).fit(X)
    assert auditor.space_.plausibility is space.plausibility
