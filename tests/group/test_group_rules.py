"""Rules, their words, and every frequent rule: the same as a loop over all of them finds."""

import re
from collections import Counter
from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiers import slow_sample

from skfairtest import InputSpace, TestSGDAuditor
from skfairtest.group._inference.counting import rule_sides
from skfairtest.group._results import describe
from skfairtest.group._rules.attribute import MAX_LEVELS, Division
from skfairtest.group._rules.cells import DistinctRows
from skfairtest.group._rules.cuts import cut_points, quantiles
from skfairtest.group._rules.frequent import FrequentRules
from skfairtest.group._rules.rule_search import frequent_rules
from skfairtest.group._rules.tables import tables_of_space
from skfairtest.group._testsgd import _Drawn, _worst_first

# A loop over all rules, with pandas and nothing of ours -----------------------------------------


def is_text(values):
    return not pd.api.types.is_numeric_dtype(values)


def loop_over_rules(values, n_bins):
    """Masks of all rules of one column, each with how much there is to read."""
    present = values.dropna()
    if is_text(values) or present.nunique() == 2:
        levels = sorted(present.unique())
        masks = [values == level for level in levels]
        if values.isna().any() and is_text(values):
            masks.append(values.isna())
        for size in range(1, len(masks)):
            for chosen in combinations(masks, size):
                yield np.any(chosen, axis=0), size
        return
    edges = np.linspace(present.min(), present.max(), n_bins + 1)[1:-1]
    if (present == present.round()).all():
        edges = np.ceil(edges - 1e-9)
    edges = np.unique([float(f"{edge:.10g}") for edge in edges])
    edges = edges[(edges > present.min()) & (edges <= present.max())]
    bounds = [-np.inf, *edges, np.inf]
    for low, high in combinations(bounds, 2):
        if (low, high) != (-np.inf, np.inf):
            mask = (values >= low) & (values < high)
            yield mask.to_numpy(), int(np.isfinite(low)) + int(np.isfinite(high))


def loop_over_frequent_rules(frame, n_bins, min_support):
    """(columns, mask) of every frequent rule, and for each mask how simply it can be said."""
    found, simplest = Counter(), {}
    rules = {name: list(loop_over_rules(frame[name], n_bins)) for name in frame}
    for size in range(1, len(frame.columns) + 1):
        for names in combinations(frame.columns, size):
            for parts in product(*(rules[name] for name in names)):
                mask = np.all([mask for mask, _ in parts], axis=0)
                if mask.sum() >= min_support * len(frame) - 1e-9 and not mask.all():
                    found[names, mask.tobytes()] += 1
                    reading = (size, sum(words for _, words in parts))
                    key = mask.tobytes()
                    simplest[key] = min(simplest.get(key, reading), reading)
    return found, simplest


def mask_of_words(words, frame):
    """The rows that a rule in words holds for, read as a person reads it."""
    mask = np.ones(len(frame), dtype=bool)
    for part in words.split(" and "):
        if match := re.fullmatch(r"(\w+) in \{(.*)\}", part):
            mask &= held(frame[match[1]], match[2].split(", "))
        elif match := re.fullmatch(r"(\w+) = (\S+)", part):
            mask &= held(frame[match[1]], [match[2]])
        elif match := re.fullmatch(r"(\w+) from (\S+) to below (\S+)", part):
            mask &= (frame[match[1]] >= float(match[2])) & (frame[match[1]] < float(match[3]))
        elif match := re.fullmatch(r"(\w+) < (\S+)", part):
            mask &= frame[match[1]] < float(match[2])
        else:
            match = re.fullmatch(r"(\w+) >= (\S+)", part)
            mask &= frame[match[1]] >= float(match[2])
    return np.asarray(mask)


def held(values, levels):
    if is_text(values):
        return values.fillna("missing").isin(levels).to_numpy()
    return values.isin([float(level) for level in levels]).to_numpy()


# Tables -----------------------------------------------------------------------------------------


@st.composite
def frames(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(12, 40))
    makers = {
        "race": lambda: rng.choice(np.array(["a", "b", "c", None], dtype=object), n),
        "sex": lambda: rng.permutation(np.resize([0.0, 1.0], n)),
        "age": lambda: rng.permutation(np.resize(np.arange(20, draw(st.integers(24, 80))), n)),
        "income": lambda: np.where(rng.random(n) < 0.1, np.nan, rng.permutation(n) * 0.37),
        "faith": lambda: rng.choice(np.array(["x", "y"], dtype=object), n),
    }
    names = draw(st.lists(st.sampled_from(sorted(makers)), min_size=1, max_size=3, unique=True))
    frame = pd.DataFrame({name: makers[name]() for name in names})
    return frame[[name for name in names if frame[name].nunique() > 1]]


