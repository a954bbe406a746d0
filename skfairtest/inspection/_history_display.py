"""HistoryDisplay draws what searches had found, over their queries or seconds."""

from __future__ import annotations

from typing import Any

import pandas as pd

from skfairtest.inspection._asking import by_name, check_auditor
from skfairtest.inspection._style import Display, axes_for, finish, legend, span, step_style

LABELS = {
    "queries": "rows that the model was asked about", "seconds": "seconds",
    "degree": "largest difference found", "found": "discriminatory inputs found",
}  # fmt: skip
COLUMNS = ("name", "queries", "seconds", "found", "degree")


class HistoryDisplay(Display):
    """Draw the history of one or several searches over queries or seconds.

    A history is the largest difference, or the number of discriminatory inputs, found so far. Make
    the display with `from_auditors`.

    Parameters
    ----------
    table : DataFrame
        Points of the histories, with the columns `name`, `queries`, `seconds`, `found` and
        `degree`.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes.
    figure_ : matplotlib Figure
        Their figure.
    lines_ : list of matplotlib Line2D
        The histories, in the order of the names.

    Notes
    -----
    One run of a random search shows little: another seed has another history. Compare runs on one
    model and one domain.

    Examples
    --------
    >>> from skfairtest import RandomAuditor
    >>> from skfairtest.inspection import HistoryDisplay
    >>> from skfairtest.datasets import make_biased_regression
    >>> data = make_biased_regression(random_state=0)
    >>> auditor = RandomAuditor(data.estimator, max_queries=2000, random_state=0).fit(data.data)
    >>> display = HistoryDisplay.from_auditors({"random": auditor}).plot(x="queries", y="degree")
    >>> display.ax_.get_xlabel(), len(display.lines_)
    ('rows that the model was asked about', 1)
    """

    def __init__(self, table: pd.DataFrame) -> None:
        self.table = table

    @classmethod
    def from_auditors(cls, auditors: Any) -> HistoryDisplay:
        """Show the histories of fitted auditors.

        Parameters
        ----------
        auditors : BaseAuditor, or dict of str to BaseAuditor
            Fitted auditors. If one was interrupted, its history until then is shown.

        Returns
        -------
        HistoryDisplay
            The display, not yet drawn.

        Raises
        ------
        NotFittedError
            If an auditor is not fitted.
        TypeError
            If one is not an auditor of twins, because others record no history.
        """
        histories = []
        for name, one in by_name(auditors).items():
            check_auditor(one, cls.__name__)
            history = one.history_
            last = {
                "queries": one.n_queries_, "seconds": one.seconds_, "found": one.n_found_,
                "degree": one.fairness_degree_,
            }  # fmt: skip
            first = dict.fromkeys(last, 0)
            # Every run begins with nothing, and what it had at its end it had until then.
            parts = [pd.DataFrame([first]), history[list(last)], pd.DataFrame([last])]
            whole = pd.concat([part for part in parts if len(part)], ignore_index=True)
            histories.append(whole.assign(name=name))
        return cls(pd.concat(histories, ignore_index=True)[list(COLUMNS)])

    def plot(
        self, ax: Any = None, *, x: str = "queries", y: str = "degree", line_kwargs: Any = None
    ) -> HistoryDisplay:
        """Draw the histories.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. None makes a new figure.
        x : {"queries", "seconds"}, default="queries"
            The cost that is drawn on the horizontal axis.
        y : {"degree", "found"}, default="degree"
            The result that is drawn on the vertical axis: the largest difference, or the number of
            inputs whose difference is above the threshold.
        line_kwargs : dict, default=None
            Passed to matplotlib for the histories.

        Returns
        -------
        self : HistoryDisplay
            The display.

        Raises
        ------
        ValueError
            If `x` or `y` is unknown.
        """
        for name, value, known in (("x", x, ("queries", "seconds")), ("y", y, ("degree", "found"))):
            if value not in known:
                raise ValueError(f"{name} must be one of {known}; got {value!r}.")
        ax = axes_for(ax, self, (6.4, 4.0))
        self.lines_ = []
        names = list(dict.fromkeys(self.table["name"]))
        for place, name in enumerate(names):
            history = self.table[self.table["name"] == name]
            style = {**step_style(place, history), **(line_kwargs or {})}
            self.lines_ += ax.plot(history[x], history[y], **style)
        ax.set(xlabel=LABELS[x], ylabel=LABELS[y])
        ax.set_xlim(left=0)
        ax.set_ylim(span(self.table[y]))
        legend(ax, self.lines_, list(map(str, names)))
        return finish(self, ax)
