"""The report as HTML and Markdown, and in model cards, without a browser."""

from __future__ import annotations

import builtins
import re
from dataclasses import replace as replace_cell
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

import msgspec
import pytest
import report_samples
from msgspec.structs import replace
from report_samples import BOTH, HOSTILE, SAMPLES
from tiers import SAMPLE, slow_sample
from typed_reports import searches, with_part, with_parts

import skfairtest
from skfairtest import AuditReport
from skfairtest.finding._words import listed, percent, with_difference
from skfairtest.report._types import LimitCheck, LimitsOutcome
from skfairtest.report.parts.moved.results import MovedPart
from skfairtest.report.parts.rows.results import Above, RowsPart
from skfairtest.report.parts.search.results import SearchPart
from skfairtest.report.parts.selection.results import SelectionPart
from skfairtest.report.parts.twins.results import TwinsPart
from skfairtest.report.render import plots
from skfairtest.report.render.blocks import FigureBlock, alike, fixed, seconds, with_interval
from skfairtest.report.render.first_page import (
    PAGES,
    address,
    first_page,
    headline,
    next_steps,
    render_text,
)
from skfairtest.report.render.html import _environment, render_fragment, render_html
from skfairtest.report.render.markdown import add_to_card, in_markdown, render_markdown
from skfairtest.report.render.plots import draw
from skfairtest.report.render.sections import NOT_SHOWN, sections_of
from skfairtest.report.render.words import isolate

#: All samples; what takes long with the huge one is slow.
NAMES = [*(name for name in SAMPLES if name != "huge"), pytest.param("huge", marks=SAMPLE)]
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


@cache
def rendered(name):
    """The page of a sample, made once."""
    return render_html(SAMPLES[name](), {})


@cache
def read(html):
    """A page that several tests look at, read once."""
    return Page(html)


def said(report):
    """The words of a report's page."""
    return words_of(Page(render_html(report, {})))


def found(report):
    """What the first page says was found."""
    return " ".join(first_page(report).answers["found"])


def steps(report):
    """The pages that the next steps lead to."""
    return [step.page for step in next_steps(report)]


def unwrapped(text):
    """The words of a text whose lines are broken anywhere."""
    return " ".join(text.split())


def words_of(page):
    """Text without the marks of isolates, and with one space between words."""
    return " ".join(re.sub("[\u2068\u2069]", "", page.text).split())


# The file ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_a_page_is_whole(name):
    page = read(rendered(name))
    assert page.problems == []
    titles = report_samples.titles_of(name, appendix=True)
    headings = [(tag, at) for tag, _, at in page.elements if re.fullmatch("h[1-6]", tag)]
    n_parts = len(titles) - len(report_samples.titles_of(name))
    assert [tag for tag, _ in headings] == (
        ["h1"] + ["h2"] * (len(titles) - n_parts + 1) + ["h3"] * n_parts
    )
    assert [title for title in titles if title not in words_of(page)] == []
    place = 0
    for title in titles:  # one after the other
        place = words_of(page).index(title, place) + len(title)
    ids = [attrs["id"] for _, attrs, _ in page.elements if "id" in attrs]
    assert len(ids) == len(set(ids))
    assert page.all("html") == [{"lang": "en"}]
    assert {"main", "header", "footer", "nav"} <= {tag for tag, *_ in page.elements}
    assert 10_000 < len(rendered(name).encode()) < (2_000_000 if name == "huge" else 400_000)
    inside = [attrs for tag, attrs, at in page.elements if tag == "th" and "table" in at]
    assert inside and all(attrs.get("scope") in ("row", "col") for attrs in inside)
    # On a phone each cell tells what it is.
    cells = [a for tag, a, at in page.elements if tag == "td" and "data-name" in a]
    assert cells and all(attrs["data-name"] for attrs in cells)
    assert not any("scroll" in attrs.get("class", "").split() for attrs in page.all("div"))


