"""Whether what `FairnessRetrainer` says of the model that it hands over is true of this model.

Planted tables, of which fresh rows can be drawn: the sensitive column has an effect of its own,
another column follows it (a proxy), or neither. For each fit the truth on 20,000 fresh rows is
compared with what the retrainer says: the interval of the share of people who are treated
differently from a twin, before and after, the interval of the drop of the score, and whether that
is "confirmed". The last two are counted where another model was handed over: an original that is
kept has lost nothing.

``python examples/benchmarks/bench_retrainer_truth.py --fits 40`` prints the table (hours); some of
the cells are printed with ``--fits 8 --models tree logistic --rows 300 600 --tables own``.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from skfairtest import AequitasAuditor, FairnessRetrainer

MODELS = {
    "tree": DecisionTreeClassifier(min_samples_leaf=5, random_state=0),
    "depth 5": DecisionTreeClassifier(max_depth=5, random_state=0),
    "boosting": HistGradientBoostingClassifier(max_iter=30, random_state=0),
    "logistic": LogisticRegression(),
    "forest": RandomForestClassifier(30, min_samples_leaf=3, random_state=0),
}
#: The effect of the sensitive column itself, and how far another column follows it.
TABLES = {"own": (0.6, 0.4), "proxy": (0.0, 1.0), "none": (0.0, 0.0)}


def draw(table: str, n: int, rng: np.random.Generator) -> tuple[pd.DataFrame, np.ndarray]:
    """Rows of a planted table, and their labels."""
    effect, follows = TABLES[table]
    sex = rng.integers(0, 2, n)
    X = pd.DataFrame(
        {
            "sex": sex.astype(float),
            "a": rng.normal(size=n) + follows * sex,
            "b": rng.normal(size=n),
            "c": rng.integers(0, 6, n).astype(float),
            "d": rng.lognormal(size=n),
        }
    )
    signal = X["a"] + 0.7 * X["b"] + 0.2 * (X["c"] - 2.5) + effect * (sex - 0.5)
    return X, (signal + rng.logistic(size=n) > 0.2).to_numpy().astype(int)


def fit_once(table: str, model: str, n: int, seed: int, **settings: object) -> dict[str, object]:
    """What one retrainer says, and what is true."""
    X, y = draw(table, n, np.random.default_rng([8, seed]))
    fresh, truth = draw(table, 20_000, np.random.default_rng([99, seed]))
    twins = fresh.assign(sex=1 - fresh["sex"])
    auditor = AequitasAuditor(sensitive_features="sex", max_queries=800)
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mitigated = FairnessRetrainer(
            clone(MODELS[model]), auditor, random_state=seed, **settings
        ).fit(X, y)  # fmt: skip
    row: dict[str, object] = {"seconds": time.process_time() - began}
    models = mitigated.original_estimator_, mitigated.estimator_
    scores = []
    for when, asked, said in zip(
        ("before", "after"), models, (mitigated.before_, mitigated.after_), strict=True
    ):
        predicted = asked.predict(fresh)
        flips = float((predicted != asked.predict(twins)).mean())
        share = said.get("unseen", said["rows"])
        row |= {
            f"{when}_true": flips,
            when: share["value"],
            f"{when}_width": share["high"] - share["low"],
        }
        row[f"{when}_holds"] = share["low"] <= flips <= share["high"]
        scores.append(float((predicted == truth).mean()))
    drop, true_drop = mitigated.score_drop_, scores[0] - scores[1]
    row |= {
        "retrained": models[0] is not models[1],
        "drop_true": true_drop,
        "drop": drop["value"],
        "drop_high": drop["high"],
        "drop_width": drop["high"] - drop["low"],
        "drop_holds": drop["low"] <= true_drop <= drop["high"],
        "confirmed": drop["confirmed"],
        "untrue": drop["confirmed"] and true_drop > mitigated.max_score_drop,
    }
    return row


def summary(rows: pd.DataFrame) -> pd.Series:
    """One line of the table."""
    over = rows[rows["retrained"]]
    return pd.Series(
        {
            "fits": len(rows),
            "retrained": len(over),
            "before holds": rows["before_holds"].sum(),
            "after holds": rows["after_holds"].sum(),
            "true share": f"{rows['before_true'].mean():.3f} to {rows['after_true'].mean():.3f}",
            "drop holds": f"{over['drop_holds'].sum()} of {len(over)}",
            "true drop": over["drop_true"].mean(),
            "said": over["drop"].mean(),
            "width": over["drop_width"].mean(),
            "confirmed": over["confirmed"].sum(),
            "untrue": over["untrue"].sum(),
            "CPU s": rows["seconds"].mean(),
        }
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fits", type=int, default=40)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--models", nargs="+", default=list(MODELS))
    parser.add_argument("--tables", nargs="+", default=list(TABLES))
    parser.add_argument("--rows", nargs="+", type=int, default=[300, 600, 1_500, 5_000])
    parser.add_argument("--max-score-drop", type=float, default=0.01)
    parser.add_argument("--max-rounds", type=int, default=4)
    parser.add_argument("--strategy", default="twins")
    parser.add_argument("--save", help="a CSV file for all fits")
    asked = parser.parse_args()
    cells, found = [], []
    settings = {
        "max_score_drop": asked.max_score_drop,
        "max_rounds": asked.max_rounds,
        "strategy": asked.strategy,
    }
    for table in asked.tables:
        for model in asked.models:
            for n in asked.rows:
                rows = pd.DataFrame(
                    [
                        fit_once(table, model, n, seed, **settings)
                        for seed in range(asked.first, asked.first + asked.fits)
                    ]
                ).assign(table=table, model=model, n=n)
                cells.append(summary(rows).rename((table, model, n)))
                found.append(rows)
                print(cells[-1].to_frame().T.to_string(), flush=True)
                if asked.save:
                    pd.concat(found).to_csv(asked.save, index=False)
    print(pd.DataFrame(cells).to_string())
    print(summary(pd.concat(found)).to_string())


if __name__ == "__main__":
    main()
