"""What a group auditor shows after fit: plain arrays inside, tables built on access."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skfairtest._delegation import StoredResults
from skfairtest._statistics import Sides, score_interval
from skfairtest._typing import Floats
from skfairtest.group._inference.pivot import Simultaneous, all_at_once
from skfairtest.group._rules.tables import AttributeTables


class Description(NamedTuple):
    """A rule for people: its text, and for each attribute its name and the values that match."""

    text: str
    attributes: list[Any]
    conditions: list[Any]


def describe(attributes: Sequence[Any], rule: NDArray[np.int16]) -> Description:
    """Describe a rule over columns of a table: the number of its condition on each, -1 for none."""
    parts = [
        (attribute, int(number))
        for attribute, number in zip(attributes, rule, strict=True)
        if number >= 0
    ]
    return Description(
        " and ".join(attribute.text(number) for attribute, number in parts),
        [attribute.name for attribute, _ in parts],
        [attribute.values(number) for attribute, number in parts],
    )


class GroupResults(StoredResults):
    """Results as properties of `_state`, a dict of arrays; how rules read is the subclass's."""

    confidence: float
    correction: str
    max_rules: int

    def _describe(self, rule: NDArray[np.int16]) -> Description:
        """The text of a rule, the attributes that it names, and their values."""
        raise NotImplementedError

    def _columns(
        self,
        sides: Sides,
        support: Floats,
        *,
        n_rules: int = 1,
        intervals: Simultaneous | None = None,
        part: Floats | None = None,
    ) -> dict[str, NDArray[Any]]:
        """Columns of numbers of a table of rules, in their order.

        Intervals are Bonferroni's for `n_rules`, where none are given. `part` is the share of each
        difference that counts; None where all of it does.
        """
        if intervals is None:
            n_rules = 1 if self.correction == "none" else max(1, n_rules)
            intervals = all_at_once(sides, confidence=self.confidence, n_rules=n_rules)
        least, most = score_interval(intervals.low, intervals.high)
        if sides.binary:
            most = np.minimum(most, 1.0)
        counted: Any = 1.0 if part is None else part
        return {
            "support": support,
            "value_inside": np.asarray(sides.mean, dtype=np.float64),
            "value_outside": np.asarray(sides.mean_out, dtype=np.float64),
            "score": np.abs(sides.difference) * counted,
            "low": least * counted,
            "high": most * counted,
            "differs": intervals.differs,
            "n_inside": sides.n.astype(np.int64),
            "n_outside": sides.n_out.astype(np.int64),
        }

    @property
    def rules_(self) -> pd.DataFrame:
        """The kept rules, worst first."""
        return self._table(self._result("rules_"))

    def _table(self, state: dict[str, Any]) -> pd.DataFrame:
        described = [self._describe(rule) for rule in state["rules"]]
        columns = {
            "rule": [rule.text for rule in described],
            "attributes": [rule.attributes for rule in described],
            "conditions": [rule.conditions for rule in described],
        }
        return pd.DataFrame(columns | {k: v for k, v in state.items() if k != "rules"})

    @property
    def worst_rule_(self) -> pd.Series:
        """The first row of `rules_`."""
        state = self._result("worst_rule_")
        return self._table({key: value[:1] for key, value in state.items()}).iloc[0]

    @property
    def group_fairness_score_(self) -> float:
        """Score of the worst rule."""
        return float(self._result("group_fairness_score_")["score"][0])

    def _largest_score(self) -> dict[str, Any]:
        """The largest score, its rule, and its bounds, whichever rule has it in truth.

        With intervals that hold for all rules at once it is no less than the largest lower bound
        and no more than the largest upper one.
        """
        state = self._result("group_fairness_score_")
        # Rules that leave hardly anybody outside are too small a comparison to count.
        compared = state["ranked"] if state["ranked"].any() else np.ones(len(state["rules"]), bool)
        score = np.where(compared, state["score"], np.nan)
        if np.isnan(score).all():
            return {"low": None, "high": None, "largest": None}
        worst = int(np.nanargmax(score))
        low, high = (float(np.nanmax(state[bound][compared])) for bound in ("low", "high"))
        # Rules that were not kept have smaller scores, but may have wider intervals.
        is_whole = len(score) < self.max_rules
        largest = {
            "rule": self._describe(state["rules"][worst]).text, "score": float(score[worst])
        }  # fmt: skip
        return {"low": low, "high": high if is_whole else None, "largest": largest}

    def _rule_number(self, rule: Any) -> int:
        """Place of a rule in `rules_`, from that place, its text or its row."""
        rules = self._result("rules_")["rules"]
        if isinstance(rule, (int, np.integer)) and not isinstance(rule, bool):
            if 0 <= rule < len(rules):
                return int(rule)
            raise ValueError(
                f"rule must be a place in rules_, from 0 to {len(rules) - 1}; got {rule}."
            )
        text = rule.get("rule") if isinstance(rule, (pd.Series, dict)) else rule
        if isinstance(text, str):
            for number, codes in enumerate(rules):
                if self._describe(codes).text == text:
                    return number
        raise ValueError(
            "rule must be a place in rules_, the text of one of its rules, or one of its rows; "
            f"got {rule!r}, which is none of its {len(rules)} rules."
        )

    def _confirmation(
        self,
        numbers: list[int],
        sides: Sides,
        support: Floats,
        columns: dict[str, NDArray[Any]] | None = None,
    ) -> pd.DataFrame:
        """The table that `confirm` returns; `columns` are those that a subclass has made."""
        if columns is None:
            columns = self._columns(sides, support, n_rules=len(numbers))
        state = self._state
        chosen = np.asarray(numbers, dtype=np.intp)
        searched = state["value_inside"][chosen] - state["value_outside"][chosen]
        with np.errstate(invalid="ignore"):
            same = np.sign(searched) == np.sign(sides.difference)
        table = {
            "rule": [self._describe(state["rules"][number]).text for number in numbers],
            **columns,
            "searched_score": state["score"][chosen],
            "same_direction": same,
        }
        return pd.DataFrame(table)


