"""A new tester is its file, its export, and a line in the change log, tried on a copy.

The tester is the one that CONTRIBUTING.md shows.
"""

import os
import re
import shutil
import subprocess
import sys

import pytest
from places import TOP
from tiers import slow_sample

#: What of the copy's tests concerns the new tester, and the graph that it became a part of.
CONCERNED = (
    "SampledAuditor or _sampled or run_downward or no_circle or every_public_name_is or many_values"
    " or all_auditors or the_list_holds_our_own or is_tested_here"
)
FILES = ["project/test_imports.py", "test_io.py", "project/test_api.py", "test_many.py"]
MANY_VALUES = """
import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from skfairtest import SampledAuditor

def test_sampled_pairs_where_a_sensitive_attribute_has_many_values():
    X = np.column_stack([np.arange(586) % 293, np.random.default_rng(0).normal(size=586)])
    model = LinearRegression().fit(X, X[:, 0])
    auditor = SampledAuditor(model, sensitive_features=[0], max_queries=2000, random_state=0)
    auditor.fit(X)
    assert auditor.n_inputs_ > 500
    assert 200 < auditor.fairness_degree_ <= 292 + 1e-9
"""


def sample():
    """The code of the tester in CONTRIBUTING.md."""
    text = (TOP / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (code,) = [block for block in re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
               if "class SampledAuditor" in block]  # fmt: skip
    return code


def export(path):
    """Name the new tester wherever a package's own file names RandomAuditor."""
    lines = []
    for line in path.read_text(encoding="utf-8").splitlines():
        lines.append(line)
        if "RandomAuditor" in line:
            lines.append(line.replace("Random", "Sampled").replace("_random", "_sampled"))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """A copy of the package and its tests, with the new tester in it."""
    top = tmp_path_factory.mktemp("copy")
    for name in ("skfairtest", "tests", "docs"):
        # What was compiled goes along, which saves seconds.
        ignored = shutil.ignore_patterns("*.md", "quality", "_build", "auto_examples")
        shutil.copytree(TOP / name, top / name, ignore=ignored)
    for name in ("pyproject.toml", "conftest.py", ".gitignore"):
        shutil.copy(TOP / name, top / name)
    package = top / "skfairtest"
    (package / "individual" / "_sampled.py").write_text(sample(), encoding="utf-8")
    export(package / "individual" / "__init__.py")
    export(package / "__init__.py")
    (top / "tests" / "test_many.py").write_text(MANY_VALUES, encoding="utf-8")
    return top


def run(copy, *command):
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTEST_ADDOPTS")}
    return subprocess.run(
        [sys.executable, "-m", *command], cwd=copy, env=environment, capture_output=True,
        encoding="utf-8", errors="replace",
    )  # fmt: skip


def passed(copy, *files):
    """Names of the tests that concern the new tester in these files of the copy; they pass."""
    ended = run(copy, "pytest", "-v", "-p", "no:cacheprovider", *files, "-k", CONCERNED)
    assert ended.returncode == 0, ended.stdout[-5000:] + ended.stderr[-5000:]
    assert "[RandomAuditor" not in ended.stdout
    return re.findall(r"::(\S+).* PASSED", ended.stdout)


@slow_sample
def test_the_package_takes_the_sample(copy):
    names = passed(copy, *(f"tests/{file}" for file in FILES), "skfairtest/individual/_sampled.py")
    assert set(names) >= {
        "test_auditors_of_twins[SampledAuditor]",
        "test_every_public_estimator_is_tested_here",
        "test_the_list_holds_our_own_types_and_they_exist",
        "test_public_names_exist_and_have_examples[SampledAuditor]",
        "test_every_public_name_is_listed_and_has_a_page",
        "test_imports_run_downward",
        "test_no_circle",
        "test_sampled_pairs_where_a_sensitive_attribute_has_many_values",
        "skfairtest.individual._sampled.SampledAuditor",
    }


@slow_sample
def test_the_sample_has_a_docstring_of_all_that_it_inherits(copy):
    text = run(copy, "pydoc", "skfairtest.SampledAuditor").stdout
    titles = [text.index(f"|  {title}\n |  ---") for title in
              ("Parameters", "Attributes", "References", "Examples")]  # fmt: skip
    assert titles == sorted(titles)
    assert titles[0] < text.index("|  space : InputSpace, default=None") < titles[1]
    assert titles[1] < text.index("|  fairness_degree_ : float") < titles[2]


@slow_sample
def test_common_tests_find_the_sample(copy):
    # Its slow half as well.
    names = passed(copy, "tests/base/test_common.py", "-m", "not services")
    assert {
        "test_all_auditors_are_found",
        "test_own_checks[SampledAuditor-check_degree-CountingRegressor]",
    } <= set(names)
    assert len([name for name in names if "test_own_checks[SampledAuditor" in name]) > 10
    assert any(name.startswith("test_scikit_learn_checks[SampledAuditor-") for name in names)


@pytest.mark.services("ruff")
def test_the_sample_is_clean(copy):
    path = "skfairtest/individual/_sampled.py"
    for command in (["check"], ["format", "--check"]):
        ended = run(copy, "ruff", *command, path)
        assert ended.returncode == 0, ended.stdout + ended.stderr
