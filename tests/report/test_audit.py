"""audit(): one call, every part of it, and what becomes of parts that cannot be done."""

from __future__ import annotations

import json
import threading
import warnings
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from importlib.resources import files
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from callbacks import Ticks
from clocks import CLOCK
from jsonschema import Draft202012Validator
from msgspec.structs import astuple, replace
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import GradientBoostingRegressor, IsolationForest, RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from tiers import SAMPLE, slow_sample
from typed_reports import data, part, searches

import skfairtest
from skfairtest import (
    Allowed,
    CertifiedAuditor,
    Implies,
    InputSpace,
    Is,
    Limits,
    Linear,
    Order,
    SBFTAuditor,
    SubgroupAuditor,
    SurrogateAuditor,
    TestSGDAuditor,
    audit,
    audit_models,
    certify,
)
from skfairtest._progress import PartsProgress
from skfairtest.exceptions import NoDisparityWarning
from skfairtest.report._audit import make_template
from skfairtest.report._describe import DEFAULTS, repeating_code
from skfairtest.report._types import ReportedFavourable
from skfairtest.report.parts.errors import ErrorsPart
from skfairtest.report.parts.groups import GroupsPart
from skfairtest.report.parts.perturbed import PerturbedGroupsPart
from skfairtest.report.parts.predictions import PredictionsPart
from skfairtest.report.parts.rows.results import RowsPart
from skfairtest.report.parts.selection.results import SelectionPart
from skfairtest.report.parts.twins.words import carries
from skfairtest.report.render.first_page import first_page
from skfairtest.transports import QuantileTransport, SequentialTransport

SCHEMA = json.loads((files("skfairtest.report") / "schema" / "v2.json").read_text("utf-8"))
FEW = SBFTAuditor(max_queries=400)


def people(n=200, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], n),
            "race": rng.choice(["a", "b", "c"], n),
            "income": rng.integers(10, 90, n),
            "job": rng.choice(list("wxyz"), n),
        }
    )
    score = 1.5 * (X["sex"] == "m") + 0.5 * (X["race"] == "a") + X["income"] / 30
    return X, score + rng.normal(0, 0.3, n)


X, SCORE = people()
LABELS = np.where(SCORE > SCORE.median(), "yes", "no")


def coded(model):
    encoder = OneHotEncoder(handle_unknown="ignore")
    columns = make_column_transformer((encoder, ["sex", "race", "job"]), remainder="passthrough")
    return make_pipeline(columns, model)


LOGISTIC = coded(LogisticRegression(max_iter=500)).fit(X, LABELS)


class Wrapped(ClassifierMixin, BaseEstimator):
    """A classifier that cannot be read; slow, failing or interrupting where it is told to be."""

    def __init__(self, model, seconds=0.0, fails_after=None, error=RuntimeError):
        self.model, self.seconds = model, seconds
        self.fails_after, self.error = fails_after, error

    def fit(self, X, y=None):
        return self

    def __sklearn_is_fitted__(self):
        return True

    @property
    def classes_(self):
        return self.model.classes_

    def _wait(self, X):
        self.n_calls = getattr(self, "n_calls", 0) + 1
        if self.fails_after is not None and self.n_calls > self.fails_after:
            raise self.error("out of <memory>")
        CLOCK.sleep(self.seconds * len(X))

    def predict(self, X):
        self._wait(X)
        return self.model.predict(X)

    def predict_proba(self, X):
        self._wait(X)
        return self.model.predict_proba(X)


#: For tests of the search: the certificate and the groups take most of the time of a small audit.
SEARCH_ONLY = {"certify": False, "groups": False}


def look(model=LOGISTIC, table=X, y=None, **params):
    """A quick audit without a limit of time, so that a busy machine changes nothing.

    Every report is held against the schema. `test_moved_twins` has reports with moved twins.
    """
    params = {
        "auditor": FEW, "max_time": None, "random_state": 0, "progress": False, "moved": False,
        **params,
    }  # fmt: skip
    report = audit(model, table, y, **params)
    Draft202012Validator(SCHEMA).validate(report.to_dict())
    return report


@pytest.fixture(scope="module")
def report():
    return look(y=LABELS, sensitive_features=["sex", "race"])


def inputs_of(pair):
    """Both inputs of a pair, as the rows of a table."""
    return pd.DataFrame({cell.name: [cell.first, cell.second] for cell in pair.cells})


def test_figures_are_those_of_the_auditors_and_of_the_model(report):
    found, (*alone, together) = data(report), searches(report)
    assert [twins.known.of for twins in searches(report)] == ["sex", "race", "sex, race together"]
    assert report.status == "complete" and {part.status for part in found.parts} == {"done"}
    assert found.cost.queries == sum(part.queries for part in found.parts)
    assert together.known.degree >= max(twins.known.degree for twins in alone)
    assert together.certificate.lower >= together.known.degree - 1e-12
    for known, rows, search, _ in searches(report):
        auditor = report.auditors[known.of]
        assert search.found == auditor.n_found_
        assert known.degree >= auditor.fairness_degree_ == search.degree
        on_rows = auditor.audit_rows(X)
        assert rows.rate == pytest.approx(on_rows.rate)
        again = certify(auditor)
        assert known.upper == pytest.approx(again.fairness_degree_upper_bound)
        outputs = LOGISTIC.predict_proba(inputs_of(known.pair))[:, 1]
        assert outputs.tolist() == pytest.approx(known.pair.outputs)
        assert LOGISTIC.predict(inputs_of(known.pair)).tolist() == list(known.pair.labels)
        assert outputs[0] - outputs[1] == pytest.approx(known.degree)
        changed = {cell.name for cell in known.pair.cells if cell.changed}
        assert changed <= set(known.sensitive)
        assert search.all_pairs.difference == auditor.disparities_.tolist()
        assert set(search.all_pairs.changed) <= set(known.sensitive)
        assert rows.degree == pytest.approx(on_rows.degree) and len(rows.worst) == 10
        for difference, share in zip(rows.curve.difference, rows.curve.share, strict=True):
            assert share == pytest.approx((on_rows.disparities > difference).mean())
        person, twins = rows.person.pair, inputs_of(rows.person.pair)
        assert twins.iloc[0].to_dict() == X.loc[int(rows.person.row)].to_dict()
        assert {cell.name for cell in person.cells if cell.changed} <= set(known.sensitive)
        assert LOGISTIC.predict_proba(twins)[:, 1].tolist() == pytest.approx(person.outputs)
        assert person.labels[0] != person.labels[1]  # some row gets another label: such is shown


