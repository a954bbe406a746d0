"""Search-based and certified fairness testing for scikit-learn estimators."""

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from skfairtest import datasets
    from skfairtest.base import BaseAuditor
    from skfairtest.comparison import AuditorComparison, compare_auditors, find_diversity
    from skfairtest.exact import Certificate, CertifiedAuditor, Support, certify
    from skfairtest.exceptions import (
        ChunkFailedError,
        ConstraintWarning,
        DetectorFailedError,
        EstimatorFailedError,
        MitigationWarning,
        NoDisparityWarning,
        RemoteModelError,
    )
    from skfairtest.group import SubgroupAuditor, TestSGDAuditor, TextSGDAuditor, selection_table
    from skfairtest.individual import (
        ADFAuditor,
        AequitasAuditor,
        EIDIGAuditor,
        MAFTAuditor,
        PublishedSBFTAuditor,
        RandomAuditor,
        SBFTAuditor,
        SurrogateAuditor,
        SymbolicAuditor,
        ThemisAuditor,
    )
    from skfairtest.inspection import (
        BracketDisplay,
        DisparityCurveDisplay,
        GroupScoresDisplay,
        HistoryDisplay,
        MitigationDisplay,
        PairDisplay,
        ParetoDisplay,
        ProfileDisplay,
        SelectionDisplay,
    )
    from skfairtest.mitigation import (
        DiscriminationEstimate,
        FairnessAugmenter,
        FairnessRetrainer,
        FoundPairs,
        MarginalizedClassifier,
        MarginalizedRegressor,
        compare_mitigations,
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
    from skfairtest.oracle._rows_audit import ChunkedRowsAudit, RowsAudit
    from skfairtest.remote import RemoteClassifier, RemoteRegressor
    from skfairtest.report import (
        AuditReport,
        LimitCheck,
        Limits,
        Outcome,
        audit,
        audit_models,
        check_limits,
    )
    from skfairtest.space._constraints import AllOf, Allowed, Implies, Is, Linear, OneHot, Order
    from skfairtest.space._space import InputSpace

try:
    __version__ = version("skfairtest")
except PackageNotFoundError:  # a checkout that is not installed
    __version__ = "0+unknown"

# Without `io`: a star import must not shadow the standard library's.
__all__ = [
    "ADFAuditor",
    "AequitasAuditor",
    "AllOf",
    "Allowed",
    "AuditReport",
    "AuditScorer",
    "AuditorComparison",
    "BaseAuditor",
    "BracketDisplay",
    "ChunkFailedError",
    "ChunkedRowsAudit",
    "ConstrainedRefit",
    "ConstraintWarning",
    "DiscriminationEstimate",
    "Certificate",
    "CertifiedAuditor",
    "DetectorFailedError",
    "DisparityCurveDisplay",
    "EIDIGAuditor",
    "EstimatorFailedError",
    "FairnessAugmenter",
    "FairnessRetrainer",
    "FoundPairs",
    "GroupScoresDisplay",
    "HistoryDisplay",
    "Implies",
    "InputSpace",
    "Is",
    "LimitCheck",
    "Limits",
    "Linear",
    "MAFTAuditor",
    "MarginalizedClassifier",
    "MarginalizedRegressor",
    "MitigationDisplay",
    "MitigationWarning",
    "NoDisparityWarning",
    "OneHot",
    "Order",
    "Outcome",
    "PairDisplay",
    "ParetoDisplay",
    "ParetoRefit",
    "ProfileDisplay",
    "PublishedSBFTAuditor",
    "RandomAuditor",
    "RemoteClassifier",
    "RemoteModelError",
    "RemoteRegressor",
    "RowsAudit",
    "SBFTAuditor",
    "SelectionDisplay",
    "SubgroupAuditor",
    "Support",
    "SurrogateAuditor",
    "SymbolicAuditor",
    "TestSGDAuditor",
    "TextSGDAuditor",
    "ThemisAuditor",
    "audit",
    "audit_models",
    "certify",
    "check_limits",
    "compare_auditors",
    "compare_mitigations",
    "constrained_refit",
    "datasets",
    "estimate_discrimination",
    "find_diversity",
    "make_audit_scorer",
    "pareto_front",
    "pareto_refit",
    "selection_table",
]

#: Where the public names are. Each is imported at its first use: numba, imbalanced-learn and much
#: of scikit-learn would otherwise be imported for those who need none of it.
_PLACES = (
    "exceptions", "space._space", "space._constraints", "oracle._rows_audit",
    "base", "individual", "group", "comparison", "model_selection", "inspection", "mitigation",
    "exact", "report", "remote",
)  # fmt: skip
_MODULES = (
    "datasets",
    "io",
    *(place for place in _PLACES if not place.split(".")[-1].startswith("_")),
)


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"skfairtest.{name}")
    if name in __all__:
        for place in _PLACES:
            module = import_module(f"skfairtest.{place}")
            if hasattr(module, name):
                value = globals()[name] = getattr(module, name)
                return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_MODULES})
