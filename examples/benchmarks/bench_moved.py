"""Coverage of the intervals of `FlipTestAuditor`, where the shares are known.

Two groups are drawn from distributions between which the map of each column by its ranks is known.
The model is fixed. "covers" counts the runs whose interval holds the true value: of the share of
rows that flip in each direction, of `moved_rate_`, of the change that each column carries, and,
where the groups are alike in all that the model looks at, of 0 for the share beyond the placebo.

"planted" cases are the variants of `make_proxy_classification`, with a logistic regression that
never sees the group. There the true value is that of the map learned from 200,000 rows, which is
what intervals are about; "counterfactual" is beside it for `moved_rate_`, from the equations, which
a map need not reach. A joint map is judged by the equations alone, as it is not learned from more
than 5,000 rows.

    python examples/benchmarks/bench_moved.py [--runs 200] [--first 0] [--rows 1000]
        [--bootstrap 100] [--seconds 3600] [names]
"""

import argparse
import time
import warnings

import numpy as np
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skfairtest import (
    FlipTestAuditor,
    InputSpace,
    NoDisparityWarning,
    OptimalTransport,
    QuantileTransport,
    SequentialTransport,
)
from skfairtest.datasets import make_proxy_classification


class Case:
    """Rows of two groups, a fixed model, and the map between the groups."""

    def __init__(self, weights, shift, cut, share=0.5, columns="normal", in_table=False):
        self.weights, self.shift = np.array(weights, dtype=float), np.array(shift, dtype=float)
        self.share, self.columns, self.in_table = share, columns, in_table
        weights = [*self.weights, 0.8] if in_table else self.weights
        model = LogisticRegression()
        model.classes_, model.n_features_in_ = np.array([0, 1]), len(weights)
        model.coef_, model.intercept_ = np.array([weights], dtype=float), np.array([-cut])
        self.model = model

    def draw(self, n, rng):
        """Return rows, and the group of each."""
        group = (rng.random(n) < self.share).astype(int)
        return self.rows_of(group, rng), group

    def rows_of(self, group, rng):
        """Return rows of these groups."""
        Z = rng.normal(size=(len(group), len(self.weights)))
        if self.columns == "skewed":
            Z = np.exp(0.5 * Z)
        moved = group[:, None] * self.shift
        Z = Z * np.exp(moved) if self.columns == "skewed" else Z + moved
        return np.column_stack([Z, group]) if self.in_table else Z

    def move(self, Z, own):
        """Return rows of one group where the other group has the same ranks."""
        sign = 1 - 2 * own
        Z = Z.copy()
        d = len(self.weights)
        by = sign * self.shift
        Z[:, :d] = Z[:, :d] * np.exp(by) if self.columns == "skewed" else Z[:, :d] + by
        if self.in_table:
            Z[:, d] = 1 - own
        return Z

    def truth(self, own, rng, n=400_000):
        """Return the shares of rows that get 1 in place of 0, and 0 in place of 1; and the change
        that the first column carries on average, in a model of two columns."""
        Z = self.rows_of(np.full(n, own), rng)
        moved = self.move(Z, own)
        before, after = self.model.predict(Z), self.model.predict(moved)
        up, down = float((before < after).mean()), float((before > after).mean())
        first = np.nan
        if Z.shape[1] == 2:
            one, other = Z.copy(), moved.copy()
            one[:, 0], other[:, 0] = moved[:, 0], Z[:, 0]
            p = [self.model.predict_proba(rows)[:, 1] for rows in (Z, one, other, moved)]
            first = float(((p[1] - p[0] + p[3] - p[2]) / 2).mean())
        return up, down, first


def as_numbers(table):
    """A planted table without its group, and categories as numbers, which is quicker to read."""
    X = table.drop(columns="group").copy()
    for name in X.select_dtypes("category"):
        X[name] = X[name].cat.codes
    return X.to_numpy(dtype=float)


