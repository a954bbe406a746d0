"""Errors and warnings that skfairtest raises of its own."""

from __future__ import annotations

import sys
from typing import Any

__all__ = [
    "ChunkFailedError",
    "ConstraintWarning",
    "DetectorFailedError",
    "EstimatorFailedError",
    "MitigationWarning",
    "NoDisparityWarning",
    "RemoteModelError",
    "WorkersFailedError",
]


#: Packages between the user's line and ours.
BETWEEN = (
    "skfairtest", "sklearn", "imblearn", "joblib", "threadpoolctl", "contextlib", "functools",
)  # fmt: skip


def users_level() -> int:
    """`stacklevel` of a warning that the caller gives: the first line that is not a library's."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in (
        BETWEEN
    ):
        frame, level = frame.f_back, level + 1
    return level


class ChunkFailedError(ValueError):
    """A chunk of a table could not be read, or does not go with the chunks before it.

    Attributes
    ----------
    chunk : str
        Which one: its number, or its file and row group.
    result : object or None
        What was found in the chunks before it, as the function would have returned it; None
        where there is no result yet.

    Examples
    --------
    >>> from skfairtest.exceptions import ChunkFailedError
    >>> error = ChunkFailedError("Chunk 3 has no column 'age'.", chunk="chunk 3")
    >>> error.chunk, error.result
    ('chunk 3', None)
    """

    def __init__(self, message: str, *, chunk: str = "", result: Any = None) -> None:
        super().__init__(message)
        self.chunk = chunk
        self.result = result

    def __reduce__(self) -> Any:  # errors come back from workers pickled
        return _chunk_failed, (str(self), self.chunk, self.result)


def _chunk_failed(message: str, chunk: str, result: Any) -> ChunkFailedError:
    return ChunkFailedError(message, chunk=chunk, result=result)


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

    Attributes
    ----------
    so_far : object or None
        What had come in, where there is no auditor that keeps it: the runs of `compare_auditors`.

    Examples
    --------
    >>> from skfairtest.exceptions import WorkersFailedError
    >>> issubclass(WorkersFailedError, RuntimeError)
    True
    """

    so_far: Any = None


class RemoteModelError(RuntimeError):
    """A model that is a service did not answer, or not with what was expected.

    Batches that were answered are kept: the same call, made again, asks about the others only.

    Attributes
    ----------
    status : int or None
        The HTTP status of the last answer; None without one.

    Examples
    --------
    >>> from skfairtest.exceptions import RemoteModelError
    >>> RemoteModelError("The service said 404.", status=404).status
    404
    """

    def __init__(self, message: str, *, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status

    def __reduce__(self) -> Any:
        return _remote_failed, (str(self), self.status)


def _remote_failed(message: str, status: int | None) -> RemoteModelError:
    return RemoteModelError(message, status=status)
