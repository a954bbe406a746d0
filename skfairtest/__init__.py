"""Search-based and certified fairness testing for scikit-learn estimators."""

from importlib.metadata import PackageNotFoundError, version

from skfairtest import datasets, io
from skfairtest._audit_results import RowsAudit
from skfairtest.base import BaseAuditor
from skfairtest.comparison import AuditorComparison, compare_auditors
from skfairtest.exact import Certificate, CertifiedAuditor, certify
from skfairtest.exceptions import EstimatorFailedError, MendingWarning, NoDisparityWarning
from skfairtest.group import TestSGDAuditor, TextSGDAuditor
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
from skfairtest.mitigation import (
    DiscriminationEstimate,
    FairnessAugmenter,
    FairnessRetrainer,
    FoundPairs,
    estimate_discrimination,
)
from skfairtest.model_selection import (
    AuditScorer,
    ConstrainedRefit,
    ParetoRefit,
    constrained_refit,
    make_audit_scorer,
    pareto_front,
    pareto_refit,
)
from skfairtest.space._space import InputSpace

try:
    __version__ = version("skfairtest")
except PackageNotFoundError:  # a checkout that is not installed
    __version__ = "0+unknown"

__all__ = [
    "ADFAuditor",
    "AequitasAuditor",
    "AuditScorer",
    "AuditorComparison",
    "BaseAuditor",
    "ConstrainedRefit",
    "DiscriminationEstimate",
    "Certificate",
    "CertifiedAuditor",
    "EIDIGAuditor",
    "EstimatorFailedError",
    "FairnessAugmenter",
    "FairnessRetrainer",
    "FoundPairs",
    "InputSpace",
    "MAFTAuditor",
    "MendingWarning",
    "NoDisparityWarning",
    "ParetoRefit",
    "RandomAuditor",
    "RowsAudit",
    "SBFTAuditor",
    "SurrogateAuditor",
    "SymbolicAuditor",
    "TestSGDAuditor",
    "TextSGDAuditor",
    "ThemisAuditor",
    "certify",
    "compare_auditors",
    "constrained_refit",
    "datasets",
    "estimate_discrimination",
    "io",
    "make_audit_scorer",
    "pareto_front",
    "pareto_refit",
]
