"""Finds terms in texts as whole words, and replaces them by others."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from skfairtest._typing import Bools

#: The paper's terms, its Table 1. They are the words of the papers' data, not a list of groups.
IDENTITY_TERMS: dict[str, tuple[str, ...]] = {
    "gender": (
        "lesbian", "gay", "bisexual", "transgender", "trans", "queer", "lgbt", "lgbtq",
        "homosexual", "straight", "heterosexual", "male", "female", "nonbinary",
    ),
    "race": (
        "african", "african american", "black", "white", "european", "hispanic", "latino",
        "latina", "latinx", "mexican", "canadian", "american", "asian", "indian",
        "middle eastern", "chinese", "japanese",
    ),
    "religion": (
        "christian", "muslim", "jewish", "buddhist", "catholic", "protestant", "sikh", "taoist",
        "atheist",
    ),
    "age": (
        "old", "older", "young", "younger", "teenage", "millennial", "middle aged", "elderly",
    ),
}  # fmt: skip


class Terms:
    """Categories of sensitive terms.

    Attributes
    ----------
    categories : list
        Their names.
    words : list of list of str
        The terms of each category, as the user wrote them.

    Parameters
    ----------
    categories : dict of name to list of str
        Terms of each category.
    """

    def __init__(self, categories: Any) -> None:
        if not isinstance(categories, Mapping) or not categories:
            raise ValueError(
                "categories must be a dict of name to a list of terms, with at least one; got "
                f"{categories!r}."
            )
        self.categories = list(categories)
        self.words = [_checked(name, categories[name]) for name in self.categories]
        self._number: dict[str, int] = {}
        self.category_of: list[int] = []
        for category, words in enumerate(self.words):
            for word in words:
                key = _key(word)
                if key in self._number:
                    raise ValueError(
                        f"Term {word!r} occurs more than once in categories=, in upper or lower "
                        "case. Keep one of them."
                    )
                self._number[key] = len(self.category_of)
                self.category_of.append(category)

    @property
    def pattern(self) -> str:
        """A regular expression of all terms in small letters: longest first, on word borders."""
        longest = sorted(self._number, key=lambda key: (-len(key), key))
        words = [r"\s+".join(map(re.escape, key.split())) for key in longest]
        return rf"(?<!\w)(?:{'|'.join(words)})(?!\w)"

    def number(self, category: int, word: int) -> int:
        """Number of a term among all."""
        return self._number[_key(self.words[category][word])]

    def read(self, texts: list[str]) -> ReadTexts:
        """Find all terms in the texts."""
        pattern = re.compile(self.pattern)
        pieces = [_split(pattern, text) for text in texts]
        held = np.zeros((len(texts), len(self.category_of)), dtype=bool)
        found = []
        for row, parts in enumerate(pieces):
            numbers = [self._number[_key(part)] for part in parts[1::2]]
            held[row, numbers] = True
            found.append([self.category_of[number] for number in numbers])
        category_of = np.asarray(self.category_of)
        has = np.column_stack(
            [held[:, category_of == j].any(axis=1) for j in range(len(self.categories))]
        )
        return ReadTexts(pieces, found, held, has)


class ReadTexts:
    """Texts taken apart at their terms.

    Attributes
    ----------
    contains : ndarray of bool of shape (n_texts, n_terms)
        Which terms each text contains.
    has : ndarray of bool of shape (n_texts, n_categories)
        Whether it contains any term of each category.
    """

    def __init__(
        self, pieces: list[list[str]], found: list[list[int]], contains: Bools, has: Bools
    ) -> None:
        self._pieces = pieces
        self._found = found
        self.contains = contains
        self.has = has

    def with_terms(self, row: int, terms: dict[int, str]) -> str:
        """A text with the terms of some categories replaced, each by one given term."""
        parts = list(self._pieces[row])
        for place, category in enumerate(self._found[row]):
            if category in terms:
                parts[2 * place + 1] = terms[category]
        return "".join(parts)


def _key(word: str) -> str:
    return " ".join(word.casefold().split())


def _split(pattern: re.Pattern[str], text: str) -> list[str]:
    """Return what stands before, in and after each match, whether letters are large or small."""
    small = text.casefold()
    # Some letters become two: of which letter each is, and where the text ends.
    places: list[int] | range = range(len(text) + 1)
    if len(small) != len(text):
        lengths = [len(letter.casefold()) for letter in text]
        places = np.repeat(np.arange(len(text) + 1), [*lengths, 1]).tolist()
    pieces, end = [], 0
    for match in pattern.finditer(small):
        first, last = places[match.start()], places[match.end()]
        if first == places[match.start() - 1] or last == places[match.end() - 1]:
            continue  # a part of a letter
        pieces += [text[end:first], text[first:last]]
        end = last
    return [*pieces, text[end:]]


def _checked(name: Any, words: Any) -> list[str]:
    if isinstance(words, str) or not isinstance(words, Iterable):
        raise ValueError(f"categories[{name!r}] must be a list of terms; got {words!r}.")
    words = list(words)
    if not words:
        raise ValueError(
            f"Category {name!r} has no terms. Add some, or leave it out of categories=."
        )
    for word in words:
        if not isinstance(word, str) or not word.strip():
            raise ValueError(f"Terms must be strings that are not empty; got {word!r} in {name!r}.")
    return words


class TextRows:
    """Hands texts to the model in the container that the user's came in."""

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def decode(self, texts: list[str]) -> Any:
        """The texts as a list, an array or a Series."""
        if self.kind == "series":
            return pd.Series(texts)
        if self.kind == "array":
            array = np.empty(len(texts), dtype=object)
            array[:] = texts
            return array
        return texts


def check_texts(X: Any) -> tuple[list[str], str]:
    """The texts as a list, and the kind of container that they came in."""
    kind = "list"
    if isinstance(X, pd.Series):
        kind = "series"
    elif isinstance(X, np.ndarray):
        kind = "array"
    elif not isinstance(X, (list, tuple)):
        raise TypeError(
            "X must be a list, a one-dimensional array or a Series of strings; got "
            f"{type(X).__name__}. Pass the column of texts."
        )
    if kind == "array" and np.ndim(X) != 1:
        raise ValueError(
            f"X must be one-dimensional, with one text per row; got shape {np.shape(X)}. Pass "
            "the column of texts."
        )
    texts = list(X)
    if not texts:
        raise ValueError("X has no texts (n_samples=0). Pass at least one.")
    for row, text in enumerate(texts):
        if not isinstance(text, str):
            raise TypeError(
                f"X must hold strings; got {text!r} of type {type(text).__name__} in row {row}. "
                "Drop such rows, or convert them."
            )
        if not text.strip():
            raise ValueError(f"Text {row} of X is empty. Drop empty texts.")
    return [str(text) for text in texts], kind
