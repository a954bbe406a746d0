"""How large the difference can get: a certificate, where the model can be read."""

from __future__ import annotations

from skfairtest import _clock
from skfairtest.finding._words import number
from skfairtest.report._data import CertificatePart
from skfairtest.report._measure.case import Case


def certify_search(case: Case, label: str, seconds: float | None) -> CertificatePart:
    """Bracket what a search found, from below and from above."""
    from skfairtest.exact._certify import bound  # imports numba

    auditor, began = case.auditors[label], _clock.now()
    certificate = bound(auditor, case.readings, max_time=seconds, random_state=case.seed)
    out_of_time = seconds is not None and _clock.now() - began >= seconds
    before = case.n_queries
    if (
        certificate.worst_case is not None
        and certificate.fairness_degree > auditor.fairness_degree_
    ):
        twins = auditor.space_.encode(certificate.worst_case)
        (pair,) = case.pairs(case.asked(auditor.space_), twins[:1], twins[1:])
        case.offer(label, pair, twins, "the certificate")
    lower, upper, *_ = certificate.bounds
    if case.response == "predict_proba":
        upper = min(upper, 1.0)  # the rounding of the model's sums may lead past it
    words = "exactly" if certificate.certified else f"between {number(lower)} and"
    return CertificatePart(
        found=certificate.found_share * upper if upper > 0 else 0.0,
        lower=lower,
        upper=upper,
        certified=certificate.certified,
        stop_reason=certificate.stop_reason,
        engine=certificate.engine,
        queries=case.n_queries - before,
        summary=f"{words} {number(upper)}",
        early="the bracket is open" if out_of_time and not certificate.certified else "",
    )


def why_not(case: Case) -> str:
    """Why the model cannot be certified; empty where it can."""
    from skfairtest.whitebox._readers import check_model

    try:
        check_model(case.estimator, case.response)
    except ValueError as error:
        return str(error)
    return ""
