"""The command line: ``skfairtest demo``, data to degree in one go, offline."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestRegressor
from sklearn.model_selection import train_test_split

import skfairtest
from skfairtest.individual import SBFTAuditor

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    arguments : sequence of str, default=None
        Words behind the program's name; by default those of the process.

    Returns
    -------
    int
        Exit status.

    Examples
    --------
    >>> from skfairtest.__main__ import main
    >>> main(["demo", "--max-queries", "400", "--trees", "5"])  # doctest: +ELLIPSIS
    Trained ...
    0
    """
    parser = argparse.ArgumentParser(prog="skfairtest", description=skfairtest.__doc__)
    parser.add_argument("--version", action="version", version=skfairtest.__version__)
    commands = parser.add_subparsers(dest="command", required=True)
    demo = commands.add_parser(
        "demo", help="train a forest on the diabetes data and audit it with SBFT"
    )
    demo.add_argument("--max-queries", type=int, default=20_000, help="queries")
    demo.add_argument("--max-time", type=float, default=45.0, help="seconds for the search")
    demo.add_argument("--trees", type=int, default=100, help="trees in the forest")
    demo.add_argument(
        "--threshold",
        type=float,
        default=20.0,
        help="difference above which an input is discriminatory",
    )
    demo.add_argument("--seed", type=int, default=0, help="seed of model and search")
    demo.add_argument("--verbose", action="store_true", help="show the course of the search")
    options = parser.parse_args(arguments)
    try:
        run_demo(
            max_queries=options.max_queries,
            max_time=options.max_time,
            n_trees=options.trees,
            threshold=options.threshold,
            seed=options.seed,
            verbose=int(options.verbose),
        )
    except ValueError as error:
        parser.error(str(error))
    return 0


def run_demo(
    *, max_queries: int, max_time: float, n_trees: int, threshold: float, seed: int, verbose: int
) -> SBFTAuditor:
    """Train, audit and print; the fitted auditor is returned."""
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
    print(
        f"Trained a forest of {n_trees} trees on scikit-learn's diabetes data "
        f"({len(X_train)} patients, target: progression after a year, {y.min():.0f} to "
        f"{y.max():.0f}).\n"
        f"Score (R2 on {len(X_test)} held-out patients): {model.score(X_test, y_test):.3f}\n"
    )
    print(_findings(auditor))
    return auditor


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


if __name__ == "__main__":
    sys.exit(main())
