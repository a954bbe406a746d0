"""`skfairtest demo` trains and audits a forest on bundled data, without a network."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestRegressor
from sklearn.model_selection import train_test_split

from skfairtest.cli._audit import check_html
from skfairtest.cli._case import told_errors
from skfairtest.cli._files import check_outputs, write_whole
from skfairtest.cli._parser import Parser, at_least_one, fill_in, number, seconds, whole
from skfairtest.cli._terminal import say
from skfairtest.individual import SBFTAuditor

HELP = """
usage: skfairtest demo [options]

Train a forest on scikit-learn's diabetes data (442 patients) and search for two
patients that differ in sex alone and are predicted most differently.

  --max-queries N   inputs that the search asks the model (20,000)
  --max-time S      seconds for the search (45)
  --trees N         trees in the forest (100)
  --threshold T     difference above which an input is discriminatory (20)
  --seed N          seed of model and search (0)
  --html F          also write a whole report to this file
  --verbose         show the course of the search

Example: skfairtest demo --html report.html
"""
DEFAULTS: dict[str, Any] = {
    "max_queries": 20_000, "max_time": 45.0, "trees": 100, "threshold": 20.0, "seed": 0,
    "html": None, "verbose": False,
}  # fmt: skip


def run(words: Sequence[str]) -> int:
    """Run the command and return its exit code."""
    parser = Parser("demo", HELP)
    parser.add_argument("--max-queries", type=at_least_one)
    parser.add_argument("--max-time", type=seconds)
    parser.add_argument("--trees", type=at_least_one)
    parser.add_argument("--threshold", type=number)
    parser.add_argument("--seed", type=whole)
    parser.add_argument("--html")
    parser.add_argument("--verbose", action="store_true")
    options = fill_in(parser.parse_args(words), DEFAULTS)
    check_outputs({"--html": options.html}, [])
    check_html(options.html)
    with told_errors():
        auditor, X = run_demo(
            max_queries=options.max_queries,
            max_time=options.max_time,
            n_trees=options.trees,
            threshold=options.threshold,
            seed=options.seed,
            verbose=int(options.verbose),
        )
        if options.html is not None:
            from skfairtest.report._audit import audit

            report = audit(
                auditor.estimator,
                X,
                sensitive_features=["sex"],
                auditor=SBFTAuditor(max_queries=options.max_queries),
                threshold=options.threshold,
                max_time=options.max_time,
                random_state=options.seed,
            )
            write_whole(options.html, report.to_html())
            say(f"\nThe report is in {options.html}.")
    return 0


def run_demo(
    *,
    max_queries: int,
    max_time: float | None,
    n_trees: int,
    threshold: float,
    seed: int,
    verbose: int,
) -> tuple[SBFTAuditor, Any]:
    """Train, audit and print; the fitted auditor and the rows are returned."""
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=seed)
    model = RandomForestRegressor(n_estimators=n_trees, random_state=seed).fit(X_train, y_train)
    auditor = SBFTAuditor(
        model,
        sensitive_features=["sex"],
        threshold=threshold,
        max_queries=max_queries,
        max_time=max_time,
        random_state=seed,
        verbose=verbose,
    ).fit(X_train)
    say(
        f"Trained a forest of {n_trees} trees on scikit-learn's diabetes data "
        f"({len(X_train)} patients, target: progression after a year, {y.min():.0f} to "
        f"{y.max():.0f}).\n"
        f"Score (R2 on {len(X_test)} held-out patients): {model.score(X_test, y_test):.3f}\n"
    )
    say(_findings(auditor))
    return auditor, X_train


def _findings(auditor: SBFTAuditor) -> str:
    lines = [
        "Audited for the sensitive attribute 'sex' with SBFT:",
        f"  fairness degree         {auditor.fairness_degree_:.1f} points of progression (at "
        f"least: a search gives a lower bound)",
    ]
    worst = auditor.worst_case_
    if worst is not None:
        table = worst.assign(prediction=auditor.worst_case_outputs_).round(2).T
        table.columns = ["twin 1", "twin 2"]
        lines += ["", "The worst pair, equal but for sex:", table.to_string(), ""]
    lines += [
        f"  discriminatory inputs   {auditor.n_found_} of {auditor.n_inputs_} distinct ones "
        f"(difference above {auditor.threshold:g})",
        f"  among the real patients {auditor.on_data_degree_:.1f} at worst, "
        f"{len(auditor.on_data_discriminatory_)} of {len(auditor.space_.data)} above "
        f"{auditor.threshold:g}",
        f"  cost                    {auditor.n_queries_} queries in the search "
        f"(and {auditor.n_data_queries_} for the real patients), {auditor.seconds_:.1f} s; "
        f"ended: {auditor.stop_reason_}",
        "",
        "This shows that the model treats twins differently who differ in sex alone. Whether "
        "that is unfair",
        "is a judgement of people; and other columns may stand for sex, which no such pair shows.",
    ]
    return "\n".join(lines)
