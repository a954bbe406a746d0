"""FairnessAugmenter, the estimate of the discriminatory share, and the labelers."""

import numpy as np
import pandas as pd
import pytest
from imblearn.pipeline import make_pipeline as make_sampler_pipeline
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.tree import DecisionTreeClassifier
from tiers import slow_sample

from skfairtest import FairnessAugmenter, RandomAuditor, TestSGDAuditor, estimate_discrimination
from skfairtest._statistics import wilson_interval
from skfairtest.exceptions import EstimatorFailedError, MitigationWarning
from skfairtest.mitigation._labelers import (
    FoundPairs,
    average_label,
    majority_label,
    opposite_label,
)


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 10, (300, 3)).astype(float)
    X[:, 0] %= 2
    return X, (X[:, 1] + 3 * X[:, 0] * (X[:, 2] > 5) > 6).astype(int)


AUDITOR = RandomAuditor(sensitive_features=[0], max_queries=1500)


# Augmenter --------------------------------------------------------------------------------------


def test_twins_are_added_under_one_label(people):
    X, y = people
    augmenter = FairnessAugmenter(
        DecisionTreeClassifier(random_state=0), AUDITOR, share=0.06, random_state=0
    )
    X_more, y_more = augmenter.fit_resample(X, y)
    np.testing.assert_array_equal(X_more[:300], X)
    np.testing.assert_array_equal(y_more[:300], y)
    assert len(X_more) - 300 == augmenter.n_added_ == 18
    first, second = X_more[300:309], X_more[309:]
    np.testing.assert_array_equal(first[:, 1:], second[:, 1:])
    assert (first[:, 0] != second[:, 0]).all()
    np.testing.assert_array_equal(y_more[300:309], y_more[309:])
    model = augmenter.estimator_
    assert (model.predict(first) != model.predict(second)).all()


@slow_sample
def test_same_seed_same_rows(people):
    X, y = people
    augmenter = FairnessAugmenter(DecisionTreeClassifier(), AUDITOR, random_state=0)
    first, second = (augmenter.fit_resample(X, y) for _ in range(2))
    np.testing.assert_array_equal(first[0], second[0])
    np.testing.assert_array_equal(first[1], second[1])


@slow_sample
def test_strings_and_categories_survive(mixed, pipeline_of):
    X, y = mixed
    y = pd.Series(np.where(y > y.median(), "high", "low"), name="level")
    auditor = RandomAuditor(sensitive_features="sex", max_queries=1500)
    augmenter = FairnessAugmenter(
        pipeline_of(DecisionTreeClassifier(random_state=0)), auditor, share=0.3, random_state=0
    )
    X_more, y_more = augmenter.fit_resample(X, y)
    assert augmenter.n_added_ > 10
    assert X_more.dtypes.tolist() == X.dtypes.tolist()
    pd.testing.assert_frame_equal(X_more.iloc[: len(X)], X, check_index_type=False)
    assert set(X_more["sex"]) == {"female", "male"}
    assert isinstance(y_more, pd.Series) and y_more.name == "level"
    assert set(y_more) == {"high", "low"}


@slow_sample
def test_in_a_pipeline(people):
    X, y = people
    tree = DecisionTreeClassifier(random_state=0)
    augmenter = FairnessAugmenter(tree, AUDITOR, share=0.5, random_state=0)
    both = make_sampler_pipeline(augmenter, tree)
    assert (cross_val_score(both, X, y, cv=3) > 0.7).all()
    rates = [
        estimate_discrimination(model.fit(X, y), X, sensitive_features=[0], random_state=1).rate
        for model in (tree, both)
    ]
    assert rates[1] < rates[0]


def test_nothing_found_nothing_added(people):
    X, y = people
    auditor = RandomAuditor(sensitive_features=[0], max_queries=2)
    augmenter = FairnessAugmenter(DecisionTreeClassifier(max_depth=1), auditor, random_state=0)
    with pytest.warns(MitigationWarning, match="nothing is added"):
        X_same, y_same = augmenter.fit_resample(X, y)
    assert len(X_same) == len(X) and augmenter.n_added_ == 0


@pytest.mark.parametrize(
    "settings, error, message",
    [
        ({"estimator": None}, ValueError, "must be an instance"),
        ({"labeler": "auto"}, ValueError, "labeler must be one of"),
        ({"labeler": "guess"}, ValueError, "labeler must be one of"),
        ({"share": 0}, ValueError, "share must be"),
        ({"auditor": None}, ValueError, "Name the sensitive columns"),
        ({"auditor": TestSGDAuditor()}, TypeError, "finds none"),
    ],
)
def test_bad_parameters(people, settings, error, message):
    with pytest.raises(error, match=message):
        FairnessAugmenter(LogisticRegression(), AUDITOR).set_params(**settings).fit_resample(
            *people
        )


def test_bad_targets(people):
    X, y = people
    augmenter = FairnessAugmenter(LogisticRegression(), AUDITOR)
    with pytest.raises(ValueError, match="1 class"):
        augmenter.fit_resample(X, np.zeros(len(X), dtype=int))
    with pytest.raises(ValueError, match="y must have one value per row"):
        augmenter.fit_resample(X, y[:-1])


# Estimate ---------------------------------------------------------------------------------------


def share_model(models, share):
    """Discriminates where the second column is below the share; it is uniform on (0, 1)."""
    return models.LabelsOnly(lambda X: ((X[:, 1] < share) & (X[:, 0] == 1)).astype(int))


@pytest.fixture(scope="module")
def square():
    rng = np.random.default_rng(0)
    X = np.column_stack([np.arange(200) % 2, rng.random((200, 2))])
    X[:2, 1:] = [[0, 0], [1, 1]]
    return X


