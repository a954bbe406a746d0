"""ProfileDisplay draws a model's outputs for two twins along one of their columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from skfairtest._typing import Floats
from skfairtest.finding._words import name_output, value_in_words
from skfairtest.inspection._asking import ask_model, check_auditor, input_at
from skfairtest.inspection._style import (
    FOUND,
    LINES,
    MARKERS,
    NEUTRAL,
    ROW,
    Display,
    axes_for,
    finish,
    ink,
    left_out,
    legend,
    rows_axis,
    shorten,
    wrap,
)
from skfairtest.space._space import InputSpace

#: Colours of the twin with the larger output and of the other one.
TWIN = (FOUND, NEUTRAL)
#: Values of a numeric column that are asked about.
N_POINTS = 101
#: Values of each column that are asked about to choose one.
N_LOOKS = 5
#: Values that are points, not a line: categories, and numbers that have so few.
FEW_VALUES = 25
#: Where a missing value stands beside the numbers, as a share of their range.
GAP = 0.08
#: Categories that a picture has room for.
MOST_CATEGORIES = 30


class ProfileDisplay(Display):
    """Draw the model's outputs for two twins as one column changes and all others stay the same.

    Twins are two inputs that are identical but for the sensitive attributes. Make it with
    `from_auditor`.

    Parameters
    ----------
    table : DataFrame
        One row per value of the column: `value`, the outputs for the `first` and the `second` twin
        (NaN if a constraint excludes this input), and `is_pair`, whether the pair has this value.
    column : str
        Name of the column, with the group that has these values where twins are moved.
    output : str
        Name of the output.
    names : tuple of two str
        Names of the twins, from their sensitive values.
    categorical : bool, default=False
        Whether the values are categories.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes.
    figure_ : matplotlib Figure
        Their figure.
    lines_ : list of two matplotlib Line2D
        Outputs for the first and the second twin, as lines or, for a categorical column, as points.
    pair_ : list of matplotlib Artist
        Marks at the value that the pair has.

    See Also
    --------
    PairDisplay : Draws all columns of the two twins.

    Notes
    -----
    The other columns keep the values that they have in the pair. Some inputs of a profile may be
    implausible, and another pair may have another profile.

    Where a transport moves twins (``InputSpace(twins=QuantileTransport())``), the column has these
    values in one group, which the axis names; the twin of the other group has moved ones.

    Examples
    --------
    >>> from skfairtest import ProfileDisplay, RandomAuditor
    >>> from skfairtest.datasets import make_biased_regression
    >>> data = make_biased_regression(random_state=0)
    >>> auditor = RandomAuditor(data.estimator, max_queries=2000, random_state=0).fit(data.data)
    >>> display = ProfileDisplay.from_auditor(auditor, "points").plot()
    >>> int(display.frame()["is_pair"].sum()), len(display.lines_)
    (1, 2)
    """

    def __init__(
        self,
        table: pd.DataFrame,
        column: str,
        output: str,
        names: tuple[str, str],
        categorical: bool = False,
    ) -> None:
        self.table = table
        self.column = column
        self.output = output
        self.names = names
        self.categorical = categorical

    @classmethod
    def from_auditor(
        cls, auditor: Any, column: Any = None, place: int | None = None
    ) -> ProfileDisplay:
        """Ask the model about the two twins of a pair along one column.

        Parameters
        ----------
        auditor : BaseAuditor
            A fitted auditor. It may have been interrupted after it found a pair.
        column : str or int, default=None
            A column that is not sensitive, or the name of a one-hot group. None tries five values
            of each column and takes the column along which the twins' difference changes most.
        place : int, default=None
            Position in ``discriminatory_inputs_``. None takes the worst pair.

        Returns
        -------
        ProfileDisplay
            The display, not yet drawn.

        Raises
        ------
        NotFittedError
            If the auditor is not fitted.
        TypeError
            If it is not an auditor of twins.
        ValueError
            If the auditor found no pair, the position or the column does not exist, the column is
            sensitive or depends on a sensitive one, or the model only gives labels.

        Notes
        -----
        A profile costs two queries per value: at most 204 for a numeric column, and two for each
        category. If `column` is None, each column that may be chosen costs ten more.
        """
        check_auditor(auditor, cls.__name__)
        found = input_at(auditor, place)
        if found is None:
            raise ValueError(
                "The auditor found no difference between twins, so there is no pair to show. "
                "Raise its budget, or show its rows with DisparityCurveDisplay."
            )
        if auditor.response_ == "labels":
            raise ValueError(
                "The model was asked for labels, which have no profile. Audit it with "
                "response_method='predict_proba' or 'decision_function' if it has one of these."
            )
        asked = _Asked(auditor, *found)
        j = asked.choose() if column is None else asked.resolve(column)
        codes = asked.codes(j, N_POINTS)
        outputs = asked.ask(j, codes)
        attribute = asked.space.domain.columns[j]
        table = pd.DataFrame(
            {
                "value": list(attribute.shown(codes)),
                "first": outputs[:, 0],
                "second": outputs[:, 1],
                "is_pair": codes == asked.z[j],
            }
        )
        return cls(
            table,
            asked.column_name(j),
            asked.output,
            asked.names(),
            attribute.is_category,
        )

    def plot(self, ax: Any = None, *, line_kwargs: Any = None) -> ProfileDisplay:
        """Draw the profile.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. None makes a new figure.
        line_kwargs : dict, default=None
            Passed to matplotlib for the lines, or for the points of categories.

        Returns
        -------
        self : ProfileDisplay
            The display.
        """
        self.lines_: list[Any] = []
        self.pair_: list[Any] = []
        if self.categorical:
            return self._plot_categories(ax, line_kwargs or {})
        ax = axes_for(ax, self, (6.4, 4.0))
        few = len(self.table) <= FEW_VALUES
        # What a missing value gives stands beside the lines, behind a gap.
        gone = self.table["value"].isna()
        values = self.table["value"].astype(float)
        spread = float(values.max() - values.min()) or 1.0
        at = values.where(~gone, (0.0 if gone.all() else values.max()) + GAP * spread)
        for side in (0, 1):
            style = {
                "color": TWIN[side], "linestyle": LINES[side], "linewidth": 2,
                "marker": MARKERS[side] if few else "", **(line_kwargs or {}),
            }  # fmt: skip
            self.lines_ += ax.plot(
                values[~gone], self.table.loc[~gone, ("first", "second")[side]], **style
            )
            ax.plot(
                at[gone], self.table.loc[gone, ("first", "second")[side]],
                **{**style, "linestyle": "", "marker": MARKERS[side]},
            )  # fmt: skip
        if gone.any():
            ax.text(
                at[gone].iloc[0], 0.5, "missing ", transform=ax.get_xaxis_transform(),
                rotation=90, ha="right", va="center",
            )  # fmt: skip
        for _, row in self.table.assign(value=at)[self.table["is_pair"]].iterrows():
            self.pair_.append(ax.axvline(row["value"], color=ink(), linewidth=1, linestyle=":"))
            for side in (0, 1):
                self.pair_ += ax.plot(
                    [row["value"]], [row[("first", "second")[side]]], linestyle="", markersize=10,
                    marker=MARKERS[side], color=TWIN[side], markeredgecolor=ink(),
                )  # fmt: skip
        ax.set_xlabel(wrap(self.column, 70), parse_math=False)
        ax.set_ylabel(wrap(self.output, 40), parse_math=False)
        return self._legend(ax)

    def _plot_categories(self, ax: Any, line_kwargs: dict[str, Any]) -> ProfileDisplay:
        table = self._categories()
        ax = axes_for(ax, self, (6.4, 1.2 + ROW * max(2, len(table))))
        rows_axis(ax, [shorten(value_in_words(value), 30) for value in table["value"]])
        at = np.arange(len(table))
        ax.hlines(at, table["first"], table["second"], color=ink(), alpha=0.4, linewidth=2)
        for side in (0, 1):
            style = {
                "color": TWIN[side], "linestyle": "", "marker": MARKERS[side], "markersize": 7,
                **line_kwargs,
            }  # fmt: skip
            self.lines_ += ax.plot(table[("first", "second")[side]], at, **style)
        for place in np.flatnonzero(table["is_pair"]):
            self.pair_.append(
                ax.axhspan(place - 0.5, place + 0.5, color=ink(), alpha=0.1, linewidth=0)
            )
            ax.get_yticklabels()[place].set_fontweight("bold")
        n = len(self.table) - len(table)
        words = wrap(self.output, 60) + left_out(n, len(self.table), "categories")
        ax.set_xlabel(words, parse_math=False)
        ax.set_ylabel(wrap(self.column, 40), parse_math=False)
        return self._legend(ax)

    def _categories(self) -> pd.DataFrame:
        """Choose the categories to show: the pair's, and those with the largest differences."""
        table = self.table
        if len(table) <= MOST_CATEGORIES:
            return table
        size = (table["first"] - table["second"]).abs().fillna(-1.0)
        size[table["is_pair"]] = np.inf
        return table.loc[np.sort(size.to_numpy().argsort(kind="stable")[::-1][:MOST_CATEGORIES])]

    def _legend(self, ax: Any) -> ProfileDisplay:
        marked = [*self.lines_, self.pair_[0]] if self.pair_ else self.lines_
        legend(ax, marked, [*self.names, "value of the pair"][: len(marked)])
        return finish(self, ax)


