"""How models make probabilities of scores."""

from __future__ import annotations

from typing import Any

from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression, SGDClassifier


def probability_link(model: Any, n_scores: int, hint: str) -> str:
    """How a linear model makes probabilities of its scores.

    - `n_scores`: how many scores it has: one for two classes.
    - the result {"softmax", "sigmoid", "clipped"}: sigmoids of several classes are divided by their
      sum.
    - `ValueError`: if it is not known.
    """
    if isinstance(model, SGDClassifier):
        if model.loss == "modified_huber" and n_scores == 1:
            return "clipped"
        if model.loss == "log_loss":
            return "sigmoid"
    if isinstance(model, LinearDiscriminantAnalysis):
        return "sigmoid" if n_scores == 1 else "softmax"
    if isinstance(model, LogisticRegression):
        wish = getattr(model, "multi_class", "auto")
        if wish == "multinomial":
            return "softmax"
        one_a_class = n_scores == 1 or wish == "ovr" or model.solver == "liblinear"
        return "sigmoid" if one_a_class else "softmax"
    raise ValueError(
        f"It is not known how {type(model).__name__} computes its probabilities. Use "
        f"response_method='decision_function'. {hint}"
    )
