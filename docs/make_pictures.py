"""Draw the pictures of the README and of the site's first page: ``python docs/make_pictures.py``.

The finding is that of the README's code: a pair of twins as a card, and the bracket of the largest
difference as a bar. One picture on white, one for dark pages. They are kept in the repository, so
that the README has them without a build.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
from PIL import Image
from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestRegressor

from skfairtest import audit

FOLDER = Path(__file__).parent / "_static" / "pictures"
#: Style and paper of each picture.
STYLES = {"light": ("default", "#ffffff"), "dark": ("dark_background", "#14181e")}
#: So few colours are enough for text, lines and their smooth edges.
N_COLORS = 48


def finding():
    """The audit that the README shows."""
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    model = RandomForestRegressor(max_depth=6, random_state=0).fit(X, y)
    return audit(
        model,
        X,
        sensitive_features="sex",
        threshold=10,
        groups=False,
        random_state=0,
        progress=False,
    )


def draw(report, style, paper):
    """The card above the bar."""
    with plt.style.context(style), mpl.rc_context({"axes.facecolor": paper, "font.size": 10}):
        figure, (card, bar) = plt.subplots(
            2, 1, figsize=(6.4, 4.6), height_ratios=(3.6, 1), layout="constrained", facecolor=paper
        )
        report.display("pair").plot(ax=card, most=4)
        report.display("bracket").plot(ax=bar)
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
