"""What a group auditor shows after fit: plain arrays inside, tables built on access."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from skfairtest._statistics import Sides, paper_error, score_interval
from skfairtest._typing import Bools, Floats
from skfairtest.group._inference.at_once import all_at_once

SIDES = ("n", "mean", "variance", "n_out", "mean_out", "variance_out")


class Description(NamedTuple):
    """A rule set for people: words, and for each attribute its name and the values that match."""

    words: str
    attributes: list[Any]
    conditions: list[Any]


def describe(attributes: Sequence[Any], rule: NDArray[np.int16]) -> Description:
    """A rule set over columns of a table: the number of a rule for each attribute, -1 for none."""
    parts = [
        (attribute, int(number))
        for attribute, number in zip(attributes, rule, strict=True)
        if number >= 0
    ]
    return Description(
        " and ".join(attribute.words(number) for attribute, number in parts),
        [attribute.name for attribute, _ in parts],
        [attribute.values(number) for attribute, number in parts],
    )


class GroupResults:
    """Results as properties of `_state`, a dict of arrays; how rules read is the subclass's."""

    _state: dict[str, Any]
    confidence: float
    correction: str

    def _describe(self, rule: NDArray[np.int16]) -> Description:
        """A rule set in words, the attributes that it names, and their values."""
        raise NotImplementedError

    def __sklearn_is_fitted__(self) -> bool:
        """Whether results are there."""
        return hasattr(self, "stop_reason_")

    def _result(self, name: str) -> dict[str, Any]:
        if not hasattr(self, "stop_reason_"):
            # hasattr() must say False before fit, so this is no NotFittedError.
            raise AttributeError(
                f"{type(self).__name__} has no {name} before fit. Call fit(X) first."
            )
        return self._state

    def _intervals(self, sides: Sides, n_rules: int) -> dict[str, NDArray[Any]]:
        """Score, its interval, whether that excludes 0, and the paper's error."""
        low, high, differs = all_at_once(
            sides,
            confidence=self.confidence,
            correction=self.correction,
            n_rules=n_rules,
        )
        return self._scores(sides, low, high, differs)

    def _scores(
        self, sides: Sides, low: Floats, high: Floats, differs: Bools, part: Floats | None = None
    ) -> dict[str, NDArray[Any]]:
        """Columns of the score and its interval, from the interval of the difference.

        `part` is the share of each difference that counts; None where all of it does.
        """
        least, most = score_interval(low, high)
        if sides.binary:
            most = np.minimum(most, 1.0)
        z = float(stats.norm.isf((1 - self.confidence) / 2))
        counted: Any = 1.0 if part is None else part
        return {
            "score": np.abs(sides.difference) * counted,
            "low": least * counted,
            "high": most * counted,
            "differs": differs,
            "error": paper_error(sides, z) * counted,
        }

    @property
    def rules_(self) -> pd.DataFrame:
        """The kept rule sets, worst first."""
        return self._table(self._result("rules_"))

    def _table(self, state: dict[str, Any]) -> pd.DataFrame:
        described = [self._describe(rule) for rule in state["rules"]]
        table = {
            "rule": [rule.words for rule in described],
            "attributes": [rule.attributes for rule in described],
            "conditions": [rule.conditions for rule in described],
            "support": state["support"],
            "share_inside": state["mean"],
            "share_outside": state["mean_out"],
        }
        for name in ("score", "low", "high", "differs", "error"):
            table[name] = state[name]
        table["n_inside"] = state["n"].astype(np.int64)
        table["n_outside"] = state["n_out"].astype(np.int64)
        table["ranked"] = state["ranked"]
        return pd.DataFrame(table)

    @property
    def worst_rule_(self) -> pd.Series:
        """The first row of `rules_`."""
        state = self._result("worst_rule_")
        first = {key: value[:1] for key, value in state.items() if isinstance(value, np.ndarray)}
        return self._table(first).iloc[0]

    @property
    def group_fairness_score_(self) -> float:
        """Score of the worst rule set."""
        return float(self._result("group_fairness_score_")["score"][0])

    def _rule_number(self, rule: Any) -> int:
        """Place of a rule in `rules_`, from that place, its words or its row."""
        rules = self._result("rules_")["rules"]
        if isinstance(rule, (int, np.integer)) and not isinstance(rule, bool):
            if 0 <= rule < len(rules):
                return int(rule)
            raise ValueError(
                f"rule must be a place in rules_, from 0 to {len(rules) - 1}; got {rule}."
            )
        words = rule.get("rule") if isinstance(rule, (pd.Series, dict)) else rule
        if isinstance(words, str):
            for number, codes in enumerate(rules):
                if self._describe(codes).words == words:
                    return number
        raise ValueError(
            "rule must be a place in rules_, the words of one of its rules, or one of its rows; "
            f"got {rule!r}, which is none of its {len(rules)} rules."
        )

    def _confirmation(
        self,
        numbers: list[int],
        sides: Sides,
        support: Floats,
        intervals: dict[str, NDArray[Any]] | None = None,
    ) -> pd.DataFrame:
        """The table that `confirm` returns; `intervals` are those that a subclass has made."""
        if intervals is None:
            intervals = self._intervals(sides, max(1, len(numbers)))
        state = self._state
        chosen = np.asarray(numbers, dtype=np.intp)
        searched = state["mean"][chosen] - state["mean_out"][chosen]
        with np.errstate(invalid="ignore"):
            same = np.sign(searched) == np.sign(sides.difference)
        table = {
            "rule": [self._describe(state["rules"][number]).words for number in numbers],
            "support": support,
            "share_inside": sides.mean,
            "share_outside": sides.mean_out,
            **intervals,
            "n_inside": sides.n.astype(np.int64),
            "n_outside": sides.n_out.astype(np.int64),
            "searched_score": state["score"][chosen],
            "same_direction": same,
        }
        return pd.DataFrame(table)
