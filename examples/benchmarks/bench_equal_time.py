"""Discriminatory inputs found in equal processor time, where they are many and where they are rare.

"many" are models as they come, "rare" fairer ones: trained on (a share of) the rows' twins under
the same labels too, or by `FairnessRetrainer`. Cells have the median, least and largest number over
the seeds; of rare ones also the median of seconds to the first and the largest difference over the
certified one (a star: over the bound of an open certificate). "Rate" is the share of inputs that
random testing finds. ``--queries`` ends runs in place of time, and prints what each query finds:
``--groups trees --testers random surrogate --queries 20000``.

GRFT's idea (Quan et al., 2025, ICSE) is a genetic search for the largest difference around rows of
the data, then random steps of one from what was found: written for this benchmark, in the sizes of
its authors' code, but 40 populations share each call. Needs the folder of SKFAIRTEST_DATA.
"""

import argparse
import time
import warnings

import _shared as shared
import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.tree import DecisionTreeClassifier

from skfairtest import FairnessRetrainer, _clock, individual
from skfairtest.base import BaseAuditor
from skfairtest.exact import CertifiedAuditor
from skfairtest.individual._seeds import cluster_seeds


class GRFTAuditor(BaseAuditor):
    def _run_search(self, search, rng):
        GRFT(search, rng).run()


class GRFT:
    n_seeds, size = 40, 100

    def __init__(self, search, rng):
        self.search, self.space, self.rng = search, search.space, rng

    def run(self):
        """Global and local phases in turn, from other seeds each time."""
        seeds, at = cluster_seeds(self.space, self.rng), 0
        while True:
            found = self._evolved(seeds[(at + np.arange(self.n_seeds)) % len(seeds)])
            at += self.n_seeds
            for _ in range(1000 if len(found) else 0):
                # All take the same step; those that still discriminate stay there.
                column = np.full((len(found), 1), self.rng.choice(self.space.non_sensitive))
                moved = self._stepped(found, column, self.rng.choice([-1.0, 1.0]))
                found = np.where(self._judged(moved).verdict[:, None], moved, found)

    def _judged(self, Z):
        return self.search.evaluate(Z, self.search.pairs(Z, self.rng))

    def _stepped(self, Z, columns, lengths):
        Z = Z.copy()
        Z[np.arange(len(Z))[:, None], columns] += lengths * self.space.domain.steps[columns]
        return self.space.domain.clip(Z)

    def _columns(self, n, k):
        free = self.space.non_sensitive
        return free[self.rng.random((n, len(free))).argsort(axis=1)[:, :k]]

    def _evolved(self, seeds):
        """What discriminates in the first generation of each population that has any."""
        size, rng, found = self.size, self.rng, []
        Z = np.repeat(seeds, size, axis=0)
        two = np.repeat(self._columns(len(seeds), 2), size, axis=0)
        lengths = rng.integers(-5, 6, two.shape)
        lengths[::size] = 0  # the seed itself
        P = self._stepped(Z, two, lengths).reshape(len(seeds), size, -1)
        for _ in range(10):
            judged = self._judged(P.reshape(-1, P.shape[2]))
            verdict = judged.verdict.reshape(len(P), size)
            found.append(P[verdict])
            goes_on = ~verdict.any(axis=1)
            P, fitness = P[goes_on], judged.disparity.reshape(-1, size)[goes_on]
            if not len(P):
                break
            # Parents are the best of three among the ten best, the best one stays.
            order = np.argsort(-fitness, axis=1, kind="stable")
            drawn = rng.random((2, len(P), size, 10)).argsort(axis=-1)[..., :3].min(axis=-1)
            one, other = (
                np.take_along_axis(P, np.take_along_axis(order, place, 1)[:, :, None], 1)
                for place in drawn
            )
            best = np.take_along_axis(P, order[:, :1, None], 1)
            children = np.where(rng.random(P.shape) < 0.5, one, other).reshape(-1, P.shape[2])
            mutated = np.flatnonzero(rng.random(len(children)) < 0.5)
            three = self._columns(len(mutated), 3)
            lengths = rng.integers(-3, 4, three.shape)
            children[mutated] = self._stepped(children[mutated], three, lengths)
            P = children.reshape(P.shape)
            P[:, :1] = best
        return np.concatenate(found)


TESTERS = {
    "random": individual.RandomAuditor(), "surrogate": individual.SurrogateAuditor(),
    "SBFT": individual.SBFTAuditor(), "Aequitas": individual.AequitasAuditor(),
    "GRFT's idea": GRFTAuditor(), "MAFT": individual.MAFTAuditor(),
}  # fmt: skip
ROWS = {"adult": slice(8000, 16_000), "german": slice(None), "bank": slice(1, None, 5)}


def table(of):
    """Rows of a public table, or a made-up one of so many columns; and their labels."""
    if of not in ROWS:
        X, number = shared.mixed_table(of, 3000, 300 + of)
        return X, number > np.median(number)
    X, y = shared.public(of)
    y = y.isin([">50K", "good", 1])
    X = shared.as_categories(X.drop(columns="fnlwgt", errors="ignore").iloc[ROWS[of]])
    return X.reset_index(drop=True), y.iloc[ROWS[of]].to_numpy()


def with_twins(model, of, sensitive="sex", share=1.0):
    """The model, trained on this share of the rows' twins as well, under the same labels."""
    X, y = table(of)
    chosen = np.flatnonzero(np.random.default_rng(0).random(len(X)) < share)
    twins, values = X.iloc[chosen].copy(), X[sensitive].unique()
    other = dict(zip(values, np.roll(values, 1), strict=True))
    twins[sensitive] = twins[sensitive].map(other).astype(X[sensitive].dtype)
    fitted = clone(model).fit(pd.concat([X, twins]), np.concatenate([y, y[chosen]]))
    return fitted, X, [sensitive]


