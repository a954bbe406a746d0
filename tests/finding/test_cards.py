"""Cards: what they say, that every value is escaped, and that they stand above scikit-learn's."""

from __future__ import annotations

import re
import warnings
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import planted_groups
import pytest
import sklearn
from places import TOP
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import estimator_html_repr
from tiers import slow_sample

from skfairtest import (
    AequitasAuditor,
    Certificate,
    CertifiedAuditor,
    FairnessRetrainer,
    RandomAuditor,
    TestSGDAuditor,
    certify,
)
from skfairtest.exact._bounds import Bounds
from skfairtest.exceptions import EstimatorFailedError, MitigationWarning, NoDisparityWarning
from skfairtest.finding import _card
from skfairtest.finding._card import card_css, findings_card, in_html, numbers_table, pair_table
from skfairtest.finding._pair import Cell, Pair, worst_pair
from skfairtest.finding._words import change, difference_sentence, two_numbers, with_difference
from skfairtest.inspection._style import COLORS

EVIL = "<script>alert('x')</script> \"&amp;'"
NEVER_CLOSED = {"br", "hr", "img", "input", "meta", "link"}


class Reader(HTMLParser):
    """Reads HTML whose every tag is closed in order; collects tags and texts."""

    def __init__(self, html):
        super().__init__()
        self.open, self.tags, self.texts, self.classes = [], [], [], []
        self.feed(html)
        self.close()
        assert not self.open, f"not closed: {self.open}"

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag not in ("bdi", "span"):  # the others stand apart
            self.texts.append(" ")
        self.classes += dict(attrs).get("class", "").split()
        assert not [name for name, _ in attrs if name.startswith("on")]
        if tag not in NEVER_CLOSED:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.texts.append(data)

    @property
    def text(self):
        return " ".join("".join(self.texts).split())


def pair_of(n_columns=4, name="c", **changes):
    cells = [Cell("sex", "male", "female", True)]
    cells += [Cell(f"{name}{j}", j, j, False) for j in range(n_columns)]
    given = {
        "output": "probability of yes", "outputs": (0.82, 0.22), "labels": None,
        "difference": 0.6, "threshold": None,
    }  # fmt: skip
    return Pair(tuple(cells), **(given | changes))


def people(n=300):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {"sex": np.arange(n) % 2, "a": rng.integers(0, 9, n), "b": rng.integers(0, 9, n)}
    )
    return X, np.where(X["a"] + 2 * X["sex"] + X["b"] > 9, "yes", "no")


def audited(model=None, **params):
    X, y = people()
    model = LogisticRegression().fit(X, y) if model is None else model
    given = {"sensitive_features": "sex", "max_queries": 300, "random_state": 0} | params
    return RandomAuditor(model, **given).fit(X)


# The pair ------------------------------------------------------------------------------------


def test_changed_cells_come_first_and_are_marked_by_more_than_colour():
    html = pair_table(pair_of())
    read = Reader(html)
    assert read.tags.count("tr") == 1 + 1 + 4 + 1  # head, changed, others, outputs
    rows = re.findall(r"<tr[^>]*>.*?</tr>", html)
    assert 'class="skft-changed"' in rows[1] and "≠" in rows[1] and "differs" in rows[1]
    assert all("skft-changed" not in row and "≠" not in row for row in rows[2:])
    assert rows[-1].count("<td>") == 2 and "0.82" in rows[-1] and "0.22" in rows[-1]
    assert {"caption", "thead", "tbody", "tfoot"} <= set(read.tags)
    assert html.count('scope="col"') == 3 and html.count('scope="row"') == 6


def test_of_many_columns_fifteen_are_shown_and_the_rest_folded():
    pair = pair_of(500)
    pair = pair.with_matters([0.0, *np.arange(500.0)])
    html = pair_table(pair)
    shown, folded = html.split("<details>")
    assert shown.count('scope="row"') == 1 + 15 + 1 and folded.count('scope="row"') == 485
    assert "485 more columns, equal in both twins" in folded
    assert ">c499<" in shown and ">c484<" in folded  # those that matter most are shown
    assert "<details>" not in pair_table(pair_of(15))
    assert "1 more column, equal" in pair_table(pair_of(16))
    assert pair_table(pair_of(16), most=0).split("<details>")[0].count('scope="row"') == 2


