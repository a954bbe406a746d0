"""The report as one HTML file, and as a card for notebooks."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from skfairtest.finding._card import card_css, findings_card, in_html, pair_table
from skfairtest.report._types import Report
from skfairtest.report.parts import PARTS
from skfairtest.report.render.blocks import FigureBlock, NoticeBlock, Page, TableBlock
from skfairtest.report.render.first_page import NAMES, first_page
from skfairtest.report.render.sections import page_of, title_of

NO_JINJA = (
    "The report as HTML needs jinja2, which could not be imported. Install the extra `report` "
    "(pip install 'skfairtest[report]'); to_json() and to_markdown() do without it."
)
NO_PICTURES = (
    "Pictures are left out, as matplotlib could not be imported (pip install "
    "'skfairtest[report]'). All their figures are in the tables."
)


def render_html(report: Report, about: Mapping[str, str | None]) -> str:
    """The whole report as one HTML file, as `page_in_html` makes it."""
    return page_in_html(page_of(report), about)


def page_in_html(page: Page, about: Mapping[str, str | None]) -> str:
    """A page as one HTML file that loads nothing and needs no JavaScript.

    `about` may have the title of the page, the purpose of the model, its owner and the name of the
    data. The same page gives the same letters. Without matplotlib the page has no pictures.
    """
    template = _environment().get_template("report.html.j2")
    return template.render(
        page=page,
        about=about,
        picture=_Pictures(),
        card_css=_markup(card_css()),
    )


def render_fragment(report: Report) -> str:
    """The finding as a card for a notebook; needs neither jinja2 nor matplotlib."""
    page = first_page(report)
    # The finding is the sentence of the card.
    facts = [(name, words) for name, words in page.lines() if name != NAMES["found"]]
    pairs = (part.pair(report) for part in PARTS)
    folded, pair = next(filter(None, pairs), ("", None))
    found = " ".join(page.answers["found"])
    return findings_card(title_of(report), found, pair=pair, folded=folded, facts=facts)


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
        from skfairtest.report.render.plots import draw

        self.n_drawn += 1
        try:
            picture = draw(figure, f"picture-{self.n_drawn}")
        except ImportError:
            if self.is_told:
                return None
            self.is_told = True
            return NoticeBlock(NO_PICTURES)
        return picture if isinstance(picture, NoticeBlock) else _markup(picture)
