"""skrub's TableVectorizer: encoders of single columns, chosen by what the columns hold.

skrub is no dependency, and nothing here imports it: its objects are recognised by their names. All
that the vectorizer does it does to single columns, whatever its parts are, so that a column of
finitely many values is a table behind it. Of a real column the parts have to keep the order.
"""

from __future__ import annotations

from typing import Any

from skfairtest.whitebox._library_code import LIBRARIES, check_library_code
from skfairtest.whitebox._unsupported import Unsupported

#: Packages whose code is known here.
KNOWN = (*LIBRARIES, "skrub")
#: Parameters that hold an encoder each.
ENCODERS = ("low_cardinality", "high_cardinality", "numeric", "datetime")
#: Parts that hand real numbers on in their order, if rounded to single precision.
IN_ORDER = (
    "CleanNullStrings", "DropUninformative", "DurationToFloat", "PassThrough", "ShortReprDict",
    "ToDatetime", "ToFloat", "ToFloat32",
)  # fmt: skip


def is_vectorizer(step: Any) -> bool:
    """Whether a step is one, or of a class that inherits from it."""
    return any(
        cls.__name__ == "TableVectorizer" and cls.__module__.partition(".")[0] == "skrub"
        for cls in type(step).__mro__
    )


def check_vectorizer(step: Any, hint: str, kinds: tuple[type, ...]) -> None:
    """See that it and its encoders, fitted or not, are what they are called.

    Parameters
    ----------
    step : TableVectorizer
        As the user made it.
    hint : str
        What the user can do instead, as a sentence.
    kinds : tuple of type
        Steps of scikit-learn that work on single columns.

    Raises
    ------
    Unsupported
        That names what is not.
    """
    check_library_code(step, hint, KNOWN)
    inside = [getattr(step, name) for name in ENCODERS]
    inside += [part for part, _ in step.specific_transformers]
    for part in inside:
        if isinstance(part, str):
            continue
        check_library_code(part, hint, KNOWN)
        if type(part).__module__.partition(".")[0] != "skrub" and type(part) not in kinds:
            raise Unsupported(
                f"TableVectorizer with {type(part).__name__} as an encoder is not understood.", hint
            )


def check_order(step: Any, columns: list[Any], monotone: tuple[type, ...]) -> None:
    """See that what it makes of real columns rises with them.

    Parameters
    ----------
    step : TableVectorizer
        Fitted.
    columns : list
        Names of the real columns.
    monotone : tuple of type
        Steps of scikit-learn that are nondecreasing.

    Raises
    ------
    Unsupported
        That names the encoder which may bend a column.
    """
    for column in columns:
        for part in step.all_processing_steps_[column]:
            if type(part).__name__ not in IN_ORDER and type(part) not in monotone:
                raise Unsupported(
                    f"TableVectorizer encodes the real column {column!r} with "
                    f"{type(part).__name__}, which may bend it.",
                    "Use 'passthrough' or a scaler as its numeric, or declare the values of the "
                    "column by InputSpace(categories=...).",
                )
