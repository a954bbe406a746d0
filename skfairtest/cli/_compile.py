"""`skfairtest compile` compiles the search for bounds of models of trees, once on a machine."""

from __future__ import annotations

import time
from collections.abc import Sequence

from skfairtest.cli._errors import CommandError
from skfairtest.cli._parser import Parser
from skfairtest.cli._terminal import note, say

HELP = """
usage: skfairtest compile

Compile the search for bounds of forests and boosted trees, which takes most of
a minute. Certificates of large models are narrower with it. Numba (the extra
exact) keeps the result in its cache, so that once on a machine is enough, and
once again after an update; where all is there, the command ends at once.

Exit codes: 0 compiled, or there already; 2 wrong usage, or numba is not
installed, too old, or finds no folder to write to; 130 interrupted.

Example: pip install "skfairtest[exact]" && skfairtest compile
"""


def run(words: Sequence[str]) -> int:
    """Run the command and return its exit code."""
    Parser("compile", HELP).parse_args(words)
    from skfairtest.exact._trees.driver import compiling
    from skfairtest.exact._trees.stored_code import is_compiled
    from skfairtest.workers._compiled import why_not

    if why := why_not():
        raise CommandError(
            f"Nothing can be compiled: {why}. Install the extra (pip install "
            "'skfairtest[exact]'), and let numba write to its cache."
        )
    if is_compiled():
        say("The compiled search is there already.")
        return 0
    began = time.perf_counter()
    for part in compiling():
        note(f"compiling {part} ({time.perf_counter() - began:.0f} s so far)")
    say(f"Compiled in {time.perf_counter() - began:.0f} s; engine='auto' uses it from now on.")
    return 0
