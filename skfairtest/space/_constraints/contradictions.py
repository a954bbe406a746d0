"""Find constraints that contradict each other, and rows of data that break a constraint."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from skfairtest._typing import Bools, Floats
from skfairtest.exceptions import ConstraintWarning, users_level
from skfairtest.space._constraints.admission import Admission, _flat
from skfairtest.space._constraints.base import bind, constraints_of, name_of
from skfairtest.space._constraints.bound_columns import BoundColumns
from skfairtest.space._constraints.rules import AllRule, Rule, SumRule
from skfairtest.space._domain import Domain
from skfairtest.space._twins import Twins

#: Row numbers that a warning names.
MOST_NAMED = 5
#: Draws that are repaired in search of a valid row, and how often.
N_TRIED, TRIES = 128, 3
#: Seed of that search: whether constraints contradict each other is no matter of chance.
SEED = 0


def check_constraints(constraint: Any, table: BoundColumns, domain: Domain, twins: Twins) -> None:
    """Warn of rows of data that break a constraint; raise if no row can satisfy all of them.

    Callables are asked by nobody here.
    """
    rules = bind(constraint, table)
    pairs = list(zip(constraints_of(constraint), rules, strict=True))
    pairs = [(part, rule) for part, rule in pairs if not rule.is_opaque]
    if not pairs:
        return
    verdicts = np.array([rule.valid(table.data) for _, rule in pairs])
    inside = ((table.data >= domain.low) & (table.data <= domain.high)).all(axis=1)
    if not (verdicts.all(axis=0) & inside).any():
        _check_possible(pairs, domain, twins)
    _warn_of_data([c for c, _ in pairs], verdicts)


def _check_possible(pairs: list[tuple[Any, Rule]], domain: Domain, twins: Twins) -> None:
    """Raise if no row can satisfy all rules, and name as few constraints as possible."""
    own = [rule for _, rule in pairs]
    proofs = (_is_empty, _is_infeasible, _is_unreachable)
    for contradict in proofs:
        if not contradict(own, domain, twins):
            continue
        left = list(pairs)
        for pair in pairs:
            fewer = [other for other in left if other is not pair]
            if fewer and contradict([rule for _, rule in fewer], domain, twins):
                left = fewer
        raise ValueError(_contradiction([c for c, _ in left], contradict is not _is_unreachable))


def _warn_of_data(constraints: list[Any], verdicts: Bools) -> None:
    lines = []
    for constraint, valid in zip(constraints, verdicts, strict=True):
        broken = np.flatnonzero(~valid)
        if len(broken):
            named = ", ".join(map(str, broken[:MOST_NAMED]))
            more = ", ..." if len(broken) > MOST_NAMED else ""
            lines.append(
                f"{len(broken)} of {len(valid)} rows of X break the constraint "
                f"{name_of(constraint)} (rows {named}{more})"
            )
    if lines:
        warnings.warn(
            "; ".join(lines) + ". These rows count as inputs that do not exist; correct the "
            "constraint, or the rows.",
            ConstraintWarning,
            stacklevel=users_level(),
        )


def _contradiction(constraints: list[Any], proven: bool) -> str:
    names = "; ".join(name_of(constraint) for constraint in constraints)
    remedy = "or widen the domains by InputSpace(bounds=...) or InputSpace(categories=...)."
    if not proven:
        return (
            f"constraint=: no input was found that satisfies {names}. Loosen or leave out a "
            f"constraint, {remedy}"
        )
    if len(constraints) == 1:
        return (
            f"constraint=: no input in the domain of the columns satisfies {names}. Correct it, "
            f"{remedy}"
        )
    return (
        "constraint=: these constraints contradict each other; no input in the domain satisfies "
        f"all of them: {names}. Loosen or leave out one of them, {remedy}"
    )


def _is_empty(rules: list[Rule], domain: Domain, twins: Twins) -> bool:
    """Return whether intervals alone show that no row satisfies the rules."""
    return not Admission(rules, domain, twins).is_possible


def _is_infeasible(rules: list[Rule], domain: Domain, twins: Twins) -> bool:
    """Return whether the sums among the rules have no solution, even in real numbers."""
    from scipy.optimize import linprog

    sums = [
        rule
        for rule in _flat(rules)
        if isinstance(rule, SumRule)
        and all(term.values is None and term.numbers is None for term in rule.terms)
    ]
    if len(sums) < 2:
        return False
    upper: list[tuple[Floats, float]] = []
    for rule in sums:
        weights = np.zeros(len(domain.low))
        start = 0.0
        for term in rule.terms:
            weights[term.column] += term.slope
            if term.numbers is not None:
                start += term.weight * float(term.numbers.take(np.zeros(1))[0])
        upper.append((weights, rule.end - start))
        if rule.relation == "==":
            upper.append((-weights, start - rule.limit))
    found = linprog(
        np.zeros(len(domain.low)),
        A_ub=np.array([weights for weights, _ in upper]),
        b_ub=np.array([limit for _, limit in upper]),
        bounds=np.column_stack([domain.low, domain.high]),
        method="highs",
    )
    return bool(found.status == 2)


def _is_unreachable(rules: list[Rule], domain: Domain, twins: Twins) -> bool:
    """Return whether repairs of random rows find no row that satisfies the rules."""
    rng = np.random.default_rng(SEED)
    admission, rule = Admission(rules, domain, twins), AllRule(rules)
    for _ in range(TRIES):
        Z = admission.repair(admission.draw(N_TRIED, rng), rng)
        if rule.valid(Z).any():
            return False
    return True