def test_the_worst_rows_are_the_worst(report):
    worst = searches(report)[-1].rows.worst
    everyone = report.auditors["sex, race together"].audit_rows(X).disparities
    distinct = everyone[~X.duplicated()]  # of equal people the first stands for all
    assert distinct.size < everyone.size
    listed = [one.pair.difference for one in worst]
    assert listed == pytest.approx(np.sort(distinct)[::-1][:10].tolist())
    for one in worst:
        own, shown = X.loc[int(one.row)], inputs_of(one.pair).iloc[0]
        assert shown["income"] == own["income"] and shown["job"] == own["job"]
        names = [cell.name for cell in one.pair.cells if cell.changed]
        assert one.own == own[names].tolist()


def changed_by_hand(model, table, name, values):
    """What each row would get, with each value in place of its own, in a plain loop."""
    own = model.predict(table)
    told = {}
    for row in range(len(table)):
        for value in values:
            twin = table.iloc[[row]].assign(**{name: value})
            label = model.predict(twin)[0]
            if label != own[row]:
                told.setdefault(row, set()).add((str(own[row]), str(label)))
    return told


def test_people_of_a_threshold_are_counted_higher_and_lower():
    model = coded(Ridge()).fit(X, SCORE)
    settings = {"sensitive_features": ["sex"], **SEARCH_ONLY}
    report, own = look(model, threshold=0.4, **settings), model.predict(X)
    rows = part(report, RowsPart, "sex")
    assert 0 < rows.rate <= 1 and "above the threshold of 0.40" in report.sentence
    other = model.predict(X.assign(sex=np.where(X["sex"] == "f", "m", "f")))
    assert rows.counts_above == 0.4
    for group in rows.by_group:
        inside = (X["sex"] == group.group).to_numpy()
        for word, gaps in (("higher", other - own), ("lower", own - other)):
            n = int((gaps[inside] > 0.4).sum())
            told = {one.to: one.n for one in group.directions}
            assert told.get(word, 0) == n and group.changed >= n
    assert rows.changed == int((np.abs(other - own) > 0.4).sum()) > 0


@slow_sample
def test_people_of_three_classes_and_of_a_tuned_threshold_are_counted():
    three = np.where(
        SCORE < np.quantile(SCORE, 0.3), "low", np.where(LABELS == "yes", "top", "mid")
    )
    tuned = FixedThresholdClassifier(LOGISTIC, threshold=0.3).fit(X, LABELS)
    for model in (coded(LogisticRegression(max_iter=500)).fit(X, three), tuned):
        rows = part(look(model, sensitive_features=["race"], **SEARCH_ONLY), RowsPart, "race")
        by_hand = changed_by_hand(model, X, "race", sorted(X["race"].unique()))
        assert rows.changed == len(by_hand) > 0
        told = Counter()
        for group in rows.by_group:
            for one in group.directions:
                told[one.from_, one.to] += one.n
        # A row with twins of several classes counts for the one that differs most.
        assert told.total() == len(by_hand)
        assert set(told) <= {pair for pairs in by_hand.values() for pair in pairs}


def test_further_pairs_are_two_columns_apart(report):
    for known, _, search, _ in searches(report):
        assert 1 < len(search.further_pairs) <= 10
        free = [
            [cell.first for cell in pair.cells if cell.name not in known.sensitive]
            for pair in search.further_pairs
        ]
        for k, one in enumerate(free):
            for other in free[:k]:
                assert sum(a != b for a, b in zip(one, other, strict=True)) >= 2


def test_inputs_that_are_rows_are_known(report):
    rows = {tuple(row) for row in X.drop(columns=["sex", "race"]).astype(object).to_numpy()}
    known, _, search, _ = searches(report)[-1]
    table = pd.DataFrame(search.all_pairs.first, columns=search.all_pairs.columns)
    free = table.drop(columns=["sex", "race"]).astype(object).to_numpy()
    assert search.all_pairs.of_a_row == [tuple(row) in rows for row in free]
    own = inputs_of(known.pair).drop(columns=["sex", "race"]).iloc[0]
    assert known.pair_of_a_row == (tuple(own) in rows)


class OneRung(BaseEstimator, RegressorMixin):
    """Takes the band where the rung is five, and nothing else."""

    def fit(self, X, y=None):
        self.n_features_in_ = 2
        return self

    def predict(self, X):
        X = np.asarray(X, dtype=float)
        return np.where(X[:, 1] == 5, X[:, 0], 0.0)


@pytest.mark.parametrize(
    "band, rung, who",
    [
        (0, 5, "a person of the table and their twin"),
        (2, 5, "a person of the table and their twin"),
        (1, 5, "two twins of a person of the table"),
        (1, 6, "two made-up inputs"),
    ],
)
def test_who_shows_the_difference_is_said_of_both_twins(band, rung, who, unillustrated):
    table = pd.DataFrame({"band": [0, 1, 2] * 9, "rung": [*range(5), *range(6, 10)] * 3})
    table.loc[27] = [band, rung]
    report = look(OneRung().fit(table), table, sensitive_features="band", **SEARCH_ONLY)
    text, page = " ".join(repr(report).split()), report.to_html()
    assert f"Largest difference found: 2.00 ({who}, prediction: 2.00 against 0.00)" in text
    assert ("they equal a row of the table" in page) == who.startswith("two twins")


@slow_sample
def test_what_carries_the_difference_is_named():
    only_sex = coded(LogisticRegression()).fit(X.assign(race="a"), LABELS)
    report = look(only_sex, sensitive_features=["race", "sex"], **SEARCH_ONLY)
    assert carries(data(report)).startswith("Sex alone shows nearly all")
    sex, race, _ = searches(report)
    assert race.known.degree < 1e-4 < sex.known.degree


