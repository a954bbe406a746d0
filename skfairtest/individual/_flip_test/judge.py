"""What a model says to rows and to their moved twins, and whether that is different."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from skfairtest._typing import Floats, Ints
from skfairtest.individual._flip_test.maps import MovedRows
from skfairtest.oracle._compare import Comparison, compare
from skfairtest.oracle._model import PROBE_ROWS, Labels, Model, hash_labels
from skfairtest.oracle._row_answers import RowAnswers
from skfairtest.oracle._second_answers import SecondAnswers


class Outputs(NamedTuple):
    """Outputs of a model for rows.

    Attributes
    ----------
    scores : ndarray of shape (n_rows, n_outputs)
        Probabilities, scores or predictions.
    labels : ndarray of shape (n_rows,)
        Codes of labels.
    """

    scores: Floats
    labels: Labels

    def at(self, rows: Any) -> Outputs:
        """Return the outputs for some rows."""
        return Outputs(self.scores[rows], self.labels[rows])


class ComparedGroup(NamedTuple):
    """The rows of one group, moved to another, with the model's outputs.

    Attributes
    ----------
    own, to, rows, Z
        As in `MovedRows`.
    before, after : Outputs
        For the rows and for their moved twins.
    shown : Comparison
        How these differ.
    """

    own: int
    to: int
    rows: Ints
    Z: Floats
    before: Outputs
    after: Outputs
    shown: Comparison


class Judge:
    """Asks the model, and says whether two outputs count as different.

    Parameters
    ----------
    model : Model
        The model.
    threshold : float or None
        As that of the auditor.
    """

    def __init__(self, model: Model, threshold: float | None) -> None:
        self.model, self.threshold = model, threshold

    @property
    def by_labels(self) -> bool:
        """Whether labels decide."""
        is_label = self.model.response == "labels"
        return is_label or (self.threshold is None and self.model.response != "regression")

    def probe(self, Z: Floats) -> None:
        """Find out, before the first question, how the model is to be asked."""
        if self.model.probe_cost:
            self.model.probe(Z[:PROBE_ROWS])

    def ask(self, Z: Floats) -> Outputs:
        """Return the outputs for encoded rows."""
        if not len(Z):
            return Outputs(np.zeros((0, 1)), np.zeros(0, dtype=np.int64))
        return Outputs(*self.model.ask(Z))

    def ask_where_valid(self, Z: Floats, instead: Outputs) -> Outputs:
        """Return the outputs for encoded rows; `instead` those that break the constraint."""
        valid = self.model.space.valid(Z)
        if valid.all():
            return self.ask(Z)
        asked = self.ask(Z[valid])
        scores, labels = instead.scores.copy(), instead.labels.copy()
        scores[valid], labels[valid] = asked
        return Outputs(scores, labels)

    def compare(self, before: Outputs, after: Outputs) -> Comparison:
        """Compare the outputs of rows with those of their moved twins."""
        scores = np.stack([before.scores, after.scores], axis=1)
        labels = np.stack([before.labels, after.labels], axis=1)
        return compare(
            scores,
            labels,
            np.ones(labels.shape, dtype=bool),
            response=self.model.response,
            threshold=self.threshold,
            single=self.model.single,
        )

    def compare_all(
        self, Z: Floats, before: Outputs, moved: list[MovedRows], verify: RowAnswers | None = None
    ) -> list[ComparedGroup]:
        """Compare rows with their moved twins, about all of which the model is asked at once.

        With the answers to the rows as `verify` a flip counts where `predict` says so, too, and
        the first rows that differ are asked again: an error says so where the answers are others.
        """
        rows = np.concatenate([part.rows for part in moved])
        twins = np.concatenate([part.Z for part in moved])
        before, after = before.at(rows), self.ask(twins)
        shown = self.compare(before, after)
        if verify is not None:
            second = SecondAnswers(self.model)
            if len(again := second.first(shown.disparity)):
                second.compare(after.at(again), self.model.ask(twins[again]))
            verdict = self._agrees_with_predict(Z, verify, rows, twins, shown.verdict)
            shown = shown._replace(verdict=verdict)
        found, start = [], 0
        for part in moved:
            here = slice(start, start + len(part.rows))
            own = shown._replace(**{name: v[here] for name, v in shown._asdict().items()})
            found.append(
                ComparedGroup(
                    part.own, part.to, part.rows, part.Z, before.at(here), after.at(here), own
                )
            )
            start = here.stop
        return found

    def _agrees_with_predict(
        self, Z: Floats, known: RowAnswers, rows: Ints, moved: Floats, verdict: Any
    ) -> Any:
        """Return the verdicts that `predict` agrees with, where labels were read off the scores."""
        if not (self.model.infers_labels and self.by_labels):
            return verdict
        flips = np.flatnonzero(verdict)
        if not len(flips):
            return verdict
        verdict = verdict.copy()
        new = np.setdiff1d(rows[flips], np.flatnonzero(known.is_predicted))
        labels = self.model.labels(np.concatenate([Z[new], moved[flips]]))
        known.keep_predicted(new, labels[: len(new)])
        verdict[flips] = known.predicted[rows[flips]] != labels[len(new) :]
        return verdict

    def names(self, codes: Any, Z: Floats) -> dict[int, Any]:
        """Return the labels of codes; `Z` has a row for each, which the model is asked about."""
        classes = getattr(self.model.estimator, "classes_", None)
        if isinstance(classes, np.ndarray) and classes.ndim == 1:
            if self.model.infers_labels and max(codes, default=0) < len(classes):
                return {int(code): classes[int(code)] for code in codes}
            known = dict(zip(hash_labels(classes).tolist(), classes, strict=True))
            if all(int(code) in known for code in codes):
                return {int(code): known[int(code)] for code in codes}
        answers = [np.asarray(part) for part, _ in self.model._call("predict", Z)]
        labels = np.concatenate(answers)
        plain = labels.tolist() if labels.ndim == 1 else [str(row.tolist()) for row in labels]
        return dict(zip(map(int, codes), plain, strict=True))