def retrained(model, of, sensitive="sex"):
    """The model that `FairnessRetrainer` makes of it."""
    X, y = table(of)
    auditor = individual.AequitasAuditor(sensitive_features=[sensitive], max_queries=5000)
    settings = {"max_score_drop": 0.05, "max_rounds": 2, "cv": 3, "random_state": 0}
    return FairnessRetrainer(model, auditor, **settings).fit(X, y).estimator_, X, [sensitive]


def forest(depth=None, least=1):
    return RandomForestClassifier(50, max_depth=depth, min_samples_leaf=least, random_state=0)


def network(units=(16,), alpha=1.0):
    return shared.one_hot(MLPClassifier(units, alpha=alpha, max_iter=60, random_state=0))


BOOSTING = HistGradientBoostingClassifier(max_iter=60, random_state=0)
STRICT = shared.one_hot(LogisticRegression(C=1e-3))
LOGISTIC = shared.one_hot(LogisticRegression(max_iter=1000))
USUAL = {
    "forest": shared.as_codes(forest()), "boosting": shared.as_codes(BOOSTING),
    "network": network((32, 16), 1e-4),
}  # fmt: skip
TREE = DecisionTreeClassifier(random_state=0)
TREES = {"tree": TREE, "tree of depth 10": clone(TREE).set_params(max_depth=10), "forest": forest()}
#: How the model is made fairer, and of what.
GROUPS = {
    "trees": {
        f"{of}, {kind}": (with_twins, shared.as_codes(model), of, "sex", 0.0)
        for of in ("adult", "german", 8, 20) for kind, model in TREES.items()
    },
    "many": {
        f"{of} columns, {kind}" if of == 20 else f"{of}, {kind}": (
            with_twins, model, of, "marital" if of == "bank" else "sex", 0.0
        )
        for of in (*ROWS, 20) for kind, model in USUAL.items()
    },
    "rare": {
        "adult, logistic, twins of 97%": (with_twins, LOGISTIC, "adult", "sex", 0.97),
        "adult, forest, twins": (with_twins, shared.as_codes(forest(4, 100)), "adult"),
        "german, logistic, twins of 90%": (with_twins, STRICT, "german", "sex", 0.9),
        "german, boosting, twins of 60%": (with_twins, USUAL["boosting"], "german", "sex", 0.6),
        "german, forest, retrained": (retrained, shared.imputed(forest(5, 5)), "german"),
        "bank, loan, logistic, twins of 99%": (with_twins, LOGISTIC, "bank", "loan", 0.99),
        "12 columns, logistic, twins of 99%": (with_twins, LOGISTIC, 12, "sex", 0.99),
        "30 columns, logistic, twins of 99%": (with_twins, LOGISTIC, 30, "sex", 0.99),
        "40 columns, network, twins": (with_twins, network(), 40),
        "25 columns, forest, twins": (with_twins, shared.as_codes(forest(6, 20)), 25),
    },
}  # fmt: skip


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--groups", nargs="+", default=["many", "rare"], choices=GROUPS)
    parser.add_argument("--cases", nargs="+", default=[""], help="parts of names of models")
    parser.add_argument("--testers", nargs="+", default=list(TESTERS), choices=TESTERS)
    parser.add_argument("--seconds", type=float, default=2.0, help="of the processor, a run")
    parser.add_argument("--queries", type=int, help="of a run, in place of seconds")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--max-time", type=float, default=20.0, help="of a certificate")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    _clock.now = time.process_time
    ends = {"max_queries": asked.queries, "max_time": None if asked.queries else asked.seconds}
    print(f"{shared.describe_machine()}\n{ends}, {asked.seeds} seeds")
    print("\n| model | rate | " + " | ".join(asked.testers) + " |")
    print("| --- " * (2 + len(asked.testers)) + "|")
    for group, name in ((one, name) for one in asked.groups for name in GROUPS[one]):
        if not any(part in name for part in asked.cases):
            continue
        make, *of = GROUPS[group][name]
        model, X, sensitive = make(*of)
        settings = {"estimator": model, "sensitive_features": sensitive}
        certified, cells, rate = CertifiedAuditor(**settings, random_state=0), [], "-"
        if group == "rare":
            certified.set_params(max_time=asked.max_time).fit(X)
        for tester in asked.testers:
            runs = [
                clone(TESTERS[tester]).set_params(**settings, **ends, random_state=seed).fit(X)
                for seed in range(asked.seeds)
            ]
            found = np.array([run.n_found_ for run in runs])
            if tester == "random":
                rate = f"{found.sum() / sum(run.n_inputs_ for run in runs):.1e}"
            found, k = (found / [r.n_queries_ for r in runs], 3) if asked.queries else (found, 0)
            cell = f"{np.median(found):,.{k}f} [{found.min():,.{k}f}, {found.max():,.{k}f}]"
            if group == "rare":
                degree = np.median([run.fairness_degree_ for run in runs])
                reached = [run.history_.query("found > 0")["seconds"].min() for run in runs]
                first = pd.Series(reached).fillna(np.inf).median()
                share = degree / certified.fairness_degree_upper_bound_
                cell += f", {first:.2f} s, {share:.2f}{'' if certified.certified_ else '*'}"
            cells.append(cell)
        print(f"| {name} | {rate} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
