"""Of many rules a few: places of parts, gains, and what planted pockets lead to."""

import numpy as np
import pytest
from dense_rules import DenseRules
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import stats
from tiers import slow_sample

from skfairtest.group._inference.counting import rule_sides
from skfairtest.group._inference.pivot import interval_at, signed_root
from skfairtest.group._inference.resampled import resampled
from skfairtest.group._rules.short_list import (
    best_parts,
    parents,
    rest_of,
    short_list,
)


def some_rules(seed, n_attributes=4, n_values=3, share=0.6):
    """Distinct rules in any order, not all parts of each among them."""
    rng = np.random.default_rng(seed)
    rules = np.unique(rng.integers(-1, n_values, (60, n_attributes)), axis=0)
    rules = rules[(rules >= 0).any(axis=1) & (rng.random(len(rules)) < share)]
    return rng.permutation(rules, axis=0), rng


@given(st.integers(0, 10_000))
def test_parents_are_those_of_a_dictionary(seed):
    rules, _ = some_rules(seed)
    places = {tuple(rule): i for i, rule in enumerate(rules)}
    found = parents(rules)
    for i, rule in enumerate(rules):
        for j in range(rules.shape[1]):
            shorter = tuple(np.where(np.arange(len(rule)) == j, -1, rule))
            assert found[i, j] == (places.get(shorter, -1) if rule[j] >= 0 else -1)


@given(st.integers(0, 10_000))
def test_best_parts_are_those_of_a_loop(seed):
    # Every part of a frequent rule is frequent: all are there, as in a search.
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 2, (30, 4))
    rules = DenseRules(codes, most=4).conditions
    rules = rng.permutation(rules, axis=0)
    score, candidates = rng.integers(0, 5, len(rules)) / 5, rng.random(len(rules)) < 0.6
    length = (rules >= 0).sum(axis=1)
    found = best_parts(rules, score, candidates)
    for i, rule in enumerate(rules):
        part = ((rules < 0) | (rules == rule)).all(axis=1) & (length < length[i]) & candidates
        if not part.any():
            assert found[i] == -1
            continue
        assert part[found[i]] and score[found[i]] == score[part].max()
        assert length[found[i]] == length[part & (score == score[part].max())].min()


@given(st.integers(0, 10_000), st.booleans(), st.booleans())
@example(120, False, False)  # no row of the smaller rule counts
def test_the_rest_of_a_part_is_that_of_a_loop(seed, binary, weighted):
    rng = np.random.default_rng(seed)
    rules = DenseRules(rng.integers(0, 2, (60, 3)))
    values = rng.integers(0, 2, 60).astype(float) if binary else rng.normal(1e4, 1, 60)
    counts = rng.random(60) < 0.9
    weights = rng.uniform(0.2, 3, 60) if weighted else None
    w = np.ones(60) if weights is None else weights
    sides = rule_sides(rules, values, counts, weights, binary=binary)
    part = parents(rules.conditions).max(axis=1)
    sums = rules.sums(np.where(counts, [w, w**2], 0.0).T) if weighted else None
    against = rest_of(sides, part, sums)
    for i in range(rules.n_rules):
        rows = counts & rules.inside(part[i]) & ~rules.inside(i)
        if part[i] < 0 or not rows.any():
            assert against.n_out[i] == 0 and np.isnan(against.mean_out[i])
            continue
        mean = np.average(values[rows], weights=w[rows])
        assert against.n_out[i] == pytest.approx(w[rows].sum() ** 2 / (w[rows] ** 2).sum())
        assert against.mean_out[i] == pytest.approx(mean)
        if rows.sum() > 1 and counts[rules.inside(i)].sum() > 1:
            size = against.n_out[i]
            variance = np.average((values[rows] - mean) ** 2, weights=w[rows])
            variance *= 1.0 if binary else size / (size - 1)
            assert against.variance_out[i] == pytest.approx(variance, abs=1e-5)


def listed(codes, values, *, binary=True, weights=None, min_support=0.02, **options):
    rules = DenseRules(codes, min_support=min_support)
    counts = np.ones(len(codes), dtype=bool)
    sides = rule_sides(rules, values, counts, weights, binary=binary)
    found = resampled(
        sides, rules, values, counts, weights,
        confidence=0.95, n_resamples=199, rng=np.random.default_rng(0),
    )  # fmt: skip
    short = short_list(
        rules, rules.conditions, sides, values, counts, weights,
        differs=found.differs, critical=found.critical, **options,
    )  # fmt: skip
    return rules, sides, found, short


