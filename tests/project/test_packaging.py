"""What the repository says of the package agrees with it."""

from __future__ import annotations

import re
import tomllib

import pytest
from places import TOP

PROJECT = tomllib.loads((TOP / "pyproject.toml").read_text("utf-8"))["project"]
CITATION = (TOP / "CITATION.cff").read_text("utf-8")


def test_citation_has_the_version_the_licence_and_the_title():
    assert re.search(r"^version: (.*)$", CITATION, re.M).group(1) == PROJECT["version"]
    assert re.search(r"^license: (.*)$", CITATION, re.M).group(1) == PROJECT["license"]
    yaml = pytest.importorskip("yaml")
    found = yaml.safe_load(CITATION)
    assert {"cff-version", "message", "title", "authors"} <= set(found)
    assert found["authors"] == [{"name": author["name"]} for author in PROJECT["authors"]]


def test_there_are_no_urls_until_they_exist():
    assert "urls" not in PROJECT


def test_the_program_is_the_module():
    assert PROJECT["scripts"] == {"skfairtest": "skfairtest.__main__:main"}


def test_security_says_what_is_refused():
    from skfairtest.cli._model_file import WHY_UNSAFE

    text = " ".join((TOP / "SECURITY.md").read_text("utf-8").split())
    for word in ("--unsafe-pickle", "--trust", "before anything can be checked"):
        assert word in text
    assert "before anything can be checked" in WHY_UNSAFE
