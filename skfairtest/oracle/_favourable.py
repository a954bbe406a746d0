"""Find out which labels, and so which predictions, are favourable."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_outlier_detector

from skfairtest._typing import Bools, Floats, is_real
from skfairtest.exceptions import users_level
from skfairtest.oracle._model import hash_labels

#: Whole labels, in any case, that say by themselves that people want them, or do not. Others such
#: as "yes" do not: a "yes" to hiring is another one than a "yes" to default.
WANTED = frozenset(
    "accept accepted admit admitted approve approved eligible favorable favourable good grant "
    "granted hire hired low-risk pass passed repaid".split()
)
UNWANTED = frozenset(
    "bad decline declined default defaulted denied deny fail failed fraud high-risk ineligible "
    "refuse refused reject rejected unfavorable unfavourable".split()
)


class Favourable(NamedTuple):
    """The favourable labels, and whether they were given, inferred or guessed.

    Attributes
    ----------
    labels : list, float or "mean"
        The labels, as the classes have them; for a regressor the smallest favourable output, or
        "mean".
    how : {"given", "inferred", "guessed"}
        Whether the user gave them, their names say so, or the last class was taken.
    classes : list
        All classes that are known.
    """

    labels: Any
    how: Literal["given", "inferred", "guessed"]
    classes: list[Any]

    @property
    def sentence(self) -> str:
        """Say which labels were taken as favourable, and why."""
        sentence = f"{joined_labels(self.labels)} taken as favourable"
        if self.how == "guessed":
            sentence += (
                f", which is a guess: nothing says which of {joined_labels(self.classes)} people "
                "want. Give favourable="
            )
        elif self.how == "inferred":
            sentence += ", by its name"
        return sentence


def joined_labels(labels: Any) -> str:
    """Return labels as text; a threshold or "mean" stays as it is."""
    if isinstance(labels, (list, tuple)):
        return ", ".join(str(label) for label in labels)
    return str(labels)


def resolve_favourable(
    given: Any,
    classes: Sequence[Any] | NDArray[Any],
    *,
    whose: str = "the model",
    are_all: bool = True,
) -> Favourable:
    """Find the favourable classes: they are given, inferred from their words, or guessed.

    Parameters
    ----------
    given : label, set of labels or None
        As the user gave it.
    classes : sequence
        The classes of a model, or the labels that occur.
    whose : str, default="the model"
        Whose classes they are, for errors.
    are_all : bool, default=True
        Whether there are no others. Predictions need not show all: a label beside a single one
        that occurs may be the model's, too.

    Raises
    ------
    ValueError
        If a label is named that no class has, or every class is, or if there is one class only.
    """
    known = list(np.asarray(classes).tolist() if isinstance(classes, np.ndarray) else classes)
    if given is not None:
        return Favourable(_named(given, known, whose, are_all), "given", known)
    words = [_word(label) for label in known]
    wanted = [label for label, word in zip(known, words, strict=True) if word in WANTED]
    unwanted = [label for label, word in zip(known, words, strict=True) if word in UNWANTED]
    if wanted and len(wanted) < len(known):
        return Favourable(wanted, "inferred", known)
    if len(known) == 2 and len(unwanted) == 1 and not wanted:
        return Favourable([label for label in known if label not in unwanted], "inferred", known)
    if len(known) >= 2:
        return Favourable(known[-1:], "guessed", known)
    if len(known) == 1 and not isinstance(known[0], str) and known[0] in (0, 1):
        return Favourable([type(known[0])(1)], "guessed", [type(known[0])(0), type(known[0])(1)])
    raise ValueError(
        f"Only one label occurs, {known[0]!r}, so it is not known which label is favourable. Name "
        "it: favourable=..."
    )


def warn_of_guess(favourable: Favourable) -> Favourable:
    """Warn if the favourable label is a guess; return the argument."""
    if favourable.how == "guessed":
        warnings.warn(f"{favourable.sentence}.", UserWarning, stacklevel=users_level())
    return favourable


def _word(label: Any) -> str:
    return "-".join(label.casefold().replace("_", " ").split()) if isinstance(label, str) else ""


def _named(given: Any, known: list[Any], whose: str, are_all: bool) -> list[Any]:
    labels = favourable_labels(given)
    named = []
    for label in labels:
        equal = [other for other in known if _same(other, label)]
        if not equal and (are_all or not _may_occur(label, known, labels)):
            raise ValueError(
                f"favourable={label!r} is a label that never occurs: the classes of {whose} are "
                f"{known[:20]!r}. Name one or more of them, of the same type."
            )
        named += [other for other in (equal or [label]) if other not in named]
    if len(known) > 1 and all(any(_same(k, label) for label in named) for k in known):
        raise ValueError(
            f"favourable= names every class, {known[:20]!r}, so every prediction would be "
            "favourable. Leave out at least one."
        )
    return named


def _may_occur(label: Any, known: list[Any], labels: list[Any]) -> bool:
    """Return whether a model with these known labels may also have this label."""
    if isinstance(label, str) is not isinstance(known[0], str):
        return False
    if is_real(label) and not float(label).is_integer() and float(known[0]).is_integer():
        return False  # a threshold is no label
    # With two labels or more at hand, one of them should be among those that were named.
    return len(known) < 2 or any(_same(k, other) for k in known for other in labels)


def known_classes(estimator: Any) -> NDArray[Any] | None:
    """Return the classes of a classifier with one output, else None."""
    if hasattr(estimator, "__sklearn_tags__") and is_outlier_detector(estimator):
        return np.array([-1, 1])
    classes = getattr(estimator, "classes_", None)
    if classes is None or isinstance(classes, list):
        return None
    array = np.asarray(classes)
    return array if array.ndim == 1 else None


def favourable_labels(given: Any) -> list[Any]:
    """Return the user's label, or set of labels, as a list."""
    single = isinstance(given, (str, bytes)) or not isinstance(given, Iterable)
    labels = [given] if single else list(given)
    if not labels:
        raise ValueError("favourable= is empty; name a label, or a set of labels.")
    return labels


