"""Draws the texts that the model is asked about, shared by as many rules as possible."""

from __future__ import annotations

from itertools import combinations, product
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from skfairtest._statistics import Sides
from skfairtest._typing import Bools, Floats, Ints
from skfairtest.group._outcomes.answers import Answers
from skfairtest.group._pools.terms import Terms

Rules = NDArray[np.int16]
#: Rows that have a term of each of these categories.
Seeds = dict[tuple[int, ...], Ints]
#: Categories, and the number of a word in each.
Rule = tuple[tuple[int, ...], tuple[int, ...]]


class TextSample(NamedTuple):
    """Texts to ask about: different rows, and how often each was drawn.

    `outside` are rows of all texts, `inside` of those with a term of each of some categories.
    """

    outside: tuple[Ints, Ints]
    inside: dict[tuple[int, ...], tuple[Ints, Ints]]


class Asked(NamedTuple):
    """Rules that were asked about, and number, mean and variance of the predictions inside."""

    rules: list[Ints]
    inside: list[tuple[float, float, float]]


class Corpus:
    """Texts with their terms, as rules see them; -1 is a category that a rule does not name."""

    def __init__(self, terms: Terms, texts: list[str]) -> None:
        self.terms = terms
        self.texts = texts
        self.read = terms.read(texts)

    def frequent(self, min_support: float, max_attributes: int | None) -> Seeds:
        """The texts with a term of each category, for every set of categories with enough."""
        n_categories = len(self.terms.categories)
        most = min(max_attributes or n_categories, n_categories)
        frequent: Seeds = {}
        largest = 0.0
        for size in range(1, most + 1):
            for chosen in combinations(range(n_categories), size):
                seeds = np.flatnonzero(self.read.has[:, chosen].all(axis=1))
                support = len(seeds) / len(self.texts)
                largest = max(largest, support)
                if support >= min_support * (1 - 1e-12):
                    frequent[chosen] = seeds
        if not frequent:
            advice = (
                "set min_support to that or less, or give other terms in categories="
                if largest
                else "no text has any of the terms, so give others in categories="
            )
            raise ValueError(
                f"No rule over {self.terms.categories!r} holds for min_support={min_support:g} "
                f"of {len(self.texts)} texts. The largest support of one is {largest:.4g}: "
                f"{advice}."
            )
        return frequent

    def n_rules(self, categories: Any) -> int:
        """How many rules there are over each of these sets of categories, together."""
        return sum(prod(len(self.terms.words[j]) for j in chosen) for chosen in categories)

    def rules(self, sample: TextSample) -> list[Rule]:
        """All rules."""
        return [
            (chosen, words)
            for chosen in sample.inside
            for words in product(*(range(len(self.terms.words[j])) for j in chosen))
        ]

    def seeds(self, rule: Rules | Ints) -> Ints:
        """Rows with a term of each of the rule's categories."""
        return np.flatnonzero(self.read.has[:, np.flatnonzero(rule >= 0)].all(axis=1))

    def support(self, rules: Rules) -> Floats:
        """Share of texts with a term of each of the rules' categories."""
        known: dict[bytes, float] = {}
        for rule in rules:
            key = (rule >= 0).tobytes()
            if key not in known:
                known[key] = len(self.seeds(rule)) / len(self.texts)
        return np.array([known[(rule >= 0).tobytes()] for rule in rules])

    def contains(self, rule: Rules | Ints) -> Bools:
        """Which texts contain all terms of the rule."""
        named = [self.terms.number(int(j), int(rule[j])) for j in np.flatnonzero(rule >= 0)]
        return np.asarray(self.read.contains[:, named].all(axis=1))

    def replaced(self, rule: Rules | Ints, rows: Ints) -> list[str]:
        """These texts with the terms of the rule in place of all terms of its categories."""
        put = {int(j): self.terms.words[j][rule[j]] for j in np.flatnonzero(rule >= 0)}
        return [self.read.with_terms(int(row), put) for row in rows]

    def outside(
        self, rules: Rules, rows: Ints, weights: Ints, values: Floats, binary: bool
    ) -> tuple[Floats, Floats]:
        """Number, mean and variance outside of each rule, and the share of texts there."""
        outside, share = np.empty((len(rules), 3)), np.empty(len(rules))
        for number, rule in enumerate(rules):
            out = ~self.contains(rule)
            share[number] = out.mean()
            kept = out[rows]
            outside[number] = side(values[kept], weights[kept], binary)
        return outside, share


