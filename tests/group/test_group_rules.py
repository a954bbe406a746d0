"""Rules, their words, and every frequent rule set: the same as a loop over all of them finds."""

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
from skfairtest.group._rules import ranking as _ranking
from skfairtest.group._rules import rule_sets as _rules
from skfairtest.group._rules.cells import Cells
from skfairtest.group._rules.ranking import compare_rule_sets, count_rule_sets
from skfairtest.group._rules.rule_sets import check_size, frequent_rule_sets
from skfairtest.group._rules.run_attribute import make_attribute
from skfairtest.group._rules.sensitive_table import make_tables

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


def loop_over_rule_sets(frame, n_bins, min_support):
    """(columns, mask) of every frequent rule set, and for each mask how simply it can be said."""
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
    """The rows that a rule set in words holds for, read as a person reads it."""
    mask = np.ones(len(frame), dtype=bool)
    for part in words.split(" and "):
        if match := re.fullmatch(r"(\w+) in \{(.*)\}", part):
            mask &= held(frame[match[1]], match[2].split(", "))
        elif match := re.fullmatch(r"(\w+) = (\S+)", part):
            mask &= held(frame[match[1]], [match[2]])
        elif match := re.fullmatch(r"(\S+) <= (\w+) < (\S+)", part):
            mask &= (frame[match[2]] >= float(match[1])) & (frame[match[2]] < float(match[3]))
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
        "age": lambda: rng.integers(20, draw(st.integers(24, 80)), n),
        "income": lambda: np.where(rng.random(n) < 0.1, np.nan, rng.permutation(n) * 0.37),
        "faith": lambda: rng.choice(np.array(["x", "y"], dtype=object), n),
    }
    names = draw(st.lists(st.sampled_from(sorted(makers)), min_size=1, max_size=3, unique=True))
    frame = pd.DataFrame({name: makers[name]() for name in names})
    return frame[[name for name in names if frame[name].nunique() > 1]]


def describe(counted, rules):
    """Columns and words of rule sets."""
    attributes = counted.tables.attributes
    for rule in rules:
        used = [(a, number) for a, number in zip(attributes, rule, strict=True) if number >= 0]
        words = " and ".join(attribute.words(int(number)) for attribute, number in used)
        yield tuple(attribute.name for attribute, _ in used), words


def count(frame, n_bins, min_support, min_outside=1e-6):
    tables = make_tables(frame, list(frame.columns), None, None)
    return count_rule_sets(
        tables,
        n_bins=n_bins,
        binning="uniform",
        min_support=min_support,
        min_outside=min_outside,
        max_attributes=None,
    )


@slow_sample
@given(frames(), st.integers(2, 5), st.sampled_from([0.02, 0.1, 0.3]))
def test_every_rule_set_is_found_once_with_its_support_and_share(frame, n_bins, min_support):
    if not len(frame.columns):
        return
    expected, simplest = loop_over_rule_sets(frame, n_bins, min_support)
    if not expected:
        with pytest.raises(ValueError, match="largest support"):
            count(frame, n_bins, min_support)
        return
    counted = count(frame, n_bins, min_support)
    cells, attributes = counted.cells, counted.tables.attributes
    found = Counter()
    for block in frequent_rule_sets(
        cells, attributes, [cells.count], min_count=counted.min_count, max_attributes=3
    ):
        described = list(describe(counted, block.rules(len(attributes))))
        for (names, words), rows in zip(described, block.counts, strict=True):
            mask = mask_of_words(words, frame)
            assert mask.sum() == rows, words
            found[names, mask.tobytes()] += 1
    assert found == expected
    assert counted.census.n_rule_sets == sum(expected.values())
    assert counted.census.n_groups == len(simplest)
    check_comparison(frame, counted, simplest)