class Counted:
    """The frequent rules of a table, as TestSGDAuditor counts them."""

    def __init__(self, frame, n_bins, min_support, sensitive=None, space=None, **wish):
        tables = tables_of_space(frame, sensitive or list(frame.columns), None, space)
        how = Division(10, "uniform", few=2, sets=True, most=MAX_LEVELS, label="n_bins")
        columns = tables.divide(None, None, n_bins, how)
        self.tables, self.attributes = tables, tables.attributes
        self.cells = DistinctRows(columns, [attribute.n_values for attribute in self.attributes])
        settings = {"most": None, "label": "max_attributes", **wish}
        self.rules = frequent_rules(
            self.attributes, list(self.cells.codes.T), min_support=min_support,
            weights=self.cells.count, **settings,
        )  # fmt: skip

    def described(self, rules):
        """Columns and words of rules."""
        for rule in self.rules.conditions(rules):
            words, attributes, _ = describe(self.attributes, rule)
            yield tuple(attributes), words

    def compare(self, seeds, values, binary):
        """The groups, worst first, and what was observed."""
        drawn = _Drawn(self.rules, self.cells, seeds)
        everyone = np.ones(len(values), dtype=bool)
        sides = rule_sides(drawn, values, everyone, binary=binary)
        ranked = np.isfinite(sides.difference)
        return _worst_first(self.rules, self.attributes, sides, ranked), sides


@slow_sample
@given(frames(), st.integers(2, 5), st.sampled_from([0.02, 0.1, 0.3]))
def test_every_rule_set_is_found_once_with_its_support_and_share(frame, n_bins, min_support):
    if not len(frame.columns):
        return
    expected, simplest = loop_over_frequent_rules(frame, n_bins, min_support)
    if not expected:
        with pytest.raises(ValueError, match="largest support"):
            Counted(frame, n_bins, min_support)
        return
    counted = Counted(frame, n_bins, min_support)
    found = Counter()
    everything = np.arange(counted.rules.n_rules)
    for (names, words), rows in zip(
        counted.described(everything), counted.rules.counts, strict=True
    ):
        mask = mask_of_words(words, frame)
        assert mask.sum() == rows, words
        found[names, mask.tobytes()] += 1
    assert found == expected
    assert len(set(counted.rules.marks.tolist())) == len(simplest)
    check_comparison(frame, counted, simplest)


def check_comparison(frame, counted, simplest):
    """Shares, scores, and each group once by the simplest rule."""
    rng = np.random.default_rng(0)
    seeds = rng.integers(len(frame), size=300)
    for binary in (True, False):
        values = rng.normal(5, 2, 300) if not binary else (rng.random(300) < 0.3).astype(float)
        kept, sides = counted.compare(seeds, values, binary)
        seen = set()
        rules = counted.rules.conditions(kept)
        for place, rule, (names, words) in zip(kept, rules, counted.described(kept), strict=True):
            mask = mask_of_words(words, frame)
            assert (len(names), reading_of(counted, rule)) == simplest[mask.tobytes()], words
            inside = values[mask[seeds]]
            outside = values[~mask[seeds]]
            assert sides.n[place] == len(inside) and counted.rules.counts[place] == mask.sum()
            for side, mean, variance in (
                (inside, sides.mean[place], sides.variance[place]),
                (outside, sides.mean_out[place], sides.variance_out[place]),
            ):
                if len(side) > 1:
                    assert mean == pytest.approx(side.mean(), abs=1e-9)
                    exact = mean * (1 - mean) if binary else side.var(ddof=1)
                    assert variance == pytest.approx(exact, abs=1e-9)
            seen.add(mask.tobytes())
        assert seen == set(simplest)
        ordered = np.abs(sides.difference)[kept]
        assert (np.diff(ordered[np.isfinite(ordered)]) <= 1e-9).all()


def reading_of(counted, rule):
    return sum(
        int(a.complexity[j]) for a, j in zip(counted.attributes, rule, strict=True) if j >= 0
    )