@slow_sample
def test_the_same_seed_gives_the_same_report():
    one, other = (look(y=LABELS, sensitive_features=["sex"]).to_dict() for _ in range(2))
    for found in (one, other):
        found.pop("created")
        found["cost"].pop("seconds")
        for one_part in found["parts"]:
            one_part.pop("seconds")
            one_part.get("history", {}).pop("seconds", None)
    assert one == other


@slow_sample
def test_a_seed_is_drawn_and_the_code_repeats_the_audit():
    report = look(sensitive_features=["sex"], threshold=0.3, y=LABELS, random_state=None)
    told, names = data(report), {"model": LOGISTIC, "X": X, "y": LABELS}
    assert f"random_state={told.seed}" in told.code
    exec(told.code.replace("random_state=", "progress=False, random_state="), names)
    (one,), (other,) = searches(names["report"]), searches(report)
    assert (one.search.found, one.known.pair) == (other.search.found, other.known.pair)


def older(X):
    return X["income"] > 20


RICH = {
    "bounds": {
        "income": (10, np.inf),
        "when": (pd.Timestamp(2020, 1, 2), pd.Timestamp(2021, 1, 1)),
    },
    "categories": {"job": [*"wx", None, *map(str, range(40))]},
}


@pytest.mark.parametrize(
    "given",
    [
        {"auditor": "random", "max_time": None, "moved": True},
        {"auditor": SBFTAuditor(max_queries=9, space=InputSpace(**RICH)), "certify": False},
        {"auditor": SBFTAuditor(space=InputSpace(constraint=[
            Order("age", "<=", "years", offset=2), Allowed({"a": [1, 2, 3, 4, 5]}),
            Implies(Is("a", {"x"}), Linear({"b": 2.0}, "<=", 1.5))]))},
        {"auditor": SBFTAuditor(space=InputSpace(constraint=older))},
        {"auditor": SBFTAuditor(space=InputSpace(plausible=IsolationForest(n_estimators=9)))},
        {"auditor": SBFTAuditor(LOGISTIC, sensitive_features=["sex"]), "threshold": 0.3},
        {"moved": [QuantileTransport(keep=["age"]), SequentialTransport()], "groups": False},
        {"favourable": np.str_("granted"), "sensitive_features": [np.str_("sex"), np.int64(2)]},
        {"favourable": {"a"}, "groups": TestSGDAuditor(max_queries=50)},
        {"sensitive_features": None},
    ],
)  # fmt: skip
def test_the_code_repeats_what_was_given(given, monkeypatch):
    monkeypatch.setattr(skfairtest, "audit", lambda *args, **params: (args, params))
    template = make_template(given.get("auditor"), given.get("threshold"))
    told = {"y": LABELS, "auditor": None, "sensitive_features": ["sex"], **DEFAULTS, **given}
    names = {"model": LOGISTIC, "X": X, "y": LABELS, "older": older, "sensitive_features": None}
    exec(repeating_code(template, told), names)
    args, params = names["report"]
    assert [one is other for one, other in zip(args, (LOGISTIC, X, LABELS), strict=True)]
    if told["auditor"] is not None:
        own = template.set_params(sensitive_features="auto")  # those of audit count
        again = make_template(params.pop("auditor"), told["threshold"])
        assert joblib.hash(again) == joblib.hash(own)
    for name, value in params.items():
        assert joblib.hash(told[name]) == joblib.hash(value) or np.all(told[name] == value)


def test_errors_by_group_are_those_of_the_subgroup_auditor(report):
    errors = report.results(ErrorsPart)
    assert [part.metric for part in errors] == ["false_positive_rate", "false_negative_rate"]
    predicted = LOGISTIC.predict(X)
    for found, label in zip(errors, ("no", "yes"), strict=True):
        among = label == LABELS
        assert found.overall == pytest.approx((predicted != LABELS)[among].mean())
        again = SubgroupAuditor(
            metric=found.metric, attributes="all", max_conditions=3, random_state=0,
            sensitive_features=["sex", "race"],
        ).fit(X, LABELS, y_pred=predicted)  # fmt: skip
        # Where nothing differs, the largest differences are listed.
        listed = again.short_list_ if found.n_differ else again.rules_[:10]
        assert [rule.rule for rule in found.rules] == listed["rule"].tolist()
        assert found.n_differ == again.rules_["differs"].sum()
        assert found.queries == 0  # all rows were predicted before
    assert [part.n_differ > 0 for part in errors] == [False, True]
    assert "Where the model errs" in report.to_markdown()
    display = report.display("errors")
    assert display.frame()["rule"].tolist() == [rule.rule for rule in errors[0].rules]
    assert display.measure == "false positive rate"


@slow_sample
def test_a_regressor_without_a_threshold_is_never_discriminatory_everywhere():
    model = coded(GradientBoostingRegressor(n_estimators=10)).fit(X, SCORE)
    report = look(model, y=SCORE, sensitive_features=["sex", "race"], certify=False)
    rows = searches(report)[-1].rows
    assert rows.rate is None and np.isnan(report.on_data_rate)
    assert [above.share_of_spread for above in rows.above] == [0.05, 0.1, 0.2]
    low, high = np.percentile(model.predict(X), [5, 95])
    assert rows.spread == pytest.approx(high - low)
    everyone = report.auditors["sex, race together"].audit_rows(X).disparities
    for above in rows.above:
        # Of two twins that differ, neither needs to be the person.
        assert 0 < above.rate <= (everyone > above.difference).mean()
    assert rows.above[1].n == rows.changed
    assert rows.counts_above == pytest.approx(0.1 * rows.spread)
    assert "a tenth of the spread of the predictions" in report.sentence
    assert part(report, GroupsPart).metric == "mean_prediction"
    assert "mean_prediction" in report.selection_table


def test_columns_that_matter_change_the_difference(report):
    pair = searches(report)[0].known.pair
    matters = {cell.name: cell.matters for cell in pair.cells}
    assert matters["sex"] == 0  # it is what differs
    outputs = LOGISTIC.predict_proba(inputs_of(pair).assign(income=int(X["income"].median())))
    change = abs(outputs[0, 1] - outputs[1, 1] - pair.difference)
    assert matters["income"] == pytest.approx(change, abs=0.02)


