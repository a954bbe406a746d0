"""Planted groups are found, and where nothing is planted nothing is reported.

The claims are those of docs/explanation/measured/groups.md; the outcomes are drawn, so the truth is
known. The invented table of the benchmark is used, which needs no data. Margins: what the claimed
share would pass in one of 10,000 tries.
"""

import numpy as np
import pytest
from scipy import stats
from tiers import slow_sample


@pytest.fixture(scope="module")
def table(bench):
    return bench.invented_columns()


@slow_sample
def test_a_planted_pocket_is_the_worst_confirmed_line(bench, table):
    found = [bench.find_pocket(*table, seed)["worst confirmed"] for seed in range(4)]
    assert sum(found) >= 3


@pytest.mark.slow
def test_pockets_are_the_worst_confirmed_line_on_nine_seeds_of_ten(bench, table):
    found = [bench.find_pocket(*table, seed)["worst confirmed"] for seed in range(100, 110)]
    assert sum(found) >= 9


@pytest.mark.slow
def test_without_effect_one_run_of_twenty_reports_anything(bench, table):
    columns, sizes, truth = table
    n_rules, reported = bench.runs_without_effect(columns, sizes, truth, 200, min_support=0.01)
    assert n_rules > 500
    assert reported["resampling"] <= stats.binom.isf(1e-4, 200, 0.05) / 200
    # The check can fail: intervals by themselves report something every time.
    assert reported["none"] == 1


@pytest.mark.slow
def test_where_columns_repeat_each_other_resampling_finds_smaller_pockets(bench):
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 4, (6000, 6))
    for j in range(2, 6):
        codes[:, j] = np.where(rng.random(6000) < 0.97, codes[:, j % 2], codes[:, j])
    columns = [column.astype(np.int16) for column in codes.T]
    _, found = bench.power(columns, [4] * 6, [80, 120, 160, 200], 25, min_support=0.05)
    share = found.set_index("rows")
    assert (share["resampling"] >= share["bonferroni"]).all()
    assert share["resampling"].sum() >= share["bonferroni"].sum() + 0.3