def test_names_and_values_are_text_whatever_they_say():
    cells = (
        Cell(EVIL, EVIL, "שלום", True),
        Cell("名前", None, None, False),
        Cell(("a", 1), 1, 1, False),
    )
    pair = Pair(cells, f"probability of {EVIL}", (0.5, 0.25), (EVIL, "b"), 0.25, None)
    html = findings_card(
        EVIL, EVIL, pair=pair, detail=EVIL, facts=[(EVIL, EVIL)], note=EVIL,
        table=numbers_table(["", EVIL], [(EVIL, EVIL)], EVIL),
    )  # fmt: skip
    read = Reader(html)
    assert "script" not in read.tags and "<script" not in html
    # Everywhere as it was written: kind, sentence, pair, table, detail, facts, note.
    assert read.text.count(EVIL) == 14
    assert {"שלום", "名前", "missing", "('a', 1)"} <= set(read.texts)
    assert html.count("<bdi") == html.count("</bdi>") > 8


def test_words_around_names_from_right_to_left_go_from_left_to_right():
    # The browser would take the way of the first letter.
    assert '<bdi dir="ltr">' in in_html("\u2068שם\u2069 → A")
    assert in_html("שם") == "<bdi>שם</bdi>"
    assert in_html("1,234.5%") == "1,234.5%" and in_html("-1") == "<bdi>-1</bdi>"


def test_long_values_are_cut_off():
    assert len(in_html("x" * 10_000)) < 300 and "…" in in_html("x" * 10_000)
    assert "…" not in in_html("x" * 200)


def test_outputs_and_labels():
    assert "0.82" not in pair_table(pair_of(outputs=None))
    both = Reader(pair_table(pair_of(labels=("yes", "no")))).text
    assert "predicted yes no" in both and "probability of yes 0.82 0.22" in both
    close = Reader(pair_table(pair_of(outputs=(0.5000002, 0.5)))).text
    assert "0.5000002 0.5000000" in close


@pytest.mark.parametrize(
    ("outputs", "told"),
    [
        ((0.82, 0.22), ("0.82", "0.22")),
        ((2.2258, 2.2027), ("2.226", "2.203")),  # not 2.23 and 2.20, which are 0.03 apart
        ((1.0, 0.994), ("1.000", "0.994")),
        ((5.0, 5.0), ("5.00", "5.00")),
        ((0.1 + 0.2, 0.3), ("0.30000000000000004", "0.3")),
        ((1234567.5, 1234566.0), ("1,234,567.5", "1,234,566.0")),
        ((np.inf, 1.0), ("∞", "1.00")),
    ],
)
def test_two_outputs_are_told_so_that_their_difference_can_be_seen(outputs, told):
    assert two_numbers(*outputs) == told


def test_a_change_has_a_sign_and_rounding_is_no_change():
    assert [change(v) for v in (0.0123456, -0.5, -0.0, 5e-18)] == ["+0.01235", "-0.5", "0", "0"]


def test_style_holds_for_the_card_alone_and_loads_nothing():
    css = card_css()
    rules = re.sub(r"@media[^{]*\{|/\*.*?\*/", "", css)
    selectors = [part for rule in re.findall(r"([^{}]+)\{", rules) for part in rule.split(",")]
    assert len(selectors) > 25 and all(".skft" in selector for selector in selectors)
    assert "url(" not in css and "@import" not in css and "http" not in findings_card("a", "b")
    # Dark only on screens: on paper it would cost ink.
    assert all("screen" in media for media in re.findall(r"@media([^{]*)\{", css))


def luminance(colour):
    parts = np.array([int(colour[j : j + 2], 16) for j in (1, 3, 5)]) / 255
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


@pytest.mark.parametrize("colours", [_card._LIGHT, _card._DARK], ids=["light", "dark"])
def test_contrast_is_enough_to_read(colours):
    known = dict(re.findall(r"--skft-(\w+): (#\w{6})", colours))
    for ink in ("ink", "soft"):
        for paper in ("paper", "mark"):
            if (ink, paper) == ("soft", "mark"):
                continue  # nothing soft stands on a mark
            light = sorted([luminance(known[ink]), luminance(known[paper])])
            assert (light[1] + 0.05) / (light[0] + 0.05) >= 4.5, (ink, paper)


def test_one_highlight_colour_in_card_page_and_pictures():
    """Light and dark; pictures have one set of colours, which the page changes where it is dark."""
    page = (TOP / "skfairtest" / "report" / "templates" / "report.css").read_text("utf-8")
    pages = re.findall(r"--accent: (#\w{6}); --tint: (#\w{6})", page)
    cards = [
        (re.search(r"--skft-edge: (#\w{6})", css)[1], re.search(r"--skft-mark: (#\w{6})", css)[1])
        for css in (_card._LIGHT, _card._DARK)
    ]
    assert cards == pages
    assert cards[0][0] == COLORS[0].lower()


