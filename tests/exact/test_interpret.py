"""InterpretML's explainable boosting: what is read is what it predicts, and bounds of it hold."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from boosting_cases import enumerated_degree, response_of, target
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import BaggingClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skfairtest import CertifiedAuditor
from skfairtest.exact._dispatch import read_verifier
from skfairtest.exact._verifier import SolverLimits
from skfairtest.oracle._model import Model
from skfairtest.space._space import InputSpace

pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.services("interpret")]


def make(kind="Classifier", **settings):
    """An unfitted model that is fitted at once."""
    from interpret import glassbox

    quick = {"outer_bags": 2, "max_rounds": 40, "learning_rate": 0.3, "min_samples_leaf": 1}
    settings = quick | {"random_state": 0, "n_jobs": 1} | settings
    return getattr(glassbox, f"ExplainableBoosting{kind}")(**settings)


def read(model, X, sensitive, response=None, space=None):
    """The verifier of a fitted model, and its space."""
    space = (space or InputSpace()).fit(X, sensitive)
    rng = np.random.default_rng(0)
    verifier, _ = read_verifier(model, space, response or response_of(model), False, rng)
    return verifier, space


# Domains that can be listed ------------------------------------------------------------------

#: Kinds of a column, made of a generator and a number of rows.
COLUMNS = {
    "whole": lambda rng, n: rng.integers(-2, 4, n),
    "single": lambda rng, n: rng.integers(-2, 4, n).astype(np.float32),
    "nullable": lambda rng, n: pd.array(
        np.where(rng.random(n) < 0.2, np.nan, rng.integers(-2, 4, n)), dtype="Int64"
    ),
    "missing": lambda rng, n: np.where(rng.random(n) < 0.2, np.nan, rng.integers(-2, 4, n)),
    "truth": lambda rng, n: rng.random(n) < 0.5,
    "numbers in text": lambda rng, n: rng.choice(["1", "2", "3.5", "10"], n),
    "ordered": lambda rng, n: pd.Categorical(rng.choice([1, 2, 5], n), ordered=True),
    "text": lambda rng, n: rng.choice(np.array(["u", "v", None], dtype=object), n),
    "mixed": lambda rng, n: rng.choice(np.array([1, 2.5, "a", None], dtype=object), n),
}
#: By name: kind of target, and settings.
MODELS = {
    "pairs": (2, {"interactions": 3}),
    "pairs by name": (2, {"interactions": [("s", "c"), (0, 1)]}),
    "bins of pairs": (2, {"interactions": 3, "max_bins": 6, "max_interaction_bins": 3}),
    "three columns": (2, {"interactions": [(0, 1, 3)]}),
    "three classes": (3, {"interactions": 0}),
    "three classes, pairs": (3, {"interactions": 2}),
    "a number": ("real", {"interactions": 2}),
    "monotone": ("real", {"monotone_constraints": [0, 1, -1, 0], "interactions": 0}),
    "categories": ("real", {"feature_types": [None, "nominal", "nominal", None]}),
    "ordinal": ("real", {"feature_types": [None, [4, 2, 0, 1, 3], None, None]}),
    "poisson": ("positive", {"objective": "poisson_deviance"}),
    "logarithm": ("positive", {"objective": "rmse_log"}),
    "one bag": ("real", {"outer_bags": 1, "smoothing_rounds": 0}),
}


def small_case(name, column, seed):
    """A fitted model, its table of few values, and the sensitive columns."""
    rng = np.random.default_rng(seed)
    kind, settings = MODELS[name]
    n = 80
    X = pd.DataFrame(
        {"s": rng.permutation(np.arange(n) % 3), "a": rng.integers(0, 5, n),
         "b": rng.integers(0, 2, n), "c": COLUMNS[column](rng, n)}
    )  # fmt: skip
    if rng.random() < 0.5:
        X["s"] = np.array(["p", "q", "r"])[X["s"]]
    y = target(rng, X, kind)
    model = make("Regressor" if isinstance(kind, str) else "Classifier", **settings)
    return model.fit(X, y), X, ["s"] if seed % 3 else ["s", "c"]


def check_enumerated(model, X, sensitive, response=None):
    """The gap is closed, and both bounds are the largest difference that there is."""
    verifier, space = read(model, X, sensitive, response)
    result = verifier.solve(0.0, SolverLimits(np.inf, 1e-12))
    degree = enumerated_degree(model, space, response or response_of(model))
    assert result.lower == pytest.approx(degree, rel=1e-9, abs=1e-12)
    assert result.upper == pytest.approx(degree, rel=1e-9, abs=1e-12)
    assert result.upper + 2 * verifier.rounding >= degree
    return degree


@pytest.mark.parametrize("name", MODELS)
def test_bounds_are_the_largest_difference(name):
    columns = list(COLUMNS)
    start = 2 * list(MODELS).index(name)
    own = [columns[(start + k) % len(columns)] for k in range(2)]
    degrees = [check_enumerated(*small_case(name, column, k)) for k, column in enumerate(own)]
    assert max(degrees) > 0


@pytest.mark.slow
@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("name", MODELS)
def test_bounds_are_the_largest_difference_of_many(name, column):
    for seed in range(6):
        check_enumerated(*small_case(name, column, seed))


def test_scores():
    for name in ("pairs", "three classes"):
        assert check_enumerated(*small_case(name, "text", 1), "decision_function") > 0


def test_a_model_without_terms_is_constant():
    model, X, sensitive = small_case("pairs", "text", 1)
    model.remove_terms(range(len(model.term_features_)))
    assert check_enumerated(model, X, sensitive) == 0


def test_merged_and_edited_models():
    from interpret.glassbox import merge_ebms

    one, X, sensitive = small_case("pairs", "whole", 1)
    two = make(interactions=1).fit(X[:50], X["a"][:50] > 2)
    merged = merge_ebms([one, two])
    merged.monotonize("a")
    assert check_enumerated(merged, X, sensitive) > 0


# Real columns --------------------------------------------------------------------------------


def mixed_frame(n=300):
    """A frame with real columns, and a score."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {"s": rng.choice(["f", "m", "x"], n), "x": rng.normal(size=n),
         "y": rng.exponential(size=n), "k": rng.integers(0, 9, n)}
    )  # fmt: skip
    score = 2 * X["x"] * (X["s"] == "f") + X["k"] / 4 - np.log1p(X["y"]) * (X["s"] == "m")
    return X, (score > score.median()).to_numpy()


