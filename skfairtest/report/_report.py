"""AuditReport: what an audit found, to read, to save and to hand over."""

from __future__ import annotations

import copy
import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import pandas as pd

from skfairtest.base import BaseAuditor
from skfairtest.group._base import GroupAuditor
from skfairtest.report._compare import compare_reports
from skfairtest.report._limits import Limits, Outcome, check_limits
from skfairtest.report._measure.plain import real
from skfairtest.report._render.text import render_text

SCHEMA_VERSION = 1


class AuditReport:
    """What `audit` found, as plain data and in the forms that people read.

    Parameters
    ----------
    data : dict
        The report as `to_dict` returns it.
    auditors : dict of str to auditor, default=None
        The fitted auditors, by the label of their search; "groups" and the metrics of
        errors have a `SubgroupAuditor` each, and "groups of perturbed inputs" is the one that was
        given, if so.

    Attributes
    ----------
    auditors : dict of str to auditor
        As given; empty for a report that was read from a file.

    See Also
    --------
    audit : Makes a report.
    check_limits : Compares a report with limits.

    Notes
    -----
    A report can be saved by skops like an auditor (``trusted=skfairtest.io.TRUSTED_TYPES``); the
    file then holds the auditors with the model and the rows of the data. `to_json` and `save_html`
    hold the figures, the pairs found and the worst ten rows of the data, which are rows of people:
    mind who gets them.

    Examples
    --------
    >>> from skfairtest import SBFTAuditor, audit
    >>> from skfairtest.datasets import make_biased_regression
    >>> data = make_biased_regression(random_state=0)
    >>> quick = SBFTAuditor(max_queries=2000)
    >>> report = audit(data.estimator, data.data, auditor=quick, random_state=0, progress=False)
    >>> report.sentence.split(":")[0]
    'Two inputs that differ only in sex get different outputs'
    """

    def __init__(
        self,
        data: dict[str, Any],
        *,
        auditors: dict[str, BaseAuditor | GroupAuditor] | None = None,
    ) -> None:
        self._data = data
        self.auditors = auditors or {}

    # Reading ---------------------------------------------------------------------------------

    @property
    def status(self) -> str:
        """Whether the audit is "complete", "ended early", "interrupted" or "failed" in a part.

        It ended early where its time did not allow a part to do all of what it does.
        """
        return str(self._data["status"])

    @property
    def sentence(self) -> str:
        """The finding in one sentence."""
        return str(self._data["sentence"])

    @property
    def fairness_degree(self) -> float:
        """Largest difference known in the domain for all sensitive attributes; NaN if not measured.

        Rows of the data outside of the domain may show more: `on_data_degree`.
        """
        return real(self._data["searches"][-1]["degree"])

    @property
    def on_data_degree(self) -> float:
        """Largest difference among the rows of data, in the domain or not; NaN if not measured."""
        return real(self._data["searches"][-1]["rows"]["degree"])

    @property
    def upper_bound(self) -> float:
        """No difference in the domain is larger; NaN where the model could not be certified."""
        return real(self._data["searches"][-1]["bracket"]["upper"])

    @property
    def on_data_rate(self) -> float:
        """Share of the rows of data that are discriminatory; NaN where no threshold says which."""
        return real(self._data["searches"][-1]["rows"]["rate"])

    @property
    def worst_case(self) -> pd.DataFrame | None:
        """The two twins of the finding: one row a column of theirs, changed ones first.

        Columns `first`, `second`, `changed` and `matters` (by how much the difference changes with
        a typical value in that column); None where no difference was found.
        """
        pair = self._data["searches"][-1]["pair"]
        if pair is None:
            return None
        table = pd.DataFrame(pair["cells"]).set_index("name")
        return table.sort_values(["changed", "matters"], ascending=False, kind="stable")

    @property
    def selection_table(self) -> pd.DataFrame:
        """The selection table; empty where there is none."""
        selection = self._data["selection"]
        return pd.DataFrame(selection["rows"], columns=selection["columns"])

    @property
    def group_rules(self) -> pd.DataFrame:
        """The groups of rows that differ most, with simultaneous intervals; `n_inside` are rows."""
        return pd.DataFrame(self._data["groups"]["rules"])

    @property
    def parts(self) -> pd.DataFrame:
        """What ran: part, status, reason, queries, seconds, notes."""
        return pd.DataFrame(self._data["parts"])

    def __repr__(self) -> str:
        """The finding, the whole pair, the bracket and the cost."""
        return render_text(self._data)

    def _repr_html_(self) -> str:
        """The finding as a card, for notebooks; asks the model nothing."""
        from skfairtest.report._render.html import render_fragment

        return render_fragment(self._data)

    def display(self, kind: str) -> Any:
        """A picture of the report; ``report.display("bracket").plot()`` draws it.

        Parameters
        ----------
        kind : {"pair", "bracket", "curve", "history", "groups", "selection", "errors", \
                "perturbed_groups"}
            The pair of the finding; what was found and what is certified; the share of rows that
            exceed each difference; the course of the searches; groups of rows with their intervals;
            rates by group; groups with the largest errors, of the first metric that has some
            (`GroupScoresDisplay.from_auditor` draws the others, from `auditors`); groups of
            perturbed inputs, where a `TestSGDAuditor` was given.

        Returns
        -------
        display
            From `skfairtest.inspection`; it asks the model nothing.

        Raises
        ------
        ValueError
            If the report has no such part; the message says why.
        """
        from skfairtest.report._render.displays import make_display

        return make_display(self._data, kind)

    # Handing over ----------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """The report as a dict of plain values, as ``report/schema/v1.json`` describes it.

        Returns
        -------
        dict
            A copy; what is not known is None.
        """
        return copy.deepcopy(self._data)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> AuditReport:
        """The report of a dict, without the auditors.

        Parameters
        ----------
        data : dict
            As `to_dict` returned it.

        Returns
        -------
        AuditReport
            The report.

        Raises
        ------
        ValueError
            If the dict is no report, or of another version of the schema.
        """
        found = data.get("schema") if isinstance(data, dict) else None
        if found != SCHEMA_VERSION:
            raise ValueError(
                f"Expected a report of schema {SCHEMA_VERSION}, as AuditReport.to_dict returns it; "
                f"got {'schema ' + repr(found) if isinstance(data, dict) else type(data).__name__}."
            )
        missing = [name for name in required_keys() if name not in data]
        if missing:
            raise ValueError(
                f"The report lacks {missing}. Give a dict as AuditReport.to_dict returns it, whole."
            )
        return cls(copy.deepcopy(data))

    def to_json(self, path: Any = None) -> str | None:
        """The report as JSON.

        Parameters
        ----------
        path : str or path, default=None
            Where to write it; a file that is there is replaced. None returns it as a string.

        Returns
        -------
        str or None
            The JSON, if there is no path.

        Raises
        ------
        OSError
            If the file cannot be written.
        """
        text = json.dumps(self._data, ensure_ascii=False, allow_nan=False)
        if path is None:
            return text
        write(path, text + "\n")
        return None

    @classmethod
    def from_json(cls, path: Any) -> AuditReport:
        """Read a report that `to_json` wrote, without the auditors.

        Parameters
        ----------
        path : str or path
            The file.

        Returns
        -------
        AuditReport
            The report.

        Raises
        ------
        ValueError
            If the file holds no report, or one of another version of the schema.
        OSError
            If the file cannot be read.
        """
        return cls.from_dict(json.loads(Path(path).read_text(encoding="utf-8")))

    def to_html(self) -> str:
        """The report as one HTML page that loads nothing from outside.

        Returns
        -------
        str
            The page.

        Raises
        ------
        ImportError
            If jinja2 is missing (the extra ``report``).
        """
        from skfairtest.report._render.html import render_html

        return render_html(self._data)

    def save_html(self, path: Any) -> None:
        """Write the report as one HTML file: nothing is loaded from outside, it prints and mails.

        Parameters
        ----------
        path : str or path
            Where to write it; a file that is there is replaced.

        Raises
        ------
        ImportError
            If jinja2 is missing (the extra ``report``); `to_json` and `to_markdown` need it not.
        OSError
            If the file cannot be written.
        """
        write(path, self.to_html())

    def to_markdown(self) -> str:
        """The report as Markdown, with tables as GitHub reads them.

        Returns
        -------
        str
            The text.
        """
        from skfairtest.report._render.markdown import render_markdown

        return render_markdown(self._data)

    def add_to_model_card(self, card: Any, section: str = "Fairness audit") -> Any:
        """Add the report to a model card of skops.

        Parameters
        ----------
        card : skops.card.Card
            Is changed.
        section : str, default="Fairness audit"
            Heading; with "/" one below another.

        Returns
        -------
        skops.card.Card
            The card.

        Raises
        ------
        TypeError
            If `card` is no model card.
        """
        from skfairtest.report._render.model_card import add_to_card

        return add_to_card(self._data, card, section)

    # Judging ---------------------------------------------------------------------------------

    def compare(self, other: AuditReport, *, names: tuple[str, str] = ("this", "other")) -> Any:
        """Two reports side by side: before and after mitigation, or two models.

        Parameters
        ----------
        other : AuditReport
            Of the same kind of model, on the same domain and with the same threshold; where these
            differ, `attrs["notes"]` says so.
        names : tuple of two str, default=("this", "other")
            What the two are called.

        Returns
        -------
        DataFrame
            One row a figure: both values, their ends (bracket or interval) where there are any, the
            change, and what is known of it (`says`).

        Raises
        ------
        TypeError
            If `other` is no report.
        """
        if not isinstance(other, AuditReport):
            raise TypeError(f"Expected an AuditReport; got {type(other).__name__}.")
        return compare_reports(self._data, other._data, names)

    def check(self, limits: Limits) -> Outcome:
        """Compare the report with limits, by `check_limits`.

        Parameters
        ----------
        limits : Limits
            What is allowed.

        Returns
        -------
        Outcome
            Whether the figures are within them, each with what is known of it.
        """
        return check_limits(self, limits)


def required_keys() -> list[str]:
    """What a report has at least, by its schema."""
    schema = files("skfairtest.report").joinpath(f"schema/v{SCHEMA_VERSION}.json")
    keys: list[str] = json.loads(schema.read_text(encoding="utf-8"))["required"]
    return keys


def write(path: Any, text: str) -> None:
    """Write a text file, in place of the one that is there."""
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise type(error)(
            f"{str(path)!r} cannot be written: {error.strerror or error}. Give a path in a folder "
            "that exists and may be written to."
        ) from error
