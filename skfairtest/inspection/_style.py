"""What all displays share: the grammar of pictures, axes, colours and labels.

The grammar; whoever draws another picture keeps to it:

- One thing is what a picture is about. It is blue (`FOUND`): the difference that was found, the
  group that differs, the front. The card and the page of a report have the same blue.
- What stands beside it for comparison is grey (`NEUTRAL`): the other twin, the rows of the data,
  the other candidates, a model before it was changed, a group that was not shown to differ.
- What nothing exceeds, or nothing may exceed, is vermilion (`BOUND`): a proven bound, a limit.
- Several things of equal standing (models, auditors) take `series`, which has no vermilion.
- A disc is a value, a square the other twin's, a hollow diamond the largest among real rows, an
  upright stroke a bound. A thin bar through a mark is its interval. A hollow mark is uncertain.
- Hatching is what nobody knows: neither found nor ruled out. A dotted line in the colour of text
  is a threshold or a value that is only pointed at.
- Shares are in percent, their differences in percentage points. Axes say in words what is
  compared. A display has no title, which belongs to whoever knows the question; that of
  mitigations knows it, and says what is recommended.

Each colour is backed by a mark, a line style or a hatch, because some colours look the same in
grey. Text and axes take their colours from matplotlib's rcParams, so that a dark style works.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd

from skfairtest.finding._words import number

#: Colours of Okabe and Ito, https://jfly.uni-koeln.de/color/, those first that stand out from white
#: and from black alike. In grey some look the same, so markers, lines and hatches differ, too.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
MARKERS = ("o", "s", "^", "D", "v", "P")
#: What a picture is about; what stands beside it; what nothing exceeds.
FOUND, NEUTRAL, BOUND = COLORS[0], "#7F8891", COLORS[1]
#: Colours of things of equal standing.
SERIES = (FOUND, *COLORS[2:], NEUTRAL)
LINES: tuple[Any, ...] = ("-", "--", "-.", ":", (0, (6, 1.5, 1.5, 1.5, 1.5, 1.5)), (0, (1, 3)))
HATCHES = ("////", "\\\\\\\\", "....", "||||")
#: Inches of a row of a picture with rows.
ROW = 0.3
ELLIPSIS = "…"


#: What an axis of differences between twins is called.
TWINS = "difference in {output} if only sensitive columns are changed"


class Display:
    """Base of the displays, which hold a table and draw it. Not for use by itself."""

    table: pd.DataFrame
    ax_: Any
    figure_: Any

    def frame(self) -> pd.DataFrame:
        """Return the data of the display, whether they are drawn or not.

        Returns
        -------
        DataFrame
            A copy of the table that the constructor was given.
        """
        return self.table.copy()


# Axes ---------------------------------------------------------------------------------------------


def axes_for(ax: Any, owner: Any, size: tuple[float, float]) -> Any:
    """Return the axes to draw on: those given, or those of a new figure."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            f"{type(owner).__name__}.plot needs matplotlib, which could not be imported. Install "
            "the extra `plot` (pip install 'skfairtest[plot]'); frame() gives the data without it."
        ) from error
    return plt.subplots(figsize=size, layout="constrained")[1] if ax is None else ax


def finish(owner: Any, ax: Any) -> Any:
    """Note axes and figure on a display; returns the display."""
    owner.ax_, owner.figure_ = ax, ax.figure
    _find_glyphs(ax)
    return owner


def ink() -> Any:
    """Return the colour of text, for lines that belong to no series."""
    import matplotlib as mpl

    return mpl.rcParams["text.color"]


def paper() -> Any:
    """Return the background colour for hollow markers; it stays transparent if it is."""
    import matplotlib as mpl

    return mpl.rcParams["axes.facecolor"]