def check_closed(model, X, sensitive, space=None):
    """The gap is closed, the model shows the lower bound, and rows at cut points no more."""
    verifier, space = read(model, X, sensitive, space=space)
    result = verifier.solve(0.0, SolverLimits(np.inf, 1e-9))
    assert result.upper - result.lower <= 1e-9
    asked = Model(model, space, response_method="auto", n_jobs=None)
    one, two = asked.ask(np.stack(result.twins))[0]
    assert np.abs(one - two).max() == pytest.approx(result.lower, abs=1e-9)
    rng = np.random.default_rng(1)
    Z, other = verifier.rows(1000, rng), verifier.rows(1000, rng)
    other[:, space.non_sensitive] = Z[:, space.non_sensitive]
    answers = asked.ask(Z)[0]
    assert np.allclose(verifier.evaluate(Z), answers, rtol=0, atol=verifier.rounding)
    gaps = np.abs(answers - asked.ask(other)[0])
    assert 0 < gaps.max() <= result.upper + 2 * verifier.rounding
    return result.lower


def test_rows_behind_cut_points_and_missing_values():
    X, y = mixed_frame()
    model = make(interactions=2, max_bins=12).fit(X, y)
    at_cuts = X.assign(x=np.resize(model.bins_[1][0], len(X)))
    rng = np.random.default_rng(1)
    gaps = X.assign(x=X["x"].mask(rng.random(len(X)) < 0.2))
    gaps["s"] = gaps["s"].astype(object).where(rng.random(len(X)) > 0.1, None)
    for table in (
        at_cuts,
        gaps,
        X.astype({"x": np.float32, "y": np.float32}),
        X[["k", "y", "x", "s"]],
    ):
        check_closed(model, table, ["s"])
    check_closed(make(interactions=2, max_bins=12).fit(gaps, y), gaps, ["s"])
    check_closed(model, X, ["x", "s"])


