"""ParetoDisplay draws the candidates of a search, their Pareto front, and the chosen one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from skfairtest._typing import is_real
from skfairtest.finding._words import number
from skfairtest.inspection._front import PREFIX, metric_names, not_dominated, two_columns
from skfairtest.inspection._style import (
    BOUND,
    FOUND,
    MARKERS,
    NEUTRAL,
    Display,
    axes_for,
    bars,
    finish,
    ink,
    is_many,
    left_out,
    legend,
    named_legend,
    series,
    span,
    wrap,
)


class ParetoDisplay(Display):
    """Draw the candidates of a search by two metrics, their Pareto front, and the refitted one.

    The front holds the candidates that no other beats in both metrics. Make it with
    `from_cv_results`, or of a search for alternatives with `from_alternatives`.

    Parameters
    ----------
    table : DataFrame
        One row per candidate, with the columns `candidate` (its position in ``cv_results_``, or its
        name), `x` (smaller is better), `y` (larger is better), `on_front` and `is_refit`. A
        candidate whose fit or audit failed has NaN and is not drawn. With a `margin` also `rows`,
        "search" or "judge" (a judged candidate has two rows), and the bounds `x_low`, `x_high`,
        `y_low` and `y_high`.
    x, y : str, default="unfairness" and "objective"
        Names of the two metrics.
    limit : float, default=None
        Largest unfairness that the choice of the refitted candidate allowed.
    margin : float, default=None
        How far `y` may fall. With it both metrics are changes against the original, which stands
        at 0 and 0, and of both larger is better.
    confidence : float, default=None
        Of the intervals.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes.
    figure_ : matplotlib Figure
        Their figure.
    points_ : matplotlib PathCollection
        The candidates.
    front_ : matplotlib Line2D
        The front.
    refit_ : matplotlib Line2D or None
        The candidate that was refitted.
    judged_ : dict of str to matplotlib ErrorbarContainer
        The candidates that were judged, by their names, with their intervals.
    limit_ : matplotlib Line2D or None
        The limit, or how far the score may fall.

    See Also
    --------
    skfairtest.pareto_refit : Refits a candidate on the front.
    skfairtest.constrained_refit : Refits the best candidate within a limit.

    Notes
    -----
    The scores of the chosen candidate are the best of many, so they tend to be too good. A degree
    is the largest difference that a search found within its budget, which is a lower bound.
    `AlternativesSearchCV` judges the best candidates again on rows that played no part: a dotted
    line leads from what the search saw to what these rows say.

    Examples
    --------
    >>> from skfairtest.inspection import ParetoDisplay
    >>> results = {
    ...     "mean_test_accuracy": [0.9, 0.88, 0.85], "mean_test_degree": [-0.5, -0.1, -0.2]}
    >>> display = ParetoDisplay.from_cv_results(results, x="degree", y="accuracy").plot()
    >>> display.frame()["on_front"].tolist()
    [True, True, False]
    """

    def __init__(
        self,
        table: pd.DataFrame,
        x: str = "unfairness",
        y: str = "objective",
        limit: float | None = None,
        margin: float | None = None,
        confidence: float | None = None,
    ) -> None:
        self.table = table
        self.x = x
        self.y = y
        self.limit = limit
        self.margin = margin
        self.confidence = confidence

    @classmethod
    def from_cv_results(
        cls, results: Any, *, x: str | None = None, y: str | None = None, refit: Any = None
    ) -> ParetoDisplay:
        """Show the candidates of a search with two or more metrics.

        Parameters
        ----------
        results : fitted search, or its ``cv_results_``
            A fitted search also says which candidate it refitted and, if `refit` is one of our
            rules, the names of the metrics and the limit.
        x : str, default=None
            Name of the audit scorer in ``scoring``. Its scores are at most 0; they are drawn with
            the opposite sign. None takes the metric of the rule, or the only metric besides `y`.
        y : str, default=None
            Name of the objective, for which greater is better. None takes the metric of the rule,
            or the only metric besides `x`.
        refit : int or callable, default=None
            Position of the refitted candidate, or a callable that chooses one from ``cv_results_``.
            None takes that of the search.

        Returns
        -------
        ParetoDisplay
            The display, not yet drawn.

        Raises
        ------
        NotFittedError
            If the search is not fitted.
        ValueError
            If a metric does not exist, scores of `x` are above 0, or every candidate has a NaN.
        """
        rule = refit if callable(refit) else None
        search = None
        if hasattr(results, "get_params"):
            check_is_fitted(results, "cv_results_")
            search, results = results, results.cv_results_
            rule = search.refit if rule is None and callable(search.refit) else rule
        x = getattr(rule, "unfairness", None) if x is None else x
        y = getattr(rule, "objective", None) if y is None else y
        x, y = _names(results, x, y)
        objective, unfair = two_columns(results, y, x)
        if callable(refit):
            refit = refit(results)
        elif refit is None and search is not None:
            refit = getattr(search, "best_index_", None)
        places = np.arange(len(objective))
        if refit is not None and refit not in places:
            raise ValueError(
                f"refit must be the position of one of {len(places)} candidates, or a callable "
                f"that returns it; got {refit!r}."
            )
        table = pd.DataFrame(
            {
                "candidate": places,
                "x": unfair,
                "y": objective,
                "on_front": not_dominated(np.column_stack([objective, -unfair])),
                "is_refit": places == (-1 if refit is None else refit),
            }
        )
        limit: Any = getattr(rule, "limit", None)
        return cls(table, x, y, float(limit) if is_real(limit) else None)

    @classmethod
    def from_alternatives(cls, result: Any) -> ParetoDisplay:
        """Show what a search for alternatives has compared and judged, against the original.

        Parameters
        ----------
        result : AlternativesResult or fitted AlternativesSearchCV
            What the search has found.

        Returns
        -------
        ParetoDisplay
            The display, not yet drawn.

        Raises
        ------
        NotFittedError
            If the search is not fitted.
        TypeError
            If it is something else.
        """
        if hasattr(result, "get_params"):
            check_is_fitted(result)
        result = getattr(result, "result_", result)
        if not hasattr(result, "alternatives"):
            raise TypeError(
                "from_alternatives needs a fitted AlternativesSearchCV or its result_; got "
                f"{type(result).__name__}."
            )
        settings = result.settings
        name = settings.disparity[0]
        rows = [
            (one.name, rows, one.on_front and rows == "search",
             one.name == result.best and rows == "judge",
             *_ends(figures.gain.get(name)), *_ends(figures.score_change))
            for one in result.alternatives
            for rows, figures in (("search", one.screened), ("judge", one.judged))
            if name in figures.gain and one.status in ("screened", "judged")
        ]  # fmt: skip
        bounds = [f"{axis}{end}" for axis in "xy" for end in ("", "_low", "_high")]
        table = pd.DataFrame(rows, columns=["candidate", "rows", "on_front", "is_refit", *bounds])
        table = table[(table["candidate"] != "original") | (table["rows"] == "search")]
        return cls(
            table.astype(dict.fromkeys(bounds, float)).reset_index(drop=True),
            f"gain in {name.replace('_', ' ')}",
            f"change of {settings.score.replace('_', ' ')}",
            margin=settings.margin,
            confidence=settings.confidence,
        )

    def plot(
        self, ax: Any = None, *, scatter_kwargs: Any = None, line_kwargs: Any = None
    ) -> ParetoDisplay:
        """Draw the candidates and the Pareto front.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. None makes a new figure.
        scatter_kwargs, line_kwargs : dict, default=None
            Passed to matplotlib for the candidates, and for the front.

        Returns
        -------
        self : ParetoDisplay
            The display.
        """
        ax = axes_for(ax, self, (6.4, 5.4 if self._of_changes else 4.2))
        table = self._in_view()
        ax.set_xlim(span([*_numbers(table, "x"), self.limit or 0.0]))
        ax.set_ylim(span([*_numbers(table, "y"), *self._least], zero=self._of_changes))
        compared = table[table["rows"] == "search"] if self._of_changes else table
        style: dict[str, Any] = {
            "color": NEUTRAL, "s": 28, "linewidths": 0, "rasterized": is_many(compared),
            "clip_on": False, **(scatter_kwargs or {}),
        }  # fmt: skip
        self.points_ = ax.scatter(compared["x"], compared["y"], **style)
        front = compared.loc[compared["on_front"]].sort_values(["x", "y"])
        style = {
            # Of changes what was judged is what the picture is about.
            "color": NEUTRAL if self._of_changes else FOUND,
            "marker": MARKERS[0], "linewidth": 1.5, "clip_on": False,
            "drawstyle": "steps-pre" if self._of_changes else "steps-post", **(line_kwargs or {}),
        }  # fmt: skip
        (self.front_,) = ax.plot(front["x"], front["y"], **style)
        candidate = "compared by the search" if self._of_changes else "candidate"
        shown = {candidate: self.points_, "no other beats it in both": self.front_}
        shown |= self._draw_judged(ax, table) | self._draw_limit(ax) | self._draw_chosen(ax, table)
        ax.set_xlabel(self._below(len(self.table) - len(table)), parse_math=False)
        ax.set_ylabel(f"{wrap(self.y, 30)} (larger is better)", parse_math=False)
        if self._of_changes:  # names of candidates are long
            names = [wrap(name, 58) for name in shown]
            named_legend(
                ax, list(shown.values()), names, loc="lower left", bbox_to_anchor=(0, 1),
                borderaxespad=0.3, labelspacing=0.3,
            )  # fmt: skip
        else:
            legend(ax, list(shown.values()), list(shown))
        return finish(self, ax)

    @property
    def _of_changes(self) -> bool:
        """Whether candidates are compared with an original."""
        return self.margin is not None

    @property
    def _least(self) -> list[float]:
        """The lowest score that is as good, on an axis of changes."""
        return [] if self.margin is None else [-self.margin]

    def _in_view(self) -> pd.DataFrame:
        """What is drawn: of changes none that would press all others into a corner."""
        table = self.table[np.isfinite(self.table[["x", "y"]].to_numpy(dtype=float)).all(axis=1)]
        if not self._of_changes:
            return table
        told = table["on_front"] | (table["rows"] == "judge")
        near = pd.Series(True, index=table.index)
        for axis in "xy":
            low, high = span([*_numbers(table[told], axis), *self._least])
            near &= table[axis] > low - 0.5 * (high - low)
        return table[told | near]

    def _draw_judged(self, ax: Any, table: pd.DataFrame) -> dict[str, Any]:
        """Each judged candidate with its intervals, and from where the search saw it."""
        self.judged_: dict[str, Any] = {}
        if not self._of_changes:
            return {}
        seen = table[table["rows"] == "search"].set_index("candidate")
        judged = table[table["rows"] == "judge"].to_dict("records")
        for place, row in enumerate(judged):
            name, x, y = row["candidate"], row["x"], row["y"]
            style = series(place) | {"linestyle": "", "markersize": 7, "clip_on": False}
            self.judged_[name] = ax.errorbar(
                [x], [y], [[y - row["y_low"]], [row["y_high"] - y]],
                [[x - row["x_low"]], [row["x_high"] - x]], linewidth=1.5, **style,
            )  # fmt: skip
            if name in seen.index:
                ax.plot(
                    [seen.loc[name, "x"], x], [seen.loc[name, "y"], y], linestyle=":",
                    linewidth=1, color=style["color"], zorder=1,
                )  # fmt: skip
        return {f"judged: {name}": bar for name, bar in self.judged_.items()}

    def _below(self, n_left_out: int) -> str:
        """What stands below the picture."""
        if not self._of_changes:
            return f"{wrap(self.x, 50)} (smaller is better)"
        judged = f"; {bars(self.confidence)}" if self.judged_ else ""
        far = left_out(n_left_out, len(self.table), "points, which are far off,")
        return f"{wrap(self.x, 50)} (larger is better{judged}){far}"

    def _draw_limit(self, ax: Any) -> dict[str, Any]:
        """The limit; of changes where an alternative lies, and the original."""
        self.limit_ = None
        if self.margin is not None:
            ax.axvline(0, color=ink(), linestyle=":", linewidth=1, zorder=0)
            self.limit_ = ax.axhline(-self.margin, color=BOUND, linestyle="--", linewidth=1.2)
            (x, y) = (ax.get_xlim()[1], ax.get_ylim()[1])
            ax.fill_between([0, x], -self.margin, y, color=FOUND, alpha=0.1, linewidth=0, zorder=0)
            (original,) = ax.plot(
                [0], [0], linestyle="", marker="X", markersize=9, color=ink(), clip_on=False
            )
            return {
                "original": original,
                f"as good: no more than {self.margin:g} lower": self.limit_,
            }
        if self.limit is None:
            return {}
        self.limit_ = ax.axvline(self.limit, color=BOUND, linestyle="--", linewidth=1.2)
        return {f"limit {number(self.limit)}": self.limit_}

    def _draw_chosen(self, ax: Any, table: pd.DataFrame) -> dict[str, Any]:
        """A square around the candidate that was refitted."""
        chosen, self.refit_ = table[table["is_refit"]], None
        if not len(chosen):
            return {}
        (self.refit_,) = ax.plot(
            chosen["x"], chosen["y"], linestyle="", marker="s", markersize=14,
            markerfacecolor="none", markeredgecolor=ink(), markeredgewidth=2, clip_on=False,
        )  # fmt: skip
        return {"found" if self._of_changes else "refitted": self.refit_}


def _ends(interval: Any) -> list[float | None]:
    """An estimate and its bounds."""
    return [None] * 3 if interval is None else [interval.value, interval.low, interval.high]


def _numbers(table: pd.DataFrame, axis: str) -> list[float]:
    """What an axis has to show: values, and the bounds of what was judged."""
    shown = [*table[axis]]
    if "rows" in table:
        judged = table[table["rows"] == "judge"]
        shown += [*judged[f"{axis}_low"], *judged[f"{axis}_high"]]
    return shown


def _names(results: Any, x: str | None, y: str | None) -> tuple[str, str]:
    """Return the names of both metrics; one that is not given is the only one left."""
    names = metric_names(results)
    if x is None and y is None:
        # Audit scores are never above 0; of two metrics of which both are, the user has to say.
        audits = [name for name in names if not (np.ma.asarray(results[PREFIX + name]) > 0).any()]
        x = audits[0] if len(audits) == 1 else None
    for name in (x, y):
        others = [other for other in names if other != name]
        if name is not None and len(others) == 1:
            x, y = (others[0] if x is None else x), (others[0] if y is None else y)
    if x is None or y is None:
        raise ValueError(
            f"cv_results_ has the metrics {names}. Pass the name of the audit scorer as x= and "
            "that of the objective as y=."
        )
    return x, y
