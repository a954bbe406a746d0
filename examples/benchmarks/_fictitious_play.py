"""Subgroup fairness by fictitious play, to stand beside our own mitigation in the benchmarks.

Written from the description in Kearns, Neel, Roth & Wu, "Preventing Fairness Gerrymandering:
Auditing and Learning for Subgroup Fairness", ICML 2018 (arXiv:1711.05144). A learner and an auditor
play against each other. The auditor looks for the group, among those that a linear function of the
sensitive attributes marks out, whose rate of positive decisions is furthest from everybody's, large
groups counting more. The learner minimises its errors and what the auditor charges for the groups
found so far. Each answers the average of what the other has played, and the result is a random
choice among all models that the learner played.

The paper assumes that both can solve cost-sensitive classification, and takes two linear
regressions where they are to run on a computer: `CostSensitiveRegression`.
"""

from numbers import Integral, Real

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin, clone
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.dummy import DummyClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures, StandardScaler
from sklearn.utils.validation import check_is_fitted

#: Decisions that count for a group's rate: of everybody, or of those whose true label is negative.
RATES = ("selection", "false_positive")


def encoder():
    """Names as indicator columns, numbers scaled."""
    names = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    return make_column_transformer(
        (names, make_column_selector(dtype_exclude="number")),
        (numbers, make_column_selector(dtype_include="number")),
    )


def as_table(X):
    """A data frame of any table; columns of an array get their positions as names."""
    return X if isinstance(X, pd.DataFrame) else pd.DataFrame(np.asarray(X))


class CostSensitiveRegression(ClassifierMixin, BaseEstimator):
    """Two linear regressions, of what 0 costs and of what 1 costs; the cheaper is predicted.

    ``fit(X, costs)`` takes costs of shape (n_rows, 2), one column a class.
    """

    def fit(self, X, costs):
        self.classes_ = np.array([0, 1])
        self.regression_ = LinearRegression().fit(X, costs)
        return self

    def predict(self, X):
        costs = self.regression_.predict(X)
        return (costs[:, 1] < costs[:, 0]).astype(int)


class LinearGroupAuditor(TransformerMixin, BaseEstimator):
    """The group, marked out by a linear function, whose rate of positive decisions stands out most.

    ``fit(X, decisions, y)`` takes the sensitive attributes, the decisions (0 or 1, or the
    probability of 1) and, for ``rate="false_positive"``, the true labels. ``predict`` tells who
    belongs to the group.

    A group and all others have the same violation, so one regression serves both signs. The oracle
    is a heuristic: a linear regression sees no group at all where no single column is correlated
    with the decisions (blue men and green women, say); with ``degree=2`` products of columns count
    as columns, and it sees that one.

    Parameters
    ----------
    rate : {"selection", "false_positive"}
        Whose decisions count: everybody's, or of those with a negative label.
    degree : int
        Of the polynomial of the attributes; 1 is a linear function.

    Attributes
    ----------
    size_ : float
        Share of the group among the rows that count.
    difference_ : float
        Rate of positive decisions in the group minus the rate outside of it.
    violation_ : float
        What the paper bounds by gamma: the share of all rows that are in the group and count, times
        the distance of the group's rate from everybody's.
    charge_ : ndarray of shape (n_rows,)
        What a positive decision adds to the violation, one value a row, times the number of rows:
        less than 0 where it lowers it.
    """

    def __init__(self, rate="selection", degree=1):
        self.rate = rate
        self.degree = degree

    def fit(self, X, decisions, y=None):
        if self.rate not in RATES:
            raise ValueError(f"rate must be one of {RATES}; got {self.rate!r}.")
        if self.rate == "false_positive" and y is None:
            raise ValueError('rate="false_positive" counts rows with a negative label: give y.')
        self.encoder_ = make_pipeline(
            encoder(), PolynomialFeatures(self.degree, include_bias=False)
        )
        Z = self.encoder_.fit_transform(as_table(X))
        return self._audit(Z, np.asarray(decisions, dtype=float), y)

    def _audit(self, Z, decisions, y):
        """The same with attributes that are encoded."""
        counts = np.full(len(Z), True) if self.rate == "selection" else np.asarray(y) == 0
        # Kept as the row's own share: all of them add up to the violation.
        centred = np.where(counts, decisions - decisions[counts].mean(), 0.0)
        costs = np.column_stack([np.zeros(len(Z)), centred])
        self.oracle_ = CostSensitiveRegression().fit(Z[counts], costs[counts])
        inside = self.oracle_.predict(Z).astype(bool)
        self.size_ = inside[counts].mean()
        # Who is in the group gets less than everybody: the oracle wants the costs to be low.
        loss = -np.mean(centred * inside)
        self.charge_ = np.where(counts, self.size_ - inside, 0.0)
        if loss < 0:
            self.charge_ = -self.charge_
        self.violation_ = abs(loss)
        few = inside[counts].all() or not inside[counts].any()
        self.difference_ = (
            0.0 if few else decisions[counts & inside].mean() - decisions[counts & ~inside].mean()
        )
        return self

    def predict(self, X):
        check_is_fitted(self)
        return self.oracle_.predict(self.encoder_.transform(as_table(X)))

    def transform(self, X):
        return self.predict(X)[:, None]

    def measure(self, X, decisions, y=None):
        """Violation and difference of the group that was found, among other rows and decisions."""
        inside = self.predict(X).astype(bool)
        decisions = np.asarray(decisions, dtype=float)
        counts = np.full(len(inside), True) if self.rate == "selection" else np.asarray(y) == 0
        member, other = decisions[counts & inside], decisions[counts & ~inside]
        if not len(member) or not len(other):
            return 0.0, 0.0
        share = (counts & inside).mean()
        return share * abs(member.mean() - decisions[counts].mean()), member.mean() - other.mean()


