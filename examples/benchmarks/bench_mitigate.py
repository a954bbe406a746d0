"""Mitigation beside the papers' figures: Aequitas's Table 5 and TestSGD's Table 7.

Table 1: the six classifiers of the Aequitas paper's Table 2, as far as scikit-learn has them, on
the coded census data (the papers' domains), adult and german, sensitive attribute sex. Printed: the
share of discriminatory inputs left on test rows, near them (crossed with neighbours) and among
uniform inputs, none of which training or mitigation has seen, the rows added, and the accuracy on
test rows. "aequitas" is the paper's Algorithm 5, "twins" ours.

Table 2: groups. The score of the rule that was worst at first, which is what the paper's Table
7 reports, and of the worst rule of all: near the rows that were learned from, as in the paper
(the pool is another one), and near the test rows, or on those as they are. "testsgd" is the paper's
strategy, "groups" ours. "chance" is the worst score of the same model where the sensitive values
were dealt out among the people anew: of thousands of rules the worst one is far from zero where
groups are small, however a model was made. Figures are means over the splits. "play" is fictitious
play of Kearns et al. 2018 (``_fictitious_play.py``), one row a gamma, of logistic regression: the
mixture by the shares and the accuracy that its draws have on average, with the worst linear group
that its own auditor finds in a line of its own: the violation that gamma bounds, in percent, on
training and on test rows, and by how many points that group's rate differs; and "majority", what
most models of the mixture say, without a draw.

Table 3: one round on the adult data with a forest of 100 trees, in seconds.

Needs the folder of SKFAIRTEST_DATA. Run with ``python examples/benchmarks/bench_mitigate.py``.
"""

import argparse
import time
import warnings

import numpy as np
import pandas as pd
from _fictitious_play import FictitiousPlayClassifier, LinearGroupAuditor
from _machine import describe_machine
from bench_equal_time import BOUNDS
from sklearn.base import clone
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import RandomForestClassifier, VotingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from skfairtest import (
    AequitasAuditor,
    FairnessRetrainer,
    InputSpace,
    TestSGDAuditor,
)
from skfairtest.datasets import fetch_adult, fetch_german_credit
from skfairtest.mitigation._shares import draw_crossings, draw_uniform, judge

#: Aequitas, Table 5: share before and after in percent, and the reduction.
AEQUITAS = {
    "logistic regression (Fair SVM)": (3.86, 2.89, 25.15),
    "SVM": (0.33, 0.12, 63.54),
    "MLP": (0.39, 0.28, 30.12),
    "forest": (8.84, 6.68, 24.48),
    "tree": (0.48, 0.027, 94.36),
    "ensemble": (7.73, 6.06, 21.58),
}
#: TestSGD, Table 7: accuracy and score in percent, before and after.
TESTSGD = {"adult": (86.1, 20.2, 86.2, 10.1), "german": (100.0, 21.9, 100.0, 7.3)}
#: Violations that fictitious play is asked for, and its rounds; chosen on other splits.
GAMMAS = {"adult": [0.025, 0.035, 0.045], "german": [0.005, 0.01, 0.02]}
PLAY_ROUNDS = 100
#: An SVM's time grows with the square of its rows: it learns from so many.
SVM_ROWS = 8000


def classifiers(seed):
    linear = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    tree = DecisionTreeClassifier(random_state=seed)
    forest = RandomForestClassifier(100, random_state=seed)
    network = MLPClassifier((64, 32), max_iter=30, random_state=seed)
    small = RandomForestClassifier(30, random_state=seed)
    return {
        "logistic regression (Fair SVM)": linear,
        "SVM": make_pipeline(StandardScaler(), SVC()),
        "MLP": make_pipeline(StandardScaler(), network),
        "forest": forest,
        "tree": tree,
        "ensemble": VotingClassifier([("tree", tree), ("forest", small), ("linear", linear)]),
    }


def pipeline(model):
    names = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    columns = make_column_transformer(
        (names, make_column_selector(dtype_exclude="number")),
        (numbers, make_column_selector(dtype_include="number")),
    )
    return make_pipeline(columns, model)


def census(seed, rows=None):
    data = fetch_adult(coded=True)
    names = list(data.data.columns)
    X, y = data.data.to_numpy(dtype=float), data.target.to_numpy()
    bounds = {names.index(name): ends for name, ends in BOUNDS.items()}
    parts = train_test_split(X, y, test_size=0.25, stratify=y, random_state=seed)
    if rows is not None:
        parts[0], parts[2] = parts[0][:rows], parts[2][:rows]
    return (*parts, InputSpace(bounds=bounds), [names.index("sex")])


