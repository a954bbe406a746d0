"""`skfairtest audit` checks a saved model against limits, for people and for CI."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import fields
from importlib.util import find_spec
from typing import Any

from skfairtest.cli._config import read_options
from skfairtest.cli._errors import CommandError, ExitCode
from skfairtest.cli._files import STANDARD_OUTPUT, check_outputs, write_output
from skfairtest.cli._inputs import (
    CommandInputs,
    command_errors,
    make_auditor,
    predicts_numbers,
    read_favourable,
    read_inputs,
)
from skfairtest.cli._junit import junit
from skfairtest.cli._markdown import markdown
from skfairtest.cli._parser import Parser, add_audit_options, number
from skfairtest.cli._terminal import models_prints_aside, note, say
from skfairtest.report._limits import SWITCHES, Limits
from skfairtest.report._redact import KEPT
from skfairtest.report._report import AuditReport
from skfairtest.report._types import LimitsOutcome
from skfairtest.report.render.first_page import render_text

HELP = """
usage: skfairtest audit MODEL DATA --sensitive COLUMNS [options]

Search for two inputs that differ in the sensitive columns alone and that the
model treats most differently, and compare what is found with limits, if any.

  MODEL               file of skops.io.dump, or package.module:object
  DATA                CSV or Parquet file, or - for CSV on standard input
  --sensitive C,...   sensitive columns; auto takes those with common names
  --sensitive-file F  CSV or Parquet: sensitive columns that the model lacks
  --control C,...     columns within whose values groups are compared as well
  --target C          column with the true labels; adds error rates
  --drop C,...        columns that the model does not take; may be sensitive
  --space FILE        JSON or TOML: which inputs exist
  --threshold T       difference above which an input is discriminatory
  --favourable LABEL  label that people want, for groups; guessed by default
  --auditor NAME      sbft (default), surrogate, random, ...
  --max-queries N     rows that the search may ask about (300, or 20,000)
  --max-time S        seconds for the whole audit (60), or none
  --seed N            0 by default; the same seed repeats a search
Limits:
  --max-degree D                        largest difference between such inputs
  --max-on-data-rate R                  largest share of discriminatory rows
  --max-group-score G, --min-impact-ratio I   limits on groups
  --within                              that ratio within strata of --control
  --max-moved-rate M      largest share whose decision changes if they are moved
  --estimates-decide                    ignore bounds and intervals, which can
                                        leave a limit undecided
Results:
  --html F, --json F, --junit F, --markdown F   files to write, or - to print
  --rows KEPT         rows of people in files: worst (default), counts or none
  --quiet             print the verdict only
  --config FILE       read options from [tool.skfairtest.audit] of a TOML file
  --trust TYPE        allow this type in a skops file; may be repeated
  --unsafe-pickle     load a pickle, which runs whatever code is in it

Exit codes: 0 within the limits, or none given; 1 exceeded; 2 wrong usage or
input; 3 undecided; 4 the model failed; 130 interrupted (results are written).

Example: skfairtest audit model.skops test.csv --sensitive sex,race \\
             --target income --max-degree 0.1 --junit fairness.xml