class FictitiousPlayClassifier(ClassifierMixin, BaseEstimator):
    """Learner against auditor, for two classes; the second of ``classes_`` is the positive one.

    Nothing here is random but the decisions of `draw`.

    Parameters
    ----------
    estimator : classifier with ``sample_weight``, or None
        Learns from encoded rows. A row counts as much as its two decisions differ in cost, and its
        label is the cheaper one. None is the paper's choice, `CostSensitiveRegression`.
    sensitive_features : list
        Columns that the groups are made of. The learner sees all columns.
    gamma : float
        Violations up to this are not charged.
    n_iterations : int
        Rounds, and models of the mixture.
    charge : float
        What one unit of violation costs, in units of the error rate (the paper's C).
    rate, degree
        See `LinearGroupAuditor`.

    Attributes
    ----------
    learners_ : list
        The models. They stand for the paper's distribution over classifiers: ``predict_proba`` is
        the share of them that say yes, ``draw`` decides by it, ``predict`` goes with the majority.
    history_ : DataFrame
        One row a round, of the mixture so far on the training rows: ``violation``, ``difference``
        and ``size`` of the worst group found, ``error``.
    """

    def __init__(
        self,
        estimator=None,
        *,
        sensitive_features,
        gamma=0.01,
        n_iterations=100,
        charge=10.0,
        rate="selection",
        degree=1,
    ):
        self.estimator = estimator
        self.sensitive_features = sensitive_features
        self.gamma = gamma
        self.n_iterations = n_iterations
        self.charge = charge
        self.rate = rate
        self.degree = degree

    def fit(self, X, y):
        if not isinstance(self.n_iterations, Integral) or self.n_iterations < 1:
            raise ValueError(f"n_iterations must be an integer >= 1; got {self.n_iterations!r}.")
        if not isinstance(self.gamma, Real) or not self.gamma >= 0:
            raise ValueError(f"gamma must be a number >= 0; got {self.gamma!r}.")
        X = as_table(X)
        self.classes_, labels = np.unique(y, return_inverse=True)
        if len(self.classes_) != 2:
            raise ValueError(f"y must have two classes; got {self.classes_.tolist()}.")
        self.encoder_ = encoder()
        Z = self.encoder_.fit_transform(X)
        sensitive = X[list(self.sensitive_features)]
        auditor = LinearGroupAuditor(self.rate, self.degree).fit(sensitive, labels, labels)
        attributes = auditor.encoder_.transform(sensitive)
        charges, yes = np.zeros(len(Z)), np.zeros(len(Z))
        self.learners_, rows = [], []
        for done in range(self.n_iterations):
            # The auditor's plays on average; a round in which it found nothing charges nothing.
            costs = (1.0 - 2.0 * labels) + charges / max(done, 1)
            learner = self._answer(Z, costs)
            self.learners_.append(learner)
            yes += learner.predict(Z)
            share = yes / (done + 1)
            auditor._audit(attributes, share, labels)
            if auditor.violation_ > self.gamma:
                charges += self.charge * auditor.charge_
            rows.append({
                "violation": auditor.violation_,
                "difference": auditor.difference_,
                "size": auditor.size_,
                "error": np.abs(share - labels).mean(),
            })  # fmt: skip
        self.history_ = pd.DataFrame(rows)
        return self

    def _answer(self, Z, costs):
        """The learner's model where a positive decision costs so much more than a negative one."""
        if self.estimator is None:
            both = np.column_stack([np.zeros(len(Z)), costs])
            return CostSensitiveRegression().fit(Z, both)
        cheaper = (costs < 0).astype(int)
        if cheaper.min() == cheaper.max():
            return DummyClassifier().fit(Z, cheaper)
        return clone(self.estimator).fit(Z, cheaper, sample_weight=np.abs(costs))

    def predict_proba(self, X):
        check_is_fitted(self)
        Z = self.encoder_.transform(as_table(X))
        share = np.mean([learner.predict(Z) for learner in self.learners_], axis=0)
        return np.column_stack([1 - share, share])

    def predict(self, X):
        return self.classes_[(self.predict_proba(X)[:, 1] > 0.5).astype(int)]

    def draw(self, X, random_state=None):
        """Decisions of one model each row, drawn from the mixture: the paper's classifier."""
        rng = np.random.default_rng(random_state)
        share = self.predict_proba(X)[:, 1]
        return self.classes_[(rng.random(len(share)) < share).astype(int)]