@slow_sample
def test_nothing_found_is_said_with_the_budget():
    blind = make_pipeline(
        make_column_transformer(("passthrough", ["income"])), LogisticRegression()
    ).fit(X, LABELS)
    with pytest.warns(NoDisparityWarning, match="No disparity in") as caught:
        certified = look(blind, sensitive_features=["sex"])
        unread = look(Wrapped(blind), sensitive_features=["sex"])
    assert {Path(w.filename).name for w in caught} == {Path(__file__).name}
    assert "same output whatever its value; this was certified" in certified.sentence
    assert unread.sentence.startswith("None of the 200 people in the table would get another")
    assert "No difference was found" in unread.sentence and "queries (seed 0)" in unread.sentence
    (twins,) = searches(unread)
    assert twins.known.pair is None and not twins.search.further_pairs and not twins.rows.worst
    assert any("No disparity" in note for note in unread.parts["notes"].sum())
    (twins,) = searches(certified)
    assert twins.known.taken and twins.known.certified and twins.search.search_queries > 0


# Models of other kinds ----------------------------------------------------------------------


@slow_sample
def test_what_is_left_out_says_why_and_the_rest_goes_on():
    off = look(certify=False, groups=False, sensitive_features=["sex"])
    assert searches(off)[0].certificate.reason == "certify=False"
    assert part(off, GroupsPart).reason == "groups=False"
    reasons = {part.reason for part in off.results(ErrorsPart)}
    assert reasons == {"errors need y, what is true of the rows"}
    unread = look(coded(KNeighborsClassifier()).fit(X, LABELS), y=LABELS)
    known, _, _, certificate = searches(unread)[-1]
    assert known.upper is None and certificate.status == "left out"
    assert "KNeighborsClassifier cannot be certified" in certificate.reason
    assert unread.status == "complete" and part(unread, GroupsPart).rules


@slow_sample
def test_scores_and_labels_have_names():
    settings = {"sensitive_features": ["sex"], **SEARCH_ONLY}
    assert "score of yes" in look(coded(LinearSVC()).fit(X, LABELS), **settings).sentence

    class LabelsOnly(Wrapped):
        predict_proba = property()

    report = look(LabelsOnly(LOGISTIC), **settings)
    words = ("yes against no.", "no against yes.")
    assert report.sentence.endswith(tuple(f"get different labels: {one}" for one in words))
    assert searches(report)[0].known.pair.outputs is None


@slow_sample
def test_arrays_and_polars_frames():
    Z = np.column_stack([X["sex"] == "f", X["income"]]).astype(float)
    tree = DecisionTreeClassifier(max_depth=4).fit(Z, LABELS)
    report = look(tree, Z, sensitive_features=[0], **SEARCH_ONLY)
    assert "differ only in column 0" in report.sentence
    frame = pl.DataFrame({name: X[name].to_list() for name in X})

    class OfPolars(Wrapped):
        def predict(self, X):
            return LOGISTIC.predict(pd.DataFrame(X.to_dict(as_series=False)))

        def predict_proba(self, X):
            return LOGISTIC.predict_proba(pd.DataFrame(X.to_dict(as_series=False)))

    again = look(OfPolars(LOGISTIC), frame, sensitive_features=["sex"], certify=False)
    first = look(sensitive_features=["sex"], **SEARCH_ONLY)
    assert again.fairness_degree == pytest.approx(first.fairness_degree, abs=1e-3)


@slow_sample
def test_errors_by_group_are_the_same_in_every_kind_of_table():
    frame = X[["income"]].assign(sex=(X["sex"] == "m") * 1.0, race=X["race"].map(ord) * 1.0)
    names = ["sex", "race"]

    def rules(table, sensitive):
        model = DecisionTreeClassifier(max_depth=4, random_state=0).fit(table, LABELS)
        report = look(model, table, LABELS, sensitive_features=sensitive, **SEARCH_ONLY)
        errors = report.results(ErrorsPart)
        assert [part.status for part in errors] == ["done", "done"]
        return [[astuple(rule)[1:] for rule in part.rules] for part in errors]

    known = rules(frame, names)
    assert known[0] and known == rules(pl.from_pandas(frame), names)
    assert known == rules(frame.to_numpy(), [1, 2])
    assert rules(pd.get_dummies(X, dtype=int), ["sex", "race"])[0]  # groups of columns


def risk_model():
    """A model of risk, 1 = high, by which the favourable label is 0."""
    return coded(LogisticRegression(max_iter=500)).fit(X, (LABELS == "no").astype(int))


@slow_sample
def test_a_guessed_label_is_said_on_the_first_screen_of_every_output():
    model = risk_model()
    with pytest.warns(UserWarning, match="^1 taken as favourable, which is a guess"):
        report = audit(model, X, sensitive_features=["sex"], auditor=FEW, random_state=0,
                       progress=False)  # fmt: skip
    told = "1 taken as favourable, which is a guess"
    assert data(report).favourable.words.startswith(told)
    assert data(report).favourable.how == "guessed"
    told, page = "which is a guess", report.to_markdown()
    assert f"'1', {told}" in " ".join(repr(report).split()) and told in report._repr_html_()
    assert page.index(told) < page.index("## The people in the table")
    assert told in report.to_html()


@slow_sample
def test_the_favourable_label_is_that_of_every_part():
    model = risk_model()
    with warnings.catch_warnings():
        warnings.filterwarnings("error", ".*taken as favourable")
        report = look(model, y=(LABELS == "no").astype(int), sensitive_features=["sex"],
                      favourable=0)  # fmt: skip
        named = look(model, sensitive_features=["sex"], groups=TestSGDAuditor(favourable=0))
    given = data(report).favourable
    assert given == ReportedFavourable("0", "given", "0 taken as favourable")
    assert {part(report, kind).favourable for kind in (GroupsPart, SelectionPart)} == {"0"}
    assert {errors.favourable for errors in report.results(ErrorsPart)} == {"0"}
    assert data(named).favourable == given and "favourable=0" in data(report).code
    ratio = report.selection_table.set_index("group")["impact_ratio"]
    assert ratio["f"] < 1 and ratio["m"] == 1  # by the other label it would be the men's


