"""ParetoDisplay draws the candidates of a search, their Pareto front, and the refitted one."""

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
    finish,
    ink,
    is_many,
    legend,
    span,
    wrap,
)


class ParetoDisplay(Display):
    """Draw the candidates of a search by two metrics, their Pareto front, and the refitted one.

    The front holds the candidates that no other beats in both metrics. Make it with
    `from_cv_results`.

    Parameters
    ----------
    table : DataFrame
        One row per candidate, with the columns `candidate` (its position in ``cv_results_``),
        `unfairness` (smaller is better), `objective` (larger is better), `on_front` and `is_refit`.
        A candidate whose fit or audit failed has NaN and is not drawn.
    x, y : str, default="unfairness" and "objective"
        Names of the two metrics.
    limit : float, default=None
        Largest unfairness that the choice of the refitted candidate allowed.

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
    limit_ : matplotlib Line2D or None
        The limit.

    See Also
    --------
    skfairtest.pareto_refit : Refits a candidate on the front.
    skfairtest.constrained_refit : Refits the best candidate within a limit.

    Notes
    -----
    The scores of the chosen candidate are the best of many, so they tend to be too good. A degree
    is the largest difference that a search found within its budget, which is a lower bound.

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
    ) -> None:
        self.table = table
        self.x = x
        self.y = y
        self.limit = limit

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
                "unfairness": unfair,
                "objective": objective,
                "on_front": not_dominated(np.column_stack([objective, -unfair])),
                "is_refit": places == (-1 if refit is None else refit),
            }
        )
        limit: Any = getattr(rule, "limit", None)
        return cls(table, x, y, float(limit) if is_real(limit) else None)

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
        ax = axes_for(ax, self, (6.4, 4.2))
        known = np.isfinite(self.table[["unfairness", "objective"]].to_numpy()).all(axis=1)
        table = self.table[known]
        style: dict[str, Any] = {
            "color": NEUTRAL, "s": 28, "linewidths": 0, "rasterized": is_many(table),
            "clip_on": False, **(scatter_kwargs or {}),
        }  # fmt: skip
        self.points_ = ax.scatter(table["unfairness"], table["objective"], **style)
        front = table.loc[table["on_front"]].sort_values(["unfairness", "objective"])
        style = {
            "color": FOUND, "marker": MARKERS[0], "linewidth": 1.5, "drawstyle": "steps-post",
            "clip_on": False, **(line_kwargs or {}),
        }  # fmt: skip
        (self.front_,) = ax.plot(front["unfairness"], front["objective"], **style)
        shown = {"candidate": self.points_, "no other beats it in both": self.front_}
        chosen = table[table["is_refit"]]
        self.refit_ = self.limit_ = None
        if len(chosen):
            (self.refit_,) = ax.plot(
                chosen["unfairness"], chosen["objective"], linestyle="", marker="s", markersize=14,
                markerfacecolor="none", markeredgecolor=ink(), markeredgewidth=2,
                clip_on=False,
            )  # fmt: skip
            shown["refitted"] = self.refit_
        if self.limit is not None:
            self.limit_ = ax.axvline(self.limit, color=BOUND, linestyle="--", linewidth=1.2)
            shown[f"limit {number(self.limit)}"] = self.limit_
        ax.set_xlim(span([*table["unfairness"], self.limit or 0.0]))
        ax.set_ylim(span(table["objective"], zero=False))
        ax.set_xlabel(f"{wrap(self.x, 50)} (smaller is better)", parse_math=False)
        ax.set_ylabel(f"{wrap(self.y, 30)} (larger is better)", parse_math=False)
        legend(ax, list(shown.values()), list(shown))
        return finish(self, ax)


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
