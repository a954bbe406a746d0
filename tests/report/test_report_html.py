"""The report as HTML and Markdown, and in model cards, without a browser."""

from __future__ import annotations

import builtins
import copy
import json
import re
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

import pytest
import report_samples
from report_samples import HOSTILE, SAMPLES
from tiers import slow_sample

import skfairtest
from skfairtest.finding._pair import Pair
from skfairtest.report._render import plots
from skfairtest.report._render.blocks import fixed, isolate, percent, seconds, together
from skfairtest.report._render.html import _environment, render_fragment, render_html
from skfairtest.report._render.markdown import in_markdown, render_markdown
from skfairtest.report._render.model_card import add_to_card
from skfairtest.report._render.plots import draw
from skfairtest.report._render.sections import sections_of

#: Elements that have no end.
VOID = {"meta", "link", "br", "img", "hr", "input"}


class Page(HTMLParser):
    """A page, read strictly: what is opened is closed, in order."""

    def __init__(self, html):
        super().__init__()
        self.open, self.elements, self.problems, self.text = [], [], [], ""
        self.feed(html)
        self.close()
        self.problems += [f"{tag} is not closed" for tag in self.open]

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs), tuple(self.open)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs), tuple(self.open)))

    def handle_endtag(self, tag):
        if not self.open or self.open[-1] != tag:
            self.problems.append(f"</{tag}> within {self.open[-3:]} at {self.getpos()}")
        else:
            self.open.pop()

    def handle_data(self, data):
        # An inline style is no text.
        if "style" not in self.open:
            self.text += f"{data} "

    def all(self, tag):
        return [attrs for name, attrs, _ in self.elements if name == tag]


@pytest.fixture(scope="module")
def rendered():
    """Pages of all samples, made once."""
    pages = {}

    def render(name):
        if name not in pages:
            pages[name] = render_html(SAMPLES[name]())
        return pages[name]

    return render


@cache
def read(html):
    """A page that several tests look at, read once."""
    return Page(html)


@pytest.fixture
def unillustrated(monkeypatch):
    """Pages without pictures, which take most of the time, for tests of what is said."""
    monkeypatch.setattr(plots, "draw", lambda figure, key: "")


def words_of(page):
    """Text without the marks of isolates, and with one space between words."""
    return " ".join(re.sub("[\u2068\u2069]", "", page.text).split())


@slow_sample
def test_samples_are_reports():
    path = Path(skfairtest.__file__).parent / "report" / "schema" / "v1.json"
    jsonschema = pytest.importorskip("jsonschema")
    schema = jsonschema.Draft202012Validator(json.loads(path.read_text(encoding="utf-8")))
    for name, sample in SAMPLES.items():
        report = report_samples.huge(30, 5) if name == "huge" else sample()
        problems = [error.json_path for error in schema.iter_errors(report)]
        assert problems == [], name


# The file ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SAMPLES)
def test_a_page_is_whole(rendered, name):
    page = read(rendered(name))
    assert page.problems == []
    titles = report_samples.titles_of(name)
    headings = [(tag, at) for tag, _, at in page.elements if re.fullmatch("h[1-6]", tag)]
    assert [tag for tag, _ in headings] == ["h1"] + ["h2"] * len(titles)
    assert [title for title in titles if title not in words_of(page)] == []
    place = 0
    for title in titles:  # one after the other
        place = words_of(page).index(title, place) + len(title)
    ids = [attrs["id"] for _, attrs, _ in page.elements if "id" in attrs]
    assert len(ids) == len(set(ids))
    assert page.all("html") == [{"lang": "en"}]
    assert {"main", "header", "footer", "nav"} <= {tag for tag, *_ in page.elements}


@pytest.mark.parametrize("name", SAMPLES)
def test_a_page_loads_nothing_and_runs_nothing(rendered, name):
    page = read(rendered(name))
    tags = {tag for tag, *_ in page.elements}
    assert tags & {"script", "iframe", "object", "embed", "form", "base"} == set()
    for tag, attrs, _ in page.elements:
        for key, value in attrs.items():
            assert not key.startswith("on"), (tag, key)
            if key in ("href", "src", "xlink:href", "action", "data", "poster", "srcset"):
                assert value.startswith(("#", "data:")), (tag, key, value)
            assert key == "content" or "//" not in value or name == "hostile", (tag, key, value)
    styles = re.findall(r"<style>(.*?)</style>", rendered(name), re.S)
    assert len(styles) == 1 and "url(" not in styles[0] and "@import" not in styles[0]
    policy = next(a for a in page.all("meta") if a.get("http-equiv"))["content"]
    assert policy.startswith("default-src 'none'") and "script" not in policy


