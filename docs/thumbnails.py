"""Makes the thumbnails of the gallery: each picture again, for few inches and readable letters.

A picture of an example that is only made smaller has letters that nobody can read. Its figure is
therefore drawn a second time at the size of a thumbnail, without what needs much room: the title
(that of the example stands below it), legends, and rows beyond the first ones.
"""

from __future__ import annotations

import textwrap
from pathlib import Path

#: Inches, letters in points, and rows of a thumbnail, and pixels per inch.
SIZE, POINTS, ROWS, DPI = (3.6, 2.5), 9, 4, 200
#: Letters of a name that have room beside the axes, and of a line along an axis.
NAME, WORDS = 20, 30


def draw(block, block_vars, gallery_conf):
    """Save the figures of a block of code, and the first of an example as its thumbnail."""
    import matplotlib.pyplot as plt
    from sphinx_gallery.scrapers import matplotlib_scraper

    figures = [plt.figure(number) for number in plt.get_fignums()]
    text = matplotlib_scraper(block, block_vars, gallery_conf)
    chosen = block_vars["file_conf"]
    if figures and not {"thumbnail_number", "thumbnail_path"} & set(chosen):
        source = Path(block_vars["src_file"])
        folder = Path(block_vars["target_file"]).parent / "images"
        path = folder / f"small_{source.stem}.png"
        shrink(figures[0])
        figures[0].savefig(path, dpi=DPI)
        chosen["thumbnail_path"] = str(path)
    return text


def shrink(figure):
    """Change a figure so that it can be read at the size of a thumbnail."""
    from matplotlib.text import Text

    for words in figure.findobj(Text):
        words.set_fontsize(POINTS)
    figure.suptitle("")
    for legend in [*figure.legends, *(ax.get_legend() for ax in figure.axes)]:
        if legend is not None:
            legend.remove()
    if len(figure.axes) > 2:
        for ax in figure.axes[1:]:
            ax.remove()
        figure.axes[0].set_subplotspec(figure.add_gridspec()[0])
    for ax in figure.axes:
        tidy(ax)
        if len(figure.axes) > 1:
            ax.set(xlabel="", xticks=[])
    figure.set_size_inches(SIZE)


def tidy(ax):
    """Shorten what stands on axes and around them."""
    ax.set_title("")
    ax.set_ylabel(two_lines(ax.get_ylabel()), parse_math=False)
    ax.set_xlabel(two_lines(ax.get_xlabel()), parse_math=False)
    for words in ax.texts:
        words.set_visible(len(words.get_text()) <= NAME and "\n" not in words.get_text())
    if ax.axison:
        keep_first_rows(ax)
    elif len(ax.child_axes) > 1:
        keep_first_panel(ax)
    else:
        keep_top_of_card(ax)


def keep_first_panel(ax):
    """Give all the room to the first of several panels within axes."""
    first, *others = ax.child_axes
    for other in others:
        other.remove()
    first.set_axes_locator(lambda axes, renderer: ax.get_position())
    tidy(first)


def two_lines(words):
    """Break the label of an axis, and leave out what follows the second line."""
    return textwrap.fill(words, WORDS, max_lines=2, placeholder=" …")


def keep_first_rows(ax):
    """Keep the first rows of axes with names, without the words beside the axes."""
    from matplotlib.ticker import FixedLocator

    if not isinstance(ax.yaxis.get_major_locator(), FixedLocator):
        return
    names = [label.get_text().replace("\n", " ") for label in ax.get_yticklabels()]
    for words in ax.texts:
        if getattr(words, "xy", words.get_position())[0] > 1:
            words.set_visible(False)
    if len(names) > ROWS:
        ax.set_ylim(ROWS - 0.4, -0.6)
        names = names[:ROWS]
    names = [name if len(name) <= NAME else f"{name[: NAME - 1].rstrip()}…" for name in names]
    ax.set_yticks(range(len(names)), names, parse_math=False)


def keep_top_of_card(ax):
    """Keep the first rows of a card, which has its rows at 0, 1, ... from the top."""
    end = 4.6 + ROWS
    ax.set_ylim(min(end, max(ax.get_ylim())), 0)
    for words in ax.texts:
        if words.get_position()[1] >= end:
            words.set_visible(False)
