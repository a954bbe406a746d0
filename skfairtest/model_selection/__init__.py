"""Choose a model that is accurate and treats twins alike, by audit scorers and refit rules."""

from skfairtest.model_selection._refit import ConstrainedRefit as ConstrainedRefit
from skfairtest.model_selection._refit import ParetoRefit as ParetoRefit
from skfairtest.model_selection._refit import constrained_refit, pareto_refit
from skfairtest.model_selection._scorer import AuditScorer as AuditScorer
from skfairtest.model_selection._scorer import make_audit_scorer

# What these three return is imported from here, too, for annotations.
__all__ = ["constrained_refit", "make_audit_scorer", "pareto_refit"]