def twin_data(name, seed, rows):
    """Training and test rows, their targets, and the input space of all of them."""
    if name == "census":
        X, X_test, y, y_test, space, sensitive = census(seed)
        everything = np.concatenate([X, X_test])
    else:
        *parts, _ = group_data(name, seed)
        X, X_test, y, y_test = (part if part.ndim == 1 else part.reset_index(drop=True)
                                for part in parts)  # fmt: skip
        everything = pd.concat([X, X_test], ignore_index=True)
        space, sensitive = InputSpace(), ["sex"]
    # Of all rows: a category that test rows alone have is one of the domain.
    space.fit(everything, sensitive)
    return X[:rows], X_test[:rows], y[:rows], y_test[:rows], space


def mitigate_twins(data, name, strategy, seed, options):
    """Shares left in three places, change of accuracy, rows added, shares and accuracy before."""
    rows = SVM_ROWS if name == "SVM" else options.rows
    X, X_test, y, y_test, space = twin_data(data, seed, rows)
    model = classifiers(seed)[name]
    if data != "census":
        inner = model[-1] if hasattr(model, "steps") else model
        model = pipeline(inner)
    auditor = AequitasAuditor(max_queries=options.queries, space=space)
    mitigated = FairnessRetrainer(
        model,
        auditor,
        strategy=strategy,
        max_score_drop=options.drop,
        random_state=seed,
    ).fit(X, y)
    models = mitigated.original_estimator_, mitigated.estimator_
    # A seed of its own: inputs that no audit, estimate or choice has seen.
    rng = np.random.default_rng(1000 + seed)
    tested = space.with_data(X_test)
    places = [
        tested.data,
        draw_crossings(tested, 10_000, rng).rows,
        draw_uniform(space, 20_000, rng),
    ]
    shares = [[judge(m, space, Z, {}).differs.mean() for Z in places] for m in models]
    right = [m.predict(X_test) == y_test for m in models]
    return [*shares[0], *shares[1], len(right[0]), right[0].mean(), right[1].mean(),
            mitigated.n_added_ / len(y)]  # fmt: skip


def table_twins(options):
    print(
        "\n1. Share of discriminatory inputs, sex: on test rows, near them, uniform (before, left)"
    )
    print(
        f"{'data':8}{'classifier':31}{'strategy':18}{'rows':>14}{'near':>14}{'uniform':>14}"
        f"{'added':>7}  accuracy"
    )
    strategies = ["aequitas", "twins"] if options.aequitas else ["twins"]
    left: dict[str, list[list[float]]] = {}
    for data in options.twin_data:
        for name, (before, _, fall) in AEQUITAS.items():
            if options.only and name.split()[0] not in options.only:
                continue
            if data == "census":
                print(
                    f"{data:8}{name:31}{'paper':18}{'':28}{before:7.2f}%{-fall:5.0f}%", flush=True
                )
            for label in strategies:
                runs = [
                    mitigate_twins(data, name, label, seed, options)
                    for seed in range(options.seeds)
                ]
                mean = np.mean(runs, axis=0)
                remains = [mean[3 + j] / mean[j] if mean[j] else np.nan for j in range(3)]
                change = 100 * (mean[8] - mean[7])
                left.setdefault(label, []).append([*remains, change])
                figures = "".join(f"{mean[j]:8.2%}{remains[j] - 1:+6.0%}" for j in range(3))
                print(
                    f"{data:8}{name:31}{label:18}{figures}{mean[9]:7.1f}{mean[7]:8.1%}{change:+6.2f}",
                    flush=True,
                )
    for label, values in left.items():
        mean = np.nanmean(values, axis=0)
        figures = "".join(f"{'':8}{value - 1:+6.0%}" for value in mean[:3])
        print(f"{'mean':8}{'':31}{label:18}{figures}{'':15}{mean[3]:+6.2f}")


def group_data(name, seed):
    data = fetch_adult() if name == "adult" else fetch_german_credit()
    X = data.data.drop(columns=["fnlwgt"], errors="ignore")
    favourable = [">50K" if name == "adult" else "good"]
    sensitive = ["sex", "race", "age"] if name == "adult" else ["sex", "age"]
    parts = train_test_split(
        X, data.target.to_numpy(), test_size=0.25, stratify=data.target, random_state=seed
    )
    return (*parts, {"sensitive_features": sensitive, "favourable": favourable})


