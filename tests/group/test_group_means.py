"""Numeric outcomes of groups: what is claimed without a difference, held with one, and found.

The tables are those of examples/benchmarks/bench_subgroups_truth.py, whose truth is known. Margins:
what the promised share would pass in one of 10,000 tries.
"""

import numpy as np
import pytest
from scipy import stats
from tiers import slow_sample, some

from skfairtest.group._rules.frequent import FrequentRules

OURS = "moderated, resampled"


def check(bench, case, tables, *, promised=0.05):
    found = bench.simulated(case, tables, 1_000, [OURS]).loc[OURS]
    most = stats.binom.isf(1e-4, tables, promised) / tables
    assert found["claims"] <= most and 1 - found["covers"] <= most, (case, found)


EXACT = [
    "normal", "exponential", "log-normal", "rare large", "calibration", "log loss",
    "log-normal, log-normal weights", "calibration, weights by group",
]  # fmt: skip
OTHER = [
    "log-normal, planted more", "log-normal, half of them more", "log-normal, times two",
    "normal, small group four times as wide", "exponential, small group four times as wide",
    "calibration, small group a fifth", "calibration, half of them a fifth",
]  # fmt: skip


@slow_sample
@pytest.mark.parametrize("case", ["calibration", "log-normal, planted more"])
def test_intervals_hold_in_a_sample(bench, case):
    check(bench, case, 40)


@pytest.mark.slow
@pytest.mark.parametrize("case", EXACT)
def test_nothing_is_claimed_where_nothing_differs(bench, case):
    check(bench, case, 300)


@pytest.mark.slow
@pytest.mark.parametrize("case", OTHER)
def test_intervals_hold_where_something_differs(bench, case):
    # Permutations are an approximation here: a percent is allowed for it.
    check(bench, case, 300, promised=0.06)


@pytest.mark.slow
@pytest.mark.parametrize("case", ["normal, planted more", "normal, planted less"])
def test_half_a_standard_deviation_is_found(bench, case):
    found = bench.simulated(case, 100, 2_000, [OURS]).loc[OURS]
    assert found["power"] >= stats.binom.ppf(1e-4, 100, 0.9) / 100


@pytest.mark.slow
def test_the_check_can_fail(bench):
    found = bench.simulated("calibration", 40, 1_000, ["Welch, Bonferroni"])
    assert found["claims"].item() > 0.5


@pytest.mark.parametrize("n_values", [2, 9])  # few different rows, and many
@pytest.mark.parametrize("compiled", some([False, True], 1))
def test_sums_of_many_columns_are_those_of_each(n_values, compiled):
    rng = np.random.default_rng(0)
    columns = [column.astype(np.int16) for column in rng.integers(0, n_values, (3, 300))]
    rules = FrequentRules(
        columns, [n_values] * 3, min_support=0.005, max_conditions=3, compiled=compiled
    )
    values, rows = rng.normal(size=(300, 20)), rng.permutation(300)[:170]
    for found, here in ((rules, values), (rules.among(rows), values[rows])):
        sums = found.sums(here)
        for g in range(0, rules.n_rules, 7):
            assert sums[g] == pytest.approx(here[found.inside(g)].sum(axis=0))
