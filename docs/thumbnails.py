"""Makes the thumbnails of the gallery: each picture again, for few inches and readable letters.

A picture of an example that is only made smaller has letters that nobody can read. Its figure is
therefore drawn a second time at the size of a thumbnail, without what needs much room: the title
(that of the example stands below it), long remarks, and rows beyond the first ones. Legends stay,
as nobody knows what colours mean without them; they stand above the axes.
"""

from __future__ import annotations

import textwrap
from pathlib import Path

import numpy as np

#: Inches, letters in points, and rows of a thumbnail, and pixels per inch.
SIZE, POINTS, ROWS, DPI = (3.6, 2.5), 9, 4, 200
#: Letters of a name that have room beside the axes, of a line along an axis, and of a whole line.
NAME, WORDS, LINE = 20, 30, 46


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
    named = {}
    for legend in [*figure.legends, *(ax.get_legend() for ax in figure.axes)]:
        if legend is not None:
            words = [text.get_text() for text in legend.get_texts()]
            named.update(zip(words, legend.legend_handles, strict=True))
            legend.remove()
    if len(figure.axes) > 2:
        for ax in figure.axes[1:]:
            ax.remove()
        figure.axes[0].set_subplotspec(figure.add_gridspec()[0])
    for ax in figure.axes:
        tidy(ax)
        if len(figure.axes) > 1:
            ax.set_xticks([])
            ax.set_xlabel(textwrap.fill(ax.get_xlabel(), WORDS // 2 + 2), parse_math=False)
    if named:
        legend_above(figure, named)
    figure.set_size_inches(SIZE)


def legend_above(figure, named):
    """Put one legend above all axes, in as many columns as have room."""
    names = [textwrap.shorten(name, LINE - 8, placeholder=" …") for name in named]
    # A sign and the gaps beside it are as wide as six letters; a column is filled before the next.
    ncols = max(
        n
        for n in range(1, len(names) + 1)
        if n == 1 or sum(6 + max(map(len, part)) for part in np.array_split(names, n)) <= LINE
    )
    box = figure.legend(
        named.values(), names, loc="outside upper center", ncols=ncols, frameon=False,
        fontsize=POINTS, handlelength=1.4, handletextpad=0.5, columnspacing=1.0, labelspacing=0.2,
        borderpad=0.1, borderaxespad=0.1,
    )  # fmt: skip
    for words in box.get_texts():
        words.set_parse_math(False)


def tidy(ax):
    """Shorten what stands on axes and around them."""
    ax.set_title("")
    ax.set_ylabel(two_lines(ax.get_ylabel()), parse_math=False)
    ax.set_xlabel(two_lines(ax.get_xlabel()), parse_math=False)
    for words in ax.texts:
        text = words.get_text()
        if ax.axison and len(text) > NAME and "\n" not in text and not is_beside(ax, words):
            words.set_text(text := textwrap.shorten(text, NAME, placeholder=" …"))
        words.set_visible(len(text) <= NAME and "\n" not in text)
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


def two_lines(words, letters=WORDS):
    """Break words into lines of so many letters, and leave out what follows the second line."""
    return textwrap.fill(words, letters, max_lines=2, placeholder=" …")


def is_beside(ax, words):
    """Tell whether words have a place on the axes, and none among the data."""
    if hasattr(words, "xycoords"):
        return words.xycoords != "data"
    return words.get_transform() != ax.transData


def keep_first_rows(ax):
    """Keep the first rows of axes with names, without the words beside the axes."""
    from matplotlib.ticker import FixedLocator

    if not isinstance(ax.yaxis.get_major_locator(), FixedLocator):
        return
    names = [label.get_text().replace("\n", " ") for label in ax.get_yticklabels()]
    # A row has room for one line of a name, and where there are fewer rows, for two.
    rows = ROWS if max(map(len, names[:ROWS])) <= NAME else ROWS - 1
    for words in ax.texts:
        place = getattr(words, "xy", words.get_position())[1]
        if is_beside(ax, words) or place > rows - 0.5:
            words.set_visible(False)
    if len(names) > rows:
        ax.set_ylim(rows - 0.4, -0.6)
        names = names[:rows]
        for line in ax.lines:
            line.set_clip_on(True)  # what marks the rows below would stand on the axis
    ax.set_yticks(range(len(names)), [two_lines(name, NAME) for name in names], parse_math=False)


def keep_top_of_card(ax):
    """Keep the first rows of a card, which has its rows at 0, 1, ... from the top."""
    end = 4.6 + ROWS
    ax.set_ylim(min(end, max(ax.get_ylim())), 0)
    for words in ax.texts:
        if words.get_position()[1] >= end:
            words.set_visible(False)
