"""Found over certified: how much of the largest disparity a search finds, budget by budget.

Twenty models whose fairness degree is certified, on which nothing was tuned, judge `SBFTAuditor`,
other testers, and general optimizers, which look for the worst pair of twins as for the maximum of
any function. Tables have the largest disparity found over the certified upper bound (a star: that
is open): for each model, the mean over seeds; for all together, the mean (least; share of runs that
reach 0.99); how far SBFT is ahead, with the standard error of that over models; and how often it
gives a `degree_estimate_`, how often that holds, and its median width over the degree.

Optimizers (``pip install --group optimizers``) search the auditors' domain, and both twins' values
if there are more than two combinations. A known row costs nothing, and what ends begins anew. NGOpt
knows its budget; a run of the others serves all. ``--results`` keeps runs, ``--fresh`` drops them.
"""

import argparse
import contextlib
import functools
import json
import tempfile
import time
import warnings
from pathlib import Path

import _shared
import numpy as np
import pandas as pd
from scipy import optimize
from sklearn.linear_model import LogisticRegression

from skfairtest import InputSpace, _clock, individual
from skfairtest.exact import CertifiedAuditor
from skfairtest.oracle._cached_model import CachedModel
from skfairtest.oracle._evaluator import Evaluator
from skfairtest.oracle._model import Model
from skfairtest.oracle._stop import StopReason, StopSearch

AUDITORS = {
    "SBFT": individual.SBFTAuditor(), "SBFT paper": individual.PublishedSBFTAuditor(),
    "random": individual.RandomAuditor(), "surrogate": individual.SurrogateAuditor(),
    "Aequitas": individual.AequitasAuditor(), "MAFT": individual.MAFTAuditor(),
    "Themis": individual.ThemisAuditor(),
}  # fmt: skip


def fitted(model, X, y, sensitive):
    """Return a fitted model, its table (an array if it has no words) and the sensitive columns."""
    y = y > np.mean(y) if hasattr(model, "predict_proba") else y
    if not len(X.select_dtypes("category").columns):
        sensitive = X.columns.get_indexer(sensitive).tolist()
        return model.fit(X.to_numpy(float), y), X.to_numpy(float), sensitive
    encoded = _shared.one_hot if isinstance(model, LogisticRegression) else _shared.as_codes
    return encoded(model).fit(X, y), X, sensitive


def made_up(model, n_columns, n_values, seed, narrow=3, words=True):
    """Return a model of people whose first columns matter in `narrow` places of some others."""
    rng, n = np.random.default_rng([2718, seed]), 4000
    columns = {f"group {k}": rng.integers(0, most, n) for k, most in enumerate(n_values)}
    inside, y, sensitive = [], np.zeros(n), list(columns)

    def gaps():
        return sum(rng.normal(size=m)[columns[f"group {k}"]] for k, m in enumerate(n_values))

    for k in range(n_columns - len(n_values)):
        kind = ("flag", "share", "visits", "income", "word")[rng.integers(5 if words else 4)]
        codes = rng.integers(0, 2 if kind == "flag" else rng.integers(3, 8), n)
        values = {
            "share": rng.beta(*rng.uniform(0.8, 4, 2), n),
            "visits": rng.negative_binomial(rng.integers(1, 6), rng.uniform(0.1, 0.5), n),
            "income": (1000 * rng.gamma(rng.uniform(0.7, 3), 1, n)).round(),
        }.get(kind, codes)
        low, high = np.quantile(values, np.sort(rng.random(2) * [0.6, 0.4] + [0, 0.6]))
        inside.append((low <= values) & (values <= high))
        effect = rng.normal(size=8)[codes] if kind == "word" else values
        y += rng.normal() * (rng.random() < 0.5) * (effect - effect.mean()) / effect.std()
        columns[f"{kind} {k}"] = np.array(list("abcdefgh"))[codes] if kind == "word" else values
    spread = y.std()
    y += 0.2 * spread * gaps() + 0.3 * spread * rng.normal(size=n)
    for _ in range(narrow):
        some = rng.choice(len(inside), min(len(inside), rng.integers(2, 5)), replace=False)
        y += spread * rng.uniform(0.5, 2) * np.all([inside[j] for j in some], axis=0) * gaps()
    return fitted(model, _shared.as_categories(pd.DataFrame(columns)), y, sensitive)


