"""What a report tells of groups: all of it, and what is left where people are left out."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from msgspec.structs import replace
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from skfairtest import RandomAuditor, audit, selection_table
from skfairtest.report import AuditReport
from skfairtest.report.parts.errors import Errors, ErrorsPart
from skfairtest.report.parts.groups import GroupsPart, SensitiveGroups
from skfairtest.report.parts.perturbed import PerturbedGroups, PerturbedGroupsPart
from skfairtest.report.parts.rows.results import Direction, PeopleOfGroup, RowsPart
from skfairtest.report.parts.rules.results import Largest, ReportedRule
from skfairtest.report.parts.selection import Selection
from skfairtest.report.parts.selection.results import Estimate, SelectionPart


class Hires(ClassifierMixin, BaseEstimator):
    """Hires by a score to which men get something on top."""

    def fit(self, X, y=None):
        self.classes_ = np.array(["no", "yes"])
        return self

    def predict(self, X):
        return np.where(X["score"] + 0.2 * (X["sex"] == "m") > 0.6, "yes", "no")


class Pays(RegressorMixin, BaseEstimator):
    """Pays by the score."""

    def fit(self, X, y=None):
        self.is_fitted_ = True
        return self

    def predict(self, X):
        return X["score"].to_numpy() + 0.2 * (X["sex"] == "m").to_numpy()


def people(n=300):
    rng = np.random.default_rng(0)
    race = rng.choice(["a", "b"], n)
    race[:4] = "c"  # under two percent
    return pd.DataFrame(
        {"sex": rng.choice(["f", "m"], n), "race": race, "score": rng.random(n).round(3)}
    )


X = people()
TRUTH, PAY = np.where(X["score"] > 0.5, "yes", "no"), X["score"].rename("pay") + 1


def look(model, y, **more):
    return audit(
        model.fit(X), X, y, sensitive_features=["sex", "race"], groups=False, moved=False,
        certify=False, auditor=RandomAuditor(max_queries=30), max_time=None, random_state=0,
        progress=False, **more,
    )  # fmt: skip


@pytest.fixture(scope="module")
def report():
    return look(Hires(), TRUTH, favourable="yes")


@pytest.fixture(scope="module")
def left(report):
    return AuditReport.from_dict(report.to_dict(rows="none"))


@pytest.fixture(scope="module")
def regression():
    return look(Pays(), PAY)


def sentences(report, place):
    return [one.words for one in Selection().sentences(report._data) if one.place == place]


def words_of(report, part=None):
    """All words of a part's sections, a row of a table a line."""
    lines = []
    for section in (part or Selection()).sections(report):
        for block in section.blocks:
            lines += [getattr(block, "words", ""), getattr(block, "alt", "")]
            lines += [" | ".join(row) for row in getattr(block, "rows", ())]
    return "\n".join(lines)


@pytest.mark.parametrize("kind", ["labels", "numbers"])
def test_the_table_is_that_of_the_function(kind, report, regression):
    of, model, y, favourable = report, Hires(), TRUTH, "yes"
    if kind == "numbers":
        of, model, y, favourable = regression, Pays(), PAY.to_numpy(), "mean"
    table = selection_table(
        model.fit(X).predict(X), sensitive_features=X[["sex", "race"]], y_true=y,
        favourable=favourable, min_share=0.02,
    )  # fmt: skip
    assert (table["n"] == 4).any() and (table["note"] != "").any()
    pd.testing.assert_frame_equal(of.selection_table, table)


def test_the_table_of_groups_has_what_changes_with_its_rate(report):
    (table,) = Selection().answers(report._data)["whom"]
    rows = {row[0]: dict(zip(table.head, row, strict=True)) for row in table.rows}
    women = X[X["sex"] == "f"]
    changed = (Hires().predict(women) != Hires().predict(women.assign(sex="m"))).sum()
    assert 0 < changed < len(women)
    cell = rows["f (sex)"]["would get 'yes' instead of 'no'"]
    assert cell == f"{changed} of {len(women)} ({changed / len(women):.1%})"
    assert rows["f (sex)"]["people"] == str(len(women))
    rate = (Hires().predict(women) == "yes").mean()
    assert rows["f (sex)"]["'yes' predicted"].startswith(f"{rate:.1%} (")


def test_of_many_directions_the_table_counts_people(report):
    directions = [Direction("no", to, n) for to, n in (("yes", 5), ("perhaps", 3), ("never", 1))]
    rows = RowsPart(
        of="sex", sensitive=["sex"], n=300, n_rows=300, changed=8,
        by_group=[PeopleOfGroup("f", 50, 8, directions)],
    )  # fmt: skip
    others = [part for part in report._data.parts if not isinstance(part, RowsPart)]
    answers = Selection().answers(replace(report._data, parts=[*others, rows]))
    (table,) = answers["whom"]
    assert table.head[-1] == "would get something else"
    assert [row[-1] for row in table.rows] == ["8 of 50 (16.0%)", *["–"] * (len(table.rows) - 1)]