def pocket(seed, n_rows=6000, rate=0.1, inside=0.5):
    """Four attributes of three values; rows of values 0 and 0 of the first two have other rates."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 3, (n_rows, 4))
    held = (codes[:, :2] == 0).all(axis=1)
    return codes, (rng.random(n_rows) < np.where(held, inside, rate)).astype(float)


def test_a_pocket_is_listed_without_its_parts_and_its_parts_parts():
    codes, values = pocket(0)
    rules, sides, found, short = listed(codes, values)
    # Many rules differ, and all of them for one reason.
    assert found.differs.sum() > 20
    assert rules.conditions[short.rule].tolist() == [[0, 0, -1, -1]]
    part = short.sub_rule[0]
    assert rules.conditions[part].tolist() in ([0, -1, -1, -1], [-1, 0, -1, -1])
    inside, rest = rules.inside(short.rule[0]), rules.inside(part)
    rest = rest & ~inside
    assert short.gain[0] == pytest.approx(values[inside].mean() - values[rest].mean())
    assert 0.2 < short.gain_low[0] < short.gain[0] < short.gain_high[0] < 0.6
    assert short.covered.tolist() == pytest.approx([inside.mean()])


def test_two_pockets_are_two_lines_the_worse_one_first():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, (6000, 4))
    first, second = codes[:, 0] == 1, (codes[:, 2:] == 2).all(axis=1)
    values = (rng.random(6000) < 0.1 + 0.3 * first + 0.45 * (second & ~first)).astype(float)
    rules, sides, _, short = listed(codes, values)
    rules = rules.conditions[short.rule]
    assert [-1, -1, 2, 2] in rules[:, :].tolist() or [0, -1, 2, 2] in rules.tolist()
    assert [1, -1, -1, -1] in rules.tolist() and len(rules) <= 4
    assert (np.diff(short.covered) > 0).all() and short.covered[-1] <= 1
    score = np.abs(sides.difference[short.rule])
    assert (np.diff(score) <= 0).all()


def test_groups_of_one_partition_are_not_listed_as_each_others_rest():
    rng = np.random.default_rng(0)
    codes = np.column_stack([rng.integers(0, 2, 2000), rng.integers(0, 3, (2000, 2))])
    values = (rng.random(2000) < 0.2 + 0.4 * codes[:, 0]).astype(float)
    _, _, found, short = listed(codes, values)
    # Both halves differ from each other by the same: one line says it.
    assert found.differs.sum() > 2 and len(short.rule) == 1


def test_equal_groups_once_by_the_simplest_rule():
    codes, values = pocket(1)
    twice = np.column_stack([codes, (codes[:, :2] == 0).all(axis=1).astype(int)])
    rules, _, _, short = listed(twice, values)
    assert rules.conditions[short.rule].tolist() == [[-1, -1, -1, -1, 1]]


def test_means_weights_and_both_directions():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, (3000, 3))
    values = rng.normal(1.0 * (codes[:, 0] == 0) - 2.0 * (codes[:, 1] == 2), 1)
    weights = rng.uniform(0.5, 1.5, 3000)
    rules, sides, _, short = listed(codes, values, binary=False, weights=weights)
    assert set(np.sign(sides.difference[short.rule])) == {-1.0, 1.0}
    assert len(short.rule) <= 4
    only = listed(codes, values, binary=False, weights=weights, most=1)[3]
    assert only.rule.tolist() == short.rule[:1].tolist()


def test_another_score_is_another_order():
    codes, values = pocket(0, inside=0.3)
    rules, sides, found, short = listed(codes, values)
    lower = listed(codes, values, score=sides.n * np.abs(sides.difference))[3]
    assert len(lower.rule) and not np.array_equal(lower.rule, short.rule)


def test_where_nothing_differs_nothing_is_listed():
    codes, _ = pocket(0, n_rows=500)
    values = np.tile([0.0, 1.0], 250)
    rules = DenseRules(codes)
    counts = np.ones(500, dtype=bool)
    sides = rule_sides(rules, values, counts, binary=True)
    short = short_list(
        rules, rules.conditions, sides, values, counts,
        differs=np.zeros(rules.n_rules, dtype=bool), critical=4.0,
    )  # fmt: skip
    assert [len(column) for column in short] == [0] * 6


def test_what_a_rule_adds_is_an_interval_for_all_at_once():
    codes, values = pocket(0)
    rules, sides, found, short = listed(codes, values)
    several = found.differs & ((rules.conditions >= 0).sum(axis=1) > 1)
    needed = stats.norm.isf(0.025 / several.sum())
    part = np.full(rules.n_rules, -1)
    part[short.rule] = short.sub_rule
    against = rest_of(sides, part)
    low, high = interval_at(against, needed)
    assert short.gain_low == pytest.approx(low[short.rule])
    assert short.gain_high == pytest.approx(high[short.rule])
    assert (np.abs(signed_root(against))[short.rule] > needed).all()


def share_with_more(runs, first=0):
    """How often a rule is listed that adds conditions to a planted one, which say nothing."""
    wrong = 0
    for seed in range(first, first + runs):
        codes, values = pocket(seed, n_rows=2000, inside=0.6)
        rules, _, _, short = listed(codes, values, min_support=0.01)
        rules = rules.conditions[short.rule]
        wrong += bool(((rules[:, :2] == 0).all(axis=1) & (rules[:, 2:] >= 0).any(axis=1)).any())
    return wrong / runs


@slow_sample
def test_conditions_that_say_nothing_are_not_added():
    assert share_with_more(10) <= 0.1


@pytest.mark.slow
def test_conditions_that_say_nothing_are_not_added_over_200_repetitions():
    # What 5% would exceed in one of 10,000 tries.
    assert share_with_more(200) <= stats.binom.isf(1e-4, 200, 0.05) / 200