@pytest.mark.parametrize("name", NAMES)
def test_a_page_loads_nothing_and_runs_nothing(name):
    page = read(rendered(name))
    tags = {tag for tag, *_ in page.elements}
    assert tags & {"script", "iframe", "object", "embed", "form", "base"} == set()
    for tag, attrs, _ in page.elements:
        for key, value in attrs.items():
            assert not key.startswith("on"), (tag, key)
            if (tag, key) == ("a", "href") and not value.startswith("#"):
                # A page of the documentation, which is loaded if somebody follows the link.
                assert value.startswith(f"{PAGES}/"), value
                continue
            if key in ("href", "src", "xlink:href", "action", "data", "poster", "srcset"):
                assert value.startswith(("#", "data:")), (tag, key, value)
            is_text = key == "content" or name == "hostile" or value.startswith("data:")
            assert is_text or "//" not in value, (tag, key, value)
    styles = re.findall(r"<style>(.*?)</style>", rendered(name), re.S)
    assert len(styles) == 1 and "url(" not in styles[0] and "@import" not in styles[0]
    policy = next(a for a in page.all("meta") if a.get("http-equiv"))["content"]
    assert policy.startswith("default-src 'none'") and "script" not in policy


@slow_sample
@pytest.mark.parametrize("name", ["usual", "interrupted"])
def test_a_page_is_the_same_each_time_and_leaves_its_report_alone(name):
    report = SAMPLES[name]()
    before = msgspec.json.encode(report)
    assert render_html(report, {}) == rendered(name)
    assert msgspec.json.encode(report) == before


# Pictures ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name, n",
    [("usual", 10), ("regression", 6), ("nothing_found", 7), ("interrupted", 2), ("failed", 0),
     ("hostile", 10), pytest.param("huge", 14, marks=SAMPLE)],
)  # fmt: skip
def test_pictures_are_drawn(name, n):
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


def test_references_within_pictures_lead_somewhere():
    html = rendered("usual")
    used = set(re.findall(r"url\(#([^)]+)\)|xlink:href=\"#([^\"]+)\"", html))
    ids = set(re.findall(r' id="([^"]+)"', html))
    assert used and {a or b for a, b in used} <= ids


@slow_sample
def test_a_picture_that_fails_leaves_its_tables(monkeypatch):
    from skfairtest.inspection import BoundsDisplay

    def plot(self, *args, **options):
        raise RuntimeError("no <ink>")

    monkeypatch.setattr(BoundsDisplay, "plot", plot)
    page = Page(render_html(report_samples.usual(), {}))
    assert "Picture – failed: RuntimeError: no <ink>" in words_of(page)
    assert len(page.all("svg")) == 9 and "at most 0.67" in words_of(page)


def test_the_users_style_is_left_alone():
    import matplotlib as mpl

    before = dict(mpl.rcParams)
    with mpl.rc_context({"text.color": "red", "font.size": 40}):
        blocks = sections_of(report_samples.usual())[2].blocks
        figure = next(block for block in blocks if isinstance(block, FigureBlock))
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
    page = Page(render_html(report_samples.usual(), {}))
    assert words_of(page).count("matplotlib") == 1 and page.all("svg") == []
    assert "at most 0.67" in words_of(page)


def test_without_jinja_an_error_names_the_extra_and_the_rest_works(monkeypatch):
    without(monkeypatch, "jinja2")
    _environment.cache_clear()
    report = report_samples.usual()
    with pytest.raises(ImportError, match=r"jinja2.*pip install 'skfairtest\[report\]'"):
        render_html(report, {})
    assert "0.28" in render_fragment(report) and "0.82" in render_markdown(report)


# What it says ------------------------------------------------------------------------------------


def first_of(html):
    """The words of the first page."""
    start = html.index('<section id="finding"')
    return words_of(Page(html[start : html.index("<nav", start)]))


def test_the_first_page_has_all_answers_in_their_order():
    words = first_of(rendered("usual"))
    place = 0
    for told in (
        "Change only a person's race or sex: does HistGradientBoostingClassifier change its",
        "The favourable answer is 'yes', which is a guess",
        "3,559 of 10,000 people, a random sample of 30,162, would get a probability of yes that "
        "differs by more than 0.10 if only their race or sex were changed",
        "Limits No limits were given.", "For whom", "would get over 0.10 more",
        "Female (sex) 9,782", "2,100 of 9,782 (21.5%) 40 of 9,782",
        "Rates 'yes' is predicted for 8.0% of Female",
        "Lowest impact ratio: 0.14 (0.10 to 0.20 at 95%, all groups at once), of Female, Black",
        "How large Largest difference found: 0.60 (two made-up inputs, probability of yes: "
        "0.82 against 0.22). Largest possible difference: at most 0.67 (proven for all inputs "
        "within the ranges of the data).",
        "How sure 10,000 people, a random sample of 30,162, were compared",
        "214,000 predictions in 48 s, seed 0. Nothing was cut short.", "What next",
        "Say which answer people want", "Look at what dropping sex, or averaging it out",
    ):  # fmt: skip
        place = words.index(told, place)