def check_comparison(frame, counted, simplest):
    """Shares, scores, and each group once by the simplest rule set."""
    rng = np.random.default_rng(0)
    seeds = rng.integers(len(frame), size=300)
    for binary in (True, False):
        values = rng.normal(5, 2, 300) if not binary else (rng.random(300) < 0.3).astype(float)
        kept, sides = compare_rule_sets(counted, seeds, values, binary=binary, max_rules=10**6)
        seen = set()
        for place, (names, words) in enumerate(describe(counted, kept.rules)):
            mask = mask_of_words(words, frame)
            reading = (len(names), reading_of(counted, kept.rules[place]))
            assert reading == simplest[mask.tobytes()], words
            inside = values[mask[seeds]]
            outside = values[~mask[seeds]]
            assert sides.n[place] == len(inside) and kept.support[place] == mask.sum()
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
        ordered = np.abs(sides.difference)[kept.ranked]
        assert (np.diff(ordered) <= 1e-9).all()


def reading_of(counted, rule):
    attributes = counted.tables.attributes
    return sum(int(a.complexity[j]) for a, j in zip(attributes, rule, strict=True) if j >= 0)


@given(frames(), st.integers(1, 12))
def test_keeping_the_worst_agrees_with_keeping_all(frame, most):
    if not len(frame.columns):
        return
    try:
        counted = count(frame, 4, 0.05)
    except ValueError:
        return
    rng = np.random.default_rng(1)
    seeds, values = rng.integers(len(frame), size=200), rng.random(200)
    every, _ = compare_rule_sets(counted, seeds, values, binary=False, max_rules=10**6)
    with pytest.MonkeyPatch.context() as patch:
        # Small pieces, and a look at what is kept after each: as in a run over a billion.
        patch.setattr(_rules, "BLOCK", 8)
        patch.setattr(_rules, "MAX_TABLE", 16)
        patch.setattr(_ranking, "WAITING", 0)
        worst, _ = compare_rule_sets(counted, seeds, values, binary=False, max_rules=most)
    assert np.allclose(worst.rank, every.rank[:most], atol=1e-9)
    assert len(set(worst.marks.tolist())) == len(worst.marks)


# Cells, bins and words ---------------------------------------------------------------------------


def attribute_of(values, bins=10, binning="uniform", name="age"):
    frame = pd.DataFrame({name: values, "other": np.arange(len(values))})
    tables = make_tables(frame, [name], None, None)
    column, codes = tables.space.domain.columns[0].for_rules(tables.space.data[:, 0])
    return make_attribute(column, codes, bins, binning)


def test_bins_of_equal_width_quantiles_and_edges():
    values = np.r_[np.arange(0, 100), [1000.0]]
    assert attribute_of(values, 4).cuts.tolist() == [250, 500, 750]
    counts = np.bincount(
        (quantiles := attribute_of(values, 4, "quantile")).cells(values), minlength=4
    )
    assert counts.max() - counts.min() <= 1 and len(quantiles.cuts) == 3
    edges = attribute_of(values, [-5, 20, 60.5, 1000, 2000])
    # Nothing lies beyond 2000 or below -5, so these edges divide nobody.
    assert edges.cuts.tolist() == [20, 60.5, 1000]
    assert edges.cells(np.array([19, 20, 60, 61, 999, 1000, np.nan])).tolist() == [
        0, 1, 1, 2, 2, 3, 4,
    ]  # fmt: skip


def test_number_of_rules():
    # The paper: 30 subsets of five values; 10 bins have 55 runs, one of which is everybody.
    assert attribute_of(np.arange(101)).n_rules == 54
    assert attribute_of(list("abcde") * 4, name="race").n_rules == 30


def test_words():
    age = attribute_of(np.arange(101))
    words = {age.words(j) for j in range(age.n_rules)}
    assert {"age < 10", "age >= 90", "40 <= age < 60"} <= words
    two = attribute_of([0, 1] * 5, name="member")
    assert [two.words(j) for j in range(two.n_rules)] == ["member = 0", "member = 1"]
    race = attribute_of(["a", "b", None] * 4, name="race")
    assert "race in {b, missing}" in {race.words(j) for j in range(race.n_rules)}


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
    auditor = TestSGDAuditor(model)
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
    words = [attribute_of(["u", "v"] * 5, name=name).words(0) for name in ("a", "a = 1 and b")]
    assert words == ["a = u", '"a = 1 and b" = u']


