"""The error about a model or a step that is not understood."""

from __future__ import annotations

SEARCH = "SBFTAuditor and RandomAuditor search with any estimator, without a bound."
#: What to do about a model that predicts with code that was not read.
OWN_CODE = (
    "Certify a model of scikit-learn's own; SBFTAuditor and RandomAuditor search with any "
    "estimator."
)


class Unsupported(ValueError):
    """A model or a step that is not understood: the reason, and the nearest thing that works."""

    def __init__(self, reason: str, nearest: str) -> None:
        super().__init__(f"{reason} {nearest}")
        self.reason, self.nearest = reason, nearest