@pytest.mark.parametrize("name", NAMES)
def test_the_text_and_the_card_say_the_same_in_twelve_paragraphs(name):
    report = SAMPLES[name]()
    paragraphs = re.split(r"\n(?! )", render_text(report))
    assert len(paragraphs) <= 12
    html = render_fragment(report)
    assert len(html) < (150_000 if name == "huge" else 40_000)
    page = Page(html)
    assert page.problems == [] and page.all("script") == []
    for paragraph in paragraphs[:-1]:
        words = re.sub("[\u2068\u2069]", "", paragraph.partition("  ")[2])
        assert " ".join(words.split()) in words_of(page), paragraph
    # The person and the twin stand there, too.
    assert name != "usual" or all(told in words_of(page) for told in ("0.70", "0.28"))


def test_lines_of_text_fit_a_page_and_hang_below_the_answer():
    lines = render_text(report_samples.usual()).splitlines()
    assert max(map(len, lines)) <= 88
    hung = [line for line in lines if line.startswith(" ")]
    place = lines[0].index("Change only")
    assert hung and {len(line) - len(line.lstrip()) for line in hung} == {place}


LIMITS = LimitsOutcome(
    "exceeded",
    [
        LimitCheck(name="max_degree", limit=0.1, status=status, figure="degree", value=0.3, low=0.3,
                   high=0.3, interval="exact", words=f"words {k}")
        for k, status in enumerate(["exceeded", "within", "undecided", "failed"])
    ],
    "Exceeded: no.",
)  # fmt: skip


def test_each_step_leads_to_a_page_that_exists():
    pages = set()
    for sample in SAMPLES.values():
        report = sample()
        for changes in ({}, {"limits": LIMITS}, {"status": "ended early", "reason": "groups: x"}):
            found = steps(replace(report, **changes))
            assert 2 <= len(found) <= 3
            pages |= set(found)
    docs = Path(skfairtest.__file__).parents[1] / "docs"
    assert len(pages) > 5 and all((docs / f"{page}.md").is_file() for page in pages)


def test_steps_lead_to_the_site_that_the_user_names(monkeypatch):
    monkeypatch.setenv("SKFAIRTEST_DOCS", "file:///site/")
    step = next_steps(report_samples.usual())[0]
    assert address(step) == "file:///site/how_to/groups.html"


def given(report):
    """The report of a user who said which answer is favourable."""
    return replace(report, favourable=replace(report.favourable, how="given"))


def test_the_first_step_is_the_most_telling():
    assert steps(report_samples.usual())[0] == "how_to/groups"
    assert steps(given(report_samples.usual()))[0] == "how_to/mitigate"


def test_a_share_of_a_sample_has_its_interval():
    rows = {"rate": 0.0, "changed": 0, "low": 0.0, "high": 0.00037}
    words = found(with_part(report_samples.usual(), RowsPart, BOTH, **rows))
    assert "were changed, for at" not in words
    assert "were changed (of all people 0% to under 0.1%)." in words
    above = [Above(0.05, 0.1, 240, 0.024, 0.02, 0.03)]
    rows = {"rate": None, "low": None, "high": None, "changed": 240, "above": above}
    report = with_part(report_samples.usual(), RowsPart, BOTH, **rows)
    assert "(2.4%; of all people 2.0% to 3.0%)." in found(report)


def test_where_twins_show_nothing_the_rates_are_read_first_and_proxies_looked_for():
    report = with_part(given(report_samples.usual()), RowsPart, BOTH, changed=0)
    assert "were changed. 'yes' is predicted for 8.0% of Female" in found(report)
    assert "'yes' is predicted for 8.0% of Female" in headline(report)
    assert steps(report)[0] == "how_to/sensitive_columns"  # and nothing is dropped
    assert "how_to/mitigate" not in steps(report)
    report = with_parts(with_part(report, SelectionPart, high=1.0), MovedPart, [])
    assert "how_to/sensitive_columns" not in steps(report)


SEARCH = "tutorials/less_discriminatory_alternative"


