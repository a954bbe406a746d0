"""DisparityCurveDisplay draws the share of rows whose twins differ by more than t, for every t."""

from __future__ import annotations

from typing import Any

import pandas as pd
from sklearn.utils.validation import check_is_fitted

from skfairtest._validation import check_table
from skfairtest.base import BaseAuditor
from skfairtest.finding._words import name_output, number
from skfairtest.inspection._asking import by_name, check_auditor
from skfairtest.inspection._style import (
    TWINS,
    Display,
    axes_for,
    finish,
    ink,
    legend,
    span,
    step_style,
    wrap,
)
from skfairtest.oracle._compare import disparity_curve
from skfairtest.oracle._model import Model
from skfairtest.oracle._rows_audit import compare_table
from skfairtest.space._space import InputSpace


class DisparityCurveDisplay(Display):
    """Draw the share of rows whose disparity exceeds t, for one model or several.

    The disparity of a row is the largest difference between the model's outputs for its twins,
    which are identical to it but for the sensitive attributes. Make it with `from_auditor` or
    `from_estimator`.

    Parameters
    ----------
    table : DataFrame
        Points of the curves, with the columns `name`, `difference` (the value of t) and `share` (of
        the rows whose disparity exceeds t, from 0 to 1). Between two points the share of the left
        one holds.
    threshold : float, default=None
        Disparity above which a row counts as discriminatory; drawn as a line.
    output : str, default="output"
        Name of the output whose differences are drawn.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes.
    figure_ : matplotlib Figure
        Their figure.
    lines_ : list of matplotlib Line2D
        The curves, in the order of the names.
    threshold_ : matplotlib Line2D or None
        The threshold.

    See Also
    --------
    skfairtest.base.BaseAuditor.audit_rows : Computes the disparity of each row.

    Notes
    -----
    If the sensitive attributes have many values, a row is compared with some of its twins only, and
    the curve is a lower bound.

    Examples
    --------
    >>> from skfairtest.inspection import DisparityCurveDisplay
    >>> from skfairtest.datasets import make_biased_regression
    >>> data = make_biased_regression(random_state=0)
    >>> display = DisparityCurveDisplay.from_estimator(
    ...     {"known": data.estimator}, data.data, sensitive_features="sex")
    >>> float(display.frame()["share"].max())
    1.0
    >>> len(display.plot().lines_)
    1
    """

    def __init__(
        self, table: pd.DataFrame, threshold: float | None = None, output: str = "output"
    ) -> None:
        self.table = table
        self.threshold = threshold
        self.output = output

    @classmethod
    def from_auditor(cls, auditor: Any, X: Any = None) -> DisparityCurveDisplay:
        """Ask the models of fitted auditors about rows.

        Parameters
        ----------
        auditor : BaseAuditor, or dict of str to BaseAuditor
            Fitted auditors. Their curves are drawn together, so their outputs should have the same
            unit.
        X : array-like or DataFrame of shape (n_rows, n_features), default=None
            The rows to ask about. None takes the rows that were given to fit.

        Returns
        -------
        DisparityCurveDisplay
            The display, not yet drawn.

        Raises
        ------
        NotFittedError
            If an auditor is not fitted.
        TypeError
            If one is not an auditor of twins.
        ValueError
            If columns are missing or categories are unknown.
        """
        curves, thresholds, outputs = [], set(), set()
        for name, one in by_name(auditor).items():
            check_auditor(one, cls.__name__)
            if X is None:
                disparities = one._on_data("disparities")["disparities"]
            else:
                disparities = one.audit_rows(X).disparities
            curves.append(disparity_curve(disparities, name))
            thresholds.add(one.threshold)
            outputs.add(name_output(one.response_))
        return cls(
            pd.concat(curves, ignore_index=True), _only(thresholds), _only(outputs, "output")
        )

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        *,
        sensitive_features: Any = "auto",
        threshold: float | None = None,
        response_method: str = "auto",
        space: InputSpace | None = None,
    ) -> DisparityCurveDisplay:
        """Ask fitted models about the twins of rows.

        Parameters
        ----------
        estimator : estimator, or dict of str to estimator
            Fitted.
        X : array-like or DataFrame of shape (n_rows, n_features)
            The rows to ask about, which also show which sensitive values exist.
        sensitive_features : "auto", str, int or list of these, default="auto"
            Sensitive columns by name or position. "auto" takes the columns whose names are common
            protected attributes.
        threshold : float, default=None
            Disparity above which a row counts as discriminatory; drawn as a line.
        response_method : {"auto", "predict_proba", "decision_function", "predict"}, default="auto"
            How the models are asked.
        space : InputSpace, default=None
            Which inputs exist, as in every auditor. None learns it from X.

        Returns
        -------
        DisparityCurveDisplay
            The display, not yet drawn.

        Raises
        ------
        NotFittedError
            If an estimator is not fitted.
        ValueError, TypeError
            If the sensitive columns or the space are not possible.
        EstimatorFailedError
            If an estimator fails.
        """
        template = BaseAuditor(estimator, sensitive_features=sensitive_features, space=space)
        space = template._make_space(check_table(template, X))
        settings = {"threshold": threshold, "response_method": response_method, "n_jobs": None}
        curves, outputs = [], set()
        for name, one in by_name(estimator).items():
            if hasattr(one, "fit"):
                check_is_fitted(one)
            model = Model(one, space, response_method=response_method, n_jobs=None)
            outputs.add(name_output(model.response))
            rows = compare_table(one, space, space.rows(), settings)
            curves.append(disparity_curve(rows.disparities, name))
        whole = pd.concat(curves, ignore_index=True)
        return cls(whole, threshold, _only(outputs, "output"))

    def plot(self, ax: Any = None, *, line_kwargs: Any = None) -> DisparityCurveDisplay:
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. None makes a new figure.
        line_kwargs : dict, default=None
            Passed to matplotlib for the curves.

        Returns
        -------
        self : DisparityCurveDisplay
            The display.
        """
        ax = axes_for(ax, self, (6.4, 4.0))
        self.lines_: list[Any] = []
        self.threshold_ = None
        names = list(dict.fromkeys(self.table["name"]))
        end = span([*self.table["difference"], self.threshold or 0.0])[1]
        for place, name in enumerate(names):
            curve = self.table[self.table["name"] == name]
            style = {**step_style(place, curve), **(line_kwargs or {})}
            # To the end of the axis, so that a curve of one point is seen as well.
            x, y = [*curve["difference"], end], [*curve["share"], curve["share"].iloc[-1]]
            self.lines_ += ax.plot(x, y, **style)
        handles, labels = list(self.lines_), list(map(str, names))
        if self.threshold is not None:
            self.threshold_ = ax.axvline(self.threshold, color=ink(), linestyle=":", linewidth=1.2)
            handles.append(self.threshold_)
            labels.append(f"threshold {number(self.threshold)}")
        ax.set_xlim(0, end)
        ax.set_ylim(0, 1)
        ax.yaxis.set_major_formatter(_percent())
        ax.set_xlabel(wrap(TWINS.format(output=self.output), 64), parse_math=False)
        ax.set_ylabel("rows with a larger difference")
        legend(ax, handles, labels)
        return finish(self, ax)


def _only(values: set[Any], other: Any = None) -> Any:
    """Return the only value, or something else if there are several."""
    return next(iter(values)) if len(values) == 1 else other


def _percent() -> Any:
    from matplotlib.ticker import PercentFormatter

    return PercentFormatter(1.0)