@slow_sample
@pytest.mark.parametrize("name", ["usual", "interrupted"])
def test_a_page_is_the_same_each_time_and_leaves_its_report_alone(rendered, name):
    report = SAMPLES[name]()
    before = copy.deepcopy(report)
    assert render_html(report) == rendered(name)
    assert report == before


@pytest.mark.parametrize("name", SAMPLES)
def test_size(rendered, name):
    most = 2_000_000 if name == "huge" else 400_000
    assert 10_000 < len(rendered(name).encode()) < most


@pytest.mark.parametrize("name", SAMPLES)
def test_tables_say_what_they_hold(rendered, name):
    page = read(rendered(name))
    inside = [attrs for tag, attrs, at in page.elements if tag == "th" and "table" in at]
    assert inside and all(attrs.get("scope") in ("row", "col") for attrs in inside)
    # What may be scrolled can be reached by the keyboard.
    for attrs in page.all("div"):
        if "scroll" in attrs.get("class", "").split():
            assert attrs["tabindex"] == "0" and attrs["aria-label"]


# Pictures ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name, n",
    [("usual", 8), ("regression", 6), ("nothing_found", 5), ("interrupted", 2), ("failed", 0),
     ("hostile", 8), ("huge", 8)],
)  # fmt: skip
def test_pictures_are_drawn(rendered, name, n):
    html = rendered(name)
    assert "Picture –" not in html
    drawn = re.findall(r"<svg .*?</svg>", html, re.S)
    assert len(drawn) == n
    for svg in drawn:
        page = Page(svg)
        assert page.problems == []
        assert page.all("svg")[0]["role"] == "img" and re.search(r"<title id=[^>]*>[^<]+<", svg)
        # Colours are the page's own.
        assert re.findall(r"#0072b2|#010203|#fdfcfb|#000000", svg) == []
        assert not re.search(r"<[^>]*\d\.[^\d>][^>]*>", svg)  # no number ends with its point
        assert "currentColor" in svg and "<style" not in svg and "font-family" not in svg


def test_references_within_pictures_lead_somewhere(rendered):
    html = rendered("usual")
    used = set(re.findall(r"url\(#([^)]+)\)|xlink:href=\"#([^\"]+)\"", html))
    ids = set(re.findall(r' id="([^"]+)"', html))
    assert used and {a or b for a, b in used} <= ids


@slow_sample
def test_a_picture_that_fails_leaves_its_tables(monkeypatch):
    from skfairtest.inspection import BracketDisplay

    def plot(self, *args, **options):
        raise RuntimeError("no <ink>")

    monkeypatch.setattr(BracketDisplay, "plot", plot)
    page = Page(render_html(report_samples.usual()))
    assert "Picture – failed: RuntimeError: no <ink>" in words_of(page)
    assert len(page.all("svg")) == 7 and "exactly 0.49" in words_of(page)


def test_the_users_style_is_left_alone():
    import matplotlib as mpl

    before = dict(mpl.rcParams)
    with mpl.rc_context({"text.color": "red", "font.size": 40}):
        figure = sections_of(report_samples.usual())[2].blocks[1]
        assert "font-size: 40" not in draw(figure, "a")
        assert mpl.rcParams["font.size"] == 40
    assert dict(mpl.rcParams) == before


def without(monkeypatch, *missing):
    """These packages cannot be imported."""
    real = builtins.__import__

    def no_import(name, *args, **options):
        if name.split(".")[0] in missing:
            raise ImportError(f"No module named {name!r}")
        return real(name, *args, **options)

    monkeypatch.setattr(builtins, "__import__", no_import)


def test_without_matplotlib_the_page_says_so_once(monkeypatch):
    without(monkeypatch, "matplotlib")
    page = Page(render_html(report_samples.usual()))
    assert words_of(page).count("matplotlib") == 1 and page.all("svg") == []
    assert "0.60 to 0.67" in words_of(page)


def test_without_jinja_an_error_names_the_extra_and_the_rest_works(monkeypatch):
    without(monkeypatch, "jinja2")
    _environment.cache_clear()
    report = report_samples.usual()
    with pytest.raises(ImportError, match=r"jinja2.*pip install 'skfairtest\[report\]'"):
        render_html(report)
    assert "0.82" in render_fragment(report) and "0.82" in render_markdown(report)


# What it says ------------------------------------------------------------------------------------


def test_the_first_section_says_what_how_sure_and_how_many(rendered):
    html = rendered("usual")
    page = Page(html[html.index('<section id="finding"') : html.index('<section id="pair"')])
    words = words_of(page)
    assert "1021 (outside of the domain)" in words_of(Page(html))
    for told in (
        "Largest difference 0.60", "probability of yes: 0.82 against 0.22", "at most 0.67",
        "11.8%", "1,180 of 10,000 rows, a sample of 30,162", "11.2% to 12.4%", "214,000",
        "Sex carries most of it", "identical but for race and sex",
    ):  # fmt: skip
        assert told in words, told


