"""What the repository says of the package agrees with it."""

from __future__ import annotations

import re
import tomllib

import pytest
from places import TOP

PYPROJECT = tomllib.loads((TOP / "pyproject.toml").read_text("utf-8"))
PROJECT = PYPROJECT["project"]
CITATION = (TOP / "CITATION.cff").read_text("utf-8")


def test_citation_has_the_version_the_licence_and_the_title():
    assert re.search(r"^version: (.*)$", CITATION, re.M).group(1) == PROJECT["version"]
    assert re.search(r"^license: (.*)$", CITATION, re.M).group(1) == PROJECT["license"]
    yaml = pytest.importorskip("yaml")
    found = yaml.safe_load(CITATION)
    assert {"cff-version", "message", "title", "authors"} <= set(found)
    assert found["authors"] == [{"name": author["name"]} for author in PROJECT["authors"]]


def test_urls_are_those_of_one_repository():
    source = PROJECT["urls"]["Source"]
    assert set(PROJECT["urls"]) == {"Source", "Issues", "Changelog", "Documentation"}
    assert all(url.startswith(source) for url in PROJECT["urls"].values())


# What is tested ---------------------------------------------------------------------------------

WORKFLOWS = sorted((TOP / ".github" / "workflows").glob("*.yml"))
VERSIONS = (TOP / "docs" / "reference" / "supported_versions.md").read_text("utf-8")


def test_the_versions_of_python_are_those_that_are_tested():
    prefix = "Programming Language :: Python :: 3."
    named = [f"3.{c.removeprefix(prefix)}" for c in PROJECT["classifiers"] if c.startswith(prefix)]
    yaml = pytest.importorskip("yaml")
    tests = yaml.safe_load((TOP / ".github" / "workflows" / "tests.yml").read_text("utf-8"))
    assert tests["jobs"]["tests"]["strategy"]["matrix"]["python"] == named
    assert PROJECT["requires-python"] == f">={named[0]}"
    assert f"| Python | {named[0]} | {named[-1]} |" in VERSIONS


def test_the_floors_are_those_that_are_tested():
    floors = dict(name.split(">=") for name in PROJECT["dependencies"])
    run = (TOP / ".ci" / "run").read_text("utf-8")
    oldest = dict(line.split("==") for line in re.findall(r"^[a-z-]+==[\d.]+$", run, re.M))
    assert set(oldest) == set(floors)
    for name, floor in floors.items():
        assert oldest[name] == floor or oldest[name] == f"{floor}.0"
        assert f"| {name} | {oldest[name]} |" in VERSIONS


def test_what_only_developers_need_is_no_extra():
    groups = {"lint", "services", "optimizers", "docs", "release"}
    assert set(PYPROJECT["dependency-groups"]) == groups
    assert not set(PYPROJECT["dependency-groups"]) & set(PROJECT["optional-dependencies"])


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_actions_are_pinned_to_a_commit(path):
    used = re.findall(r"uses: (.*)", path.read_text("utf-8"))
    assert used
    for action in used:
        assert re.fullmatch(r"[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", action), action


def test_what_is_uploaded_was_built_without_a_secret():
    yaml = pytest.importorskip("yaml")
    publish = yaml.safe_load((TOP / ".github" / "workflows" / "publish.yml").read_text("utf-8"))
    assert publish["permissions"] == {}
    assert publish["jobs"]["build"]["permissions"] == {"contents": "read"}
    upload = publish["jobs"]["publish"]
    assert upload["permissions"] == {"id-token": "write"} and upload["environment"] == "pypi"
    assert upload["steps"][-1]["with"] == {"attestations": True}
    assert "secrets." not in str(publish)


def test_the_program_is_the_module():
    assert PROJECT["scripts"] == {"skfairtest": "skfairtest.__main__:main"}


def test_security_says_what_is_refused():
    from skfairtest.cli._model_file import WHY_UNSAFE

    text = " ".join((TOP / "SECURITY.md").read_text("utf-8").split())
    for word in ("--unsafe-pickle", "--trust", "before anything can be checked"):
        assert word in text
    assert "before anything can be checked" in WHY_UNSAFE
