"""Whether a model can be certified; if not, the reason and a similar model that can be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from skfairtest.whitebox._unsupported import Unsupported

SEARCH = "SBFTAuditor and RandomAuditor search with any estimator, without a bound."
_TREES = "A forest or gradient boosting, such as HistGradientBoosting, is as flexible."
_LINEAR = "LogisticRegression has a linear decision boundary, too."
_COUNTS = (
    "HistGradientBoostingRegressor(loss='poisson') has the same link, and so has "
    "TransformedTargetRegressor(LinearRegression(), func=numpy.log, inverse_func=numpy.exp)."
)
_TARGETS = "MultiOutputClassifier or MultiOutputRegressor fits one model for each target."
#: The nearest alternative to a model that is not supported, by the name of its class.
NEAREST = {
    "AdaBoostClassifier": "GradientBoostingClassifier boosts trees, too.",
    "AdaBoostRegressor": "GradientBoostingRegressor boosts trees, too.",
    "Booster": "Fit the wrapper that has scikit-learn's methods: XGBClassifier or XGBRegressor, "
    "LGBMClassifier or LGBMRegressor.",
    "ClassifierChain": _TARGETS,
    "GammaRegressor": _COUNTS,
    "GaussianNB": _LINEAR,
    "GaussianProcessClassifier": _TREES,
    "GaussianProcessRegressor": _TREES,
    "KNeighborsClassifier": _TREES,
    "KNeighborsRegressor": _TREES,
    "KernelRidge": _TREES,
    "LinearDiscriminantAnalysis": _LINEAR,
    "NeuralNet": "MLPClassifier and MLPRegressor are networks, too.",
    "NuSVC": "Use SVC(kernel='linear') or LinearSVC.",
    "NuSVR": "Use SVR(kernel='linear') or LinearSVR.",
    "OneVsOneClassifier": "Use OneVsRestClassifier.",
    "OutputCodeClassifier": "Use OneVsRestClassifier.",
    "PoissonRegressor": _COUNTS,
    "QuadraticDiscriminantAnalysis": _TREES,
    "RadiusNeighborsClassifier": _TREES,
    "RadiusNeighborsRegressor": _TREES,
    "RegressorChain": _TARGETS,
    "TweedieRegressor": _COUNTS,
}
KINDS = (
    "Linear models, trees, forests, gradient boosting and networks can be certified, and "
    "models around these that calibrate, stack, average or transform the target."
)


@dataclass(frozen=True)
class Support:
    """Answer of `CertifiedAuditor.supports`; it is true if the model can be certified.

    Attributes
    ----------
    supported : bool
        Whether the model and all steps before it can be certified, as far as is known beforehand.
    reason : str
        Why the model cannot be certified; empty if it can.
    nearest : str
        A similar model that can be certified; empty if this one can.

    See Also
    --------
    CertifiedAuditor : Its method `supports` returns this answer.

    Examples
    --------
    >>> from sklearn.linear_model import PoissonRegressor
    >>> from skfairtest import CertifiedAuditor
    >>> support = CertifiedAuditor.supports(PoissonRegressor())
    >>> bool(support), support.reason
    (False, 'PoissonRegressor cannot be certified.')
    >>> print(support.nearest[:51])
    HistGradientBoostingRegressor(loss='poisson') has t
    """

    supported: bool
    reason: str = ""
    nearest: str = ""

    def __bool__(self) -> bool:
        return self.supported

    def __str__(self) -> str:
        return "supported" if self else f"{self.reason} {self.nearest}".strip()


def not_certified(model: Any) -> Unsupported:
    """Return the error about a model that is not supported."""
    name = type(model).__name__
    for base in type(model).__mro__:
        if base.__name__ in NEAREST:
            return Unsupported(f"{name} cannot be certified.", f"{NEAREST[base.__name__]} {SEARCH}")
    return Unsupported(f"{name} cannot be certified.", f"{KINDS} {SEARCH}")


def support_of(error: TypeError | ValueError | None) -> Support:
    """Return the answer for an error that a model raised; None means that it is supported."""
    if error is None:
        return Support(True)
    if isinstance(error, Unsupported):
        return Support(False, error.reason, error.nearest)
    return Support(False, str(error), SEARCH)