def group_scores(model, first, data, settings, mixture=False):
    """Scores of the first worst rule and of the worst one of all; accuracy on test rows.

    Near the training rows, on a pool that no choice was made by, and near the test rows. Of the
    first rule also the difference among the test rows themselves, with no attribute moved.
    Of a mixture of models, what its draws give on average.
    """
    X, X_test, _, y_test = data
    if mixture:
        settings = {**settings, "response_method": "predict_proba"}
    near = TestSGDAuditor(FrozenEstimator(model), random_state=99, **settings).fit(X)
    near_test = TestSGDAuditor(FrozenEstimator(model), random_state=99, **settings).fit(X_test)
    rules = near.rules_.set_index("rule")["score"]
    inside = first.matches(X_test, 0)
    if mixture:
        said = model.predict_proba(X_test)[:, 1]
        accuracy = np.where(np.isin(y_test, settings["favourable"]), said, 1 - said).mean()
    else:
        said = np.isin(model.predict(X_test), settings["favourable"])
        accuracy = model.score(X_test, y_test)
    return [
        rules[first.worst_rule_["rule"]],
        abs(said[inside].mean() - said[~inside].mean()),
        near.group_fairness_score_,
        near_test.group_fairness_score_,
        accuracy,
    ]


def mitigate_groups(name, model, strategy, seed, drop):
    """Scores before and after, and rows added."""
    *data, settings = group_data(name, seed)
    mitigated = FairnessRetrainer(
        model,
        TestSGDAuditor(**settings),
        strategy=strategy,
        max_score_drop=drop,
        random_state=seed,
    ).fit(data[0], data[2])
    original = mitigated.original_estimator_
    first = TestSGDAuditor(FrozenEstimator(original), random_state=0, **settings).fit(data[0])
    scores = [group_scores(m, first, data, settings) for m in (original, mitigated.estimator_)]
    return [*scores[0], *scores[1], mitigated.n_added_ / len(data[2])]


def play_groups(name, gamma, seed):
    """Scores before fictitious play, of the mixture and of its majority; worst linear groups."""
    *data, settings = group_data(name, seed)
    X, X_test, y, _ = data
    sensitive = settings["sensitive_features"]
    learner = LogisticRegression(max_iter=1000, solver="newton-cholesky")
    original = pipeline(learner).fit(X, y)
    played = FictitiousPlayClassifier(
        learner, sensitive_features=sensitive, gamma=gamma, n_iterations=PLAY_ROUNDS, charge=1.0
    ).fit(X, y)
    first = TestSGDAuditor(FrozenEstimator(original), random_state=0, **settings).fit(X)
    before, mixture, majority = (
        group_scores(model, first, data, settings, mixture=mixed)
        for model, mixed in ((original, False), (played, True), (played, False))
    )
    groups = []
    for table in (X, X_test):
        said = [np.isin(m.predict(table), settings["favourable"]) for m in (original, played)]
        for decisions in (said[0], played.predict_proba(table)[:, 1], said[1]):
            auditor = LinearGroupAuditor().fit(table[sensitive], decisions)
            groups += [auditor.violation_, abs(auditor.difference_)]
    return [*before, *mixture, *majority, *groups]


def chance_scores(name, model, seed):
    """Worst scores of the model where sensitive values were dealt out anew: what chance makes."""
    X, X_test, y, _, settings = group_data(name, seed)
    rng = np.random.default_rng(seed)
    columns = settings["sensitive_features"]
    X, X_test = X.copy(), X_test.copy()
    for table in (X, X_test):
        dealt = table[columns].iloc[rng.permutation(len(table))]
        table[columns] = dealt.set_axis(table.index)
    fitted = clone(model).fit(X, y)
    return [
        TestSGDAuditor(FrozenEstimator(fitted), random_state=99, **settings)
        .fit(table)
        .group_fairness_score_
        for table in (X, X_test)
    ]


def table_groups(options):
    print("\n2. Group fairness scores, worst rule at first (same) and of all (worst)")
    print(
        f"{'data':8}{'model':10}{'strategy':10}{'same, near':>16}{'same, test':>16}"
        f"{'worst, near':>16}{'worst, test':>16}{'accuracy':>18}{'added':>8}"
    )
    models = {
        "MLP": MLPClassifier((64, 32, 16, 8, 4), max_iter=40, random_state=0),
        "logistic": LogisticRegression(max_iter=1000),
        "forest": RandomForestClassifier(100, min_samples_leaf=2, random_state=0),
    }
    for data in options.data:
        acc, score, acc_after, score_after = TESTSGD[data]
        print(
            f"{data:8}{'network':10}{'paper':10}{score:8.1f} ->{score_after:5.1f}"
            f"{'':50}{acc:8.1f} ->{acc_after:6.1f}"
        )
        seeds = range(options.group_seeds[data == "german"])
        for kind in options.models or models:
            model = pipeline(models[kind])
            chance = np.mean([chance_scores(data, model, seed) for seed in seeds], axis=0)
            for strategy in options.strategies:
                drop = options.group_drop
                runs = [mitigate_groups(data, model, strategy, seed, drop) for seed in seeds]
                mean = 100 * np.nanmean(runs, axis=0)
                pairs = [f"{mean[j]:6.1f} ->{mean[j + 5]:6.1f}" for j in range(5)]
                print(
                    f"{data:8}{kind:10}{strategy:10}{pairs[0]:>16}{pairs[1]:>16}{pairs[2]:>16}"
                    f"{pairs[3]:>16}{pairs[4]:>18}{mean[10]:7.1f}%",
                    flush=True,
                )
            print(f"{data:8}{kind:10}{'chance':10}{'':32}{chance[0]:16.1%}{chance[1]:16.1%}")
            if kind == "logistic":
                print_play(data, seeds, options.gammas or GAMMAS[data])


