"""A find costs two queries where labels are known to follow from scores, and each is confirmed."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn import (
    calibration,
    discriminant_analysis,
    ensemble,
    frozen,
    gaussian_process,
    linear_model,
    model_selection,
    multiclass,
    naive_bayes,
    neighbors,
    neural_network,
    semi_supervised,
    svm,
    tree,
)
from sklearn.dummy import DummyClassifier
from sklearn.feature_selection import RFE
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from skfairtest import InputSpace, audit
from skfairtest.individual import RandomAuditor, SurrogateAuditor
from skfairtest.inspection import PairDisplay
from skfairtest.oracle._known_labels import KNOWN, PASS_ON, labels_follow
from skfairtest.oracle._model import FIRST_FLIPS
from skfairtest.oracle._reproduced import confirm_found
from skfairtest.report.parts.search.results import SearchPart

MODULES = (
    calibration, discriminant_analysis, ensemble, frozen, linear_model, model_selection,
    naive_bayes, neighbors, neural_network, semi_supervised, svm, tree,
)  # fmt: skip
PARAMETERS = {
    "CalibratedClassifierCV": {"estimator": DecisionTreeClassifier(max_depth=3), "cv": 2},
    "MLPClassifier": {"hidden_layer_sizes": (4,), "max_iter": 20},
    "VotingClassifier": {
        "estimators": [("a", LogisticRegression()), ("b", DecisionTreeClassifier(max_depth=3))],
        "voting": "soft",
    },
    **{name: {"n_estimators": 9} for name in ("RandomForestClassifier", "ExtraTreesClassifier")},
}


def table(n=300, n_classes=2, seed=0):
    """Counts from 0 to 29, the first column 0 or 1, and classes that depend on it."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.integers(0, 2, n), rng.integers(0, 30, (n, 4))]).astype(float)
    score = X[:, 1] + 0.5 * X[:, 2] + 12 * X[:, 0] + rng.normal(0, 3, n)
    return X, np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes))


def named(name):
    kind = next(getattr(module, name) for module in MODULES if hasattr(module, name))
    return kind(**PARAMETERS.get(name, {}))


def fitted(model, **params):
    X, y = table()
    return RandomAuditor(
        model.fit(X, y), sensitive_features=[0], random_state=0, **{"max_queries": 4000} | params
    ).fit(X)


# What is known ------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore")  # convergence, and classes that will go
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    ("method", "name"),
    [
        (method, name)
        for (method, package), names in KNOWN.items()
        for name in names
        if package == "sklearn"
    ],
)
def test_labels_of_known_classes_are_the_side_of_their_scores(method, name, n_classes):
    X, y = table(n_classes=n_classes)
    model = named(name).fit(X, y)
    assert labels_follow(model, method)
    new, _ = table(2000, seed=1)
    scores = getattr(model, method)(new)
    side = scores > 0 if scores.ndim == 1 else scores.argmax(axis=1)
    np.testing.assert_array_equal(model.classes_[side.astype(int)], model.predict(new))


@pytest.mark.parametrize("package", ["xgboost", "lightgbm"])
def test_boosted_trees_of_other_packages(package):
    module = pytest.importorskip(package)
    X, y = table(n_classes=3)
    for name in KNOWN["predict_proba", package]:
        model = getattr(module, name)(n_estimators=5, n_jobs=1).fit(X, y)
        assert labels_follow(model, "predict_proba")
        np.testing.assert_array_equal(model.predict_proba(X).argmax(axis=1), model.predict(X))


def test_what_passes_on_is_as_good_as_what_it_passes_on_to():
    X, y = table()
    for last, is_known in ((LogisticRegression(), True), (DummyClassifier(), False)):
        search = model_selection.GridSearchCV(last, {}, cv=2)
        pipeline = make_pipeline(FunctionTransformer(), StandardScaler(), search).fit(X, y)
        assert labels_follow(frozen.FrozenEstimator(pipeline), "predict_proba") is is_known
        stack = ensemble.StackingClassifier([("a", LogisticRegression())], last, cv=2).fit(X, y)
        assert labels_follow(stack, "predict_proba") is is_known
    for model in (RFE(LogisticRegression()), semi_supervised.SelfTrainingClassifier(last)):
        model.fit(X, y)
        assert hasattr(model, PASS_ON[type(model).__name__])


class Derived(LogisticRegression):
    """Somebody's own: nobody knows what its predict does."""


class Lying(LogisticRegression):
    """Gives one label where the third column is above 20, which its probabilities do not say."""

    def predict(self, X):
        return np.where(X[:, 3] > 20, 0, super().predict(X))


class TunedThresholdLike(DecisionTreeClassifier):
    """Looks like a class of scikit-learn, with a threshold of its own."""

    def predict(self, X):
        return self.classes_[(self.predict_proba(X)[:, 1] > 0.8).astype(int)]


