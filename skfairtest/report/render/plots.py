"""Pictures of a report: the displays of `skfairtest.inspection` as SVG inside of the page.

Text stays text, in the font of the page. Colours are the page's, so that they follow light and dark
mode; nothing is loaded from outside, and the same report gives the same letters.
"""

from __future__ import annotations

import re
from html import escape
from typing import Any

from skfairtest.finding._words import message_of
from skfairtest.report.render.blocks import FigureBlock, NoticeBlock

#: What is drawn in these colours takes the page's: ink and paper.
INK, PAPER = "#010203", "#fdfcfb"
#: Okabe's and Ito's colours, of which the page has a lighter or darker shade of each for its mode.
NAMED = {
    INK: "currentColor", PAPER: "var(--paper)", "#000000": "currentColor", "#ffffff":
    "var(--paper)", "#0072b2": "var(--blue)", "#d55e00": "var(--red)", "#009e73": "var(--green)",
    "#cc79a7": "var(--pink)", "#e69f00": "var(--amber)", "#56b4e9": "var(--sky)",
    "#7f8891": "var(--soft)",
}  # fmt: skip

_RC: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "skfairtest",
    "font.family": ["sans-serif"],
    "font.size": 10.5,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "legend.labelcolor": INK,
    "grid.color": INK,
    "axes.facecolor": PAPER,
    "figure.facecolor": PAPER,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "figure.dpi": 100,
}


def draw(figure: FigureBlock, key: str) -> str | NoticeBlock:
    """The figure as an SVG for the page, or a word on why there is none.

    Ids begin with the key, another for each figure of the page. Needs matplotlib.
    """
    import matplotlib as mpl
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure as Canvas

    # The user's own style is none of the report's business.
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(_RC)
        try:
            # Inches: so narrow that letters can be read on a phone, where the picture is as wide as
            # the page.
            canvas = Canvas(figsize=(6.2, figure.height), layout="constrained")
            FigureCanvasSVG(canvas)
            figure.display().plot(ax=canvas.subplots(), **figure.how)
            return svg_of(canvas, key, figure.alt)
        except Exception as error:  # a picture is no reason to lose the report
            why = f"{type(error).__name__}: {message_of(error)}"
            return NoticeBlock(f"Picture – failed: {why}. Its figures are in the tables.")


# From matplotlib's SVG to one for a page -------------------------------------------------------


def svg_of(canvas: Any, key: str, alt: str) -> str:
    """A figure of matplotlib as an ``<svg>`` for the page."""
    import io
    import warnings

    from matplotlib.text import Text

    for text in canvas.findobj(Text):
        text.set_fontfamily("sans-serif")  # the page has its own fonts for all scripts
    out = io.StringIO()
    with warnings.catch_warnings():
        # The page's fonts have letters that matplotlib's lack.
        warnings.filterwarnings("ignore", message="Glyph .* missing from", category=UserWarning)
        # Not savefig, which draws twice; what lies behind is the page.
        canvas.patch.set_visible(False)
        for axes in canvas.axes:
            axes.patch.set_visible(False)
        canvas.canvas.print_svg(out, metadata={"Date": None})
    svg = out.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->|<style .*?</style>", "", svg, flags=re.S)
    size = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg)
    assert size is not None
    width, height = size.groups()
    _, _, body = svg.partition(">")
    body = re.sub(r"<[^>]*>", lambda tag: _tag_for_page(tag[0]), body)
    body = _own_ids(re.sub(r">\s+<", "><", body), key)
    return (
        f'<svg class="plot" role="img" aria-labelledby="{key}-title" '
        f'viewBox="0 0 {width} {height}"><title id="{key}-title">{escape(alt)}</title>'
        f"{body.strip()}"
    )


def _tag_for_page(tag: str) -> str:
    if tag.startswith("<image"):
        return tag.replace("\n", "")
    tag = re.sub(r"font: (?:[\w-]+ )*?([\d.]+px) [^;\"]*", r"font-size: \1", tag)
    tag = re.sub(r"font-family: [^;\"]*;?", "", tag)
    tag = re.sub(r"#[0-9a-f]{6}\b", lambda color: NAMED.get(color[0], color[0]), tag)
    tag = re.sub(r"-?\d+\.\d{2,}", lambda number: _short(float(number[0])), tag)
    return re.sub(r"\s+", " ", tag)


def _short(number: float) -> str:
    return f"{number:.2f}".rstrip("0").rstrip(".")


def _own_ids(svg: str, key: str) -> str:
    """Ids that are referred to begin with the key; the others go."""
    used = set(re.findall(r"(?:url\(#|href=\"#)([^)\"]+)", svg))
    svg = re.sub(r' id="([^"]*)"', lambda at: f' id="{key}-{at[1]}"' if at[1] in used else "", svg)
    return re.sub(r"(url\(#|href=\"#)", rf"\g<1>{key}-", svg)