@pytest.mark.parametrize("given", ["0", 2, [0, 1], 0.5, []])
def test_a_label_that_no_class_has_is_refused_before_the_first_query(given):
    class Silent(Wrapped):
        def _wait(self, X):
            raise AssertionError("was asked")

    with pytest.raises(ValueError, match="favourable="):
        look(Silent(risk_model()), sensitive_features=["sex"], favourable=given)
    with pytest.raises(ValueError, match="favourable="):
        look(risk_model(), sensitive_features=["sex"], favourable=0,
             groups=TestSGDAuditor(favourable=1))  # fmt: skip


@slow_sample
def test_many_classes_need_a_favourable_one():
    model = coded(DecisionTreeClassifier(max_depth=6, random_state=0))
    model.fit(X, np.arange(len(X)) % 100)
    settings = {"sensitive_features": ["sex"], "certify": False}
    report = look(model, y=np.arange(len(X)) % 100, **settings)
    assert data(report).model.n_classes == 100 and len(data(report).model.classes) == 20
    for kind in (GroupsPart, SelectionPart):
        found = part(report, kind)
        assert found.status == "left out" and "favourable" in found.reason
    groups = TestSGDAuditor(favourable=[0, 1, 2])
    named = look(model, groups=groups, **settings)
    assert part(named, GroupsPart).favourable == "0, 1, 2" and part(named, SelectionPart).groups


@slow_sample
def test_groups_do_without_attributes_of_too_many_categories():
    table = X.assign(race=[f"country {j % 20}" for j in range(len(X))])
    model = coded(LogisticRegression()).fit(table, LABELS)
    groups = TestSGDAuditor(max_queries=5000)
    report = look(model, table, certify=False, groups=groups)
    assert data(report).sensitive_features == ["sex", "race"]
    near, of_rows = part(report, PerturbedGroupsPart), part(report, GroupsPart)
    assert near.reason == "without race, of more than 14 categories"
    assert all("sex" in rule.rule for rule in near.rules)
    assert of_rows.reason == "" and of_rows.n_rules > 2  # races, too


@pytest.mark.parametrize(
    "n", [pytest.param(100, marks=SAMPLE), pytest.param(500, marks=pytest.mark.slow)]
)
def test_hundreds_of_sensitive_values_and_columns(n):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(320, n)), columns=[f"c{j}" for j in range(n)])
    table["sex"] = np.arange(320).astype(str)
    table["sex"] = table["sex"].where(np.arange(320) < 300, "0")
    y = (table["c3"] > 0).astype(int)
    encode = make_column_transformer((OneHotEncoder(), ["sex"]), remainder="passthrough")
    model = make_pipeline(encode, RandomForestClassifier(5, max_depth=4, random_state=0))
    report = look(model.fit(table, y), table, y, sensitive_features=["sex"])
    assert report.status == "complete"
    assert part(report, GroupsPart).n_rules == 1  # all others have hardly any rows
    (twins,) = searches(report)
    assert twins.rows.n_twins == 100
    assert twins.known.pair is None or len(twins.known.pair.cells) == n + 1


# Time, failures, interrupts -----------------------------------------------------------------


@slow_sample
def test_a_slow_model_gets_a_sample_of_the_rows_with_an_interval():
    slow = Wrapped(LOGISTIC, seconds=0.005)
    report = look(slow, y=LABELS, max_time=3, sensitive_features=["sex"], auditor=None)
    (_, rows, search, _), reason = searches(report)[0], data(report).reason
    assert 0 < rows.n < rows.n_rows == 200
    assert rows.low <= rows.rate <= rows.high
    # The status, the first lines and the parts say what was not done, and how much of it was.
    assert report.status == "ended early"
    told, asked = f"{rows.n} of 200 rows", search.search_queries
    assert rows.reason == f"ended early, for lack of time: {told}"
    for words in (f"rows: sex: {told}", f"search: sex: {asked} of 20,000 queries"):
        assert words in reason and words in " ".join(repr(report).split())
        assert words in report.to_html() and words in report._repr_html_()


@pytest.mark.parametrize("seconds", [0.01, 0.5])
def test_a_slow_model_does_not_outlast_the_time_by_much(seconds):
    began = CLOCK.now()
    look(
        Wrapped(LOGISTIC, seconds=seconds), y=LABELS, max_time=15, sensitive_features=["sex"],
        moved=[QuantileTransport()],
    )  # fmt: skip
    assert CLOCK.now() - began < 17


class Sleepy(Wrapped):
    """Takes seconds by the number of the call, from 1 on, and by its rows."""

    def _wait(self, X):
        self.n_calls = getattr(self, "n_calls", 0) + 1
        CLOCK.sleep(self.seconds(self.n_calls, len(X)))


@slow_sample
@pytest.mark.parametrize("max_time", [1, 3, 10, 60])
@pytest.mark.parametrize(
    "seconds, in_full",
    [
        (lambda call, rows: 0.4, 3),
        (lambda call, rows: 0.5 * rows, np.inf),
        (lambda call, rows: 3.0 * (call == 1), 10),
        (lambda call, rows: 0.5 * (call <= 10), 10),
        (lambda call, rows: 0.4 * (call > 10), 1),
        (lambda call, rows: 0.02 * rows * (call > 10), 1),
    ],
)
def test_the_first_page_has_what_fits_and_the_time_is_kept(seconds, in_full, max_time):
    """`in_full` are the seconds from which on all rows are predicted."""
    began = CLOCK.now()
    report = look(
        Sleepy(LOGISTIC, seconds), y=LABELS, max_time=max_time, sensitive_features=["sex"],
        favourable="yes", auditor=None, moved=[QuantileTransport()],
    )  # fmt: skip
    # A call that has begun is not ended.
    first = seconds(1, 1)
    assert CLOCK.now() - began <= max(1.1 * max_time, max_time + 1, first + 1)
    rates, predicted = part(report, SelectionPart), part(report, PredictionsPart)
    assert predicted.n == 200 if max_time >= in_full else 0 < predicted.n < 200
    assert predicted.early == ("" if predicted.n == 200 else f"{predicted.n} of 200 rows")
    assert rates.n in (0, predicted.n) and (rates.status == "done" or rates.reason)
    rows = searches(report)[0].rows
    assert rows.n == 200 or rows.early
    was_cut = any(one.early for one in data(report).parts)
    assert ("Cut short for lack of time: " in " ".join(repr(report).split())) == was_cut


