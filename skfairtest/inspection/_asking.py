"""The twins of a fitted auditor and the model's outputs for them, for displays of a pair."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skfairtest._typing import Floats
from skfairtest.finding._pair import Pair, make_pair, worst_pair
from skfairtest.finding._words import name_output
from skfairtest.oracle._reproduced import asked_as_before, confirm_found


def check_auditor(auditor: Any, owner: str, needs: str = "worst_case_", *, of: str = "") -> None:
    """Raise an error unless an auditor is fitted and has what a display shows."""
    if not hasattr(type(auditor), needs):
        raise TypeError(
            f"{owner} needs {of or 'an auditor of twins, such as SBFTAuditor'}; got "
            f"{type(auditor).__name__}."
        )
    check_is_fitted(auditor)


def by_name(given: Any) -> dict[str, Any]:
    """Return one or several objects by name; a single one is named after its class."""
    if not isinstance(given, dict):
        return {type(given).__name__: given}
    if not given:
        raise ValueError("The dict is empty; pass at least one, {'name': auditor}.")
    return {str(name): value for name, value in given.items()}


def twins_of(auditor: Any, place: int | None) -> Floats | None:
    """Return the codes of two twins, shape (2, n_features), or None if there are none.

    They are the worst pair, or another one of `discriminatory_inputs_`.
    """
    state = auditor._state
    if place is None:
        if "worst_z" not in state:
            return None
        z, codes = state["worst_z"], state["worst_pair"]
        return np.asarray(auditor.space_.twins_.of_each(z[None], codes))
    whole = isinstance(place, numbers.Integral) and not isinstance(place, bool)
    if whole and place >= 0:
        confirm_found(auditor, int(place) + 1)
    n_kept = len(state["Z"])
    if not whole or not 0 <= place < n_kept:
        has = f"from 0 to {n_kept - 1}" if n_kept else "of which there are none"
        raise ValueError(
            "place must be None (the worst pair) or a position in discriminatory_inputs_, "
            f"{has}; got {place!r}."
        )
    z, codes = state["Z"][place], state["pairs"][place]
    return np.asarray(auditor.space_.twins_.of_each(z[None], codes))


def pair_at(auditor: Any, place: int | None) -> Pair | None:
    """Return a pair with its outputs, for two queries if these were not kept."""
    Z = twins_of(auditor, place)
    if Z is None:
        return None
    if auditor.response_ == "labels":
        predicted = auditor.estimator_.predict(auditor.space_.decode(Z))
        first, second = np.asarray(predicted).tolist()
        return make_pair(
            auditor.space_.decode(Z),
            outputs=None,
            output=name_output("labels"),
            difference=float(first != second),
            threshold=auditor.threshold,
            labels=(first, second),
        )
    if place is None:
        return worst_pair(auditor)
    model = asked_as_before(auditor)
    scores, _ = model.ask(Z)
    output = int(np.abs(scores[0] - scores[1]).argmax())
    order = [0, 1] if scores[0, output] >= scores[1, output] else [1, 0]
    outputs = scores[order, output]
    return make_pair(
        auditor.space_.decode(Z[order]),
        outputs=outputs,
        output=name_output(model.response, model.output_name(output)),
        difference=float(outputs[0] - outputs[1]),
        threshold=auditor.threshold,
    )
