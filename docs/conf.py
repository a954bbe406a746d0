"""How the site is built: ``sphinx-build -W -b html docs docs/_build/html``.

Nothing is downloaded: no inventories of other projects, no fonts, no scripts from outside.
"""

from __future__ import annotations

import os
import re
import runpy
import sys
import tomllib
import warnings
from pathlib import Path

DOCS = Path(__file__).parent
TOP = DOCS.parent
sys.path.insert(0, str(TOP))
# Models of examples are small: the threads of OpenMP would only wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Parameters of estimators in the gallery link to the reference of this very build.
os.environ["SKFAIRTEST_DOCS"] = "../../"

import skfairtest  # noqa: E402

project = "skfairtest"
author = "the skfairtest developers"
copyright = author
version = release = skfairtest.__version__
PROJECT = tomllib.loads((TOP / "pyproject.toml").read_text(encoding="utf-8"))["project"]

extensions = [
    "sphinx.ext.autodoc",
    "numpydoc",
    "myst_parser",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "**/README.txt"]
suppress_warnings = [
    # The gallery's functions hold state that no cache can keep.
    "config.cache",
]

# API ------------------------------------------------------------------------------------------

default_role = "py:obj"
add_module_names = False
toc_object_entries_show_parents = "hide"
autodoc_member_order = "bysource"
autodoc_typehints = "none"
numpydoc_show_class_members = False

# Markdown -------------------------------------------------------------------------------------

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

# Gallery --------------------------------------------------------------------------------------


def reset_settings(gallery_conf, fname):
    """Give each example the settings that a new session has, and the colours of the displays."""
    import matplotlib
    import pandas as pd
    from cycler import cycler

    from skfairtest.inspection._style import COLORS

    for name in ("display.width", "display.max_columns"):
        pd.reset_option(name)
    matplotlib.use("agg")
    # Without paper, pictures suit light and dark pages.
    matplotlib.rcParams.update(
        {"axes.prop_cycle": cycler(color=COLORS), "savefig.transparent": True}
    )


def place_of_example(name):
    """Tell the place of an example in its folder: those that show the most first, then by name."""
    return (name not in FIRST_EXAMPLES, name)


FIRST_EXAMPLES = {
    "plot_pair_card.py",
    "plot_realistic_inputs.py",
    "plot_testsgd.py",
    "plot_certified.py",
    "plot_grid_search_front.py",
    "plot_mitigate.py",
    "plot_audit_report.py",
}
warnings.filterwarnings("ignore", message=".*FigureCanvasAgg is non-interactive.*")
sphinx_gallery_conf = {
    "examples_dirs": [str(TOP / "examples")],
    "gallery_dirs": ["auto_examples"],
    "filename_pattern": r"[\\/]plot_",
    "ignore_pattern": r"[\\/](benchmarks[\\/]|_)",
    "within_subsection_order": place_of_example,
    "reset_modules": ("matplotlib", reset_settings),
    "image_scrapers": (runpy.run_path(str(DOCS / "thumbnails.py"))["draw"],),
    "image_srcset": ["2x"],
    "thumbnail_size": (720, 500),
    "remove_config_comments": True,
    "show_memory": False,
    "min_reported_time": 0,
    # Its tables load scripts from outside; each page says how long its example took.
    "write_computation_times": False,
    "abort_on_example_error": False,
    "only_warn_on_example_error": False,
    # Notebooks and archives to download would double the site.
    "download_all_examples": False,
    "show_signature": False,
}

# Pages ----------------------------------------------------------------------------------------

html_theme = "pydata_sphinx_theme"
html_title = "skfairtest"
html_favicon = "_static/logo.svg"
html_static_path = ["_static"]
# Guides come before pages of names.
html_search_scorer = str(DOCS / "search_order.js")
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_theme_options = {
    "logo": {
        "text": f"skfairtest {release}",
        "image_light": "_static/logo.svg",
        "image_dark": "_static/logo.svg",
        "alt_text": "skfairtest, first page",
    },
    "github_url": PROJECT["urls"]["Source"],
    "navbar_align": "left",
    "show_toc_level": 2,
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": ["sphinx-version"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_show_sourcelink = False
html_copy_source = False


def write_reference(app, config):
    """Write a page for each public name, from the package and its docstrings."""
    MAKE_API["write"](DOCS / "reference" / "api")


#: A link to an example's source, or to their list, as it leads somewhere in a checkout.
EXAMPLE = re.compile(r"\]\(((?:\.\./)*)\.\./examples/(README|\w+/plot_\w+)\.(?:txt|py)\)")


def link_to_gallery(app, docname, content):
    """Let links to the source of an example lead to its page in the gallery."""
    content[0] = EXAMPLE.sub(
        lambda found: f"]({found[1]}auto_examples/{found[2].replace('README', 'index')}.rst)",
        content[0],
    )


def without_empty_line(app, docname, content):
    """Drop the empty line that ends an example in Markdown: doctest needs it, readers do not."""
    content[0] = content[0].replace("\n\n```\n", "\n```\n")


def link_code_in_text(app, doctree):
    """Let names in code, such as `SBFTAuditor`, link to their pages, also in Markdown."""
    from docutils import nodes
    from sphinx.addnodes import pending_xref

    for node in list(doctree.findall(nodes.literal)):
        name = node.astext()
        within = (nodes.reference, nodes.title, pending_xref)
        if name not in NAMES or any(isinstance(up, within) for up in ancestors(node)):
            continue
        link = pending_xref(
            "",
            refdomain="py",
            reftype="obj",
            reftarget=NAMES[name],
            refdoc=app.env.docname,
            refwarn=True,
        )
        node.replace_self(link)
        link += node


def ancestors(node):
    """All nodes that hold a node."""
    while node.parent is not None:
        node = node.parent
        yield node


#: Public names but modules, and what they return, each with the place that it is imported from.
MAKE_API = runpy.run_path(str(DOCS / "make_api.py"))
NAMES = {
    name: f"{module.__name__}.{name}"
    for names in (
        *(names for _, names in MAKE_API["sections"]()),
        *([(name, module) for module, name in types] for types in MAKE_API["RETURNED"].values()),
    )
    for name, module in names
}


def link_to_public_name(app, env, node, content):
    """Link a name that a docstring gives without its module, such as `SBFTAuditor`."""
    from sphinx.util.nodes import make_refnode

    target = node.get("reftarget", "").lstrip("~.").removeprefix("skfairtest.")
    name, dot, rest = target.partition(".")
    full = f"{NAMES.get(name, f'skfairtest.{name}')}{dot}{rest}"
    entry = env.get_domain("py").objects.get(full)
    if entry is None:
        return None
    return make_refnode(app.builder, node["refdoc"], entry.docname, entry.node_id, content, full)


def setup(app):
    """Called by Sphinx."""
    app.connect("config-inited", write_reference)
    app.connect("source-read", link_to_gallery)
    app.connect("source-read", without_empty_line)
    app.connect("doctree-read", link_code_in_text)
    app.connect("missing-reference", link_to_public_name)
