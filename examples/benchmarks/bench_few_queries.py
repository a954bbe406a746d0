"""Found over certified: how much of the largest disparity each tester finds, budget by budget.

Models whose fairness degree is certified, in three groups: "tuned on" (six models, by which the
search was developed), "kept aside" (eleven) and "others" (24 of other sizes and settings), on which
nothing was ever tuned. For each model, tester and budget the table has the mean over the seeds of
the largest disparity found, divided by the certified upper bound; below stand all models of a group
together. The threshold is 0: verdicts are not the question, and confirming them would cost queries.
Where a certificate is open, its upper bound stands for the degree, and a star marks the model:
shares are then too small. The last table is about `degree_estimate_` on models that closed: how
often `SBFTAuditor` gives one, how often it holds the certified degree, and its median width over
the degree found.

Run with ``python examples/benchmarks/bench_few_queries.py``; ``--groups``, ``--cases``,
``--testers``, ``--budgets`` and ``--seeds`` choose parts. Models of public data are left out where
SKFAIRTEST_DATA has none. ``--truth`` names a file that keeps the certified bounds for the next run,
``--picture`` one for the curves of all models together. ``--unit seconds`` takes the budgets as
seconds of processor time, without a limit on queries. The guide's picture has the models kept
aside, ``--seeds 1 --budgets 300 1000 3000 10000 20000`` and
``--testers random surrogate SBFT Aequitas MAFT Themis``.
"""

import argparse
import json
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from _shared import (
    as_categories,
    as_codes,
    boosted,
    describe_machine,
    has_public,
    mixed_table,
    one_hot,
    public,
)
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.tree import DecisionTreeRegressor

from skfairtest import _clock
from skfairtest.exact import CertifiedAuditor
from skfairtest.individual import (
    AequitasAuditor,
    MAFTAuditor,
    PublishedSBFTAuditor,
    RandomAuditor,
    SBFTAuditor,
    SurrogateAuditor,
    SymbolicAuditor,
    ThemisAuditor,
)

#: Those that look for the largest difference, and others.
SHORT = {"random": RandomAuditor(), "SBFT": SBFTAuditor()}
TESTERS = SHORT | {
    "SBFT paper": PublishedSBFTAuditor(), "surrogate": SurrogateAuditor(),
    "Aequitas": AequitasAuditor(), "Themis": ThemisAuditor(), "MAFT": MAFTAuditor(),
    "SG": SymbolicAuditor(),
}  # fmt: skip
#: A certificate that is within this share of the largest known disparity is closed.
CLOSED = 1e-2

# Models: each builder gives a fitted one, its table, and the sensitive columns -------------------


def table(n_columns, n_values, seed, n_rows=5000):
    """Mixed columns, the first one sensitive; it matters where others have certain values."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_columns))
    X[:, 0] = rng.integers(0, n_values, n_rows)
    for j in range(1, n_columns):
        kind = rng.integers(4)
        if kind < 2:
            X[:, j] = rng.integers(0, rng.integers(2, 9) if kind else rng.integers(20, 90), n_rows)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    y = Z[:, 1:] @ (rng.normal(size=n_columns - 1) * (rng.random(n_columns - 1) < 0.6))
    for _ in range(max(3, n_columns // 5)):
        a, b, c, d = rng.integers(1, n_columns, size=4)
        wave = np.sin(rng.normal() * Z[:, a] + rng.normal())
        y += Z[:, 0] * wave * (Z[:, b] > 0.7 * rng.normal()) + 0.5 * Z[:, c] * Z[:, d]
    return X, y + 0.3 * rng.normal(size=n_rows)


def crime(model, sensitive):
    """A regressor; the share of one group is the sensitive column, a real number."""
    X, y = public("communities")
    X = X.fillna(X.median())
    return model.fit(X, y), X, [sensitive]


def german(model, sensitive="sex"):
    """A classifier behind one-hot categories."""
    X, y = public("german")
    return one_hot(model).fit(as_categories(X), y == "good"), as_categories(X), [sensitive]


def adult(model, sensitive=("sex", "race")):
    """A classifier behind one-hot categories; with both sensitive columns, ten twins."""
    X, y = public("adult")
    X, y = as_categories(X.iloc[:8000].drop(columns="fnlwgt")), y.iloc[:8000]
    return one_hot(model).fit(X, y == ">50K"), X, list(sensitive)


def bank(model, sensitive=("marital",)):
    """A classifier of whole numbers."""
    X, y = public("bank")
    X, y = X.iloc[::5].astype(float), y.iloc[::5]
    return model.fit(X, y), X, list(sensitive)


def made_up(n_columns, seed, model, classes=False, n_rows=2500, encoded=as_codes):
    """A mixed table with a sensitive column of two values."""
    X, number = mixed_table(n_columns, n_rows, seed)
    y = (number > np.median(number)).astype(int) if classes else number
    return encoded(model).fit(X, y), X, ["sex"]


def wide(n_columns, n_values, seed, model, classes=False):
    """A table of numbers, whose sensitive column has so many values."""
    X, y = table(n_columns, n_values, seed=seed)
    return model.fit(X, y > np.median(y) if classes else y), X, [0]


def forest(n, depth, kind=RandomForestRegressor):
    """A forest of limited depth, which a certificate closes."""
    return kind(n, max_depth=depth, random_state=0)


def boosting(kind=GradientBoostingRegressor, depth=4):
    """Gradient boosting, by default of deeper trees than scikit-learn's."""
    return kind(max_depth=depth, random_state=0)


