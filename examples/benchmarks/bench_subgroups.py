"""Groups where a model errs, beside DivExplorer's and those of Kearns et al.'s audit.

Adult with all 14 attributes, numbers in five bins; gradient boosting, whose predictions are out of
fold; the outcome is whether a person with the higher income is missed (false negatives). Printed:

- how many patterns there are and the seconds to find them, DivExplorer's and ours, in one run and
  on the same table; ours with the intervals of Bonferroni and of the resampled correction besides;
- the ten patterns of the largest divergence that DivExplorer lists first, and what intervals that
  hold for all patterns at once say of each;
- our short list;
- the linear group of Kearns et al.'s audit (2018; `_fictitious_play.py`): two thirds of the rows
  choose the group, the rest says how large its gap is there, and the same for our first lines.

DivExplorer (Pastor, de Alfaro, Baralis, "Looking for Trouble: Analyzing Classifier Behavior via
Pattern Divergence", SIGMOD 2021) is left out where it is not installed; ``--divexplorer PYTHON``
names the interpreter of an environment that has it. Needs the folder of SKFAIRTEST_DATA. Run with
``python examples/benchmarks/bench_subgroups.py``.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
from _fictitious_play import LinearGroupAuditor
from _machine import describe_machine
from scipy import stats
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder

from skfairtest.datasets import fetch_adult
from skfairtest.group._inference.counting import pattern_sides
from skfairtest.group._inference.pivot import all_at_once, chosen_sides, interval_at
from skfairtest.group._inference.resampled import resampled
from skfairtest.group._rules.patterns import Patterns
from skfairtest.group._rules.short_list import short_list


def in_bins(data):
    """Every column as texts; numbers by their fifths."""
    table = {}
    for name in data:
        values = data[name]
        if values.dtype.kind in "if":
            cuts = np.unique(np.quantile(values, [0.2, 0.4, 0.6, 0.8]))
            ends = [f"<= {cuts[0]:g}"]
            ends += [f"{a:g} to {b:g}" for a, b in zip(cuts[:-1], cuts[1:], strict=True)]
            ends += [f"> {cuts[-1]:g}"]
            table[name] = np.array(ends, dtype=object)[np.searchsorted(cuts, values, side="left")]
        else:
            table[name] = values.astype(object).where(values.notna(), "?").to_numpy()
    return pd.DataFrame(table)


def predictions(data, target):
    encode = make_column_transformer(
        (
            OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
            make_column_selector(dtype_exclude="number"),
        ),
        remainder="passthrough",
    )
    model = make_pipeline(encode, HistGradientBoostingClassifier(random_state=0))
    return cross_val_predict(model, data, target, cv=5)


def divexplorer(table, missed, counts, min_support, interpreter):
    """DivExplorer's answer, or None where it is not installed."""
    given = table.assign(outcome=np.where(counts, missed.astype(float), np.nan))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        given.to_csv(path, index=False, na_rep="")
        script = Path(__file__).with_name("_run_divexplorer.py")
        run = subprocess.run(
            [interpreter, str(script), str(path), str(min_support)],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
    if run.returncode:
        print("DivExplorer is left out:", run.stderr.strip().splitlines()[-1:])
        return None
    return json.loads(run.stdout)


class Ours:
    """All patterns of a table, their sides and intervals; seconds of each part."""

    def __init__(self, table, missed, counts, min_support, *, n_resamples=999, least=10):
        codes = [pd.factorize(table[name], sort=True) for name in table]
        self.names = list(table)
        self.levels = [levels for _, levels in codes]
        columns = [code.astype(np.int16) for code, _ in codes]
        self.values, self.counts = missed.astype(float), counts
        self.seconds = {}
        start = time.perf_counter()
        self.patterns = Patterns(
            columns, [len(levels) for levels in self.levels],
            min_support=min_support, max_conditions=len(columns),
        )  # fmt: skip
        self.rules = self.patterns.conditions(np.arange(self.patterns.n_patterns))
        self.seconds["search"] = time.perf_counter() - start
        start = time.perf_counter()
        sides = pattern_sides(self.patterns, self.values, counts, binary=True)
        compared = np.minimum(sides.n, sides.n_out) >= least
        self.sides = sides._replace(n=np.where(compared, sides.n, 0.0))
        self.n_compared = int(compared.sum())
        self.seconds["sides"] = time.perf_counter() - start
        start = time.perf_counter()
        all_at_once(
            chosen_sides(self.sides, np.flatnonzero(compared)), confidence=0.95,
            n_rules=self.n_compared,
        )  # fmt: skip
        self.seconds["Bonferroni"] = time.perf_counter() - start
        start = time.perf_counter()
        self.found = resampled(
            self.sides, self.patterns, self.values, counts,
            confidence=0.95, rng=np.random.default_rng(0), n_resamples=n_resamples,
        )  # fmt: skip
        self.seconds["resampling"] = time.perf_counter() - start
        start = time.perf_counter()
        self.short = short_list(
            self.patterns, self.rules, self.sides, self.values, counts,
            differs=self.found.differs, critical=self.found.critical,
        )  # fmt: skip
        self.seconds["short list"] = time.perf_counter() - start

    def place(self, items):
        """The pattern of DivExplorer's items, "name=value"."""
        wanted = np.full(len(self.names), -1)
        for item in items:
            name, _, value = item.partition("=")
            j = self.names.index(name)
            wanted[j] = list(self.levels[j]).index(value)
        return int(np.flatnonzero((self.rules == wanted).all(axis=1))[0])

    def text(self, pattern):
        held = [
            f"{name}={levels[value]}"
            for name, levels, value in zip(
                self.names, self.levels, self.rules[pattern], strict=True
            )
            if value >= 0
        ]
        return ", ".join(held)

    def lines(self, chosen):
        """Rows of a table about some patterns."""
        sides, found = self.sides, self.found
        bonferroni = interval_at(
            chosen_sides(sides, chosen), float(stats.norm.isf(0.025 / self.n_compared))
        )
        return pd.DataFrame({
            "support": self.patterns.support[chosen],
            "n": sides.n[chosen],
            "missed": sides.mean[chosen],
            "else": sides.mean_out[chosen],
            "difference": sides.difference[chosen],
            "low": found.low[chosen],
            "high": found.high[chosen],
            "p": found.p_value[chosen],
            "bonferroni low": bonferroni[0],
            "rule": [self.text(i) for i in chosen],
        })  # fmt: skip


def linear_group(data, missed, truth, ours, searched):
    """The gap of Kearns et al.'s group on the rows that chose it, and on the others."""
    rows = []
    start = time.perf_counter()
    # Products of columns (degree=2) are 6,000 terms, and took five minutes.
    auditor = LinearGroupAuditor("false_positive")
    # Their false positives are decisions of 1 where the label is 0: here misses, where the truth is
    # positive.
    auditor.fit(data[searched], missed[searched], 1 - truth[searched])
    seconds = time.perf_counter() - start
    new = auditor.measure(data[~searched], missed[~searched], 1 - truth[~searched])
    rows.append({
        "group": f"a linear function of {auditor.oracle_.regression_.n_features_in_} columns",
        "seconds": seconds, "share": auditor.size_, "difference": auditor.difference_,
        "on new rows": new[1], "violation on new rows": new[0],
    })  # fmt: skip
    table = in_bins(data)
    codes = np.column_stack([
        pd.Categorical(table[name], categories=levels).codes
        for name, levels in zip(ours.names, ours.levels, strict=True)
    ])  # fmt: skip
    counted = ours.found.differs
    weight = ours.sides.n / (ours.sides.n + ours.sides.n_out)
    violation = np.where(counted, weight * (1 - weight) * np.abs(ours.sides.difference), 0)
    chosen = [("worst violation", int(violation.argmax()))]
    chosen += [(f"line {i + 1}", int(k)) for i, k in enumerate(ours.short.pattern[:5])]
    everybody = missed[~searched & (truth == 1)].mean()
    for what, pattern in chosen:
        rule = ours.rules[pattern]
        inside = ((rule < 0) | (codes == rule)).all(axis=1)
        member, other = (missed[~searched & (truth == 1) & side] for side in (inside, ~inside))
        share = len(member) / (len(member) + len(other))
        rows.append({
            "group": f"{what}: {ours.text(pattern)}",
            "seconds": sum(ours.seconds.values()), "share": weight[pattern],
            "difference": ours.sides.difference[pattern],
            "on new rows": member.mean() - other.mean(),
            "violation on new rows": share * abs(member.mean() - everybody),
        })  # fmt: skip
    return pd.DataFrame(rows)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--divexplorer", default=sys.executable, metavar="PYTHON")
    parser.add_argument("--resamples", type=int, default=999)
    options = parser.parse_args()
    pd.set_option("display.width", 200, "display.max_colwidth", 120, "display.max_columns", 20)
    pd.set_option("display.float_format", "{:.3f}".format)
    print(describe_machine())
    bunch = fetch_adult()
    truth = pd.factorize(bunch.target, sort=True)[0]
    data = bunch.data.reset_index(drop=True)
    predicted = predictions(data, truth)
    counts, missed = truth == 1, (truth == 1) & (predicted == 0)
    table = in_bins(data)
    print(f"adult: {len(data)} rows, {counts.sum()} of the higher income, {missed.sum()} missed")
    Ours(table[:2000], missed[:2000], counts[:2000], 0.2, n_resamples=19)  # compiles
    for min_support in (0.05, 0.02):
        other = divexplorer(table, missed, counts, min_support, options.divexplorer)
        ours = Ours(table, missed, counts, min_support, n_resamples=options.resamples)
        print(f"\nsupport {min_support}")
        if other:
            print(f"DivExplorer: {other['patterns']} patterns, {other['seconds']:.2f} s, "
                  f"{other['t over 1.96']} with t over 1.96")  # fmt: skip
        seconds = ", ".join(f"{name} {value:.2f} s" for name, value in ours.seconds.items())
        print(f"ours: {ours.patterns.n_patterns} patterns, {ours.n_compared} with 10 rows that "
              f"count on both sides, {ours.found.differs.sum()} differ; {seconds}")  # fmt: skip
        print(f"distance for all at once: {ours.found.critical:.2f}, "
              f"Bonferroni {stats.norm.isf(0.025 / ours.n_compared):.2f}")  # fmt: skip
        if other:
            top = [ours.place(item["items"]) for item in other["top"]]
            print("\nDivExplorer's ten largest divergences")
            lines = ours.lines(top)
            lines.insert(0, "divergence", [item["divergence"] for item in other["top"]])
            lines.insert(1, "t", [item["t"] for item in other["top"]])
            print(lines.to_string())
        print("\nour short list")
        lines = ours.lines(ours.short.pattern)
        lines.insert(5, "gain", ours.short.gain)
        lines.insert(6, "gain low", ours.short.gain_low)
        lines.insert(7, "covered", ours.short.covered)
        print(lines.to_string())
    searched = np.random.default_rng(0).random(len(data)) < 2 / 3
    part = Ours(table[searched], missed[searched], counts[searched], 0.05,
                n_resamples=options.resamples)  # fmt: skip
    print("\nbeside linear groups (Kearns et al.), chosen on two thirds of the rows")
    print(linear_group(data, missed.astype(float), truth, part, searched).to_string())


if __name__ == "__main__":
    main()
