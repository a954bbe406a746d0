"""Whether a model still gives the answers that an auditor found: it may have been fitted again."""

from __future__ import annotations

from typing import Any

import numpy as np

from skfairtest.exceptions import NonDeterministicModelError
from skfairtest.oracle._compare import ROUNDING_SINGLE, compare
from skfairtest.oracle._model import Model


def check_reproduced(auditor: Any) -> None:
    """Ask the model of a fitted auditor about its worst pair again, for two queries.

    Raises
    ------
    NonDeterministicModelError
        If it gives other answers than those that the auditor has found.
    """
    state, space = auditor._state, auditor.space_
    if "worst_z" not in state:
        return
    model = Model(
        auditor.estimator_, space, response_method=auditor.response_method, n_jobs=auditor.n_jobs
    )
    model.response = auditor.response_  # asked as the audit has asked it
    scores, labels = model.ask(space.twins_.of_each(state["worst_z"][None], state["worst_pair"]))
    shown = compare(
        scores[None], labels[None], np.ones((1, 2), dtype=bool), response=model.response,
        threshold=None, single=model.single,
    )  # fmt: skip
    found, degree = float(auditor.fairness_degree_), float(shown.disparity[0])
    known, outputs = state["worst_outputs"], shown.outputs[0]
    tolerance = ROUNDING_SINGLE * max(float(np.abs(known).max()), found)
    same_class = model.output_name(int(shown.output[0])) == state["worst_class"]
    changed = same_class and bool((np.abs(outputs - known) > tolerance).any())
    if changed or abs(degree - found) > tolerance:
        raise NonDeterministicModelError(
            "The two twins of worst_case_ must get the outputs that the auditor found, "
            f"{_listed(known)}, which differ by {found:.6g}; asked again, the estimator gives "
            f"{_listed(outputs)}, which differ by {degree:.6g}. It was fitted again or "
            "changed after the audit, or it is non-deterministic. Fit the auditor again."
        )


def _listed(outputs: Any) -> str:
    return " and ".join(f"{output:.6g}" for output in outputs)