def test_a_search_that_spent_its_own_budget_did_not_end_early():
    report = look(sensitive_features=["sex"], max_time=1e6, **SEARCH_ONLY)
    assert report.status == "complete" and not any(report.parts["reason"].iloc[:2])


NATIVE = (
    "[02:36:13] /src/cat.h:29: Found a category not in the training set for the 1th (0-based) "
    "column: `new`.\nStack trace:\n  [bt] (0) /opt/lib/libmodel.so(+0x11031e) [0x7f8a7d71031e]"
)


@pytest.mark.parametrize("calls", [3, 12])
def test_of_an_error_in_compiled_code_the_first_line_and_the_column_are_told(calls, unillustrated):
    failing = Wrapped(LOGISTIC, fails_after=calls, error=lambda _: RuntimeError(NATIVE))
    report = look(failing, sensitive_features=["sex"], certify=False)
    assert report.status == "failed" and "EstimatorFailedError" not in data(report).reason
    told = " ".join(repr(report).split())
    assert "a part failed" in told
    assert "Found a category not in the training set for the column 'race': `new`" in told
    for text in (report.to_json(), report.to_html(), report.to_markdown(), repr(report)):
        told = " ".join(text.split())
        assert "training set for the column" in told
        assert "[bt]" not in told and "cat.h" not in told and "0-based" not in told


class Warns(Wrapped):
    """Warns by its name once another model is asked, too, or that did not happen for a while."""

    def __init__(self, model, name, barrier):
        super().__init__(model)
        self.name, self.barrier = name, barrier

    def _wait(self, X):
        if not hasattr(self, "met_"):
            with suppress(threading.BrokenBarrierError):
                self.barrier.wait(0.05)
            self.met_ = True
        warnings.warn(f"I am {self.name}", UserWarning, stacklevel=1)


@slow_sample
@pytest.mark.parametrize("own_threads", [False, True])
def test_models_in_threads_keep_their_own_warnings(own_threads):
    barrier, filters, shown = threading.Barrier(2), warnings.filters[:], warnings.showwarning
    models = {name: Warns(LOGISTIC, name, barrier) for name in "AB"}
    settings = {
        "sensitive_features": "sex", "favourable": "yes", "auditor": SBFTAuditor(max_queries=40),
        "moved": False, "random_state": 0, "max_time": None, **SEARCH_ONLY,
    }  # fmt: skip
    if own_threads:
        with ThreadPoolExecutor(2) as pool:
            made = pool.map(lambda one: audit(one, X, progress=False, **settings), models.values())
            reports = dict(zip(models, made, strict=True))
    else:
        with joblib.parallel_config("threading"):
            reports = audit_models(models, X, n_jobs=2, **settings)
    for name, report in reports.items():
        notes = {note for note in report.parts["notes"].sum() if note.startswith("I am")}
        assert notes == {f"I am {name}"}
    assert warnings.filters == filters and warnings.showwarning is shown


# Parameters ---------------------------------------------------------------------------------


@slow_sample
def test_the_auditor_is_a_template():
    given = SurrogateAuditor(
        max_queries=400, threshold=0.1, space=InputSpace(bounds={"income": (10, 20)})
    )
    settings = {"sensitive_features": ["sex"], **SEARCH_ONLY}
    report = look(auditor=given, **settings)
    assert given.estimator is None and not hasattr(given, "stop_reason_")
    (twins,), code = searches(report), data(report).code
    assert twins.search.auditor == "SurrogateAuditor" and data(report).threshold == 0.1
    assert inputs_of(twins.known.pair)["income"].between(10, 20).all()
    assert "=SurrogateAuditor(" in code
    assert "from skfairtest import InputSpace, SurrogateAuditor, audit" in code
    named = look(auditor="surrogate", max_time=1, **settings)
    assert searches(named)[0].search.auditor == "SurrogateAuditor"


@slow_sample
def test_an_auditor_that_certifies():
    tree = coded(DecisionTreeClassifier(max_depth=4)).fit(X, LABELS)
    report = look(tree, auditor=CertifiedAuditor(), sensitive_features=["sex"])
    assert searches(report)[0].known.certified


@pytest.mark.parametrize(
    "params, error, words",
    [
        ({"auditor": "nobody"}, ValueError, "'sbft'"),
        ({"auditor": TestSGDAuditor()}, TypeError, "groups="),
        ({"groups": SBFTAuditor()}, TypeError, "TestSGDAuditor"),
        ({"groups": "all"}, ValueError, "groups must be"),
        ({"certify": "no"}, ValueError, "certify must be"),
        ({"max_time": 0}, ValueError, "max_time"),
        ({"progress": "loud"}, ValueError, "progress must be"),
        ({"progress": 3}, TypeError, "callback"),
        ({"threshold": -1}, ValueError, "threshold"),
        ({"sensitive_features": ["colour"]}, ValueError, "colour"),
        ({"y": LABELS[:-1]}, ValueError, "one value per row, 200; got 199"),
        ({"y": np.where(LABELS == "yes", 1, 0)}, ValueError, "labels of the model.*'no', 'yes'"),
        ({"y": np.where(LABELS == "yes", 1, np.nan)}, ValueError, "missing values among 200"),
        ({"y": np.column_stack([LABELS, LABELS])}, ValueError, r"got shape \(200, 2\)"),
        ({"table": X.drop(columns="job")}, ValueError, r"X lacks \['job'\]"),
        ({"model": LogisticRegression}, TypeError, "instance"),
        ({"model": LogisticRegression()}, NotFittedError, "fitted"),
    ],
)
def test_bad_input_is_refused_before_a_query(params, error, words):
    with pytest.raises(error, match=words):
        look(**{"sensitive_features": ["sex"], **params})


