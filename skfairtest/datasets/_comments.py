"""Generates template comments and a known classifier that depends on identity terms."""

from __future__ import annotations

import re
from collections.abc import Iterable
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Bunch

from skfairtest.group import IDENTITY_TERMS

from ._planted import _generator

#: One of them is in each comment, each equally likely: with one of the first four a comment is held
#: whoever is named in it.
ADJECTIVES = (
    "clear", "long", "short", "helpful", "dated", "detailed", "simple", "useful", "careful",
    "quick", "vague", "lively", "plain", "patient", "thorough", "early", "modest", "formal",
    "gentle", "broad",
)  # fmt: skip
THINGS = ("answer", "article", "guide", "map", "recipe", "review", "summary", "table", "timetable")
OPENINGS = ("Thanks", "Hello", "A note", "Good morning", "For the editors")


class KnownTextClassifier(ClassifierMixin, BaseEstimator):
    """Holds the first four of twenty adjectives, and with all `terms` the next ``20 * score``."""

    def __init__(self, terms: tuple[str, ...] = (), score: float = 0.3) -> None:
        self.terms = terms
        self.score = score

    @property
    def classes_(self) -> NDArray[Any]:
        """The class labels."""
        return np.array(["held", "published"], dtype=object)

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def fit(self, X: Any = None, y: Any = None) -> Any:
        """Do nothing: the predictions are known."""
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the known predictions of texts."""
        n_more = round(self.score * len(ADJECTIVES))
        always, others = _words(ADJECTIVES[:4]), ADJECTIVES[4:]
        more = _words(others[:n_more])
        named = [_words([term]) for term in self.terms]
        held = [
            bool(always.search(text))
            or bool(more.search(text) and all(term.search(text) for term in named))
            for text in X
        ]
        return self.classes_[np.where(held, 0, 1)]


def _words(words: Iterable[str]) -> re.Pattern[str]:
    longest = sorted(words, key=len, reverse=True)
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, longest))})(?!\w)", re.IGNORECASE)


def make_identity_comments(
    n_samples: int = 2000, *, terms: Any = None, score: float = 0.3, random_state: Any = None
) -> Bunch:
    """Generate template comments and a classifier with a planted dependence on identity terms.

    Each comment is about some neutral thing and mentions each of four categories (gender, race,
    religion, age) with probability 0.3, by one of the 48 terms of the TestSGD paper. The classifier
    "holds" a fifth of all comments, and an additional share of `score` of the comments that contain
    all of `terms`. The other words are drawn independently of the terms, so the expected group
    fairness score of the rule that names these terms is exactly `score`. The affected terms are
    drawn at random and say nothing about any real group, text or model.

    Parameters
    ----------
    n_samples : int, default=2000
        Number of comments, at least 20.
    terms : str or list of str, default=None
        Terms on which the classifier depends, at most one of each category. None draws two terms of
        different categories.
    score : float, default=0.3
        The planted score, a multiple of 0.05 from 0.05 to 0.8.
    random_state : None, int, numpy RandomState or numpy Generator, default=None
        Source of randomness; pass an int for the same data at every call.

    Returns
    -------
    bunch : :class:`~sklearn.utils.Bunch`
        With the attributes:

        - data : list of str of length n_samples
        - target : ndarray of shape (n_samples,), "held" or "published": the classifier's
          predictions
        - terms : list of str, the terms on which it depends
        - group_fairness_score : float, the planted score
        - estimator : a classifier with these predictions
        - DESCR : str, a description

    Raises
    ------
    ValueError
        If a parameter is outside its range.

    References
    ----------
    .. [1] L. Dixon et al., "Measuring and mitigating unintended bias in text classification",
       AIES 2018.

    Examples
    --------
    >>> from skfairtest.datasets import make_identity_comments
    >>> comments = make_identity_comments(100, terms="older", random_state=0)
    >>> len(comments.data), comments.terms, comments.group_fairness_score
    (100, ['older'], 0.3)
    """
    if (
        isinstance(n_samples, bool)
        or not isinstance(n_samples, (int, np.integer))
        or n_samples < 20
    ):
        raise ValueError(f"n_samples must be a whole number of at least 20; got {n_samples!r}.")
    steps = score * len(ADJECTIVES) if isinstance(score, Real) else np.nan
    if not np.isfinite(steps) or abs(steps - round(steps)) > 1e-9 or not 1 <= round(steps) <= 16:
        raise ValueError(f"score must be a multiple of 0.05 from 0.05 to 0.8; got {score!r}.")
    rng = _generator(random_state)
    chosen = _draw_terms(rng) if terms is None else _check_terms(terms)
    data = [_comment(rng) for _ in range(int(n_samples))]
    model = KnownTextClassifier(terms=tuple(chosen), score=float(score))
    return Bunch(
        data=data,
        target=model.predict(data),
        terms=chosen,
        group_fairness_score=float(score),
        estimator=model,
        DESCR=(
            f"Template comments. A known classifier holds a fifth of them, and {float(score):g} "
            f"more of those that contain {' and '.join(repr(term) for term in chosen)}. The terms "
            "are drawn or chosen for the test; they say nothing about any real group.\n"
        ),
    )


def _draw_terms(rng: np.random.Generator) -> list[str]:
    names = list(IDENTITY_TERMS)
    pair = sorted(rng.permutation(len(names))[:2].tolist())
    return [str(rng.choice(np.array(IDENTITY_TERMS[names[j]], dtype=object))) for j in pair]


def _check_terms(terms: Any) -> list[str]:
    terms = [terms] if isinstance(terms, str) else list(terms)
    categories = [
        next((name for name, known in IDENTITY_TERMS.items() if term in known), None)
        for term in terms
    ]
    if not terms or None in categories or len(set(categories)) < len(categories):
        raise ValueError(
            "terms must be among the 48 terms of skfairtest.group.IDENTITY_TERMS, at most one of "
            f"each category; got {terms!r}."
        )
    return terms


def _comment(rng: np.random.Generator) -> str:
    # A comment mentions each category in 30% of cases: two together in 9%, three in under 3%.
    named = [
        words[rng.integers(len(words))] for words in IDENTITY_TERMS.values() if rng.random() < 0.3
    ]
    who = " and ".join([", ".join(named[:-1]), named[-1]] if len(named) > 1 else named)
    opening, thing, adjective = (
        words[rng.integers(len(words))] for words in (OPENINGS, THINGS, ADJECTIVES)
    )
    # Terms come in any case in real comments, so they do here.
    who = who.title() if rng.random() < 0.2 else who
    reader = f"from a reader ({who})" if who else "from a reader"
    return f"{opening}, {reader}: the {thing} was {adjective}."
