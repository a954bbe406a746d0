"""`skfairtest certify` bounds how large the difference can get, for supported models."""

from __future__ import annotations

from collections.abc import Sequence

from skfairtest.cli._audit import check_possible, read_limits, run_audit, verdict
from skfairtest.cli._errors import CommandError, ExitCode
from skfairtest.cli._files import STANDARD_OUTPUT, check_outputs, write_output
from skfairtest.cli._inputs import command_errors, read_inputs
from skfairtest.cli._parser import Parser, add_options, number
from skfairtest.cli._terminal import models_prints_aside, note, say
from skfairtest.oracle._model import choose_response
from skfairtest.report._limits import Limits
from skfairtest.space._sensitive_features import not_taken

HELP = """
usage: skfairtest certify MODEL DATA --sensitive COLUMNS [options]

Find the largest difference between two inputs that differ in the sensitive
columns alone, and a bound that no difference in the domain exceeds. It supports
linear models, trees, forests, boosting and networks, in pipelines, too.

  --max-degree D        exceeded if a difference above D is found, within if
                        the bound is not above D, undecided in between
  --max-time S          seconds (60), or none; 0.1 gives a rough bound
  --max-queries N       rows that the search may ask about (300)
  --seed N              seed of the search (0)
  --json F              write the report of this; - prints it
  --quiet               print the verdict only
These are as in skfairtest audit: --target, --drop, --space, --trust,
--unsafe-pickle.

Exit codes: 0 within, or no limit given; 1 exceeded; 2 wrong usage or input, or
an unsupported model; 3 undecided; 4 the model failed; 130 interrupted.

Example: skfairtest certify model.skops test.csv --sensitive sex \\
             --max-degree 0.2
"""


def run(words: Sequence[str]) -> int:
    """Run the command and return its exit code."""
    parser = Parser("certify", HELP)
    parser.add_argument("model", metavar="MODEL")
    parser.add_argument("data", metavar="DATA")
    add_options(parser)
    parser.add_argument("--max-degree", type=number)
    parser.add_argument("--json")
    parser.set_defaults(sensitive_file=None, control=(), auditor=None, threshold=None)
    parser.set_defaults(favourable=None)
    options = parser.parse_args(words)

    limits = read_limits({"max_degree": options.max_degree})
    check_outputs({"--json": options.json}, [options.model, options.data, options.space])
    with models_prints_aside(), command_errors():
        inputs = read_inputs(options, options.model, options.data)
        if inputs.table.not_in_model is not None:
            raise CommandError(
                f"There is nothing to certify: {not_taken(inputs.table.not_in_model.columns)}. "
                "Leave these columns out of --sensitive; skfairtest audit compares what their "
                "groups get."
            )
        check_possible(limits, inputs, None)
        from skfairtest.whitebox._readers import check_model  # imports numba

        check_model(inputs.model, choose_response(inputs.model, "auto"))
        report = run_audit(options, inputs, Limits(max_degree=options.max_degree or 0.0))
    outcome, report = report.check(limits), report.with_limits(limits)
    if options.json is not None:
        write_output(options.json, f"{report.to_json()}\n")
    print_aside = note if options.json == STANDARD_OUTPUT else say
    if not options.quiet and outcome.checks:
        print_aside(report.sentence)
    print_aside(verdict(report, outcome))
    return ExitCode.INTERRUPTED if report.status == "interrupted" else outcome.exit_code