@slow_sample
def test_columns_and_targets_that_do_not_go_with_a_model_are_one_error():
    numbers = X[["income"]].assign(sex=(X["sex"] == "m") * 1, grade=np.arange(len(X)) / 2)
    model = LogisticRegression(max_iter=1000).fit(numbers, LABELS)
    for table, words in [
        (numbers.assign(extra=1), r"does not know \['extra'\]"),
        (numbers.drop(columns="grade"), r"lacks \['grade'\]"),
        (numbers[["sex", "income", "grade"]], "another order"),
    ]:
        with pytest.raises(ValueError, match=words):
            look(model, table, sensitive_features=["sex"])
    with pytest.raises(ValueError, match="X has 4 columns, the model was fitted to 3"):
        look(model, numbers.assign(extra=1).to_numpy(), sensitive_features=[1])
    # A model that chooses its columns by name takes them in any order, and more of them.
    other = X[X.columns[::-1]].assign(extra=np.arange(len(X)))
    assert look(table=other, sensitive_features=["sex"], **SEARCH_ONLY).status == "complete"
    with pytest.raises(ValueError, match="y must hold numbers"):
        look(coded(Ridge()).fit(X, SCORE), y=LABELS, sensitive_features=["sex"])


# Progress -----------------------------------------------------------------------------------


@slow_sample
def test_lines_of_progress_go_to_standard_error(capsys):
    look(sensitive_features=["sex"], progress="auto")
    out, err = capsys.readouterr()
    lines = err.splitlines()
    assert out == "" and len(lines) == 9 and lines[0].startswith("[audit 1/9")
    assert "search: sex: largest difference" in err
    look(sensitive_features=["sex"], progress=False, **SEARCH_ONLY)
    assert capsys.readouterr() == ("", "")


class Watch(PartsProgress):
    """Reads the page after each part, and remembers it."""

    def begin(self, what, n_parts):
        self.pages = {"": self.page(88)}

    def done(self, words):
        self.pages[words.split(":")[0]] = self.page(88)


@slow_sample
def test_the_first_page_fills_as_parts_end(monkeypatch):
    settings = {"y": LABELS, "sensitive_features": ["sex", "race"]}
    watch, alone = Watch(), look(**settings)
    monkeypatch.setattr("skfairtest.report._audit.make_progress", lambda given: watch)
    watched = look(**settings)
    pages = {name: "\n".join(page) for name, page in watch.pages.items()}
    assert pages[""] == ""
    assert "Nothing was measured: not yet." in pages["predictions"]
    assert "Model      LogisticRegression, accuracy" in pages["predictions"]
    assert "would get another decision" in pages["rows"]
    assert "Rates      Not compared: not yet." in pages["rows"]
    # In the end it has the words of the report, but for what is of the whole.
    said = first_page(data(watched)).lines()
    assert [" ".join(one.split()) for one in watch.pages["twins"]] == [
        f"{name} {words}" for name, words in said if name not in ("Limits", "How sure", "What next")
    ]
    # Who looks on asks nothing and changes nothing.
    assert watched.parts.drop(columns="seconds").equals(alone.parts.drop(columns="seconds"))
    assert repr(watched) == repr(alone)


class Counted(Ticks):
    """Auditors copy their callbacks; the count is of all copies."""

    n_all = 0

    def on_fit_task_end(self, estimator, context):
        Counted.n_all += 1
        return super().on_fit_task_end(estimator, context)


@slow_sample
def test_callbacks_are_told():
    pytest.importorskip("sklearn.callback")
    look(sensitive_features=["sex"], progress=[Counted()])
    assert Counted.n_all > 10


def test_a_plain_object_with_predict_can_be_audited():
    class Plain:
        classes_ = np.array(["no", "yes"])

        def __deepcopy__(self, memo):
            raise AssertionError("the model is not to be copied")

        def predict(self, X):
            return LOGISTIC.predict(X)

    report = look(Plain(), y=LABELS, sensitive_features=["sex"], **SEARCH_ONLY)
    assert report.fairness_degree == 1 and report.status == "complete"


def test_errors_of_many_classes_without_a_favourable_one_are_those_of_accuracy():
    three = np.digitize(SCORE, np.quantile(SCORE, [0.3, 0.6])).astype(str)
    model = coded(DecisionTreeClassifier(max_depth=3, random_state=0)).fit(X, three)
    report = look(model, y=three, sensitive_features=["sex"], **SEARCH_ONLY)
    (errors,) = report.results(ErrorsPart)
    assert (errors.metric, errors.status, errors.favourable) == ("accuracy", "done", "")
    assert errors.overall == pytest.approx((model.predict(X) == three).mean())


@slow_sample
def test_columns_of_names_and_too_many_rules_are_no_reason_to_leave_errors_out():
    rng = np.random.default_rng(0)
    wide = pd.DataFrame(rng.integers(0, 2, (1200, 120)), columns=[f"c{j}" for j in range(120)])
    wide = wide.assign(sex=rng.choice(["f", "m"], 1200), name=[f"person {j}" for j in range(1200)])
    y = rng.integers(0, 2, 1200)
    numbers = make_column_transformer(("passthrough", make_column_selector(dtype_include="number")))
    model = make_pipeline(numbers, DecisionTreeClassifier(max_depth=3)).fit(wide, y)
    report = look(model, wide, y, sensitive_features=["sex"], certify=False)
    for errors in report.results(ErrorsPart):
        assert errors.status == "done" and errors.max_conditions == 2
        assert not any("person" in rule.rule for rule in errors.rules)


class SlowCalls(Wrapped):
    """Takes as long for a call whatever the number of its rows."""

    def _wait(self, X):
        self.sizes = [*getattr(self, "sizes", []), len(X)]
        CLOCK.sleep(self.seconds)


FEW_KINDS = X.assign(income=30, job="w")  # six distinct rows