# Above scikit-learn's HTML -------------------------------------------------------------------


def test_a_card_stands_above_scikit_learn_s_html():
    auditor = audited()
    html = auditor._repr_html_()
    own = estimator_html_repr(auditor)
    assert html.startswith("<style>") and html.index("skft-card") < html.index("sk-top-container")
    # The ids in theirs count on.
    assert len(html) - len(auditor._card()) == pytest.approx(len(own), abs=20)
    bundle = auditor._repr_mimebundle_()
    assert bundle["text/plain"] == repr(auditor)
    assert bundle["text/html"].count("skft-card") == html.count("skft-card") > 0
    sentence = difference_sentence(worst_pair(auditor))
    assert sentence.startswith("largest difference 0.") and "probability of yes" in sentence
    assert sentence.capitalize()[1:] in Reader(auditor._card()).text


@pytest.mark.parametrize(
    "estimator",
    [RandomAuditor(LogisticRegression()), TestSGDAuditor(LogisticRegression()),
     FairnessRetrainer(LogisticRegression())],
    ids=lambda estimator: type(estimator).__name__,
)  # fmt: skip
def test_before_fit_there_is_scikit_learn_s_html_only(estimator):
    assert "skft" not in estimator._repr_html_()
    assert "sk-top-container" in estimator._repr_html_()


def test_display_as_text_is_kept():
    auditor = audited()
    with sklearn.config_context(display="text"):
        assert not hasattr(auditor, "_repr_html_")
        assert set(auditor._repr_mimebundle_()) == {"text/plain"}
    assert hasattr(auditor, "_repr_html_")


def card(fitted):
    """The text of a card that is well-formed."""
    html = fitted._card() if hasattr(fitted, "_card") else fitted._repr_html_()
    return Reader(html).text


def test_cost_of_an_audit():
    auditor = audited(max_queries=100)
    told = card(auditor)
    assert "RandomAuditor of LogisticRegression" in told and "identical but for" in told
    assert f"queries {auditor.n_queries_} seconds" in told
    assert "ended max_queries=100 reached" in told
    assert f"discriminatory inputs found {auditor.n_found_}" in told
    assert "rows of the data" not in told
    degree = auditor.on_data_degree_  # asked for by someone, and so known
    assert f"rows of the data {degree:.2f}" in card(auditor)


def test_a_regressor_without_a_threshold_has_no_number_of_inputs_found():
    X, _ = people()
    model = make_pipeline(StandardScaler(), LinearRegression()).fit(X, X["a"] + X["sex"])
    told = card(audited(model))
    assert "largest difference 1.00 (prediction" in told.lower()
    assert "of LinearRegression" in told and "discriminatory inputs" not in told
    with_threshold = card(audited(model, threshold=0.5))
    assert "threshold 0.50" in with_threshold and "discriminatory inputs found" in with_threshold


class Rule(ClassifierMixin, BaseEstimator):
    """Labels and nothing else."""

    classes_ = np.array(["no", "yes"])

    def fit(self, X, y=None):
        return self

    def __sklearn_is_fitted__(self):
        return True

    def predict(self, X):
        return np.where(X["a"] + 2 * X["sex"] > 6, "yes", "no")


class Nameless(Rule):
    """Does not say which classes it knows."""

    classes_ = None


def test_labels_of_the_worst_pair():
    auditor = audited(Rule())
    predicted = tuple(auditor.predict(auditor.worst_case_))
    assert worst_pair(auditor).labels == predicted and set(predicted) == {"yes", "no"}
    assert auditor.worst_case_outputs_ is not None  # as it was before there were labels
    told = card(auditor)
    assert f"different labels ({predicted[0]} against {predicted[1]})" in told
    assert f"predicted {predicted[0]} {predicted[1]}" in told
    nameless = audited(Nameless())
    assert worst_pair(nameless).labels is None and "get different labels" in card(nameless)


def test_nothing_found():
    X, y = people()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoDisparityWarning)
        auditor = audited(LogisticRegression().fit(X.assign(sex=0), y))
    told = card(auditor)
    assert "No difference found in" in told and "does not show that there are none" in told
    assert "skft-pair" not in Reader(auditor._card()).classes


def test_bounds():
    X, y = people()
    tree = DecisionTreeClassifier(max_depth=5, random_state=0).fit(X, y)
    auditor = CertifiedAuditor(tree, sensitive_features="sex", max_queries=300, random_state=0)
    auditor.fit(X)
    assert auditor.certified_ and "Largest possible difference: " in card(auditor)
    forest = RandomForestClassifier(8, max_depth=4, random_state=0).fit(X, y)
    quick = certify(audited(forest), max_time=0)
    assert not quick.certified
    told = card(quick)
    assert f"at most {quick.fairness_degree_upper_bound:.2f} (proven for all inputs" in told
    assert told.startswith("Certificate Largest difference") and "probability of yes" in told


