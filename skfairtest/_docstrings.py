"""Documentation that all auditors share, written once and put into their docstrings."""

from __future__ import annotations

from typing import TypeVar

T = TypeVar("T", bound=type)

_PARAMETERS = """estimator : estimator, default=None
    Regressor, classifier or pipeline to audit. Fitted, or fitted by ``fit(X, y)``. None
    makes a template for scorers and retrainers, which set it.
sensitive_features : "auto", str, int or list of these, default="auto"
    Sensitive columns by name or position. "auto" takes the columns whose names are common
    protected attributes (sex, gender, race, age, religion, ...); `sensitive_features_`
    tells which.
threshold : float, default=None
    An input is discriminatory when its disparity exceeds the threshold (output units of a
    regressor, probability or score units of a classifier). None: labels differ, for a
    regressor: outputs differ.
response_method : {"auto", "predict_proba", "decision_function", "predict"}, default="auto"
    How a classifier is asked. "auto" takes the first that it has, in this order.
bounds : dict of column to (low, high), default=None
    Closed domains of numeric columns; by default the range of the values in X.
categories : dict of column to list, default=None
    Domains of categorical columns; by default the values in X. A numeric column that is
    named here becomes categorical.
steps : dict of column to float, default=None
    Length of one step; by default 1 for integers, a hundredth of the domain for reals.
constraint : callable, default=None
    Takes rows in the container of X and returns a boolean for each: which can exist.
space : InputSpace, default=None
    Which inputs exist, in place of `bounds`, `categories`, `steps`, `constraint` and
    `sensitive_features`; X then gives the rows of data alone. None: learned from X.
max_queries : int, default=20_000
    Budget in queries: one query is one row for which the model is asked. At least 2, or None.
max_time : float, default=None
    Budget in seconds; looked at after each batch.
max_found : int, default=None
    Ends the run after the batch in which so many unique discriminatory inputs were found.
max_inputs : int, default=None
    Ends the run after so many distinct inputs.
n_jobs : int, default=None
    Parts of a large batch that are predicted at the same time, in threads unless
    `joblib.parallel_config` says otherwise; None is 1, or what `joblib.parallel_config` says.
    The result does not depend on it.
random_state : int, RandomState or Generator, default=None
    Seed. The same seed gives the same result.
verbose : int, default=0
    1 prints a line each tenth of the budget, 2 each hundredth."""

_ATTRIBUTES = """fairness_degree_ : float
    Largest disparity found: a lower bound of the true one. Output units of a regressor;
    probability for a classifier with ``predict_proba``, score units with
    ``decision_function``, else 0 or 1.
worst_case_ : array or DataFrame of shape (2, n_features), or None
    The two twins that show it, the larger output first.
worst_case_outputs_ : ndarray of shape (2,), or None
    The model's outputs for them.
worst_case_class_ : object
    The class whose probability or score they are: the positive class of a binary
    classifier.
discriminatory_inputs_, counterfactuals_ : array or DataFrame of shape (n_kept, n_features)
    Unique discriminatory inputs, worst first, and their twins. Where they are too many for
    32 MB, the worst are kept.
disparities_ : ndarray of shape (n_kept,)
    Difference between the outputs for each input and its twin.
n_found_ : int
    Unique discriminatory inputs found, kept or not.
discrimination_rate_ : float
    Share of the distinct generated inputs that discriminate. What a directed search
    generates is no sample of the domain: only `RandomAuditor` estimates the domain's own
    share.
n_inputs_, n_queries_, seconds_ : int, int, float
    The cost: distinct inputs, queries, seconds. (Exact up to 5.8 million
    inputs; beyond that, an input that comes again may be counted again.)
history_ : DataFrame
    The course of the run: queries, seconds, inputs, found, degree.
stop_reason_, stop_kind_ : str
    What ended the run: in words, and as one of "max_queries", "max_time", "max_found",
    "max_inputs", "exhausted", "stalled", "callback", "complete", "open" (a bracket that could
    not be closed), "interrupted" and "failed".
on_data_degree_, on_data_rate_, on_data_discriminatory_ : float, float, array or DataFrame
    The same for the rows of X as they are, every one flipped. Worked out on first access;
    the queries for it are counted in `n_data_queries_`, not in `n_queries_`.
sensitive_features_ : list
    The sensitive columns.
response_ : str
    How the estimator was asked: "regression", "predict_proba", "decision_function" or
    "labels".
space_ : InputSpace
    The inputs that exist.
estimator_ : estimator
    What was audited."""


def document(cls: T) -> T:
    """Put the shared parameters and attributes into a class's docstring."""
    doc = cls.__doc__ or ""
    for mark, text in (("{parameters}", _PARAMETERS), ("{attributes}", _ATTRIBUTES)):
        doc = doc.replace(mark, text.replace("\n", "\n    "))
    cls.__doc__ = doc
    return cls
