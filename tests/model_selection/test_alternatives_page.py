"""What a search for alternatives has found, as text, card, page, Markdown and JSON."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from alternatives_samples import ALTERNATIVES, found_in
from report_samples import HOSTILE
from sklearn.linear_model import LogisticRegression
from tiers import slow_sample

from skfairtest import AlternativesSearchCV
from skfairtest.model_selection import AlternativesResult
from skfairtest.report.render import plots


@pytest.fixture
def unillustrated(monkeypatch):
    """Pages without pictures, which take most of the time."""
    monkeypatch.setattr(plots, "draw", lambda figure, key: figure.alt)


@pytest.mark.parametrize("name", ALTERNATIVES)
def test_all_forms_say_the_verdict_first(unillustrated, name):
    found = ALTERNATIVES[name]()
    text, html, markdown = str(found), found.to_html(), found.to_markdown()
    first = " ".join(found.sentence.split())[:24]
    assert text.startswith("Verdict ") and first in " ".join(text.split())
    assert re.search(r'<section id="finding"[^>]*>\s*<h2[^>]*>[^<]*</h2>\s*<p class="lead">', html)
    assert markdown.index("**") < markdown.index("**Asked**")
    for words in ("What this does not show", "How was searched", "All candidates", "Not tried"):
        assert words in html and words in markdown
    assert all(len(line) <= 88 for line in text.split("\n") if max(map(len, line.split())) < 60)
    assert "<section" in found._repr_html_()


@pytest.mark.parametrize("name", ALTERNATIVES)
def test_json_is_read_as_it_was_written(name, tmp_path):
    found = ALTERNATIVES[name]()
    path = tmp_path / "found.json"
    assert found.to_json(path) is None
    again = AlternativesResult.from_json(path)
    assert again == AlternativesResult.from_json(found.to_json())
    assert again.verdict == found.verdict and again.sentence == found.sentence
    assert again.to_json() == found.to_json() and str(again) == str(found)
    assert "NaN" not in path.read_text("utf-8")


@pytest.mark.parametrize("text", ["{}", '{"verdict": "found"}', "{nonsense"])
def test_what_is_no_result_is_refused(text):
    with pytest.raises(ValueError, match=r"Expected the JSON that AlternativesResult\.to_json"):
        AlternativesResult.from_json(text)


def test_page_loads_nothing_and_shows_names_as_text():
    html = ALTERNATIVES["hostile alternatives"]().to_html(purpose=HOSTILE[0])
    assert "<script" not in html and "<img" not in html
    assert not re.search(r'(?:src|href)="(?!#|data:|https://github.com/skfairtest/)', html)
    assert "{{ 7 * 7 }} {% raw %}" in html
    assert "Content-Security-Policy" in html


def test_no_form_quotes_a_row():
    found = ALTERNATIVES["hostile alternatives"]()
    assert "Müller" in found.alternatives[-1].note
    for form in (found.to_html(), found.to_markdown(), found.to_json()):
        assert "Müller" not in form and "words are left out here" in form
    own = found_in(note="ValueError: undefined: impact_ratio")
    assert "undefined: impact_ratio" in own.to_json()


def test_words_have_the_figures():
    text = " ".join(str(found_in()).split())
    assert "Impact ratio goes from 0.70 to 0.76, a gain of +0.064 (+0.034 to +0.094)" in text
    assert "no lower" not in text and "accuracy at most 0.01 lower" in text
    assert "changes for f (sex, 20 rows) by +5.0 points (+2.0 to +8.0)" in text
    assert "For 1 other group that is not certain" in text
    assert "accuracy no lower" in " ".join(str(found_in(margin=0.0)).split())
    open_one = " ".join(str(ALTERNATIVES["alternatives open"]()).split())
    assert "About 12,000 rows would tell" in open_one and "ended by its time" in open_one
    many = ALTERNATIVES["many alternatives"]().to_html()
    assert "500 candidates" in many and "more rows</summary>" in many


@pytest.fixture(scope="module")
def search():
    rng = np.random.default_rng(0)
    sex = rng.integers(2, size=600)
    skill = rng.normal(size=600)
    X = pd.DataFrame({"skill": skill, "club": sex + rng.normal(scale=0.3, size=600)})
    hired = (skill + 0.3 * sex + rng.normal(size=600) > 0).astype(int)
    made = AlternativesSearchCV(
        LogisticRegression(), "columns", margin=0.03, favourable=1, cv=2, random_state=0
    )
    return made.fit(X, hired, sensitive_features=pd.Series(sex, name="sex"))


@slow_sample
def test_a_search_has_all_forms(search, tmp_path, unillustrated):
    assert str(search) == str(search.result_) and repr(search).startswith("AlternativesSearchCV(")
    assert search.verdict_ in str(search).lower().replace("it cannot", "cannot")
    assert "skft-card" in search._repr_html_()
    search.save_html(tmp_path / "page.html", owner="us")
    html = (tmp_path / "page.html").read_text("utf-8")
    assert html == search.to_html(owner="us") and "without club" in html
    assert AlternativesResult.from_json(search.to_json()) == search.result_
    assert search.to_markdown() == search.result_.to_markdown()
    settings = search.result_.settings
    assert settings.asked["margin"] == "0.03" and settings.versions["skfairtest"]
    assert settings.created.endswith("+00:00")


def test_before_fit_a_search_is_its_parameters():
    made = AlternativesSearchCV(LogisticRegression(), "columns")
    assert str(made) == repr(made)
    assert "skft" not in made._repr_html_()
    with pytest.raises(AttributeError, match="has no results before fit"):
        made.save_html("page.html")