def series(place: int) -> dict[str, Any]:
    """Return colour, marker and line style of one of several series."""
    return {
        "color": SERIES[place % len(SERIES)],
        "marker": MARKERS[place % len(MARKERS)],
        "linestyle": LINES[(place + place // len(SERIES)) % len(LINES)],
    }


def step_style(place: int, points: Any) -> dict[str, Any]:
    """Return the style of one of several step curves: colour, line and marks."""
    return {
        **series(place), "linewidth": 2, "markersize": 5, "markevery": (0.05 * (place % 3), 0.2),
        "drawstyle": "steps-post", "clip_on": False, "rasterized": is_many(points),
    }  # fmt: skip


def is_many(points: Any) -> bool:
    """Tell whether an artist of so many points should be rasterized."""
    return len(points) > 2000  # more make files large and slow, and cannot be told apart


def bare(ax: Any, keep: Iterable[str] = ("bottom",)) -> None:
    """Remove the frame except for the sides named."""
    for side in ("left", "right", "top", "bottom"):
        ax.spines[side].set_visible(side in keep)


def rows_axis(ax: Any, names: Sequence[str]) -> None:
    """Label the rows with names, the first on top, without ticks."""
    ax.set_yticks(range(len(names)), names, parse_math=False)
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0, pad=8)
    bare(ax)


def texts_on_right(ax: Any, texts: Sequence[str], head: str = "") -> list[Any]:
    """Write texts on the right of the axes, one per row."""
    from matplotlib.transforms import blended_transform_factory

    where = blended_transform_factory(ax.transAxes, ax.transData)
    kept = [
        ax.annotate(
            text, (1, place), xycoords=where, xytext=(10, 0), textcoords="offset points",
            va="center", ha="left", parse_math=False, annotation_clip=False,
        )
        for place, text in enumerate(texts)
    ]  # fmt: skip
    if head:
        kept.append(
            ax.annotate(
                head, (1, 1), xycoords="axes fraction", xytext=(10, 3),
                textcoords="offset points", va="bottom", ha="left", alpha=0.8,
            )
        )  # fmt: skip
    return kept


def row_intervals(
    ax: Any, at: Any, values: Any, low: Any, high: Any, *, color: Any = FOUND, hollow: Any = False,
    size: int = 7, **point_kwargs: Any,
) -> tuple[Any, list[Any]]:  # fmt: skip
    """Draw an interval and a point in each row; returns the intervals, and a point for each row.

    A row without a value has an empty point. `color` and `hollow` are those of all rows, or one for
    each.
    """
    at, values, low, high = (np.asarray(part, dtype=float) for part in (at, values, low, high))
    colors = [color] * len(at) if isinstance(color, str) else list(color)
    is_hollow, known = np.broadcast_to(hollow, at.shape), np.isfinite(values)
    intervals = ax.hlines(
        at[known], low[known], high[known], linewidth=2,
        color=[one for one, drawn in zip(colors, known, strict=True) if drawn] or FOUND,
    )  # fmt: skip
    points: list[Any] = []
    for place, value in enumerate(values):
        # A point at the end of the axis is whole.
        style = {"linestyle": "", "marker": "o", "markersize": size, "color": colors[place]}
        style["clip_on"] = False
        if is_hollow[place]:
            style["markerfacecolor"] = paper()
        where = ([value], [at[place]]) if known[place] else ([], [])
        points += ax.plot(*where, **style | point_kwargs)
    return intervals, points


def bars(confidence: float | None) -> str:
    """Return what the label of an axis says of intervals."""
    return "bars: intervals" if confidence is None else f"bars: {100 * confidence:.4g}% intervals"


def left_out(n: int, of: int, what: str) -> str:
    """Return a remark for the label of an axis if not everything is drawn, else an empty text."""
    return f"\n{n:,} of {of:,} {what} are left out of the picture" if n else ""


def percent_axis(ax: Any, *, points: bool = False) -> None:
    """Write the horizontal axis in percent, or as signed differences in percentage points."""
    from matplotlib.ticker import FuncFormatter, PercentFormatter

    form = FuncFormatter(_points) if points else PercentFormatter(1.0)
    ax.xaxis.set_major_formatter(form)


def _points(share: float, _: Any) -> str:
    return f"{100 * share:+.3g}" if abs(share) > 1e-9 else "0"


def is_share(measure: str | None) -> bool:
    """Tell by its name whether a measure is a share of rows."""
    words = (measure or "").replace("_", " ")
    return words.startswith("share") or words.endswith("rate") or words == "accuracy"


def legend(ax: Any, handles: Sequence[Any], names: Sequence[str], *, side: str = "left") -> Any:
    """Put a legend above the axes, where it hides nothing, in as many columns as there is room for.

    Above rows with names it begins at the right `side`, as there is room above the names, while
    texts on the right of the axes may have a head.
    """
    from matplotlib.font_manager import FontProperties

    names = [shorten(name, 48) for name in names]
    # Letters that have room: of about 0.6 of their size, above axes that layouts make larger.
    inches = 1.1 * ax.get_window_extent().width / ax.figure.dpi
    room = inches * 72 / (0.6 * FontProperties().get_size_in_points())
    # A sign and the gaps beside it are as wide as eight letters.
    widths = [width(name) + 8 for name in names]
    ncols = min(len(names), 4)
    while ncols > 1 and sum(map(max, np.array_split(widths, ncols))) > room:
        ncols -= 1
    return named_legend(
        ax, handles, names, loc=f"lower {side}", bbox_to_anchor=(float(side == "right"), 1),
        borderaxespad=0.3, ncols=ncols,
    )  # fmt: skip


def named_legend(ax: Any, handles: Sequence[Any], names: Sequence[str], **settings: Any) -> Any:
    """Put a legend with all these names, as they are written."""
    # matplotlib leaves out names that begin with "_", so they are written afterwards.
    places = [str(place) for place in range(len(names))]
    box = ax.legend(handles, places, frameon=False, **settings)
    for text, name in zip(box.get_texts(), names, strict=True):
        text.set_parse_math(False)
        text.set_text(name)
    return box


# Words --------------------------------------------------------------------------------------------


def width(text: str) -> int:
    """Return the width of a text in letters; wide characters such as Chinese ones count twice."""
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )


