"""`skfairtest alternatives` searches for a model that is as good and treats groups more alike."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from skfairtest.cli._audit import WHERE, check_html
from skfairtest.cli._data_file import split_names
from skfairtest.cli._errors import CommandError, ExitCode
from skfairtest.cli._files import STANDARD_OUTPUT, check_outputs, write_output
from skfairtest.cli._inputs import CommandInputs, command_errors, read_favourable, read_inputs
from skfairtest.cli._parser import Parser, add_inputs, at_least_one, number, seconds
from skfairtest.cli._terminal import models_prints_aside, note, say
from skfairtest.report._types import EXIT_CODES
from skfairtest.space._column_names import did_you_mean

HELP = """
usage: skfairtest alternatives MODEL DATA --sensitive C --target C [options]

Search for a model that predicts as well as MODEL and treats groups more alike.
Clones of MODEL, of which only the settings count, are trained on parts of DATA;
those that promise most are judged on rows that played no part.

  --target C          column with the true labels or numbers
  --favourable LABEL  label that people want; guessed by default
What is searched:
  --candidates C,...  columns (leave them out), settings (with common names),
                      drop, marginalize (by default these four), and more
  --params P          settings to try in place of those, as JSON or a file of
                      it: '{"C": [0.1, 1, 10]}'
  --n-iter N          settings that are drawn at random (20)
  --disparity D,...   what has to get better (impact_ratio), and what may not
                      get worse
  --scoring NAME      what "as good" means (accuracy, or r2)
  --margin M          how far that may fall (0)
  --held-out H        share of the rows that judge (0.3)
  --max-time S        seconds, or none (the default)
  --n-jobs N          trainings at the same time (1)
Results:
  --html F, --json F, --markdown F   files to write, or - to print
  --quiet             print the verdict only
These are as in skfairtest audit: --sensitive, --sensitive-file, --drop,
--seed, --trust, --unsafe-pickle.

Exit codes: 0 not found; 1 found; 2 wrong usage or input; 3 cannot be told by
these rows; 4 the model failed; 130 interrupted (results are written).

Example: skfairtest alternatives model.skops data.csv --sensitive sex \\
             --target income --margin 0.01 --html alternatives.html
