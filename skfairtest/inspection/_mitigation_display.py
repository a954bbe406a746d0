"""MitigationDisplay draws measures of a model before and after mitigation, with intervals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import is_regressor
from sklearn.utils.validation import check_is_fitted

from skfairtest.inspection._style import (
    COLORS,
    MARKERS,
    ROW,
    axes_for,
    bare,
    brief,
    finish,
    ink,
    paper,
    shorten,
    span,
    wrap,
)

#: Measures of a retrainer in the order of the panels, and what is written below each.
PLACES = {"rows": "rows held out", "near": "inputs near the rows", "uniform": "uniform inputs"}
OTHERS = {
    "degree": "largest difference\n(arrow: upper end)",
    "group": "score of the worst group",
}
SCORE = "score"
#: Rows of the figure that labels, head and axes take.
AROUND = 5.0


class MitigationDisplay:
    """Draw how a mitigation changed unfairness and the score of a model, with intervals.

    Make it with `from_retrainer` or `from_comparison`.

    Parameters
    ----------
    table : DataFrame
        One row per model and measure, with the columns `model`, `measure`, `value`, `low` and
        `high`, the ends of its interval (NaN if there is none). The measures "rows", "near" and
        "uniform" say how often twins are treated differently. "degree" is the largest difference
        found; its `high` is an upper bound over the domain. "group" is the score of the worst group
        by favourable predictions, and "score" is the change of the model's score.
    what : str, default="share of inputs whose twins are treated differently"
        Name of what "rows", "near" and "uniform" measure, as it is written.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes that hold the panels.
    figure_ : matplotlib Figure
        Their figure.
    panels_ : dict of str to matplotlib Axes
        The panel of each measure.
    points_ : dict of (str, str) to matplotlib Line2D
        The value of each measure and model.

    See Also
    --------
    skfairtest.FairnessRetrainer : Retrains on what an audit finds.
    skfairtest.compare_mitigations : Measures several methods of mitigation.

    Notes
    -----
    A mitigation reduces the difference in the treatment of twins. Other columns may still stand in
    for the sensitive ones, and a group may get worse predictions, so look at error rates by group,
    too.

    Examples
    --------
    >>> import pandas as pd
    >>> from skfairtest import MitigationDisplay
    >>> table = pd.DataFrame(
    ...     {"share_near": [0.12, 0.01], "share_near_low": [0.1, 0.0],
    ...      "share_near_high": [0.14, 0.02], "accuracy_change": [0.0, -0.004],
    ...      "accuracy_change_low": [0.0, -0.01], "accuracy_change_high": [0.0, 0.002]},
    ...     index=["original", "drop"])
    >>> display = MitigationDisplay.from_comparison(table).plot()
    >>> list(display.panels_)
    ['near', 'score']
    """

    def __init__(
        self,
        table: pd.DataFrame,
        what: str = "share of inputs whose twins are treated differently",
    ) -> None:
        self.table = table
        self.what = what

    @classmethod
    def from_retrainer(cls, retrainer: Any) -> MitigationDisplay:
        """Show what a fitted retrainer measured on fresh inputs.

        Parameters
        ----------
        retrainer : FairnessRetrainer
            Fitted.

        Returns
        -------
        MitigationDisplay
            The display, not yet drawn: the original and the mitigated model.

        Raises
        ------
        NotFittedError
            If the retrainer is not fitted.
        TypeError
            If it is not a retrainer.
        ValueError
            If the run ended before anything was measured.
        """
        if not hasattr(type(retrainer), "fit") or not hasattr(retrainer, "max_score_drop"):
            raise TypeError(
                f"from_retrainer needs a FairnessRetrainer; got {type(retrainer).__name__}."
            )
        check_is_fitted(retrainer)
        if not hasattr(retrainer, "before_"):
            raise ValueError(
                "The retrainer has no before_ and after_: its run ended before the model was "
                f"measured ({retrainer.stop_reason_}). See its history_."
            )
        rows = []
        for model, found in (("original", retrainer.before_), ("mitigated", retrainer.after_)):
            for measure, values in found.items():
                numbers = values["value"], values.get("low"), values.get("high")
                rows.append((model, measure, *numbers))
        drop = getattr(retrainer, "score_drop_", None)
        if drop is not None:
            rows.append(("original", SCORE, 0.0, None, None))
            # The score's change is the drop with its sign turned, and so are the ends.
            rows.append(("mitigated", SCORE, -drop["value"], -drop["high"], -drop["low"]))
        return cls(_table(rows), _what(_is_mean(retrainer)))

    @classmethod
    def from_comparison(cls, table: pd.DataFrame) -> MitigationDisplay:
        """Show the table of `compare_mitigations`.

        Parameters
        ----------
        table : DataFrame
            What `compare_mitigations` returned, or some of its rows.

        Returns
        -------
        MitigationDisplay
            The display, not yet drawn, with one row per method; methods without figures are left
            out.

        Raises
        ------
        TypeError, ValueError
            If the table is not of this kind.
        """
        if not isinstance(table, pd.DataFrame):
            raise TypeError(
                "from_comparison needs the DataFrame that compare_mitigations returns; got "
                f"{type(table).__name__}."
            )
        kind = "difference" if "difference_rows" in table else "share"
        sources = {place: f"{kind}_{place}" for place in PLACES}
        change = [str(name) for name in table if str(name).endswith("_change")]
        if change:
            sources[SCORE] = change[0]
        sources = {measure: name for measure, name in sources.items() if name in table}
        if not sources:
            raise ValueError(
                "The table has none of the columns of compare_mitigations, such as share_near; it "
                f"has {list(table.columns)[:10]}."
            )
        rows = [
            (model, measure, row[name], row.get(f"{name}_low"), row.get(f"{name}_high"))
            for measure, name in sources.items()
            for model, row in table.iterrows()
        ]
        if "degree" in table:
            rows += [
                (model, "degree", row["degree"], None, row.get("degree_bound"))
                for model, row in table.iterrows()
            ]
        long = _table(rows)
        long = long[long.groupby("model")["value"].transform(lambda v: v.notna().any())]
        return cls(long.reset_index(drop=True), _what(kind == "difference"))

    def frame(self) -> pd.DataFrame:
        """Return the data that is drawn.

        Returns
        -------
        DataFrame
            One row a model and measure: model, measure, value, low, high.
        """
        return self.table.copy()

    def plot(self, ax: Any = None, *, point_kwargs: Any = None) -> MitigationDisplay:
        """Draw a panel for each measure, a row in it for each model.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. None makes a new figure.
        point_kwargs : dict, default=None
            Passed to the points.

        Returns
        -------
        self : MitigationDisplay
            The display.
        """
        models = list(dict.fromkeys(self.table["model"]))
        order = [*PLACES, *OTHERS, SCORE]
        measures = sorted(set(self.table["measure"]), key=order.index)
        size = (1.6 + 1.9 * len(measures), ROW * (AROUND + 1.2 * max(2, len(models))))
        ax = axes_for(ax, self, size)
        ax.set_axis_off()
        self.panels_: dict[str, Any] = {}
        self.points_: dict[tuple[str, str], Any] = {}
        shares = [name for name in measures if name in PLACES]
        limits = span(self._numbers(shares))
        step, rows = 1 / len(measures), max(2, len(models))
        top = (rows + 0.8) / (rows + 1.6)  # the head stands above the panels
        for place, measure in enumerate(measures):
            panel = ax.inset_axes([place * step, 0, 0.84 * step, top])
            self.panels_[measure] = panel
            self._draw(panel, measure, models, point_kwargs or {})
            low, high = limits if measure in PLACES else span(self._numbers([measure]))
            panel.set_xlim(low - 0.05 * (high - low), high)
            panel.set_yticks(range(len(models)))
            names = [shorten(model, 24) for model in models] if place == 0 else []
            panel.set_yticklabels(names or [""] * len(models), parse_math=False)
        if shares:
            middle = (len(shares) * step - 0.16 * step) / 2
            ax.text(
                middle, top + 0.04, wrap(self.what, max(20, 24 * len(shares)), 3), ha="center",
                va="bottom", transform=ax.transAxes, parse_math=False,
            )  # fmt: skip
        return finish(self, ax)

    def _numbers(self, measures: list[str]) -> list[float]:
        kept = self.table[self.table["measure"].isin(measures)]
        return list(kept[["value", "low", "high"]].to_numpy(dtype=float).ravel())

    def _draw(
        self, panel: Any, measure: str, models: list[str], point_kwargs: dict[str, Any]
    ) -> None:
        from matplotlib.ticker import MaxNLocator

        rows = self.table[self.table["measure"] == measure].to_dict("records")
        for row in rows:
            place, value = models.index(row["model"]), row["value"]
            first = place == 0
            color = COLORS[1 if first else 0]
            low, high = (row[end] if np.isfinite(row[end]) else value for end in ("low", "high"))
            panel.hlines([place], [low], [high], color=color, linewidth=2)
            if measure == "degree" and np.isfinite(row["high"]):
                panel.plot([high], [place], linestyle="", marker=5, color=color, markersize=6)
            style = {
                "linestyle": "", "marker": MARKERS[1 if first else 0], "markersize": 7,
                "color": color, "markerfacecolor": paper() if first else color, **point_kwargs,
            }  # fmt: skip
            (self.points_[measure, row["model"]],) = panel.plot([value], [place], **style)
            if np.isfinite(value):
                panel.annotate(
                    brief(value), (value, place), xytext=(0, 6), textcoords="offset points",
                    ha="center", va="bottom", fontsize="small",
                )  # fmt: skip
        bare(panel)
        panel.tick_params(axis="y", length=0)
        panel.set_ylim(len(models) - 0.4, -0.8)
        panel.grid(axis="x", alpha=0.3)
        panel.set_axisbelow(True)
        panel.xaxis.set_major_locator(MaxNLocator(3))
        if measure == SCORE:
            panel.axvline(0, color=ink(), linewidth=1)
        words = {**PLACES, **OTHERS, SCORE: "change of the score"}[measure]
        panel.set_xlabel(words, fontsize="small")


def _table(rows: list[tuple[Any, ...]]) -> pd.DataFrame:
    table = pd.DataFrame(rows, columns=["model", "measure", "value", "low", "high"])
    numbers = ["value", "low", "high"]
    return table.astype({**dict.fromkeys(numbers, float), "model": str, "measure": str})


def _what(mean: bool) -> str:
    if mean:
        return "mean difference between the outputs for twins"
    return "share of inputs whose twins are treated differently"


def _is_mean(retrainer: Any) -> bool:
    """Whether a retrainer measures mean differences: a regressor's, without a threshold."""
    auditor = retrainer.auditor
    return bool(is_regressor(retrainer)) and getattr(auditor, "threshold", None) is None