def one_line(text: Any) -> str:
    """Return a name without characters that break a line or cannot be drawn."""
    return "".join(c if c.isprintable() else " " for c in str(text))


def shorten(text: Any, most: int) -> str:
    """Return a name, cut after so many letters."""
    text = one_line(text)
    if width(text) <= most:
        return text
    kept = ""
    for letter in text:
        if width(kept + letter) > most - 1:
            break
        kept += letter
    return kept.rstrip() + ELLIPSIS


def brief(value: float) -> str:
    """Write a number beside a point: with two significant digits, or three from 1 on."""
    if not math.isfinite(value) or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}" if abs(value) >= 1 else f"{value:.2g}"


def figures(*values: float, share: bool) -> list[str]:
    """Write shares in percent, and means with equally many decimals if they are small."""
    if share:
        return [f"{value:.1%}" for value in values]
    if max(map(abs, values)) <= 1:
        return [f"{value:.3f}" for value in values]
    return [number(value) for value in values]


def wrap(text: Any, most: int, lines: int = 2) -> str:
    """Break a name into at most so many lines, and cut it if it is longer."""
    rest = one_line(text).strip()
    done: list[str] = []
    while width(rest) > most and len(done) < lines - 1:
        end = len(shorten(rest, most + 1)) - 1
        space = rest.rfind(" ", 0, end + 1)
        end = space if space > end // 2 else end
        done.append(rest[:end].rstrip())
        rest = rest[end:].lstrip()
    return "\n".join([*done, shorten(rest, most)])


def span(values: Iterable[float], *, zero: bool = True) -> tuple[float, float]:
    """Return limits of an axis that shows all finite values, with a margin.

    The margin does not pass 0, and passes 1 only if a value does: there shares and probabilities
    end.
    """
    known = [float(value) for value in values if value is not None and math.isfinite(value)]
    low, high = (min(known), max(known)) if known else (0.0, 1.0)
    if zero:
        low, high = min(low, 0.0), max(high, 0.0)
    margin = 0.06 * (high - low) or 0.06 * max(abs(high), 1.0)
    first, last = low - margin, high + margin
    if low >= 0:
        first = max(first, 0.0)
    if -1 <= low and high <= 1:
        first, last = max(first, -1.0), min(last, 1.0)
    return first, last


# Letters ------------------------------------------------------------------------------------------


def _find_glyphs(ax: Any) -> None:
    """Set an installed font for texts in scripts that the usual font lacks."""
    for text in _texts(ax):
        words = text.get_text()
        if words.isascii():
            continue
        family = tuple(text.get_fontfamily())
        more = _fonts_with("".join(sorted({c for c in words if not c.isspace()})), family)
        if more:
            text.set_fontfamily([*family, *more])


def _texts(ax: Any) -> list[Any]:
    """Return all texts but the tick labels, which matplotlib would have to make first."""
    from matplotlib.ticker import FixedFormatter

    found: list[Any] = []
    for one in (ax, *ax.child_axes):
        found += [*one.texts, one.xaxis.label, one.yaxis.label]
        if isinstance(one.yaxis.get_major_formatter(), FixedFormatter):
            found += one.get_yticklabels()
        if one.get_legend() is not None:
            found += one.get_legend().get_texts()
    return found


@lru_cache(maxsize=1000)
def _fonts_with(letters: str, family: tuple[str, ...]) -> tuple[str, ...]:
    """Find a few fonts that have the letters which the first font of the family lacks."""
    from matplotlib.font_manager import FontProperties, findfont, fontManager

    missing = set(letters) - _letters_of(findfont(FontProperties(family=list(family))))
    chosen: list[str] = []
    for font in fontManager.ttflist if missing else []:
        if "Last Resort" in font.name:  # matplotlib's own, which draws boxes, and needs no asking
            continue
        has = missing & _letters_of(font.fname)
        if has and font.name not in chosen:
            chosen.append(font.name)
            missing -= has
        if not missing:
            break
    return tuple(chosen)


@lru_cache(maxsize=1000)
def _letters_of(path: str) -> frozenset[str]:
    from matplotlib.font_manager import get_font

    try:
        return frozenset(map(chr, get_font(path).get_charmap()))
    except (OSError, RuntimeError):  # a font that matplotlib cannot read
        return frozenset()
