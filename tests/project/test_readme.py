"""The first screen: its code prints what it shows, it is short, and its pictures are small."""

import re

import numpy as np
import pytest
from places import TOP
from tiers import slow_sample

README = (TOP / "README.md").read_text(encoding="utf-8")
PICTURES = sorted((TOP / "docs" / "_static" / "pictures").iterdir())


def test_it_has_at_most_700_words():
    assert len(README.split()) <= 700


def test_set_up_takes_the_two_commands():
    blocks = re.findall(r"```bash\n(.*?)\n```", README, flags=re.DOTALL)
    assert blocks == ["pip install . && skfairtest demo", 'pip install ".[test]" && pytest']
    commands = (TOP / ".ci" / "run").read_text(encoding="utf-8")
    assert '\npip install ".[test]"\npytest\n' in commands


SECONDS = re.compile(r"\bin\s+(?:under\s+)?(?:\d+\s+min\s+)?[\d.]+\s+s\b")
NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")


def words(text):
    """The words of a report, without figures: their order is that of columns, which may change."""
    return set(NUMBER.sub("#", SECONDS.sub("in some time", text)).split())


def figures(text):
    """The largest difference, and the two outputs that it lies between."""
    found = re.search(
        r"found: ([\d.]+) \([^():]*: ([\d.]+) against ([\d.]+)\)", " ".join(text.split())
    )
    return [float(figure) for figure in found.groups()]


@slow_sample
def test_the_code_prints_what_is_below_it(capsys, clock):
    # How often it is read depends on how soon a compiler is done; no part may run out of time.
    clock.step /= 100
    (code,) = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    (shown,) = re.findall(r"```text\n(.*?)```", README, flags=re.DOTALL)
    assert len([line for line in code.splitlines() if line]) == 6
    exec(compile(code, "README.md", "exec"), {})
    printed = capsys.readouterr().out
    assert words(printed) == words(shown), "python docs/make_pictures.py writes it anew"
    # Of other versions the model is another one, and the page says that figures differ a little.
    np.testing.assert_allclose(figures(printed), figures(shown), rtol=0.2)


def test_the_first_page_of_the_site_shows_the_same_code():
    block = re.compile(r"```python\n.*?```", flags=re.DOTALL)
    page = (TOP / "docs" / "index.md").read_text(encoding="utf-8")
    assert block.findall(page) == block.findall(README)


@pytest.mark.parametrize("name", ["finding-light.png", "finding-dark.png"])
def test_pictures_are_those_that_it_shows(name):
    assert f"docs/_static/pictures/{name}" in README
    assert (TOP / "docs" / "_static" / "pictures" / name).read_bytes().startswith(b"\x89PNG")


def test_pictures_are_small():
    assert sum(path.stat().st_size for path in PICTURES) < 200_000


def test_it_says_what_a_finding_does_not_show():
    section = README.partition("## What a finding does not show")[2].partition("\n## ")[0]
    assert len(re.findall(r"^- \*\*", section, flags=re.MULTILINE)) == 4