@pytest.mark.parametrize(
    "model, table, max_time, whole",
    [
        (SlowCalls(LOGISTIC, seconds=0.4), X, 20, True),
        (Wrapped(LOGISTIC, seconds=0.05), FEW_KINDS, 20, True),
        (Wrapped(LOGISTIC, seconds=0.05), X, 10, False),
        (Wrapped(LOGISTIC), X, None, True),
    ],
)
def test_figures_of_a_page_are_about_the_same_rows(model, table, max_time, whole):
    """Or say of how many rows they are."""
    report = look(
        model, table, LABELS, max_time=max_time, sensitive_features=["sex"], favourable="yes",
        certify=False,
    )  # fmt: skip
    first_page = " ".join(repr(report).split())
    compared, rates = searches(report)[0].rows, part(report, SelectionPart)
    parts = [rates, part(report, GroupsPart), *report.results(ErrorsPart)]
    reason = part(report, PredictionsPart).reason
    if whole:
        assert {one.n for one in [compared, *parts]} == {200}
        by_hand = table.assign(rate=LOGISTIC.predict(table) == "yes").groupby("sex")["rate"].mean()
        assert [group.rate.value for group in rates.groups] == pytest.approx(by_hand.tolist())
        assert reason == "" and "random sample" not in first_page
    else:
        assert {one.n for one in parts} == {rates.n} and compared.n < 200
        of = f"{rates.n} of 200"
        assert reason == f"ended early, for lack of time: {of} rows"
        assert f"of m, in a random sample of {of} people. Lowest impact ratio" in first_page
        assert "Collect more rows" not in first_page  # the table has more
    if isinstance(model, SlowCalls):  # the first rows show that a call has room for the others
        assert model.sizes[0] == 1
        assert sum(model.sizes[:3]) == part(report, PredictionsPart).n_distinct


class OfColumns(Wrapped):
    """Predicts what a classifier does as a table of one column."""

    def predict(self, X):
        return pd.DataFrame({"answer": self.model.predict(X)})


RIDGE = coded(Ridge()).fit(X, SCORE)


@slow_sample
@pytest.mark.parametrize(
    "flat, column, y, favourable",
    [
        (RIDGE, coded(Ridge()).fit(X, SCORE.to_frame()), SCORE, None),
        (Wrapped(LOGISTIC), OfColumns(LOGISTIC), LABELS, "yes"),
    ],
)
def test_a_column_of_predictions_is_as_good_as_a_list(flat, column, y, favourable):
    settings = {"sensitive_features": ["sex"], "favourable": favourable}
    expected = look(flat, X, y, **settings)
    report = look(column, X, pd.DataFrame({"y": y}), **settings)
    assert report.status == "complete"
    for kind in (SelectionPart, GroupsPart, ErrorsPart):
        one, other = (
            [replace(part, seconds=0, notes=[]) for part in each.results(kind)]
            for each in (report, expected)
        )
        assert one == other
    assert searches(report)[0].rows.changed == searches(expected)[0].rows.changed


@slow_sample
@pytest.mark.parametrize(
    "model, output",
    [
        (coded(Ridge()).fit(X, np.c_[np.zeros(200), SCORE]), "prediction of output 2"),
        (
            make_pipeline(LOGISTIC[0], KNeighborsClassifier()).fit(
                X, np.c_[np.full(200, "all"), LABELS]
            ),
            "probability of no (output 2)",
        ),
    ],
)
def test_of_several_outputs_rates_are_left_out_and_the_one_that_differs_is_named(model, output):
    report = look(model, y=None, sensitive_features=["sex", "job"], certify=False)
    assert report.status == "complete" and searches(report)[-1].known.pair.output == output
    for kind in (SelectionPart, GroupsPart):
        found = part(report, kind)
        assert found.status == "left out" and found.reason.startswith("several outputs: ")


# Whatever was seen counts -------------------------------------------------------------------------


class Pockets(ClassifierMixin, BaseEstimator):
    """Twins differ by 0.1; by 0.9 where `z` is above 9, and by 0.7 at one value."""

    def fit(self, X, y=None):
        self.classes_ = np.array([0, 1])
        return self

    def predict_proba(self, X):
        p = 0.05 + X["sex"] * (0.1 + 0.8 * (X["z"] > 9) + 0.6 * (X["z"] == 5.123456789))
        return np.column_stack([1 - p, p])

    def predict(self, X):
        return (self.predict_proba(X)[:, 1] > 0.5).astype(int)


@pytest.fixture(scope="module")
def beyond():
    """Eleven rows outside of the domain differ most, and then one inside."""
    rows = pd.DataFrame({"sex": [0, 1] * 50, "z": np.linspace(0, 8.1234567, 100)})
    rows.loc[:10, "z"] = np.linspace(9.1, 9.7654321, 11)
    rows.loc[11, "z"] = 5.123456789
    few = SBFTAuditor(max_queries=200, space=InputSpace(bounds={"z": (0, 9)}))
    return look(Pockets().fit(rows), rows, auditor=few, sensitive_features=["sex"], groups=False)


def test_rows_outside_of_the_domain_are_shown_beside_it_and_decide(beyond):
    (twins,) = searches(beyond)
    assert twins.rows.degree == pytest.approx(0.9) == beyond.on_data_degree
    assert "that lie outside of it show a difference of up to 0.90" in beyond.sentence
    assert beyond.check(Limits(max_degree=0.8)).status == "exceeded"


def test_the_worst_row_inside_counts_whatever_is_outside(beyond):
    """Ten rows are listed, all of them outside."""
    (twins,) = searches(beyond)
    assert len(twins.rows.worst) == 10
    assert not any(row.inside for row in twins.rows.worst)
    assert twins.known.degree == pytest.approx(0.7) == beyond.fairness_degree
    assert twins.known.shown_by == "row 11 of the data"


def test_progress_counts_twins_that_the_model_rules_out(capsys):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(60, 2)), columns=["a", "b"])
    sex = pd.DataFrame({"sex": rng.choice(["f", "m"], 60)})
    model = LogisticRegression().fit(X, X["a"] > 0)
    audit(
        model, X, sensitive_features=sex, favourable=True, groups=False, random_state=0,
        progress=True,
    )  # fmt: skip
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("[audit")]
    assert lines and lines[-1].startswith(f"[audit {len(lines)}/{len(lines)},")
