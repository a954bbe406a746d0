"""Measures of inputs: how diverse they are, and how plausible."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils import check_random_state

from skfairtest._threads import one_thread
from skfairtest._typing import Floats
from skfairtest.base import BaseAuditor
from skfairtest.oracle._oracle import Oracle
from skfairtest.space._plausible.judge import Plausibility
from skfairtest.space._space import InputSpace

#: Rows on the smaller side that are needed to cross-validate, and on the other side for each.
LEAST_ROWS = 10
MOST_TIMES = 3
N_FOLDS = 5


def measure_diversity(
    auditor: BaseAuditor,
    *,
    n_compared: int = 5000,
    n_leaves: int = 1000,
    n_inputs: int = 20_000,
    random_state: Any = None,
) -> pd.Series:
    """Measure how diverse the discriminatory inputs of a fitted auditor are.

    Parameters
    ----------
    auditor : BaseAuditor
        A fitted auditor; its estimator is asked about `n_inputs` inputs.
    n_compared : int, default=5000
        Discriminatory inputs that are compared: a random choice of those that the auditor keeps.
        More of them reach more leaves, so compare auditors by equal numbers.
    n_leaves : int, default=1000
        Largest number of leaves of the reference tree.
    n_inputs : int, default=20000
        Uniform inputs that the tree is fitted on, with the model's outputs as targets.
    random_state : int, RandomState or None, default=None
        Seed. With equal seeds, auditors of one model and domain share their reference tree.

    Returns
    -------
    Series
        `found`: unique discriminatory inputs; `success`: their share among all inputs; `compared`:
        how many were compared; `paths`: share of the reference tree's leaves that they reach;
        `distance`: mean distance of two of them, averaged over the free columns, each scaled by its
        domain.

    Notes
    -----
    Beyond 32 MB an auditor keeps only the discriminatory inputs with the largest disparities
    (`discriminatory_inputs_` has fewer rows than `n_found_`); the measures then describe these,
    which lie closer together than all do. Limit such runs by `max_found`.

    References
    ----------
    .. [1] Zhao, Z., Toda, T., & Kitamura, T. (2024). Approximation-guided fairness testing through
       discriminatory space analysis. ASE, 1007-1018. (Diversity by the paths of a tree.)

    Examples
    --------
    >>> from skfairtest import RandomAuditor
    >>> from skfairtest.comparison import measure_diversity
    >>> from skfairtest.datasets import make_biased_classification
    >>> data = make_biased_classification(random_state=0)
    >>> auditor = RandomAuditor(data.estimator, max_queries=4000, random_state=0).fit(data.data)
    >>> measures = measure_diversity(auditor, n_compared=500, random_state=0)
    >>> measures.index.tolist()
    ['found', 'success', 'compared', 'paths', 'distance']
    >>> bool(0 < measures["paths"] <= 1)
    True
    """
    for name, value in (("n_compared", n_compared), ("n_leaves", n_leaves), ("n_inputs", n_inputs)):
        if not isinstance(value, (int, np.integer)) or value < 2:
            raise ValueError(f"{name} must be a whole number of at least 2; got {value!r}.")
    seed = check_random_state(random_state).randint(2**31 - 1)
    rng = np.random.default_rng(seed)
    space = auditor.space_
    uniform = space.sample(n_inputs, rng)
    oracle = Oracle(auditor.estimator_, space, response_method=auditor.response_method)
    tree = DecisionTreeRegressor(max_leaf_nodes=n_leaves, random_state=seed)
    tree.fit(uniform[:, space.free], oracle.respond(uniform))
    inputs = space.encode(auditor.discriminatory_inputs_)[:, space.free]
    inputs = inputs[rng.permutation(len(inputs))[:n_compared]]
    paths = distance = np.nan
    if len(inputs):
        paths = len(np.unique(tree.apply(inputs))) / tree.get_n_leaves()
    if len(inputs) > 1:
        spread = (space.domain.high - space.domain.low)[space.free]
        scaled = inputs / np.where(spread > 0, spread, 1.0)
        first, step = rng.integers(len(inputs), size=20_000), rng.integers(1, len(inputs), 20_000)
        second = (first + step) % len(inputs)
        distance = float(np.abs(scaled[first] - scaled[second]).mean())
    values = {
        "found": auditor.n_found_,
        "success": auditor.discrimination_rate_,
        "compared": len(inputs),
        "paths": paths,
        "distance": distance,
    }
    return pd.Series(values, dtype=float)


@dataclass(frozen=True)
class PlausibilityMeasures:
    """What `measure_plausibility` measured.

    Attributes
    ----------
    n_inputs : int
        Inputs that were looked at.
    accepted : float
        Share of them that the detector accepts.
    distance : float
        Median distance to the nearest row: the mean over the columns of ``|difference| / range``,
        0 or 1 for categories.
    distance_of_rows : float
        The same for the rows that the inputs are compared with; NaN without any.
    two_sample_auc : float
        Area under the ROC curve of a classifier that separates the inputs from those rows: 0.5 if
        it cannot, 1 if it always can; NaN without rows, or with fewer than ten.
    """

    n_inputs: int
    accepted: float
    distance: float
    distance_of_rows: float
    two_sample_auc: float


def measure_plausibility(
    inputs: Any,
    X: Any,
    rows: Any = None,
    *,
    sensitive_features: Sequence[Any] | None = None,
    plausible: Any = "auto",
    random_state: int = 0,
) -> PlausibilityMeasures:
    """Measure how plausible inputs are: how much they look like the rows of a table.

    There are three measures, from the weakest to the strongest: the share that an outlier detector
    accepts, the distance to the nearest row, and whether a classifier that is trained afterwards
    can tell them from real rows. The discriminatory inputs of a tester are a selection: compare
    them with real rows that discriminate, and that neither the model nor the tester has seen.

    Parameters
    ----------
    inputs : array or DataFrame of shape (n_inputs, n_features)
        Inputs, such as ``auditor.discriminatory_inputs_``.
    X : array or DataFrame of shape (n_rows, n_features)
        Rows that show what exists: the detector learns from them, and distances are to them.
    rows : array or DataFrame, default=None
        Real rows to tell the inputs from, such as ``auditor.audit_rows(X_test).discriminatory``;
        they should not be among X.
    sensitive_features : sequence of str or int, default=None
        Columns of X that `InputSpace.fit` is to take as sensitive; here it does not matter
        which.
    plausible : "auto", float or outlier detector, default="auto"
        The detector, as in `InputSpace`.
    random_state : int, default=0
        Seed of the classifier.

    Returns
    -------
    PlausibilityMeasures
        The measures.

    References
    ----------
    .. [1] Xiao, Y., Liu, A., Li, T., & Liu, X. (2023). Latent Imitator: Generating natural
       individual discriminatory instances for black-box fairness testing. ISSTA, 829-841.

    Examples
    --------
    >>> import numpy as np
    >>> from skfairtest.comparison import measure_plausibility
    >>> rng = np.random.default_rng(0)
    >>> def people(n):
    ...     age = rng.integers(20, 70, n)
    ...     return np.column_stack([rng.integers(0, 2, n), age, age - rng.integers(16, 20, n)])
    >>> X = people(600)
    >>> anything = np.column_stack([rng.integers(0, 2, 300), rng.integers([20, 0], 70, (300, 2))])
    >>> measured = measure_plausibility(anything, X, people(300))
    >>> measured.two_sample_auc > 0.9 and measured.distance > 3 * measured.distance_of_rows
    True
    >>> measure_plausibility(people(300), X, people(300)).two_sample_auc < 0.65
    True
    """
    space = InputSpace().fit(X, sensitive_features)
    judge = Plausibility(plausible, space.layout, space.domain, space.data)
    Z = space.encode(inputs)
    distance = float(np.median(judge.nearest(Z)[1])) if len(Z) else np.nan
    of_rows = auc = np.nan
    if rows is not None and len(rows):
        real = space.encode(rows)
        of_rows = float(np.median(judge.nearest(real)[1]))
        auc = two_sample_auc(Z, real, random_state=random_state)
    return PlausibilityMeasures(
        n_inputs=len(Z),
        accepted=float(judge.accepts(Z).mean()) if len(Z) else np.nan,
        distance=distance,
        distance_of_rows=of_rows,
        two_sample_auc=auc,
    )


@one_thread()
def two_sample_auc(first: Floats, second: Floats, *, random_state: int = 0) -> float:
    """Measure how well a classifier tells two samples apart: the area under its ROC curve.

    This is the statistic of a classifier two-sample test [1]_, with histogram boosting that is
    cross-validated: 0.5 if the samples are alike, 1 if they never are. From the larger sample at
    most three times as many rows are taken as the smaller one has.

    Parameters
    ----------
    first, second : ndarray of shape (n, n_features)
        The samples, as numbers.
    random_state : int, default=0
        Seed.

    Returns
    -------
    float
        The area; NaN if a sample has fewer than ten rows.

    References
    ----------
    .. [1] Lopez-Paz, D., & Oquab, M. (2017). Revisiting classifier two-sample tests. ICLR.

    Examples
    --------
    >>> import numpy as np
    >>> from skfairtest.comparison import two_sample_auc
    >>> rng = np.random.default_rng(0)
    >>> two_sample_auc(rng.normal(size=(200, 2)), rng.normal(size=(200, 2)) + 5) > 0.99
    True
    """
    rng = np.random.default_rng(random_state)
    n = min(len(first), len(second))
    if n < LEAST_ROWS:
        return np.nan
    first, second = (
        sample[rng.permutation(len(sample))[: MOST_TIMES * n]] for sample in (first, second)
    )
    Z, side = np.concatenate([first, second]), np.repeat([0, 1], [len(first), len(second)])
    # Leaves of a tenth of a small sample, else nothing is learned from it.
    model = HistGradientBoostingClassifier(
        min_samples_leaf=int(np.clip(n // 10, 3, 20)), max_iter=60, early_stopping=False,
        class_weight="balanced", random_state=random_state,
    )  # fmt: skip
    folds = StratifiedKFold(min(N_FOLDS, n), shuffle=True, random_state=random_state)
    scores = cross_val_predict(model, Z, side, cv=folds, method="decision_function")
    return float(roc_auc_score(side, scores))
