"""Search-based and certified fairness testing for scikit-learn estimators."""

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

try:
    __version__ = version("skfairtest")
except PackageNotFoundError:  # a checkout that is not installed
    __version__ = "0+unknown"

#: The module of each public name. A name is imported at its first use, and nothing but its module
#: with it: numba, imbalanced-learn and much of scikit-learn would otherwise be imported for those
#: who need none of it.
_HOMES = {
    "ADFAuditor": "individual",
    "AequitasAuditor": "individual",
    "Allowed": "space._constraints",
    "AuditReport": "report",
    "AuditScorer": "model_selection",
    "BaseAuditor": "base",
    "BracketDisplay": "inspection",
    "Certificate": "exact",
    "CertifiedAuditor": "exact",
    "ChunkFailedError": "exceptions",
    "ConstrainedRefit": "model_selection",
    "ConstraintWarning": "exceptions",
    "DetectorFailedError": "exceptions",
    "DiscriminationEstimate": "mitigation",
    "DisparityCurveDisplay": "inspection",
    "EIDIGAuditor": "individual",
    "EstimatorFailedError": "exceptions",
    "FairnessAugmenter": "mitigation",
    "FairnessRetrainer": "mitigation",
    "FlipTestAuditor": "individual",
    "FoundPairs": "mitigation",
    "FlipTestDisplay": "inspection",
    "GroupScoresDisplay": "inspection",
    "HistoryDisplay": "inspection",
    "Implies": "space._constraints",
    "InputSpace": "space._space",
    "Is": "space._constraints",
    "LimitCheck": "report",
    "Limits": "report",
    "Linear": "space._constraints",
    "MAFTAuditor": "individual",
    "MarginalizedClassifier": "mitigation",
    "MarginalizedRegressor": "mitigation",
    "MitigationComparison": "mitigation",
    "MitigationDisplay": "inspection",
    "MitigationWarning": "exceptions",
    "NoDisparityWarning": "exceptions",
    "OptimalTransport": "transports",
    "Order": "space._constraints",
    "Outcome": "report",
    "PairDisplay": "inspection",
    "ParetoDisplay": "inspection",
    "ParetoRefit": "model_selection",
    "PublishedSBFTAuditor": "individual",
    "QuantileTransport": "transports",
    "RandomAuditor": "individual",
    "RowsAudit": "oracle._rows_audit",
    "SBFTAuditor": "individual",
    "SelectionDisplay": "inspection",
    "SequentialTransport": "transports",
    "SubgroupAuditor": "group",
    "Support": "exact",
    "SurrogateAuditor": "individual",
    "SymbolicAuditor": "individual",
    "TestSGDAuditor": "group",
    "TextSGDAuditor": "group",
    "ThemisAuditor": "individual",
    "audit": "report",
    "audit_models": "report",
    "certify": "exact",
    "check_limits": "report",
    "compare_mitigations": "mitigation",
    "constrained_refit": "model_selection",
    "estimate_discrimination": "mitigation",
    "make_audit_scorer": "model_selection",
    "pareto_front": "model_selection",
    "pareto_refit": "model_selection",
    "selection_table": "group",
}
#: Public modules that are imported at their first use as well.
_MODULES = {"datasets", "io", *(home for home in _HOMES.values() if "._" not in home)}

# Without `io`: a star import must not shadow the standard library's.
__all__ = sorted([*_HOMES, "datasets"])

