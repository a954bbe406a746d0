"""`skfairtest compare` compares two reports, or two models on the same data."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from skfairtest.cli._audit import run_audit
from skfairtest.cli._errors import CommandError, ExitCode, ModelFailed
from skfairtest.cli._files import STANDARD_OUTPUT, check_outputs, write_output
from skfairtest.cli._inputs import command_errors, read_inputs
from skfairtest.cli._parser import Parser, add_audit_options
from skfairtest.cli._terminal import models_prints_aside, note, say
from skfairtest.finding._words import number
from skfairtest.report._report import AuditReport

HELP = """
usage: skfairtest compare A.json B.json [options]
       skfairtest compare MODEL_A MODEL_B DATA --sensitive COLUMNS [options]

Compare two reports of audit --json, or audit two models on the same data in the
same way, such as before and after mitigation. The table says which figure is
lower if its intervals show that.

  --names A,B     names of the two in the table
  --markdown F    also write the table as Markdown; - prints it
  --quiet         show no progress

For two models, these options are as in skfairtest audit: --target, --drop,
--sensitive-file, --control, --space, --threshold, --favourable, --auditor,
--max-queries, --max-time (for each), --seed, --trust, --unsafe-pickle.

Exit codes: 0 compared; 2 wrong usage or input; 4 model failed; 130 interrupted.

Example: skfairtest compare before.json after.json --names before,after
"""


def run(words: Sequence[str]) -> int:
    """Run the command and return its exit code."""
    parser = Parser("compare", HELP)
    parser.add_argument("first", metavar="A")
    parser.add_argument("second", metavar="B")
    parser.add_argument("data", nargs="?", metavar="DATA")
    add_audit_options(parser)
    parser.add_argument("--names")
    parser.add_argument("--markdown", metavar="F")
    options = parser.parse_args(words)
    names = _names(options)
    check_outputs({"--markdown": options.markdown}, [options.first, options.second, options.data])
    if options.data is None:
        given = {word.partition("=")[0] for word in words if word.startswith("--")}
        if unused := sorted(given - {"--names", "--markdown", "--quiet"}):
            raise CommandError(
                f"{unused[0]} applies to models only; two reports are compared as they are. Give "
                "two models and DATA, or leave it out."
            )
        reports = [_read_report(where) for where in (options.first, options.second)]
    else:
        reports = _audits(options, names)
    table = reports[0].compare(reports[1], names=names)
    if options.markdown is not None:
        write_output(options.markdown, _markdown(table, names))
    if options.markdown != STANDARD_OUTPUT:
        say(_text(table, names))
    if any(report.status == "interrupted" for report in reports) and options.data is not None:
        return ExitCode.INTERRUPTED
    return 0


def _names(options: argparse.Namespace) -> tuple[str, str]:
    if options.names is None:
        names = [Path(where).stem for where in (options.first, options.second)]
        return (names[0], names[1]) if names[0] != names[1] else ("A", "B")
    names = [name.strip() for name in options.names.split(",")]
    if len(names) != 2 or not all(names) or names[0] == names[1]:
        raise CommandError(f"--names must be two different names, A,B; got {options.names!r}.")
    return names[0], names[1]


def _read_report(where: str) -> AuditReport:
    try:
        report = AuditReport.from_json(where)
        report.compare(report)  # has all that a comparison reads
        return report
    except OSError as error:
        raise CommandError(
            f"The report {where!r} cannot be read: {error.strerror or error}. Write one with "
            "skfairtest audit ... --json."
        ) from error
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        raise CommandError(
            f"{where!r} is not a report: {type(error).__name__}: {str(error).rstrip('.')}. Write "
            "one with skfairtest audit ... --json; to compare two models, give DATA as well."
        ) from error


def _audits(options: argparse.Namespace, names: tuple[str, str]) -> list[AuditReport]:
    """Audit both models in the same way."""
    if options.data == "-":
        raise CommandError(
            "Standard input can be read once only, and two models need the data. Give a file."
        )
    reports = []
    for name, model in zip(names, (options.first, options.second), strict=True):
        if not options.quiet:
            note(f"auditing {name}")
        with models_prints_aside(), command_errors():
            inputs = read_inputs(options, model, options.data)
            report = run_audit(options, inputs)
        if report.check().status == "failed":
            raise ModelFailed(f"{name} failed: {report._data.reason}")
        reports.append(report)
        if report.status == "interrupted":
            break
    if len(reports) < len(names):
        raise KeyboardInterrupt
    return reports


def _rows(table: pd.DataFrame, names: tuple[str, str]) -> list[list[str]]:
    """Figure, both values with their bounds, and what these say, as words."""
    return [
        [str(figure), *(_cell(row, name) for name in names), str(row["says"])]
        for figure, row in table.iterrows()
    ]


def _cell(row: Any, name: str) -> str:
    value, low, high = (float(row[f"{name}{end}"]) for end in ("", "_low", "_high"))
    if pd.isna(value):
        return "-"
    if pd.isna(high):
        return f"at least {number(value)}" if low == value else number(value)
    if number(low) == number(high):
        return number(value)
    return f"{number(value)} ({number(low)} to {number(high)})"


def _text(table: pd.DataFrame, names: tuple[str, str]) -> str:
    rows = [["", *names, ""], *_rows(table, names)]
    widths = [max(len(row[place]) for row in rows) for place in range(4)]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    notes = table.attrs["notes"]
    return "\n".join([*lines, *(["", *notes] if notes else [])])


def _markdown(table: pd.DataFrame, names: tuple[str, str]) -> str:
    rows = [["figure", *names, "what is known"], ["---"] * 4, *_rows(table, names)]
    lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    return "\n".join([*lines, "", *(f"- {note}" for note in table.attrs["notes"])]) + "\n"
