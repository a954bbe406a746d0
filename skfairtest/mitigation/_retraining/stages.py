"""How far a mitigation is: stages with a share of the whole each, and trainings in them."""

from __future__ import annotations

from skfairtest import _clock
from skfairtest._progress import Progress

#: Where each stage begins, as a share of the whole.
BEGINS = {"originals": 0.0, "simple methods": 0.1, "rounds": 0.2, "last look": 0.9}
#: Seconds after which a step has a line of its own.
EVERY = 1.0


class Stages:
    """Passes on how far a mitigation is, step by step: a training, rows found, a model measured.

    Parameters
    ----------
    progress : Progress
        Told the share of the whole.
    verbose : int
        1 prints a line a stage and a round, and of steps about one a second.

    Attributes
    ----------
    stop : bool
        Whether a callback asked to stop.
    """

    def __init__(self, progress: Progress, verbose: int) -> None:
        self._progress = progress
        self._verbose = verbose
        self._begin = self._end = 0.0
        self._left = 1
        self._share = 0.0
        self._words = ""
        self._printed = _clock.now()
        self.stop = False

    def begin(self, name: str, n_steps: int, words: str) -> None:
        """A stage of so many steps, or a little more, begins."""
        later = [share for share in (*BEGINS.values(), 1.0) if share > BEGINS[name]]
        self._within(BEGINS[name], later[0], n_steps, words)
        self._print(words)

    def round(self, number: int, most: int, n_steps: int) -> None:
        """A round begins."""
        begin, whole = BEGINS["rounds"], BEGINS["last look"] - BEGINS["rounds"]
        first, last = (begin + whole * done / most for done in (number - 1, number))
        self._within(first, last, n_steps, f"round {number} of up to {most}")

    def _within(self, begin: float, end: float, n_steps: int, words: str) -> None:
        self._begin, self._end, self._left = begin, end, max(1, n_steps)
        self._words = words
        self._update(begin, words)

    def step(self, words: str) -> None:
        """One more step is done, such as a training; a line says so if a second had none."""
        step = (self._end - max(self._begin, self._share)) / (self._left + 1)
        self._left = max(1, self._left - 1)
        line = f"{self._words}: {words}"
        self._update(self._share + step, line)
        if _clock.now() - self._printed >= EVERY:
            self._print(line)

    def tell(self, line: str) -> bool:
        """A round has ended; return whether a callback asked to stop."""
        self._print(line)
        self._update(self._share, line)
        return self.stop

    def _update(self, share: float, words: str) -> None:
        self._share = max(self._share, min(1.0, share))
        self.stop |= self._progress.update(self._share, words)

    def _print(self, line: str) -> None:
        self._printed = _clock.now()
        if self._verbose:
            print(f"[{type(self._progress.auditor).__name__}] {line}")
