"""docs/how_to/gate.md: its snippets make the files, and its commands end as they say."""

from __future__ import annotations

import re
import shlex
import sys
import tomllib

import pytest
from places import TOP
from tiers import SAMPLE, slow_sample

from skfairtest.__main__ import main
from skfairtest.cli import _audit

PAGE = (TOP / "docs" / "how_to" / "gate.md").read_text("utf-8")
#: (language, code) of each block.
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)


def commands(language, otherwise):
    """Commands in the blocks of a language, and their exit codes: what is said, or otherwise."""
    found = []
    for block in (code for kind, code in BLOCKS if kind == language):
        for line in block.splitlines():
            match = re.search(r"((?:skfairtest|pytest) .*?)(?:\s+# exits with (\d+))?$", line)
            if match and not line.startswith("#") and "pip install" not in line:
                found.append((match.group(1), int(match.group(2) or otherwise)))
    return found


BASH = commands("bash", 0)
#: Those of the services look at the model that exceeds the limit of pyproject.toml.
YAML = commands("yaml", 1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """What the page has made before its first command."""
    folder = tmp_path_factory.mktemp("page")
    python = [code for kind, code in BLOCKS if kind == "python"]
    toml = [code for kind, code in BLOCKS if kind == "toml"]
    assert len(python) == 2 and len(toml) == 2
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        exec(compile(python[0], "gate.md", "exec"), {})
        (folder / "test_fairness.py").write_text(python[1], encoding="utf-8")
        (folder / "pyproject.toml").write_text(toml[0], encoding="utf-8")
        (folder / "space.toml").write_text(toml[1], encoding="utf-8")
    return folder


def run(command, folder, capsys):
    program, *words = shlex.split(command)
    if program == "pytest":
        code = pytest.main([*words, "-p", "no:cacheprovider", "--rootdir", str(folder)])
    else:
        code = main(words)
    said = capsys.readouterr()
    return int(code), said


#: The first two end in different ways; the others are slow.
COMMANDS = [
    pytest.param(*case, marks=SAMPLE if k > 1 else []) for k, case in enumerate([*BASH, *YAML])
]


@slow_sample
@pytest.mark.parametrize("command, code", COMMANDS)
def test_commands_end_as_the_page_says(command, code, folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    if command.startswith("skfairtest audit"):  # only to save time
        command = re.sub(r" --max-queries \d+", "", command) + " --max-queries 300"
    got, said = run(command, folder, capsys)
    assert got == code, said.out + said.err
    assert "Traceback" not in said.err


def test_the_page_shows_all_kinds_of_commands():
    text = " ".join(command for command, _ in BASH)
    for name in ("audit", "certify", "compare"):
        assert f"skfairtest {name}" in text
    assert len(YAML) == 3 and {code for _, code in BASH} == {0, 1}


def test_yaml_blocks_are_yaml():
    yaml = pytest.importorskip("yaml")
    github, kept, gitlab, hooks = (yaml.safe_load(code) for kind, code in BLOCKS if kind == "yaml")
    steps = github["jobs"]["audit"]["steps"]
    runs = [step["run"] for step in steps if "run" in step]
    assert any(run.startswith("skfairtest audit --config pyproject.toml") for run in runs)
    uses, path, make = kept
    assert uses["with"]["path"] == ".venv" in path["run"]
    assert make["run"].endswith("&& skfairtest compile")
    script = gitlab["fairness"]["script"]
    assert script[-1].startswith("skfairtest audit")
    assert gitlab["fairness"]["artifacts"]["reports"]["junit"] in script[-1]
    (hook,) = hooks["repos"][0]["hooks"]
    (ours,) = yaml.safe_load((TOP / ".pre-commit-hooks.yaml").read_text("utf-8"))
    for key in ("id", "entry", "files", "pass_filenames"):
        assert hook[key] == ours[key]


@slow_sample
def test_the_hook_runs(folder, monkeypatch, capsys):
    text = (TOP / ".pre-commit-hooks.yaml").read_text("utf-8")
    entry = re.search(r"entry: (.*)", text).group(1)
    monkeypatch.chdir(folder)
    assert run(entry, folder, capsys)[0] == 1
    assert entry in PAGE


def test_all_exit_codes_are_in_the_table():
    rows = re.findall(r"^\| (\d+) \|", PAGE, flags=re.MULTILINE)
    assert rows == ["0", "1", "2", "3", "4", "130"]
    assert all(f"{code} " in _audit.HELP for code in rows)


def test_limits_of_the_table_are_options():
    named = set(re.findall(r"^\| `--([\w-]+)", PAGE, flags=re.MULTILINE))
    limits = {name.replace("_", "-") for name in _audit.LIMITS} - {"estimates-decide"}
    assert named == limits


def test_the_table_of_settings_is_toml():
    (first, second) = (tomllib.loads(code) for kind, code in BLOCKS if kind == "toml")
    assert set(first["tool"]["skfairtest"]) == {"audit"} and second["constraints"]
    assert sys.version_info >= (3, 11)
