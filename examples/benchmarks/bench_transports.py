"""Intervals of `FlipTestAuditor` where the shares are known; what maps move.

* "intervals": groups are drawn from distributions between which the map of each column by its ranks
  is known, and the model is fixed. "covers" is the share of the runs whose interval holds the true
  value: of the share of rows that flip in each direction (and of all of these at once), of
  `moved_rate_`, and, where the groups are alike in all that the model looks at, of 0 for the share
  beyond the null. `--bootstrap 10` is what audits take.
* "hiring": the synthetic case of FlipTest (Black, Yeom & Fredrikson, FAT* 2020), after Lipton,
  McAuley & Chouldechova (NeurIPS 2018): what moves in rows that lose and that gain the job, in
  standard deviations, beside what the notebooks of FlipTest's repository print.

``--only`` and ``--cases`` choose parts, ``--quick`` takes few runs and rows. Joint maps need POT.
"""

import argparse
import itertools
import time
import warnings

import numpy as np
import pandas as pd
from _shared import describe_machine
from sklearn.linear_model import LogisticRegression

from skfairtest import FlipTestAuditor
from skfairtest.transports import OptimalTransport, QuantileTransport, SequentialTransport

# Intervals ---------------------------------------------------------------------------------------


class Case:
    """Rows of some groups, a fixed model, and the map between the groups: shifts of columns."""

    def __init__(self, weights, *shifts, cut, shares=(0.5, 0.5), columns="normal", in_table=False):
        self.weights = np.array(weights, dtype=float)
        self.shifts = np.array([[0.0] * len(weights), *shifts])
        self.shares, self.columns, self.in_table = shares, columns, in_table
        weights = [*self.weights, 0.8] if in_table else self.weights
        model = LogisticRegression()
        model.classes_, model.n_features_in_ = np.array([0, 1]), len(weights)
        model.coef_, model.intercept_ = np.array([weights], dtype=float), np.array([-cut])
        self.model = model

    def draw(self, n, rng):
        """Return rows, and the group of each."""
        group = rng.choice(len(self.shares), n, p=self.shares)
        return self.rows_of(group, rng.normal(size=(n, len(self.weights)))), group

    def rows_of(self, group, noise):
        """Return rows of these groups with this noise."""
        Z = np.exp(0.5 * noise) if self.columns == "skewed" else noise
        moved = self.shifts[group]
        Z = Z * np.exp(moved) if self.columns == "skewed" else Z + moved
        return np.column_stack([Z, group]) if self.in_table else Z

    def truth(self, rng, n=400_000):
        """Return the share of all rows that change, and for each two groups the shares that get 1
        in place of 0 and 0 in place of 1."""
        noise, groups = rng.normal(size=(n, len(self.weights))), range(len(self.shares))
        Z = [self.rows_of(np.full(n, g), noise) for g in groups]
        said = np.array([self.model.predict(rows) for rows in Z])
        rate = np.dot(self.shares, [(said != own).any(axis=0).mean() for own in said])
        of_pairs = {}
        for own, to in itertools.permutations(groups, 2):
            up, down = (said[own] < said[to]).mean(), (said[own] > said[to]).mean()
            of_pairs[own, to] = float(up), float(down)
        return float(rate), of_pairs


MINORITY, THREE = (0.95, 0.05), (0.5, 0.3, 0.2)
CASES = {
    "shift": Case([1.0, 0.5], [0.8, 0.4], cut=0.5),
    "small shift": Case([1.0, 0.5], [0.15, 0.1], cut=0.5),
    "opposite shifts": Case([1.0, 0.8], [0.8, -0.6], cut=0.3),
    "skewed": Case([1.0, 0.5], [0.4, 0.2], cut=2.2, columns="skewed"),
    "in the table": Case([1.0, 0.5], [0.5, 0.2], cut=0.8, shares=(0.7, 0.3), in_table=True),
    "minority": Case([1.0, 0.5], [0.8, 0.4], cut=0.5, shares=MINORITY),
    "three groups": Case([1.0, 0.5], [0.6, 0.3], [-0.4, -0.2], cut=0.5, shares=THREE),
    "no path": Case([1.0, 0.5], [0.0, 0.0], cut=0.5),
    "no path, 8 columns": Case([1, -1, 0.5, 0.5, 0.3, 0.3, 0.2, 0.2], [0.0] * 8, cut=0.2),
    "no path, minority": Case([1.0, 0.5], [0.0, 0.0], cut=0.5, shares=MINORITY),
    "no path, three groups": Case([1.0, 0.5], [0.0, 0.0], [0.0, 0.0], cut=0.5, shares=THREE),
}


