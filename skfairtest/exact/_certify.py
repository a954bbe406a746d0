"""certify bounds the fairness degree, starting from what another auditor found."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import wraps
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from skfairtest import _clock
from skfairtest.base import BaseAuditor
from skfairtest.exact._auditor import COMPILED, check_certificate_params, check_seconds
from skfairtest.exact._bounding import close, closed_as, note_root_bound
from skfairtest.exact._bounds import Bounds
from skfairtest.exact._dispatch import read_verifier
from skfairtest.exact._verifier import BoundHistory, SolverLimits
from skfairtest.finding._fitted_cards import certificate_card
from skfairtest.oracle._handle import SearchHandle
from skfairtest.oracle._model import Model
from skfairtest.oracle._reproduced import check_reproduced
from skfairtest.oracle._run import get_to_know
from skfairtest.oracle._stop import StopSearch
from skfairtest.whitebox.registry import Readings


@dataclass(frozen=True)
class Certificate:
    """Bounds of the true fairness degree; `certify` returns them.

    Attributes
    ----------
    bounds : Bounds
        Both bounds and what counts as agreement, from which the next four follow.
    fairness_degree : float
        Largest disparity known: a lower bound of the true one.
    fairness_degree_upper_bound : float
        Upper bound: no disparity in the domain is larger.
    gap : float
        The upper bound minus the fairness degree.
    certified : bool
        Whether the bounds agree: to `rtol`, or to the rounding of a model that computes in single
        precision, if that is below 1e-4 of the bound; `stop_reason` then says how large.
    found_share : float
        The largest disparity that the auditor had found, as a share of the upper bound; 1 if both
        are 0.
    worst_case : array or DataFrame of shape (2, n_features), or None
        The two twins with the largest known disparity; the one with the larger output comes first.
    seconds : float
        Time that the certificate took.
    stop_reason : str
        Why the search ended.
    engine : str
        What searched for the bound of a model of trees, "numpy" or "numba"; empty where no boxes
        were searched.
    worst_case_outputs : ndarray of shape (2,), or None
        The model's outputs for the two twins; None if it predicts labels only.
    worst_case_class : label, or None
        The class whose probability or score these outputs are; None for a regressor and for labels.
    response : str
        How the model was asked, as in the auditor's `response_`.
    bound_history : DataFrame
        The bounds over time: seconds, boxes, degree, bound, as a `CertifiedAuditor` has it.

    See Also
    --------
    certify : Makes certificates.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import Ridge
    >>> from skfairtest import Certificate, RandomAuditor, certify
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> auditor = RandomAuditor(Ridge().fit(X, y), sensitive_features="sex", random_state=0)
    >>> isinstance(certify(auditor.fit(X)), Certificate)
    True
    """

    bounds: Bounds
    found_share: float
    worst_case: Any
    seconds: float
    stop_reason: str
    engine: str = ""
    worst_case_outputs: Any = None
    worst_case_class: Any = None
    response: str = "unknown"
    bound_history: Any = None

    @property
    def fairness_degree(self) -> float:
        """Largest disparity known."""
        return self.bounds.lower

    @property
    def fairness_degree_upper_bound(self) -> float:
        """Upper bound: no disparity in the domain is larger."""
        return self.bounds.upper

    @property
    def gap(self) -> float:
        """The upper bound minus the fairness degree."""
        return self.bounds.gap

    @property
    def certified(self) -> bool:
        """Whether the bounds agree."""
        return self.bounds.certified

    def _repr_html_(self) -> str:
        """Return the card that notebooks show."""
        return certificate_card(self)


def _of_an_auditor(function: Callable[..., Certificate]) -> Callable[..., Certificate]:
    """The function, which says what to write where it is called as if it made the auditor."""

    @wraps(function)
    def called(*given: Any, **named: Any) -> Certificate:
        first = given[0] if given else named.get("auditor")
        if len(given) == 1 - ("auditor" in named) and isinstance(first, BaseAuditor):
            return function(*given, **named)
        raise TypeError(
            f"certify takes one fitted auditor and no table; got {type(first).__name__}"
            f"{f' and {len(given) - 1} more' * (len(given) > 1)}. Write CertifiedAuditor(model, "
            "sensitive_features='sex').fit(X), which searches and certifies, or "
            "certify(SBFTAuditor(model, sensitive_features='sex').fit(X))."
        )

    return called


@_of_an_auditor
def certify(
    auditor: BaseAuditor,
    *,
    max_time: float | None = 60.0,
    rtol: float = 1e-9,
    engine: str = "auto",
    random_state: int | None = 0,
) -> Certificate:
    """Bound the fairness degree, starting from the best pair that an auditor found.

    Parameters
    ----------
    auditor : BaseAuditor
        A fitted auditor. Its space, its estimator and its best pair are used; it is not changed.
    max_time : float, default=60.0
        Time limit in seconds, which includes reading the model. With 0 the bound follows from the
        ranges of the model's parts alone. With None the search goes on until the bounds agree.
    rtol : float, default=1e-9
        Relative gap up to which the bounds count as equal.
    engine : {"auto", "numba", "numpy"}, default="auto"
        Library that runs the branch and bound on trees, as for `CertifiedAuditor`.
    random_state : int, default=0
        Seed of the rows on which the model as it was read is compared with the model itself.

    Returns
    -------
    Certificate
        The bounds. After Ctrl-C they are those that are known by then, with the `stop_reason`
        "interrupted"; while the model is read, none is known, and Ctrl-C is raised.

    Raises
    ------
    ValueError
        If the estimator, or a step before it, cannot be certified.
    NonDeterministicModelError
        If the estimator, asked again about the best pair, gives other answers: it was fitted again
        or changed after the audit, or it is non-deterministic.
    NotFittedError
        If the auditor is not fitted.

    See Also
    --------
    CertifiedAuditor : Searches and certifies.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.ensemble import RandomForestRegressor
    >>> from skfairtest import RandomAuditor, certify
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> model = RandomForestRegressor(10, max_depth=4, random_state=0).fit(X, y)
    >>> auditor = RandomAuditor(model, sensitive_features="sex", random_state=0).fit(X)
    >>> certificate = certify(auditor)
    >>> certificate.certified, bool(certificate.found_share <= 1)
    (True, True)
    """
    return bound(
        auditor, Readings(), max_time=max_time, rtol=rtol, engine=engine,
        random_state=random_state, stalls=False,
    )  # fmt: skip


def bound(
    auditor: BaseAuditor,
    readings: Readings,
    *,
    max_time: float | None,
    rtol: float = 1e-9,
    engine: str = "auto",
    random_state: int | None = 0,
    stalls: bool = True,
) -> Certificate:
    """Do what `certify` does, with models that were read before.

    - `stalls`: whether to end before the time where the bounds hardly move any more.
    """
    check_is_fitted(auditor)
    check_seconds("max_time", max_time)
    check_certificate_params(rtol, engine)
    began = _clock.now()
    deadline = np.inf if max_time is None else began + float(max_time)
    limits = SolverLimits(deadline, rtol, stalls=stalls)
    space, method = auditor.space_, auditor.response_method
    model = Model(auditor.estimator_, space, response_method=method, n_jobs=auditor.n_jobs)
    search = SearchHandle(model, space, threshold=auditor.threshold)
    rng = np.random.default_rng(random_state)
    get_to_know(search, space.data[:64], rng)
    state = auditor._state
    if "worst_z" in state:
        check_reproduced(auditor)
        with suppress(StopSearch):  # a space of one input is exhausted at once
            search.evaluate(state["worst_z"][None], state["worst_pair"][None])
    verifier, _ = read_verifier(
        auditor.estimator_, auditor.space_.relax_descendants(), search.response, COMPILED[engine],
        rng, auditor.n_jobs, limits.deadline, readings,
    )  # fmt: skip
    found = search.so_far.degree
    history = BoundHistory(lambda: _clock.now() - began)
    note_root_bound(search, verifier, history)
    try:
        closed = close(search, verifier, limits, history)
    except KeyboardInterrupt:
        closed = closed_as(search, verifier, "time", rtol, history)._replace(reason="interrupted")
    bounds, seconds = closed.bounds, _clock.now() - began
    history.end(bounds, seconds)
    worst = outputs = of_class = None
    if search.worst is not None:
        pair = np.stack([search.worst.first, search.worst.second])
        worst = auditor.space_.decode(auditor.space_.twins_.of_each(search.worst.z[None], pair))
        if search.response != "labels":
            outputs = np.array(search.worst.outputs)
        of_class = model.output_name(search.worst.output)
    return Certificate(
        bounds,
        found_share=found / bounds.upper if bounds.upper > 0 else 1.0,
        worst_case=worst,
        seconds=seconds,
        stop_reason=closed.reason,
        engine=closed.engine,
        worst_case_outputs=outputs,
        worst_case_class=of_class,
        response=search.response,
        bound_history=pd.DataFrame(history.points),
    )