def test_conditions_of_ranges():
    age = attribute_of(np.arange(101))
    intervals = {age.words(j): age.values(j) for j in range(age.n_rules)}
    assert intervals["40 <= age < 60"] == pd.Interval(40, 60, closed="left")
    assert intervals["age < 10"] == pd.Interval(-np.inf, 10, closed="left")
    assert intervals["age >= 90"] == pd.Interval(90, np.inf, closed="left")


def test_decimal_edges_mean_what_the_words_say():
    # 3 * 0.1 is above 0.3 by rounding; a row of 0.3 must not be called "below 0.3".
    values = np.round(np.linspace(0, 1, 101), 2)
    share = attribute_of(values)
    words = [share.words(j) for j in range(share.n_rules)]
    rule = words.index("0.3 <= age < 0.4")
    inside = share.members[rule][share.cells(values)]
    assert (inside == ((values >= 0.3) & (values < 0.4))).all()


def test_cells_do_not_overflow():
    rng = np.random.default_rng(0)
    # 64 ** 12 keys: written into 64 bits, the first two columns would be lost.
    columns = [rng.integers(0, 63, 60) for _ in range(12)]
    columns[2:] = [np.zeros(60, dtype=np.intp)] * 10
    cells = Cells(columns, [63] * 12)
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
    counted = count(X, 10, 0.05)
    seeds = np.arange(len(X))
    inside = X["race"].isin(["a", "b", "c"]).to_numpy()
    kept, _ = compare_rule_sets(counted, seeds, inside.astype(float), binary=True, max_rules=10**6)
    assert next(describe(counted, kept.rules))[1] == "race in {a, b, c}"
    words = [words for _, words in describe(counted, kept.rules)]
    assert "sex = x and faith = p" not in words


def test_rules_that_hold_for_everybody_are_none():
    # Nobody is "d", so "a, b or c" are all there are.
    X = pd.DataFrame({"race": ["a", "b", "c"] * 20, "x": range(60)})
    tables = make_tables(X, ["race"], None, InputSpace(categories={"race": list("abcd")}))
    counted = _ranking.count_rule_sets(
        tables, n_bins=10, binning="uniform", min_support=0.05, min_outside=0.05,
        max_attributes=None,
    )  # fmt: skip
    kept, _ = compare_rule_sets(
        counted, np.arange(60), np.arange(60) / 60, binary=False, max_rules=100
    )
    words = {words for _, words in describe(counted, kept.rules)}
    # With or without "d" it is the same group, which is told of once, without.
    assert words == {
        "race = a", "race = b", "race = c", "race in {a, b}", "race in {a, c}", "race in {b, c}",
    }  # fmt: skip


def test_too_many_rule_sets_are_refused_with_a_way_out():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({f"share_{j}": rng.random(200) for j in range(10)})
    with pytest.raises(ValueError, match=r"set max_attributes=\d, bin column 'share_"):
        count(frame, 10, 0.05)
    many = pd.DataFrame({"land": [f"c{j % 20}" for j in range(200)], "x": rng.random(200)})
    with pytest.raises(ValueError, match="'land' has 20 categories.*Merge"):
        count(many, 10, 0.05)


def test_advice_is_right():
    rng = np.random.default_rng(0)
    attributes = [attribute_of(rng.random(200), name=f"s{j}") for j in range(10)]
    with pytest.raises(ValueError) as caught:
        check_size(attributes, 10)
    check_size(attributes, int(re.search(r"max_attributes=(\d+)", str(caught.value))[1]))


def test_support_at_the_threshold_is_enough():
    frame = pd.DataFrame({"group": ["a"] + ["b"] * 19, "x": range(20)})
    tables = make_tables(frame, ["group"], None, None)
    census = _ranking.count_rule_sets(
        tables, n_bins=10, binning="uniform", min_support=0.05, min_outside=0.05,
        max_attributes=None,
    ).census  # fmt: skip
    assert census.n_rule_sets == 2
