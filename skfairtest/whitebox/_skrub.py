"""Which of skrub's steps are understood: its vectorizer, column by column, and its scaler.

Checked against 0.7 and 0.11. `TableVectorizer` shows each of its steps one column alone, so that
all of its outputs are functions of single columns, whatever these steps are, as long as they look
at rows one by one. Nothing here imports skrub: its objects are told by the names of their classes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from skfairtest.whitebox._library_code import LIBRARIES, check_library_code
from skfairtest.whitebox._unsupported import Unsupported

#: Steps of whole tables.
OF_TABLES = ("TableVectorizer", "Cleaner", "SquashingScaler")
#: Steps of single columns that never let a number fall, nor rise again.
ORDERED = (
    "CleanNullStrings", "Drop", "DropUninformative", "PassThrough", "ToFloat",
)  # fmt: skip
#: Further steps of single columns, each row of which is encoded by itself.
OF_COLUMNS = (
    *ORDERED, "CleanCategories", "DatetimeEncoder", "DurationToFloat", "GapEncoder",
    "MinHashEncoder", "SimilarityEncoder", "StringEncoder", "ToCategorical", "ToDatetime", "ToStr",
)  # fmt: skip
#: Parameters of the vectorizer that hold a step for the columns of a kind.
KINDS = ("numeric", "datetime", "low_cardinality", "high_cardinality")


def is_skrub(step: Any) -> bool:
    """Whether a step comes from skrub, or is of a subclass of one of its classes."""
    return any(cls.__module__.partition(".")[0] == "skrub" for cls in type(step).__mro__)


def steps_inside(step: Any, hint: str) -> list[Any]:
    """The steps that one of skrub's is made of, fitted or not; none for one of single columns.

    - `hint`: what the user can do about code that is not the library's own, as a sentence.
    - `Unsupported`: if it is not known to look at columns, and at rows, one by one.
    """
    name = type(step).__name__
    check_library_code(step, hint, (*LIBRARIES, "skrub"))
    if name not in (*OF_TABLES, *OF_COLUMNS):
        raise Unsupported(
            f"The step {name} of skrub is not understood.",
            f"Expected {', '.join(OF_TABLES)}, or scikit-learn's ColumnTransformer for some "
            f"columns; in them one of {', '.join(sorted(OF_COLUMNS))}, or scikit-learn's own.",
        )
    if name == "TableVectorizer" and not hasattr(step, "all_processing_steps_"):
        named = [getattr(step, kind) for kind in KINDS]
        named += [inner for inner, _ in step.specific_transformers]
        return [inner for inner in named if not isinstance(inner, str)]
    return [inner for own in _by_column(step).values() for inner in own]


def _by_column(step: Any) -> dict[str, list[Any]]:
    """The fitted steps of each column, apart from those that make numbers of the outputs."""
    found = getattr(step, "all_processing_steps_", {})
    return {
        str(name): [inner for inner in own if not isinstance(inner, Mapping)]
        for name, own in found.items()
    }


def check_ordered(step: Any, real: list[int], also: tuple[type, ...]) -> None:
    """See that all that is made of some columns rises or falls with them.

    - `step`: fitted, and understood.
    - `real`: positions of the columns, which have too many values to be listed.
    - `also`: scikit-learn's steps of which that is known.
    """
    if type(step).__name__ not in ("TableVectorizer", "Cleaner"):
        return
    by_column = _by_column(step)
    for name in (list(by_column)[k] for k in real):
        for inner in by_column[name]:
            if type(inner).__name__ not in ORDERED and type(inner) not in also:
                raise Unsupported(
                    f"{type(step).__name__} encodes the column {name!r} by "
                    f"{type(inner).__name__}, and it has too many values to be listed.",
                    "Declare its values by InputSpace(categories=...), or narrow its domain by "
                    "InputSpace(bounds=...).",
                )


def is_squashing(step: Any) -> bool:
    """Whether a step squashes numbers: it rises up to rounding alone."""
    return is_skrub(step) and type(step).__name__ == "SquashingScaler"
