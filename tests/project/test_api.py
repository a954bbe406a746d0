"""Public names are exported, documented with an example, and have a page each in the reference."""

import inspect
import runpy

import pytest
from places import TOP

import skfairtest

#: Made by the package, never by a user.
RESULT_TYPES = {"DiscriminationEstimate", "FoundPairs", "MitigationComparison"}


@pytest.fixture(scope="module")
def make_api():
    return runpy.run_path(str(TOP / "docs" / "make_api.py"))


def test_every_public_name_is_listed_and_has_a_page(make_api):
    pages = make_api["pages"]()
    index = make_api["names"]()
    for name in set(skfairtest.__all__) - {"datasets", "io"}:
        assert f"\n| `{name}` | " in index
        assert f":: {name}\n" in pages[f"skfairtest.{name}.rst"]
    for title, module, names in make_api["sections"]():
        assert title in index
        for name in names:
            assert f"{make_api['full_name'](name, module)}.rst" in pages


def test_pages_have_the_methods_of_a_class(make_api):
    pages = make_api["pages"]()
    assert ".. automethod:: audit_rows" in pages["skfairtest.SBFTAuditor.rst"]
    assert ".. automethod:: save_html" in pages["skfairtest.AuditReport.rst"]
    assert ".. automethod:: get_params" not in pages["skfairtest.SBFTAuditor.rst"]  # another's
    assert ".. py:data:: TRUSTED_TYPES" in pages["skfairtest.io.TRUSTED_TYPES.rst"]


def test_nothing_is_listed_without_a_description(make_api):
    lines = make_api["names"]().splitlines()
    assert len([line for line in lines if line.startswith("| `")]) > 60
    assert not [line for line in lines if line.endswith("|  |")]


def test_the_reference_in_a_checkout_is_up_to_date(make_api):
    for path, text in make_api["kept"]().items():
        assert path.read_text(encoding="utf-8") == text, "python docs/make_api.py writes it anew"


def test_writing_removes_pages_of_names_that_are_gone(make_api, tmp_path):
    (tmp_path / "skfairtest.Gone.rst").write_text("Gone\n", encoding="utf-8")
    make_api["write"](tmp_path)
    first = (tmp_path / "skfairtest.audit.rst").stat().st_mtime_ns
    make_api["write"](tmp_path)
    assert not (tmp_path / "skfairtest.Gone.rst").exists()
    assert (tmp_path / "skfairtest.audit.rst").stat().st_mtime_ns == first  # nothing to build anew


def test_no_page_is_kept_that_could_go_stale():
    ignored = (TOP / ".gitignore").read_text(encoding="utf-8").splitlines()
    assert {"/docs/reference/api/", "/docs/auto_examples/", "/docs/_build/"} <= set(ignored)


@pytest.mark.parametrize("name", skfairtest.__all__)
def test_public_names_exist_and_have_examples(name):
    value = getattr(skfairtest, name)
    if isinstance(value, type) and value.__name__ not in RESULT_TYPES:
        assert "Examples" in (value.__doc__ or "")


#: More than that nobody overlooks.
MOST_PARAMETERS = 18


@pytest.mark.parametrize("name", skfairtest.__all__)
def test_public_classes_keep_few_parameters(name):
    value = getattr(skfairtest, name)
    if isinstance(value, type) and hasattr(value, "get_params"):
        assert len(inspect.signature(value).parameters) <= MOST_PARAMETERS
