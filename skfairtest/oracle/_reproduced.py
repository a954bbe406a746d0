"""Whether a model still gives the answers that an auditor found: it may have been fitted again."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from skfairtest.exceptions import EstimatorFailedError, NonDeterministicModelError, users_level
from skfairtest.oracle._compare import ROUNDING_SINGLE, compare
from skfairtest.oracle._model import Model


def asked_as_before(auditor: Any) -> Model:
    """Return the model of a fitted auditor, asked as the audit has asked it."""
    model = Model(
        auditor.estimator_,
        auditor.space_,
        response_method=auditor.response_method,
        n_jobs=auditor.n_jobs,
    )
    model.response = auditor.response_
    return model


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
    model = asked_as_before(auditor)
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


def confirm_found(auditor: Any, most: int | None = None) -> None:
    """Ask `predict` about the first inputs found, where it was not asked about each flip.

    Those that it denies are left out of the results, with a warning. If the model no longer gives
    the answers that were found, or fails, all are kept, with another warning.
    """
    state = auditor._state
    start, n = state.get("n_confirmed", np.inf), len(state["Z"])
    stop = n if most is None else min(most, n)
    if start >= stop:
        return
    model, Z, pairs = asked_as_before(auditor), state["Z"][start:stop], state["pairs"][start:stop]
    try:
        check_reproduced(auditor)
        labels = model.labels(auditor.space_.twins_.of_each(Z, pairs))
    except EstimatorFailedError as error:
        text = "The discriminatory inputs are shown as their scores tell: `predict` could not be "
        warnings.warn(f"{text}asked about them. {error}", UserWarning, stacklevel=users_level())
        return
    kept = np.ones(n, dtype=bool)
    kept[start:stop] = labels[::2] != labels[1::2]
    state["n_confirmed"] = int(kept[:stop].sum())
    state["n_confirm_queries"] = state.get("n_confirm_queries", 0) + model.n_rows
    if n_denied := int(n - kept.sum()):
        state["Z"], state["pairs"] = state["Z"][kept], state["pairs"][kept]
        auditor.disparities_ = auditor.disparities_[kept]
        auditor.n_found_ -= n_denied
        auditor.discrimination_rate_ = auditor.n_found_ / auditor.n_inputs_
        warnings.warn(
            f"Of {stop - start:,} discriminatory inputs whose labels were read off the scores, "
            f"`predict` gives both twins of {n_denied:,} the same label. They are left out, and "
            "n_found_ counts them no more.",
            UserWarning,
            stacklevel=users_level(),
        )


def _listed(outputs: Any) -> str:
    return " and ".join(f"{output:.6g}" for output in outputs)