def test_a_refused_fit_leaves_the_card_of_the_certificate():
    X, y = people()
    tree = DecisionTreeClassifier(max_depth=5, random_state=0).fit(X, y)
    auditor = CertifiedAuditor(tree, sensitive_features="sex", max_queries=300, random_state=0)
    auditor.fit(X)
    before = card(auditor)
    assert "(proven for all inputs in the domain)" in before
    with pytest.raises(ValueError, match="Rule"):
        auditor.set_params(estimator=Rule()).fit(X)
    assert auditor.certified_ and auditor.estimator_ is tree
    assert "(proven for all inputs in the domain)" in card(auditor)


def certificate(lower=0.5, upper=0.75, **changes):
    given = {
        "bounds": Bounds(lower, upper, 1e-9),
        "found_share": 2 / 3, "seconds": 1.0, "stop_reason": "max_time",
        "worst_case": pd.DataFrame({"sex": [1, 0], EVIL: [2, 2]}),
    }  # fmt: skip
    return Certificate(**(given | changes))


def test_certificates_of_all_kinds():
    # Without outputs: as one was made before it kept them.
    assert "Largest difference 0.50" in card(certificate())
    assert "(proven for all inputs in the domain). Whether any is above 0.50 is open." in card(
        certificate()
    )
    labels = card(certificate(1.0, 1.0, response="labels"))
    assert "The twins get different labels" in labels
    outputs = certificate(
        worst_case_outputs=np.array([0.7, 0.2]), worst_case_class="yes", response="predict_proba"
    )
    assert "(probability of yes: 0.70 against 0.20)" in card(outputs)
    nothing = certificate(0.0, 0.0, worst_case=None)
    assert "No difference found No twins are treated differently (proven" in card(nothing)
    assert "does not show that there are none" not in card(nothing)
    unknown = certificate(upper=np.inf)
    assert "is not known" in card(unknown)


def test_the_certificate_s_outputs_are_the_model_s():
    auditor = audited()
    made = certify(auditor)
    said = auditor.estimator_.predict_proba(made.worst_case)[:, 1]
    np.testing.assert_allclose(made.worst_case_outputs, said)
    assert made.worst_case_class == "yes" and made.response == "predict_proba"


class Breaks(LogisticRegression):
    """A model that fails, or is interrupted, after some calls."""

    error: type[BaseException] = KeyboardInterrupt
    calls = 0

    def predict_proba(self, X):
        self.calls += 1
        if self.calls > 4:
            raise self.error("no more")
        return super().predict_proba(X)


class Fails(Breaks):
    error = ValueError


@pytest.mark.parametrize(
    ("kind", "raised", "told"),
    [(Breaks, KeyboardInterrupt, "ended interrupted"), (Fails, EstimatorFailedError, "no more")],
)
def test_what_an_interrupted_audit_found_is_shown(kind, raised, told):
    X, y = people()
    X = X + np.random.default_rng(0).random((len(X), 1)) * [0, 1, 1]  # more inputs than are asked
    auditor = RandomAuditor(
        kind().fit(X, y), sensitive_features="sex", max_queries=100_000, random_state=0
    )
    with pytest.raises(raised):
        auditor.fit(X)
    assert "Largest difference 0." in card(auditor) and told in card(auditor)
    assert "sk-top-container" in auditor._repr_html_()


def test_five_hundred_columns():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(0, 9, (100, 500))).rename(columns=lambda j: f"{EVIL}{j}")
    X["sex"] = np.arange(100) % 2
    model = LinearRegression().fit(X, X["sex"])
    html = audited_on(X, model)._card()
    assert "485 more columns" in html and "<script" not in html and len(html) < 120_000


def audited_on(X, model):
    return RandomAuditor(model, sensitive_features="sex", max_queries=50, random_state=0).fit(X)


def test_rules():
    X, y = people()
    X = X.assign(sex=np.where(X["sex"], "m", EVIL))
    model = Rule()
    model.predict = lambda X: np.where(X["a"] + 2 * (X["sex"] == "m") > 6, "yes", "no")
    auditor = TestSGDAuditor(model, sensitive_features=["sex", "a"], random_state=0).fit(X)
    html = auditor._card()
    told = Reader(html).text
    assert told.startswith("TestSGDAuditor of Rule Largest difference") and "<script" not in html
    worst = auditor.worst_rule_
    assert f"where {worst['rule']}," in told and "share predicted yes" in told.lower()
    assert "hold all at once (95%)" in told and html.count('scope="row"') == 5
    assert f"{int(worst['n_inside']):,}" in told and "queries" in told
    auditor.set_params(correction="none").fit(X)
    assert "each by itself" in card(auditor)


