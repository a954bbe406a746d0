"""Chooses the command that runs, and turns its end into an exit code."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Sequence
from importlib import import_module

from skfairtest.cli._errors import CommandError, ExitCode
from skfairtest.cli._terminal import ended_like_interrupted, note, plain_warnings, say

HELP = """
usage: skfairtest COMMAND [options]

Search a fitted model for twins: two inputs that differ in the sensitive columns
alone and that the model treats differently.

  alternatives   search for models as good that treat groups more alike
  audit          check a saved model against limits, also in CI jobs
  certify        bound the largest difference, for supported kinds of models
  compare        compare two reports, or two models
  compile        once on a machine: narrower bounds of forests and boosted trees
  demo           train and audit a model on bundled data, without a network

  skfairtest COMMAND --help shows the options of a command, and
  skfairtest --version shows the version.

Example: skfairtest audit model.skops test.csv --sensitive sex --max-degree 0.1
"""
COMMANDS = ("alternatives", "audit", "certify", "compare", "compile", "demo")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    arguments : sequence of str, default=None
        Words behind the program's name; by default those of the process.

    Returns
    -------
    int
        Exit code: 0 within the limits, 1 exceeded, 2 usage or input, 3 undecided, 4 the model
        failed, 130 interrupted.

    Examples
    --------
    >>> from skfairtest.__main__ import main
    >>> main(["demo", "--max-queries", "400", "--trees", "5"])  # doctest: +ELLIPSIS
    Trained ...
    0
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    if not words or words[0] in ("-h", "--help"):
        say(HELP.strip())
        return 0 if words else ExitCode.USAGE
    if words[0] in ("-V", "--version"):
        import skfairtest

        say(skfairtest.__version__)
        return 0
    name, *rest = words
    if name not in COMMANDS:
        from skfairtest.space._column_names import did_you_mean  # pandas, which --help needs not

        note(
            f"error: there is no command {name!r}.{did_you_mean(name, COMMANDS)} There are: "
            f"{', '.join(COMMANDS)}. See skfairtest --help"
        )
        return ExitCode.USAGE
    return _run(name, rest)


def _run(name: str, words: list[str]) -> int:
    try:
        with plain_warnings(), ended_like_interrupted():
            return int(import_module(f"skfairtest.cli._{name}").run(words))
    except CommandError as error:
        note(f"error: {error}")
        return error.exit_code
    except KeyboardInterrupt:
        note("interrupted before the end; a file that was not written whole was not written")
        return ExitCode.INTERRUPTED
    except SystemExit as end:  # of the parser: help was shown, or the usage was wrong
        if isinstance(end.code, str):
            note(end.code)
        return ExitCode.FAILED if isinstance(end.code, str) else end.code or 0
    except OSError as error:
        note(f"error: {error}")
        return ExitCode.USAGE
    except Exception:
        # Python would end with 1, which is the code of a limit that is exceeded.
        traceback.print_exc()
        note("error: this is unexpected, so nothing is known of the model; see the lines above")
        return ExitCode.FAILED
