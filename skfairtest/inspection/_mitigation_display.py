"""MitigationDisplay draws what methods of mitigation leave, what they cost, and for whom."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from sklearn.base import is_regressor
from sklearn.utils.validation import check_is_fitted

from skfairtest.finding._words import percent
from skfairtest.inspection._style import (
    FOUND,
    MARKERS,
    NEUTRAL,
    ROW,
    Display,
    axes_for,
    bare,
    brief,
    finish,
    ink,
    named_legend,
    paper,
    series,
    shorten,
    span,
    wrap,
)

if TYPE_CHECKING:  # mitigation is imported where a comparison of it is drawn
    from skfairtest.mitigation import MitigationComparison

#: Measures in the order of the panels, and what is written below each.
PLACES = {"rows": "people", "near": "inputs near\nthem", "uniform": "uniform\ninputs"}
GROUP, SCORE, RATE = "group", "score", "rate"
_SAME = {name: name for name in ("near", "uniform", GROUP)}
#: Groups whose rates are drawn at most: the largest.
MOST_GROUPS = len(MARKERS)


class MitigationDisplay(Display):
    """Draw what methods of mitigation leave, what they cost, and for whom.

    Make it with `from_retrainer` or `from_comparison`.

    Parameters
    ----------
    table : DataFrame
        One row per model and measure, and per group (the largest first) where the measure is
        "rate", with the columns `model`, `measure`, `group`, `value`, `low` and `high`, the bounds
        of its interval (NaN if there is none). The measures "rows", "near" and "uniform" say how
        often twins are treated differently, "group" is the largest difference between a group and
        the others, "score" the change of the model's score, and "rate" the rate of favourable
        predictions of a group.
    what : str, default="share of inputs whose twins are treated differently"
        Name of what "rows", "near" and "uniform" measure, as it is written.
    notes : dict of str to str, default=None
        Why models have no figures, by their names.
    highlight : str, default=None
        The model that stands out.
    message : str, default=""
        The sentence above the picture.
    score : str, default="score"
        Name of the score.
    rate : str, default="favourable"
        Name of the favourable prediction.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes that hold the panels.
    figure_ : matplotlib Figure
        Their figure.
    panels_ : dict of str to matplotlib Axes
        The panel of each measure.
    points_ : dict of (str, str, str) to matplotlib Line2D
        The value of each measure, model and group, which is empty but for rates.
    notes_ : dict of str to matplotlib Text
        What is written about models without figures.
    message_ : matplotlib Text
        The sentence above the picture.

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
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from skfairtest import compare_mitigations
    >>> from skfairtest.inspection import MitigationDisplay
    >>> from skfairtest.datasets import load_loans
    >>> X, y = load_loans(300, return_X_y=True)
    >>> X = X.select_dtypes("number").assign(birch=(X["community"] == "Birch").astype(int))
    >>> comparison = compare_mitigations(
    ...     DecisionTreeClassifier(max_depth=3, random_state=0), X, y, sensitive_features="birch",
    ...     methods=["drop"], favourable="granted", cv=2, moved=False, random_state=0,
    ...     progress=False)
    >>> display = MitigationDisplay.from_comparison(comparison).plot()
    >>> list(display.panels_)
    ['rows', 'near', 'score', 'rate']
    """

    def __init__(
        self,
        table: pd.DataFrame,
        what: str = "share of inputs whose twins are treated differently",
        notes: Mapping[str, str] | None = None,
        highlight: str | None = None,
        message: str = "",
        score: str = "score",
        rate: str = "favourable",
    ) -> None:
        self.table = table
        self.what = what
        self.notes = notes
        self.highlight = highlight
        self.message = message
        self.score = score
        self.rate = rate

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
            The display, not yet drawn: the original and the mitigated model. The measure "rows" is
            about people drawn as the rows were, "unseen" in `before_` and `after_`.

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
        rows = [
            (model, measure, "", found[name]["value"], found[name]["low"], found[name]["high"])
            for model, found in (("original", retrainer.before_), ("mitigated", retrainer.after_))
            # Of people the claim with an interval is about those who are not in the table.
            for measure, name in {"rows": "unseen", **_SAME}.items()
            if name in found
        ]
        drop = retrainer.score_drop_
        rows.append(("original", SCORE, "", 0.0, None, None))
        # The score's change is the drop with its sign turned, and so are the bounds.
        rows.append(("mitigated", SCORE, "", -drop["value"], -drop["high"], -drop["low"]))
        is_mean = is_regressor(retrainer) and getattr(retrainer.auditor, "threshold", None) is None
        kept = retrainer.estimator_ is retrainer.original_estimator_
        message = _before_and_after(retrainer, is_mean=is_mean, kept=kept)
        score = "score"
        if retrainer.scoring is None and not is_regressor(retrainer):
            score = "accuracy"
        return cls(_table(rows), _what(is_mean), {}, None if kept else "mitigated", message, score)

    @classmethod
    def from_comparison(cls, comparison: MitigationComparison) -> MitigationDisplay:
        """Show what `compare_mitigations` measured, and what that recommends.

        Parameters
        ----------
        comparison : MitigationComparison
            What `compare_mitigations` returned.

        Returns
        -------
        MitigationDisplay
            The display, not yet drawn, with one row per method; methods without figures have the
            reason in theirs.

        Raises
        ------
        TypeError
            If it is something else.
        """
        from skfairtest.mitigation import MitigationComparison
        from skfairtest.mitigation._comparison.recommend import Sentences, short_group

        if not isinstance(comparison, MitigationComparison):
            raise TypeError(
                "from_comparison needs the MitigationComparison that compare_mitigations returns; "
                f"got {type(comparison).__name__}."
            )
        settings, score = comparison.settings, comparison.settings["score"]
        kind = "difference" if settings["is_mean"] else "share"
        known = comparison.table[comparison.table[score].notna()]
        sources = {"rows": f"{kind}_rows", "near": f"{kind}_near", SCORE: f"{score}_change"}
        rows = [
            (model, measure, "", row[name], row[f"{name}_low"], row[f"{name}_high"])
            for measure, name in sources.items()
            for model, row in known.iterrows()
        ]
        sizes = comparison.groups.xs("original")["rows"]
        rates = comparison.groups["selection_rate"].unstack("method")
        rows += [
            (model, RATE, short_group(group, settings), rates.loc[group, model], None, None)
            for group in sizes.sort_values(ascending=False, kind="stable").index
            for model in known.index
        ]
        recommended = comparison.recommend()
        names = Sentences(settings)
        what = _what(True)
        if not settings["is_mean"]:
            what = f"would get {names.changed} if only {names.sensitive} were changed"
        return cls(
            _table(rows),
            what,
            {
                str(name): str(note)
                for name, note in comparison.table["note"].items()
                if name not in known.index
            },
            recommended.method,
            f"{recommended.sentence[:1].upper()}{recommended.sentence[1:]}",
            score,
            settings["favourable"] or "mean prediction",
        )

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
        notes = dict(self.notes or {})
        models = list(dict.fromkeys(self.table["model"]))
        names = [*models, *(name for name in notes if name not in models)]
        order = [*PLACES, GROUP, SCORE, RATE]
        measures = sorted(set(self.table["measure"]), key=order.index)
        n_rows = max(2, len(names))
        message = wrap(self.message, 74, 3)  # as many letters as fit across the picture
        n_groups = self.table.loc[self.table["measure"] == RATE, "group"].nunique()
        # In points: 14 for each line of the legend in small letters, and 18 for one of the message.
        head = 14 * max(2, min(n_groups, MOST_GROUPS)) + 8
        height = 0.7 + (head + 18 * (message.count("\n") + 1)) / 72 + 1.2 * ROW * n_rows
        ax = axes_for(ax, self, (6.2, height))
        ax.set_axis_off()
        self.panels_: dict[str, Any] = {}
        self.points_: dict[tuple[str, str, str], Any] = {}
        shares = [name for name in measures if name in PLACES]
        limits = span(self._numbers(shares))
        step = 1 / len(measures)
        for place, measure in enumerate(measures):
            panel = ax.inset_axes([place * step, 0, 0.82 * step, 1])
            self.panels_[measure] = panel
            self._draw(panel, measure, models, point_kwargs or {})
            low, high = limits if measure in PLACES else span(
                self._numbers([measure]), zero=measure != RATE or self._is_share(RATE)
            )  # fmt: skip
            # Room for the number above the last point, which the axis does not take part in.
            panel.set_xlim(low - 0.08 * (high - low), high + 0.08 * (high - low))
            panel.spines["bottom"].set_bounds(low, high)
            panel.set_xticks([tick for tick in panel.get_xticks() if low <= tick <= high])
            panel.set_ylim(n_rows - 0.4, -0.75)
            panel.set_yticks(range(len(names)))
            labels = [shorten(name, 20) for name in names] if place == 0 else [""] * len(names)
            panel.set_yticklabels(labels, parse_math=False)
        self._mark(names)
        self._write(ax, names, notes, shares, message, head)
        return finish(self, ax)

    def _numbers(self, measures: list[str]) -> list[float]:
        kept = self.table[self.table["measure"].isin(measures)]
        return list(kept[["value", "low", "high"]].to_numpy(dtype=float).ravel())

    def _draw(
        self, panel: Any, measure: str, models: list[str], point_kwargs: dict[str, Any]
    ) -> None:
        from matplotlib.ticker import FuncFormatter, MaxNLocator

        kept = self.table[self.table["measure"] == measure]
        groups = list(dict.fromkeys(kept["group"]))[:MOST_GROUPS]
        rows = kept[kept["group"].isin(groups)].to_dict("records")
        for row in rows:
            model, value = row["model"], row["value"]
            at = models.index(model)
            low, high = (row[end] if np.isfinite(row[end]) else value for end in ("low", "high"))
            chosen = model == self.highlight
            color = FOUND if chosen else NEUTRAL
            style = {
                "linestyle": "", "markersize": 7 if chosen else 6, "color": color,
                "marker": MARKERS[1 if model == "original" else 0],
                "markerfacecolor": paper() if model == "original" else color, **point_kwargs,
            }  # fmt: skip
            if measure == RATE:
                of_group = series(groups.index(row["group"])) | {"linestyle": ""}
                style = {"markersize": 6, **of_group, **point_kwargs}
            panel.hlines([at], [low], [high], color=color, linewidth=2 if chosen else 1.2)
            (point,) = panel.plot([value], [at], **style)
            self.points_[measure, model, row["group"]] = point
            # The original's change of its own score is no news, and rates are read by the legend.
            if np.isfinite(value) and measure != RATE and (measure, model) != (SCORE, "original"):
                panel.annotate(
                    self._figure(measure, value), (value, at), xytext=(0, 5),
                    textcoords="offset points", ha="center", va="bottom", fontsize="small",
                    fontweight="bold" if chosen else "normal",
                )  # fmt: skip
        bare(panel)
        panel.tick_params(axis="y", length=0)
        panel.tick_params(axis="x", labelsize="small")
        panel.grid(axis="x", alpha=0.3)
        panel.set_axisbelow(True)
        panel.xaxis.set_major_locator(MaxNLocator(2))
        if self._is_share(measure):
            panel.xaxis.set_major_formatter(FuncFormatter(_hundredfold))
        if measure == SCORE:
            # Not where the numbers stand.
            places = np.arange(len(models))
            panel.vlines(
                np.zeros(len(places)),
                places - 0.1,
                places + 0.4,
                color=ink(),
                linewidth=1,
                zorder=1,
            )
        panel.set_xlabel(self._words(measure), fontsize="small", parse_math=False)

    @property
    def _is_in_points(self) -> bool:
        from skfairtest.mitigation._comparison.recommend import IN_POINTS

        return self.score in IN_POINTS

    def _is_share(self, measure: str) -> bool:
        """Whether a measure is drawn in percent, or in points of accuracy."""
        if measure == SCORE:
            return self._is_in_points
        if measure == RATE:
            return self.rate != "mean prediction"
        return not self.what.startswith("mean")

    def _figure(self, measure: str, value: float) -> str:
        if measure == SCORE and self._is_in_points:
            return f"{round(100 * value, 1) + 0.0:+.1f}"
        return percent(value) if self._is_share(measure) else brief(value)

    def _words(self, measure: str) -> str:
        if measure == SCORE:
            name = shorten(self.score.replace("_", " "), 17)
            return f"{name},\nchange" + (" in points" if self._is_in_points else "")
        if measure == RATE:
            unit = ", in %" if self._is_share(RATE) else ""
            n_groups = self.table.loc[self.table["measure"] == RATE, "group"].nunique()
            by = "by group" if n_groups <= MOST_GROUPS else f"{MOST_GROUPS} largest of {n_groups}"
            return f"{shorten(self.rate, 16)}{unit},\n{by}"
        if measure == GROUP:
            return "worst group:\ndifference, in %"
        return PLACES[measure]

    def _mark(self, names: list[str]) -> None:
        """Put a band behind the row of the model that stands out, and write its name in bold."""
        if self.highlight not in names:
            return
        at = names.index(self.highlight)
        for place, panel in enumerate(self.panels_.values()):
            panel.axhspan(at - 0.7, at + 0.35, color=FOUND, alpha=0.15, linewidth=0, zorder=0)
            if place == 0:
                panel.get_yticklabels()[at].set_fontweight("bold")

    def _write(
        self, ax: Any, names: list[str], notes: dict[str, str], shares: list[str],
        message: str, head: float,
    ) -> None:  # fmt: skip
        """Write the message, the heads, the groups, and why models have no figures."""
        panels = list(self.panels_.values())
        first = panels[0]
        # Above the panels on its right, whose lines would cross the words.
        first.set_zorder(max(panel.get_zorder() for panel in panels) + 1)
        self.notes_ = {
            name: first.text(
                0, names.index(name), wrap(note, 56, 2), transform=first.get_yaxis_transform(),
                va="center", ha="left", fontsize="small", style="italic", parse_math=False,
                bbox={"facecolor": paper(), "edgecolor": "none", "pad": 2}, clip_on=False,
            )
            for name, note in notes.items()
        }  # fmt: skip
        if shares:
            unit = ", in %" if self._is_share(shares[0]) else ""
            ax.annotate(
                wrap(f"{self.what}{unit}", max(30, 17 * len(shares)), 3), (0, 1),
                xycoords="axes fraction", xytext=(0, 4), textcoords="offset points", ha="left",
                va="bottom", fontsize="small", parse_math=False,
            )  # fmt: skip
        if RATE in self.panels_:
            groups = {group: point for (m, _, group), point in self.points_.items() if m == RATE}
            named_legend(
                self.panels_[RATE], list(groups.values()), [shorten(name, 16) for name in groups],
                loc="lower left", bbox_to_anchor=(0, 1), fontsize="small", borderaxespad=0.2,
                handletextpad=0.1, borderpad=0, labelspacing=0.2,
            )  # fmt: skip
        self.message_ = ax.annotate(
            # From where the names of the models begin, 1.6 inches on the left of the axes.
            message, (0, 1), xycoords="axes fraction", xytext=(-72 * 1.6, head),
            textcoords="offset points", ha="left", va="bottom", fontweight="bold",
            parse_math=False,
        )  # fmt: skip


def _table(rows: list[tuple[Any, ...]]) -> pd.DataFrame:
    table = pd.DataFrame(rows, columns=["model", "measure", "group", "value", "low", "high"])
    kinds = dict.fromkeys(("value", "low", "high"), float)
    return table.astype({**kinds, **dict.fromkeys(("model", "measure", "group"), str)})


def _before_and_after(retrainer: Any, *, is_mean: bool, kept: bool) -> str:
    before, after = (found["unseen"]["value"] for found in (retrainer.before_, retrainer.after_))
    if is_mean:
        sentence = f"twins differ by {brief(before)} on average"
        now = brief(after)
    else:
        sentence = f"about {percent(before)} of such people are treated differently from a twin"
        now = percent(after)
    if kept:
        return f"The original is kept: {sentence}"
    return f"{sentence[:1].upper()}{sentence[1:]}; after the mitigation {now}"


def _what(mean: bool) -> str:
    if mean:
        return "mean difference between the outputs for twins"
    return "share of inputs whose twins are treated differently"


def _hundredfold(value: float, _: int) -> str:
    """A tick in percent or points; not nested in a method, since pictures are pickled."""
    return f"{round(100 * value, 9) + 0.0:.3g}"