def real(model, data, target, sensitive, every=1):
    """Return a model of another target of a public table, or of each n-th row of it."""
    X, y = _shared.public(data)
    X = X.assign(**{y.name: y}).iloc[::every].drop(columns="fnlwgt", errors="ignore")
    X = _shared.as_categories(X.fillna(X.median(numeric_only=True)))
    y = X.pop(target)
    return fitted(model, X, y.cat.codes if y.dtype == "category" else y, sensitive)


def trees(kind, n=100, depth=None):
    """Return so many trees, or rounds of boosting, or one decision tree."""
    at = {"X": "xgboost", "L": "lightgbm", "D": "sklearn.tree"}.get(kind[0], "sklearn.ensemble")
    size = {"D": {}, "H": {"max_iter": n}, "L": {"n_estimators": n, "verbose": -1}}
    return _shared.boosted(at, kind, max_depth=depth, **size.get(kind[0], {"n_estimators": n}))


GBR, GBC, XGBC = "GradientBoostingRegressor", "GradientBoostingClassifier", "XGBClassifier"
HGBR, HGBC = "HistGradientBoostingRegressor", "HistGradientBoostingClassifier"
RFC, ETR, LR = "RandomForestClassifier", "ExtraTreesRegressor", LogisticRegression(max_iter=3000)
DTR, DTC, LGBC = "DecisionTreeRegressor", "DecisionTreeClassifier", "LGBMClassifier"
MODELS = {
    "5 columns, tree": lambda: made_up(trees(DTR, 1, 7), 5, [3], 1),
    "7 columns, forest": lambda: made_up(trees(RFC, 25, 7), 7, [2], 2),
    "11 columns, tree": lambda: made_up(trees(DTC, 1, 8), 11, [2], 3, 6, words=False),
    "14 columns, boosting": lambda: made_up(trees(GBR, 100, 4), 14, [8], 4),
    "17 columns, logistic": lambda: made_up(LR, 17, [3], 5),
    "22 columns, extra trees": lambda: made_up(trees(ETR, 25, 9), 22, [2], 6, 8, words=False),
    "28 columns, LightGBM": lambda: made_up(trees("LGBMRegressor", 80, 5), 28, [50], 7),
    "36 columns, XGBoost": lambda: made_up(trees(XGBC, 70, 4), 36, [2], 8, 8, words=False),
    "43 columns, histograms": lambda: made_up(trees(HGBR, 70, 5), 43, [2, 3], 9, words=False),
    "55 columns, forest": lambda: made_up(trees(RFC, 25, 8), 55, [8], 10, words=False),
    "70 columns, XGBoost": lambda: made_up(trees("XGBRegressor", 80, 5), 70, [2], 11, 10),
    "90 columns, boosting": lambda: made_up(trees(GBC, 80, 3), 90, [50], 12, words=False),
    "120 columns, LightGBM": lambda: made_up(trees(LGBC, 80, 4), 120, [2], 13, 10, words=False),
    "german amount": lambda: real(trees("LGBMRegressor", 60, 4), "german", "amount", ["housing"]),
    "german telephone": lambda: real(LR, "german", "telephone", ["age"]),
    "german class": lambda: real(trees(XGBC, 60, 3), "german", "class", ["job", "foreign_worker"]),
    "bank balance": lambda: real(trees(GBR, 60, 4), "bank", "balance", ["age"], 7),
    "bank housing": lambda: real(trees(HGBC, 60, 4), "bank", "housing", ["job"], 6),
    "adult hours": lambda: real(trees(GBR, 80, 4), "adult", "hours_per_week", ["sex", "race"], 5),
    "communities": lambda: real(trees(ETR, 25, 8), "communities", "PctEmploy", ["racePctAsian"]),
}


