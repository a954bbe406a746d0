"""Which groups a model errs about, before and after a mitigation, on rows that it has not seen."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import clone

from skfairtest.exceptions import NoDisparityWarning
from skfairtest.group import SubgroupAuditor
from skfairtest.group._outcomes.answers import AskedMetric
from skfairtest.mitigation._retraining.training import Task, TrainingFold, each_once
from skfairtest.space._rows import take_rows

#: What is compared of the rules of both models.
COMPARED = ("value_inside", "value_outside", "score", "low", "high", "differs")


class HeldOutGroups:
    """Looks for the groups that models err about, by the predictions of each fold's model.

    Parameters
    ----------
    template : SubgroupAuditor or "auto"
        What is compared, and by which rules. "auto" compares accuracy, or the mean absolute error,
        by the sensitive columns.
    task : Task
        The rows.
    folds : list of TrainingFold
        The one that holds out nothing, and the others.
    sensitive : list
        The sensitive columns.

    Attributes
    ----------
    auditor : SubgroupAuditor
        The template, with all that "auto" stands for.

    Raises
    ------
    TypeError
        If the template is no SubgroupAuditor.
    """

    def __init__(
        self, template: Any, task: Task, folds: list[TrainingFold], sensitive: list[Any]
    ) -> None:
        self.is_auto = isinstance(template, str)
        if self.is_auto:
            template = SubgroupAuditor(
                metric="mean_absolute_error" if task.classes is None else "accuracy",
                sensitive_features=sensitive,
            )
        self.auditor = clone(template).set_params(estimator=None)
        if self.auditor.random_state is None:  # before and after are compared by one chance
            self.auditor.set_params(random_state=0)
        # A row that is held out again is no further person.
        self.folds = folds[1 : 1 + each_once([fold.held for fold in folds[1:]], len(task.y))]
        self.rows = np.concatenate([fold.held for fold in self.folds])
        self.task = task

    def audit(self, models: list[Any]) -> SubgroupAuditor | None:
        """The groups of the folds' models; None where "auto" has no group to compare.

        Raises
        ------
        ValueError, TypeError
            If the template does not fit the rows or the models.
        """
        auditor, task = clone(self.auditor), self.task
        try:
            predicted = [
                self._ask(model, take_rows(task.X, fold.held))
                for model, fold in zip(models, self.folds, strict=False)
            ]
            with warnings.catch_warnings():  # no errors at all are no reason to warn here
                warnings.simplefilter("ignore", NoDisparityWarning)
                auditor.fit(
                    take_rows(task.X, self.rows),
                    task.y[self.rows],
                    y_pred=np.concatenate(predicted),
                    sample_weight=None if task.weights is None else task.weights[self.rows],
                )
        except ValueError:
            if self.is_auto:  # no group holds for enough rows, say
                return None
            raise
        return auditor

    def _ask(self, model: Any, X: Any) -> Any:
        """Predictions as the metric needs them: labels, outputs or probabilities."""
        asked = AskedMetric(self.auditor.metric, model, X, self.auditor.favourable, None)
        return asked.ask(np.arange(len(X)))


def worst_group(auditor: SubgroupAuditor) -> dict[str, Any]:
    """The first line of an audit, for `before_` and `after_`."""
    worst = auditor.worst_rule_
    numbers = {"value": "score", "low": "low", "high": "high"}
    return {
        **{name: float(worst[column]) for name, column in numbers.items()},
        "rule": worst["rule"],
        "inside": float(worst["value_inside"]),
        "outside": float(worst["value_outside"]),
    }


def before_and_after(
    before: SubgroupAuditor, after: SubgroupAuditor, most: int
) -> dict[str, list[Any]]:
    """One entry for each rule that is listed of either model, with the figures of both."""
    lines: list[str] = []
    for auditor in (before, after):
        listed = auditor.short_list_
        lines += (listed if len(listed) else auditor.rules_.iloc[:most])["rule"].tolist()
    tables = {
        name: a.rules_.set_index("rule") for name, a in (("before", before), ("after", after))
    }
    rules = list(dict.fromkeys(lines))
    columns = {name: tables["before"][name].reindex(rules) for name in ("support", "n_inside")}
    for name, table in tables.items():
        columns |= {f"{name}_{column}": table[column].reindex(rules) for column in COMPARED}
    return {"rule": rules, **{name: values.tolist() for name, values in columns.items()}}
