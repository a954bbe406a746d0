"""`skfairtest demo` trains and audits a model of invented loans, without a network."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import train_test_split

from skfairtest.cli._audit import check_html
from skfairtest.cli._files import check_outputs, write_output
from skfairtest.cli._inputs import command_errors
from skfairtest.cli._parser import Parser, at_least_one, number, seconds, whole
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


def run(words: Sequence[str]) -> int:
    """Train, audit and print, and return the exit code."""
    parser = Parser("demo", HELP)
    parser.add_argument("--max-queries", type=at_least_one, default=20_000)
    parser.add_argument("--max-time", type=seconds, default=45.0)
    parser.add_argument("--trees", type=at_least_one, default=50)
    parser.add_argument("--threshold", type=number, default=0.1)
    parser.add_argument("--seed", type=whole, default=0)
    parser.add_argument("--html")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args(words)
    check_outputs({"--html": options.html}, [])
    check_html(options.html)
    with command_errors():
        X, y = load_loans(return_X_y=True)
        X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=options.seed)
        model = HistGradientBoostingClassifier(
            max_depth=4, max_iter=options.trees, random_state=options.seed
        ).fit(X_train, y_train)
        auditor = SBFTAuditor(
            model,
            sensitive_features="community",
            threshold=options.threshold,
            max_queries=options.max_queries,
            max_time=options.max_time,
            random_state=options.seed,
            verbose=int(options.verbose),
        ).fit(X_train)
        say(
            f"Trained a model of {options.trees} trees on {len(X_train)} invented loan "
            f"applications.\nAccuracy on {len(X_test)} new ones: {model.score(X_test, y_test):.2f}"
            f"\n\n{_findings(auditor, X_test)}"
        )
        if options.html is not None:
            from skfairtest.report._audit import audit

            report = audit(
                model,
                X_test,
                y_test,
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
