"""Search-based and certified fairness testing for scikit-learn estimators."""

from importlib.metadata import PackageNotFoundError, version

from skfairtest import datasets
from skfairtest._results import RowsAudit
from skfairtest._space import InputSpace
from skfairtest.base import BaseAuditor
from skfairtest.comparison import AuditorComparison, compare_auditors
from skfairtest.exceptions import EstimatorFailedError, NoDisparityWarning
from skfairtest.individual import (
    AequitasAuditor,
    RandomAuditor,
    SBFTAuditor,
    SurrogateAuditor,
    ThemisAuditor,
)

try:
    __version__ = version("skfairtest")
except PackageNotFoundError:  # a checkout that is not installed
    __version__ = "0+unknown"

__all__ = [
    "AequitasAuditor",
    "AuditorComparison",
    "BaseAuditor",
    "EstimatorFailedError",
    "InputSpace",
    "NoDisparityWarning",
    "RandomAuditor",
    "RowsAudit",
    "SBFTAuditor",
    "SurrogateAuditor",
    "ThemisAuditor",
    "compare_auditors",
    "datasets",
]