def test_other_models_are_looked_for_where_rates_differ_and_the_attribute_is_not_the_cause():
    usual = given(report_samples.usual())
    assert SEARCH in steps(with_part(usual, RowsPart, BOTH, changed=0))
    assert SEARCH in steps(with_part(usual, RowsPart, BOTH, changed=100, n=30_000))
    # With most people's answers the attribute itself is the cause, and dropping it is named.
    assert SEARCH not in steps(with_part(usual, RowsPart, BOTH, changed=15_000, n=30_000))
    unlike = with_part(usual, RowsPart, BOTH, changed=0)
    for high, ratio, is_told in ((1.0, 0.9, False), (0.99, 0.9, True), (1.0, 0.79, True)):
        groups = report_samples.rates([("sex", "a", 4_000, 0.3 * ratio), ("sex", "b", 4_000, 0.3)])
        report = with_part(unlike, SelectionPart, groups=groups, high=high)
        assert (SEARCH in steps(with_parts(report, MovedPart, []))) is is_told, (high, ratio)


def test_of_how_many_other_values_one_is_enough_is_said():
    report = with_part(report_samples.usual(), RowsPart, "sex", n_twins=2)
    assert "race or sex were changed, for at least one of 8 other combinations (" in found(report)
    whom = " ".join(first_page(report).answers["whom"])
    assert "only sex were changed: of" in whom
    report = with_part(report, RowsPart, "sex", n_twins=8)
    whom = " ".join(first_page(report).answers["whom"])
    assert "only sex were changed, for at least one of 7 other values: of" in whom


def test_steps_follow_the_figures():
    report = given(report_samples.nothing_found())
    assert "how_to/mitigate" not in steps(report)
    groups = report_samples.rates([("sex", "a", 40, 0.3)])
    told = next_steps(with_part(report, SelectionPart, groups=groups))
    few = next(step for step in told if step.page == "how_to/groups")
    assert "Collect more rows of a (sex): its figures rest on 40." in few.words
    report = with_part(given(report_samples.regression()), RowsPart, degree=3_000.0)
    assert "how_to/realistic_inputs" in steps(report)


def test_people_come_first_and_the_domain_is_named_as_made_up():
    html = rendered("usual")
    words = words_of(Page(html))
    people = words.index("row 1000 of the table has the largest difference")
    assert words.index("this person the twin") > people
    assert words.index("They are made up: nobody in the table has these values") > people
    assert "1021 (outside of the ranges)" in words


def test_a_pair_that_is_both_the_persons_and_the_domains_is_shown_once(unillustrated):
    report = report_samples.usual()
    pair = searches(report)[-1].rows.person.pair
    same = said(with_part(report, TwinsPart, BOTH, pair=pair))
    assert "No two inputs are known that differ more than row 1000 and its twin" in same
    # The same twins the other way round.
    cells = tuple(replace_cell(cell, first=cell.second, second=cell.first) for cell in pair.cells)
    turned = said(with_part(report, TwinsPart, BOTH, pair=replace_cell(pair, cells=cells)))
    for words in (same, turned):
        assert "Two inputs that differ only in the marked columns" not in words


def test_what_a_person_has_is_marked_and_never_left_out(unillustrated):
    report = report_samples.usual()
    owns = ["Male", "Female", "other"]
    worst = searches(report)[-1].rows.worst
    worst = [replace(row, own=[own]) for row, own in zip(worst, owns, strict=False)]
    words = said(with_part(report, RowsPart, BOTH, worst=worst))
    for told in ("Male (own) → Female", "Male → Female (own)", "Male → Female; own value other"):
        assert told in words, told


@pytest.mark.parametrize("rows", ["counts", "none"])
def test_rows_of_people_can_be_left_out(rows, unillustrated):
    report = AuditReport(
        with_part(report_samples.usual(), TwinsPart, BOTH, shown_by="row 1000 of the data")
    )
    left = report.without_people(rows)
    assert left.to_dict() == report.to_dict(rows=rows) and left.person is None
    hidden = searches(report)[-1].search.all_pairs.first[2]  # the one that is a row
    for one in searches(left):
        assert one.rows.worst == [] and one.rows.person is None
        assert hidden not in one.search.all_pairs.first
        assert 27 not in [pair.cells[0].first for pair in one.search.further_pairs]
    known, told, *_ = searches(left)[-1]
    assert known.pair is None and left._data.rows_of_people == rows
    assert (told.by_group == []) == (told.changed is None) == (rows == "none")
    page = said(left._data)
    assert "row 1000" not in page and f"rows='{rows}'" in page
    assert ("3,559" in page) == (rows == "counts") == ("3,559" in left.sentence)
    # What was left out once stays out.
    assert left.without_people("worst")._data == left._data


