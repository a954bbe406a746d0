"""Dates through audits, groups, reports and files."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from light_skops import skops
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder
from tiers import slow_sample

from skfairtest import (
    SBFTAuditor,
    SubgroupAuditor,
    TestSGDAuditor,
    ThemisAuditor,
    audit,
    estimate_discrimination,
    selection_table,
)
from skfairtest.io import TRUSTED_TYPES


def year(X):
    return X.apply(lambda column: column.dt.year).fillna(1900)


@pytest.fixture(scope="module")
def case():
    rng = np.random.default_rng(0)
    when = pd.Timestamp("2015-01-01") + pd.to_timedelta(rng.integers(0, 3000, 200), unit="D")
    X = pd.DataFrame({"sex": rng.choice(["f", "m"], 200), "when": when, "x": rng.normal(size=200)})
    X.loc[::9, "when"] = pd.NaT
    late = X["when"].dt.year.fillna(0) > 2019
    y = np.where(X["x"] + (X["sex"] == "f") + late > 1, "approved", "denied")
    encoder = make_column_transformer(
        (OneHotEncoder(), ["sex"]), (FunctionTransformer(year), ["when"]), ("passthrough", ["x"])
    )
    return make_pipeline(encoder, LogisticRegression(max_iter=1000)).fit(X, y), X, y


def test_a_search_and_rows_of_a_model_with_a_date_encoder(case):
    model, X, _ = case
    auditor = SBFTAuditor(model, sensitive_features=["sex"], max_queries=300, random_state=0).fit(X)
    worst = auditor.worst_case_
    assert worst["when"].dtype == X["when"].dtype
    assert worst["when"].isin(X["when"]).all()
    assert auditor.audit_rows(X).degree > 0
    assert (
        estimate_discrimination(
            model, X, sensitive_features=["sex"], n_samples=200, random_state=0
        ).degree
        > 0
    )


@slow_sample
def test_files_hold_auditors_of_dates(case):
    model, X, _ = case
    settings = {"max_queries": 300, "random_state": 0}
    for auditor in (
        SBFTAuditor(model, sensitive_features=["when"], **settings),
        ThemisAuditor(model, sensitive_features=["when"], **settings),
        SubgroupAuditor(model, sensitive_features=["when"]),
    ):
        auditor.fit(X)
        text = skops.io.dumps(auditor)
        foreign = set(skops.io.get_untrusted_types(data=text)) - set(TRUSTED_TYPES)
        assert foreign == {f"{__name__}.year"}
        again = skops.io.loads(text, trusted=[*TRUSTED_TYPES, *foreign])
        if hasattr(auditor, "worst_case_"):
            pd.testing.assert_frame_equal(again.worst_case_, auditor.worst_case_)
        else:
            pd.testing.assert_frame_equal(again.rules_, auditor.rules_)


@pytest.mark.parametrize("cls", [TestSGDAuditor, SubgroupAuditor])
def test_groups_by_dates_are_told_by_dates(case, cls):
    model, X, _ = case
    auditor = cls(model, sensitive_features=["when"], random_state=0).fit(X)
    rules = auditor.rules_
    words = rules["rule"].str.extract(r"(\d{4}-\d\d-\d\d)")[0].dropna()
    assert len(words) and pd.to_datetime(words).isin(X["when"]).all()
    ends = [c[0] for c in rules["conditions"] if isinstance(c[0], pd.Interval)]
    for end in ends:
        rows = (X["when"] >= end.left) & (X["when"] < end.right)
        assert rows.any()
    cut = {("n_bins" if cls is TestSGDAuditor else "bins"): {"when": ["2018-01-01"]}}
    two = cls(model, sensitive_features=["when"], random_state=0, **cut).fit(X)
    assert "when < 2018-01-01" in set(two.rules_["rule"])


def test_a_table_of_groups_has_quarters_of_dates(case):
    model, X, _ = case
    table = selection_table(model.predict(X), sensitive_features=X["when"], favourable="approved")
    assert table["group"].str.contains(r"when < \d{4}-\d\d-\d\d$").sum() >= 1
    few = X["when"].where(X["when"].isin(X["when"].dropna()[:2]))
    table = selection_table(model.predict(X), sensitive_features=few, favourable="approved")
    named = {str(date.date()) for date in few.dropna().unique()}
    assert set(table["group"]) == {*named, "(unknown)"}


@slow_sample
def test_a_report_has_dates_in_the_form_of_iso(case):
    model, X, _ = case
    quick = SBFTAuditor(max_queries=200, random_state=0)
    settings = {
        "auditor": quick,
        "groups": False,
        "progress": False,
        "random_state": 0,
        "moved": False,
    }
    settings["favourable"] = "approved"
    told = audit(model, X, sensitive_features=["sex"], **settings).to_json()
    assert "T00:00:00" in told and json.loads(told)
    report = audit(model, X, sensitive_features=["when"], **settings)
    assert "when" in report.to_html() and "Timestamp(" not in report.to_html()
