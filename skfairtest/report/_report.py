"""AuditReport holds what an audit found, and shows and saves it in several forms."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pandas as pd
from msgspec.structs import replace

from skfairtest._clock import Deadline
from skfairtest._progress import make_progress
from skfairtest.base import BaseAuditor
from skfairtest.exceptions import NoDisparityWarning, users_level
from skfairtest.finding._pair import Pair
from skfairtest.group._base import GroupAuditor
from skfairtest.report._compare import compare_reports
from skfairtest.report._context import AuditContext, in_words
from skfairtest.report._describe import (
    describe_data,
    describe_domain,
    describe_favourable,
    describe_model,
    repeating_code,
    versions,
)
from skfairtest.report._figures import real
from skfairtest.report._limits import Limits, check_limits
from skfairtest.report._run import chosen_parts, rescued, run_tasks
from skfairtest.report._types import (
    SCHEMA_VERSION,
    Completed,
    Cost,
    LimitsOutcome,
    PartResult,
    R,
    Report,
)
from skfairtest.report._writing import write_file
from skfairtest.report.parts import PARTS, part_named, written_report
from skfairtest.report.parts.groups import GroupsPart
from skfairtest.report.parts.selection.results import SelectionPart
from skfairtest.report.parts.twins.results import TwinsPart, together
from skfairtest.report.render.first_page import headline, render_so_far, render_text
from skfairtest.report.render.sections import NOT_SHOWN
from skfairtest.space._dates import ANY_DATE, iso


class AuditReport:
    """Report of an audit, as plain data and in the forms that people read.

    Parameters
    ----------
    data : Report
        What was found, typed: `skfairtest.report` describes it, and `results` gives its parts.
    auditors : dict of str to auditor, default=None
        The fitted auditors, by the labels of their searches. "groups" and each metric of errors
        have a `SubgroupAuditor`; "groups of perturbed inputs" has the `TestSGDAuditor` that was
        given, if there was one. "moved: sex (quantile)" has the `FlipTestAuditor` of an attribute
        and a map.
    context : AuditContext, default=None
        The model, the rows and what was predicted for them, for `measure` and for the next audit.

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
    out numbers and shares of people. The domain, and the inputs that are made up within it, show
    the smallest and largest value of each column: give ``InputSpace(bounds=...)`` where these are
    nobody's business.

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
        data: Report,
        *,
        auditors: dict[str, BaseAuditor | GroupAuditor] | None = None,
        context: AuditContext | None = None,
    ) -> None:
        self._data = data
        self.auditors = auditors or {}
        self._context = context

    @property
    def context(self) -> AuditContext:
        """The model, the rows and what was predicted for them.

        Raises
        ------
        ValueError
            If the report was read from a file, which has neither.
        """
        if self._context is None:
            raise ValueError(
                "Expected a report that audit made in this process; this one was read from a file, "
                "which holds neither the model nor its predictions. Run audit again."
            )
        return self._context

    def __getstate__(self) -> dict[str, Any]:
        return {"json": self._encoded("worst").decode(), "auditors": self.auditors}

    def __setstate__(self, state: dict[str, Any]) -> None:
        AuditReport.__init__(self, read_report(state["json"]), auditors=state["auditors"])

    # Reading ---------------------------------------------------------------------------------

    @property
    def status(self) -> Completed:
        """Status of the audit: "complete", "ended early", "interrupted" or "failed".

        It "ended early" if a part ran out of time, and "failed" if a part failed.
        """
        return self._data.status

    @property
    def sentence(self) -> str:
        """The finding: of the people in the table, then of all inputs in the domain."""
        return self._data.sentence

    @property
    def fairness_degree(self) -> float:
        """Largest difference found in the domain for all sensitive attributes; NaN if not measured.

        Rows of the data that lie outside of the domain may show larger ones: see `on_data_degree`.
        """
        return real(together(self._data).known.degree)

    @property
    def on_data_degree(self) -> float:
        """Largest difference among the rows of data, in the domain or not; NaN if not measured."""
        return real(together(self._data).rows.degree)

    @property
    def upper_bound(self) -> float:
        """Upper bound of all differences in the domain; NaN if the model could not be certified."""
        return real(together(self._data).known.upper)

    @property
    def on_data_rate(self) -> float:
        """Share of the rows of data that are discriminatory; NaN without a threshold."""
        return real(together(self._data).rows.rate)

    @property
    def person(self) -> pd.DataFrame | None:
        """The row of data whose answer changes most, and its twin, as the rows of a table.

        A row that gets another label than its twin comes before any other. None if there is none.
        """
        person = together(self._data).rows.person
        return None if person is None else self._as_rows(person.pair)

    @property
    def worst_case(self) -> pd.DataFrame | None:
        """The two twins with the largest difference in the domain, as the rows of a table.

        It has the columns and dtypes of the data, so that the model can be asked about it;
        ``display("pair")`` shows what changes and what matters. None if no difference was found.
        """
        pair = together(self._data).known.pair
        return None if pair is None else self._as_rows(pair)

    @property
    def selection_table(self) -> pd.DataFrame:
        """The selection table. It is empty if there is none."""
        return self._data.first(SelectionPart).frame()

    @property
    def group_rules(self) -> pd.DataFrame:
        """The groups of rows that differ most, with simultaneous intervals; `n_inside` are rows."""
        return pd.DataFrame(map(msgspec.structs.asdict, self._data.first(GroupsPart).rules))

    @property
    def parts(self) -> pd.DataFrame:
        """The parts of the audit: part, status, reason, queries, seconds, notes."""
        names = ("status", "reason", "queries", "seconds", "notes")
        return pd.DataFrame(
            [
                {"part": part.name, **{name: getattr(part, name) for name in names}}
                for part in self._data.parts
            ]
        )

    def results(self, kind: type[R]) -> list[R]:
        """Return the results of all parts of a kind, as objects.

        Parameters
        ----------
        kind : type
            A type of results of `skfairtest.report.parts`, such as `RowsPart`.

        Returns
        -------
        list
            One result for each thing that the parts are about, in the order in which they ran.
        """
        return self._data.all_of(kind)

    @property
    def limits(self) -> LimitsOutcome | None:
        """What the limits of `with_limits` say of it; None if none were given."""
        return self._data.limits

    def without_people(self, rows: str) -> AuditReport:
        """Return the same report without rows of people, or without numbers of people as well.

        Parameters
        ----------
        rows : {"worst", "counts", "none"}
            What to keep of the rows of people. "worst" keeps the worst of them. "counts" leaves out
            all values of people. "none" leaves out numbers and shares of people, too; figures about
            the model, such as the largest difference, its bound and impact ratios, stay.

        Returns
        -------
        AuditReport
            A report without auditors, like one that was read from a file.
        """
        return AuditReport(with_words(self._data.without_people(rows)))

    def __repr__(self) -> str:
        return render_text(self._data)

    def _repr_html_(self) -> str:
        """The finding as a card, for notebooks; asks the model nothing."""
        from skfairtest.report.render.html import render_fragment

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
        makers = {name: make for one in PARTS for name, make in one.displays.items()}
        if kind not in makers:
            raise ValueError(f"kind must be one of {sorted(makers)}; got {kind!r}.")
        return makers[kind](self._data)

    # Handing over ----------------------------------------------------------------------------

    def to_dict(self, *, rows: str = "worst") -> dict[str, Any]:
        """Return the report as a dict of plain values, described by ``report/schema/v2.json``.

        Parameters
        ----------
        rows : {"worst", "counts", "none"}, default="worst"
            What to keep of the rows of people: the worst of them, only counts of people, or
            neither. See the notes of `AuditReport`.

        Returns
        -------
        dict
            A copy of the data. Unknown values are None.
        """
        found: dict[str, Any] = msgspec.json.decode(
            msgspec.json.encode(self.without_people(rows)._data)
        )
        return found

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
        try:
            text = msgspec.json.encode(data, enc_hook=plain)
        except (TypeError, ValueError) as error:
            raise ValueError(f"Expected the dict of AuditReport.to_dict; got {error}.") from error
        return cls(read_report(text))

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
        """
        text = self._encoded(rows).decode()
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
        """
        is_json = isinstance(path, str) and path.lstrip().startswith("{")
        return cls(read_report(path if is_json else Path(path).read_bytes()))

    def to_html(
        self,
        *,
        rows: str = "worst",
        title: str | None = None,
        purpose: str | None = None,
        owner: str | None = None,
        data: str | None = None,
    ) -> str:
        """Return the report as one HTML page that loads nothing from outside.

        Parameters
        ----------
        rows : {"worst", "counts", "none"}, default="worst"
            What to keep of the rows of people, as in `to_dict`.
        title, purpose, owner, data : str, default=None
            What stands at the head of the page: its title, what the model is used for, who answers
            for it, and the name of the data.

        Returns
        -------
        str
            The page.

        Raises
        ------
        ImportError
            If jinja2 is missing (the extra ``report``); `to_json` and `to_markdown` do not need it.
        """
        from skfairtest.report.render.html import render_html

        about = {"title": title, "purpose": purpose, "owner": owner, "data": data}
        return render_html(self.without_people(rows)._data, about)

    def save_html(
        self,
        path: Any,
        *,
        rows: str = "worst",
        title: str | None = None,
        purpose: str | None = None,
        owner: str | None = None,
        data: str | None = None,
    ) -> None:
        """Write the report as one HTML file, which loads nothing from outside.

        Parameters
        ----------
        path : str or path
            File to write. An existing file is replaced.
        rows, title, purpose, owner, data : str, default=None
            As in `to_html`.

        Raises
        ------
        ImportError
            If jinja2 is missing (the extra ``report``); `to_json` and `to_markdown` do not need it.
        OSError
            If the file cannot be written.
        """
        page = self.to_html(rows=rows, title=title, purpose=purpose, owner=owner, data=data)
        write(path, page)

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
        from skfairtest.report.render.markdown import render_markdown

        return render_markdown(self.without_people(rows)._data)

    def add_to_model_card(
        self, card: Any, section: str = "Fairness audit", *, rows: str = "none"
    ) -> Any:
        """Add the report to a model card of skops.

        Parameters
        ----------
        card : skops.card.Card
            The model card that is changed.
        section : str, default="Fairness audit"
            Heading of the section. A "/" separates headings from subheadings.
        rows : {"worst", "counts", "none"}, default="none"
            What to keep of the rows of people, as in `to_dict`. Cards are published, so that
            neither people nor numbers of them are there unless this says so.

        Returns
        -------
        skops.card.Card
            The card.
        """
        from skfairtest.report.render.markdown import add_to_card

        return add_to_card(self.without_people(rows)._data, card, section)

    # Measuring more --------------------------------------------------------------------------

    def measure(
        self, part: str, *, max_time: float | None = 60, progress: Any = "auto", **options: Any
    ) -> AuditReport:
        """Add a part that the audit has not measured, without asking again what was asked.

        Parameters
        ----------
        part : str
            What to measure: "moved", "certificate", "groups", "search", ... as the first words of
            `parts` name it. Parts that it needs and that are not there yet are measured as well.
        max_time : float, default=60
            Time limit in seconds. None sets no limit.
        progress : "auto", bool, callback or list of callbacks, default="auto"
            As in `audit`.
        **options : dict
            `moved`, `certify` and `groups` as in `audit`; those that the audit was given, if not.

        Returns
        -------
        AuditReport
            A report with the part. Its cost is that of both together.

        Raises
        ------
        ValueError
            If there is no such part, or the report was read from a file.

        Examples
        --------
        >>> from skfairtest import SBFTAuditor, audit
        >>> from skfairtest.datasets import make_biased_classification
        >>> data = make_biased_classification(random_state=0)
        >>> report = audit(
        ...     data.estimator, data.data, auditor=SBFTAuditor(max_queries=500), groups=False,
        ...     moved=False, favourable="yes", random_state=0, progress=False,
        ... )
        >>> more = report.measure("groups", progress=False)
        >>> len(report.group_rules), len(more.group_rules) > 0
        (0, True)
        """
        chosen = part_named(part)
        context = self.context.again()
        name = chosen.option
        if name and name not in options and getattr(context.options, name) is False:
            options[name] = True
        context.options = context.options._replace(**options)
        context.results[:] = [one for one in context.results if type(one) is not chosen.result]
        if not any(True for _ in chosen.tasks(context)):
            raise ValueError(
                f"The part {part!r} has nothing to measure here. Say with {name or 'audit'}= what "
                "it is to measure, such as groups=TestSGDAuditor()."
            )
        shown = make_progress(progress)
        shown.page = page_so_far(context, [chosen.result])
        run_tasks(context, [chosen.result], shown, Deadline.after(max_time))
        return report_of(context)

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
            limit. The figures are the same. Without any limit, one whose page names none.
        """
        outcome = self.check(limits, **named)
        data = replace(self._data, limits=outcome if outcome.checks else None)
        return AuditReport(data, auditors=self.auditors, context=self._context)

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
          even outside the domain, and at most the certified upper bound. Without a certificate it
          is never within a limit.
        - In attributes that the model does not take, differences between twins are 0 by
          construction. Limits on groups still apply to these attributes.
        - The share of discriminatory rows is exact if all rows were compared with all their twins.
          Of a sample of the rows it has a 95% interval (Clopper and Pearson's); where rows were
          compared with some of their twins only, it is a lower bound.
        - Scores and impact ratios of groups have 95% intervals that hold for all groups at once, in
          the population that the rows are a sample of. The limit is exceeded if some group is known
          to break it, and within if every group is known to keep to it.
        - With ``within=True`` the impact ratio is the smallest one that is pooled within the strata
          of `control_features`, of any two groups in both directions. Where a group that has an
          impact ratio has none within strata, the limit is not within.
        - The share of people who get another decision when they are moved is that of the attribute
          with the largest one. Where an attribute has no share, the limit is not within.

        So the probability of calling a figure within its limit although it breaks the limit is at
        most 2.5%, and so is that of calling it exceeded although it keeps to the limit. If a figure
        was not measured at all, its limit is undecided. Groups that are too small are named.

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
        if limits is not None and named:
            raise TypeError(
                f"Give Limits(...) or limits by name, not both; got {sorted(named)} too."
            )
        return check_limits(self._data, Limits(**named) if limits is None else limits)

    def _encoded(self, rows: str) -> bytes:
        return msgspec.json.encode(self.without_people(rows)._data)

    def _as_rows(self, pair: Pair) -> pd.DataFrame:
        no_dtypes: list[Any] = [None] * len(pair.cells)
        dtypes = self._data.data.dtypes or no_dtypes
        columns = [
            pd.Series([cell.first, cell.second], dtype=dtype)
            for cell, dtype in zip(pair.cells, dtypes, strict=True)
        ]
        names: Any = [cell.name for cell in pair.cells]
        table = pd.concat(columns, axis=1, keys=names)
        # Of a column of categories only the space knows those that are not here.
        known = (a.space_ for a in self.auditors.values() if isinstance(a, BaseAuditor))
        space = next(known, None) if self._data.data.dtypes else None
        return table if space is None else space.decode(space.encode(table))


def report_of(context: AuditContext) -> AuditReport:
    """Make the report of what the parts have found."""
    known = context.result(TwinsPart, context.twins[-1].label)
    auditor = context.auditors.get(known.of)
    # Parts keep their warnings to themselves; that none has shown a difference the user is told.
    if auditor is not None and hasattr(auditor, "stop_reason_") and known.degree == 0:
        warnings.warn(auditor._no_disparity(), NoDisparityWarning, stacklevel=users_level())
    return AuditReport(finished(_written(context)), auditors=context.auditors, context=context)


def page_so_far(
    context: AuditContext, wanted: Iterable[type[PartResult]] | None
) -> Callable[[int], list[str]]:
    """Make a function that gives the first page of an audit with these parts while it runs.

    It may be called from another thread: it asks the model nothing, and what the audit goes on from
    stays as it is.
    """
    described: list[Report] = []

    def page(width: int) -> list[str]:
        if "model" not in vars(context):  # to get to know it is to ask it
            return []
        now = context.again()
        tasks = [task for part in chosen_parts(wanted) for task in part.tasks(now)]
        results = {
            task.blank.name: replace(task.blank, status="left out", reason="not yet")
            for task in tasks
        }
        results |= {one.name: one for one in now.results}
        results |= {task.blank.name: rescued(now, task) for task in tasks if task.is_last_word}
        described[:] = described or [_written(now)]
        favourable = describe_favourable(now, now.result(SelectionPart).favourable)
        report = replace(described[0], parts=list(results.values()), favourable=favourable)
        return render_so_far(report, width)

    return page


def _written(context: AuditContext) -> Report:
    """The report but for its sentences."""
    favourable = context.result(SelectionPart).favourable
    return Report(
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        model=describe_model(context),
        data=describe_data(context),
        domain=describe_domain(context),
        sensitive_features=[in_words(name) for name in context.sensitive_names],
        threshold=context.template.threshold,
        favourable=describe_favourable(context, favourable),
        parts=list(context.results),
        cost=Cost(sum(part.queries for part in context.results), context.seconds, context.max_time),
        seed=context.seed,
        settings={
            "auditor": repr(context.template),
            **{name: repr(value) for name, value in context.options._asdict().items()},
            "n_jobs": context.n_jobs,
        },
        versions=versions(),
        code=repeating_code(context.template, context.given),
        not_shown=NOT_SHOWN,
    )


def finished(report: Report) -> Report:
    """The report of measurements with what follows from its parts.

    Values are as JSON has them, so that a report that is read from a file equals this one.
    """
    return read_report(msgspec.json.encode(with_words(report), enc_hook=plain))


def with_words(report: Report) -> Report:
    """The report with what follows from its parts: its status, why it is that, and its sentence."""
    status, reason = _status(report.parts)
    whole = replace(report, status=status, reason=reason)
    return replace(whole, sentence=headline(whole))


def _status(parts: list[PartResult]) -> tuple[Completed, str]:
    if any(part.status == "interrupted" for part in parts):
        return "interrupted", "interrupted by the user"
    for part in parts:
        if part.status == "failed":
            return "failed", f"{part.name}: {part.reason}"
    early = [f"{part.name}: {part.early}" for part in parts if part.early]
    return ("ended early", "; ".join(early)) if early else ("complete", "")


def plain(value: Any) -> Any:
    """A value that JSON does not know, such as a number of NumPy, as one that it knows."""
    if isinstance(value, np.generic) and not isinstance(value, ANY_DATE):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if pd.api.types.is_scalar(value) and pd.isna(value):
        return None
    return iso(value) if isinstance(value, ANY_DATE) else str(value)


class _Version(msgspec.Struct):
    """What version of the schema a file has; 0 where it does not say so."""

    schema: Any = 0


def read_report(text: Any) -> Report:
    """Read a report from JSON; the error for any other text names what is wrong with it."""
    try:
        version = msgspec.json.decode(text, type=_Version).schema
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ValueError(
            f"Expected the JSON that AuditReport.to_json wrote; got no report ({error})."
        ) from error
    if version != SCHEMA_VERSION:
        raise ValueError(
            f"Expected a report of schema {SCHEMA_VERSION}, as AuditReport.to_json writes it; got "
            f"schema {version!r}. Make the report again with this version of skfairtest."
        )
    try:
        report = msgspec.json.decode(text, type=written_report())
        if not report.all_of(TwinsPart):  # which all that is said begins with
            raise msgspec.ValidationError("no part says what is known of twins")
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ValueError(
            f"The report is not as AuditReport.to_json writes it: {error}. Give the whole file."
        ) from error
    return report


def write(path: Any, text: str) -> None:
    """Write a text file, and replace an existing one."""
    try:
        write_file(path, text)
    except OSError as error:
        raise type(error)(
            f"{str(path)!r} cannot be written: {error.strerror or error}. Give a path in a folder "
            "that exists and may be written to."
        ) from error