"""
OUTPUTS = ("json", "markdown", "html")
CODES = {
    "found": EXIT_CODES["exceeded"], "not found": EXIT_CODES["within"],
    "cannot be told": EXIT_CODES["undecided"],
}  # fmt: skip
SETTINGS = "settings"
#: Values that are tried of settings with these names, of whatever model has them.
VALUES: dict[str, list[Any]] = {
    "C": [0.001, 0.01, 0.1, 1.0, 10.0], "max_depth": [2, 3, 5, 8],
    "max_leaf_nodes": [4, 8, 16, 31], "num_leaves": [4, 8, 16, 31],
    "min_samples_leaf": [1, 10, 30, 100], "n_neighbors": [5, 15, 50],
}  # fmt: skip
#: The same as multiples of what the model has, where that is a number above 0.
TIMES = {"alpha": (0.1, 1.0, 10.0, 100.0), "learning_rate": (0.3, 1.0, 3.0)}


def make_parser() -> Parser:
    """Make the parser of the command."""
    parser = Parser("alternatives", HELP)
    parser.add_argument("model", metavar="MODEL")
    parser.add_argument("data", metavar="DATA")
    add_inputs(parser)
    parser.add_argument("--sensitive-file", metavar="FILE")
    parser.add_argument("--favourable", metavar="LABEL")
    parser.add_argument("--candidates", action="append", default=[], metavar="C")
    parser.add_argument("--params", metavar="P")
    parser.add_argument("--n-iter", type=at_least_one, default=20, metavar="N")
    parser.add_argument("--disparity", action="append", default=[], metavar="D")
    parser.add_argument("--scoring", metavar="NAME")
    parser.add_argument("--margin", type=number, default=0.0, metavar="M")
    parser.add_argument("--held-out", type=number, default=0.3, metavar="H")
    parser.add_argument("--max-time", type=seconds, default=None, metavar="S")
    parser.add_argument("--n-jobs", type=int, default=None, metavar="N")
    for name in OUTPUTS:
        parser.add_argument(f"--{name}", metavar="FILE")
    parser.set_defaults(space=None, control=[])
    return parser


def run(words: Sequence[str]) -> int:
    """Run the command and return its exit code."""
    parser = make_parser()
    options = parser.parse_args(words)
    if options.target is None:
        parser.error("expected --target: models are trained and scored by true labels")
    written = {f"--{name}": getattr(options, name) for name in OUTPUTS}
    check_outputs(written, [options.model, options.data, options.sensitive_file, options.params])
    check_html(options.html)
    params = None if options.params is None else read_params(options.params)
    with models_prints_aside(), command_errors():
        inputs = read_inputs(options, options.model, options.data)
        search = searched(options, inputs, params)
    from skfairtest.model_selection._alternatives.page import text_of

    result = search.result_
    forms = {"--json": search.to_json, "--markdown": search.to_markdown, "--html": search.to_html}
    for option, where in written.items():
        if where is not None:
            write_output(where, forms[option]())
    is_aside = STANDARD_OUTPUT in written.values()
    words = result.sentence if options.quiet else text_of(result, WHERE)
    (note if is_aside else say)(words)
    interrupted = result.settings.stop_reason == "interrupted"
    return ExitCode.INTERRUPTED if interrupted else CODES[result.verdict]


def searched(options: argparse.Namespace, inputs: CommandInputs, params: Any) -> Any:
    """Run the search that the options ask for."""
    from skfairtest.model_selection import AlternativesSearchCV

    table = inputs.table
    has_more = table.not_in_model is not None
    search = AlternativesSearchCV(
        inputs.model,
        candidates_of(options, inputs, params),
        disparity=split_names(options.disparity) or "impact_ratio",
        scoring=options.scoring,
        margin=options.margin,
        n_iter=options.n_iter,
        held_out=options.held_out,
        favourable=read_favourable(options, inputs),
        max_time=options.max_time,
        n_jobs=options.n_jobs,
        random_state=options.seed,
        verbose=0 if options.quiet else 1,
    )
    sensitive = [*table.sensitive, table.not_in_model] if has_more else table.sensitive
    return search.fit(table.X, table.y, sensitive_features=sensitive)


def candidates_of(options: argparse.Namespace, inputs: CommandInputs, params: Any) -> list[Any]:
    """What is tried: what the options name, or all that applies."""
    from skfairtest.mitigation._comparison.methods import METHODS
    from skfairtest.model_selection._alternatives.candidates import COLUMNS

    named = split_names(options.candidates)
    known = [COLUMNS, SETTINGS, *(name for name in METHODS if name != "original")]
    for name in named:
        if name not in known:
            raise CommandError(
                f"--candidates names {name!r}.{did_you_mean(name, known)} Known are "
                f"{', '.join(known)}."
            )
    settings = settings_of(inputs.model) if params is None else params
    if not named:
        # Without a sensitive column in the model there is none to drop or to average out.
        named = ["columns", *(["drop", "marginalize"] if len(inputs.table.sensitive) else [])]
        named += [SETTINGS] if settings else []
    elif SETTINGS in named and not settings:
        raise CommandError(
            "--candidates names settings, and the last step of the model has none of those that "
            f"are known: {', '.join([*VALUES, *TIMES])}. Name others by --params."
        )
    chosen: list[Any] = [name for name in named if name != SETTINGS]
    return [*chosen, settings] if SETTINGS in named or params is not None else chosen


def settings_of(model: Any) -> dict[str, list[Any]]:
    """Values to try of the settings that the last step of a model has, by their names."""
    prefix = ""
    while getattr(model, "steps", None):
        name, model = model.steps[-1]
        prefix += f"{name}__"
    if not hasattr(model, "get_params"):
        return {}
    found = {}
    for name, value in model.get_params(deep=False).items():
        if name in VALUES:
            found[prefix + name] = list(dict.fromkeys([value, *VALUES[name]]))
        elif name in TIMES and isinstance(value, (int, float)) and value > 0:
            found[prefix + name] = [value * times for times in TIMES[name]]
    return found


def read_params(given: str) -> dict[str, list[Any]]:
    """Read settings from JSON, or from a file of it.

    Raises
    ------
    CommandError
        If it is no JSON, or not an object of lists.
    """
    try:
        text = given if given.lstrip().startswith("{") else Path(given).read_text("utf-8")
        params = json.loads(text)
    except (OSError, ValueError) as error:
        raise CommandError(
            f"--params {given!r} cannot be read: {error}. Give JSON or a file of it, such as "
            '{"C": [0.1, 1, 10]}.'
        ) from error
    is_dict = isinstance(params, dict) and params
    if not is_dict or not all(isinstance(one, list) and one for one in params.values()):
        raise CommandError(
            '--params must be an object with a list of values for each setting, {"C": [0.1, 1]}; '
            f"got {given!r}."
        )
    return dict(params)