"""
WHERE = "the page that --html writes"
LIMITS = [field.name for field in fields(Limits)]
#: In the order in which they are written: the quickest first.
OUTPUTS = ("json", "junit", "markdown", "html")
SHOW_ALL = ("json", "markdown", "html")


def make_parser() -> Parser:
    """Make the parser of the command."""
    parser = Parser("audit", HELP)
    parser.add_argument("model", nargs="?", metavar="MODEL")
    parser.add_argument("data", nargs="?", metavar="DATA")
    add_audit_options(parser)
    for name in LIMITS:
        option = "--" + name.replace("_", "-")
        if name in SWITCHES:
            parser.add_argument(option, action="store_true")
        else:
            parser.add_argument(option, type=number)
    for name in OUTPUTS:
        parser.add_argument(f"--{name}", metavar="FILE")
    parser.add_argument("--rows", choices=tuple(KEPT), default="worst")
    parser.add_argument("--config", metavar="FILE")
    return parser


def run(words: Sequence[str]) -> int:
    """Run the command and return its exit code."""
    parser = make_parser()
    options = read_options(parser, words)
    for name in ("model", "data"):
        if not getattr(options, name):
            parser.error(f"expected MODEL and DATA; {name.upper()} is missing")
    limits = read_limits({name: getattr(options, name) for name in LIMITS})
    written = {f"--{name}": getattr(options, name) for name in OUTPUTS}
    check_outputs(written, [options.model, options.data, options.space, options.sensitive_file])
    check_html(options.html)
    with models_prints_aside(), command_errors():
        inputs = read_inputs(options, options.model, options.data)
        check_possible(limits, inputs, options.threshold)
        check_within(limits, inputs.table.control)
        # A report has all parts; a verdict has those that the limits need.
        asks_all = limits == Limits() or any(getattr(options, name) for name in SHOW_ALL)
        report = run_audit(options, inputs, None if asks_all else limits)
        outcome = report.check(limits)
    report = report.with_limits(limits)
    left = report.without_people(options.rows)
    failed = []
    for option, where in written.items():
        if where is None:
            continue
        text = RENDER[option](left)
        try:
            write_output(where, text)
        except OSError as error:  # such as a disk that is full by now; the others may be written
            failed.append(f"{option} {where!r} could not be written: {error.strerror or error}.")
    print_outcome(report, outcome, quiet=options.quiet, aside=STANDARD_OUTPUT in written.values())
    if failed:
        raise CommandError(" ".join(failed))
    return ExitCode.INTERRUPTED if report.status == "interrupted" else outcome.exit_code


def run_audit(
    options: argparse.Namespace, inputs: CommandInputs, limits: Limits | None = None
) -> AuditReport:
    """Run the audit that the options ask for, or of its parts those that limits need."""
    from skfairtest.report._audit import audit

    table, has_more = inputs.table, inputs.table.not_in_model is not None
    return audit(
        inputs.model,
        table.X,
        table.y,
        sensitive_features=[*table.sensitive, table.not_in_model] if has_more else table.sensitive,
        auditor=make_auditor(options, inputs, options.auditor),
        control_features=table.control,
        threshold=options.threshold,
        favourable=read_favourable(options, inputs),
        max_time=options.max_time,
        random_state=options.seed,
        progress=False if options.quiet else "auto",
        limits=limits,
    )


def print_outcome(report: AuditReport, outcome: LimitsOutcome, *, quiet: bool, aside: bool) -> None:
    """Print what was found, a line per limit, and the verdict."""
    lines = []
    if not quiet:
        lines += [render_text(report._data, WHERE), ""]
    lines.append(verdict(report, outcome))
    for line in lines:
        (note if aside else say)(line)


def verdict(report: AuditReport, outcome: LimitsOutcome) -> str:
    """Return a line that says what was and was not shown."""
    if report.status == "interrupted":
        return f"Interrupted; this is what was found so far. {outcome.verdict}"
    return outcome.verdict


def read_limits(given: dict[str, Any]) -> Limits:
    """Return the limits that the options give; errors name the options.

    Raises
    ------
    CommandError
        For limits that no figure can have, and for a way to decide where there is no limit.
    """
    try:
        limits = Limits(**given)
    except ValueError as error:
        words = str(error).replace("=True", "")
        for name in LIMITS:
            words = words.replace(name, "--" + name.replace("_", "-"))
        raise CommandError(words.replace("must be None or a number", "must be a number")) from error
    if limits == Limits(estimates_decide=True):
        raise CommandError(
            "--estimates-decide needs a limit, and none is given. Add one, such as --max-degree."
        )
    return limits


def check_possible(limits: Limits, inputs: CommandInputs, threshold: float | None) -> None:
    """Raise an error before the search if a limit is about a figure that the model cannot have.

    Raises
    ------
    CommandError
        For a limit that could never be decided, or never be exceeded.
    """
    is_number = predicts_numbers(inputs)
    for name, counted in (("on_data", "a row counts"), ("moved", "a decision counts as another")):
        if is_number and getattr(limits, f"max_{name}_rate") is not None and threshold is None:
            raise CommandError(
                f"--max-{name.replace('_', '-')}-rate needs --threshold with a model that predicts "
                f"numbers: the difference above which {counted}. Add --threshold."
            )
    if is_number and limits.min_impact_ratio is not None:
        raise CommandError(
            "--min-impact-ratio is about shares of favourable labels; the model predicts "
            "numbers. Leave it out; --max-group-score compares mean predictions of groups."
        )
    if is_number or not callable(getattr(inputs.model, "predict_proba", None)):
        return
    for name, what in (("group_score", "shares of favourable labels"), ("degree", "probabilities")):
        limit = getattr(limits, f"max_{name}")
        if limit is not None and limit >= 1:
            raise CommandError(
                f"--max-{name.replace('_', '-')} {limit:g} can never be exceeded: {what} differ by "
                "1 at most. Give a limit below 1, such as 0.1."
            )


def check_within(limits: Limits, control: Any) -> None:
    """Raise an error before the search if a limit is about strata that nothing makes.

    Raises
    ------
    CommandError
        For --within without --control.
    """
    if limits.within and control is None:
        raise CommandError(
            "--within compares groups within strata, and --control makes none. Add --control "
            "department, say, or leave --within out."
        )


def check_html(where: str | None) -> None:
    """Raise an error before the search if the HTML page cannot be made."""
    missing = [name for name in ("jinja2", "matplotlib") if find_spec(name) is None]
    if where is not None and missing:
        raise CommandError(
            f"--html needs {' and '.join(missing)}, not installed here. Install the extra: pip "
            "install skfairtest[report]. --json, --junit and --markdown do not need it."
        )


def _json(report: AuditReport) -> str:
    return f"{report.to_json()}\n"


def _html(report: AuditReport) -> str:
    return report.to_html()


RENDER: dict[str, Any] = {
    "--json": _json,
    "--junit": junit,
    "--markdown": markdown,
    "--html": _html,
}