class Pairs:
    """The difference of a pair of twins as a function of numbers, and the best by each budget."""

    def __init__(self, model, X, sensitive, budgets):
        self.space = space = InputSpace().fit(X, sensitive)
        n_sides = 2 if space.twins_.n_combinations > 2 else 0  # otherwise there is one pair
        self.places = [*space.non_sensitive, *list(space.sensitive) * n_sides]
        ends = space.domain.low, space.domain.high, space.domain.discrete
        self.low, self.high, self.whole = (one[self.places] for one in ends)
        self.model = Model(model, space, response_method="auto", n_jobs=None)
        cache = CachedModel(self.model, space, lambda n, seconds: None)
        self.evaluator = Evaluator(cache, space, threshold=0.0)
        self.budgets, self.best, self.n_proposed = budgets, [0.0] * len(budgets), 0

    def variables(self, category, whole, real):
        return [
            category(list(range(int(one.low), int(one.high) + 1))) if one.is_category
            else whole(int(one.low), int(one.high)) if one.discrete else real(one.low, one.high)
            for one in (self.space.domain.columns[j] for j in self.places)
        ]  # fmt: skip

    def draw(self, n, rng):
        return np.column_stack([self.space.domain.draw(n, rng)[:, j] for j in self.places])

    def __call__(self, points):
        points, n_free = np.asarray(points, dtype=float), len(self.space.non_sensitive)
        Z = np.zeros((len(points), self.space.n_features))
        Z[:, self.space.non_sensitive] = points[:, :n_free]
        Z, twins = self.space.domain.clip(Z), self.evaluator.all_twins(len(points))
        if points.shape[1] > n_free:
            twins = self.space.twins_.clip_sensitive(points[:, n_free:].reshape(len(Z), 2, -1))
        spent, within = self.model.n_rows, self.evaluator.n_within
        ends = [within(Z, twins, None, n - spent, 0) if n > spent else 0 for n in self.budgets]
        found = self.evaluator.evaluate(Z, twins).disparity
        self.best = [float(found[:n].max(initial=k)) for n, k in zip(ends, self.best, strict=True)]
        self.n_proposed += len(Z)  # nearly all of these pairs may be known
        if ends[-1] < len(Z) or self.n_proposed > 5 * self.budgets[-1]:
            raise StopSearch(StopReason.COMPLETE)
        return found


def de(pairs, rng):
    """Differential evolution of SciPy, from 50 uniform points."""
    optimize.differential_evolution(
        lambda points: -pairs(points.T), np.transpose([pairs.low, pairs.high]),
        integrality=pairs.whole, vectorized=True, updating="deferred", polish=False, tol=0,
        maxiter=10**6, init=pairs.draw(50, rng), rng=rng,
    )  # fmt: skip


def cma_es(pairs, rng):
    """CMA-ES with restarts (BIPOP); the ends are as likely as other whole numbers."""
    import cma

    options = {
        "bounds": [pairs.low - 0.499 * pairs.whole, pairs.high + 0.499 * pairs.whole],
        "CMA_stds": pairs.high - pairs.low, "integer_variables": [*np.flatnonzero(pairs.whole)],
        "maxfevals": np.inf, "seed": int(rng.integers(1, 2**31)), "verbose": -9,
    }  # fmt: skip
    cma.fmin2(
        None, lambda: pairs.draw(1, rng)[0], 0.3, options, restarts=9, bipop=True,
        parallel_objective=lambda points, *_: (-pairs(points)).tolist(),
    )  # fmt: skip


def genetic(pairs, rng):
    """A genetic algorithm of pymoo, for mixed variables."""
    from pymoo.core import mixed, problem, variable
    from pymoo.optimize import minimize

    class Degree(problem.Problem):
        def _evaluate(self, points, out, *_, **__):
            out["F"] = -pairs([[point[k] for k in self.vars] for point in points])

    variables = pairs.variables(
        lambda codes: variable.Choice(options=codes), lambda *ends: variable.Integer(bounds=ends),
        lambda *ends: variable.Real(bounds=ends),
    )  # fmt: skip
    degree, seed = Degree(vars=dict(enumerate(variables))), int(rng.integers(2**31))
    minimize(degree, mixed.MixedVariableGA(), ("n_gen", 10**6), seed=seed)


