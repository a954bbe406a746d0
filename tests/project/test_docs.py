"""The pages of the site: how they begin and end, where their links lead, and that commands run.

Examples in the form of a session (``>>>``) are run by pytest itself (``--doctest-glob=*.md``). The
site is built by ``.ci/run``; `docs/check_site.py`, which looks at what was built, is tried here.
"""

import ast
import json
import re
import runpy
import shlex
import shutil
import subprocess

import pytest
from places import TOP
from tiers import slow_sample

from skfairtest.__main__ import main

DOCS = TOP / "docs"
BUILT = ("_build", "auto_examples", "api")
PAGES = sorted(
    path for path in DOCS.rglob("*.md") if not set(path.relative_to(DOCS).parts) & set(BUILT)
)
EXAMPLES = sorted((TOP / "examples").glob("0*/plot_*.py"))
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def without_code(text):
    return re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)


def anchors(text):
    """The places that links can name: headings as the site and GitHub write them."""
    titles = re.findall(r"^#+ (.*)$", without_code(text), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title).strip().lower().replace(" ", "-") for title in titles}


def names(paths):
    return [str(path.relative_to(TOP)) for path in paths]


@pytest.mark.parametrize("path", PAGES, ids=names(PAGES))
def test_page_opens_with_what_it_is_for_and_ends_with_what_comes_next(path):
    text = path.read_text(encoding="utf-8")
    title, gap, opening = text.split("\n")[:3]
    assert title.startswith("# ") and not gap
    assert re.match(r"[A-Z*]", opening), "the first thing after the title is a sentence"
    last = re.findall(r"^## (.*)$", text, flags=re.MULTILINE)[-1]
    if path.name != "glossary.md":  # its sources stand last, and the same heading follows
        assert last == "What comes next"
    assert LINK.search(text.rpartition("## What comes next")[2])


@pytest.mark.parametrize("path", PAGES, ids=names(PAGES))
def test_tables_end_where_the_text_begins(path):
    """A line of text right below a table would become its last row."""
    text = without_code(path.read_text(encoding="utf-8"))
    assert re.findall(r"^\|.*\n[^|\n].*$", text, flags=re.MULTILINE) == []


@pytest.mark.parametrize(
    "path",
    [*PAGES, *(TOP / f"{name}.md" for name in ("README", "CONTRIBUTING", "CHANGELOG"))],
    ids=str,
)
def test_links_lead_somewhere_in_a_checkout(path):
    """Without a build: what is made by one is not there yet."""
    for address in LINK.findall(without_code(path.read_text(encoding="utf-8"))):
        if "://" in address:
            continue
        target, _, place = address.partition("#")
        to = (path.parent / target).resolve() if target else path
        assert to.exists(), f"{path.name}: {address}"
        made = [name for name in BUILT if name in to.relative_to(TOP).parts]
        assert not made, f"{path.name}: {address} is not there without a build"
        if place:
            assert place in anchors(to.read_text(encoding="utf-8")), f"{path.name}: {address}"


def test_pages_name_every_benchmark_and_which_commit_had_the_others():
    scripts = sorted((TOP / "examples" / "benchmarks").glob("*.py"))
    text = "\n".join(path.read_text(encoding="utf-8") for path in PAGES)
    past = r"`\w+\.py[^`]*`\s+of\s+commit\s+`[0-9a-f]{8}`|[0-9a-f]{8}:examples/benchmarks/\w+\.py"
    named = re.findall(r"(?:examples/benchmarks/|`)(\w+\.py)", re.sub(past, "", text))
    named = {name for name in named if name.startswith(("bench_", "record_", "_"))}
    assert named == {path.name for path in scripts}
    lines = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in scripts)
    assert len(scripts) <= 14 and lines <= 3000


# The tutorial of the gate, which is no session ---------------------------------------------------

GATE = (DOCS / "tutorials" / "first_gate.md").read_text(encoding="utf-8")
STEPS = re.findall(r"^```(\w+)\n(.*?)^```$", GATE, flags=re.MULTILINE | re.DOTALL)


