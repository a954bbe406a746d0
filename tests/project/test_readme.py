"""The first screen: its code prints what it shows, it is short, and its pictures are small."""

import re

import pytest
from places import TOP

README = (TOP / "README.md").read_text(encoding="utf-8")
PICTURES = sorted((TOP / "docs" / "_static" / "pictures").iterdir())


def test_it_has_at_most_700_words():
    assert len(README.split()) <= 700


def test_set_up_takes_the_two_commands():
    blocks = re.findall(r"```bash\n(.*?)\n```", README, flags=re.DOTALL)
    assert blocks == ["pip install . && skfairtest demo", 'pip install ".[test]" && pytest']
    commands = (TOP / ".ci" / "run").read_text(encoding="utf-8")
    assert '\npip install ".[test]"\npytest\n' in commands


def figures(text):
    """What a printed report says, without seconds, and without the columns that do not differ."""
    return [line.strip() for line in text.splitlines() if line.strip()]


def test_the_code_prints_what_is_below_it(capsys):
    (code,) = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    (shown,) = re.findall(r"```text\n(.*?)```", README, flags=re.DOTALL)
    assert len([line for line in code.splitlines() if line]) == 6
    exec(compile(code, "README.md", "exec"), {})
    printed = capsys.readouterr().out
    told = figures(printed)
    for line in figures(shown):
        if line.startswith("cost"):
            assert any(one.startswith(line.rpartition(",")[0].rpartition(",")[0]) for one in told)
        elif line != "...":
            assert line in told, f"{line!r} is not in\n{printed}"


@pytest.mark.parametrize("name", ["finding-light.png", "finding-dark.png"])
def test_pictures_are_those_that_it_shows(name):
    assert f"docs/_static/pictures/{name}" in README
    assert (TOP / "docs" / "_static" / "pictures" / name).read_bytes().startswith(b"\x89PNG")


def test_pictures_are_small():
    assert sum(path.stat().st_size for path in PICTURES) < 200_000


def test_it_says_what_a_finding_does_not_show():
    section = README.partition("## What a finding does not show")[2].partition("\n## ")[0]
    assert len(re.findall(r"^- \*\*", section, flags=re.MULTILINE)) == 4