TunedThresholdLike.__qualname__ = TunedThresholdLike.__name__ = "DecisionTreeClassifier"


@pytest.mark.parametrize(
    "model",
    [
        svm.SVC(), gaussian_process.GaussianProcessClassifier(), DummyClassifier(),
        linear_model.SGDClassifier(loss="modified_huber"), neighbors.RadiusNeighborsClassifier(),
        multiclass.OneVsRestClassifier(LogisticRegression()), Derived(), Lying(),
        multiclass.OneVsOneClassifier(LogisticRegression()), TunedThresholdLike(),
        model_selection.FixedThresholdClassifier(LogisticRegression()),
        model_selection.TunedThresholdClassifierCV(LogisticRegression()),
        make_pipeline(Derived()), make_pipeline("passthrough"),
    ],
)  # fmt: skip
def test_what_is_not_known(model):
    assert not labels_follow(model, "predict_proba")


def test_an_object_with_a_predict_of_its_own_is_not_known():
    model = LogisticRegression()
    assert labels_follow(model, "predict_proba")
    model.predict = lambda X: np.zeros(len(X))
    assert not labels_follow(model, "predict_proba")


# What is asked ------------------------------------------------------------------------------------


@pytest.fixture
def asked(monkeypatch):
    """Rows that the methods of a tree and of its derived classes were asked about."""
    counts = {"predict": 0, "predict_proba": 0}
    for name in counts:
        own = getattr(DecisionTreeClassifier, name)

        def ask(self, X, *args, own=own, name=name):
            counts[name] += len(X)
            return own(self, X, *args)

        monkeypatch.setattr(DecisionTreeClassifier, name, ask)
    return counts


