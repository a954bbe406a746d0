"""One call that looks at a model, and a report of it to hand over."""

from skfairtest.report._audit import audit
from skfairtest.report._audit_models import audit_models
from skfairtest.report._limits import LimitCheck, Limits, Outcome, check_limits
from skfairtest.report._report import AuditReport

__all__ = [
    "AuditReport",
    "LimitCheck",
    "Limits",
    "Outcome",
    "audit",
    "audit_models",
    "check_limits",
]