def test_values_that_training_has_not_seen():
    X, y = mixed_frame()
    model = make(interactions=[("s", "x")]).fit(X, y)
    check_closed(model, X, ["s"], InputSpace(categories={"s": ["f", "m", "x", "unseen"]}))
    wide = X.assign(x=X["x"] * 9)
    check_closed(model, wide, ["s"])


@pytest.mark.parametrize("dtype", [np.float64, np.float32, object])
def test_arrays(dtype):
    X, y = mixed_frame()
    text = dtype is object
    array = (X if text else X.assign(s=pd.factorize(X["s"])[0])).to_numpy(dtype=dtype)
    check_closed(make(interactions=2).fit(array, y), array, [0])


def test_models_behind_steps_and_inside_of_others():
    X, y = mixed_frame()
    X = X.assign(s=pd.factorize(X["s"])[0], x=X["x"].mask(X["k"] == 3)).astype(float)
    few = make(interactions=0, max_bins=6)
    for model in (
        make_pipeline(StandardScaler(), make(interactions=1, max_bins=9)),
        make_pipeline(SimpleImputer(add_indicator=True), make(interactions=0)),
        BaggingClassifier(few, 2, max_features=3, bootstrap=False, random_state=0),
        CalibratedClassifierCV(few, cv=2),
    ):
        check_closed(model.fit(X, y), X, ["s"])


def test_models_with_privacy():
    from interpret.privacy import DPExplainableBoostingClassifier

    X, y = mixed_frame()
    bounds = {"x": (-4, 4), "y": (0, 9), "k": (0, 9)}
    model = DPExplainableBoostingClassifier(
        random_state=0, n_jobs=1, epsilon=9, delta=1e-5, privacy_bounds=bounds
    )
    check_closed(model.fit(X, y), X, ["s"])


def test_the_auditor_certifies():
    X, y = mixed_frame()
    model = make(interactions=2)
    assert CertifiedAuditor.supports(model)
    auditor = CertifiedAuditor(model.fit(X, y), sensitive_features=["s"], random_state=0).fit(X)
    assert auditor.certified_
    assert auditor.fairness_degree_ > 0.1


# What is refused -----------------------------------------------------------------------------


def test_categories_among_real_numbers():
    X, y = mixed_frame()
    model = make(feature_types=[None, "nominal", None, None])
    few = X.assign(x=np.resize([0.1, 0.77, 3.3], len(X)))
    model.fit(few, y)
    check_closed(model, few, ["s"])
    # Nearly all numbers are unknown to it: those that are not would be met by no probe.
    with pytest.raises(ValueError, match="takes the column 'x' for categories"):
        read(model, X, ["s"])
    array = X[["k", "x", "y"]].to_numpy()
    model = make(feature_types=[None, "nominal", None]).fit(array.round(), y)
    with pytest.raises(ValueError, match="takes the column 'feature_0001' for categories"):
        read(make_pipeline(StandardScaler().fit(array), model), array, [0])


def test_settings_that_are_refused():
    from interpret.glassbox import ClassificationTree, ExplainableBoostingClassifier

    class Own(ExplainableBoostingClassifier):
        """A class of the user's own."""

    X, y = mixed_frame()
    single, replaced = make().fit(X, y * 0), make().fit(X, y)
    replaced.predict_proba = replaced.predict_proba
    for model, message in (
        (single, "with the link 'monoclassification' cannot be certified"),
        (replaced, "has a method predict_proba that was replaced"),
        (Own(), "Own is a class of"),
        (ClassificationTree(), "ClassificationTree of interpret.*Expected ExplainableBoosting"),
    ):
        assert re.search(message, str(CertifiedAuditor.supports(model)))


def test_scores_that_are_no_numbers():
    X, y = mixed_frame()
    model = make().fit(X, y)
    model.term_scores_[0][1] = np.nan
    with pytest.raises(ValueError, match="1 leaves that are NaN or infinite"):
        read(model, X, ["s"])
