"""Errors and warnings that skfairtest raises of its own."""

from __future__ import annotations

__all__ = [
    "ConstraintWarning",
    "DetectorFailedError",
    "EstimatorFailedError",
    "MitigationWarning",
    "NoDisparityWarning",
    "WorkersFailedError",
]


class DetectorFailedError(RuntimeError):
    """The outlier detector of ``plausible=`` raised, or returned something unusable.

    Its own error, where there is one, is chained as ``__cause__``.

    Examples
    --------
    >>> from skfairtest.exceptions import DetectorFailedError
    >>> issubclass(DetectorFailedError, RuntimeError)
    True
    """


class EstimatorFailedError(RuntimeError):
    """The audited estimator raised, or returned something unusable.

    The estimator's own error, where there is one, is chained as ``__cause__``. What an
    auditor had found before the failure stays readable on the auditor.

    Examples
    --------
    >>> from skfairtest.exceptions import EstimatorFailedError
    >>> issubclass(EstimatorFailedError, RuntimeError)
    True
    """


class NoDisparityWarning(UserWarning):
    """No pair of twins got different predictions: the model may ignore the sensitive columns.

    Examples
    --------
    >>> from skfairtest.exceptions import NoDisparityWarning
    >>> issubclass(NoDisparityWarning, UserWarning)
    True
    """


class MitigationWarning(UserWarning):
    """A model was not mitigated, or mitigation ended early; the original model is still there.

    Examples
    --------
    >>> from skfairtest.exceptions import MitigationWarning
    >>> issubclass(MitigationWarning, UserWarning)
    True
    """


class ConstraintWarning(UserWarning):
    """Rows of the data break a constraint, or it names values that do not occur.

    Examples
    --------
    >>> from skfairtest.exceptions import ConstraintWarning
    >>> issubclass(ConstraintWarning, UserWarning)
    True
    """


class WorkersFailedError(RuntimeError):
    """The workers of joblib's context were lost, or what they need cannot be sent to them.

    What was found before stays readable on the auditor; the backend's own error is chained as
    ``__cause__``.

    Examples
    --------
    >>> from skfairtest.exceptions import WorkersFailedError
    >>> issubclass(WorkersFailedError, RuntimeError)
    True
    """
