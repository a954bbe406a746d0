"""Whether a model can be certified: why not, and the nearest thing that can."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from skfairtest.whitebox._unsupported import Unsupported

SEARCH = "SBFTAuditor and RandomAuditor search with any estimator, without a bound."
_TREES = "A forest or gradient boosting, such as HistGradientBoosting, bends as freely."
_LINEAR = "LogisticRegression draws a linear border, too."
_COUNTS = (
    "HistGradientBoostingRegressor(loss='poisson') has the same link, and so has "
    "TransformedTargetRegressor(LinearRegression(), func=numpy.log, inverse_func=numpy.exp)."
)
_TARGETS = "MultiOutputClassifier or MultiOutputRegressor: one model for each target."
#: What is nearest to a model that is not understood, by the name of its class.
NEAREST = {
    "AdaBoostClassifier": "GradientBoostingClassifier adds up trees, too.",
    "AdaBoostRegressor": "GradientBoostingRegressor adds up trees, too.",
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
    "NuSVC": "SVC(kernel='linear') or LinearSVC.",
    "NuSVR": "SVR(kernel='linear') or LinearSVR.",
    "OneVsOneClassifier": "OneVsRestClassifier.",
    "OutputCodeClassifier": "OneVsRestClassifier.",
    "PoissonRegressor": _COUNTS,
    "QuadraticDiscriminantAnalysis": _TREES,
    "RadiusNeighborsClassifier": _TREES,
    "RadiusNeighborsRegressor": _TREES,
    "RegressorChain": _TARGETS,
    "TweedieRegressor": _COUNTS,
}
KINDS = (
    "Certified are linear models, trees, forests, gradient boosting, networks, and "
    "models around these that calibrate, stack, average or transform the target."
)


@dataclass(frozen=True)
class Support:
    """What `CertifiedAuditor.supports` says; true where the model can be certified.

    Attributes
    ----------
    supported : bool
        Whether the kind of the model, and of all steps before it, is understood.
    reason : str
        Why not; empty where it is.
    nearest : str
        The nearest thing that works; empty where it is supported.

    See Also
    --------
    CertifiedAuditor : Its method `supports` makes one.

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
    """The error about a model that is not understood."""
    name = type(model).__name__
    for base in type(model).__mro__:
        if base.__name__ in NEAREST:
            return Unsupported(f"{name} cannot be certified.", f"{NEAREST[base.__name__]} {SEARCH}")
    return Unsupported(f"{name} cannot be certified.", f"{KINDS} {SEARCH}")


def support_of(error: ValueError | None) -> Support:
    """What an error says about a model, or that there was none."""
    if error is None:
        return Support(True)
    if isinstance(error, Unsupported):
        return Support(False, error.reason, error.nearest)
    return Support(False, str(error), SEARCH)