@slow_sample
@given(frames(), st.integers(2, 5))
def test_rows_taken_together_and_numba_change_nothing(frame, n_bins):
    if not len(frame.columns):
        return
    try:
        counted = Counted(frame, n_bins, 0.05)
    except ValueError:
        return
    cells, attributes = counted.cells, counted.attributes
    rows = [cells.codes[cells.of_row, j] for j in range(len(attributes))]
    V = np.random.default_rng(0).normal(size=(len(frame), 2))
    together = np.column_stack([np.bincount(cells.of_row, v, len(cells.codes)) for v in V.T])
    settings = {
        "sizes": [a.n_values for a in attributes], "members": [a.members for a in attributes],
        "min_support": 0.05, "max_conditions": 3,
    }  # fmt: skip
    ways = [
        (FrequentRules(columns, weights=weights, compiled=compiled, **settings), table)
        for columns, weights, table in (
            (rows, None, V), (list(cells.codes.T), cells.count, together)
        )
        for compiled in (False, True)
    ]  # fmt: skip
    first, table = ways[0]
    for other, own in ways[1:]:
        for name in ("parents", "last", "counts"):
            np.testing.assert_array_equal(getattr(first, name), getattr(other, name))
        same = [np.unique(p.marks, return_inverse=True)[1].size for p in (first, other)]
        assert same[0] == same[1]
        np.testing.assert_allclose(first.sums(table), other.sums(own), atol=1e-9)


# Cells, bins and words ---------------------------------------------------------------------------


def attribute_of(values, bins=10, binning="uniform", name="age", sets=True, few=2):
    frame = pd.DataFrame({name: values, "other": np.arange(len(values))})
    tables = tables_of_space(frame, [name], None, None)
    how = Division(10, binning, few=few, sets=sets, most=MAX_LEVELS, label="n_bins")
    tables.divide(None, None, bins, how)
    return tables.attributes[0]


def test_bins_of_equal_width_quantiles_and_edges():
    values = np.r_[np.arange(0, 100), [1000.0]]
    assert attribute_of(values, 4).cuts.tolist() == [250, 500, 750]
    counts = np.bincount(
        (quantiles := attribute_of(values, 4, "quantile")).numbers(values), minlength=4
    )
    assert counts.max() - counts.min() <= 1 and len(quantiles.cuts) == 3
    edges = attribute_of(values, [-5, 20, 60.5, 1000, 2000])
    # Nothing lies beyond 2000 or below -5, so these edges divide nobody.
    assert edges.cuts.tolist() == [20, 60.5, 1000]
    assert edges.numbers(np.array([19, 20, 60, 61, 999, 1000, np.nan])).tolist() == [
        0, 1, 1, 2, 2, 3, 4,
    ]  # fmt: skip


@pytest.mark.parametrize("common", [0.0, 50.0, 99.0], ids=["lowest", "middle", "highest"])
@pytest.mark.parametrize("binning", ["uniform", "quantile", "quartiles"])
@pytest.mark.parametrize("share", [0.55, 0.92, 0.99])
def test_a_value_that_most_rows_have_is_a_bin_of_its_own(common, binning, share):
    n = 2000
    values = np.full(n, common)
    others = np.random.default_rng(0).permutation(np.delete(np.arange(100.0), int(common)))
    values[: round(n * (1 - share))] = np.resize(others, round(n * (1 - share)))
    different, counts = np.unique(values, return_counts=True)
    cuts = cut_points(different, counts, 5, binning)
    place = np.searchsorted(cuts, values, side="right")
    own = np.searchsorted(cuts, common, side="right")
    assert (values[place == own] == common).all()
    sizes = np.bincount(np.delete(place, place == own))
    rest = [size for size in sizes if size]
    # The rest are one bin, or one on either side, if they are few; each of all bins if many.
    few = 1 if common in (0.0, 99.0) else 2
    assert len(rest) == few if share > 0.9 else len(rest) >= 2
    if binning == "quantile" and share < 0.9:
        assert max(rest) <= 2 * min(rest)


def test_bins_are_as_wide_as_rows_are_where_the_domain_is_wider():
    values = np.r_[np.full(3, 40.0), np.arange(41, 50)]
    frame = pd.DataFrame({"age": values, "x": np.arange(len(values))})
    counted = Counted(frame, 4, 0.05, ["age"], InputSpace(bounds={"age": (0, 1000)}))
    assert counted.attributes[0].cuts.tolist() == [43, 45, 47]


def test_quantiles_of_counted_values_are_those_of_rows():
    rng = np.random.default_rng(0)
    for n in (1, 2, 7, 50):
        values = rng.integers(0, 9, n) * 0.37
        different, counts = np.unique(values, return_counts=True)
        shares = np.arange(1, 10) / 10
        np.testing.assert_array_equal(
            quantiles(different, counts, shares), np.quantile(values, shares)
        )


