"""`skfairtest certify` bounds how large the difference can get, for supported models."""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from typing import Any

from skfairtest.cli._audit import check_possible, read_limits
from skfairtest.cli._errors import CommandError, ExitCode
from skfairtest.cli._files import STANDARD_OUTPUT, check_outputs, write_output
from skfairtest.cli._inputs import command_errors, read_inputs
from skfairtest.cli._parser import Parser, add_options, number
from skfairtest.cli._terminal import models_prints_aside, note, say
from skfairtest.exceptions import NoDisparityWarning
from skfairtest.finding._words import listed as all_of
from skfairtest.report._limits import check_limits
from skfairtest.report._render.words import beyond_domain, bounds_sentence, rows_sentence
from skfairtest.space._sensitive_features import not_taken

HELP = """
usage: skfairtest certify MODEL DATA --sensitive COLUMNS [options]

Find the largest difference between two inputs that differ in the sensitive
columns alone, and a bound that no difference in the domain exceeds. It supports
linear models, trees, forests, boosting and networks, in pipelines, too.

  --max-degree D        exceeded if a difference above D is found, within if
                        the bound is not above D, undecided in between
  --max-time S          seconds (60), or none; 0.1 gives a rough bound
  --max-queries N       rows that the search may ask about (20,000)
  --seed N              seed of the search (0)
  --json F              write the figures; - prints them
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
    parser.set_defaults(sensitive_file=None)
    options = parser.parse_args(words)
    from skfairtest.exact import CertifiedAuditor

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
        auditor = CertifiedAuditor(
            inputs.model,
            sensitive_features=inputs.table.sensitive,
            max_time=options.max_time,
            random_state=options.seed,
            space=inputs.space,
        )
        if options.max_queries is not None:
            auditor.set_params(max_queries=options.max_queries)
        interrupted = False
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", NoDisparityWarning)  # the bound says more
                auditor.fit(inputs.table.X)
        except KeyboardInterrupt:
            if not hasattr(auditor, "fairness_degree_upper_bound_"):
                raise
            interrupted = True
    found = figures(auditor, options.seed, interrupted)
    outcome = check_limits(found, limits)
    if options.json is not None:
        checks = [vars(check) for check in outcome.checks]
        plain = {**found["written"], "outcome": outcome.status, "checks": checks}
        write_output(options.json, json.dumps(plain, ensure_ascii=False, allow_nan=False) + "\n")
    print_aside = note if options.json == STANDARD_OUTPUT else say
    if not options.quiet and outcome.checks:
        print_aside(found["sentence"])
    print_aside(f"Interrupted. {outcome.verdict}" if interrupted else outcome.verdict)
    return ExitCode.INTERRUPTED if interrupted else outcome.exit_code


def figures(auditor: Any, seed: int, interrupted: bool) -> dict[str, Any]:
    """Return what was found, as `check_limits` reads a report; "written" is what --json writes."""
    upper = float(auditor.fairness_degree_upper_bound_)
    # A bound of the domain says nothing of rows outside of it, so these are compared themselves.
    space, of_rows = auditor.space_, None
    if not interrupted and not space.contains(space.data).all():
        of_rows = float(auditor.on_data_degree_)
    certificate = {
        "upper": upper,
        "certified": bool(auditor.certified_),
        "status": "done",
        "reason": "",
    }
    names = [str(name) for name in auditor.space_.sensitive_features]
    search = {
        "sensitive": names,
        "taken": True,
        "rows": {"degree": of_rows},
        "degree": float(auditor.fairness_degree_),
        "status": "done",
        "reason": "",
        "inputs": int(auditor.n_inputs_),
        "search_queries": int(auditor.n_queries_),
        "certificate": certificate,
    }
    sentence = (
        f"Between two inputs that differ only in {all_of(names)}, the largest difference is "
        f"{bounds_sentence(search)}.{rows_sentence(search)}"
    )
    written = {
        "sensitive": names,
        "degree": search["degree"],
        "upper_bound": upper,
        "certified": certificate["certified"],
        "degree_of_rows_outside": of_rows if beyond_domain(search) else None,
        "queries": search["search_queries"],
        "seconds": float(auditor.seconds_),
        "seed": seed,
        "stop_reason": auditor.stop_reason_,
        "engine": auditor.engine_,
        "sentence": sentence,
    }
    return {
        "status": "interrupted" if interrupted else "complete",
        "reason": "interrupted by the user" if interrupted else "",
        "sentence": sentence,
        "seed": seed,
        "searches": [search],
        "written": written,
    }
