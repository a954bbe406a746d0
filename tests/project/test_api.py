"""Public names are exported, documented with an example, and have a page each in the reference."""

import inspect
import runpy

import pytest
from places import TOP

import skfairtest

MAKE_API = runpy.run_path(str(TOP / "docs" / "make_api.py"))
#: Every public name, with the module that it is imported from.
PUBLIC = {name: module for _, names in MAKE_API["sections"]() for name, module in names}


@pytest.fixture(scope="module")
def make_api():
    return MAKE_API


def test_every_public_name_is_listed_and_has_a_page(make_api):
    pages = make_api["pages"]()
    index = make_api["names"]()
    assert set(skfairtest.__all__) - {"datasets"} <= set(PUBLIC)
    for name, module in PUBLIC.items():
        assert f"\n| `{name}` | `{module.__name__}` | " in index
        assert f":: {name}\n" in pages[f"{name}.rst"]
    assert len(pages) == len(PUBLIC) == len([line for line in index.splitlines() if "| `" in line])
    for title, _ in make_api["sections"]():
        assert f"\n## {title}\n" in index


#: More names than that nobody keeps in mind.
MOST_NAMES = 75


def test_public_names_are_few_and_begin_with_those_of_every_day(make_api):
    assert len(PUBLIC) <= MOST_NAMES
    assert list(PUBLIC)[:6] == [
        "audit", "Limits", "AuditReport", "InputSpace", "SBFTAuditor", "selection_table",
    ]  # fmt: skip


def test_what_a_function_returns_stands_on_its_page(make_api):
    pages = make_api["pages"]()
    for name, types in make_api["RETURNED"].items():
        assert name in PUBLIC
        for module, returned in types:
            assert returned not in PUBLIC and getattr(module, returned).__doc__
            assert f".. autoclass:: {returned}\n" in pages[f"{name}.rst"]


def test_pages_have_the_methods_of_a_class(make_api):
    pages = make_api["pages"]()
    assert ".. automethod:: audit_rows" in pages["SBFTAuditor.rst"]
    assert ".. automethod:: save_html" in pages["AuditReport.rst"]
    assert ".. automethod:: get_params" not in pages["SBFTAuditor.rst"]  # another's
    assert ".. py:data:: TRUSTED_TYPES" in pages["TRUSTED_TYPES.rst"]


def test_nothing_is_listed_without_a_description(make_api):
    lines = make_api["names"]().splitlines()
    assert len([line for line in lines if line.startswith("| `")]) > 60
    assert not [line for line in lines if line.endswith("|  |")]


def test_the_reference_in_a_checkout_is_up_to_date(make_api):
    for path, text in make_api["kept"]().items():
        assert path.read_text(encoding="utf-8") == text, "python docs/make_api.py writes it anew"


def test_writing_removes_pages_of_names_that_are_gone(make_api, tmp_path):
    (tmp_path / "Gone.rst").write_text("Gone\n", encoding="utf-8")
    make_api["write"](tmp_path)
    first = (tmp_path / "audit.rst").stat().st_mtime_ns
    make_api["write"](tmp_path)
    assert not (tmp_path / "Gone.rst").exists()
    assert (tmp_path / "audit.rst").stat().st_mtime_ns == first  # nothing to build anew


def test_no_page_is_kept_that_could_go_stale():
    ignored = (TOP / ".gitignore").read_text(encoding="utf-8").splitlines()
    assert {"/docs/reference/api/", "/docs/auto_examples/", "/docs/_build/"} <= set(ignored)


@pytest.mark.parametrize("name", PUBLIC)
def test_public_names_exist_and_have_examples(name):
    value = getattr(PUBLIC[name], name)
    if isinstance(value, type):
        assert "Examples" in (value.__doc__ or "")


#: More than that nobody overlooks.
MOST_PARAMETERS = 18


@pytest.mark.parametrize("name", PUBLIC)
def test_public_classes_keep_few_parameters(name):
    value = getattr(PUBLIC[name], name)
    if isinstance(value, type) and hasattr(value, "get_params"):
        assert len(inspect.signature(value).parameters) <= MOST_PARAMETERS