@slow_sample
@given(st.lists(st.floats(-1e6, 1e6), min_size=3, max_size=60, unique=True), st.integers(2, 9))
def test_what_is_printed_divides_the_rows(values, bins):
    values = np.array(values)
    different, counts = np.unique(values, return_counts=True)
    for binning in ("quantile", "quartiles", "uniform"):
        cuts = cut_points(different, counts, bins, binning)
        assert len(cuts) and (np.diff(cuts) > 0).all()
        assert different[0] < cuts[0] and cuts[-1] <= different[-1]
        attribute = attribute_of(values, bins, "uniform", sets=False)
        for condition in range(len(attribute.cuts) + 1):
            held = attribute.numbers(values) == condition
            said = mask_of_words(attribute.text(condition), pd.DataFrame({"age": values}))
            assert (said == held).all()


def test_cut_points_have_few_digits_where_that_divides_the_rows():
    rng = np.random.default_rng(0)
    for values in (rng.normal(0, 1, 1000), rng.normal(0, 1e-7, 200), rng.normal(0, 1e5, 200)):
        different, counts = np.unique(values, return_counts=True)
        cuts = cut_points(different, counts, 5, "quantile")
        exact = np.quantile(values, [0.2, 0.4, 0.6, 0.8])
        assert np.array_equal(np.searchsorted(different, cuts), np.searchsorted(different, exact))
        assert all(float(f"{cut:.5g}") == cut for cut in cuts)
        assert any(float(f"{cut:.4g}") == cut for cut in cuts)
    # No number of few digits lies between these two.
    near = np.array([1.23456781, 1.23456789])
    assert 1.23456781 < cut_points(near, np.array([5, 5]), 2, "quantile")[0] <= 1.23456789


def test_edges_stay_as_they_are_given():
    values = np.random.default_rng(0).random(100)
    edges = [0.123456789012345, 0.5]
    assert attribute_of(values, edges).cuts.tolist() == edges
    assert attribute_of(values, edges).text(0) == "age < 0.123456789012345"


def test_number_of_rules():
    # The paper: 30 subsets of five values; 10 bins have 55 runs, one of which is everybody.
    assert attribute_of(np.arange(101)).n_conditions == 54
    assert attribute_of(list("abcde") * 4, name="race").n_conditions == 30


def all_words(attribute):
    return [attribute.text(condition) for condition in range(attribute.n_conditions)]


def test_words():
    words = all_words(attribute_of(np.arange(101)))
    assert {"age < 10", "age >= 90", "age from 40 to below 60"} <= set(words)
    assert len(set(words)) == len(words)
    assert all_words(attribute_of([0, 1] * 5, name="member")) == ["member = 0", "member = 1"]
    race = attribute_of(["a", "b", None] * 4, name="race")
    assert "race in {b, missing}" in all_words(race)
    # A bin of one whole number reads as that number, as a category does.
    children = attribute_of(np.arange(5).repeat(4), name="children")
    assert {"children < 1", "children = 1", "children = 3", "children >= 4"} <= set(
        all_words(children)
    )
    single = attribute_of(np.r_[np.arange(40.0), np.nan], 4, sets=False)
    assert all_words(single) == [
        "age < 10", "age from 10 to below 20", "age from 20 to below 30", "age >= 30",
        "age = missing",
    ]  # fmt: skip
    assert single.values(4) == (None,) and single.complexity.tolist() == [1, 2, 2, 1, 1]


AMBIGUOUS = {
    "missing": ["missing", None, "a"],
    "numbers": [1, "1", "a"],
    "list": ["x, y", "x", "y"],
    "quotes": ['"x"', "x", '\\"x'],
    "truth": [True, "True", "False"],
    "close": [0.1, 0.1 + 1e-15, "0.1"],
    "conjunction": ["a", "a and b = c", "c"],
    "spaces": ["a", " a", "a\n"],
}


def is_same(value, level):
    """Whether both are the same string, number or truth value, or both are missing."""
    if value is level or (pd.isna(value) and pd.isna(level)):
        return True
    return type(value) is type(level) and value == level


@pytest.mark.parametrize("name", AMBIGUOUS)
def test_words_tell_rules_apart_and_matches_returns_their_rows(name, models):
    levels = AMBIGUOUS[name]
    values = np.empty(300, dtype=object)
    values[:] = [levels[j] for j in np.random.default_rng(0).integers(3, size=300)]
    codes = np.array([[j for j, level in enumerate(levels) if level is v][0] for v in values])
    X = pd.DataFrame({"n": np.arange(300.0)})
    beside = pd.DataFrame({"g": values})
    model = models.LabelsOnly(lambda X: codes[X["n"].astype(int)] == 0)
    auditor = TestSGDAuditor(model, error_threshold=0.3)
    auditor.fit(X, sensitive_features=beside)
    rules = auditor.rules_
    assert len(rules) == 6 and rules["rule"].is_unique
    for number, rule in rules.iterrows():
        (held,) = rule["conditions"]
        expected = [any(is_same(value, level) for level in held) for value in values]
        for said in (number, rule["rule"], rule, rule.drop("conditions")):
            matched = auditor.matches(X, said, sensitive_features=beside)
            np.testing.assert_array_equal(matched, expected)


