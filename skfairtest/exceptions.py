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
    "NonDeterministicModelError",
    "WorkersFailedError",
]


#: Packages between the user's line and ours.
BETWEEN = (
    "skfairtest", "sklearn", "imblearn", "joblib", "threadpoolctl", "contextlib", "functools",
)  # fmt: skip


def users_level() -> int:
    """Return the `stacklevel` at which a warning points to the user's line, not to a library's."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in (
        BETWEEN
    ):
        frame, level = frame.f_back, level + 1
    return level


class ChunkFailedError(ValueError):
    """A chunk of a table could not be read, or does not match the chunks before it.

    Attributes
    ----------
    chunk : str
        The number of the chunk, or its file and row group.
    result : object or None
        The result for the chunks before it, as the function would have returned it; None if there
        is no result yet.

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
    """The detector of ``InputSpace(plausible=...)`` raised an error or returned unusable output.

    If the detector raised an error, it is chained as ``__cause__``.

    Examples
    --------
    >>> from skfairtest.exceptions import DetectorFailedError
    >>> issubclass(DetectorFailedError, RuntimeError)
    True
    """


class EstimatorFailedError(RuntimeError):
    """The audited estimator raised an error or returned unusable output.

    If the estimator raised an error, it is chained as ``__cause__``. The auditor keeps what it had
    found before the failure.

    Examples
    --------
    >>> from skfairtest.exceptions import EstimatorFailedError
    >>> issubclass(EstimatorFailedError, RuntimeError)
    True
    """


class NonDeterministicModelError(EstimatorFailedError):
    """The model was asked about some rows twice, and gave another answer the second time.

    Nothing is reported of such a model, as differences between its answers may be noise.

    Examples
    --------
    >>> from skfairtest.exceptions import EstimatorFailedError, NonDeterministicModelError
    >>> issubclass(NonDeterministicModelError, EstimatorFailedError)
    True
    """


class NoDisparityWarning(UserWarning):
    """No twins got different predictions; the model may ignore the sensitive columns.

    Examples
    --------
    >>> from skfairtest.exceptions import NoDisparityWarning
    >>> issubclass(NoDisparityWarning, UserWarning)
    True
    """


class MitigationWarning(UserWarning):
    """A model was not mitigated, or mitigation ended early; the original model is kept.

    Examples
    --------
    >>> from skfairtest.exceptions import MitigationWarning
    >>> issubclass(MitigationWarning, UserWarning)
    True
    """


class ConstraintWarning(UserWarning):
    """Rows of the data break a constraint, or a constraint names values that do not occur.

    Examples
    --------
    >>> from skfairtest.exceptions import ConstraintWarning
    >>> issubclass(ConstraintWarning, UserWarning)
    True
    """


class WorkersFailedError(RuntimeError):
    """The workers of joblib's context were lost, or data and models cannot be sent to them.

    The auditor keeps what it had found before; the error of joblib's backend is chained as
    ``__cause__``.

    Examples
    --------
    >>> from skfairtest.exceptions import WorkersFailedError
    >>> issubclass(WorkersFailedError, RuntimeError)
    True
    """