def histograms(kind=HistGradientBoostingRegressor, rounds=60):
    """Histogram boosting."""
    return kind(max_iter=rounds, random_state=0)


def xgb(kind, n, depth):
    """A model of XGBoost."""
    return boosted("xgboost", f"XGB{kind}", n_estimators=n, max_depth=depth)


def lgbm(kind, n=60, leaves=15):
    """A model of LightGBM."""
    return boosted("lightgbm", f"LGBM{kind}", n_estimators=n, num_leaves=leaves, verbose=-1)


RFC, ETC, GBC = RandomForestClassifier, ExtraTreesClassifier, GradientBoostingClassifier
GROUPS = {
    "tuned on": {
        "crime forest": lambda: crime(forest(50, 8), "racepctblack"),
        "german forest": lambda: german(forest(50, 6, RFC)),
        "adult forest": lambda: adult(forest(30, 8, RFC)),
        "adult boosting": lambda: adult(boosting(GBC, 3)),
        "made-up forest": lambda: made_up(20, 0, forest(50, 8), n_rows=2000),
        "made-up boosting": lambda: made_up(30, 1, boosting(GBC), True, 2000),
    },
    "kept aside": {
        "bank boosting": lambda: bank(histograms(HistGradientBoostingClassifier)),
        "wide boosting": lambda: wide(33, 8, 50, boosting()),
        "german network": lambda: german(MLPClassifier((12,), max_iter=150, random_state=0)),
        "adult logistic": lambda: adult(LogisticRegression(max_iter=1000)),
        "crime LightGBM": lambda: crime(lgbm("Regressor"), "racePctHisp"),
        "5 columns, forest": lambda: made_up(5, 15, forest(50, 6, RFC), True),
        "10 columns, network": lambda: made_up(
            10, 14, MLPClassifier((8,), random_state=0), True, encoded=one_hot
        ),
        "20 columns, 8 values, XGBoost": lambda: wide(20, 8, 16, xgb("Regressor", 80, 4)),
        "25 columns, LightGBM": lambda: made_up(25, 11, lgbm("Classifier"), True),
        "40 columns, 50 values, extra trees": lambda: wide(
            40, 50, 13, forest(30, 8, ExtraTreesRegressor)
        ),
        "60 columns, histograms": lambda: made_up(60, 12, histograms()),
    },
    "others": {
        "15 columns, forest": lambda: made_up(15, 17, forest(40, 8)),
        "35 columns, XGBoost": lambda: made_up(35, 18, xgb("Regressor", 60, 3)),
        "45 columns, extra trees": lambda: made_up(45, 19, forest(40, 7, ETC), True),
        "8 columns, 3 values, boosting": lambda: wide(8, 3, 20, boosting()),
        "30 columns, 20 values, LightGBM": lambda: wide(30, 20, 21, lgbm("Regressor")),
        "12 columns, forest": lambda: wide(12, 2, 22, forest(40, 7, RFC), True),
        "bank XGBoost": lambda: bank(xgb("Classifier", 60, 4)),
        "bank extra trees": lambda: bank(forest(30, 8, ETC)),
        "5 columns, 4 values, forest": lambda: wide(5, 4, 200, forest(60, 8)),
        "12 columns, XGBoost": lambda: made_up(12, 201, xgb("Classifier", 100, 5), True, 2000),
        "16 columns, 20 values, XGBoost": lambda: wide(16, 20, 202, xgb("Regressor", 100, 5)),
        "20 columns, 6 values, forest": lambda: wide(20, 6, 203, forest(60, 8)),
        "30 columns, LightGBM": lambda: made_up(30, 204, lgbm("Regressor", 100, 31), n_rows=2000),
        "35 columns, 3 values, LightGBM": lambda: wide(
            35, 3, 205, lgbm("Classifier", 100, 31), classes=True
        ),
        "45 columns, forest": lambda: made_up(45, 206, forest(60, 8), n_rows=2000),
        "60 columns, 100 values, boosting": lambda: wide(60, 100, 207, boosting()),
        "80 columns, 10 values, histograms": lambda: wide(80, 10, 208, histograms(rounds=100)),
        "120 columns, 2 values, boosting": lambda: wide(120, 2, 209, boosting()),
        "adult, race, XGBoost": lambda: adult(xgb("Classifier", 100, 4), ["race"]),
        "german, age, boosting": lambda: german(boosting(GBC, 3), "age"),
        "bank, age and marital, LightGBM": lambda: bank(
            lgbm("Classifier", 100, 31), ["age", "marital"]
        ),
        "communities, racePctWhite, forest": lambda: crime(forest(40, 7), "racePctWhite"),
        "25 columns, network (10,)": lambda: made_up(
            25, 210, MLPClassifier((10,), random_state=0), True, 2000, one_hot
        ),
        "15 columns, 5 values, tree": lambda: wide(
            15, 5, 211, DecisionTreeRegressor(min_samples_leaf=5, random_state=0)
        ),
    },
}
NEEDS = {"crime": "communities"} | {
    name: name for name in ("adult", "german", "bank", "communities")
}