class Planted:
    """A variant of `make_proxy_classification`, a fixed model, and a map to be learned."""

    def __init__(self, variant, kind="quantile"):
        self.variant, self.kind = variant, kind

    def prepare(self, n=200_000):
        """Fit the model, and find the true shares that change, by pair of groups."""
        big = make_proxy_classification(n, variant=self.variant, random_state=10_000)
        X, groups = as_numbers(big.data), np.asarray(big.sensitive)
        self.model = make_pipeline(StandardScaler(), LogisticRegression()).fit(
            X[:20_000], big.target[:20_000]
        )
        names = list(big.data.columns.drop("group"))
        self.space = InputSpace(
            categories={names.index(k): [0, 1, 2] for k in ("region", "district") if k in names}
        )
        graph = {
            names.index(k): [names.index(p) for p in parents if p != "group"]
            for k, parents in big.graph.items()
        }
        self.transport = {
            "quantile": QuantileTransport(),
            "sequential": SequentialTransport(graph=graph, regressor=LinearRegression()),
            "joint": OptimalTransport(),
            "joint, exact": OptimalTransport(reg=None),
        }[self.kind]
        labels, self.no_path = np.unique(groups), self.variant == "no path"
        before = self.model.predict(X)
        self.truths, changes = {}, {"limit": np.zeros(n, bool), "equations": np.zeros(n, bool)}
        fitted = None
        if not self.kind.startswith("joint"):
            fitted = self.transport.set_params(space=self.space).fit(X, groups)
        for to in labels:
            true = self.model.predict(as_numbers(big.counterfactuals[to]))
            after = true if fitted is None else self.model.predict(fitted.transport(X, groups, to))
            changes["limit"] |= before != after
            changes["equations"] |= before != true
            for own in labels[labels != to]:
                rows = groups == own
                self.truths[own, to] = [
                    float(((before[rows] == one) & (after[rows] == other)).mean())
                    for one, other in (("no", "yes"), ("yes", "no"))
                ]
        self.rate, self.true_rate = (float(found.mean()) for found in changes.values())
        self.transport.set_params(space=None)
        return self

    def draw(self, n, run):
        """Return rows, and the group of each."""
        bunch = make_proxy_classification(n, variant=self.variant, random_state=run)
        return as_numbers(bunch.data), np.asarray(bunch.sensitive)


PLANTED = {
    f"planted {variant}, {kind}": Planted(variant, kind)
    for kind in ("quantile", "joint, exact", "joint", "sequential")
    for variant in (
        "no path", "monotone", "resolving", "category", "three groups", "thin overlap",
        "non-monotone",
    )
}  # fmt: skip


def measure_planted(case, first, runs, rows, bootstrap, seconds):
    """As `measure`, for a planted case."""
    case.prepare()
    start, found = time.perf_counter(), {}
    for run in range(first, first + runs):
        if time.perf_counter() - start > seconds:
            break
        X, group = case.draw(rows, run)
        auditor = FlipTestAuditor(
            case.model, transport=case.transport, space=case.space, n_bootstrap=bootstrap,
            classifier=LogisticRegression(max_iter=1000), attribution="order", random_state=run,
        )  # fmt: skip
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            auditor.fit(X, sensitive_features=group)

        def note(name, truth, value, low, high):
            found.setdefault((name, truth), []).append((value, low, high))

        for line in auditor.flips_.itertuples():
            up, down = case.truths[line.group, line.to]
            truth = {"any": up + down, "no -> yes": up, "yes -> no": down}[line.direction]
            name = f"{line.group} to {line.to}: {line.direction}"
            note(name, truth, line.share, line.low, line.high)
            if case.no_path:
                note(f"{name}, beyond", 0.0, line.beyond, line.beyond_low, line.beyond_high)
        ends = auditor.moved_rate_interval_
        note("moved_rate_", case.rate, auditor.moved_rate_, *ends)
        if case.true_rate != case.rate:
            note("counterfactual", case.true_rate, auditor.moved_rate_, *ends)
    yield from summarized(found)