def intervals(case, first, runs, rows, bootstrap):
    """Return for each figure its name, true value, mean, mean width, coverage, and the runs."""
    rate, truths = case.truth(np.random.default_rng(1))
    found = {}
    for run in range(first, first + runs):
        rng = np.random.default_rng([run, 2])
        X, group = case.draw(rows, rng)
        auditor = FlipTestAuditor(
            case.model, n_bootstrap=bootstrap, classifier=LogisticRegression(), random_state=run,
            sensitive_features=[X.shape[1] - 1] if case.in_table else "auto",
        )  # fmt: skip
        auditor.fit(X, sensitive_features=None if case.in_table else group)

        def note(name, truth, value, low, high):
            found.setdefault((name, truth), []).append((value, low, high))
            return low <= truth + 1e-12 and truth - 1e-12 <= high

        all_hold = True
        for line in auditor.flips_.itertuples():
            up, down = truths[int(line.group), int(line.to)]
            truth = {"any": up + down, "0 -> 1": up, "1 -> 0": down}[line.direction]
            name = f"{line.group} to {line.to}: {line.direction}"
            all_hold &= note(name, truth, line.share, line.low, line.high)
            if not case.shifts[:, case.weights != 0].any() and not case.in_table:
                note(f"{name}, beyond", 0.0, line.beyond, line.beyond_low, line.beyond_high)
        note("all of these at once", 1.0, float(all_hold), 0.0, float(all_hold))
        note("moved_rate_", rate, auditor.moved_rate_, *auditor.moved_rate_interval_)
    for (name, truth), values in found.items():
        table = np.array(values)
        covers = (table[:, 1] <= truth + 1e-12) & (truth - 1e-12 <= table[:, 2])
        width = (table[:, 2] - table[:, 1]).mean()
        yield name, truth, table[:, 0].mean(), width, covers.mean(), len(table)


# Maps --------------------------------------------------------------------------------------------


def maps(**params):
    """The maps that are compared; parameters are those of the sequential one."""
    return {
        "quantile": QuantileTransport(),
        "sequential": SequentialTransport(**params),
        "joint": OptimalTransport(),
        "joint, exact": OptimalTransport(reg=None),
    }


#: What the notebooks of FlipTest print of its own map, which a generative network learned: mean
#: changes of experience and hair length in rows that lose and that gain, and the mean way.
PUBLISHED = {
    "men": ((-1.466, 0.542), (-0.700, 1.610), 2.195),
    "women": ((0.585, -1.643), (1.375, -0.496), 2.091),
}


def hiring(n):
    """The table of FlipTest's synthetic case."""
    rng = np.random.default_rng(0)
    groups = np.repeat(["men", "women"], n)
    men = groups == "men"
    X = pd.DataFrame({
        "experience": rng.poisson(np.where(men, 31, 25)) - rng.normal(20, 0.2, 2 * n),
        "hair": 35 * rng.beta(2, np.where(men, 7, 2)),
    })  # fmt: skip
    X = (X - X.mean()) / X.std()

    def hired(X):  # a model with equal shares of both groups, as FlipTest's code states it
        return X["experience"] * 1.2956 + X["hair"] * 1.0862 > 0.8668

    print("\n| from | map | lose | experience, hair | gain | experience, hair | way | s |")
    print("| --- " * 8 + "|")
    some = rng.permutation(2 * n) < n  # what maps learn from; the others judge them
    for own, (lost, gained, way) in PUBLISHED.items():
        for name, transport in maps(order=["experience", "hair"]).items():
            began = time.perf_counter()
            transport.fit(X[some], groups[some])
            rows = X[some & (groups == own)]
            moved = transport.transport(rows, own)
            seconds = time.perf_counter() - began
            before, after, change = hired(rows), hired(moved), moved - rows
            cells = []
            for flipped in (before & ~after, ~before & after):
                means = change[flipped].mean()
                cells += [f"{flipped.mean():.1%}", ", ".join(f"{x:+.2f}" for x in means)]
            cells += [f"{change.abs().sum(axis=1).mean():.2f}", f"{seconds:.1f}"]
            print(f"| {own} | {name} | {' | '.join(cells)} |", flush=True)
        told = [", ".join(f"{x:+.2f}" for x in pair) for pair in (lost, gained)]
        print(f"| {own} | FlipTest's | | {told[0]} | | {told[1]} | {way:.2f} | |", flush=True)


def main():
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parts = ("intervals", "hiring")
    parser.add_argument("--only", nargs="+", choices=parts, default=parts)
    parser.add_argument("--cases", nargs="+", choices=list(CASES), default=list(CASES))
    parser.add_argument("--runs", type=int, default=200, help="of a case of intervals")
    parser.add_argument("--first", type=int, default=0, help="seed of the first run")
    parser.add_argument("--rows", type=int, default=1000, help="of a run")
    parser.add_argument("--bootstrap", type=int, default=100, help="maps learned again in a run")
    parser.add_argument("--quick", action="store_true")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    print(describe_machine())
    runs, scale = (3, 0.05) if asked.quick else (asked.runs, 1.0)
    for name in asked.cases if "intervals" in asked.only else ():
        print(f"\n{name}\n{'figure':28}{'truth':>9}{'mean':>9}{'width':>9}{'covers':>9}{'runs':>6}")
        for line in intervals(CASES[name], asked.first, runs, asked.rows, asked.bootstrap):
            figures = "".join(f"{value:9.4f}" for value in line[1:-1])
            print(f"{line[0]:28}{figures}{line[-1]:6}", flush=True)
    if "hiring" in asked.only:
        hiring(int(10_000 * scale))


if __name__ == "__main__":
    main()
