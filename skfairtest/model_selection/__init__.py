"""Choose a model that is accurate and treats twins or groups alike; say whether there is one."""

from skfairtest.model_selection._alternatives.search import AlternativesSearchCV
from skfairtest.model_selection._alternatives.shown import AlternativesResult as AlternativesResult
from skfairtest.model_selection._refit import ConstrainedRefit as ConstrainedRefit
from skfairtest.model_selection._refit import ParetoRefit as ParetoRefit
from skfairtest.model_selection._refit import constrained_refit, pareto_refit
from skfairtest.model_selection._scorer import AuditScorer as AuditScorer
from skfairtest.model_selection._scorer import make_audit_scorer

# What these return is imported from here, too, for annotations.
__all__ = ["AlternativesSearchCV", "constrained_refit", "make_audit_scorer", "pareto_refit"]