def test_a_long_table_has_the_groups_that_sentences_name(report):
    part = report._data.first(SelectionPart)
    model = part.groups[0]
    groups = [
        replace(model, group=f"g{k}", n=1000 - k, ratio=Estimate(r), rate=Estimate(r / 2))
        for k, r in enumerate([0.9] * 10 + [0.2, 1.0])
    ]
    whole = replace(report._data, parts=[replace(part, groups=groups)] + [
        one for one in report._data.parts if not isinstance(one, (SelectionPart, RowsPart))
    ])  # fmt: skip
    (table,) = Selection().answers(whole)["whom"]
    assert [row[0] for row in table.rows] == [f"g{k}" for k in (0, 1, 2, 3, 4, 5, 10, 11)]
    assert table.caption == "Each group, with 95% intervals; 4 more groups stand further below"


def test_it_is_said_what_the_rates_rest_on(report, regression):
    assert sentences(report, "sure") == ["rates are of all 300 predictions"]
    assert sentences(regression, "sure") == ["means are of all 300 predictions"]
    part = replace(report._data.first(SelectionPart), n_rows=900)
    sample = replace(report._data, parts=[part, *report._data.parts])
    (words,) = [one.words for one in Selection().sentences(sample) if one.place == "sure"]
    assert words == "rates are of a random sample of 300 of 900 people"


def test_rates_are_told_where_twins_show_nothing():
    beside = audit(
        Pays().fit(X), X[["sex", "score"]], sensitive_features=X["race"], favourable=0.5,
        groups=False, moved=False, certify=False, auditor=RandomAuditor(max_queries=30),
        max_time=None, random_state=0, progress=False,
    )  # fmt: skip
    found, told = sentences(beside, "found"), sentences(beside, "headline")
    assert len(found) == len(told) == 1 and told[0].startswith(found[0])
    assert found[0].startswith("The mean prediction for ")
    assert [step.order for step in Selection().steps(beside._data)][:1] == [30]


def test_ratios_are_left_without_people(report, left):
    whole, without = report.selection_table, left.selection_table
    hidden = ["n", "share", "selection_rate", "selection_rate_low", "selection_rate_high"]
    assert whole[hidden].notna().all().all() and without[hidden].isna().all().all()
    assert without["impact_ratio"].tolist() == pytest.approx(
        whole["impact_ratio"].tolist(), nan_ok=True
    )
    assert not any("positive" in name or "accuracy" in name for name in without)
    page, before = words_of(left._data), words_of(report._data)
    ratio = f"{whole['impact_ratio'].iloc[0]:.2f} ("
    assert ratio in before and ratio in page and "%" in before
    shares = [line for line in page.splitlines() if "|" in line]
    assert shares and not any("%" in line for line in shares)
    assert "left out of this file: rows='none'" in page and "left out" not in before


def test_sentences_without_people_have_ratios_and_no_rates(report, left):
    (whole,), (without,) = sentences(report, "rates"), sentences(left, "rates")
    rest = whole[whole.index("Lowest impact ratio") :]
    assert "%" in whole.removesuffix(rest)
    assert without.endswith(rest) and "%" not in without.removesuffix(rest)
    assert "the rates were left out of this file" in without
    (table,) = Selection().answers(left._data)["whom"]
    assert table.head == ("group", "ratio to the highest") and "left out" in table.caption


def test_means_without_people_are_not_there(regression):
    left = AuditReport.from_dict(regression.to_dict(rows="none"))
    assert sentences(left, "rates") == [
        "The mean predictions of the groups were left out of this file: rows='none'."
    ]
    assert Selection().answers(left._data) == {}
    with pytest.raises(ValueError, match="rows='none'"):
        Selection.displays["selection"](left._data)
    assert "mean_prediction" in Selection.displays["selection"](regression._data).frame()


def test_the_display_without_people_draws_ratios(left):
    pytest.importorskip("matplotlib")
    display = Selection.displays["selection"](left._data).plot()
    assert "selection_rate" not in display.frame()
    assert "impact ratio" in display.ax_.get_xlabel()


def test_estimates_do_not_decide_where_small_groups_are_not_known(report, left):
    check = Selection.limits["min_impact_ratio"]
    known, unknown = (check(one._data, 0.1, True) for one in (report, left))
    assert (known.status, unknown.status) == ("within", "undecided")
    assert "which groups are small was left out" in unknown.words
    known, unknown = (check(one._data, 0.95, False) for one in (report, left))
    assert ", as noted in the selection table" in known.words
    assert unknown.words == known.words.replace(", as noted in the selection table", "")


