"""Reports opened in a browser: Debian's chromium, driven by selenium.

Where these are missing the tests are skipped, but not in CI, which installs them (.ci/run). They
belong to the tier `services`. The environment variable SKFAIRTEST_AXE names the file axe.min.js of
axe-core.
"""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from alternatives_samples import ALTERNATIVES
from report_samples import SAMPLES, titles_of, without_strata

from skfairtest.report.render.html import render_fragment, render_html

pytestmark = pytest.mark.services

#: What CI is to have; a skip there would hide that nothing was tested.
IN_CI = (
    os.environ.get("CI", "").lower() in ("1", "true", "yes")
    or os.environ.get("SKFAIRTEST_BROWSER") == "required"
)
FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-dev-shm-usage", "--hide-scrollbars", "--window-size=1200,900",
)  # fmt: skip
#: A page is opened in each of these ways.
WIDTHS, MODES = (1200, 360), ("light", "dark")


def missing(what):
    """Skip, or fail where it must be there."""
    if IN_CI:
        pytest.fail(f"{what} is missing, which CI must have: see .ci/run")
    pytest.skip(f"{what} is missing")


def where(*names):
    """The first of these programs that there is."""
    return next((path for name in names if (path := shutil.which(name))), None)


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """A browser of these tests' own, with a log of all requests."""
    try:
        from selenium import webdriver
    except ImportError:
        missing("selenium")
    chromium, driver = where("chromium", "chromium-browser"), where("chromedriver")
    if chromium is None or driver is None:
        missing("chromium or chromedriver")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"performance": "ALL", "browser": "ALL"})
    window = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    yield window
    window.quit()


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Files of all samples."""
    folder = tmp_path_factory.mktemp("pages")

    def path_of(name):
        path = folder / f"{name}.html"
        if not path.exists() and name in ALTERNATIVES:
            ALTERNATIVES[name]().save_html(path)
        elif not path.exists():
            sample = SAMPLES[name.removesuffix("-card")]()
            if name in ("usual", "huge"):  # how long they may be is said of audits without strata
                sample = without_strata(sample)
            is_card = name.endswith("-card")
            path.write_text(
                f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>card</title>'
                f"</head><body><main><h1>card</h1>{render_fragment(sample)}</main></body></html>"
                if is_card
                else render_html(sample, {}),
                encoding="utf-8",
            )
        return path.as_uri()

    return path_of


def show(browser, url, width=1200, mode="light"):
    """Open a page in a window of this width, light or dark."""
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500},
    )
    browser.execute_cdp_cmd(
        "Emulation.setEmulatedMedia",
        {"media": "", "features": [{"name": "prefers-color-scheme", "value": mode}]},
    )
    browser.get(url)
    # On a busy machine get() was seen to return while the page was still being read. The limit
    # only ends a run that hangs.
    end = time.monotonic() + 300
    while browser.execute_script("return document.readyState") != "complete":
        assert time.monotonic() < end, f"{url} was not read"
        time.sleep(0.02)


def requests_of(browser):
    """Addresses that a page asked for since the last call, but those that it forbids itself.

    Pictures of the browser's own pages come from inside of the browser.
    """
    asked = {}
    for entry in browser.get_log("performance"):
        message = json.loads(entry["message"])["message"]
        told = message["params"]
        if message["method"] == "Network.requestWillBeSent":
            asked[told["requestId"]] = told["request"]["url"]
        elif told.get("blockedReason") == "csp":
            del asked[told["requestId"]]
    return [url for url in asked.values() if not url.startswith("chrome://")]


# A page ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*SAMPLES, *ALTERNATIVES])
def test_no_request_leaves_the_file_and_the_console_is_empty(browser, pages, name):
    url = pages(name)
    requests_of(browser), browser.get_log("browser")
    show(browser, url)
    browser.execute_script("document.querySelectorAll('details').forEach(d => d.open = true)")
    asked = [one for one in requests_of(browser) if not one.startswith("data:")]
    assert asked == [url]
    assert browser.get_log("browser") == []


def test_the_log_of_requests_sees_one(browser, pages, tmp_path):
    page = tmp_path / "leaks.html"
    page.write_text("<img src='http://127.0.0.1:9/x.png'><script>console.error('no')</script>")
    requests_of(browser), browser.get_log("browser")
    show(browser, page.as_uri())
    assert "http://127.0.0.1:9/x.png" in requests_of(browser)
    assert browser.get_log("browser")


def test_nothing_that_is_let_in_by_mistake_could_run(browser, pages, tmp_path):
    html = Path(pages("usual").removeprefix("file://")).read_text(encoding="utf-8")
    page = tmp_path / "spoiled.html"
    bad = "<script>document.title='ran'</script><img src='http://127.0.0.1:9/x.png'></main>"
    page.write_text(html.replace("</main>", bad), encoding="utf-8")
    requests_of(browser)
    show(browser, page.as_uri())
    assert browser.title != "ran"
    assert not any("127.0.0.1" in url for url in requests_of(browser))
    browser.get_log("browser")


@pytest.mark.parametrize("name", ["usual", "failed", "hostile"])
def test_each_section_is_seen(browser, pages, name):
    show(browser, pages(name))
    seen = browser.execute_script(
        "return [...document.querySelectorAll('main section')].map(s => {"
        " const box = s.getBoundingClientRect(), h = s.querySelector('h2');"
        " return [h.innerText, box.width > 300 && box.height > 40 && h.checkVisibility()]})"
    )
    assert seen == [[title, True] for title in [*titles_of(name), "Appendix"]]
    shown = browser.execute_script("return document.body.innerText")
    assert "<script>" in shown or name != "hostile"


def test_dark_is_dark(browser, pages):
    grey = []
    for mode in MODES:
        show(browser, pages("usual"), mode=mode)
        color = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
        grey.append(sum(map(int, re.findall(r"\d+", color)[:3])))
    assert grey[0] > 700 and grey[1] < 120


@pytest.mark.parametrize("name", [*SAMPLES, *ALTERNATIVES])
@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_is_cut(browser, pages, name, width):
    """Neither the page nor what is in it scrolls, and all that is seen ends within it."""
    show(browser, pages(name), width)
    browser.execute_script("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    # What a phone would zoom out to show.
    assert browser.execute_script("return window.innerWidth") == width
    cut = browser.execute_script(
        "return [...document.querySelectorAll('main *:not(svg *)')].filter(e => {"
        " const box = e.getBoundingClientRect();"
        " const hidden = e.closest('.skft-hidden, thead, .skip');"
        " return !hidden && box.width > 1 && (box.right > arguments[0] + 1 || box.left < -1 ||"
        " (getComputedStyle(e).display !== 'inline' && e.scrollWidth > e.clientWidth + 1)) })"
        ".slice(0, 5).map(e => e.tagName + ' ' + e.className + ' ' + e.textContent.slice(0, 50))",
        width,
    )
    assert cut == []


@pytest.mark.parametrize("name", ["usual", "regression", "nothing_found", "huge"])
def test_the_appendix_is_closed_and_begins_above_6000_pixels(browser, pages, name):
    show(browser, pages(name))
    top, is_open = browser.execute_script(
        "const a = document.querySelector('#appendix');"
        "return [a.getBoundingClientRect().top + scrollY, a.querySelector('details').open]"
    )
    # How well the model predicts is said as well, and long names of groups take four lines.
    assert top < (6100 if name == "huge" else 6000) and not is_open


def test_heads_of_tables_do_not_break_within_a_word(browser, pages):
    show(browser, pages("usual"))
    browser.execute_script("document.querySelectorAll('details').forEach(d => d.open = true)")
    heads = browser.execute_script(
        "return [...document.querySelectorAll('thead th bdi:not(.skft-long)')].map(e =>"
        " [e.innerText, getComputedStyle(e).overflowWrap, e.closest('th').scrollWidth <="
        " e.closest('th').clientWidth + 1])"
    )
    assert len(heads) > 30
    assert [one for one in heads if one[1] != "normal" or not one[2]] == []


# On paper ----------------------------------------------------------------------------------------


def pages_on_paper(browser, tmp_path, *how):
    """The text of each page as printed, by poppler."""
    if where("pdftotext") is None:
        missing("pdftotext (poppler-utils)")
    told = browser.execute_cdp_cmd("Page.printToPDF", {"preferCSSPageSize": True})
    pdf = tmp_path / "page.pdf"
    pdf.write_bytes(base64.b64decode(told["data"]))
    run = subprocess.run(
        ["pdftotext", *(how or ("-layout",)), str(pdf), "-"],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    if how:
        return run.stdout
    # A form feed ends each page.
    return [" ".join(page.split()) for page in run.stdout.split("\f")[:-1]]


@pytest.mark.parametrize("mode", MODES)
def test_printing_opens_what_is_folded(browser, pages, tmp_path, mode):
    show(browser, pages("usual"), mode=mode)
    folded = browser.execute_script(
        "return [...document.querySelectorAll('details')].map(d => [d.open,"
        " d.querySelector('summary').innerText])"
    )
    assert folded and not any(is_open for is_open, _ in folded)
    words = " ".join(pages_on_paper(browser, tmp_path))
    assert [title for title in titles_of("usual", appendix=True) if title not in words] == []
    # Of each fold something that stands only in it.
    for told in ("Further pairs; columns that", "OrdinalEncoder()", "SBFTAuditor()", "Seed"):
        assert told in words, told
    color = "return getComputedStyle(document.body).backgroundColor"
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert browser.execute_script(color) == "rgb(255, 255, 255)"


@pytest.mark.parametrize("name", ["usual", "regression", "nothing_found"])
def test_the_first_page_is_whole_on_paper_and_four_come_before_the_appendix(
    browser, pages, tmp_path, name
):
    show(browser, pages(name))
    printed = pages_on_paper(browser, tmp_path)
    first = printed[0]
    place = 0
    answers = ("Limits", "For whom", "Rates", "How large", "How sure", "What next")
    for told in ("The finding", *answers):
        place = first.index(told, place)
    steps = browser.execute_script(
        "return [...document.querySelectorAll('.step')].map(e => e.innerText)"
    )
    assert 2 <= len(steps) <= 3 and all(step in first for step in steps)
    (appendix,) = [k for k, words in enumerate(printed) if " Appendix With what" in f" {words}"]
    # Groups of perturbed inputs, which somebody asked for, may take a page of their own.
    assert appendix <= 4 + (name == "usual")


@pytest.mark.parametrize("name", SAMPLES)
def test_no_head_parts_from_what_follows_and_no_page_is_half_empty(browser, pages, tmp_path, name):
    show(browser, pages(name))
    heads = browser.execute_script(
        "return [...document.querySelectorAll('h2, h3, caption, details:not(.rest) > summary')]"
        ".map(e => e.textContent.replace(/\\s+/g, ''))"
    )
    printed = ["".join(page.split()) for page in pages_on_paper(browser, tmp_path)]
    assert [page[-80:] for page in printed if page.endswith(tuple(heads))] == []
    if name == "hostile":  # a card of its names needs more than half a page, which may be left
        return
    boxes = pages_on_paper(browser, tmp_path, "-bbox")
    appendix = next(k for k, page in enumerate(printed) if "AppendixWithwhat" in page)
    for page in boxes.split("<page ")[1 : 1 + appendix]:
        height = float(re.search(r'height="([\d.]+)"', page)[1])
        assert max(map(float, re.findall(r'yMax="([\d.]+)"', page))) > height / 2


@pytest.mark.parametrize("name", ["usual", "huge"])
def test_no_card_breaks_on_paper_and_nothing_is_cut_off(browser, pages, name):
    show(browser, pages(name), width=680)  # A4 between its margins, in pixels of CSS
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 680
    breaks = browser.execute_script(
        "return [...document.querySelectorAll('.card, figure, .answers > div, tr, .notice')]"
        ".map(e => getComputedStyle(e).breakInside)"
    )
    assert len(breaks) > 50 and set(breaks) == {"avoid"}
    folded = browser.execute_script(
        "return [...document.querySelectorAll('details > :not(summary)')]"
        ".filter(e => !e.checkVisibility() || !e.getBoundingClientRect().height).length"
    )
    assert folded == 0


# For all readers ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def axe():
    """The script of axe-core."""
    path = os.environ.get("SKFAIRTEST_AXE")
    if not path or not Path(path).is_file():
        missing("axe-core (SKFAIRTEST_AXE names axe.min.js)")
    return Path(path).read_text(encoding="utf-8")


def findings_of(browser, script):
    """What axe-core has against the page, as words; all folds are open."""
    browser.execute_script("document.querySelectorAll('details').forEach(d => d.open = true)")
    browser.execute_script(script)
    found = browser.execute_async_script(
        "const done = arguments[0];"
        "axe.run(document, {resultTypes: ['violations']}).then(r => done(r.violations),"
        " e => done([{id: String(e), impact: 'serious', nodes: []}]))"
    )
    return [
        f"{one['impact']} {one['id']}: {[node['html'][:150] for node in one['nodes'][:3]]}"
        for one in found
    ]


@pytest.mark.parametrize(
    "name, width, mode",
    [
        *(("usual", width, mode) for width in WIDTHS for mode in MODES),
        *(("usual-card", 1200, mode) for mode in MODES),
        ("regression", 360, "light"),
        ("interrupted", 360, "dark"),
        ("failed", 1200, "light"),
        ("hostile", 360, "dark"),
        *(("alternative found", width, mode) for width in WIDTHS for mode in MODES),
        ("alternatives open", 1200, "light"),
        ("hostile alternatives", 360, "dark"),
        ("regression alternatives", 1200, "dark"),
    ],
)
def test_axe_has_nothing_to_say(browser, pages, axe, name, width, mode):
    show(browser, pages(name), width, mode)
    assert findings_of(browser, axe) == []


def test_axe_sees_what_is_wrong(browser, axe, tmp_path):
    page = tmp_path / "bad.html"
    page.write_text("<html><body><img src='data:,'><p style='color:#bbb'>pale</p></body></html>")
    show(browser, page.as_uri())
    found = " ".join(findings_of(browser, axe))
    assert all(rule in found for rule in ("image-alt", "color-contrast", "html-has-lang"))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name, n_marks", [("usual", 100), ("many alternatives", 50)])
def test_pictures_can_be_seen_in_both_modes(browser, pages, name, n_marks, mode):
    """Lines, marks and texts of all pictures stand out from the page as WCAG 2 asks."""
    show(browser, pages(name), mode=mode)
    browser.execute_script("document.querySelectorAll('details').forEach(d => d.open = true)")
    ratios = browser.execute_script(
        """
        const light = c => { const [r, g, b] = c.match(/[\\d.]+/g).slice(0, 3).map(Number)
            .map(v => v / 255).map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
            return 0.2126 * r + 0.7152 * g + 0.0722 * b };
        const paper = light(getComputedStyle(document.body).backgroundColor);
        const ratio = c => { const l = light(c);
            return (Math.max(l, paper) + 0.05) / (Math.min(l, paper) + 0.05) };
        return [...document.querySelectorAll('.plot text, .plot path, .plot use')].flatMap(e => {
            const s = getComputedStyle(e), colors = e.tagName === 'text' ? [s.fill] : [s.stroke];
            return colors.filter(c => c.startsWith('rgb')).map(c => [e.tagName, c, ratio(c)]) });
        """
    )
    assert len(ratios) > n_marks
    weak = {
        (tag, color)
        for tag, color, ratio in ratios
        if ratio < (4.5 if tag == "text" else 2.9) and ratio > 1.01
    }
    assert weak == set()
