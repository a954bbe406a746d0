"""Whether a model can be certified; if not, the reason and a similar model that can be."""

from __future__ import annotations

from dataclasses import dataclass

from skfairtest.whitebox._unsupported import SEARCH, Unsupported


@dataclass(frozen=True)
class Support:
    """Answer of `CertifiedAuditor.supports`; it is true if the model can be certified.

    Attributes
    ----------
    supported : bool
        Whether the model and all steps before it can be certified, as far as is known beforehand.
    reason : str
        Why the model cannot be certified; empty if it can.
    nearest : str
        A similar model that can be certified; empty if this one can.

    See Also
    --------
    CertifiedAuditor : Its method `supports` returns this answer.

    Examples
    --------
    >>> from sklearn.neighbors import KNeighborsRegressor
    >>> from skfairtest import CertifiedAuditor
    >>> support = CertifiedAuditor.supports(KNeighborsRegressor())
    >>> bool(support), support.reason
    (False, 'KNeighborsRegressor cannot be certified.')
    >>> print(support.nearest[:54])
    A forest or gradient boosting, such as HistGradientBoo
    """

    supported: bool
    reason: str = ""
    nearest: str = ""

    def __bool__(self) -> bool:
        return self.supported

    def __str__(self) -> str:
        return "supported" if self else f"{self.reason} {self.nearest}".strip()


def support_of(error: TypeError | ValueError | None) -> Support:
    """Return the answer for an error that a model raised; None means that it is supported."""
    if error is None:
        return Support(True)
    if isinstance(error, Unsupported):
        return Support(False, error.reason, error.nearest)
    return Support(False, str(error), SEARCH)