class TableResults(GroupResults):
    """Results of rules over the columns of a table, with a short list. It has no parameters."""

    _tables: AttributeTables
    _short: dict[str, Any]
    _strata: dict[str, Any] | None

    def _describe(self, rule: NDArray[np.int16]) -> Description:
        return describe(self._tables.attributes, rule)

    @property
    def short_list_(self) -> pd.DataFrame:
        """At most ten rules that do not repeat each other."""
        state, short = self._result("short_list_"), self._short
        chosen = {name: values[short["rule"]] for name, values in state.items()}
        parts = [state["rules"][k] if k >= 0 else None for k in short["sub_rule"]]
        texts = ["" if part is None else self._describe(part).text for part in parts]
        return self._table(chosen).assign(
            sub_rule=texts, **{k: short[k] for k in ("gain", "gain_low", "gain_high", "covered")}
        )

    def _to_confirm(self, n_rules: int, short_list: bool | None) -> list[int]:
        """Places of the rules that are estimated again: of the short list, or the worst."""
        listed: list[int] = self._short["rule"].tolist()
        if short_list is False or (short_list is None and not listed):
            listed = list(range(len(self._state["rules"])))
        return listed[:n_rules]

    def matches(self, X: Any, rule: Any, *, sensitive_features: Any = None) -> NDArray[np.bool_]:
        """Tell which rows a rule holds for.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_rows, n_features)
            Rows with the columns and the kind of table seen in fit.
        rule : int, str or Series
            Position in `rules_`, the text of the rule in its column `rule`, or a row of `rules_`.
        sensitive_features : array-like or DataFrame of shape (n_rows, n_columns), default=None
            The columns that are not in X, if fit was given any.

        Returns
        -------
        ndarray of bool of shape (n_rows,)
            True where the rule holds. A value that no condition names, such as a missing number,
            matches no rule over its column.

        Raises
        ------
        ValueError
            If there is no such rule, or a `TestSGDAuditor` has not seen a sensitive value in fit.
        """
        number = self._rule_number(rule)
        return self._tables.holds(
            self._tables.numbers(X, sensitive_features), self._state["rules"][number]
        )
