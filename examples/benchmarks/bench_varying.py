"""Models whose answers vary: what is reported as a difference of twins that is noise.

Twenty classifiers, ten that use the sensitive column and the same ten without it, are fitted to a
made-up table and answer with planted noise: normal noise on the probability (clipped to 0 and 1),
or labels of which a share is flipped. The noise is everywhere, in a tenth or a fiftieth of the
range of one column, or begins after 300 rows. The truth of a pair is what the model says without
noise. A pair is false if the probabilities of its twins then differ by no more than the threshold,
0.05, or, where the model gives labels alone, if these are equal; the worst case is if there is no
difference at all, and a degree if it comes without an interval and is more than the threshold above
that of its pair. For each noise and budget the table shows
the share of runs that report a false pair or degree, the share of the runs on models that use the
sensitive column that report a true one, the median of the true pairs in these, how many queries a
reported true pair costs, and how often the interval of the degree holds the true mean difference of
its pair (of probabilities with noise by 20,000 draws; of labels, how often one of them is given).
Each run has noise of its own, so that runs of other rows of the table are others.

Run with ``python examples/benchmarks/bench_varying.py``. ``--once`` takes each answer as it comes,
as if the model did not vary.
"""

import argparse
import warnings

import numpy as np
from _machine import describe_machine
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import (
    AdaBoostClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.tree import DecisionTreeClassifier

from skfairtest import RandomAuditor, SBFTAuditor
from skfairtest.oracle._oracle import Oracle

NOISE = (0.0, 0.01, 0.05, 0.2)
#: Where the noise is: a share of the range of the last column, and rows after which it begins.
WHERE = {"everywhere": (1.0, 0), "a tenth": (0.1, 0), "a fiftieth": (0.02, 0), "late": (1.0, 300)}
THRESHOLD = 0.05
ANSWERS = ("probabilities", "labels")
TESTERS = {"SBFT": SBFTAuditor, "random": RandomAuditor}
MODELS = [
    LogisticRegression(),
    DecisionTreeClassifier(max_depth=5, random_state=0),
    RandomForestClassifier(20, max_depth=6, random_state=0),
    ExtraTreesClassifier(20, max_depth=6, random_state=0),
    HistGradientBoostingClassifier(max_iter=30, random_state=0),
    GradientBoostingClassifier(n_estimators=40, random_state=0),
    AdaBoostClassifier(n_estimators=20, random_state=0),
    MLPClassifier((16,), max_iter=300, random_state=0),
    GaussianNB(),
    KNeighborsClassifier(25),
]


def table(seed):
    """Six columns, the first of which is the sensitive one, and a target that depends on it."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.integers(0, 2, 2000), rng.normal(size=(2000, 5))])
    score = X[:, 1] - X[:, 2] * X[:, 3] + (2 * X[:, 0] - 1) * (X[:, 4] > 0.5)
    return X, (score + rng.normal(size=2000) > 0).astype(int)


class Varying(ClassifierMixin, BaseEstimator):
    """A fitted classifier, with or without its first column, and noise on its probabilities."""

    def __init__(self, model=None, sees=True, noise=0.0):
        self.model, self.sees, self.noise = model, sees, noise

    def fit(self, X, y):
        """Fit the model, on a first column of zeros if it does not see it."""
        self.model.fit(self._seen(X), y)
        self.classes_ = self.model.classes_
        self._ends = X[:, -1].min(), X[:, -1].max()
        return self

    def __sklearn_is_fitted__(self):
        """Say that it is fitted as soon as the model is."""
        return hasattr(self, "classes_")

    def _seen(self, X):
        X = np.array(X, dtype=float)
        X[:, 0] *= self.sees
        return X

    def quiet(self, X):
        """The probability of the second class without noise."""
        return self.model.predict_proba(self._seen(X))[:, 1]

    def begin(self, seed, where):
        """Let the noise begin anew, and be in a part of the answers."""
        self._rng = np.random.default_rng(seed)
        self._where, self._n_rows = WHERE[where], 0
        return self

    def noise_of(self, X):
        """How much noise the answer to each row has now."""
        share, first = self._where
        (low, high), n_before = self._ends, self._n_rows
        self._n_rows += len(X)
        inside = np.asarray(X)[:, -1] >= high - share * (high - low)
        return self.noise * (inside & (n_before + np.arange(len(X)) >= first))

    def _noisy(self, X):
        p = self.quiet(X)
        return np.clip(p + self.noise_of(X) * self._rng.normal(size=len(p)), 0, 1)

    def predict_proba(self, X):
        """Probabilities with noise, that of each call its own."""
        p = self._noisy(X)
        return np.column_stack([1 - p, p])

    def predict(self, X):
        """Labels of probabilities with noise."""
        return (self._noisy(X) > 0.5).astype(int)


class Flipping(ClassifierMixin, BaseEstimator):
    """Gives labels alone, of which a share is flipped."""

    def __init__(self, varying=None):
        self.varying = varying

    def __sklearn_is_fitted__(self):
        """Say that it is fitted."""
        return True

    def fit(self, X, y=None):
        """Learn nothing."""
        return self

    def quiet(self, X):
        """The label without noise."""
        return (self.varying.quiet(X) > 0.5).astype(int)

    def predict(self, X):
        """Labels, some of them flipped."""
        flips = self.varying._rng.random(len(X)) < self.varying.noise_of(X)
        return self.quiet(X) ^ flips


def mean_difference(asked, model, pair):
    """How much the mean answers to two twins differ, noise and all."""
    quiet, scale = asked.quiet(pair) * 1.0, model.noise_of(pair)
    if asked is not model:  # a share of the labels is flipped
        means = quiet + (1 - 2 * quiet) * scale
        return abs(means[0] - means[1])  # no label is larger than another
    draws = np.random.default_rng(0).normal(size=20_000)
    means = [np.clip(p + one * draws, 0, 1).mean() for p, one in zip(quiet, scale, strict=True)]
    return means[0] - means[1]


def run(model, X, tester, kind, noise, where, budget, seeds):
    """Return what is false, true pairs, queries, and whether the interval holds (None without)."""
    model.noise = noise
    # The last number is not 0: a sequence of seeds that ends so is the same as a shorter one.
    model.begin((*seeds, round(1000 * noise), list(WHERE).index(where), budget), where)
    asked = Flipping(model) if kind == "labels" else model
    auditor = TESTERS[tester](
        asked, sensitive_features=[0], max_queries=budget, random_state=seeds[0],
        threshold=None if kind == "labels" else THRESHOLD,
    ).fit(X)  # fmt: skip
    first, second = auditor.discriminatory_inputs_, auditor.counterfactuals_
    true = np.zeros(0, dtype=bool)
    if len(first):
        gaps = np.abs(asked.quiet(first) * 1.0 - asked.quiet(second))
        true = gaps > (0 if kind == "labels" else THRESHOLD)
    n_false = int((~true).sum())
    holds, interval = None, getattr(auditor, "fairness_degree_interval_", None)
    if auditor.worst_case_ is not None:
        high, low = asked.quiet(auditor.worst_case_) * 1.0
        n_false += int(high == low)
        n_false += interval is None and auditor.fairness_degree_ > abs(high - low) + THRESHOLD
    if interval is not None:
        true_gap = mean_difference(asked, model, auditor.worst_case_)
        holds = interval[0] - 1e-9 <= true_gap <= interval[1] + 1e-9
    return n_false, int(true.sum()), auditor.n_queries_, holds


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--budgets", type=int, nargs="+", default=[300, 1000, 3000])
    parser.add_argument("--seeds", type=int, nargs="+", default=range(300, 305))
    parser.add_argument("--testers", nargs="+", default=list(TESTERS), choices=list(TESTERS))
    parser.add_argument("--answers", nargs="+", default=ANSWERS, choices=ANSWERS)
    parser.add_argument("--noise", type=float, nargs="+", default=NOISE)
    parser.add_argument("--where", nargs="+", default=list(WHERE), choices=list(WHERE))
    parser.add_argument("--once", action="store_true")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    if asked.once:
        Oracle.watch_answers = lambda self: None
    print(describe_machine())
    print(f"\nSeeds {list(asked.seeds)}, of the table, the noise and the search.")
    columns = [
        "tester", "answers", "noise", "where", "queries", "runs with a false pair",
        "of models without the column", "runs with a true pair", "true pairs", "queries a pair",
        "interval holds",
    ]  # fmt: skip
    print("\n| " + " | ".join(columns) + " |")
    print("| --- " * len(columns) + "|")
    fitted = {
        (seed, k, sees): Varying(clone(model), sees).fit(*table(seed))
        for seed in asked.seeds
        for sees in (True, False)
        for k, model in enumerate(MODELS)
    }
    for tester in asked.testers:
        for kind in asked.answers:
            for where in asked.where:
                for noise in asked.noise:
                    for budget in asked.budgets:
                        if noise or where == "everywhere":  # no noise is no noise anywhere
                            _row(fitted, tester, kind, noise, where, budget)


def _row(fitted, tester, kind, noise, where, budget):
    """Run all models once for each seed and print a line."""
    found = [
        (sees, *run(model, table(seed)[0], tester, kind, noise, where, budget, (seed, k, sees)))
        for (seed, k, sees), model in fitted.items()
    ]
    with_column = [one for one in found if one[0]]
    without = [one for one in found if not one[0]]
    true = [one[2] for one in with_column]
    queries = sum(one[3] for one in with_column)
    held = [one[4] for one in found if one[4] is not None]
    print(
        f"| {tester} | {kind} | {noise} | {where} | {budget:,} "
        f"| {sum(one[1] > 0 for one in found)} of {len(found)} "
        f"| {sum(one[1] > 0 for one in without)} of {len(without)} "
        f"| {sum(n > 0 for n in true)} of {len(true)} | {np.median(true):g} "
        f"| {queries / max(1, sum(true)):,.0f} "
        f"| {f'{sum(held)} of {len(held)}' if held else ''} |",
        flush=True,
    )


if __name__ == "__main__":
    main()