# Runs --------------------------------------------------------------------------------------------


def certified_bound(name, case, path, max_time):
    """Upper bound of the degree, and what is known to be reached; kept in the file."""
    known = json.loads(path.read_text()) if path.exists() else {}
    if name not in known:
        model, X, sensitive = case
        certified = CertifiedAuditor(
            model, sensitive_features=sensitive, max_time=max_time, random_state=0
        ).fit(X)
        bound = certified.fairness_degree_upper_bound_
        known[name] = {"found": float(certified.fairness_degree_), "bound": float(bound)}
        path.write_text(json.dumps(known, indent=1))
    return known[name]["found"], known[name]["bound"]


def run(case, tester, budget, seed, unit):
    """The largest disparity found, the upper end of its estimate, and the seconds it took."""
    model, X, sensitive = case
    began = time.perf_counter()
    fitted = tester.set_params(
        estimator=model, sensitive_features=sensitive, threshold=0.0, random_state=seed,
        max_queries=budget if unit == "queries" else None,
        max_time=budget if unit == "seconds" else None,
    ).fit(X)  # fmt: skip
    high = getattr(fitted, "degree_estimate_", (0, np.inf))[1]
    return fitted.fairness_degree_, high, time.perf_counter() - began


def draw(budgets, means, n_models, asked):
    """Draw the mean share of the certified degree against the queries, a line a tester."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7.0, 4.2), layout="constrained")
    order = sorted(means, key=lambda tester: -means[tester][-1])
    height = 2.0
    for place, tester in enumerate(order):
        is_ours, end = tester == "SBFT", means[tester][-1]
        color = "#0072b2" if is_ours else str(0.25 + 0.5 * place / len(order))
        axes.plot(budgets, means[tester], color=color, lw=2.5 if is_ours else 1.2, marker="o", ms=3)
        # Names at the ends of the lines, as far apart as they have to be to be read.
        height = min(end, height - 0.045)
        axes.annotate(
            tester, (budgets[-1], end), (budgets[-1] * 1.25, height), va="center",
            color="#0072b2" if is_ours else "0.2",
            arrowprops={"arrowstyle": "-", "color": "0.8", "lw": 0.6},
        )  # fmt: skip
    axes.set(xscale="log", ylim=(0, 1.02), xlim=(budgets[0], budgets[-1] * 4.5))
    axes.set_xticks(budgets, [f"{n:,}" for n in budgets])
    axes.minorticks_off()
    axes.set_xlabel(asked.unit)
    axes.set_ylabel("largest difference found / certified")
    title = f"Mean of {n_models} models with a known largest difference"
    axes.set_title(title, loc="left", fontsize=11)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(asked.picture, dpi=110)


def main():
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--groups", nargs="+", default=["tuned on", "kept aside"], choices=GROUPS)
    parser.add_argument("--cases", nargs="+", default=[""], help="parts of names of models")
    parser.add_argument("--testers", nargs="+", default=list(SHORT), choices=list(TESTERS))
    parser.add_argument("--budgets", type=int, nargs="+", default=[300, 1000, 3000])
    parser.add_argument("--unit", default="queries", choices=("queries", "seconds"))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--max-time", type=float, default=60.0, help="of a certificate")
    default = Path(tempfile.gettempdir()) / "skfairtest-few-queries.json"
    parser.add_argument("--truth", type=Path, default=default)
    parser.add_argument("--picture", type=Path)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    if asked.unit == "seconds":
        _clock.now = time.process_time
    print(describe_machine())
    heads = " | ".join(f"{n:,}" for n in asked.budgets)
    print(f"\n| model | tester | {heads} | seconds |\n" + "| --- " * (3 + len(asked.budgets)) + "|")
    shares = {}  # by group and tester, for each model (n_budgets, n_seeds)
    estimates = [[] for _ in asked.budgets]  # share, whether it holds, and width
    for group, name in ((one, name) for one in asked.groups for name in GROUPS[one]):
        needed = NEEDS.get(name.replace(",", "").split()[0])
        if not any(part in name for part in asked.cases) or (needed and not has_public(needed)):
            continue
        case = GROUPS[group][name]()
        degree, bound = certified_bound(name, case, asked.truth, asked.max_time)
        star = "" if bound <= (1 + CLOSED) * degree else f"* ({degree / bound:.2f} known)"
        for tester in asked.testers:
            found = np.zeros((len(asked.budgets), asked.seeds))
            for i, budget in enumerate(asked.budgets):
                for seed in range(asked.seeds):
                    low, high, seconds = run(case, TESTERS[tester], budget, seed, asked.unit)
                    found[i, seed] = low / bound
                    if tester == "SBFT" and not star:
                        estimates[i].append((high, high >= degree * (1 - 1e-9), (high - low) / low))
            shares.setdefault((group, tester), []).append(found)
            listed = " | ".join(f"{share:.3f}" for share in found.mean(axis=1))
            print(f"| {name}{star} | {tester} | {listed} | {seconds:.1f} |", flush=True)
    print(f"\nMean (least; share of runs that reach 0.99)\n| models | tester | {heads} |")
    print("| --- " * (2 + len(asked.budgets)) + "|")
    for (group, tester), found in shares.items():
        runs = np.concatenate(found, axis=1)  # (n_budgets, n_models * n_seeds)
        cells = [f"{one.mean():.2f} ({one.min():.2f}; {(one >= 0.99).mean():.0%})" for one in runs]
        print(f"| {group} | {tester} | {' | '.join(cells)} |")
    print("\n| queries | runs | with an estimate | it holds | width |\n" + "| --- " * 5 + "|")
    for budget, found in zip(asked.budgets, estimates, strict=True):
        given = [(holds, width) for high, holds, width in found if np.isfinite(high)]
        if given:
            held, width = np.mean([one[0] for one in given]), np.median([one[1] for one in given])
            cells = f"{len(given) / len(found):.0%} | {held:.0%} | {width:.1%}"
            print(f"| {budget:,} | {len(found)} | {cells} |")
    if asked.picture:
        means = {
            tester: np.concatenate(
                [run for (_, one), found in shares.items() if one == tester for run in found], 1
            ).mean(axis=1)
            for tester in asked.testers
        }
        n_models = sum(len(found) for found in shares.values()) // len(asked.testers)
        draw(asked.budgets, means, n_models, asked)


if __name__ == "__main__":
    main()
