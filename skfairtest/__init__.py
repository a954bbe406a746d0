"""Search-based and certified fairness testing for scikit-learn estimators."""

from importlib.metadata import PackageNotFoundError, version

from skfairtest import datasets
from skfairtest._results import RowsAudit
from skfairtest._space import InputSpace
from skfairtest.base import BaseAuditor
from skfairtest.comparison import AuditorComparison, compare_auditors
from skfairtest.exact import Certificate, CertifiedAuditor, certify
from skfairtest.exceptions import EstimatorFailedError, NoDisparityWarning
from skfairtest.individual import (
    ADFAuditor,
    AequitasAuditor,
    EIDIGAuditor,
    MAFTAuditor,
    RandomAuditor,
    SBFTAuditor,
    SurrogateAuditor,
    SymbolicAuditor,
    ThemisAuditor,
)

try:
    __version__ = version("skfairtest")
except PackageNotFoundError:  # a checkout that is not installed
    __version__ = "0+unknown"

__all__ = [
    "ADFAuditor",
    "AequitasAuditor",
    "AuditorComparison",
    "BaseAuditor",
    "Certificate",
    "CertifiedAuditor",
    "EIDIGAuditor",
    "EstimatorFailedError",
    "InputSpace",
    "MAFTAuditor",
    "NoDisparityWarning",
    "RandomAuditor",
    "RowsAudit",
    "SBFTAuditor",
    "SurrogateAuditor",
    "SymbolicAuditor",
    "ThemisAuditor",
    "certify",
    "compare_auditors",
    "datasets",
]
