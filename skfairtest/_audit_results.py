"""The results of a fitted auditor: it stores plain arrays and builds tables on access."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from skfairtest._delegation import StoredResults
from skfairtest._typing import Floats
from skfairtest.oracle._findings import Findings
from skfairtest.oracle._reproduced import check_reproduced, confirm_found
from skfairtest.oracle._rows_audit import RowsAudit, RowsSummary, compare_chunks, compare_table
from skfairtest.space._chunks import Chunks, as_chunks
from skfairtest.space._plausible.plausibility import Plausibility
from skfairtest.space._space import InputSpace

#: Results that ask the model when they are first read.
ON_DATA = frozenset(
    {"on_data_degree_", "on_data_discriminatory_", "on_data_rate_", "n_data_queries_"}
)
#: The same where the search did not ask `predict` about each flip.
CONFIRMED = frozenset({"discriminatory_inputs_", "counterfactuals_"})
#: Results that judge the inputs found when they are first read, which takes seconds.
JUDGED = frozenset(
    {
        "plausibility_", "distances_", "nearest_rows_", "worst_case_plausible_",
        "fairness_degree_plausible_",
    }
)  # fmt: skip
#: Results of both kinds.
ON_DATA_AND_JUDGED = frozenset({"domains_"})


def results_of(found: Findings, *, in_chunks: bool) -> dict[str, Any]:
    """Return the findings of a run as fitted attributes: plain arrays and numbers."""
    state: dict[str, Any] = {"Z": found.Z, "pairs": found.pairs, "history": found.history}
    if found.reads_labels:
        state["n_confirmed"] = 0
    if in_chunks:
        state["in_chunks"] = True
    if found.worst is not None:
        state["worst_z"] = found.worst.z
        state["worst_pair"] = np.stack([found.worst.first, found.worst.second])
        state["worst_outputs"] = np.array(found.worst.outputs)
        state["worst_class"] = found.worst_class
        if found.response == "labels":
            state["worst_labels"] = found.worst_labels
    return {
        "_state": state,
        "fairness_degree_": found.degree,
        "disparities_": found.disparities,
        "n_found_": found.n_found,
        "n_inputs_": found.n_inputs,
        "n_queries_": found.n_queries,
        "seconds_": found.seconds,
        "discrimination_rate_": found.n_found / found.n_inputs if found.n_inputs else 0.0,
        "response_": found.response,
        "stop_reason_": found.stop.text,
        "stop_kind_": found.stop.kind.value,
    }


class AuditResults(StoredResults):
    """The results of a fitted auditor; a mixin of `BaseAuditor`."""

    space_: InputSpace
    estimator_: Any
    fairness_degree_: float
    disparities_: Floats
    n_found_: int
    n_inputs_: int
    n_queries_: int
    seconds_: float
    #: The table that was fitted, where it came in chunks: it may be asked about later.
    _chunks: Any = None

    def __getstate__(self) -> Any:
        state: Any = super().__getstate__()
        # Iterators and connections cannot be saved.
        return {name: value for name, value in state.items() if name != "_chunks"}

    def __dir__(self) -> list[str]:
        """Return the names of attributes, except those that would first have to ask the model.

        Displays and tab completion read every name that they find here, which must cost nothing.
        """
        names = set(object.__dir__(self))
        state = vars(self).get("_state", {})
        if "on_data" not in state:
            names -= ON_DATA
        if state.get("n_confirmed", np.inf) < len(state.get("Z", ())):
            names -= CONFIRMED
        if not {"nearest", "ranks"} <= set(state):
            names -= JUDGED
        if "domains" not in state:
            names -= ON_DATA_AND_JUDGED
        # Results of a run are all there after fit; asking each would build its table.
        results = {
            name for name, value in vars(AuditResults).items() if isinstance(value, property)
        }
        if "stop_reason_" not in vars(self):
            names -= results
        # Methods that the estimator lacks are left out.
        return sorted(name for name in names if name in results or hasattr(self, name))

    @property
    def worst_case_(self) -> Any:
        """The two twins with the largest disparity, larger output first; None if none was found."""
        state = self._result("worst_case_")
        if "worst_z" not in state:
            return None
        return self.space_.decode(
            self.space_.twins_.of_each(state["worst_z"][None], state["worst_pair"])
        )

    @property
    def worst_case_outputs_(self) -> Floats | None:
        """The model's outputs for the two twins of the worst case, shape (2,)."""
        outputs: Floats | None = self._result("worst_case_outputs_").get("worst_outputs")
        return outputs

    @property
    def worst_case_class_(self) -> Any:
        """The class of `worst_case_outputs_`; None for a regressor and for labels."""
        return self._result("worst_case_class_").get("worst_class")

    @property
    def discriminatory_inputs_(self) -> Any:
        """Unique discriminatory inputs, largest disparity first.

        Each is shown as the twin with the larger output. With ``InputSpace(plausible=...)`` it is
        shown as a plausible twin: as the input that the search proposed if that is plausible.
        Where the labels of a classifier are known to follow from its scores, the first access asks
        its `predict` about all of them.
        """
        return self._twins("discriminatory_inputs_", 0)

    @property
    def counterfactuals_(self) -> Any:
        """The other twin of each of the `discriminatory_inputs_`."""
        return self._twins("counterfactuals_", 1)

    @property
    def n_confirm_queries_(self) -> int:
        """Queries so far that asked `predict` about `discriminatory_inputs_` as they were read.

        `n_queries_` does not count them.
        """
        return int(self._result("n_confirm_queries_").get("n_confirm_queries", 0))

    def _twins(self, name: str, side: int) -> Any:
        self._result(name)
        return self.space_.decode(self._found_rows(side))

    @property
    def history_(self) -> pd.DataFrame:
        """The course of the run: queries, seconds, inputs, found, degree."""
        history = pd.DataFrame(self._result("history_")["history"])
        return history.astype({"queries": "int64", "inputs": "int64", "found": "int64"})

    # Plausible inputs -----------------------------------------------------------------------

    def _judge_of(self, name: str) -> Plausibility:
        """Return the judge of what is plausible: the space's own, or "auto" if it has none."""
        state = self._result(name)
        if self.space_.plausibility is not None:
            return self.space_.plausibility
        if "judge" not in state:
            state["judge"] = Plausibility(
                "auto", self.space_.layout, self.space_.domain, self.space_.data
            )
        judge: Plausibility = state["judge"]
        return judge

    @property
    def plausibility_(self) -> Floats:
        """Share of the rows of X that are less typical than each of `discriminatory_inputs_`.

        It is computed on first access, without a query.
        """
        judge = self._judge_of("plausibility_")
        if "ranks" not in self._state:
            self._state["ranks"] = judge.rank(self._found_rows(0))
        ranks: Floats = self._state["ranks"]
        return ranks

    @property
    def distances_(self) -> Floats:
        """Distance of each of `discriminatory_inputs_` to the nearest row of X.

        It is a mean over the columns, of |difference| / range for numbers and of 0 or 1 for
        categories. Where a column has more than 24 categories, another row may be a little nearer,
        as is also said of `nearest_rows_`. It is computed on first access, without a query.
        """
        distances: Floats = self._nearest("distances_")["distances"]
        return distances

    @property
    def nearest_rows_(self) -> Any:
        """The row of X nearest to each of `discriminatory_inputs_`, moved into the domain.

        Where a column has more than 24 categories, it is the nearest of 24 rows that are near by a
        measure in which such categories differ by about as much, and another row may be a little
        nearer: in about one of ten inputs, where several columns have a hundred categories.
        """
        return self.space_.decode(self._nearest("nearest_rows_")["rows"])

    def _nearest(self, name: str) -> dict[str, Floats]:
        judge = self._judge_of(name)
        if "nearest" not in self._state:
            places, distances = judge.nearest(self._found_rows(0))
            rows = judge.neighbours.rows[places]
            self._state["nearest"] = {"rows": rows, "distances": distances}
        nearest: dict[str, Floats] = self._state["nearest"]
        return nearest

    @property
    def fairness_degree_plausible_(self) -> float:
        """Largest disparity found among pairs with at least one plausible twin.

        With ``InputSpace(plausible=...)`` it is `fairness_degree_`. Otherwise "auto" judges the
        discriminatory inputs and the worst case on first access, which takes seconds but no query.
        It is 0 if no pair is plausible.
        """
        return self._worst_plausible("fairness_degree_plausible_")[0]

    @property
    def worst_case_plausible_(self) -> Any:
        """The two twins with the disparity `fairness_degree_plausible_`; None if it is 0.

        The larger output comes first, as in `worst_case_`.
        """
        _, twins = self._worst_plausible("worst_case_plausible_")
        return None if twins is None else self.space_.decode(twins)

    def _worst_plausible(self, name: str) -> tuple[float, Floats | None]:
        judge = self._judge_of(name)
        state = self._state
        if "worst_z" not in state:
            return 0.0, None
        worst = self.space_.twins_.of_each(state["worst_z"][None], state["worst_pair"])
        if self.space_.plausibility is not None:
            return self.fairness_degree_, worst
        if "worst_plausible" not in state:
            degree, twins = 0.0, None
            if judge.accepts(worst).any():
                degree, twins = self.fairness_degree_, worst
            else:
                # Discriminatory inputs are sorted, the worst first.
                accepted = judge.accepts(self._found_rows(0)) | judge.accepts(self._found_rows(1))
                if accepted.any():
                    place = int(accepted.argmax())
                    degree = float(self.disparities_[place])
                    twins = np.stack([self._found_rows(side)[place] for side in (0, 1)])
            state["worst_plausible"] = (degree, twins)
        degree, twins = state["worst_plausible"]
        return degree, twins

    def _found_rows(self, side: int) -> Floats:
        confirm_found(self)
        return self.space_.twins_.with_sensitive(self._state["Z"], self._state["pairs"][:, side])

    @property
    def domains_(self) -> pd.DataFrame:
        """The fairness degree in three domains: rows of X, plausible inputs, all inputs.

        Each degree is a lower bound: the largest disparity that this run has seen there. Each
        domain contains the ones before it. A run with ``InputSpace(plausible=...)`` has seen only
        the plausible part of the whole domain. The first access asks the model about the rows of X.

        Returns
        -------
        DataFrame
            One row for each domain, "rows", "plausible" and "whole", with the columns `degree`,
            `found` (unique discriminatory inputs kept, or discriminatory rows), `queries` and
            `outside`: how many rows of X, as far as they are kept, lie outside of the whole domain.
            Their disparities count for "rows" alone, and may be larger than those of the domain.
        """
        state = self._result("domains_")
        if "domains" not in state:
            judge = self._judge_of("domains_")
            on_data = self._on_data("domains_")
            # Of chunks, space_.data is a sample, in which the worst rows need not be.
            rows = np.vstack([self.space_.data, on_data["kept"].data, on_data["worst_row"]])
            disparities = np.concatenate(
                [
                    on_data["disparities"],
                    on_data["kept_disparities"],
                    np.full(len(on_data["worst_row"]), on_data["degree"]),
                ]
            )
            # Only rows inside the domain belong to the other two.
            inside = self.space_.contains(rows)
            rows, disparities = rows[inside], disparities[inside]
            plausible = self.fairness_degree_plausible_
            whole = max(self.fairness_degree_, plausible, float(disparities.max(initial=0.0)))
            # To judge a row takes time, so only those are judged that could raise the degree.
            larger = np.flatnonzero(disparities > plausible)
            likely = larger[judge.accepts(rows[larger])]
            plausible = max(plausible, float(disparities[likely].max(initial=0.0)))
            ours = judge.accepts(self._found_rows(0)) | judge.accepts(self._found_rows(1))
            state["domains"] = {
                "degree": [on_data["degree"], plausible, whole],
                "found": [on_data["n_found"], int(ours.sum()), len(ours)],
                "queries": [on_data["n_queries"], self.n_queries_, self.n_queries_],
                "outside": [int((~inside[: len(self.space_.data)]).sum()), 0, 0],
            }
        return pd.DataFrame(state["domains"], index=["rows", "plausible", "whole"])

    # The data at hand -----------------------------------------------------------------------

    @property
    def on_data_degree_(self) -> float:
        """Largest disparity among the rows of X; the first access asks the model."""
        return float(self._on_data("on_data_degree_")["degree"])

    @property
    def on_data_discriminatory_(self) -> Any:
        """The rows of X that are discriminatory; the first access asks the model."""
        on_data = self._on_data("on_data_discriminatory_")
        return on_data["kept"].rows()

    @property
    def on_data_rate_(self) -> float:
        """Share of the rows of X that are discriminatory; the first access asks the model."""
        return float(self._on_data("on_data_rate_")["rate"])

    @property
    def n_data_queries_(self) -> int:
        """Number of queries for the ``on_data_`` results, which `n_queries_` does not count."""
        return int(self._on_data("n_data_queries_")["n_queries"])

    def _on_data(self, name: str) -> dict[str, Any]:
        state = self._result(name)
        if "on_data" not in state:
            state["on_data"] = self._ask_on_data(name)
        on_data: dict[str, Any] = state["on_data"]
        return on_data

    def _ask_on_data(self, name: str) -> dict[str, Any]:
        """Compare the rows of X with their twins; of a table in chunks, keep those of a sample."""
        check_reproduced(self)
        whole: RowsSummary | None = None
        if self._result(name).get("in_chunks"):
            if self._chunks is None:
                raise ValueError(
                    f"{name} needs the rows of X, which came in chunks and are not saved with the "
                    "auditor. Read it before saving, or use audit_rows(chunks)."
                )
            whole = self._compare_chunks(self._chunks)
        in_memory = self._compare_table(self.space_.rows())
        whole = whole or in_memory
        kept = whole.kept()
        return {
            "degree": whole.degree,
            "rate": whole.n_found / max(whole.n_rows, 1),
            "n_found": whole.n_found,
            "n_queries": whole.n_queries,
            "kept": self.space_.with_data(kept.rows),
            "kept_disparities": kept.disparity,
            "worst_row": self.space_.encode(whole.worst),
            "disparities": in_memory.disparities,
        }

    def audit_rows(self, X: Any) -> RowsAudit:
        """Compare each of the given rows with its twins.

        The twins of a row have all combinations of sensitive values. If these are too many, or a
        sensitive column is real, some hundred values are compared, spread over the domain and taken
        from the data.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_rows, n_features), or such a table in chunks
            Rows with the columns and the kind of table seen in fit; they need not lie inside the
            domain. A table in chunks is an iterator of tables, a callable that returns one, a list
            of tables, the path of a Parquet file (or of a folder of such files), or a Dask
            DataFrame. It is read once, with one chunk in memory at a time.

        Returns
        -------
        RowsAudit
            Counts and the discriminatory rows. For a table in memory it also has the disparity and
            verdict of each row; for a table in chunks it keeps the worst rows.

        Raises
        ------
        ValueError
            If columns are missing or categories are unknown.
        ChunkFailedError
            If a chunk cannot be read or does not match the chunks before it. Its `result` is the
            audit of the chunks before it.
        EstimatorFailedError
            If the estimator fails, or gives a row other answers when it is asked again. For a table
            in chunks, its `result` is the audit of the chunks before the failure.
        """
        check_is_fitted(self)
        check_reproduced(self)
        chunks = as_chunks(X)
        if chunks is not None:
            return self._compare_chunks(chunks).result()
        return self._compare_table(X).result()

    def _compare_chunks(self, chunks: Chunks) -> RowsSummary:
        return compare_chunks(self.estimator_, self.space_, chunks, self._response_settings())

    def _compare_table(self, X: Any) -> RowsSummary:
        return compare_table(self.estimator_, self.space_, X, self._response_settings())

    def _response_settings(self) -> dict[str, Any]:
        raise NotImplementedError