if TYPE_CHECKING:  # the same table in the one form that type checkers and editors read
    from skfairtest import datasets as datasets
    from skfairtest.base import BaseAuditor as BaseAuditor
    from skfairtest.exact import Certificate as Certificate
    from skfairtest.exact import CertifiedAuditor as CertifiedAuditor
    from skfairtest.exact import Support as Support
    from skfairtest.exact import certify as certify
    from skfairtest.exceptions import ChunkFailedError as ChunkFailedError
    from skfairtest.exceptions import ConstraintWarning as ConstraintWarning
    from skfairtest.exceptions import DetectorFailedError as DetectorFailedError
    from skfairtest.exceptions import EstimatorFailedError as EstimatorFailedError
    from skfairtest.exceptions import MitigationWarning as MitigationWarning
    from skfairtest.exceptions import NoDisparityWarning as NoDisparityWarning
    from skfairtest.group import SubgroupAuditor as SubgroupAuditor
    from skfairtest.group import TestSGDAuditor as TestSGDAuditor
    from skfairtest.group import TextSGDAuditor as TextSGDAuditor
    from skfairtest.group import selection_table as selection_table
    from skfairtest.individual import ADFAuditor as ADFAuditor
    from skfairtest.individual import AequitasAuditor as AequitasAuditor
    from skfairtest.individual import EIDIGAuditor as EIDIGAuditor
    from skfairtest.individual import FlipTestAuditor as FlipTestAuditor
    from skfairtest.individual import MAFTAuditor as MAFTAuditor
    from skfairtest.individual import PublishedSBFTAuditor as PublishedSBFTAuditor
    from skfairtest.individual import RandomAuditor as RandomAuditor
    from skfairtest.individual import SBFTAuditor as SBFTAuditor
    from skfairtest.individual import SurrogateAuditor as SurrogateAuditor
    from skfairtest.individual import SymbolicAuditor as SymbolicAuditor
    from skfairtest.individual import ThemisAuditor as ThemisAuditor
    from skfairtest.inspection import BracketDisplay as BracketDisplay
    from skfairtest.inspection import DisparityCurveDisplay as DisparityCurveDisplay
    from skfairtest.inspection import FlipTestDisplay as FlipTestDisplay
    from skfairtest.inspection import GroupScoresDisplay as GroupScoresDisplay
    from skfairtest.inspection import HistoryDisplay as HistoryDisplay
    from skfairtest.inspection import MitigationDisplay as MitigationDisplay
    from skfairtest.inspection import PairDisplay as PairDisplay
    from skfairtest.inspection import ParetoDisplay as ParetoDisplay
    from skfairtest.inspection import SelectionDisplay as SelectionDisplay
    from skfairtest.mitigation import DiscriminationEstimate as DiscriminationEstimate
    from skfairtest.mitigation import FairnessAugmenter as FairnessAugmenter
    from skfairtest.mitigation import FairnessRetrainer as FairnessRetrainer
    from skfairtest.mitigation import FoundPairs as FoundPairs
    from skfairtest.mitigation import MarginalizedClassifier as MarginalizedClassifier
    from skfairtest.mitigation import MarginalizedRegressor as MarginalizedRegressor
    from skfairtest.mitigation import MitigationComparison as MitigationComparison
    from skfairtest.mitigation import compare_mitigations as compare_mitigations
    from skfairtest.mitigation import estimate_discrimination as estimate_discrimination
    from skfairtest.model_selection import AuditScorer as AuditScorer
    from skfairtest.model_selection import ConstrainedRefit as ConstrainedRefit
    from skfairtest.model_selection import ParetoRefit as ParetoRefit
    from skfairtest.model_selection import constrained_refit as constrained_refit
    from skfairtest.model_selection import make_audit_scorer as make_audit_scorer
    from skfairtest.model_selection import pareto_front as pareto_front
    from skfairtest.model_selection import pareto_refit as pareto_refit
    from skfairtest.oracle._rows_audit import RowsAudit as RowsAudit
    from skfairtest.report import AuditReport as AuditReport
    from skfairtest.report import LimitCheck as LimitCheck
    from skfairtest.report import Limits as Limits
    from skfairtest.report import Outcome as Outcome
    from skfairtest.report import audit as audit
    from skfairtest.report import audit_models as audit_models
    from skfairtest.report import check_limits as check_limits
    from skfairtest.space._constraints import Allowed as Allowed
    from skfairtest.space._constraints import Implies as Implies
    from skfairtest.space._constraints import Is as Is
    from skfairtest.space._constraints import Linear as Linear
    from skfairtest.space._constraints import Order as Order
    from skfairtest.space._space import InputSpace as InputSpace
    from skfairtest.transports import OptimalTransport as OptimalTransport
    from skfairtest.transports import QuantileTransport as QuantileTransport
    from skfairtest.transports import SequentialTransport as SequentialTransport


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"skfairtest.{name}")
    if name in _HOMES:
        value = globals()[name] = getattr(import_module(f"skfairtest.{_HOMES[name]}"), name)
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_MODULES})