def print_play(data, seeds, gammas):
    for gamma in gammas:
        mean = 100 * np.nanmean([play_groups(data, gamma, seed) for seed in seeds], axis=0)
        before, mixture, majority, groups = np.split(mean, [5, 10, 15])
        for model, after in ((f"play {gamma:g}", mixture), ("majority", majority)):
            pairs = [f"{a:6.1f} ->{b:6.1f}" for a, b in zip(before, after, strict=True)]
            print(
                f"{data:8}{'logistic':10}{model:10}{pairs[0]:>16}{pairs[1]:>16}{pairs[2]:>16}"
                f"{pairs[3]:>16}{pairs[4]:>18}"
            )
        for part, figures in zip(("training", "test"), np.split(groups, 2), strict=True):
            violations, points = figures[::2], figures[1::2]
            print(
                f"{'':18}worst linear group, {part:8} rows: violation {violations[0]:.2f} -> "
                f"{violations[1]:.2f} (majority {violations[2]:.2f}), rates differ by "
                f"{points[0]:.1f} -> {points[1]:.1f} ({points[2]:.1f}) points",
                flush=True,
            )


def table_time():
    print("\n3. One round, adult, forest of 100 trees")
    data = fetch_adult()
    X, y = data.data.drop(columns=["fnlwgt"]), data.target.to_numpy()
    model = pipeline(RandomForestClassifier(100, random_state=0))
    auditor = AequitasAuditor(sensitive_features=["sex"], max_queries=40_000, random_state=0)
    ratios = []
    for _ in range(3):
        start = time.perf_counter()
        fitted = clone(model).fit(X, y)
        training = time.perf_counter() - start
        start = time.perf_counter()
        clone(auditor).set_params(estimator=FrozenEstimator(fitted)).fit(X)
        audit = time.perf_counter() - start
        seconds = {}
        for rounds in (1, 2):
            start = time.perf_counter()
            FairnessRetrainer(model, auditor, max_rounds=rounds, random_state=0).fit(X, y)
            seconds[rounds] = time.perf_counter() - start
        one = seconds[2] - seconds[1]
        ratios.append((one / (training + audit), seconds[1] / (training + audit)))
        print(
            f"training {training:.2f} s, audit {audit:.2f} s, fit with one round "
            f"{seconds[1]:.2f} s, with two {seconds[2]:.2f} s, so a round takes {one:.2f} s: "
            f"{ratios[-1][0]:.2f} times audit and training"
        )
    print(
        f"median: a round {np.median([r[0] for r in ratios]):.2f} times, a whole fit with one "
        f"round {np.median([r[1] for r in ratios]):.2f} times"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", nargs="*", type=int, default=[1, 2, 3])
    parser.add_argument("--seeds", type=int, default=3, help="splits of table 1")
    parser.add_argument("--rows", type=int, default=None, help="rows of table 1, at most")
    parser.add_argument("--twin-data", nargs="*", default=["census", "adult", "german"])
    parser.add_argument("--aequitas", action="store_true", help="table 1 with the paper's, too")
    parser.add_argument(
        "--group-seeds", nargs=2, type=int, default=[3, 10], help="splits of adult and german"
    )
    parser.add_argument("--queries", type=int, default=40_000, help="of one audit in table 1")
    parser.add_argument(
        "--drop",
        type=float,
        default=0.0075,
        help="max_score_drop: test rows may lose a little more",
    )
    parser.add_argument("--group-drop", type=float, default=0.01, help="the same for table 2")
    parser.add_argument("--models", nargs="*", help="MLP, logistic, forest of table 2")
    parser.add_argument("--data", nargs="*", default=list(TESTSGD), help="data of table 2")
    parser.add_argument("--strategies", nargs="*", default=["testsgd", "groups"])
    parser.add_argument("--gammas", nargs="*", type=float, help="violations fictitious play allows")
    parser.add_argument("--only", nargs="*", help="first words of classifiers of table 1")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print(describe_machine())
    if 1 in options.tables:
        table_twins(options)
    if 2 in options.tables:
        table_groups(options)
    if 3 in options.tables:
        table_time()


if __name__ == "__main__":
    main()