def ngopt(pairs, rng):
    """NGOpt of nevergrad, which chooses an optimizer by the variables and the budget."""
    from nevergrad import optimizers, p

    low, high, start = pairs.low, pairs.high, pairs.draw(1, rng)[0]
    kinds = [at for at in (np.flatnonzero(~pairs.whole), np.flatnonzero(pairs.whole)) if len(at)]
    parts = [p.Array(init=start[at], lower=low[at], upper=high[at]) for at in kinds]
    if pairs.whole.any():
        parts[-1].set_integer_casting()
    space, places = p.Tuple(*parts), np.argsort(np.concatenate(kinds))
    space.random_state.seed(rng.integers(2**31))
    optimizer = optimizers.NGOpt(space, budget=pairs.budgets[-1] // 2)
    while True:
        asked = optimizer.ask()
        optimizer.tell(asked, -pairs([np.concatenate(asked.value)[places]])[0])


def tpe(pairs, rng):
    """Optuna's Parzen estimator, of all variables together; it takes long beyond 3,000 queries."""
    import optuna
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    kinds = pairs.variables(CategoricalDistribution, IntDistribution, FloatDistribution)
    kinds = dict(zip(map(str, range(len(kinds))), kinds, strict=True))
    sampler = optuna.samplers.TPESampler(multivariate=True, seed=int(rng.integers(2**31)))
    study = optuna.create_study(direction="maximize", sampler=sampler)
    while True:
        trial = study.ask(kinds)
        study.tell(trial, pairs([[trial.params[name] for name in kinds]])[0])


OPTIMIZERS = {"DE": de, "CMA-ES": cma_es, "genetic": genetic, "NGOpt": ngopt, "TPE": tpe}


def run(case, tester, seed, budgets, unit):
    """Return the largest disparity found by each budget, and the upper end of its estimate."""
    if tester in OPTIMIZERS:
        pairs, rng = Pairs(*case, budgets), np.random.default_rng(seed)
        with contextlib.suppress(StopSearch):
            while True:
                OPTIMIZERS[tester](pairs, rng)
        return [(degree, np.inf) for degree in pairs.best]
    model, X, sensitive = case
    max_queries, max_time = (budgets[0], None) if unit == "queries" else (None, budgets[0])
    one = AUDITORS[tester].set_params(
        estimator=model, sensitive_features=sensitive, threshold=0.0, random_state=seed,
        max_queries=max_queries, max_time=max_time,
    ).fit(X)  # fmt: skip
    return [(one.fairness_degree_, getattr(one, "degree_estimate_", (0, np.inf))[1])]


def show(table):
    """Print a table."""
    heads, *rows = table.to_csv(sep="|", na_rep="-", float_format="%.3f").splitlines()
    print("", heads, "|".join("---" for _ in heads.split("|")), *rows, sep="\n", flush=True)


def tell(found, asked):
    """Print the tables of all runs, and draw the mean share against the budget."""
    show(found.pivot_table("share", ["model", "tester"], "budget", sort=False))
    shares = found.groupby(["tester", "budget"])["share"]
    show(shares.agg(
        lambda one: f"{one.mean():.3f} ({one.min():.2f}; {(one >= 0.99).mean():.0%})"
    ).unstack())  # fmt: skip
    if "SBFT" in set(found["tester"]):
        shares = found.set_index(["budget", "model", "seed", "tester"])["share"].unstack()
        ahead = shares.rsub(shares["SBFT"], axis=0).drop(columns="SBFT")
        by_budget = ahead.groupby(["budget", "model"]).mean().groupby("budget")
        text = by_budget.agg(lambda one: f"{one.mean():+.3f} ± {one.sem():.3f}").T
        show(text.replace("+nan ± nan", "-"))
        sbft = found[found["tester"] == "SBFT"].groupby("budget")
        show(sbft.agg({"given": "mean", "holds": "mean", "width": "median"}).astype(float))
    if asked.picture:
        means = found.pivot_table("share", "budget", "tester")
        axes = means[means.ffill().iloc[-1].sort_values(ascending=False).index].plot(
            figsize=(7, 4.2), logx=True, ylim=(0, 1.02), marker=".", xlabel=asked.unit,
            ylabel=f"largest difference found / certified, {found['model'].nunique()} models",
        )  # fmt: skip
        axes.set_xticks(asked.budgets, [f"{n:,}" for n in asked.budgets])
        axes.minorticks_off()
        axes.figure.savefig(asked.picture, dpi=110)


def main():
    """Make the runs, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    every, folder = [*AUDITORS, *OPTIMIZERS], Path(tempfile.gettempdir())
    parser.add_argument("--cases", nargs="+", default=[""], help="parts of names of models")
    parser.add_argument("--testers", nargs="*", default=["SBFT", "random"], choices=every)
    parser.add_argument("--budgets", type=int, nargs="+", default=[300, 1000, 3000, 20000])
    parser.add_argument("--unit", default="queries", choices=("queries", "seconds"))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--fresh", action="store_true", help="make runs of the testers again")
    parser.add_argument("--truth", type=Path, default=folder / "skfairtest-certified.json")
    parser.add_argument("--results", type=Path, default=folder / "skfairtest-found.json")
    parser.add_argument("--picture", type=Path, help="file for the curves")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    if asked.unit == "seconds":
        _clock.now = time.process_time
        asked.testers = [one for one in asked.testers if one in AUDITORS]  # others count queries
    print(_shared.describe_machine())
    files = asked.truth, asked.results
    truth, known = (json.loads(one.read_text()) if one.exists() else {} for one in files)
    if asked.fresh:
        known = {key: one for key, one in known.items() if key.split("|")[1] not in asked.testers}
    names = [name for name in MODELS if any(part in name for part in asked.cases)]
    names = [name for name in names if name[0].isdigit() or _shared.has_public(name.split()[0])]
    for name in names:
        case = functools.cache(MODELS[name])
        if name not in truth:
            model, X, sensitive = case()
            audit = CertifiedAuditor(model, sensitive_features=sensitive, max_time=60)
            audit.set_params(random_state=0).fit(X)
            truth[name] = float(audit.fairness_degree_), float(audit.fairness_degree_upper_bound_)
            asked.truth.write_text(json.dumps(truth, indent=0))
        for tester, seed in ((one, k) for one in asked.testers for k in range(asked.seeds)):
            new = {f"{name}|{tester}|{seed}|{asked.unit}|{n}": n for n in asked.budgets}
            new = [(key, n) for key, n in new.items() if key not in known]
            at_once = new and tester in OPTIMIZERS and tester != "NGOpt"
            for part in [new] if at_once else [[one] for one in new]:
                keys, budgets = zip(*part, strict=True)
                known |= zip(keys, run(case(), tester, seed, budgets, asked.unit), strict=True)
                asked.results.write_text(json.dumps(known, indent=0))
    runs = [(*key.split("|"), *one) for key, one in known.items()]
    columns = ["model", "tester", "seed", "unit", "budget", "low", "high"]
    found = pd.DataFrame(runs, columns=columns).astype({"budget": int})
    found = found.query("budget in @asked.budgets and unit == @asked.unit and model in @names")
    degree, bound = np.transpose([truth[name] for name in found["model"]])
    high = found["high"].replace(np.inf, np.nan)
    found = found.assign(
        model=found["model"] + np.where(bound > 1.01 * degree, "*", ""),
        share=found["low"] / bound, width=high / found["low"] - 1, given=high.notna(),
        holds=(high >= degree * (1 - 1e-9)).where(high.notna()),
    )  # fmt: skip
    tell(found, asked)


if __name__ == "__main__":
    main()
