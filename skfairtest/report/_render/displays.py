"""The displays of what a report holds."""

from __future__ import annotations

from typing import Any

import pandas as pd

from skfairtest import inspection
from skfairtest.finding._pair import Pair
from skfairtest.finding._words import name_output
from skfairtest.report._known import first_maps
from skfairtest.report._measure.plain import real


def make_display(report: dict[str, Any], kind: str) -> Any:
    """The display of a kind; see `AuditReport.display`."""
    if kind not in MAKERS:
        raise ValueError(f"kind must be one of {sorted(MAKERS)}; got {kind!r}.")
    return MAKERS[kind](report)


def _pair(report: dict[str, Any]) -> Any:
    search = report["searches"][-1]
    if search["pair"] is None:
        raise ValueError(f"The report has no pair to show. {report['sentence']}")
    return inspection.PairDisplay(Pair.from_dict(search["pair"]))


def _bounds(report: dict[str, Any]) -> Any:
    rows = [
        {
            "name": search["label"],
            "found": real(_found(search)),
            "lower": real(search["degree"]),
            "upper": real(search["certificate"]["upper"]),
            "rows": real(search["rows"]["degree"]),
            "certified": search["certificate"]["certified"],
        }
        for search in report["searches"]
    ]
    return inspection.BoundsDisplay(pd.DataFrame(rows))


def _found(search: dict[str, Any]) -> Any:
    """What was found before the certificate, which may have shown more."""
    known = search["shown_by"] == "the certificate" and search["certificate"]["found"] is not None
    return search["certificate"]["found"] if known else search["degree"]


def _of_twins(report: dict[str, Any]) -> list[dict[str, Any]]:
    """The searches of attributes that the model takes."""
    searches = [search for search in report["searches"] if search["taken"]]
    if not searches:
        raise ValueError(f"The report has no twins to show. {report['sentence']}")
    return searches


def _curve(report: dict[str, Any]) -> Any:
    searches = _of_twins(report)
    curves = [pd.DataFrame({"name": s["label"], **s["rows"]["curve"]}) for s in searches]
    pair = report["searches"][-1]["pair"]
    output = pair["output"] if pair else name_output(report["model"]["response"])
    return inspection.DisparityCurveDisplay(
        pd.concat(curves, ignore_index=True), report["threshold"], output
    )


def _history(report: dict[str, Any]) -> Any:
    searches = _of_twins(report)
    histories = [pd.DataFrame({"name": s["label"], **s["history"]}) for s in searches]
    return inspection.HistoryDisplay(pd.concat(histories, ignore_index=True))


def _groups(report: dict[str, Any]) -> Any:
    groups = report["groups"]
    if not groups["rules"]:
        raise ValueError(f"The report has no groups to show: {groups['reason']}")
    return _of_rows(groups)


def _of_rows(part: dict[str, Any]) -> Any:
    words = part["metric"].replace("_", " ")
    if words == "selection rate" and part["favourable"]:
        words = f"share predicted {part['favourable']}"
    return _of_rules(part, words)


def _of_rules(part: dict[str, Any], measure: str, counted: str = "rows") -> Any:
    table = pd.DataFrame(part["rules"])
    table.attrs["n_groups"] = part["n_rules"]
    return inspection.GroupScoresDisplay(
        table, part["confidence"], part["correction"], measure, counted
    )


def _perturbed_groups(report: dict[str, Any]) -> Any:
    part = report["perturbed_groups"]
    if part is None or not part["rules"]:
        why = "give audit(groups=TestSGDAuditor())" if part is None else part["reason"]
        raise ValueError(f"The report has no groups of perturbed inputs to show: {why}")
    favourable = part["favourable"]
    words = "mean prediction" if favourable == "mean" else f"share predicted {favourable}"
    return _of_rules(part, words, "perturbed inputs")


def _errors(report: dict[str, Any]) -> Any:
    """Of the first metric whose groups were compared."""
    parts = [part for part in report["errors"] if part["rules"]]
    if not parts:
        why = "; ".join(dict.fromkeys(part["reason"] for part in report["errors"]))
        raise ValueError(f"The report has no errors by group to show: {why}")
    return _of_rows(parts[0])


def _selection(report: dict[str, Any]) -> Any:
    selection = report["selection"]
    if not selection["rows"]:
        raise ValueError(f"The report has no selection table to show: {selection['reason']}")
    table = pd.DataFrame(selection["rows"], columns=selection["columns"])
    table.attrs["confidence"] = selection["confidence"]
    return inspection.SelectionDisplay(table)


def _moved(report: dict[str, Any]) -> Any:
    """Of the attribute with the largest share, the first map that was done."""
    parts = first_maps(report["moved"])
    if not parts:
        why = "; ".join(dict.fromkeys(part["reason"] for part in report["moved"]))
        raise ValueError(f"The report has no moved twins to show: {why or 'moved=False'}")
    part = max(parts, key=lambda one: real(one["rate"]))
    flips, columns = pd.DataFrame(part["flips"]), pd.DataFrame(part["columns"])
    return inspection.FlipTestDisplay(flips, columns, confidence=0.95)  # of a report's intervals


MAKERS = {
    "pair": _pair,
    "bounds": _bounds,
    "curve": _curve,
    "history": _history,
    "groups": _groups,
    "selection": _selection,
    "errors": _errors,
    "perturbed_groups": _perturbed_groups,
    "moved": _moved,
}
