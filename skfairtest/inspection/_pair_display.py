"""PairDisplay: two twins as a card, the predictions above, the cells below."""

from __future__ import annotations

from typing import Any

import pandas as pd

from skfairtest.finding._pair import Cell, Pair, cells_frame
from skfairtest.finding._words import number, value_text, with_difference
from skfairtest.inspection._asking import check_auditor, pair_at
from skfairtest.inspection._style import (
    FOUND,
    MARKERS,
    NEUTRAL,
    ROW,
    Display,
    axes_for,
    bare,
    finish,
    ink,
    shorten,
    span,
    wrap,
)

#: Colours of the twin with the larger output and of the other one.
TWIN = (FOUND, NEUTRAL)
#: Where the columns of the table begin, as shares of the card's width, and how many letters fit.
COLUMNS, LETTERS = (0.035, 0.46, 0.74), (38, 24, 22)


class PairDisplay(Display):
    """Draw two twins as a card: both predictions and all columns, those that differ first.

    Twins are two inputs that are identical but for the sensitive attributes. Make it with
    `from_auditor`.

    Parameters
    ----------
    pair : Pair or None
        The pair. None if no pair was found.
    note : str, default=""
        Text that is written if there is no pair.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The card.
    figure_ : matplotlib Figure
        Its figure.
    dumbbell_ : matplotlib Axes or None
        The axes of the two predictions, inside the card; None for labels.
    points_ : list of matplotlib Line2D
        The predictions, the larger one first.
    line_, threshold_ : matplotlib Line2D or None
        The line between them, and the threshold beside it.
    texts_ : list of matplotlib Text
        Names and values, row by row.

    See Also
    --------
    DisparityCurveDisplay : Draws for how many rows the twins differ, and by how much.

    Notes
    -----
    A pair shows how the model treats two inputs. It does not show whether there are people like
    these: see the parameter `plausible` of `InputSpace`.

    Examples
    --------
    >>> from skfairtest import RandomAuditor
    >>> from skfairtest.inspection import PairDisplay
    >>> from skfairtest.datasets import make_biased_classification
    >>> data = make_biased_classification(random_state=0)
    >>> auditor = RandomAuditor(data.estimator, max_queries=2000, random_state=0).fit(data.data)
    >>> display = PairDisplay.from_auditor(auditor)
    >>> display.frame()["name"].tolist()[:2], display.frame()["changed"].tolist()[:2]
    (['sex', 'points'], [True, False])
    >>> len(display.plot().points_)
    2
    """

    def __init__(self, pair: Pair | None, note: str = "") -> None:
        self.pair = pair
        self.note = note

    @classmethod
    def from_auditor(cls, auditor: Any, place: int | None = None) -> PairDisplay:
        """Show a pair of a fitted auditor.

        Parameters
        ----------
        auditor : BaseAuditor
            A fitted auditor. If it was interrupted, what was found until then is shown.
        place : int, default=None
            Position in ``discriminatory_inputs_``. None takes the worst pair.

        Returns
        -------
        PairDisplay
            The display, not yet drawn. If no pair was found, the display says so.

        Raises
        ------
        NotFittedError
            If the auditor is not fitted.
        TypeError
            If it is not an auditor of twins.
        ValueError
            If there is no such position.

        Notes
        -----
        The outputs of the worst pair are known. For another pair, and for a model that gives labels
        alone, the model is asked two queries, and two for each of the pairs up to it that `predict`
        has yet to confirm.
        """
        check_auditor(auditor, cls.__name__)
        pair = pair_at(auditor, place)
        note = (
            f"No difference between twins was found in {auditor.n_inputs_:,} inputs "
            f"({auditor.n_queries_:,} queries)."
        )
        return cls(pair, "" if pair is not None else note)

    def frame(self) -> pd.DataFrame:
        """Return the values of both twins, columns that differ first.

        Returns
        -------
        DataFrame
            One row per column of the twins: name, first, second, changed, matters. Its ``attrs``
            have `output`, `outputs`, `labels`, `difference` and `threshold`.
        """
        if self.pair is None:
            return cells_frame([])
        table = cells_frame(self.pair.changed_first()[0])
        names = ("output", "outputs", "labels", "difference", "threshold")
        table.attrs = {name: getattr(self.pair, name) for name in names}
        return table

    def plot(self, ax: Any = None, *, most: int = 15, line_kwargs: Any = None) -> PairDisplay:
        """Draw the card.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. None makes a new figure, as high as the card needs.
        most : int, default=15
            Largest number of columns that are shown although they do not differ: those that matter
            most if that was measured, else the first ones. A remark says how many are left out.
        line_kwargs : dict, default=None
            Passed to matplotlib for the line between the two predictions.

        Returns
        -------
        self : PairDisplay
            The display.
        """
        shown, folded, n_changed = self._cells(most)
        # The predictions, with their label and the heads of the table, take 4.6 rows of the card;
        # without outputs nothing stands above the heads.
        top = 4.6 if self.pair is not None and self.pair.outputs is not None else 1.0
        height = top + len(shown) + (1.0 if folded else 0.2)
        ax = axes_for(ax, self, (7.0, ROW * height if self.pair else 1.0))
        ax.set_axis_off()
        self.dumbbell_ = self.line_ = self.threshold_ = None
        self.points_: list[Any] = []
        self.texts_: list[Any] = []
        if self.pair is None:
            note = wrap(self.note, 80, 3)
            self.texts_ = [ax.text(0.5, 0.5, note, ha="center", va="center", parse_math=False)]
            return finish(self, ax)
        ax.set(xlim=(0, 1), ylim=(height, 0))
        size = _size_of_letters(ax, height)
        if self.pair.outputs is not None:
            self._draw_outputs(ax, size, line_kwargs or {})
        self._draw_heads(ax, top, size)
        for place, cell in enumerate(shown):
            self._draw_cell(ax, top + place + 0.5, size, cell)
        if folded:
            n = len(self.pair.cells)
            text = f"{folded:,} of {n:,} columns left out; the twins are alike in {n - n_changed:,}"
            self._write(ax, COLUMNS[0], height - 0.5, text, size=size, alpha=0.8)
        return finish(self, ax)

    def _cells(self, most: int) -> tuple[list[Cell], int, int]:
        if self.pair is None:
            return [], 0, 0
        shown, folded = self.pair.changed_first(most)
        changed = [cell for cell in shown if cell.changed]
        # A card has room for 30 changed cells.
        kept = changed[:30] + [cell for cell in shown if not cell.changed]
        return kept, len(folded) + len(shown) - len(kept), len(changed)

    def _draw_outputs(self, ax: Any, size: float, line_kwargs: dict[str, Any]) -> None:
        pair = self.pair
        assert pair is not None and pair.outputs is not None
        self.dumbbell_ = inner = ax.inset_axes([0.02, 0.1, 0.96, 1.9], transform=ax.transData)
        high, low = pair.outputs
        is_probability = pair.output.startswith("probability")
        start, end = low, low + (pair.threshold or 0.0)  # of a line as long as the threshold
        if is_probability and end > 1:
            start, end = max(0.0, start + 1 - end), 1.0
        least, largest = span([0.0, 1.0] if is_probability else [high, low, end], zero=False)
        margin = 0.1 * (largest - least)  # for the figures beside the points
        inner.set(xlim=(least - margin, largest + margin), ylim=(-1, 1), yticks=[])
        if is_probability:
            inner.set_xticks([0, 0.25, 0.5, 0.75, 1])
            inner.spines["bottom"].set_bounds(0, 1)
        bare(inner)
        style = {"color": ink(), "linewidth": 2.5, "alpha": 0.5, "zorder": 1, **line_kwargs}
        (self.line_,) = inner.plot([low, high], [0, 0], **style)
        *words, apart = with_difference(high, low)
        for side, (value, word) in enumerate(zip((high, low), words, strict=True)):
            look = {"marker": MARKERS[side], "color": TWIN[side], "markersize": size}
            self.points_ += inner.plot([value], [0], linestyle="", **look)
            inner.annotate(
                word, (value, 0), xytext=(9 - 18 * side, 0), textcoords="offset points",
                ha="right" if side else "left", va="center", fontweight="bold", size=size,
            )  # fmt: skip
        inner.annotate(
            f"difference {apart}", ((low + high) / 2, 0), xytext=(0, 0.7 * size),
            textcoords="offset points", ha="center", va="bottom", size=size,
        )  # fmt: skip
        if pair.threshold is not None:
            self.threshold_ = inner.plot(
                [start, end], [-0.55, -0.55], color=ink(), marker="|", linestyle=":", linewidth=1.2
            )[0]
            right = end < least + 0.75 * (largest - least)  # where there is room for the words
            inner.annotate(
                f"threshold {number(pair.threshold)}", (end if right else start, -0.55),
                xytext=(5 if right else -5, 0), textcoords="offset points",
                ha="left" if right else "right", va="center", size=0.85 * size,
            )  # fmt: skip
        inner.set_xlabel(wrap(pair.output, 70), parse_math=False, size=size, labelpad=0.2 * size)
        inner.tick_params(labelsize=size, length=0.3 * size, pad=0.2 * size)

    def _draw_heads(self, ax: Any, top: float, size: float) -> None:
        pair = self.pair
        assert pair is not None
        if pair.outputs is not None:
            words = with_difference(*pair.outputs)[:2]
        else:
            first, second = pair.labels or ("", "")
            words = value_text(first), value_text(second)
        for side, (at, most) in enumerate(zip(COLUMNS[1:], LETTERS[1:], strict=True)):
            ax.plot(
                [at + 0.01], [top - 0.5], linestyle="", marker=MARKERS[side], color=TWIN[side],
                markersize=0.7 * size, clip_on=False,
            )  # fmt: skip
            self._write(
                ax, at + 0.03, top - 0.5, shorten(words[side], most - 3), size=size, weight="bold"
            )
        self._write(ax, COLUMNS[0], top - 0.5, "column", size=size, alpha=0.8)
        ax.plot([0, 1], [top, top], color=ink(), linewidth=0.8)

    def _draw_cell(self, ax: Any, y: float, size: float, cell: Cell) -> None:
        values = value_text(cell.first), value_text(cell.second)
        style: dict[str, Any] = {"weight": "bold"} if cell.changed else {"alpha": 0.85}
        if cell.changed:
            # A band, a sign and bold letters: three ways to see it, of which colour is none.
            ax.axhspan(y - 0.5, y + 0.5, color=ink(), alpha=0.1, linewidth=0)
            self._write(ax, 0.005, y, "≠", size=size, weight="bold")
        words = (str(cell.name), values[0], values[1] if cell.changed else "same")
        for at, most, word in zip(COLUMNS, LETTERS, words, strict=True):
            self._write(ax, at, y, shorten(word, most), size=size, **style)

    def _write(self, ax: Any, x: float, y: float, text: str, **style: Any) -> None:
        self.texts_.append(ax.text(x, y, text, va="center", parse_math=False, **style))


def _size_of_letters(ax: Any, height: float) -> float:
    """Return the style's font size, or a smaller one if the axes are too low or too narrow."""
    from matplotlib.font_manager import FontProperties

    box, points = ax.get_window_extent(), 72 / ax.figure.dpi
    usual = FontProperties().get_size_in_points()
    return float(max(3.0, min(usual, 0.6 * box.height * points / height, box.width * points / 45)))
