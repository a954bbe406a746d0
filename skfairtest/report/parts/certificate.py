"""How large the difference can get: a certificate, where the model can be read."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from skfairtest._clock import Deadline, ending
from skfairtest.finding._words import number
from skfairtest.report._context import AuditContext
from skfairtest.report.parts._bounds import CertificatePart
from skfairtest.report.parts._part import Part, Task
from skfairtest.report.parts.search.results import SearchPart


class Certificates(Part):
    """Bounds what each search may have missed."""

    result = CertificatePart
    place = 50
    needs = (SearchPart,)
    option = "certify"

    def tasks(self, context: AuditContext) -> Iterable[Task]:
        """One for all attributes together, and one for each alone."""

        def why(label: str) -> str:
            is_begun = hasattr(context.auditors.get(label), "stop_reason_")
            no_search = "" if is_begun else "there is no search to begin from"
            return context.why_not_certified or no_search

        for k, (label, _, _) in enumerate(context.taken):
            kept: list[CertificatePart] = []
            yield Task(
                CertificatePart(of=label),
                partial(certify_search, context, label, kept),
                order=(40, k),
                share=3.0 / (len(context.taken) - 1) if k else 4.0,
                why_not=partial(why, label),
                rescue=kept.pop,
                refuses=(ValueError,),
            )

    def summary(self, result: CertificatePart) -> str:
        """The bound."""
        words = "exactly" if result.certified else f"between {number(result.lower)} and"
        return f"{words} {number(result.upper)}"


def certify_search(
    context: AuditContext, label: str, kept: list[CertificatePart], deadline: Deadline
) -> CertificatePart:
    """Bound the degree from what a search found. `kept` takes what is known after Ctrl-C."""
    from skfairtest.exact._certify import bound  # imports numba

    auditor = context.auditors[label]
    with ending(deadline):  # reading a model of many columns takes long
        certificate = bound(
            auditor, context.readings, max_time=deadline.seconds, random_state=context.seed
        )
    before, is_late = context.n_queries, not deadline.left
    if (
        certificate.worst_case is not None
        and certificate.fairness_degree > auditor.fairness_degree_
    ):
        twins = auditor.space_.encode(certificate.worst_case)
        (pair,) = context.pairs(context.asked(auditor.space_), twins[:1], twins[1:])
        context.offer(label, pair, twins, "the certificate")
    lower, upper, *_ = certificate.bounds
    if context.response == "predict_proba":
        upper = min(upper, 1.0)  # the rounding of the model's sums may lead past it
    part = CertificatePart(
        of=label,
        found=certificate.found_share * upper if upper > 0 else 0.0,
        lower=lower,
        upper=upper,
        certified=certificate.certified,
        stop_reason=certificate.stop_reason,
        engine=certificate.engine,
        queries=context.n_queries - before,
        early="the gap is open" if is_late and not certificate.certified else "",
    )
    if certificate.stop_reason == "interrupted":  # it has its bounds, and the audit ends, too
        kept.append(part)
        raise KeyboardInterrupt
    return part
