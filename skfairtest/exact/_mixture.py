"""Bound models that average another one over some columns, by bounds of that model.

With s the strength, S the columns that are averaged over and f the model inside, the output is
(1 - s) * f(x) + s * mean over v of f(x with S set to v). For twins in columns of S alone the mean
is one and the same number, so that their outputs differ by exactly (1 - s) times what those of f
do. For twins that differ in other columns R as well, the means differ, too: by no more than f
itself does between twins in R, since every term of the mean is f of such twins. The sum of the two
bounds holds, but different inputs may reach them, so that it need not be attained.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from skfairtest._typing import Floats
from skfairtest.exact._bracket import Attained, Bracket, Family, Limits, unattained, unnoted
from skfairtest.space._containers import make_container
from skfairtest.space._space import InputSpace
from skfairtest.whitebox._features import Chain
from skfairtest.whitebox._mixture import Mixture
from skfairtest.whitebox._tree_model import EPS, exponential_rounding

OPEN = "the average over other columns is bounded separately from the model's own share"


class Parts(NamedTuple):
    """Audited attributes of a model that averages.

    Attributes
    ----------
    averaged : list of int
        Those that are averaged over: the average does not depend on them.
    rest : list of int
        The others.
    fixed : dict of int to float
        Codes of the attributes that are averaged over in one of the terms; known where there is a
        `rest`.
    """

    averaged: list[int]
    rest: list[int]
    fixed: dict[int, float]


def audited_parts(space: InputSpace, steps: list[Any], mixture: Mixture) -> Parts:
    """Return which audited attributes a model averages over.

    Parameters
    ----------
    space : InputSpace
        The inputs that exist.
    steps : list of transformers
        What stands before the model, first step first.
    mixture : Mixture
        The model; its columns are those of the table that the last step makes.

    Raises
    ------
    ValueError
        Where the average asks about rows outside of the domain, so that no bound over the domain
        holds for it. That matters only where other columns are audited as well.
    """
    columns = _columns_by_attribute(space, steps)
    own = set(mixture.places)
    averaged = [int(j) for j in space.sensitive if columns[j] <= own]
    rest = [int(j) for j in space.sensitive if not columns[j] <= own]
    if not rest:
        return Parts(averaged, rest, {})
    names = [space.feature_names[j] for j in rest]
    what = f"The model does not average over {names!r}, which are audited"
    whole = (
        "Audit only columns that it averages over, or search with SBFTAuditor, which needs no "
        "bound."
    )
    if steps:
        raise ValueError(
            f"{what}; with steps before the model no bound is known for that. {whole} Or put the "
            "steps into the model that is averaged."
        )
    table = make_container(mixture.values)
    fixed = {}
    for j, places in columns.items():
        if not places & own:
            continue
        name = space.feature_names[j]
        if not places <= own:
            raise ValueError(
                f"{what}. Of the one-hot group {name!r} it averages over some columns only, which "
                f"makes rows that are in no domain. {whole}"
            )
        taken = [mixture.places.index(place) for place in space.layout.places[j]]
        values = [table.column_values(mixture.values, place) for place in taken]
        try:
            codes = space.layout.codes(j, values)
        except ValueError:
            codes = np.array([np.nan])
        inside = (codes >= space.domain.low[j]) & (codes <= space.domain.high[j])
        if space.domain.discrete[j]:
            inside &= codes == np.rint(codes)
        if not inside.all():
            raise ValueError(
                f"{what}; of {name!r} it averages over values that are outside the audited domain, "
                f"so that no bound of the domain holds for the average. Widen it to the values of "
                f"values_ by InputSpace(bounds=...) or InputSpace(categories=...). {whole}"
            )
        fixed[j] = float(codes[len(codes) // 2])
    return Parts(averaged, rest, fixed)


def _columns_by_attribute(space: InputSpace, steps: list[Any]) -> dict[int, set[int]]:
    """Return the columns of the table behind the steps that depend on each attribute."""
    if not steps:
        return {j: set(places) for j, places in enumerate(space.layout.places)}
    features = Chain(space, steps).features
    return {j: set(features.of(j).tolist()) for j in range(space.n_features)}


class MixtureFamily(Family):
    """Model that averages another one, bounded by bounds of the inner model.

    Parameters
    ----------
    strength : float
        Share of the average.
    parts : Parts
        The audited attributes.
    inner : Family
        The model inside, with all audited attributes.
    rest : Family or None
        The model inside, with those alone that are not averaged over; None where there are none.
    response : str
        What is asked of it.

    Attributes
    ----------
    rounding : float
        How far rounding may carry the outputs of the model itself.
    vague : bool
        Whether `evaluate` leaves out what tells twins apart.
    """

    def __init__(
        self, strength: float, parts: Parts, inner: Family, rest: Family | None, response: str
    ) -> None:
        self.strength, self.share, self.parts = strength, 1 - strength, parts
        self.inner, self.rest, self.vague = inner, rest, rest is not None
        self.quick = inner.quick and (rest is None or rest.quick)
        self.first_queries = inner.first_queries
        # Twins that are asked about in different calls may have averages of different last bits.
        # Mixing adds a few roundings of the size of the outputs, which is below 1 for
        # probabilities; for sums of terms, the inner rounding is a multiple of that itself.
        mixing = 8 * EPS if response == "predict_proba" else inner.rounding
        outputs = getattr(getattr(inner, "base", inner), "outputs", [])
        self.rounding = inner.rounding + mixing + exponential_rounding(outputs)

    def single_room(self, top: float) -> float:
        families = [family for family in (self.inner, self.rest) if family is not None]
        inner = sum(family.single_room(top) for family in families)
        return inner + 4 * self.rounding if inner else 0.0

    def evaluate(self, Z: Floats) -> Floats:
        """Return outputs of the model as read, without what all twins of an input share.

        Where other columns are audited as well, one term of the average stands for all: what
        compares rows by this has the model confirm what it finds.
        """
        outputs = self.share * self.inner.evaluate(Z)
        if self.rest is not None:
            Z = np.array(Z)
            for j, code in self.parts.fixed.items():
                Z[:, j] = code
            outputs = outputs + self.strength * self.rest.evaluate(Z)
        return np.asarray(outputs)

    def rows(self, n: int, rng: np.random.Generator) -> Floats:
        return self.inner.rows(n, rng)

    def root_bound(self) -> float:
        own = self.share * self.inner.root_bound() if self.share else 0.0
        return own if self.rest is None else own + self.strength * self.rest.root_bound()

    def solve(self, incumbent: float, limits: Limits) -> Bracket:
        if not self.share and self.rest is None:
            return Bracket(incumbent, incumbent, None, 0, "closed")
        if self.rest is None:
            share = self.share

            def note(low: float, high: float, n: int, twins: Attained = unattained, /) -> None:
                limits.note(share * low, share * high, n, twins)

            found = self.inner.solve(incumbent / share, limits._replace(note=note))
            upper = max(incumbent, self.share * found.upper)
            return found._replace(lower=max(incumbent, self.share * found.lower), upper=upper)
        # A difference of the mixture is none of the model inside: both begin from nothing.
        limits = limits._replace(note=unnoted)
        found = self.rest.solve(0.0, limits._replace(deadline=limits.by(0.5 if self.share else 1)))
        upper, n_boxes, reason = self.strength * found.upper, found.n_boxes, found.reason
        if self.share:
            own = self.inner.solve(0.0, limits)
            upper, n_boxes = upper + self.share * own.upper, n_boxes + own.n_boxes
            reason = own.reason if own.reason != "closed" else reason
            found = own if self.share > self.strength else found
        reason = OPEN if reason == "closed" else reason
        return Bracket(incumbent, max(incumbent, upper), found.twins, n_boxes, reason)

    def check(
        self,
        ask: Callable[[Floats], Floats],
        Z: Floats,
        space: InputSpace,
        rng: np.random.Generator,
    ) -> float:
        """Return how far twins in averaged columns differ from what averaging allows.

        Parameters
        ----------
        ask : callable
            Outputs of the model for rows of codes, shape (n, n_outputs).
        Z : ndarray of shape (n, n_features)
            Valid rows; they get a random twin each.
        space : InputSpace
            The inputs that exist.
        rng : Generator
            Draws the twins.

        Returns
        -------
        float
            The largest deviation in excess of rounding, relative to the largest output or to 1.
        """
        twins = np.array(Z)
        twins[:, space.sensitive] = space.twins_.draw_sensitive(len(Z), rng)
        for j in self.parts.rest:
            twins[:, j] = Z[:, j]
        valid = space.valid(twins)
        Z, twins = Z[valid], twins[valid]
        if not len(Z):
            return 0.0
        said = ask(np.concatenate([Z, twins]))
        expected = self.share * (self.inner.evaluate(Z) - self.inner.evaluate(twins))
        off = np.abs(said[: len(Z)] - said[len(Z) :] - expected) - 2 * self.rounding
        return float(off.max(initial=0.0)) / max(1.0, float(np.abs(said).max(initial=0.0)))