@slow_sample
def test_the_first_gate_runs_as_it_stands(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    session = {}
    codes = []
    for kind, code in STEPS:
        if kind == "python":
            exec(compile(code, "first_gate.md", "exec"), session)
        elif kind == "toml":
            (tmp_path / "pyproject.toml").write_text(code, encoding="utf-8")
        else:
            assert kind == "bash"
            command, _, wanted = code.strip().replace("\\\n", "").partition("  # exits with ")
            program, *words = shlex.split(command)
            assert program == "skfairtest"
            # Fewer queries, only to save time.
            assert main([*words, "--max-queries", "1000"]) == int(wanted or 0), capsys.readouterr()
            codes.append(int(wanted or 0))
    assert codes == [0, 1, 0, 0]
    assert (tmp_path / "fairness.html").exists() and (tmp_path / "fairness.xml").exists()


# The gallery --------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", EXAMPLES, ids=names(EXAMPLES))
def test_example_asks_one_question_and_shows_one_picture(path):
    text = path.read_text(encoding="utf-8")
    title = ast.get_docstring(ast.parse(text)).split("\n")[1]
    assert title.endswith("?")
    assert text.count("plt.show()") == 1
    drawn = len(re.findall(r"\.plot\((?:\)|most|kind|x=|\*)|plt\.subplots\(", text))
    assert drawn >= 1


def test_the_gallery_has_what_it_is_to_show():
    shown = {path.stem for path in EXAMPLES}
    assert len(shown) >= 10
    assert shown >= {
        "plot_pair_card",
        "plot_pipeline",
        "plot_bounds_over_time",
        "plot_curve_on_data",
        "plot_testsgd",
        "plot_confirm",
        "plot_errors_by_group",
        "plot_grid_search_front",
        "plot_mitigate",
        "plot_audit_report",
        "plot_gate",
        "plot_realistic_inputs",
    }


def test_thumbnails_keep_what_can_be_read_at_their_size():
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("agg")
    from skfairtest import RandomAuditor
    from skfairtest.datasets import load_loans
    from skfairtest.inspection import PairDisplay

    shrink = runpy.run_path(str(DOCS / "thumbnails.py"))["shrink"]
    figure, ax = plt.subplots(layout="constrained")
    ax.plot(range(9), range(9), "o", label="one of many", color="C0", clip_on=False)
    ax.set_yticks(range(9), [f"a name that is far too long, {place}" for place in range(9)])
    ax.text(1.02, 0, "beside", transform=ax.transAxes)
    ax.set_title("a title")
    ax.legend()
    loans = load_loans()
    auditor = RandomAuditor(loans.estimator, sensitive_features="community", max_queries=300)
    card = PairDisplay.from_auditor(auditor.set_params(random_state=0).fit(loans.data)).plot()
    for one in (figure, card.figure_):
        shrink(one)
        one.canvas.draw()
        shown = [words for words in one.findobj(plt.Text) if words.get_visible()]
        assert min(words.get_fontsize() for words in shown) >= 9
        assert tuple(one.get_size_inches()) == (3.6, 2.5)
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert names == [f"a name that is far\ntoo long, {place}" for place in range(3)]
    # Nothing of the other rows is seen on the axis below.
    assert ax.get_ylim() == (2.6, -0.6) and ax.lines[0].get_clip_on()
    assert not ax.texts[0].get_visible() and ax.get_title() == ""
    # The legend, which says what the colours mean, stands above the axes.
    (legend,) = figure.legends
    assert [words.get_text() for words in legend.get_texts()] == ["one of many"]
    assert legend.legend_handles[0].get_color() == ax.lines[0].get_color()
    assert legend.get_window_extent().y0 > ax.get_window_extent().y1
    assert ax.get_legend() is None
    told = {words.get_text() for words in card.texts_ if words.get_visible()}
    assert {"community", "age"} <= told and "open_loans" not in told
    plt.close("all")


# The check of the built site ----------------------------------------------------------------------


@pytest.fixture
def site(tmp_path):
    (tmp_path / "index.html").write_text(
        '<h1 id="top">Here</h1><a href="page.html#there">there</a> <a href="#top">up</a>'
        '<a href="https://example.org/">out</a><img src="picture.png">',
        encoding="utf-8",
    )
    (tmp_path / "page.html").write_text(
        '<p id="there">There</p><a href="index.html">back</a>', encoding="utf-8"
    )
    (tmp_path / "picture.png").write_bytes(b"")
    words = runpy.run_path(str(DOCS / "check_site.py"))["WORDS"]
    (tmp_path / "searchindex.js").write_text(" ".join(words), encoding="utf-8")
    return tmp_path


def problems(site):
    return list(runpy.run_path(str(DOCS / "check_site.py"))["problems"](site))


def test_a_site_without_fault_has_no_problems(site):
    assert problems(site) == []


@pytest.mark.parametrize(
    "html, said",
    [
        ('<a href="gone.html">x</a>', "gone.html leads to no file"),
        ('<a href="page.html#nowhere">x</a>', "page.html has no such place"),
        ('<script src="https://cdn.example/x.js"></script>', "loads https://cdn.example/x.js"),
        ('<link rel="stylesheet" href="//fonts.example/x.css">', "loads //fonts.example/x.css"),
        ("<style>@font-face {src: url(https://f.example/a)}</style>", "loads https://f.example/a"),
        ('<img srcset="https://i.example/a.png 2x">', "loads https://i.example/a.png"),
    ],
)
def test_the_check_sees_what_is_broken(site, html, said):
    (site / "bad.html").write_text(html, encoding="utf-8")
    (problem,) = problems(site)
    assert problem.startswith("bad.html: ") and said in problem


def test_the_check_sees_a_search_that_knows_nothing(site):
    (site / "searchindex.js").write_text("Search.setIndex({})", encoding="utf-8")
    assert len(problems(site)) == 4
    (site / "searchindex.js").unlink()
    assert "searchindex.js is not there" in problems(site)[0]


# The search of the site ---------------------------------------------------------------------------

#: Results as Sphinx gives them: page, title, anchor, description, score, file, kind.
RESULTS = [
    ["reference/api/certify", "skfairtest.certify", "", None, 215, "", "object"],
    ["reference/api/certify", "certify", "", None, 16, "", "title"],
    ["reference/api/SBFTAuditor", "skfairtest.SBFTAuditor", "", None, 215, "", "object"],
    ["auto_examples/04_certified/plot_certified", "An example", "", None, 15, "", "title"],
    ["reference/glossary", "Glossary", "", None, 5, "", "text"],
    ["how_to/certify", "Certify a worst case", "", None, 10, "", "title"],
    ["explanation/measured/scale", "Measured", "", None, 15, "", "title"],
]


@pytest.mark.services
@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_the_search_puts_guides_before_pages_of_names():
    order = (DOCS / "search_order.js").read_text(encoding="utf-8")
    code = f"{order}\nconsole.log(JSON.stringify({json.dumps(RESULTS)}.map(Scorer.score)))"
    answer = subprocess.run(["node", "-e", code], capture_output=True, text=True, check=True)
    scores = json.loads(answer.stdout)
    ranked = sorted(range(len(RESULTS)), key=lambda k: -scores[k])
    assert [RESULTS[k][1] for k in ranked] == [
        "skfairtest.SBFTAuditor",  # a name that is no word
        "Certify a worst case",
        "An example",
        "Glossary",
        "Measured",
        "certify",
        "skfairtest.certify",
    ]