def test_a_regressor_without_threshold_has_shares_of_the_spread_and_no_hundred_percent(rendered):
    words = words_of(read(rendered("regression")))
    for told in ("5% of the spread", "72.5%", "32.5%", "3.0%", "88,000", "no certificate"):
        assert told in words or told == "no certificate", told
    assert "100%" not in words and "treated differently" not in words
    assert "Mean prediction: 0.10 over all rows that count" in words
    assert "certified: no larger difference exists" in words


@pytest.mark.parametrize(
    "n_all, told",
    [(9, None), (300, "each row was compared with 9 of its 300 twins"), (None, "endlessly many")],
)
def test_rows_that_were_not_compared_with_all_twins_say_so(n_all, told, unillustrated):
    report = report_samples.usual()
    report["searches"][-1]["rows"]["n_combinations"] = n_all
    words = words_of(Page(render_html(report)))
    assert ("race, sex together: each row was compared" in words) == (told is not None)
    assert told is None or told in words


def test_a_model_that_gives_labels_has_no_outputs(unillustrated):
    report = report_samples.usual()
    for search in report["searches"]:
        worst = [row["pair"] for row in search["rows"]["worst"]]
        for one in [search["pair"], *search["further_pairs"], *worst]:
            one.update(outputs=None, output="label", difference=1.0)
        search["degree"] = 1.0
    words = words_of(Page(render_html(report)))
    assert "label: yes against no" in words and "predicted yes no" in words
    assert "Label: yes against no." in render_markdown(report)


@pytest.mark.parametrize(
    "name, threshold, told",
    [
        ("usual", 0.0, "differ by more than 0"),
        ("usual", None, "get different labels"),
        ("regression", None, "get different predictions"),
    ],
)
def test_what_counts_is_said(name, threshold, told, unillustrated):
    report = SAMPLES[name]()
    report["threshold"] = threshold
    page = Page(render_html(report))
    assert f"Counts twins that {told}" in words_of(page)
    is_said_first = f"Twins that {told} count as discriminatory" in words_of(page)
    assert is_said_first == (name == "usual")


def test_names_written_right_to_left_do_not_turn_sentences(unillustrated):
    report = report_samples.usual()
    report["sensitive_features"] = ["race", "الجنس"]
    report["carries"] = "alone الجنس 0.2, race 0.1."
    assert "Alone \u2068الجنس\u2069 0.2, race" in render_html(report)


def test_nothing_found_is_said_with_what_was_tried(rendered):
    words = words_of(read(rendered("nothing_found")))
    assert "No difference above 0.1 found in 40,000 queries" in words
    assert "No twins were found that differ by more than 0.10." in words
    assert "KNeighborsClassifier cannot be read" in words and "lower bound" in words


def test_an_audit_that_is_not_complete_says_so_first(rendered):
    for name, word in (("interrupted", "was interrupted"), ("failed", "failed")):
        words = words_of(read(rendered(name)))
        first = words.index(f"This audit is not complete. It {word}")
        assert first < words.index("Twins are two inputs") and "Input y contains NaN" in words
    words = words_of(Page(rendered("interrupted")))
    assert "Largest difference found 0.23" in words and "twins that differ in race alone" in words
    assert "No twins were compared." in words_of(Page(rendered("failed")))


def test_no_verdicts(rendered):
    for name in SAMPLES:
        words = words_of(read(rendered(name))) + render_markdown(SAMPLES[name]())
        assert not re.search(r"unfair|\bbias|unlawful|illegal|four.fifths|\bpass", words, re.I)


def test_of_500_columns_fifteen_are_open_and_the_rest_is_folded(rendered):
    html = rendered("huge")
    start = html.index('<div class="card">')
    pair = html[start : html.index("</section>", start)]
    shown, folded = pair.split("<details>", 2)[:2]
    assert shown.count('<th scope="row">') == 1 + 15 + 2  # changed, those that matter, outputs
    assert "484 more columns" in folded and folded.count('<th scope="row">') == 484
    words = words_of(Page(html))
    assert "485 more rows" in words and "10 of 10,000 found" in words  # the domain; the pairs
    assert "the 200 groups with the most rows, of 1,800" in words
    assert "100: class 0" in words and "and 80 more" in words
    assert "to_json" in words


def test_figures_in_words():
    told = [percent(x) for x in (None, 0, 1, 1e-9, 1 - 1e-9, 0.0005, 0.08, 0.1234)]
    assert told == ["–", "0%", "100%", "under 0.1%", "over 99.9%", "0.1%", "8.0%", "12.3%"]
    assert [fixed(x) for x in (None, 0.8, -0.031, 0.0004)] == ["–", "0.80", "-0.03", "0.00040"]
    assert [seconds(x) for x in (None, 0, 4e-5, 0.1, 9.12, 60, 99.7, 200)] == [
        "–", "0 s", "under 0.01 s", "0.1 s", "9.1 s", "60 s", "100 s", "3 min 20 s"
    ]  # fmt: skip
    assert together(["a"]) == "a" and together(["a", "b", "c"]) == "a, b and c"
    assert isolate("age") == "age" and isolate("الجنس") == "\u2068الجنس\u2069"


