"""fairlearn's mitigations as estimators that can be compared with ours; fairlearn is optional."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
from scipy import sparse
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.pipeline import Pipeline

from skfairtest._typing import Floats
from skfairtest.group._rules.sensitive_groups import SensitiveGroups
from skfairtest.space._containers import make_container


def has_fairlearn() -> bool:
    """Whether fairlearn is installed."""
    return find_spec("fairlearn") is not None


def correlation_remover(estimator: Any, X: Any, places: list[int]) -> Any:
    """The estimator behind fairlearn's `CorrelationRemover`, for a table of numbers.

    References
    ----------
    .. [1] Weerts, H., Dudík, M., Edgar, R., Jalali, A., Lutz, R., & Madaio, M. (2023). Fairlearn:
       assessing and improving fairness of AI systems. JMLR 24(257), 1-8.
    """
    from fairlearn.preprocessing import CorrelationRemover

    ids = places if isinstance(X, np.ndarray) else [make_container(X).names[j] for j in places]
    remover = CorrelationRemover(sensitive_feature_ids=ids)
    return Pipeline([("remover", remover), ("model", estimator)])


class RandomizedClassifier(ClassifierMixin, BaseEstimator):
    """The `ExponentiatedGradient` of fairlearn as a classifier that answers the same every time.

    What fairlearn trains is a mixture of classifiers, of which it draws one for each row and call.
    Here the probability is the mixture's, and the draw is made once for each person: from a hash of
    the columns that are not sensitive. Rates and errors are expected to be those of the mixture,
    and twins, who are the same person in the eyes of the draw, are not told apart by chance.

    Parameters
    ----------
    estimator : estimator
        Classifier whose ``fit`` takes ``sample_weight``.
    constraint : {"parity", "odds"}
        Demographic parity or equalized odds.
    groups : SensitiveGroups
        Tells the groups from the rows.
    places : list of int
        Positions of the sensitive columns.
    favourable : int
        Place of the favourable class among the two classes.

    References
    ----------
    .. [1] Agarwal, A., Beygelzimer, A., Dudík, M., Langford, J., & Wallach, H. (2018). A reductions
       approach to fair classification. ICML, 60-69.
    """

    def __init__(
        self,
        estimator: Any = None,
        constraint: str = "parity",
        groups: SensitiveGroups | None = None,
        places: Any = (),
        favourable: int = 1,
    ) -> None:
        self.estimator = estimator
        self.constraint = constraint
        self.groups = groups
        self.places = places
        self.favourable = favourable

    def fit(self, X: Any, y: Any) -> RandomizedClassifier:
        """Train the mixture."""
        from fairlearn.reductions import DemographicParity, EqualizedOdds, ExponentiatedGradient

        assert self.groups is not None
        self.classes_ = np.unique(y)
        bound = EqualizedOdds() if self.constraint == "odds" else DemographicParity()
        wanted = np.asarray(y == self.classes_[self.favourable]).astype(int)
        # The steps before the model are trained once, and not in every round: what is added to
        # the rounds are weights, which only the model is given.
        self.steps_, last = None, clone(self.estimator)
        if isinstance(last, Pipeline) and len(last) > 1:
            self.steps_, last = last[:-1].fit(X, y), last[-1]
        groups = self.groups.names(X).astype(str)
        # The weights are fairlearn's own: it gives them to the last step by its name.
        inner, names = last, []
        while isinstance(inner, Pipeline):
            names.append(inner.steps[-1][0])
            inner = inner.steps[-1][1]
        # Rounds of `ExponentiatedGradient`, each of which trains two models or more. Of fairlearn's
        # 50 the later ones change little; 5 leave most of the difference.
        self.mixture_ = ExponentiatedGradient(
            last, bound, max_iter=10, sample_weight_name="__".join([*names, "sample_weight"])
        )
        with config_context(enable_metadata_routing=False):
            self.mixture_.fit(self._prepared(X), wanted, sensitive_features=groups)
        return self

    def _prepared(self, X: Any) -> Any:
        """What the last step is given."""
        if self.steps_ is None:
            return X
        prepared = self.steps_.transform(X)
        # fairlearn takes no sparse tables.
        return prepared.toarray() if sparse.issparse(prepared) else prepared

    def predict_proba(self, X: Any) -> Floats:
        """Probabilities of the mixture, shape (n_rows, 2)."""
        weights = self.mixture_.weights_
        share, prepared = np.zeros(len(X)), self._prepared(X)
        for place, weight in weights.items():
            if weight > 0:
                share += weight * np.asarray(self.mixture_.predictors_[place].predict(prepared))
        share = np.clip(share, 0, 1)
        columns = [1 - share, share] if self.favourable == 1 else [share, 1 - share]
        return np.column_stack(columns)

    def predict(self, X: Any) -> Any:
        """One class for each row, drawn with these probabilities; twins share the draw."""
        favoured = self.predict_proba(X)[:, self.favourable] > self._draws(X)
        return self.classes_[np.where(favoured, self.favourable, 1 - self.favourable)]

    def _draws(self, X: Any) -> Floats:
        if isinstance(X, np.ndarray):
            frame = pd.DataFrame(X)
        else:
            frame = nw.from_native(X, eager_only=True).to_pandas()
        non_sensitive = [j for j in range(frame.shape[1]) if j not in self.places]
        hashed = pd.util.hash_pandas_object(frame.iloc[:, non_sensitive], index=False).to_numpy()
        return hashed / 2.0**64
