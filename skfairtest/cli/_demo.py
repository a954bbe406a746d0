"""`skfairtest demo` trains and audits a model of invented loans, without a network."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import train_test_split

from skfairtest.cli._audit import check_html
from skfairtest.cli._files import check_outputs, write_output
from skfairtest.cli._inputs import command_errors
from skfairtest.cli._parser import Parser, at_least_one, fill_in, number, seconds, whole
from skfairtest.cli._terminal import say
from skfairtest.datasets import load_loans
from skfairtest.individual import SBFTAuditor

HELP = """
usage: skfairtest demo [options]

Train boosted trees on 1,000 invented loan applications and search for the two
applications that differ in the applicant's community alone and that the model
treats most differently.

  --max-queries N   rows about which the search may ask the model (20,000)
  --max-time S      seconds for the search (45)
  --trees N         trees of the model (50)
  --threshold T     difference of the probabilities above which an application
                    counts as discriminatory (0.1)
  --seed N          seed of model and search (0)
  --html F          also write a whole report to this file
  --verbose         show the progress of the search

Example: skfairtest demo --html report.html
"""
DEFAULTS: dict[str, Any] = {
    "max_queries": 20_000, "max_time": 45.0, "trees": 50, "threshold": 0.1, "seed": 0,
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
    with command_errors():
        auditor, X, y = run_demo(
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
                y,
                sensitive_features="community",
                favourable="granted",
                auditor=SBFTAuditor(max_queries=options.max_queries),
                threshold=options.threshold,
                max_time=options.max_time,
                random_state=options.seed,
            )
            write_output(options.html, report.to_html())
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
) -> tuple[SBFTAuditor, Any, Any]:
    """Train, audit and print; the fitted auditor, the new rows and their targets are returned."""
    X, y = load_loans(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=seed)
    model = HistGradientBoostingClassifier(max_depth=4, max_iter=n_trees, random_state=seed)
    model.fit(X_train, y_train)
    auditor = SBFTAuditor(
        model,
        sensitive_features="community",
        threshold=threshold,
        max_queries=max_queries,
        max_time=max_time,
        random_state=seed,
        verbose=verbose,
    ).fit(X_train)
    say(
        f"Trained a model of {n_trees} trees on {len(X_train)} invented loan applications.\n"
        f"Accuracy on {len(X_test)} new ones: {model.score(X_test, y_test):.2f}\n"
    )
    say(_findings(auditor, X_test))
    return auditor, X_test, y_test


def _findings(auditor: SBFTAuditor, X_new: Any) -> str:
    lines = [
        "Change only an applicant's community: does the model change its answer?",
        "",
        f"  largest difference found  {auditor.fairness_degree_:.2f} between two probabilities "
        f"(a search may miss larger ones)",
    ]
    worst = auditor.worst_case_
    if worst is not None:
        label = f"probability of {auditor.worst_case_class_}"
        pair = worst.assign(**{label: auditor.worst_case_outputs_}).round(2).T
        lines += ["", "The two applications, equal in all but the community:"]
        lines += [pair.to_string(header=False), ""]
    new = auditor.audit_rows(X_new)
    lines += [
        f"  new applications          {new.n_discriminatory} of {new.n_rows} differ from a twin by "
        f"more than {auditor.threshold:g}, at most by {new.degree:.2f}",
        f"  cost                      {auditor.n_queries_:,} queries (rows that the model was "
        f"asked about) in {auditor.seconds_:.1f} s",
        f"  ended because             {auditor.stop_reason_}",
        "",
        "A twin is the same application with another community. That the model treats twins",
        "differently is what was measured; whether it is unfair is for people to judge. Other",
        "columns, here the district, may stand for the community: no pair of twins shows that.",
    ]
    return "\n".join(lines)