CASES = {
    "shift": Case([1.0, 0.5], [0.8, 0.4], 0.5),
    "small shift": Case([1.0, 0.5], [0.15, 0.1], 0.5),
    "opposite shifts": Case([1.0, 0.8], [0.8, -0.6], 0.3),
    "skewed": Case([1.0, 0.5], [0.4, 0.2], 2.2, columns="skewed"),
    "in the table": Case([1.0, 0.5], [0.5, 0.2], 0.8, share=0.3, in_table=True),
    "no path": Case([1.0, 0.5], [0.0, 0.0], 0.5),
    "no path, 8 columns": Case([1, -1, 0.5, 0.5, 0.3, 0.3, 0.2, 0.2], [0.0] * 8, 0.2),
    "no path, others differ": Case([1.0, 0.5, 0.0], [0.0, 0.0, 1.5], 0.5),
    "no path, small group": Case([1.0, 0.5], [0.0, 0.0], 0.5, share=0.1),
}


def measure(case, first, runs, rows, bootstrap, seconds):
    """Return for each figure its name, true value, mean, mean width, coverage, and the runs."""
    start = time.perf_counter()
    rng = np.random.default_rng(1)
    truths = [case.truth(own, rng) for own in (0, 1)]
    rate = (1 - case.share) * sum(truths[0][:2]) + case.share * sum(truths[1][:2])
    found = {}
    for run in range(first, first + runs):
        if time.perf_counter() - start > seconds:
            break
        rng = np.random.default_rng([run, 2])
        X, group = case.draw(rows, rng)
        auditor = FlipTestAuditor(
            case.model, n_bootstrap=bootstrap, classifier=LogisticRegression(), random_state=run,
            sensitive_features=[X.shape[1] - 1] if case.in_table else "auto",
        )  # fmt: skip
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NoDisparityWarning)
            warnings.filterwarnings("ignore", "The map from")
            auditor.fit(X, sensitive_features=None if case.in_table else group)

        def note(name, truth, value, low, high):
            found.setdefault((name, truth), []).append((value, low, high))

        for line in auditor.flips_.itertuples():
            up, down, _ = truths[int(line.group)]
            truth = {"any": up + down, "0 -> 1": up, "1 -> 0": down}[line.direction]
            name = f"{line.group}: {line.direction}"
            note(name, truth, line.share, line.low, line.high)
            if not case.shift[case.weights != 0].any() and not case.in_table:
                note(f"{name}, beyond", 0.0, line.beyond, line.beyond_low, line.beyond_high)
        note("moved_rate_", rate, auditor.moved_rate_, *auditor.moved_rate_interval_)
        if X.shape[1] == 2:
            columns = auditor.columns_
            for line in columns[columns["column"] == 0].itertuples():
                truth = truths[int(line.group)][2]
                note(f"{line.group}: change by column 0", truth, line.change, line.low, line.high)
    yield from summarized(found)


def summarized(found):
    """Return the line of each figure."""
    for (name, truth), values in found.items():
        table = np.array(values)
        covers = (table[:, 1] <= truth + 1e-12) & (truth - 1e-12 <= table[:, 2])
        width = (table[:, 2] - table[:, 1]).mean()
        yield name, truth, table[:, 0].mean(), width, covers.mean(), len(table)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--first", type=int, default=0, help="seed of the first run")
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--bootstrap", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=3600, help="at most, for each case")
    parser.add_argument("names", nargs="*")
    given = parser.parse_args()
    for name in given.names or [*CASES, *PLANTED]:
        print(f"\n{name}\n{'figure':28}{'truth':>9}{'mean':>9}{'width':>9}{'covers':>9}{'runs':>6}")
        case = PLANTED.get(name) or CASES[name]
        measured = measure_planted if name in PLANTED else measure
        sizes = given.first, given.runs, given.rows, given.bootstrap, given.seconds
        for line in measured(case, *sizes):
            figures = "".join(f"{value:9.4f}" for value in line[1:-1])
            print(f"{line[0]:28}{figures}{line[-1]:6}", flush=True)


if __name__ == "__main__":
    main()