@slow_sample
def test_estimate_covers_the_true_share(models, square):
    model = share_model(models, 0.03)
    covered = 0
    for seed in range(60):
        result = estimate_discrimination(
            model, square, sensitive_features=[0], n_samples=1000, random_state=seed
        )
        assert result.n_samples == 1000 and result.rate == result.n_found / 1000
        covered += result.low <= 0.03 <= result.high
    # A 95% interval: fewer than 51 of 60 has a chance below one in a thousand.
    assert covered >= 51


def test_interval_has_a_width_at_zero(models, square):
    model = models.LabelsOnly(lambda X: (X[:, 1] > 0.5).astype(int))
    result = estimate_discrimination(
        model, square, sensitive_features=[0], n_samples=300, random_state=0
    )
    assert (result.rate, result.low, result.degree) == (0, 0, 0)
    assert result.high == pytest.approx(0.0126, abs=1e-3)


def test_wilson_against_known_figures():
    assert wilson_interval(10, 100, 0.95) == pytest.approx((0.0552, 0.1744), abs=1e-4)
    assert wilson_interval(0, 0, 0.95) == (0.0, 1.0)
    assert wilson_interval(5, 5, 0.95)[1] == 1.0
    low, high = wilson_interval(0, 50, 0.95)
    assert low == 0 and high == pytest.approx(0.0713, abs=1e-4)
    assert wilson_interval(30, 100, 0.99)[0] < wilson_interval(30, 100, 0.95)[0]


def test_near_the_data(models, square):
    X = square.copy()
    X[2:, 1] = 0.9 + X[2:, 1] / 20  # nearly all rows lie where the model does not discriminate
    model = share_model(models, 0.5)
    settings = {"sensitive_features": [0], "n_samples": 4000, "random_state": 0}
    assert estimate_discrimination(model, X, **settings).rate == pytest.approx(0.5, abs=0.03)
    assert estimate_discrimination(model, X, near="data", **settings).rate < 0.03


def test_estimate_of_a_regressor(models, square):
    model = models.Regressor(lambda X: X[:, 0] * X[:, 1])
    settings = {"sensitive_features": [0], "n_samples": 4000, "random_state": 0}
    result = estimate_discrimination(model, square, threshold=0.75, **settings)
    assert result.rate == pytest.approx(0.25, abs=0.03)
    assert 0.95 < result.degree <= 1
    assert estimate_discrimination(model, square, **settings) == estimate_discrimination(
        model, square, **settings
    )


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"n_samples": 0}, "n_samples must be"),
        ({"n_samples": 2.5}, "n_samples must be"),
        ({"confidence": 1}, "confidence must be"),
        ({"near": "people"}, "near must be"),
        ({"sensitive_features": "auto"}, "Name the sensitive columns"),
    ],
)
def test_bad_estimates(models, square, settings, message):
    with pytest.raises(ValueError, match=message):
        estimate_discrimination(
            share_model(models, 0.1), square, **({"sensitive_features": [0]} | settings)
        )


def test_estimate_of_a_model_that_fails(models, square):
    model = models.LabelsOnly(lambda X: 1 / 0)
    with pytest.raises(EstimatorFailedError, match="ZeroDivisionError"):
        estimate_discrimination(model, square, sensitive_features=[0])


# Labelers ---------------------------------------------------------------------------------------


class Votes:
    """A ensemble that says the same of the first twins, and the same of the second."""

    def __init__(self, *answers):
        self.answers = list(answers)

    def votes(self, table):
        return self.answers.pop(0)


def pairs(estimator, votes=(), both=True, classes=(0, 1)):
    first, second = np.array([[1.0, 0.2], [1.0, 0.9]]), np.array([[0.0, 0.2], [0.0, 0.9]])
    known = None if classes is None else np.array(classes)
    return FoundPairs(first, second, both, estimator, Votes(*votes), known)


def test_majority_counts_the_votes_on_both_twins():
    first = [np.array([1, 0]), np.array([1, 0]), np.array([0, 0])]
    second = [np.array([0, 1]), np.array([0, 1]), np.array([0, 1])]
    # On the first twin 2 of 3 say 1; on both together 2 of 6.
    assert majority_label(pairs(None, (first,), both=False)).tolist() == [1, 0]
    assert majority_label(pairs(None, (first, second))).tolist() == [0, 0]
    assert majority_label(pairs(None, (first, second), classes=None)).tolist() == [1 / 3, 1 / 2]


def test_average_of_the_models_own_answers(models):
    model = models.Proba(lambda X: 0.6 * X[:, 0] + 0.5 * X[:, 1])
    # 0.7 and 0.1 are 0.4 on average, 1.05 and 0.45 are 0.75
    assert average_label(pairs(model)).tolist() == [0, 1]
    scores = models.Decision(lambda X: X[:, 0] - X[:, 1])
    assert average_label(pairs(scores)).tolist() == [1, 0]
    line = models.Regressor(lambda X: X[:, 0] + X[:, 1])
    assert average_label(pairs(line, classes=None)).tolist() == pytest.approx([0.7, 1.4])
    # A model that gives labels alone has nothing to average: the ensemble is asked.
    silent = models.LabelsOnly(lambda X: (X[:, 0] > 0).astype(int))
    assert average_label(pairs(silent, ([np.array([1, 1])], [np.array([1, 0])])))[0] == 1


def test_opposite_of_what_the_model_says(models):
    model = models.LabelsOnly(lambda X: (X[:, 0] > 0).astype(int))
    assert opposite_label(pairs(model)).tolist() == [0, 0]
    line = models.Regressor(lambda X: X[:, 0] + X[:, 1])
    assert opposite_label(pairs(line, classes=None)).tolist() == [0.2, 0.9]
