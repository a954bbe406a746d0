"""How natural inputs are: accepted by a detector, near to real rows, hard to tell from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from skfairtest._threads import one_thread
from skfairtest._typing import Floats
from skfairtest.space._plausible.judge import Plausibility
from skfairtest.space._space import InputSpace

__all__ = ["Naturalness", "naturalness", "told_apart"]

#: Rows on the smaller side that are needed to cross-validate, and on the other side for each.
LEAST_ROWS = 10
MOST_TIMES = 3
N_FOLDS = 5


@dataclass(frozen=True)
class Naturalness:
    """What `naturalness` measured.

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
    told_apart : float
        Area under the ROC curve of a classifier told to separate the inputs from those rows: 0.5
        where it cannot, 1 where it always can; NaN without rows, or with fewer than ten.
    """

    n_inputs: int
    accepted: float
    distance: float
    distance_of_rows: float
    told_apart: float


def naturalness(
    inputs: Any,
    X: Any,
    rows: Any = None,
    *,
    sensitive_features: Sequence[Any] | None = None,
    plausible: Any = "auto",
    random_state: int = 0,
) -> Naturalness:
    """Measure how much inputs look like people.

    Three measures, from the weakest to the strongest: the share that an outlier detector accepts,
    the distance to the nearest row, and whether a classifier that is trained afterwards can tell
    them from real rows. Finds of a tester are a selection: compare them with real rows that
    discriminate, and that neither the model nor the tester has seen.

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
    Naturalness
        The measures.

    References
    ----------
    .. [1] Xiao, Y., Liu, A., Li, T., & Liu, X. (2023). Latent Imitator: Generating natural
       individual discriminatory instances for black-box fairness testing. ISSTA, 829-841.

    Examples
    --------
    >>> import numpy as np
    >>> from skfairtest.comparison import naturalness
    >>> rng = np.random.default_rng(0)
    >>> def people(n):
    ...     age = rng.integers(20, 70, n)
    ...     return np.column_stack([rng.integers(0, 2, n), age, age - rng.integers(16, 20, n)])
    >>> X = people(600)
    >>> anything = np.column_stack([rng.integers(0, 2, 300), rng.integers([20, 0], 70, (300, 2))])
    >>> measured = naturalness(anything, X, people(300))
    >>> measured.told_apart > 0.9 and measured.distance > 3 * measured.distance_of_rows
    True
    >>> naturalness(people(300), X, people(300)).told_apart < 0.65
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
        auc = told_apart(Z, real, random_state=random_state)
    return Naturalness(
        n_inputs=len(Z),
        accepted=float(judge.accepts(Z).mean()) if len(Z) else np.nan,
        distance=distance,
        distance_of_rows=of_rows,
        told_apart=auc,
    )


@one_thread()
def told_apart(first: Floats, second: Floats, *, random_state: int = 0) -> float:
    """Area under the ROC curve of a classifier told to separate two samples.

    Histogram boosting, cross-validated: 0.5 where the samples are alike, 1 where they never are.
    Of the larger sample three times as many rows as the smaller one has are taken, at most.

    Parameters
    ----------
    first, second : ndarray of shape (n, n_features)
        The samples, as numbers.
    random_state : int, default=0
        Seed.

    Returns
    -------
    float
        The area; NaN where a sample has fewer than ten rows.

    Examples
    --------
    >>> import numpy as np
    >>> from skfairtest.comparison import told_apart
    >>> rng = np.random.default_rng(0)
    >>> told_apart(rng.normal(size=(200, 2)), rng.normal(size=(200, 2)) + 5) > 0.99
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
