"""Search-based and certified fairness testing for scikit-learn estimators."""

from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

from skfairtest._first_use import at_first_use

try:
    __version__ = version("skfairtest")
except PackageNotFoundError:  # a checkout that is not installed
    __version__ = "0+unknown"

#: The public names of the top level, by module: all that these modules call public. A name is
#: imported at its first use, and nothing but its module with it: numba, imbalanced-learn and much
#: of scikit-learn would otherwise be imported for those who need none of it.
_NAMES = {
    "exact": ["Certificate", "CertifiedAuditor", "certify"],
    "group": [
        "IDENTITY_TERMS",
        "SubgroupAuditor",
        "TestSGDAuditor",
        "TextSGDAuditor",
        "selection_table",
    ],
    "individual": [
        "ADFAuditor",
        "AequitasAuditor",
        "EIDIGAuditor",
        "FlipTestAuditor",
        "MAFTAuditor",
        "PublishedSBFTAuditor",
        "RandomAuditor",
        "SBFTAuditor",
        "SurrogateAuditor",
        "SymbolicAuditor",
        "ThemisAuditor",
    ],
    "mitigation": [
        "FairnessAugmenter",
        "FairnessRetrainer",
        "MarginalizedClassifier",
        "MarginalizedRegressor",
        "compare_mitigations",
        "estimate_discrimination",
    ],
    "model_selection": [
        "AlternativesSearchCV",
        "constrained_refit",
        "make_audit_scorer",
        "pareto_refit",
    ],
    "report": ["AuditReport", "Limits", "audit", "audit_models"],
    "space._constraints": ["Allowed", "Implies", "Is", "Linear", "Order"],
    "space._space": ["InputSpace"],
}
_HOMES = {name: home for home, names in _NAMES.items() for name in names}
#: Public modules that are imported at their first use as well.
_MODULES = {
    "base",
    "datasets",
    "exact",
    "exceptions",
    "group",
    "individual",
    "inspection",
    "io",
    "mitigation",
    "model_selection",
    "report",
    "testing",
    "transports",
}

# Without `io`: a star import must not shadow the standard library's.
__all__ = sorted([*_HOMES, "datasets"])

if TYPE_CHECKING:  # type checkers and editors read what the modules themselves call public
    from skfairtest import datasets as datasets
    from skfairtest.exact import *
    from skfairtest.group import *
    from skfairtest.individual import *
    from skfairtest.mitigation import *
    from skfairtest.model_selection import *
    from skfairtest.report import *
    from skfairtest.space._constraints import *
    from skfairtest.space._space import InputSpace as InputSpace

__getattr__, __dir__ = at_first_use(globals(), _HOMES, _MODULES)
