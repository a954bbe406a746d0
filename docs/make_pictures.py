"""Run the README's code, write what it prints, and draw it: ``python docs/make_pictures.py``.

Run it where no more is installed than the README says, and matplotlib: with POT an audit compares a
third map, and asks the model more.

What is printed goes below the code. The pictures, which the site's first page shows as well, are a
pair of twins as a card, and the bounds of the largest difference as a bar: one on white, one for
dark pages. They are kept in the repository, so that the README has them without a build.
"""

from __future__ import annotations

import re
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
from PIL import Image

README = Path(__file__).parents[1] / "README.md"
FOLDER = Path(__file__).parent / "_static" / "pictures"
#: Style and paper of each picture.
STYLES = {"light": ("default", "#ffffff"), "dark": ("dark_background", "#14181e")}
#: So few colours are enough for text, lines and their smooth edges.
N_COLORS = 48


def finding():
    """The report that the README's code prints, which is written below that code."""
    text = README.read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    printed = []
    exec(compile(code, README.name, "exec"), {"print": printed.append})
    (report,) = printed
    before, _, rest = text.partition("```text\n")
    _, _, after = rest.partition("```\n")
    README.write_text(f"{before}```text\n{report}\n```\n{after}", encoding="utf-8")
    return report


def draw(report, style, paper):
    """The card above the bar."""
    with plt.style.context(style), mpl.rc_context({"axes.facecolor": paper, "font.size": 10}):
        figure, (card, bar) = plt.subplots(
            2, 1, figsize=(6.4, 5.0), height_ratios=(3.6, 1), layout="constrained", facecolor=paper
        )
        pair = report.display("pair").plot(ax=card, most=4).frame()
        bounds = report.display("bounds").plot(ax=bar).frame().iloc[0]
        names, chances = pair.loc[0, ["first", "second"]], pair.attrs["outputs"]
        one, other = (
            f"{chance:.0%} for {name}" for name, chance in zip(names, chances, strict=True)
        )
        figure.suptitle(
            f"The same application from two communities: the {pair.attrs['output']}\n"
            f"is {one}, {other}; no difference is larger than {bounds['upper']:.2f}"
        )
        return figure


def main():
    """Write both pictures."""
    mpl.use("agg")
    FOLDER.mkdir(parents=True, exist_ok=True)
    report = finding()
    for name, (style, paper) in STYLES.items():
        path = FOLDER / f"finding-{name}.png"
        figure = draw(report, style, paper)
        figure.savefig(path, dpi=160, facecolor=paper)
        plt.close(figure)
        with Image.open(path) as picture:
            small = picture.convert("RGB").quantize(N_COLORS, dither=Image.Dither.NONE)
        small.save(path, optimize=True)
        print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
