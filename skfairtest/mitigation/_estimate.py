"""How much a model discriminates: a share of sampled inputs with an interval."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from skfairtest._typing import Ints, is_real
from skfairtest._validation import make_generator, table_or_chunks
from skfairtest.base import BaseAuditor
from skfairtest.mitigation._shares import draw_crossings, draw_uniform, judge
from skfairtest.space._space import InputSpace


@dataclass(frozen=True)
class DiscriminationEstimate:
    """Share of discriminatory inputs in a sample of the domain; made by `estimate_discrimination`.

    Attributes
    ----------
    rate : float
        Share of the sampled inputs whose twins are treated differently.
    low, high : float
        Interval of the share: Wilson's, and near the data one that is about rows.
    n_samples : int
        Inputs in the sample.
    n_found : int
        How many of them discriminate.
    degree : float
        Largest disparity in the sample: a lower bound of the fairness degree.
    confidence : float
        Confidence of the interval.
    """

    rate: float
    low: float
    high: float
    n_samples: int
    n_found: int
    degree: float
    confidence: float


def estimate_on(
    estimator: Any,
    space: InputSpace,
    X: Any,
    *,
    cluster_ids: Ints | None = None,
    confidence: float = 0.95,
    settings: dict[str, Any] | None = None,
) -> DiscriminationEstimate:
    """The estimate on a table of inputs, each compared with all its twins.

    `cluster_ids` say which row an input is made of, where inputs are made of rows.
    """
    judged = judge(estimator, space, X, settings or {}, most=None)._replace(cluster_ids=cluster_ids)
    n_found, degree = int(judged.differs.sum()), float(judged.disparity.max(initial=0.0))
    rate, low, high = 0.0, 0.0, 1.0  # where there are no inputs, nothing is known
    if len(X):
        rate, low, high = judged.measure(mean=False, confidence=confidence)
    return DiscriminationEstimate(rate, low, high, len(X), n_found, degree, confidence)


def estimate_discrimination(
    estimator: Any,
    X: Any,
    *,
    sensitive_features: Any = "auto",
    n_samples: int = 10_000,
    confidence: float = 0.95,
    near: str | None = None,
    threshold: float | None = None,
    response_method: str = "auto",
    space: InputSpace | None = None,
    n_jobs: int | None = None,
    random_state: Any = None,
) -> DiscriminationEstimate:
    """Estimate the share of discriminatory inputs by the law of large numbers.

    Parameters
    ----------
    estimator : estimator
        Fitted regressor, classifier or pipeline.
    X : array-like or DataFrame of shape (n_rows, n_features), or chunks
        Rows that show which inputs exist, or such a table in chunks, as for `InputSpace.fit`.
        Chunks are read once, and rows are then drawn from a random sample of 100,000 of them.
    sensitive_features : "auto", str, int or list of these, default="auto"
        Sensitive columns by name or position; "auto" takes the names of common ones.
    n_samples : int, default=10_000
        Inputs in the sample. The model is asked about each with every combination of sensitive
        values.
    confidence : float, default=0.95
        Confidence of the interval. For inputs near the data the interval is about the rows: more
        inputs than there are rows do not make it narrower.
    near : {None, "data", "rows"}, default=None
        None draws inputs uniformly from the domain. "data" draws rows of X, each crossed with one
        of its neighbours, that is, half of its values replaced by the neighbour's: inputs that
        resemble people in the table. "rows" takes the rows of X as they are, all of them up to
        `n_samples`.
    threshold, response_method, space, n_jobs
        As for every auditor.
    random_state : int, RandomState or Generator, default=None
        Seed.

    Returns
    -------
    DiscriminationEstimate
        Rate, its interval, sample size, and the largest disparity of the sample.

    Raises
    ------
    ValueError, TypeError
        For numbers outside their ranges and input that has no domain.
    EstimatorFailedError
        If the estimator fails, or gives a row other answers when it is asked again.

    Notes
    -----
    One large sample takes the place of the paper's 400 trials of 1,000 inputs: its mean is the
    same estimate, and its interval is honest at 0, where the spread of the trials has no width.
    The rate is a share of inputs, not of people: of the uniform domain, most inputs may be
    unlike anybody. An input for which the constraint leaves no two twins counts as not
    discriminatory.

    Uniform inputs and rows are independent, and have Wilson's interval [2]_. Inputs near the data
    that are made of the same row are not: they say how the model treats people like that one, and
    another sample of rows would give another rate. Their interval is Clopper and Pearson's for the
    effective number of rows [3]_, which is never larger than the number of rows.

    References
    ----------
    .. [1] Udeshi, S., Arora, P., & Chattopadhyay, S. (2018). Automated directed fairness testing.
       ASE, 98-108. https://doi.org/10.1145/3238147.3238165
    .. [2] Wilson, E. B. (1927). Probable inference, the law of succession, and statistical
       inference. Journal of the American Statistical Association, 22(158), 209-212.
    .. [3] Korn, E. L., & Graubard, B. I. (1998). Confidence intervals for proportions with small
       expected number of positive counts estimated from survey data. Survey Methodology, 24(2),
       193-201.

    Examples
    --------
    >>> from skfairtest import estimate_discrimination
    >>> from skfairtest.datasets import make_biased_classification
    >>> data = make_biased_classification(random_state=0)
    >>> result = estimate_discrimination(data.estimator, data.data, random_state=0)
    >>> result.n_samples
    10000
    >>> bool(result.low <= result.rate <= result.high)
    True
    """
    check_sample(n_samples, confidence)
    if near not in (None, "data", "rows"):
        raise ValueError(
            "near must be None (uniform inputs), 'data' (rows of X crossed with neighbours) or "
            f"'rows' (rows of X); got {near!r}."
        )
    rng = make_generator(random_state)
    template = BaseAuditor(sensitive_features=sensitive_features, space=space)
    space = template._make_space(table_or_chunks(template, X))
    cluster_ids = None
    if near is None:
        inputs = space.decode(draw_uniform(space, n_samples, rng))
    elif near == "data":
        Z, cluster_ids = draw_crossings(space, n_samples, rng)
        inputs = space.decode(Z)
    else:
        inputs = space.rows(np.sort(rng.permutation(len(space.data))[:n_samples]))
    settings = {"threshold": threshold, "response_method": response_method, "n_jobs": n_jobs}
    return estimate_on(
        estimator, space, inputs, cluster_ids=cluster_ids, confidence=confidence, settings=settings
    )


def check_sample(n_samples: Any, confidence: Any) -> None:
    """See that a sample size is a positive whole number, and a confidence lies within (0, 1)."""
    if not is_real(n_samples) or n_samples < 1 or n_samples != int(n_samples):
        raise ValueError(
            f"n_samples must be a whole number of at least 1; got {n_samples!r}. 10_000 tell a "
            "share of 1% to about 0.2 points."
        )
    if not is_real(confidence) or not 0 < confidence < 1:
        raise ValueError(f"confidence must be a number in (0, 1); got {confidence!r}.")