def flips(model, auditor):
    """Whether `predict` gives the twins different labels."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        inputs, twins = auditor.discriminatory_inputs_, auditor.counterfactuals_
    assert len(inputs) == len(auditor.disparities_)
    return model.predict(inputs) != model.predict(twins)


def test_a_find_costs_two_queries_and_is_confirmed_when_it_is_read(asked):
    model = DecisionTreeClassifier(random_state=0)
    auditor = fitted(model)
    n = auditor.n_found_
    assert n > 2 * FIRST_FLIPS
    assert auditor.n_queries_ == sum(asked.values()) <= 4000
    assert 2 * FIRST_FLIPS <= asked["predict"] <= 2 * FIRST_FLIPS + 32  # and the probed rows
    asked.update(predict=0)
    assert "counterfactuals_" not in dir(auditor) and auditor.n_confirm_queries_ == 0
    PairDisplay.from_auditor(auditor, place=2)
    assert asked["predict"] == auditor.n_confirm_queries_ == 6
    copy = pickle.loads(pickle.dumps(auditor))
    for one in (auditor, copy):
        asked.update(predict=0)
        assert len(one.discriminatory_inputs_) == len(one.counterfactuals_) == n
        assert asked["predict"] == 2 * n - 6 and one.n_confirm_queries_ == 2 * n
        assert "counterfactuals_" in dir(one)


def test_a_few_flips_are_confirmed_at_once(asked):
    auditor = fitted(DecisionTreeClassifier(random_state=0), max_queries=500)
    asked.update(predict=0)
    assert 0 < len(auditor.discriminatory_inputs_) < FIRST_FLIPS
    assert asked["predict"] == auditor.n_confirm_queries_ == 0


@pytest.mark.parametrize("budget", [2, 3, 10, 50, 51, 300, 1000])
def test_budgets_are_kept(asked, budget):
    X, y = table()
    model = DecisionTreeClassifier(random_state=0).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        auditor = SurrogateAuditor(
            model, sensitive_features=[0], max_queries=budget, random_state=0
        )
        auditor.fit(X)
    assert auditor.n_queries_ == sum(asked.values()) <= budget


def test_a_surrogate_finds_by_two_queries_each():
    X, y = table(2000)
    model = DecisionTreeClassifier(random_state=0).fit(X, y)
    auditor = SurrogateAuditor(model, sensitive_features=[0], max_queries=20_000, random_state=0)
    assert auditor.fit(X).n_found_ > 0.3 * auditor.n_queries_  # a quarter where each costs four


@pytest.mark.parametrize("n_restarts", [1, pytest.param(3, marks=pytest.mark.slow)])
def test_the_same_for_any_number_of_jobs(n_restarts):
    model = DecisionTreeClassifier(random_state=0)
    one, two = (fitted(model, n_restarts=n_restarts, n_jobs=n_jobs) for n_jobs in (1, 2))
    assert one.n_found_ == two.n_found_ > FIRST_FLIPS and one.n_queries_ == two.n_queries_
    np.testing.assert_array_equal(one.discriminatory_inputs_, two.discriminatory_inputs_)
    assert one.n_confirm_queries_ == two.n_confirm_queries_ == 2 * one.n_found_


# Other classes, and known ones that are not what they were ----------------------------------------


@pytest.mark.parametrize(
    "model",
    [
        Lying(), TunedThresholdLike(max_depth=4, random_state=0),
        model_selection.FixedThresholdClassifier(LogisticRegression(), threshold=0.7),
        make_pipeline(StandardScaler(), svm.SVC(kernel="linear")),
    ],
)  # fmt: skip
def test_where_nothing_is_known_each_flip_is_confirmed_at_once(model):
    auditor = fitted(model)
    assert auditor.n_found_ > FIRST_FLIPS and flips(model, auditor).all()


@pytest.mark.filterwarnings("ignore:The `probability`:FutureWarning")
def test_probabilities_of_support_vectors_are_confirmed():
    model = make_pipeline(StandardScaler(), svm.SVC(probability=True, random_state=0))
    auditor = fitted(model)
    assert auditor.response_ == "predict_proba" and auditor.n_found_ > FIRST_FLIPS
    assert flips(model, auditor).all() and auditor.n_confirm_queries_ == 0


def lies(monkeypatch):
    """Let `predict` deny what the probabilities say of inputs that the data do not have."""
    own = LogisticRegression.predict
    monkeypatch.setattr(
        LogisticRegression, "predict", lambda self, X: np.where(X[:, 3] > 20, 0, own(self, X))
    )


def unseen(model, **params):
    """An auditor in a domain wider than the data, whose rows the model is probed with."""
    X, _ = table()
    space = InputSpace(bounds={3: (0, 29)}).fit(X[X[:, 3] <= 20], [0])
    return RandomAuditor(model, space=space, random_state=0, **{"max_queries": 4000} | params).fit(
        X[X[:, 3] <= 20]
    )


@pytest.mark.parametrize("kind", [LogisticRegression, Lying, Derived])
def test_a_flip_that_is_denied_at_first_has_all_others_confirmed(monkeypatch, kind):
    model = kind().fit(*table())
    shown = unseen(model) if kind is LogisticRegression else None  # finds cost two
    if kind is not Lying:
        lies(monkeypatch)
    auditor = unseen(model)
    assert auditor.n_found_ > 2 * FIRST_FLIPS
    assert flips(model, auditor).all() and auditor.n_confirm_queries_ == 0
    assert (auditor.discriminatory_inputs_[:, 3] <= 20).all()
    assert shown is None or (shown.n_inputs_ > auditor.n_inputs_ and shown.n_found_)


@pytest.mark.parametrize("n_restarts", [1, 2])
def test_what_is_denied_when_it_is_read_is_left_out(monkeypatch, n_restarts):
    model = LogisticRegression().fit(*table())
    auditor = unseen(model, n_restarts=n_restarts)
    n = auditor.n_found_
    lies(monkeypatch)
    with pytest.warns(UserWarning, match="`predict` gives both twins of"):
        inputs = auditor.discriminatory_inputs_
    assert auditor.n_found_ == len(inputs) < n and (inputs[:, 3] <= 20).all()
    assert auditor.discrimination_rate_ == auditor.n_found_ / auditor.n_inputs_
    assert flips(model, auditor).all() and len(auditor.plausibility_) == len(inputs)
    assert auditor.n_confirm_queries_ == 2 * n


def test_a_report_holds_no_pair_that_is_denied(monkeypatch):
    model, (X, _) = LogisticRegression().fit(*table()), table()
    searcher = RandomAuditor(sensitive_features=[0], max_queries=4000)
    own = confirm_found

    def confirm(*args):
        with monkeypatch.context() as patch:
            lies(patch)
            own(*args)

    monkeypatch.setattr("skfairtest.report.parts.search.find.confirm_found", confirm)
    report = audit(
        model, X, auditor=searcher, groups=False, moved=False, certify=False, favourable=1,
        random_state=0, progress=False,
    )  # fmt: skip
    assert "`predict` gives both twins of" in str(report.to_dict())
    (part,) = report.results(SearchPart)
    assert part.found == part.kept == len(part.all_pairs.first) > 0
    assert all(row[3] <= 20 for row in part.all_pairs.first)
    assert part.queries >= part.search_queries + 2 * part.found


def test_a_model_that_was_fitted_again_confirms_nothing():
    model = LogisticRegression().fit(*table())
    auditor = fitted(model)
    n = auditor.n_found_
    model.coef_ = -2 * model.coef_
    with pytest.warns(UserWarning, match="as their scores tell.*Fit the auditor again"):
        assert len(auditor.discriminatory_inputs_) == n == auditor.n_found_
    assert "discriminatory_inputs_" not in dir(auditor)
