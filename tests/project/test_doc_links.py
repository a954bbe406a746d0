"""Parameters of estimators link to their page on a site, once somebody says where one is."""

import runpy

import pytest
from places import TOP
from sklearn.base import BaseEstimator
from sklearn.linear_model import LinearRegression

from skfairtest import MarginalizedRegressor, SBFTAuditor

SITE = "https://site.example/docs/"
MAKE_API = runpy.run_path(str(TOP / "docs" / "make_api.py"))
#: Estimators by name, each with the name of its page.
ESTIMATORS = {
    name: (getattr(module, name), page)
    for page, name, module in (
        *((name, name, module) for _, names in MAKE_API["sections"]() for name, module in names),
        *(
            (page, name, module)
            for page, types in MAKE_API["RETURNED"].items()
            for module, name in types
        ),
    )
    if module.__name__ not in ("skfairtest.datasets", "skfairtest.testing")
    if isinstance(getattr(module, name), type) and issubclass(getattr(module, name), BaseEstimator)
}


def link_of(name):
    cls = ESTIMATORS[name][0]
    return cls.__new__(cls)._get_doc_link()


@pytest.mark.parametrize("name", ESTIMATORS)
def test_links_to_its_own_page_where_a_site_is_named(name, monkeypatch):
    monkeypatch.delenv("SKFAIRTEST_DOCS", raising=False)
    assert link_of(name) == ""
    monkeypatch.setenv("SKFAIRTEST_DOCS", SITE)
    assert link_of(name) == f"{SITE}reference/api/{ESTIMATORS[name][1]}.html"


def test_the_list_holds_every_kind():
    assert {"AuditScorer", "FairnessAugmenter", "FairnessRetrainer", "SBFTAuditor"} < set(
        ESTIMATORS
    )
    assert {"MarginalizedClassifier", "ParetoRefit", "SubgroupAuditor"} < set(ESTIMATORS)


@pytest.mark.parametrize("make", [SBFTAuditor, MarginalizedRegressor])
def test_html_of_an_estimator_has_links_only_with_a_site(make, monkeypatch):
    monkeypatch.delenv("SKFAIRTEST_DOCS", raising=False)
    assert "reference/api" not in make(LinearRegression())._repr_html_()
    monkeypatch.setenv("SKFAIRTEST_DOCS", SITE)
    html = make(LinearRegression())._repr_html_()
    assert f"{SITE}reference/api/{make.__name__}.html" in html


def test_classes_of_others_have_no_page_here(monkeypatch):
    class Mine(SBFTAuditor):
        pass

    monkeypatch.setenv("SKFAIRTEST_DOCS", SITE)
    assert Mine()._get_doc_link() == ""
