"""FairnessAugmenter: one augmentation as a step of an imbalanced-learn pipeline."""

from __future__ import annotations

import copy
import warnings
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from imblearn.base import BaseSampler
from imblearn.utils import check_target_type
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import assert_all_finite, get_tags

from skfairtest._delegation import PackageBase
from skfairtest._parameters import check_real
from skfairtest._validation import check_table, make_generator
from skfairtest.exceptions import MitigationWarning, users_level
from skfairtest.individual import AequitasAuditor
from skfairtest.mitigation._labelers import Ensemble, check_labeler
from skfairtest.mitigation._retraining.training import seeded
from skfairtest.mitigation._retraining.twin_strategies import TwinStrategy
from skfairtest.space._containers import make_container
from skfairtest.space._rows import stack, take_rows
from skfairtest.space._space import InputSpace

Values = NDArray[Any]


class Lesson(NamedTuple):
    """What an augmentation learns from, and what labels it."""

    X: Any
    y: Values
    classes: Values
    model: Any = None
    ensemble: Any = None


class FairnessAugmenter(PackageBase, BaseSampler):
    """Add the twins that a model treats differently, both under one label.

    One round of `FairnessRetrainer` as a sampler: a clone of the estimator is fitted and audited,
    and the pairs that were found are put below the data. What comes after it in an
    ``imblearn.pipeline.Pipeline`` learns from both. It does not balance classes, and it does not
    check that anything got better: the validation of the pipeline does.

    Parameters
    ----------
    estimator : estimator, default=None
        Classifier or pipeline that is trained and audited. It must be given.
    auditor : auditor, default=None
        Template of a tester of twins, which names the sensitive columns; its estimator and seed are
        set. None takes `AequitasAuditor`, which looks for columns with the names of common
        protected attributes.
    labeler : {"majority", "average", "opposite"} or callable, default="majority"
        Label of each pair. "majority": vote of diverse models. "average": average of the model's
        predictions for the twins. "opposite": the label that the model does not predict. A callable
        gets `FoundPairs` and returns one label per pair.
    share : float, default=0.1
        Largest number of rows to add, as a share of the rows of X. Fewer are added if fewer were
        found.
    random_state : int, RandomState or Generator, default=None
        Seed. The same seed gives the same rows.

    Attributes
    ----------
    estimator_ : estimator
        The model that was audited.
    n_added_ : int
        Number of rows that the last ``fit_resample`` added.
    sampling_strategy_ : str
        Not used: this sampler knows no target counts.
    n_features_in_, feature_names_in_
        As of every estimator.

    See Also
    --------
    FairnessRetrainer : Several rounds, judged on a validation part.

    Notes
    -----
    String columns, categories and missing values stay as they are where the estimator takes them.
    Added rows are inputs that a search came up with; they need not be realistic. A pipeline hands
    the weights of the rows to its later steps as they are, where there are more rows by then: with
    weights take `FairnessRetrainer`, which extends them.

    References
    ----------
    .. [1] Udeshi, S., Arora, P., & Chattopadhyay, S. (2018). Automated directed fairness testing.
       ASE, 98-108. https://doi.org/10.1145/3238147.3238165

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from skfairtest import AequitasAuditor, FairnessAugmenter
    >>> from skfairtest.datasets import make_biased_classification
    >>> data = make_biased_classification(n_samples=300, random_state=0)
    >>> X, y = data.data.select_dtypes("number"), data.target
    >>> X = X.assign(sex=data.data["sex"] == "male")
    >>> auditor = AequitasAuditor(sensitive_features="sex", max_queries=2000)
    >>> augmenter = FairnessAugmenter(DecisionTreeClassifier(random_state=0), auditor, share=0.2,
    ...                               random_state=0)
    >>> X_more, y_more = augmenter.fit_resample(X, y)
    >>> len(X_more) - len(X), augmenter.n_added_
    (60, 60)
    """

    _sampling_type = "bypass"

    #: imbalanced-learn asks for it; values are checked in our own words.
    _parameter_constraints: dict[str, Any] = dict.fromkeys(
        ("estimator", "auditor", "labeler", "share", "random_state"), "no_validation"
    )

    def __init__(
        self,
        estimator: Any = None,
        auditor: Any = None,
        *,
        labeler: Any = "majority",
        share: float = 0.1,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.auditor = auditor
        self.labeler = labeler
        self.share = share
        self.random_state = random_state

    #: The base class reads it; it is no parameter, because no class is balanced.
    sampling_strategy = "auto"

    def _check_X_y(self, X: Any, y: Any, accept_sparse: Any = None) -> tuple[Any, Values, bool]:
        """X in its own container, so that strings and categories survive; y as a vector."""
        if self.estimator is None or isinstance(self.estimator, type):
            raise ValueError(
                f"estimator must be an instance of an estimator; got {self.estimator!r}. Write "
                "FairnessAugmenter(LogisticRegression())."
            )
        check_labeler(self.labeler)
        check_real("share", self.share, "(0, inf)", "It is a share of the rows of X.")
        X = check_table(self, X, {"y": y})
        if not isinstance(X, (np.ndarray, pd.DataFrame)):
            raise TypeError(
                "X must be a NumPy array or a pandas DataFrame, as imbalanced-learn returns no "
                f"other tables; got {type(X).__name__}. Pass X.to_pandas()."
            )
        y, binarized = check_target_type(y, indicate_one_vs_all=True)
        y = np.asarray(y)
        y = y.ravel() if y.ndim == 2 and y.shape[1] == 1 else y
        assert_all_finite(y, input_name="y")
        return X, y, binarized

    def fit(self, X: Any, y: Any, **params: Any) -> Any:
        """Check the input; nothing is learned from it before `fit_resample`.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Their classes.
        **params : dict
            As for `fit_resample`.

        Returns
        -------
        self : object
            The augmenter.

        Raises
        ------
        ValueError, TypeError
            For input that cannot be resampled.
        """
        super().fit(X, y, **params)
        X = check_table(self, X)
        container = make_container(X)
        if not self.__sklearn_tags__().input_tags.allow_nan:
            for place in range(len(container.names)):
                values = container.column_values(X, place)
                if values.dtype.kind == "f":
                    assert_all_finite(values, input_name="X")
        InputSpace().fit(X, None)  # refuses values that are neither numbers nor categories
        return self

    def _fit_resample(self, X: Any, y: Values, **params: Any) -> tuple[Any, Values]:
        classes = np.unique(y)
        if len(classes) < 2:
            raise ValueError(
                f"y must have at least 2 classes; got one class, {classes[0]!r}: no model can be "
                "trained and audited on it."
            )
        rng = make_generator(self.random_state)
        auditor = AequitasAuditor() if self.auditor is None else clone(self.auditor)
        lesson = Lesson(X, y, classes)
        twins = TwinStrategy(lesson, auditor, rng)
        model = seeded(self.estimator, int(rng.integers(2**31 - 1))).fit(X, y, **params)
        self.estimator_ = model
        n_pairs = max(1, int(self.share * len(y) / 2))
        first, second = twins.find(model, n_pairs)
        if not len(first):
            warnings.warn(
                f"{type(auditor).__name__} found no twins that are treated differently: nothing is "
                "added. Expected if the model does not see the sensitive columns, or predicts the "
                "same for all rows; else raise the auditor's budget.",
                MitigationWarning,
                stacklevel=users_level(),
            )
            self.n_added_ = 0
            return X, y
        chosen = np.arange(min(len(first), n_pairs))
        first, second = take_rows(first, chosen), take_rows(second, chosen)
        ensemble = Ensemble(twins.space, X, y, regression=False, seed=int(rng.integers(2**31 - 1)))
        lesson = lesson._replace(model=model, ensemble=ensemble)
        labels = twins.label(lesson, first, second, self.labeler).astype(y.dtype)
        self.n_added_ = 2 * len(chosen)
        return stack([X, first, second]), np.concatenate([y, labels, labels])

    def __sklearn_tags__(self) -> Any:
        """Tags of a sampler; strings and missing values as the estimator takes them."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        if hasattr(self.estimator, "__sklearn_tags__"):
            inner = copy.deepcopy(get_tags(self.estimator)).input_tags
            tags.input_tags.string = inner.string
            tags.input_tags.allow_nan = inner.allow_nan
        return tags
