"""AuditReport holds what an audit found, and shows and saves it in several forms."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pandas as pd

from skfairtest._writing import write_file
from skfairtest.base import BaseAuditor
from skfairtest.group._base import GroupAuditor
from skfairtest.report._compare import compare_reports
from skfairtest.report._data import SCHEMA_VERSION, LimitsGiven, Report
from skfairtest.report._limits import Limits, LimitsOutcome, check_limits
from skfairtest.report._measure.plain import plain, real, unlike
from skfairtest.report._render.text import render_text
from skfairtest.report._without_rows import without_rows


class AuditReport:
    """Report of an audit, as plain data and in the forms that people read.

    Parameters
    ----------
    data : dict
        The report as `to_dict` returns it.
    auditors : dict of str to auditor, default=None
        The fitted auditors, by the labels of their searches. "groups" and each metric of errors
        have a `SubgroupAuditor`; "groups of perturbed inputs" has the `TestSGDAuditor` that was
        given, if there was one. "moved: sex (quantile)" has the `FlipTestAuditor` of an attribute
        and a map.

    Attributes
    ----------
    auditors : dict of str to auditor
        The fitted auditors. Empty for a report that was read from a file.

    See Also
    --------
    audit : Audits a model and returns a report.
    Limits : What `check` compares the figures with.

    Notes
    -----
    A report can be saved by skops like an auditor (``trusted=skfairtest.io.TRUSTED_TYPES``); the
    file then holds the auditors with the model and the rows of the data. The files of `to_json` and
    `save_html` hold the figures, the pairs found and the ten worst rows of the data. These are data
    of real people, so take care who gets the files: ``rows="counts"`` leaves out all rows, and all
    inputs of the search that equal a row but for the sensitive columns; ``rows="none"`` also leaves
    out how many people of which group would get what.

    Examples
    --------
    >>> from skfairtest import SBFTAuditor, audit
    >>> from skfairtest.datasets import make_biased_regression
    >>> data = make_biased_regression(random_state=0)
    >>> quick = SBFTAuditor(max_queries=500)
    >>> report = audit(
    ...     data.estimator, data.data, auditor=quick, groups=False, moved=False, random_state=0,
    ...     progress=False,
    ... )
    >>> report.sentence.partition(" would")[0]
    '67 of the 1,000 people in the table'
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
        """Status of the audit: "complete", "ended early", "interrupted" or "failed".

        It "ended early" if a part ran out of time, and "failed" if a part failed.
        """
        return str(self._data["status"])

    @property
    def sentence(self) -> str:
        """The finding: of the people in the table, then of all inputs in the domain."""
        return str(self._data["sentence"])

    @property
    def fairness_degree(self) -> float:
        """Largest difference found in the domain for all sensitive attributes; NaN if not measured.

        Rows of the data that lie outside of the domain may show larger ones: see `on_data_degree`.
        """
        return real(self._data["searches"][-1]["degree"])

    @property
    def on_data_degree(self) -> float:
        """Largest difference among the rows of data, in the domain or not; NaN if not measured."""
        return real(self._data["searches"][-1]["rows"]["degree"])

    @property
    def upper_bound(self) -> float:
        """Upper bound of all differences in the domain; NaN if the model could not be certified."""
        return real(self._data["searches"][-1]["certificate"]["upper"])

    @property
    def on_data_rate(self) -> float:
        """Share of the rows of data that are discriminatory; NaN without a threshold."""
        return real(self._data["searches"][-1]["rows"]["rate"])

    @property
    def person(self) -> pd.DataFrame | None:
        """The row of data whose answer changes most, and its twin, as the rows of a table.

        A row that gets another label than its twin comes before any other. None if there is none.
        """
        person = self._data["searches"][-1]["rows"]["person"]
        return self._twins(None if person is None else person["pair"])

    @property
    def worst_case(self) -> pd.DataFrame | None:
        """The two twins with the largest difference in the domain, as the rows of a table.

        It has the columns and dtypes of the data, so that the model can be asked about it;
        ``display("pair")`` shows what changes and what matters. None if no difference was found.
        """
        return self._twins(self._data["searches"][-1]["pair"])

    @property
    def selection_table(self) -> pd.DataFrame:
        """The selection table. It is empty if there is none."""
        selection = self._data["selection"]
        return pd.DataFrame(selection["rows"], columns=selection["columns"])

    @property
    def group_rules(self) -> pd.DataFrame:
        """The groups of rows that differ most, with simultaneous intervals; `n_inside` are rows."""
        return pd.DataFrame(self._data["groups"]["rules"])

    @property
    def parts(self) -> pd.DataFrame:
        """The parts of the audit: part, status, reason, queries, seconds, notes."""
        return pd.DataFrame(self._data["parts"])

    def __repr__(self) -> str:
        """The first page of the report, in ten paragraphs."""
        return render_text(self._data)

    def _repr_html_(self) -> str:
        """The finding as a card, for notebooks; asks the model nothing."""
        from skfairtest.report._render.html import render_fragment

        return render_fragment(self._data)

    def display(self, kind: str) -> Any:
        """Make a display of the report; ``report.display("bounds").plot()`` draws it.

        Parameters
        ----------
        kind : {"pair", "bounds", "curve", "history", "groups", "selection", "errors", \
                "perturbed_groups", "moved"}
            What to show, in this order: the pair of the finding; the largest difference found and
            its upper bound; the share of rows that exceed each difference; the course of the
            searches; groups of rows with their intervals; rates by group; groups with the largest
            errors by the first metric of errors that was compared
            (`GroupScoresDisplay.from_auditor` draws the other metrics, from `auditors`); groups of
            perturbed inputs, if a `TestSGDAuditor` was given; people whose decision changes with
            all that goes along with an attribute, the one with the largest share.

        Returns
        -------
        display
            A display of `skfairtest.inspection`. It does not ask the model.

        Raises
        ------
        ValueError
            If the report does not have this part. The message says why.
        """
        from skfairtest.report._render.displays import make_display

        return make_display(self._data, kind)

    # Handing over ----------------------------------------------------------------------------

    def to_dict(self, *, rows: str = "worst") -> dict[str, Any]:
        """Return the report as a dict of plain values, described by ``report/schema/v1.json``.

        Parameters
        ----------
        rows : {"worst", "counts", "none"}, default="worst"
            What to keep of the rows of people: the worst of them, only counts of people, or
            neither. See the notes of `AuditReport`.

        Returns
        -------
        dict
            A copy of the data. Unknown values are None.

        Raises
        ------
        ValueError
            If `rows` is another word.
        """
        return without_rows(copy.deepcopy(self._data), rows)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> AuditReport:
        """Make a report from a dict, without the auditors.

        Parameters
        ----------
        data : dict
            The dict that `to_dict` returned.

        Returns
        -------
        AuditReport
            The report.

        Raises
        ------
        ValueError
            If the dict is not a report, or has another version of the schema.
        """
        found = data.get("schema") if isinstance(data, dict) else None
        if found != SCHEMA_VERSION:
            raise ValueError(
                f"Expected a report of schema {SCHEMA_VERSION}, as AuditReport.to_dict returns it; "
                f"got {'schema ' + repr(found) if isinstance(data, dict) else type(data).__name__}."
            )
        if wrong := unlike(data, Report):
            raise ValueError(
                f"The report {wrong}. Pass the whole dict that AuditReport.to_dict returned."
            )
        return cls(copy.deepcopy(data))

    def to_json(self, path: Any = None, *, rows: str = "worst") -> str | None:
        """Return the report as JSON, or write it to a file.

        Parameters
        ----------
        path : str or path, default=None
            File to write. An existing file is replaced. None returns the JSON as a string.
        rows : {"worst", "counts", "none"}, default="worst"
            What to keep of the rows of people, as in `to_dict`.

        Returns
        -------
        str or None
            The JSON if `path` is None.

        Raises
        ------
        OSError
            If the file cannot be written.
        """
        text = json.dumps(self.to_dict(rows=rows), ensure_ascii=False, allow_nan=False)
        if path is None:
            return text
        write(path, text + "\n")
        return None

    @classmethod
    def from_json(cls, path: Any) -> AuditReport:
        """Read a report that `to_json` wrote or returned, without the auditors.

        Parameters
        ----------
        path : str or path
            The file, or the JSON itself: a string that begins with "{".

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
        is_json = isinstance(path, str) and path.lstrip().startswith("{")
        text = path if is_json else Path(path).read_text(encoding="utf-8")
        return cls.from_dict(json.loads(text))

    def to_html(self, *, rows: str = "worst") -> str:
        """Return the report as one HTML page that loads nothing from outside.

        Parameters
        ----------
        rows : {"worst", "counts", "none"}, default="worst"
            What to keep of the rows of people, as in `to_dict`.

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

        return render_html(self.to_dict(rows=rows))

    def save_html(self, path: Any, *, rows: str = "worst") -> None:
        """Write the report as one HTML file, which loads nothing from outside.

        Parameters
        ----------
        path : str or path
            File to write. An existing file is replaced.
        rows : {"worst", "counts", "none"}, default="worst"
            What to keep of the rows of people, as in `to_dict`.

        Raises
        ------
        ImportError
            If jinja2 is missing (the extra ``report``); `to_json` and `to_markdown` do not need it.
        OSError
            If the file cannot be written.
        """
        write(path, self.to_html(rows=rows))

    def to_markdown(self, *, rows: str = "worst") -> str:
        """Return the report as Markdown, with tables as GitHub reads them.

        Parameters
        ----------
        rows : {"worst", "counts", "none"}, default="worst"
            What to keep of the rows of people, as in `to_dict`.

        Returns
        -------
        str
            The text.
        """
        from skfairtest.report._render.markdown import render_markdown

        return render_markdown(self.to_dict(rows=rows))

    def add_to_model_card(
        self, card: Any, section: str = "Fairness audit", *, rows: str = "counts"
    ) -> Any:
        """Add the report to a model card of skops.

        Parameters
        ----------
        card : skops.card.Card
            The model card that is changed.
        section : str, default="Fairness audit"
            Heading of the section. A "/" separates headings from subheadings.
        rows : {"worst", "counts", "none"}, default="counts"
            What to keep of the rows of people, as in `to_dict`. Cards are published.

        Returns
        -------
        skops.card.Card
            The card.

        Raises
        ------
        TypeError
            If `card` is not a model card.
        """
        from skfairtest.report._render.model_card import add_to_card

        return add_to_card(self.to_dict(rows=rows), card, section)

    # Judging ---------------------------------------------------------------------------------

    def compare(self, other: AuditReport, *, names: tuple[str, str] = ("this", "other")) -> Any:
        """Compare with another report, such as that of a mitigated model.

        Parameters
        ----------
        other : AuditReport
            The other report. It should be about the same kind of model, the same domain and the
            same threshold; if these differ, `attrs["notes"]` says so.
        names : tuple of two str, default=("this", "other")
            Names of the two reports in the table.

        Returns
        -------
        DataFrame
            One row per figure, with both values, the bounds of their intervals if there are any,
            the change, and what is known of the change (`says`).

        Raises
        ------
        TypeError
            If `other` is not a report.
        """
        if not isinstance(other, AuditReport):
            raise TypeError(f"Expected an AuditReport; got {type(other).__name__}.")
        return compare_reports(self._data, other._data, names)

    def with_limits(self, limits: Limits | None = None, **named: Any) -> AuditReport:
        """Return the same report with its outcome for these limits on the first page.

        Parameters
        ----------
        limits : Limits, default=None
            The limits. None takes those that are named.
        **named : float or bool
            Parameters of `Limits`: ``with_limits(max_degree=0.3)``.

        Returns
        -------
        AuditReport
            A report whose page, card, text and files say "pass", "fail" or "undecided" for each
            limit. The figures are the same.
        """
        limits = _limits(limits, named)
        outcome = check_limits(self, limits)
        given = LimitsGiven(
            outcome.status, outcome.verdict, limits.estimates_decide, outcome.checks
        )
        return AuditReport({**self._data, "limits": plain(given)}, auditors=self.auditors)

    def check(self, limits: Limits | None = None, **named: Any) -> LimitsOutcome:
        """Compare the report with limits, and decide whether each of them holds.

        Parameters
        ----------
        limits : Limits, default=None
            The limits. None takes those that are named.
        **named : float or bool
            Parameters of `Limits`: ``check(max_degree=0.3)``.

        Returns
        -------
        LimitsOutcome
            Whether each figure is within its limit, and what is known of the figure: the status,
            one check per limit, and a verdict in words.

        Raises
        ------
        TypeError
            If `limits` is not a `Limits` object.
        ValueError
            If a limit needs a figure that the report cannot have: the share of discriminatory rows
            needs a threshold if the model is a regressor.

        Notes
        -----
        The interval of a figure decides, not its measured value alone:

        - The largest difference is at least the one that a search found or a row of the data shows,
          even if the row lies outside the domain (the auditor's `space`). It is at most the
          certified upper bound. Without a certificate it is never within a limit.
        - If the model does not take the sensitive attributes, the largest difference and the share
          of discriminatory rows are 0 by construction. Limits on groups still apply to these
          attributes.
        - The share of discriminatory rows is exact if all rows were compared with all their twins.
          If a sample of the rows was compared, it has a 95% interval (Clopper and Pearson's); if
          rows were compared with some of their twins only, it is a lower bound.
        - Scores and impact ratios of groups have 95% intervals that hold for all groups at once, in
          the population that the rows are a sample of. The limit is exceeded if some group is known
          to break it, and within if every group is known to keep to it. There is no limit on groups
          of perturbed inputs.
        - The share of people who get another decision when they are moved is that of the attribute
          with the largest one. Where an attribute has no share, as it has no groups or there was no
          time, the limit is not within, and undecided if the others do not exceed it. Groups of too
          few rows are named as well.

        So the probability of calling a figure within its limit although it breaks the limit is at
        most 2.5%, and so is the probability of calling it exceeded although it keeps to the limit.
        If a figure was not measured at all, its limit is undecided. Groups that are too small to be
        compared are named.

        Examples
        --------
        >>> from skfairtest import Limits, SBFTAuditor, audit
        >>> from skfairtest.datasets import make_biased_classification
        >>> data = make_biased_classification(random_state=0)
        >>> quick = SBFTAuditor(max_queries=2000)
        >>> report = audit(
        ...     data.estimator, data.data, auditor=quick, favourable="yes", random_state=0,
        ...     moved=False, progress=False,
        ... )
        >>> report.check(Limits(max_degree=0.0)).status
        'exceeded'
        >>> report.check(Limits(max_degree=0.9)).status  # nothing larger found, nor ruled out
        'undecided'
        """
        return check_limits(self, _limits(limits, named))

    def _twins(self, pair: dict[str, Any] | None) -> pd.DataFrame | None:
        """Both inputs of a pair as rows."""
        if pair is None:
            return None
        dtypes = self._data["data"]["dtypes"] or [None] * len(pair["cells"])
        columns = [
            pd.Series([cell["first"], cell["second"]], dtype=dtype)
            for cell, dtype in zip(pair["cells"], dtypes, strict=True)
        ]
        table = pd.concat(columns, axis=1, keys=[cell["name"] for cell in pair["cells"]])
        # Of a column of categories only the space knows those that are not here.
        known = (a.space_ for a in self.auditors.values() if isinstance(a, BaseAuditor))
        space = next(known, None) if self._data["data"]["dtypes"] else None
        return table if space is None else space.decode(space.encode(table))


def _limits(limits: Limits | None, named: dict[str, Any]) -> Limits:
    """The limits that were given, as an object or by their names."""
    if limits is not None and named:
        raise TypeError(f"Give Limits(...) or limits by name, not both; got {sorted(named)} too.")
    return Limits(**named) if limits is None else limits


def write(path: Any, text: str) -> None:
    """Write a text file, and replace an existing one."""
    try:
        write_file(path, text)
    except OSError as error:
        raise type(error)(
            f"{str(path)!r} cannot be written: {error.strerror or error}. Give a path in a folder "
            "that exists and may be written to."
        ) from error