def test_another_word_for_rows_is_refused():
    with pytest.raises(ValueError, match="rows must be one of .*; got 'all'"):
        AuditReport(report_samples.usual()).to_dict(rows="all")


def test_what_searched_for_a_bound_is_named_where_trees_were_searched():
    assert "was searched with NumPy: the time was spent." in words_of(read(rendered("usual")))


def test_a_regressor_without_threshold_has_shares_of_the_spread_and_no_hundred_percent():
    words = words_of(read(rendered("regression")))
    for told in ("5% of the spread", "72.5%", "32.5%", "3.0%", "88,000"):
        assert told in words, told
    # The axis of shares ends there.
    without = re.sub("<svg.*?</svg>", "", rendered("regression"), flags=re.DOTALL)
    assert "100%" not in words_of(Page(without))
    assert "treated differently" not in words.split("Appendix")[0]
    assert "The mean prediction is 0.10" in words
    assert "1,300 of the 4,000 people in the table would get a prediction that differs" in words
    assert "Largest possible difference: 31,400 (proven" in words


@pytest.mark.parametrize(
    "n_all, told",
    [(9, None), (300, "9 of the 300 possible values"), (None, "9 of the many possible values")],
)
def test_rows_that_were_not_compared_with_all_twins_say_so(n_all, told, unillustrated):
    words = said(with_part(report_samples.usual(), RowsPart, BOTH, n_combinations=n_all))
    assert ("People were compared each with" in words) == (told is not None)
    assert told is None or f"{told} of race and sex, so more may change" in words


def test_a_model_that_gives_labels_has_no_outputs(unillustrated):
    def labelled(pair):
        return replace_cell(pair, outputs=None, output="label", difference=1.0)

    report = report_samples.usual()
    for known, rows, search, _ in searches(report):
        worst = [replace(row, pair=labelled(row.pair)) for row in rows.worst]
        report = with_part(report, RowsPart, known.of, worst=worst)
        further = [labelled(pair) for pair in search.further_pairs]
        report = with_part(report, SearchPart, known.of, further_pairs=further)
        report = with_part(report, TwinsPart, known.of, pair=labelled(known.pair), degree=1.0)
    words = said(report)
    assert "yes against no" in words and "predicted yes no" in words
    assert "Label: yes against no." in render_markdown(report)


@pytest.mark.parametrize(
    "name, threshold, told",
    [
        ("usual", 0.0, "outputs that differ by more than 0"),
        ("usual", None, "another predicted label"),
        ("regression", None, "another prediction"),
    ],
)
def test_what_counts_is_said(name, threshold, told, unillustrated):
    assert f"Counted as different {told}" in said(replace(SAMPLES[name](), threshold=threshold))


def test_names_written_right_to_left_do_not_turn_sentences(unillustrated):
    text = msgspec.json.encode(report_samples.usual()).decode().replace('"sex"', '"الجنس"')
    words = render_text(AuditReport.from_json(text)._data)
    assert words.count("\u2068الجنس\u2069") == words.count("الجنس") > 3


def test_nothing_found_is_said_with_what_was_tried():
    words = words_of(read(rendered("nothing_found")))
    assert "None of 10,000 people, a random sample of 30,162, would get" in words
    assert "No twins were found that differ by more than 0.10." in words
    assert "KNeighborsClassifier cannot be read" in words and "lower bound" in words


def test_an_audit_that_is_not_complete_says_so_first():
    for name, word in (
        ("interrupted", "The audit was interrupted"),
        ("failed", "Incomplete, because a part"),
    ):
        words = words_of(read(rendered(name)))
        first = words.index(f"This audit is not complete. {word}")
        assert first < words.index("How large") and "Input y contains NaN" in words
    words = words_of(Page(rendered("interrupted")))
    assert "Largest difference found: 0.23" in words and "twins that differ in race alone" in words
    assert "No twins were compared." in words_of(Page(rendered("failed")))