def favourable_places(given: Any, classes: NDArray[Any], estimator: Any) -> list[int]:
    """Return the positions of the favourable labels among the classes; warn of a guess."""
    if given is None and len(classes) == 1:
        given = classes[0]  # a model of one class gives it to everybody
    found = warn_of_guess(resolve_favourable(given, classes, whose=type(estimator).__name__))
    known = list(classes.tolist())
    return sorted(next(j for j, k in enumerate(known) if _same(k, f)) for f in found.labels)


def label_codes(labels: Iterable[Any]) -> NDArray[np.int64]:
    """Return the codes of labels, as `hash_labels` gives them to predictions."""
    # One by one: an array of labels of several types would make strings of all of them.
    return np.concatenate([hash_labels(np.asarray([label])) for label in labels])


def is_favourable(labels: Any, favourable: Iterable[Any]) -> Bools:
    """Return which of the labels are favourable."""
    # One by one as well: equal labels, whatever the type of the array that holds them.
    return np.any([np.asarray(labels) == label for label in favourable], axis=0)


def as_shares(predictions: Any, favourable: Any) -> Floats:
    """Return predictions as numbers whose means are compared.

    Parameters
    ----------
    predictions : array-like of shape (n,)
        Labels or outputs.
    favourable : list, float or "mean"
        Labels; the least favourable output; or outputs as they are.

    Returns
    -------
    ndarray of shape (n,)
        1 where the prediction is favourable, else 0; the outputs themselves for "mean".
    """
    if isinstance(favourable, list):
        return is_favourable(predictions, favourable).astype(np.float64)
    outputs = np.asarray(predictions, dtype=np.float64)
    if isinstance(favourable, str):
        return outputs
    return (outputs >= favourable).astype(np.float64)


def _same(known: Any, label: Any) -> bool:
    if isinstance(known, str) or isinstance(label, str):
        return isinstance(known, str) and isinstance(label, str) and str(known) == label
    try:
        return bool(known == label)
    except (TypeError, ValueError):
        return False
