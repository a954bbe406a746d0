"""The report as one HTML file, and as a card for notebooks."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from skfairtest.finding._card import card_css, findings_card, in_html, pair_table
from skfairtest.finding._pair import Pair
from skfairtest.report._render.blocks import FigureBlock, NoticeBlock, TableBlock
from skfairtest.report._render.findings import main_search
from skfairtest.report._render.first_page import NAMES, first_page
from skfairtest.report._render.sections import sections_of, title_of
from skfairtest.report._render.text import in_lines

NO_JINJA = (
    "The report as HTML needs jinja2, which could not be imported. Install the extra `report` "
    "(pip install 'skfairtest[report]'); to_json() and to_markdown() do without it."
)
NO_PICTURES = (
    "Pictures are left out, as matplotlib could not be imported (pip install "
    "'skfairtest[report]'). All their figures are in the tables."
)


def render_html(report: dict[str, Any]) -> str:
    """The whole report as one HTML file that loads nothing and needs no JavaScript.

    Parameters
    ----------
    report : dict
        What `AuditReport.to_dict` gives.

    Returns
    -------
    str
        HTML; the same for the same report.

    Raises
    ------
    ImportError
        If jinja2 is missing. Where matplotlib is missing, the page has no pictures and says so.
    """
    page = _environment().get_template("report.html.j2")
    return page.render(
        report=report,
        title=title_of(report),
        sections=sections_of(report),
        picture=_Pictures(),
        card_css=_markup(card_css()),
    )


def render_fragment(report: dict[str, Any]) -> str:
    """The finding as a card for a notebook; needs neither jinja2 nor matplotlib.

    Parameters
    ----------
    report : dict
        What `AuditReport.to_dict` gives.

    Returns
    -------
    str
        HTML that stands by itself.
    """
    page = first_page(report)
    # The finding is the sentence of the card.
    facts = [(name, words) for name, words in in_lines(page) if name != NAMES["found"]]
    person = main_search(report)["rows"]["person"]
    pair = main_search(report)["pair"] if person is None else person["pair"]
    return findings_card(
        title_of(report),
        page.found,
        pair=None if pair is None else Pair.from_dict(pair),
        folded=PERSON if person is not None else MADE_UP,
        facts=facts,
    )


PERSON = "A person in the table and their twin"
MADE_UP = "The two made-up inputs with the largest difference"


@lru_cache(maxsize=1)
def _environment() -> Any:
    try:
        import jinja2
    except ImportError as error:
        raise ImportError(NO_JINJA) from error
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("skfairtest.report", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["value"] = lambda value: _markup(in_html(value))
    environment.filters["pair_table"] = lambda twins: _markup(
        pair_table(twins.pair, None, (twins.first, twins.second), twins.caption)
    )
    environment.filters["parts"] = parts_of
    environment.tests["kind"] = lambda block, kind: type(block).__name__ == kind
    return environment


def _markup(html: str) -> Any:
    from markupsafe import Markup  # comes with jinja2

    return Markup(html)


def parts_of(table: TableBlock) -> list[tuple[tuple[str, ...], ...]]:
    """The rows that are shown, and those that are folded away if there are any."""
    # Two rows more are no reason to fold.
    if len(table.rows) <= table.shown + 2:
        return [table.rows]
    return [table.rows[: table.shown], table.rows[table.shown :]]


class _Pictures:
    """Draws the figures of one page; of matplotlib that is missing it tells once."""

    def __init__(self) -> None:
        self.n_drawn = 0
        self.is_told = False

    def __call__(self, figure: FigureBlock) -> Any:
        from skfairtest.report._render.plots import draw

        self.n_drawn += 1
        try:
            picture = draw(figure, f"picture-{self.n_drawn}")
        except ImportError:
            if self.is_told:
                return None
            self.is_told = True
            return NoticeBlock(NO_PICTURES)
        return picture if isinstance(picture, NoticeBlock) else _markup(picture)
