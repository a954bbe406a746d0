"""BoundsDisplay draws the lower and the upper bound of the largest difference."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd

from skfairtest.finding._words import number, two_numbers
from skfairtest.inspection._asking import by_name, check_auditor
from skfairtest.inspection._style import (
    BOUND,
    FOUND,
    HATCHES,
    NEUTRAL,
    ROW,
    TWINS,
    Display,
    axes_for,
    bare,
    finish,
    legend,
    paper,
    rows_axis,
    span,
    step_style,
    wrap,
)

COLUMNS = ("name", "found", "lower", "upper", "rows", "certified")
KINDS = ("bar", "time")
#: Entries of the legend, by what they end in.
ORDER = (
    "found", "found while certifying", "proven bound", "not ruled out",
    "largest in the data",
)  # fmt: skip


class BoundsDisplay(Display):
    """Draw what is known of the largest difference between twins: what was found, and its bounds.

    Twins are two inputs that are identical but for the sensitive attributes. Make it with
    `from_auditor` or `from_certificate`.

    Parameters
    ----------
    table : DataFrame
        One row per bar. Its columns are `name`; `found`, the largest difference that a search
        found; `lower` and `upper`, the bounds of the largest difference of the domain; `rows`, the
        largest difference among the rows of the data; and `certified`, whether both bounds agree.
        Unknown numbers are NaN.
    history : DataFrame, default=None
        Courses of the searches for ``plot(kind="time")``, with the columns `name`, `seconds`,
        `degree` and, where bounds are known, `bound`.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes.
    figure_ : matplotlib Figure
        Their figure.
    bars_ : list of matplotlib Rectangle
        The differences that were found, one per row of the table.
    open_ : list of matplotlib Rectangle or Polygon
        The range between the found difference and its upper bound, where there is a bound.
    lines_ : list of matplotlib Line2D
        What was found over time, with ``kind="time"``, one line per row of the table.
    bounds_ : list of matplotlib Line2D
        The upper bounds: strokes or, with ``kind="time"``, their courses.

    See Also
    --------
    skfairtest.CertifiedAuditor : Searches for the largest difference and certifies a bound.

    Notes
    -----
    A difference that was found is a lower bound: without an upper bound it is unknown how much
    larger others are. The bounds hold for the whole domain; a row of the data may lie outside of
    it.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import Ridge
    >>> from skfairtest import CertifiedAuditor
    >>> from skfairtest.inspection import BoundsDisplay
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> auditor = CertifiedAuditor(Ridge().fit(X, y), sensitive_features="sex", random_state=0)
    >>> display = BoundsDisplay.from_auditor(auditor.fit(X)).plot()
    >>> display.frame()["certified"].tolist()
    [True]
    """

    def __init__(self, table: pd.DataFrame, history: pd.DataFrame | None = None) -> None:
        self.table = table
        self.history = history

    @classmethod
    def from_auditor(cls, auditor: Any, *, rows: bool = True) -> BoundsDisplay:
        """Show what fitted auditors found, with the upper bounds of those that certify.

        Parameters
        ----------
        auditor : BaseAuditor, or dict of str to BaseAuditor
            Fitted auditors; they may have been interrupted. The upper bound is known for a
            `CertifiedAuditor` only.
        rows : bool, default=True
            Whether to show the largest difference among the rows of the data. This asks the model
            if ``on_data_degree_`` was not used before.

        Returns
        -------
        BoundsDisplay
            The display, not yet drawn.

        Raises
        ------
        NotFittedError
            If an auditor is not fitted.
        TypeError
            If one is not an auditor of twins.
        """
        table, courses = [], []
        for name, one in by_name(auditor).items():
            check_auditor(one, cls.__name__)
            degree = float(one.fairness_degree_)
            table.append(
                {
                    "name": name,
                    "found": degree,
                    "lower": degree,
                    "upper": float(getattr(one, "fairness_degree_upper_bound_", np.nan)),
                    "rows": float(one.on_data_degree_) if rows else np.nan,
                    "certified": bool(getattr(one, "certified_", False)),
                }
            )
            last = {"seconds": one.seconds_, "degree": degree, "bound": table[-1]["upper"]}
            bounds = getattr(one, "bound_history_", None)
            courses.append(_course(name, last, one.history_, bounds))
        return cls(pd.DataFrame(table, columns=COLUMNS), pd.concat(courses, ignore_index=True))

    @classmethod
    def from_certificate(cls, certificate: Any) -> BoundsDisplay:
        """Show the bounds of certificates.

        Parameters
        ----------
        certificate : Certificate, or dict of str to Certificate
            One or several results of `certify`.

        Returns
        -------
        BoundsDisplay
            The display, not yet drawn.

        Raises
        ------
        TypeError
            If one is not a certificate.
        """
        table, courses = [], []
        for name, one in by_name(certificate).items():
            if not hasattr(one, "fairness_degree_upper_bound"):
                raise TypeError(
                    f"from_certificate needs what certify(auditor) returns, or a dict of them; got "
                    f"{type(one).__name__}. Show a fitted auditor with from_auditor."
                )
            upper = float(one.fairness_degree_upper_bound)
            table.append(
                {
                    "name": name,
                    "found": one.found_share * upper,
                    "lower": float(one.fairness_degree),
                    "upper": upper,
                    "rows": np.nan,
                    "certified": bool(one.certified),
                }
            )
            if one.bound_history is not None:
                last = {"seconds": one.seconds, "degree": table[-1]["lower"], "bound": upper}
                courses.append(_course(name, last, one.bound_history))
        history = pd.concat(courses, ignore_index=True) if courses else None
        return cls(pd.DataFrame(table, columns=COLUMNS), history)

    def plot(
        self,
        ax: Any = None,
        *,
        kind: str = "bar",
        bar_kwargs: Any = None,
        line_kwargs: Any = None,
    ) -> BoundsDisplay:
        """Draw the bounds.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. None makes a new figure.
        kind : {"bar", "time"}, default="bar"
            "bar" draws one bar per auditor. "time" draws over seconds how what was found rose and
            the bound fell; what lies between was neither found nor ruled out.
        bar_kwargs, line_kwargs : dict, default=None
            Passed to matplotlib for the bars of what was found, and for the courses.

        Returns
        -------
        self : BoundsDisplay
            The display.

        Raises
        ------
        ValueError
            If `kind` is unknown, or is "time" and there is no history.
        """
        if kind not in KINDS:
            raise ValueError(f"kind must be one of {KINDS}; got {kind!r}.")
        if kind == "time" and (self.history is None or self.history.empty):
            raise ValueError(
                "kind='time' needs the course of a search, which this display does not have. Make "
                "it with from_auditor or from_certificate, or use kind='bar'."
            )
        self.bars_: list[Any] = []
        self.open_: list[Any] = []
        self.lines_: list[Any] = []
        self.bounds_: list[Any] = []
        if kind == "time":
            return self._plot_time(axes_for(ax, self, (7.0, 4.0)), line_kwargs or {})
        size = (7.0, 1.6 + 1.6 * ROW * max(1, len(self.table)))
        return self._plot_bars(axes_for(ax, self, size), bar_kwargs or {})

    def _plot_bars(self, ax: Any, bar_kwargs: dict[str, Any]) -> BoundsDisplay:
        numbers = self.table[["found", "lower", "upper", "rows"]]
        end = span(numbers.to_numpy(dtype=float).ravel())[1]
        ax.set_xlim(0, end * 1.3)  # room for figures, which the axis does not take part in
        ax.spines["bottom"].set_bounds(0, end)
        ax.set_xticks([tick for tick in ax.get_xticks() if 0 <= tick <= end + 1e-9])
        rows_axis(ax, [wrap(name, 24) for name in self.table["name"]])
        shown: dict[str, Any] = {}
        for place, row in enumerate(self.table.itertuples(index=False)):
            found, lower, upper = _known(row.found), _known(row.lower), _or_nan(row.upper)
            lower = max(found, lower)
            style = {"height": 0.5, "color": FOUND, **bar_kwargs}
            self.bars_ += ax.barh([place], [found], **style).patches
            shown["found"] = self.bars_[-1]
            if lower > found * (1 + 1e-9):
                shown["found while certifying"] = ax.barh(
                    [place], [lower - found], left=[found], height=0.5, color=FOUND, alpha=0.5
                )[0]
            ends = lower, upper, _known(row.rows)
            self._end_of_bar(ax, place, ends, bool(row.certified), shown)
            if math.isfinite(_or_nan(row.rows)):
                shown["largest in the data"] = ax.plot(
                    [row.rows], [place], linestyle="", marker="D", markersize=8, color=paper(),
                    clip_on=False, zorder=5, markeredgecolor=NEUTRAL, markeredgewidth=2,
                )[0]  # fmt: skip
        ax.set_xlabel(wrap(TWINS.format(output="the output"), 40))
        legend(ax, *_in_order(shown), side="right")
        return finish(self, ax)

    def _end_of_bar(
        self,
        ax: Any,
        place: int,
        ends: tuple[float, float, float],
        closed: bool,
        shown: dict[str, Any],
    ) -> None:
        lower, upper, rows = ends
        words = f"{number(lower)}, proven"
        at = upper if math.isfinite(upper) else lower
        if not closed and not math.isfinite(upper):
            words, at = f"{number(lower)} found, no bound", lower
        elif not closed:
            words = _both(lower, upper)
            self.open_ += ax.barh(
                [place], [upper - lower], left=[lower], height=0.5, facecolor="none",
                edgecolor=NEUTRAL, hatch=HATCHES[0], linewidth=0,
            ).patches  # fmt: skip
            shown["not ruled out"] = self.open_[-1]
        if closed or math.isfinite(upper):
            self.bounds_ += ax.plot(
                [at, at], [place - 0.36, place + 0.36], color=BOUND, linewidth=3
            )
            shown["proven bound"] = self.bounds_[-1]
        marker = "→ " if not closed and not math.isfinite(upper) else ""
        at = max(at, rows)  # the mark of the rows may lie beyond the bar
        ax.annotate(
            marker + words, (at, place), xytext=(10, 0), textcoords="offset points", va="center",
            annotation_clip=False,
        )  # fmt: skip

    def _plot_time(self, ax: Any, line_kwargs: dict[str, Any]) -> BoundsDisplay:
        assert self.history is not None
        shown: dict[str, Any] = {}
        alone = len(self.table) == 1
        for place, row in enumerate(self.table.itertuples(index=False)):
            course = self.history[self.history["name"] == row.name]
            of = "" if alone else f"{row.name}: "
            style = {**step_style(place, course), "marker": "", "clip_on": True, **line_kwargs}
            self.lines_ += ax.plot(course["seconds"], course["degree"], **style)
            known = course[course["bound"].notna()] if "bound" in course else course[:0]
            if len(known):
                bound = {**style, "color": BOUND}
                self.bounds_ += ax.plot(known["seconds"], known["bound"], **bound)
                shown[f"{of}proven bound"] = self.bounds_[-1]
                band = ax.fill_between(
                    known["seconds"], known["degree"], known["bound"], step="post", linewidth=0,
                    facecolor="none", edgecolor=NEUTRAL, hatch=HATCHES[place % len(HATCHES)],
                    alpha=0.6, zorder=0,
                )  # fmt: skip
                self.open_.append(band)
                shown["not ruled out"] = band
            shown[f"{of}found"] = self.lines_[-1]
            upper, lower = _or_nan(row.upper), _known(row.lower)
            said = number(lower)
            if not row.certified and math.isfinite(upper):
                said = _both(lower, upper)
            at = float(course["seconds"].max()), lower if math.isnan(upper) else upper
            ax.annotate(
                said, at, xytext=(8, 4), textcoords="offset points", va="bottom", ha="left",
                annotation_clip=False,
            )  # fmt: skip
            if math.isfinite(_or_nan(row.rows)):
                shown[f"{of}largest in the data"] = ax.plot(
                    [course["seconds"].max()], [row.rows], linestyle="", marker="D", markersize=8,
                    color=paper(), clip_on=False, zorder=5, markeredgewidth=2,
                    markeredgecolor=NEUTRAL if alone else style["color"],
                )[0]  # fmt: skip
        values = self.table[["found", "lower", "upper", "rows"]].to_numpy(dtype=float)
        ax.set_ylim(0, self._top(span(values.ravel())[1]))
        ax.set_xlim(0, float(self.history["seconds"].max()) or 1.0)
        ax.set_xlabel("seconds since the search began")
        ax.set_ylabel(wrap(TWINS.format(output="the output"), 40))
        bare(ax, ("bottom", "left"))
        legend(ax, *_in_order(shown))
        return finish(self, ax)

    def _top(self, least: float) -> float:
        """Upper end of the axis: the first bounds, unless these would flatten all the rest."""
        assert self.history is not None
        first = self.history.get("bound", pd.Series(dtype=float)).max()
        return max(least, min(1.05 * _known(first), 2.5 * least))


def _course(
    name: str, last: dict[str, float], found: pd.DataFrame, bounds: pd.DataFrame | None = None
) -> pd.DataFrame:
    """Return what was found and what was proven over time, from nothing to the end of the run."""
    parts = [part for part in (found, bounds) if part is not None and len(part)]
    whole = pd.concat([pd.DataFrame([{"seconds": 0.0, "degree": 0.0}]), *parts])
    whole = whole.sort_values("seconds", kind="stable")
    whole = pd.concat([whole, pd.DataFrame([last])], ignore_index=True)
    # A note of the certificate may be later than that of the search, and know no more.
    course = whole.reindex(columns=["seconds", "degree", "bound"]).astype(float)
    course["degree"] = course["degree"].cummax()
    course["bound"] = course["bound"].cummin().ffill()
    return course.assign(name=name)[["name", "seconds", "degree", "bound"]]


def _in_order(shown: dict[str, Any]) -> tuple[list[Any], list[str]]:
    """Return what a legend names: what was found before what is only known not to be larger."""
    names = [name for part in ORDER for name in shown if name.endswith(part)]
    return [shown[name] for name in names], names


def _or_nan(value: Any) -> float:
    return float("nan") if value is None else float(value)


def _known(value: Any) -> float:
    """Return a number, or 0 if it is unknown; infinity stays as it is."""
    value = _or_nan(value)
    return value if not math.isnan(value) else 0.0


def _both(lower: float, upper: float) -> str:
    """Return both ends in words; ends that people write alike are one figure."""
    if number(lower) == number(upper):
        return f"at most {number(upper)}"
    return " to ".join(two_numbers(lower, upper))