def test_names_of_columns_are_quoted_where_they_read_as_rules():
    words = [attribute_of(["u", "v"] * 5, name=name).text(0) for name in ("a", "a = 1 and b")]
    assert words == ["a = u", '"a = 1 and b" = u']


def test_conditions_of_ranges():
    age = attribute_of(np.arange(101))
    intervals = {age.text(j): age.values(j) for j in range(age.n_conditions)}
    assert intervals["age from 40 to below 60"] == pd.Interval(40, 60, closed="left")
    assert intervals["age < 10"] == pd.Interval(-np.inf, 10, closed="left")
    assert intervals["age >= 90"] == pd.Interval(90, np.inf, closed="left")


def test_decimal_edges_mean_what_the_words_say():
    # 3 * 0.1 is above 0.3 by rounding; a row of 0.3 must not be called "below 0.3".
    values = np.round(np.linspace(0, 1, 101), 2)
    share = attribute_of(values)
    rule = all_words(share).index("age from 0.3 to below 0.4")
    inside = share.members[rule][share.numbers(values)]
    assert (inside == ((values >= 0.3) & (values < 0.4))).all()


def test_cells_do_not_overflow():
    rng = np.random.default_rng(0)
    # 64 ** 12 keys: written into 64 bits, the first two columns would be lost.
    columns = [rng.integers(0, 63, 60) for _ in range(12)]
    columns[2:] = [np.zeros(60, dtype=np.intp)] * 10
    cells = DistinctRows(columns, [63] * 12)
    table = np.column_stack(columns)
    different = np.unique(table, axis=0)
    assert len(cells.codes) == len(different)
    assert (cells.codes[cells.of_row] == table).all()
    assert cells.count.sum() == 60


def test_the_simplest_of_equal_groups_has_fewest_conditions():
    # The same rows: three categories, or two conditions of one word each.
    X = pd.DataFrame({
        "race": ["a", "b", "c", "d", "e", "f", "g"] * 20,
        "sex": ["x", "x", "x", "x", "y", "y", "x"] * 20,
        "faith": ["p", "p", "p", "q", "p", "q", "q"] * 20,
    })  # fmt: skip
    counted = Counted(X, 10, 0.05)
    inside = X["race"].isin(["a", "b", "c"]).to_numpy()
    kept, _ = counted.compare(np.arange(len(X)), inside.astype(float), True)
    words = [words for _, words in counted.described(kept)]
    assert words[0] == "race in {a, b, c}" and "sex = x and faith = p" not in words


def test_rules_that_hold_for_everybody_are_none():
    # Nobody is "d", so "a, b or c" are all there are.
    X = pd.DataFrame({"race": ["a", "b", "c"] * 20, "x": range(60)})
    counted = Counted(X, 10, 0.05, ["race"], InputSpace(categories={"race": list("abcd")}))
    kept, _ = counted.compare(np.arange(60), np.arange(60) / 60, False)
    words = {words for _, words in counted.described(kept)}
    # With or without "d" it is the same group, which is told of once, without.
    assert words == {
        "race = a", "race = b", "race = c", "race in {a, b}", "race in {a, c}", "race in {b, c}",
    }  # fmt: skip


@slow_sample
def test_too_many_rule_sets_have_fewer_conditions_or_a_way_out():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({f"share_{j}": rng.random(200) for j in range(10)})
    with pytest.warns(UserWarning, match="Only rules of up to max_attributes=2 are"):
        fewer = Counted(frame, 10, 0.05)
    assert fewer.rules.depths.max() == 2
    with pytest.raises(ValueError, match="More than|more than 1,000,000 rules.*max_attributes=2"):
        Counted(frame, 10, 0.05, most=3)
    asked = Counted(frame, 10, 0.05, most=2)
    assert asked.rules.n_rules == fewer.rules.n_rules
    many = pd.DataFrame({"land": [f"c{j % 20}" for j in range(200)], "x": rng.random(200)})
    with pytest.raises(ValueError, match="'land' has 20 categories.*Merge"):
        Counted(many, 10, 0.05)


def test_support_at_the_threshold_is_enough():
    frame = pd.DataFrame({"group": ["a"] + ["b"] * 19, "x": range(20)})
    assert Counted(frame, 10, 0.05, ["group"]).rules.n_rules == 2