def test_a_pair_goes_through_json():
    pair = Pair.from_dict(report_samples.usual()["searches"][2]["pair"])
    assert Pair.from_dict(json.loads(json.dumps(pair.to_dict()))) == pair


# Escapes -----------------------------------------------------------------------------------------


def test_names_that_are_markup_are_text(rendered):
    page = Page(rendered("hostile"))
    words = words_of(page)
    for name in HOSTILE:
        assert " ".join(name.split()) in words, name
    # Nothing of it has become an element, an attribute or a template.
    assert "{{ 7 * 7 }}" in words and not re.search(r"(?<![.\d])49\b", words)
    assert len(page.all("h1")) == 1 and page.all("b") == []
    assert not any(key.startswith("on") for _, attrs, _ in page.elements for key in attrs)


def test_names_of_all_scripts_keep_their_direction(rendered):
    assert "<bdi>" in rendered("hostile") and "\u2068" in rendered("hostile")
    assert "\u2068" not in rendered("usual")


@pytest.mark.parametrize("name", SAMPLES)
def test_the_card_for_notebooks_is_small_and_stands_alone(name):
    html = render_fragment(SAMPLES[name]())
    page = Page(html)
    assert page.problems == [] and page.all("script") == []
    assert len(html) < (150_000 if name == "huge" else 40_000)
    if name == "usual":
        words = words_of(page)
        for told in ("0.82", "0.22", "0.67 (certified)", "214,000", "11.8%"):
            assert told in words


# Markdown and cards ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SAMPLES)
def test_markdown_has_all_sections_and_tables_with_whole_rows(name):
    text = render_markdown(SAMPLES[name]())
    assert [f"## {t}" for t in report_samples.titles_of(name)] == [
        x for x in text.splitlines() if x.startswith("## ")
    ]
    outside = re.sub(r"^(`{3,}).*?^\1$", "", text, flags=re.S | re.M)
    assert "<" not in outside and len(text) < 200_000
    tables = re.findall(r"(?:^\|.*\n)+", outside, re.M)
    assert tables
    for one in tables:
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in one.splitlines()}) == 1


def test_markdown_says_what_the_page_says():
    text = render_markdown(report_samples.usual())
    for told in ("0.82 against 0.22", "at most 0.67", "| ≠ sex | Male | Female |", "11.8%",
                 "exactly 0.49", "random_state=0"):  # fmt: skip
        assert told in text, told


@pytest.mark.parametrize(
    "text, told",
    [
        ("a|b", "a\\|b"),
        ("a\\|b", "a\\\\\\|b"),
        ("<script>", "&lt;script&gt;"),
        ("x\n| y", "x \\| y"),
        ("# title", "\\# title"),
        ("- item", "\\- item"),
        ("[a](b)", "\\[a\\]\\(b)"),
        ("https://example.org @name", "https&#58;//example.org &#64;name"),
        ("capital_gain - 3 (of 4)", "capital_gain - 3 (of 4)"),
        ("`$x$`", "\\`\\$x\\$\\`"),
    ],
)
def test_markdown_escapes(text, told):
    assert in_markdown(text) == told


def test_a_fence_is_longer_than_those_within():
    report = report_samples.usual()
    report["code"] = "'''\n```\n<b>\n````\n'''"
    assert "`````python\n'''\n```\n<b>\n````\n'''\n`````" in render_markdown(report)


@pytest.mark.parametrize("name", SAMPLES)
def test_a_model_card_takes_the_report(name):
    from skops.card import Card

    card = Card(None, template=None)
    card.add(**{"Model description": "Kept."})
    assert add_to_card(SAMPLES[name](), card, "Evaluation/Fairness audit") is card
    section = card.select("Evaluation/Fairness audit")
    assert list(section.subsections) == report_samples.titles_of(name)
    text = card.render()
    assert "Kept." in text and "### The finding" in text
    if name == "usual":
        assert re.search(r"\| +≠ sex +\| +Male +\| +Female +\|", text) and "at most 0.67" in text
    again = add_to_card(SAMPLES[name](), card, "Evaluation/Fairness audit").render()
    assert again == text


def test_a_model_card_that_is_none_is_refused():
    with pytest.raises(TypeError, match="skops.card.Card; got dict"):
        add_to_card(report_samples.usual(), {}, "Fairness")
    from skops.card import Card

    with pytest.raises(ValueError, match="title of a section"):
        add_to_card(report_samples.usual(), Card(None, template=None), " ")