def test_rules_of_means_and_thresholds():
    X, _ = people()
    model = LinearRegression().fit(X, X["a"] + 3 * X["sex"])
    means = TestSGDAuditor(model, sensitive_features="sex", random_state=0).fit(X)
    assert "(mean prediction:" in card(means)
    above = TestSGDAuditor(model, sensitive_features="sex", favourable=4, random_state=0).fit(X)
    assert "share of predictions of at least 4.00" in card(above)


def test_an_interrupted_audit_of_groups():
    X, y = people()
    auditor = TestSGDAuditor(
        Breaks().fit(X, y), sensitive_features="sex", random_state=0,
        response_method="predict_proba", error_threshold=0.01,
    )  # fmt: skip
    with pytest.raises(KeyboardInterrupt):
        auditor.fit(X)
    told = card(auditor)
    assert "(mean probability of yes:" in told and "ended interrupted" in told
    auditor.estimator.calls = 100  # fails before anything is known
    with pytest.raises(KeyboardInterrupt):
        auditor.fit(X)
    assert card(auditor) == told  # of the fit before


@pytest.fixture(scope="module")
def retrained():
    X, y = people()
    retrainer = FairnessRetrainer(
        DecisionTreeClassifier(random_state=0), AequitasAuditor(sensitive_features="sex"),
        max_rounds=1, max_score_drop=1.0, cv=2, random_state=0,
    )  # fmt: skip
    with warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
        warnings.simplefilter("ignore", MitigationWarning)
        patch.setattr(FairnessRetrainer, "_n_estimates", 500)
        return retrainer.fit(X, y)


@slow_sample
def test_a_retrainer_shows_before_and_after(retrained):
    told = card(retrained)
    before, after = (model["near"]["value"] for model in (retrained.before_, retrained.after_))
    assert before > after
    assert "FairnessRetrainer of DecisionTreeClassifier" in told
    assert "twins get different labels, near the data" in told
    places = ("rows of the table", "people who are not in it", "near the data")
    for name in (*places, "uniform inputs of the domain", "rows added"):
        assert name in told
    assert f"ended {retrained.stop_reason_}" in told
    assert "drop instead" in told and "average instead" in told


def test_a_retrainer_that_keeps_the_original(retrained):
    kept = FairnessRetrainer(retrained.estimator, retrained.auditor)
    vars(kept).update(vars(retrained))
    kept.estimator_ = kept.original_estimator_
    assert "The original model is kept; share of inputs" in card(kept)


def test_a_retrainer_that_was_interrupted():
    X, y = people()

    class Stops(DecisionTreeClassifier):
        fits = 0

        def fit(self, X, y, sample_weight=None, check_input=True):
            Stops.fits += 1
            if Stops.fits > 2:
                raise KeyboardInterrupt
            return super().fit(X, y, sample_weight)

    retrainer = FairnessRetrainer(Stops(), AequitasAuditor(sensitive_features="sex"))
    with pytest.raises(KeyboardInterrupt):
        retrainer.fit(X, y)
    told = card(retrainer)
    assert "Not measured to the end: the original model is kept" in told
    assert "ended interrupted" in told


@slow_sample
def test_a_group_that_differs_by_an_unknown_amount_is_shown_to_differ():
    """The interval begins at 0 where only a test of steps shows a difference."""
    auditor = planted_groups.fit(error_threshold=0.1)
    auditor._state["low"][:1] = 0
    assert auditor.worst_rule_["differs"] and auditor.worst_rule_["low"] == 0
    rows = re.findall(r"<tr>(.*?)</tr>", auditor._repr_html_())
    worst = next(row for row in rows if "age from 35" in row)
    assert "above 0" in worst and "yes" in worst


def test_outputs_and_their_difference_add_up_in_a_few_digits():
    rng, n_off = np.random.default_rng(0), 0
    for first, second in rng.random((2_000, 2)):
        words = with_difference(first, second)
        one, other, apart = map(float, words)
        unit = 10.0 ** -len(words[2].partition(".")[2])
        off = round(abs(abs(one - other) - apart) / unit)
        assert off <= 1 and abs(apart - abs(first - second)) <= 0.5001 * unit
        n_off += off
        assert max(map(len, words)) <= 9 or min(first, second) < 0.001
    assert n_off < 20
