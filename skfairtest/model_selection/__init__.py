"""Choose a model that is accurate and treats twins alike, by audit scorers and refit rules."""

from skfairtest.model_selection._refit import (
    ConstrainedRefit,
    ParetoRefit,
    constrained_refit,
    pareto_front,
    pareto_refit,
)
from skfairtest.model_selection._scorer import AuditScorer, make_audit_scorer

__all__ = [
    "AuditScorer",
    "ConstrainedRefit",
    "ParetoRefit",
    "constrained_refit",
    "make_audit_scorer",
    "pareto_front",
    "pareto_refit",
]