class _Asked:
    """The model, asked about two twins that have other values in one column."""

    def __init__(self, auditor: Any, z: Floats, pair: Floats) -> None:
        self.space: InputSpace = auditor.space_
        self.model = ask_model(auditor)
        self.z, self.pair = z, pair
        scores, _ = self.model.ask(self.space.twins_.of_each(z[None], pair))
        self.place = place = int(np.abs(scores[0] - scores[1]).argmax())
        if scores[0, place] < scores[1, place]:
            self.pair = pair[::-1]  # the larger output comes first
        self.output = name_output(self.model.response, self.model.output_name(place))

    @property
    def is_moved(self) -> bool:
        """Whether other columns of a twin follow a transport."""
        return self.space.twins_.moved is not None

    def names(self) -> tuple[str, str]:
        """The twins by the sensitive values that differ."""
        return self._name(self.pair[0]), self._name(self.pair[1])

    def _name(self, codes: Floats) -> str:
        columns = [self.space.domain.columns[j] for j in self.space.sensitive]
        return ", ".join(
            f"{columns[i].name}: {value_in_words(columns[i].shown(codes[[i]])[0])}"
            for i in np.flatnonzero(self.pair[0] != self.pair[1])
        )

    def column_name(self, j: int) -> str:
        """A column, with the group in which it has the values where a twin has moved ones."""
        name = str(self.space.domain.columns[j].name)
        own = self.z[self.space.sensitive]
        return f"{name} ({self._name(own)})" if self.is_moved else name

    def resolve(self, column: Any) -> int:
        """Place of a column that may be followed."""
        j = int(self.space.layout.resolve(column)[0])
        if j not in self.free():
            names = [self.space.domain.columns[k].name for k in self.free()]
            raise ValueError(
                f"column={column!r} is sensitive, depends on sensitive values, or has only one "
                f"value, so it has no profile. Pass one of {names[:20]}."
            )
        return j

    def free(self) -> list[int]:
        """Columns that an input may have any value in: of plain twins, those that they share."""
        first, second = self.space.twins_.of_each(self.z[None], self.pair)
        domain = self.space.domain
        return [
            int(j)
            for j in self.space.free
            if (self.is_moved or first[j] == second[j]) and domain.high[j] > domain.low[j]
        ]

    def codes(self, j: int, most: int) -> Floats:
        """Values of a column as codes, that of the pair among them."""
        column = self.space.domain.columns[j]
        if column.is_category or column.n_values <= most:
            codes = np.arange(column.low, column.high + 1)
            if len(codes) > most and most == N_LOOKS:
                codes = codes[np.linspace(0, len(codes) - 1, most).round().astype(int)]
        else:
            codes = np.linspace(column.low, min(column.high, column.top), most)
            codes = (
                np.rint(codes) if column.discrete else self.space.domain.round_to_dtype(codes, j)
            )
            if column.has_missing:
                codes = np.append(codes, column.high)
        return np.unique(np.append(codes, self.z[j]))

    def ask(self, j: int, codes: Floats) -> Floats:
        """Outputs of shape (n_codes, 2); NaN where such an input does not exist."""
        Z = np.tile(self.z, (len(codes), 1))
        Z[:, j] = codes
        flat = self.space.twins_.of_each(Z, self.pair)
        exists = self.space.valid(flat)
        if not self.is_moved:  # where the value follows from sensitive ones there is no other
            exists &= flat[:, j] == np.repeat(codes, 2)
        outputs = np.full(len(flat), np.nan)
        if exists.any():
            outputs[exists] = self.model.ask(flat[exists])[0][:, self.place]
        return outputs.reshape(-1, 2)

    def choose(self) -> int:
        """The column along which the difference changes most."""
        free = self.free()
        if not free:
            raise ValueError(
                "The twins differ in every column that has more than one value, so no column "
                "has a profile."
            )
        spreads = []
        for j in free:
            outputs = self.ask(j, self.codes(j, N_LOOKS))
            gaps = (outputs[:, 0] - outputs[:, 1])[~np.isnan(outputs).any(axis=1)]
            spreads.append(float(np.ptp(gaps)) if len(gaps) else -1.0)
        return free[int(np.argmax(spreads))]