# Rules -----------------------------------------------------------------------------------------


def rule(words, score, differs=True):
    return ReportedRule(
        rule=words, support=0.4, value_inside=0.3, value_outside=0.3 + score, score=score,
        low=score - 0.1, high=score + 0.1, differs=differs, n_inside=120, n_outside=180,
    )  # fmt: skip


def rules_of(kind, **more):
    rules = [rule("sex = f", 0.25), rule("race = a", 0.15), rule("race = b", 0.05, differs=False)]
    known = {
        "favourable": "yes", "confidence": 0.95, "correction": "resampling", "min_support": 0.05,
        "n_rules": 9, "low": 0.15, "high": 0.35, "largest": Largest("sex = f", 0.25),
    }  # fmt: skip
    of_rows = {"n": 300, "n_rows": 300, "overall": 0.41, "max_conditions": 3, "n_differ": 2}
    return kind(rules=rules, **known, **(more and {**of_rows, **more}))


@pytest.fixture(scope="module")
def compared(report):
    """The report with rules of each kind."""
    made = {
        "groups": rules_of(GroupsPart, metric="selection_rate"),
        "errors": rules_of(ErrorsPart, of="accuracy", metric="accuracy"),
        "perturbed": rules_of(PerturbedGroupsPart),
    }
    kinds = tuple(map(type, made.values()))
    others = [part for part in report._data.parts if not isinstance(part, kinds)]
    return replace(report._data, parts=[*others, *made.values()])


PARTS = {"groups": SensitiveGroups(), "errors": Errors(), "perturbed_groups": PerturbedGroups()}


@pytest.mark.parametrize("kind", PARTS)
def test_rules_without_people_have_scores(kind, compared):
    part, left = PARTS[kind], compared.without_people("none")
    whole, without = words_of(compared, part), words_of(left, part)
    assert "30.0% of 120" in whole and "30.0%" not in without and "120" not in without
    assert all("sex = f | 0.25 (0.15 to 0.35)" in words for words in (whole, without))
    assert all("race = b | 0.05 (-0.05 to 0.15) – may be none" in w for w in (whole, without))
    assert "left out of this file: rows='none'" in without and "left out" not in whole
    show = part.displays[kind]
    assert show(compared).frame()["rule"].iloc[0] == "sex = f"
    with pytest.raises(ValueError, match="rows='none'"):
        show(left)


def test_pictures_of_rules_have_those_that_differ(compared):
    (picture,) = [
        block
        for section in SensitiveGroups().sections(compared)
        for block in section.blocks
        if hasattr(block, "display")
    ]
    assert picture.display().frame()["rule"].tolist() == ["sex = f", "race = a"]
    assert picture.alt == "sex = f: 0.25 (0.15 to 0.35); race = a: 0.15 (0.05 to 0.25)"
    assert picture.height == pytest.approx(1.7 + 2 * 0.36)


def test_how_groups_were_compared_is_said_once(compared):
    how = "are compared with all other rows"
    assert how in words_of(compared, SensitiveGroups()) and how not in words_of(compared, Errors())
    alone = replace(
        compared, parts=[one for one in compared.parts if not isinstance(one, GroupsPart)]
    )
    assert words_of(alone, Errors()).count(how) == 1
    longer = [replace(one, max_conditions=4) for one in compared.all_of(ErrorsPart)]
    others = [one for one in compared.parts if not isinstance(one, ErrorsPart)]
    words = words_of(replace(compared, parts=[*others, *longer]), Errors())
    assert words.count("by up to 4 conditions, are compared") == 1


def test_small_groups_are_named_where_others_are_compared(compared):
    named = "Groups of less than 5% of the rows are not among the groups that are compared"
    words = words_of(compared, SensitiveGroups())
    assert f"{named} with all other rows: race = c; " in words
    assert named not in words_of(compared.without_people("none"), SensitiveGroups())
    check = SensitiveGroups.limits["max_group_score"](compared, 0.9, False)
    assert "race = c" in check.left_out and "race = c" in check.people
    assert check.status == "within"


def test_errors_of_nothing_that_is_known(report):
    none = replace(
        report._data, parts=[one for one in report._data.parts if not isinstance(one, ErrorsPart)]
    )
    assert "It is not known what an error of this model is." in words_of(none, Errors())
    with pytest.raises(ValueError, match="no errors by group"):
        Errors.displays["errors"](none)
    with pytest.raises(ValueError, match="TestSGDAuditor"):
        PerturbedGroups.displays["perturbed_groups"](none)