@pytest.mark.parametrize("name", NAMES)
def test_no_verdicts(name):
    words = words_of(read(rendered(name))) + render_markdown(SAMPLES[name]())
    words = words.replace(NOT_SHOWN[-1], "")  # it says who judges what is unfair or unlawful
    assert not re.search(r"unfair|\bbias|unlawful|illegal|four.fifths|\bpass\b", words, re.I)


@slow_sample
def test_of_500_columns_eight_are_listed():
    html = rendered("huge")
    start = html.index('<div class="card">')
    card = html[start : html.index("</div>", html.index("</tfoot>", start))]
    assert card.count('<th scope="row">') == 1 + 8 + 2  # changed, those that matter, outputs
    words = words_of(Page(html))
    assert "not listed here: 491" in words
    assert "485 more rows" in words and "found 10,000 inputs" in words  # the domain; the pairs
    assert "the 200 groups with the most rows, of 1,800" in words
    assert "100: class 0" in words and "and 80 more" in words
    assert "to_json" in words


def test_a_first_page_of_many_groups_names_those_that_most_people_are_in(unillustrated):
    report = report_samples.usual()
    groups = [report_samples.people(f"g{k}", 100 + k, higher=k) for k in range(30)]
    report = with_part(only_together(report), RowsPart, by_group=groups)
    report = with_part(report, SelectionPart, groups=[], metric="")
    words = first_of(render_html(report, {}))
    assert "22 more groups stand further below" in words
    assert "g29" in words and "g22" in words and "g3 " not in words
    assert "and 26 more groups" in unwrapped(render_text(report))


def only_together(report):
    """The report without what was found of each attribute alone."""
    kinds = (RowsPart, TwinsPart, SearchPart)
    parts = [one for one in report.parts if not isinstance(one, kinds) or one.of == BOTH]
    return replace(report, parts=parts)


def test_figures_in_words():
    told = [percent(x) for x in (None, 0, 1, 1e-9, 1 - 1e-9, 0.0005, 0.08, 0.1234)]
    assert told == ["–", "0%", "100%", "under 0.1%", "over 99.9%", "0.1%", "8.0%", "12.3%"]
    assert [fixed(x) for x in (None, 0.8, -0.031, 0.0004)] == ["–", "0.80", "-0.03", "0.00040"]
    assert [seconds(x) for x in (None, 0, 4e-5, 0.1, 9.12, 60, 99.7, 200)] == [
        "–", "0 s", "under 0.01 s", "0.1 s", "9.1 s", "60 s", "100 s", "3 min 20 s"
    ]  # fmt: skip
    assert listed(["a"]) == "a" and listed(["a", "b", "c"]) == "a, b and c"
    assert alike([0.5, None, 0.0168, 0.0001]) == ["0.50", "–", "0.02", "under 0.01"]
    assert alike([31_400.4, 2.0]) == ["31,400", "2"]
    assert with_interval(1, 0.999, 1, fixed) == "1.00"
    assert with_interval(0.5, 0.4, 0.6, fixed) == "0.50 (0.40 to 0.60)"
    assert isolate("age") == "age" and isolate("الجنس") == "\u2068الجنس\u2069"


@pytest.mark.parametrize(
    "outputs, told",
    [
        ((0.82, 0.22), ("0.82", "0.22", "0.60")),
        ((0.7268, 0.2731), ("0.727", "0.273", "0.454")),  # 0.73 - 0.27 is not 0.45
        ((2.0, 0.0), ("2.00", "0.00", "2.00")),
        ((31_400.4, 2.0), ("31,400", "2", "31,398")),
        ((0.99996, 0.000532), ("1.000", "0.001", "0.999")),
        ((-1.5, -4.25), ("-1.50", "-4.25", "2.75")),
        ((1e-7, 3e-7), ("1e-07", "3e-07", "2e-07")),
    ],
)
def test_two_outputs_and_their_difference_add_up(outputs, told):
    assert with_difference(*outputs) == told


# Escapes -----------------------------------------------------------------------------------------


def test_names_that_are_markup_are_text():
    page = Page(rendered("hostile"))
    words = words_of(page)
    for name in HOSTILE:
        assert " ".join(name.split()) in words, name
    # Nothing of it has become an element, an attribute or a template.
    assert "{{ 7 * 7 }}" in words and not re.search(r"(?<![.\d])49\b", words)
    assert len(page.all("h1")) == 1 and page.all("b") == []
    assert not any(key.startswith("on") for _, attrs, _ in page.elements for key in attrs)


