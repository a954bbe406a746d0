"""TextSGDAuditor: terms in texts, planted terms, bad input."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from tiers import SAMPLE, slow_sample

from skfairtest import TextSGDAuditor
from skfairtest.datasets import make_identity_comments
from skfairtest.exceptions import EstimatorFailedError
from skfairtest.group import IDENTITY_TERMS
from skfairtest.group._pools.terms import Terms

TWO = {"kind": ["alpha", "beta", "beta gamma"], "size": ["big", "small"]}


def corpus(n=400, seed=0):
    rng = np.random.default_rng(seed)
    kinds = ["alpha", "Beta", "beta  gamma", "thing"]
    sizes = ["big", "SMALL", "plain"]
    moods = ["fine", "good", "bad", "poor"]
    return [
        f"A {rng.choice(sizes)} {rng.choice(kinds)} is {rng.choice(moods)}, no. {j % 50}."
        for j in range(n)
    ]


class Reader(ClassifierMixin, BaseEstimator):
    """Refuses bad texts, and poor ones too if they name the term; notes what it was shown."""

    classes_ = np.array(["no", "yes"])

    def __init__(self, term="beta gamma", fail_after=np.inf):
        self.term = term
        self.fail_after = fail_after

    def __sklearn_is_fitted__(self):
        return True

    def fit(self, X, y=None):
        return self

    def predict(self, X):
        self.seen_ = getattr(self, "seen_", [])
        self.seen_ += list(X)
        if len(self.seen_) > self.fail_after:
            raise RuntimeError("asked too often")
        self.kinds_ = getattr(self, "kinds_", set()) | {type(X)}
        plain = [" ".join(text.split()) for text in X]
        refused = ["bad" in text or ("poor" in text and self.term in text) for text in plain]
        return np.where(refused, "no", "yes")


def fit(model=None, X=None, **settings):
    settings = {"categories": TWO, "random_state": 0} | settings
    return TextSGDAuditor(model or Reader(), **settings).fit(corpus() if X is None else X)


# Terms ------------------------------------------------------------------------------------------


def test_the_papers_terms():
    sizes = {name: len(words) for name, words in IDENTITY_TERMS.items()}
    assert sizes == {"gender": 14, "race": 17, "religion": 9, "age": 8}
    assert len({word for words in IDENTITY_TERMS.values() for word in words}) == 48


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("An African  American reader", {"african american"}),
        ("african-american", {"african", "american"}),
        ("GAY, straight; (old)", {"gay", "straight", "old"}),
        ("older gold transport whiteness", {"older"}),
        ("middle\naged and middle eastern", {"middle aged", "middle eastern"}),
        ("lgbtq lgbt", {"lgbtq", "lgbt"}),
        ("nothing", set()),
    ],
)
def test_terms_are_found_on_word_borders_longest_first(text, found):
    terms = Terms(IDENTITY_TERMS)
    held = terms.read([text]).contains[0]
    names = {
        word
        for j, words in enumerate(terms.words)
        for k, word in enumerate(words)
        if held[terms.number(j, k)]
    }
    assert names == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("an INDİAN and an ındian", set()),  # other letters than those of the term
        ("İİ gay", {"gay"}),
        ("der weiß gekleidete, DER WEISSE, WEISS", {"weiß"}),
        ("ßold old", {"old"}),
    ],
)
def test_letters_that_become_two_are_found_and_kept(text, found):
    terms = Terms({"color": ["weiß", "schwarz"], **IDENTITY_TERMS})
    read = terms.read([text])
    held = {
        word
        for j, words in enumerate(terms.words)
        for k, word in enumerate(words)
        if read.contains[0][terms.number(j, k)]
    }
    assert held == found and read.with_terms(0, {}) == text
    other = read.with_terms(0, {0: "schwarz", 1: "straight", 4: "young"})
    wanted = {"weiß": "schwarz", "WEISS": "schwarz", "gay": "straight", "old": "young"}
    assert other.split() == [
        wanted.get(word.strip(","), word.strip(",")) + "," * word.endswith(",")
        for word in text.split()
    ]


def test_replacing_keeps_the_rest_of_the_text():
    read = Terms(IDENTITY_TERMS).read(["Old, GAY and african american; old?"])
    assert read.with_terms(0, {3: "young"}) == "young, GAY and african american; young?"
    assert read.with_terms(0, {0: "trans", 1: "asian"}) == "Old, trans and asian; old?"
    assert read.with_terms(0, {2: "sikh"}) == "Old, GAY and african american; old?"


# Truth ------------------------------------------------------------------------------------------


@slow_sample
@pytest.mark.parametrize(
    "seed", [0] + [pytest.param(s, marks=SAMPLE, id=str(s)) for s in range(1, 5)]
)
def test_planted_terms_are_the_worst_rule(seed):
    comments = make_identity_comments(1500, random_state=seed)
    auditor = TextSGDAuditor(comments.estimator, random_state=seed).fit(comments.data)
    worst = auditor.worst_rule_
    terms = [f'"{term}"' for term in comments.terms]
    assert set(worst["rule"].removeprefix("contains ").split(" and ")) == set(terms)
    assert worst["score"] == pytest.approx(comments.group_fairness_score, abs=0.15)
    # The interval is about these texts: all with a term of both categories, replaced.
    read = auditor.terms_.read(comments.data)
    rule = auditor._state["rules"][0]
    put = {j: auditor.terms_.words[j][rule[j]] for j in range(4) if rule[j] >= 0}
    seeds = np.flatnonzero(read.has[:, list(put)].all(axis=1))
    inside = comments.estimator.predict([read.with_terms(row, put) for row in seeds])
    matched = auditor.matches(comments.data, 0)
    outside = comments.target[~matched]
    exact = abs((inside == "held").mean() - (outside == "held").mean())
    assert worst["low"] <= exact <= worst["high"] and worst["high"] - worst["low"] <= 0.1
    assert matched.sum() == sum(
        all(re.search(rf"\b{term}\b", text.lower()) for term in comments.terms)
        for text in comments.data
    )


def test_shares_equal_those_of_all_replaced_texts():
    X = corpus(300)
    auditor = fit(X=X, correction="none", error_threshold=0.02)
    rules = auditor.rules_.set_index("rule")
    model = Reader()
    kinds = ["alpha", "beta  gamma", "beta"]
    seeds = [text for text in X if any(kind in text.lower() for kind in kinds)]
    assert rules.loc['contains "beta gamma"', "support"] == len(seeds) / len(X)
    for term in TWO["kind"]:
        replaced = []
        for text in seeds:
            for kind in ("alpha", "Beta", "beta  gamma"):
                if f" {kind} is" in text:
                    replaced.append(text.replace(kind, term))
                    break
        assert len(replaced) == len(seeds)
        inside = np.mean(model.predict(replaced) == "yes")
        others = [text for text in X if f" {term} is" not in text.lower().replace("  ", " ")]
        outside = np.mean(model.predict(others) == "yes")
        row = rules.loc[f'contains "{term}"']
        assert row["value_inside"] == pytest.approx(inside, abs=0.04)
        assert row["value_outside"] == pytest.approx(outside, abs=0.04)


def test_results_query_count_and_promise():
    model = Reader()
    auditor = fit(model)
    rules = auditor.rules_
    assert len(rules) == auditor.n_rules_ == 3 + 2 + 3 * 2
    assert auditor.n_queries_ == len(model.seen_)
    assert rules[["n_inside", "n_outside"]].min().min() >= 1000
    reach = np.maximum(rules["high"] - rules["score"], rules["score"] - rules["low"])
    assert reach.max() <= 0.05
    assert auditor.categories_ == TWO and auditor.favourable_ == ["yes"]
    assert rules["score"].is_monotonic_decreasing
    # A text that comes again is asked about once: 400 texts, 11 rules.
    assert auditor.n_queries_ < 400 * 12 < rules["n_inside"].sum()


@pytest.mark.parametrize("container", [list, pd.Series, lambda X: np.array(X, dtype=object)])
def test_texts_come_in_the_container_of_fit(container):
    model = Reader()
    texts = container(corpus())
    auditor = fit(model, texts)
    assert model.kinds_ == {type(texts)}
    pd.testing.assert_frame_equal(auditor.rules_, fit().rules_)


def test_confirm_on_new_texts():
    auditor, new = fit(), corpus(2000, seed=8)
    table = auditor.confirm(new, 3)
    assert table["same_direction"].all() and (table["low"] > 0.1).all()
    assert (table["searched_score"] == auditor.rules_["score"][:3]).all()
    few = auditor.confirm(["Nothing named here."], 1).iloc[0]
    assert few["n_inside"] == 0 and np.isnan(few["score"]) and few["high"] == 1


@slow_sample
def test_regressors_and_real_pipelines():
    class Length(RegressorMixin, BaseEstimator):
        def __sklearn_is_fitted__(self):
            return True

        def predict(self, X):
            return np.array([float(len(text)) for text in X])

    worst = fit(Length()).worst_rule_
    assert "beta gamma" in worst["rule"] and worst["low"] > 0
    comments = make_identity_comments(1500, terms=["asian"], score=0.8, random_state=1)
    model = make_pipeline(CountVectorizer(), LogisticRegression(C=10))
    auditor = TextSGDAuditor(model, max_attributes=1, random_state=0)
    auditor.fit(comments.data, comments.target)
    assert '"asian"' in auditor.worst_rule_["rule"]


def test_small_budget_is_kept():
    with pytest.warns(UserWarning, match="intervals are wider"):
        auditor = fit(max_queries=900)
    assert auditor.n_queries_ <= 900


# Bad input --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("X", "error", "message"),
    [
        (["fine", ""], ValueError, "Text 1 of X is empty"),
        (["fine", "  "], ValueError, "Text 1 of X is empty"),
        (["fine", None], TypeError, "must hold strings; got None .* in row 1"),
        (["fine", 3.5], TypeError, "must hold strings; got 3.5"),
        ([], ValueError, "no texts"),
        ("one text", TypeError, "list, a one-dimensional array or a Series of strings"),
        (np.array([["a"], ["b"]]), ValueError, "one-dimensional"),
        (pd.DataFrame({"text": ["a"]}), TypeError, "got DataFrame"),
        (["fine"] * 30, ValueError, "largest support of one is 0: no text has any of the terms"),
        (["big"] + ["fine"] * 30, ValueError, "largest support of one is 0.03226"),
    ],
)
def test_bad_texts(X, error, message):
    model = Reader()
    with pytest.raises(error, match=message):
        fit(model, X)
    assert not hasattr(model, "seen_")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"categories": {"kind": []}}, "'kind' has no terms"),
        ({"categories": {}}, "categories must be a dict"),
        ({"categories": ["alpha"]}, "categories must be a dict"),
        ({"categories": {"kind": "alpha"}}, "must be a list of terms"),
        ({"categories": {"kind": ["alpha", " "]}}, "strings that are not empty"),
        ({"categories": {"a": ["x"], "b": ["X"]}}, "'X' occurs more than once in categories="),
        ({"favourable": "maybe"}, "'maybe' is a label that never occurs"),
        ({"min_support": 2}, "min_support must be"),
    ],
)
def test_bad_settings(settings, message):
    model = Reader()
    with pytest.raises(ValueError, match=message):
        fit(model, **settings)
    assert not hasattr(model, "seen_")


def test_failure_keeps_what_was_answered(monkeypatch):
    monkeypatch.setattr("skfairtest.group._textsgd.BATCH", 500)
    model = Reader(fail_after=1500)
    auditor = TextSGDAuditor(model, categories=TWO, random_state=0)
    with pytest.raises(EstimatorFailedError, match="asked too often"):
        auditor.fit(corpus())
    assert auditor.stop_reason_.startswith("failed")
    assert 0 < len(auditor.rules_) < 11


def test_comments_are_reproducible_and_checked():
    first, second = (make_identity_comments(50, random_state=3) for _ in range(2))
    assert first.data == second.data and first.terms == second.terms
    for wrong in ({"n_samples": 5}, {"score": 0.33}, {"score": 1.0}, {"terms": ["zebra"]},
                  {"terms": ["gay", "trans"]}, {"terms": []}):  # fmt: skip
        with pytest.raises(ValueError, match=next(iter(wrong))):
            make_identity_comments(**({"n_samples": 50} | wrong))


def test_comments_have_their_planted_score():
    comments = make_identity_comments(20_000, terms=["old"], score=0.4, random_state=0)
    named = np.array(["old" in text.lower().replace("older", "") for text in comments.data])
    held = comments.target == "held"
    assert held[named].mean() - held[~named].mean() == pytest.approx(0.4, abs=0.05)
