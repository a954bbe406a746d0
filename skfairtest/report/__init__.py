"""One call that looks at a model, and a report of it to hand over."""

from skfairtest.report._audit import audit
from skfairtest.report._audit_models import audit_models
from skfairtest.report._limits import Limits
from skfairtest.report._report import AuditReport
from skfairtest.report._types import LimitCheck as LimitCheck
from skfairtest.report._types import LimitsOutcome as LimitsOutcome

__all__ = [
    "AuditReport",
    "Limits",
    "audit",
    "audit_models",
]