def test_names_of_all_scripts_keep_their_direction():
    assert "<bdi>" in rendered("hostile") and "\u2068" in rendered("hostile")
    assert "\u2068" not in rendered("usual")


# Markdown and cards ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_markdown_has_all_sections_and_tables_with_whole_rows(name):
    text = render_markdown(SAMPLES[name]())
    assert [f"## {t}" for t in report_samples.titles_of(name, appendix=True)] == [
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
    for told in ("0.82 against 0.22", "at most 0.67", "| ≠ sex | Male | Female |", "3,559",
                 "selection rate |", "compare intervals, not figures",
                 "**What next**", "(https://github.com/", "random_state=0"):  # fmt: skip
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
    report = replace(report_samples.usual(), code="'''\n```\n<b>\n````\n'''")
    assert "`````python\n'''\n```\n<b>\n````\n'''\n`````" in render_markdown(report)


@pytest.mark.parametrize("name", NAMES)
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
    published = AuditReport(SAMPLES[name]()).add_to_model_card(Card(None, template=None))
    assert "largest differences" not in published.render()
    assert name != "usual" or "largest differences" in text


def test_a_model_card_that_is_none_is_refused():
    with pytest.raises(TypeError, match="skops.card.Card; got dict"):
        add_to_card(report_samples.usual(), {}, "Fairness")
    from skops.card import Card

    with pytest.raises(ValueError, match="title of a section"):
        add_to_card(report_samples.usual(), Card(None, template=None), " ")


# Verdicts and the head of the page ---------------------------------------------------------------


def test_a_verdict_has_a_sign_and_a_word_besides_its_colour(unillustrated):
    report = replace(report_samples.usual(), limits=LIMITS)
    html, text = render_html(report, {}), unwrapped(render_text(report))
    page, first = Page(html), first_of(html)
    assert "let CI check it" not in first
    for k, (sign, status) in enumerate(
        [("✗", "fail"), ("✓", "pass"), ("?", "undecided"), ("–", "not checked")]
    ):
        name = status.replace(" ", "")
        assert {"class": f"verdict verdict-{name}"} in page.all("span")
        assert f"{sign} {status.capitalize()} words {k}." in words_of(page)
        assert f"{status.capitalize()} words {k}." in first
        assert f"{status.capitalize()}: words {k}." in text
        assert f".verdict-{name} {{ color:" in html


@pytest.mark.parametrize("about", [{}, {"title": None, "purpose": ""}])
def test_a_page_that_is_told_nothing_of_the_model_has_the_usual_head(about, unillustrated):
    page = Page(render_html(report_samples.nothing_found(), about))
    title = "Audit of HistGradientBoostingClassifier"
    assert words_of(page).startswith(f"{title} Skip to the finding {title} 2026-11-22 08:00")
    assert {"class": "about"} not in page.all("dl") and page.problems == []


def test_the_head_tells_what_the_model_is_for(unillustrated):
    about = {"title": "Loans <2026>", "purpose": "Grants & refuses", "owner": "מחלקה"}
    page = Page(render_html(report_samples.regression(), about))
    words = words_of(page)
    assert words.startswith("Loans <2026> Skip to the finding Loans <2026> 2026-11-22 08:00")
    assert "Report Audit of Ridge Purpose Grants & refuses Owner מחלקה The finding" in words
    assert page.problems == []


def lightness(color):
    """Relative luminance, as WCAG 2 has it."""
    parts = [int(color[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [v / 12.92 if v <= 0.03928 else ((v + 0.055) / 1.055) ** 2.4 for v in parts]
    return sum(w * v for w, v in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_verdicts_can_be_read_in_both_modes(mode):
    css = Path(plots.__file__).parents[1].joinpath("templates", "report.css").read_text("utf-8")
    rules = re.findall(r":root \{(.*?)\}", css, flags=re.DOTALL)[mode == "dark"]
    colors = dict(re.findall(r"--([a-z]+): (#[0-9a-f]{6})", rules))
    for ground in ("paper", "shade"):
        for name in ("pass", "fail", "undecided", "soft", "ink", "accent"):
            dark, light = sorted(lightness(colors[one]) for one in (name, ground))
            assert (light + 0.05) / (dark + 0.05) >= 4.5, (mode, name, ground)