def plan_sample(
    corpus: Corpus,
    frequent: Seeds,
    *,
    n_side: int,
    error: float,
    alpha: float,
    budget: int,
    rng: np.random.Generator,
) -> tuple[TextSample, int]:
    """Draw the texts, fewer if the budget asks for it; also the queries that were needed."""
    z = float(stats.norm.isf(alpha / 2))
    # Texts outside for each text inside. Those outside are shared by all rules, so many cost
    # little, and with ten times as many the error is nearly that of the inside alone.
    ratio = 10
    wanted = max(n_side, int(np.ceil((1 + 1 / ratio) * (z * 0.5 / error) ** 2)))
    outside = rng.integers(len(corpus.texts), size=ratio * wanted)
    drawn = {chosen: rng.choice(seeds, size=wanted) for chosen, seeds in frequent.items()}
    needed = n_texts = _n_texts(corpus, outside, drawn)
    while n_texts > budget and wanted > 1:
        wanted = max(1, int(wanted * min(0.9, budget / n_texts)))
        outside = outside[: ratio * wanted]
        drawn = {chosen: rows[:wanted] for chosen, rows in drawn.items()}
        n_texts = _n_texts(corpus, outside, drawn)
    inside = {chosen: np.unique(rows, return_counts=True) for chosen, rows in drawn.items()}
    return TextSample(np.unique(outside, return_counts=True), inside), needed


def _n_texts(corpus: Corpus, outside: Ints, drawn: Seeds) -> int:
    """Different texts to ask about."""
    n_texts = len(np.unique(outside))
    for chosen, rows in drawn.items():
        n_texts += len(np.unique(rows)) * corpus.n_rules([chosen])
    return n_texts


def ask_batch(
    corpus: Corpus, sample: TextSample, answers: Answers, batch: list[Rule], asked: Asked
) -> None:
    """Ask about the texts inside of some rules, and note the predictions."""
    texts: list[str] = []
    rules = []
    for chosen, words in batch:
        rule = np.full(len(corpus.terms.categories), -1, dtype=np.intp)
        rule[list(chosen)] = words
        rules.append(rule)
        texts += corpus.replaced(rule, sample.inside[chosen][0])
    values = answers.ask(texts)
    start = 0
    for rule, (chosen, _) in zip(rules, batch, strict=True):
        rows, weights = sample.inside[chosen]
        asked.rules.append(rule)
        asked.inside.append(side(values[start : start + len(rows)], weights, bool(answers.binary)))
        start += len(rows)


def side(values: Floats, weights: NDArray[Any], binary: bool) -> tuple[float, float, float]:
    """Number, mean and variance of weighted predictions."""
    n = float(weights.sum())
    if not n:
        return 0.0, np.nan, np.nan
    mean = float(weights @ values) / n
    if binary:
        return n, mean, max(0.0, mean * (1 - mean))
    variance = float(weights @ (values - mean) ** 2) / (n - 1) if n > 1 else np.nan
    return n, mean, variance


def make_sides(inside: Floats, outside: Floats, binary: bool) -> Sides:
    """Both sides from rows of (n, mean, variance)."""
    n, mean, variance = inside.T
    n_out, mean_out, variance_out = outside.T
    return Sides(n, mean, variance, n_out, mean_out, variance_out, binary)
