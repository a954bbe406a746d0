"""Which labels are favourable: given, inferred from their words, or guessed with a warning."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from skfairtest import SubgroupAuditor, TestSGDAuditor, selection_table
from skfairtest.oracle._favourable import favourable_places, resolve_favourable

SEX = ["f", "m"] * 20


@pytest.mark.parametrize(
    "classes, labels",
    [
        (["approved", "rejected"], ["approved"]),
        (["Denied", "granted"], ["granted"]),
        (["bad", "good"], ["good"]),
        (["bad", "zero"], ["zero"]),
        (["High Risk", "other"], ["other"]),
        (["low_risk", "other"], ["low_risk"]),
        (["accepted", "pending", "rejected"], ["accepted"]),
    ],
)
def test_words_that_say_it(classes, labels):
    found = resolve_favourable(None, classes)
    assert found.labels == labels and found.how == "inferred"
    assert found.sentence == f"{labels[0]} taken as favourable, by its name"


@pytest.mark.parametrize(
    "classes",
    [[0, 1], [-1, 1], ["no", "yes"], ["good", "hired"], ["bad", "fail"], [False, True], [1, 2, 3]],
)
def test_what_no_word_says_is_a_guess(classes):
    found = resolve_favourable(None, np.array(classes))
    assert found.labels == classes[-1:] and found.how == "guessed"
    assert f"{classes[-1]} taken as favourable, which is a guess" in found.sentence


@pytest.mark.parametrize(
    "given, classes",
    [("0", [0, 1]), (0, ["0", "1"]), (0.5, [0, 1]), ([0, 2], [0, 1]), ("Yes", ["no", "yes"]),
     (None, ["a"]), ([0, 1], [0, 1]), ([], [0, 1]), (np.nan, [0, 1])],
)  # fmt: skip
def test_labels_that_no_class_has(given, classes):
    with pytest.raises(ValueError, match="favourable"):
        resolve_favourable(given, np.array(classes))


def test_the_classes_are_listed():
    with pytest.raises(ValueError, match=r"the classes of Tree are \[0, 1\]"):
        resolve_favourable("0", np.array([0, 1]), whose="Tree")


@pytest.mark.parametrize("labels", [[0, 1] * 20, [0.0, 1.0] * 20, [0] * 40])
def test_a_threshold_is_no_label(labels):
    with pytest.raises(ValueError, match=r"favourable=0.5 is a label that never occurs"):
        selection_table(labels, sensitive_features=SEX, favourable=0.5)
    table = pd.DataFrame({"y": labels, "s": SEX})
    with pytest.raises(ValueError, match=r"favourable=0.5 is a label that never occurs"):
        selection_table("y", sensitive_features="s", favourable=0.5, data=[table])


def test_a_label_that_predictions_do_not_show_may_be_the_models():
    table = selection_table([0] * 40, sensitive_features=SEX, favourable=1)
    assert table["selection_rate"].tolist() == [0.0, 0.0]
    assert len(selection_table(["a", "b"] * 20, sensitive_features=SEX, favourable=["a", "c"]))


def auditors():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.integers(0, 2, 200), "b": rng.normal(size=200)})
    y = (X["b"] > 0).astype(int)
    model = LogisticRegression().fit(X, y)
    few = {"sensitive_features": ["a"], "random_state": 0}
    return {
        "table": lambda **f: selection_table(y, sensitive_features=X[["a"]], **f),
        "testsgd": lambda **f: TestSGDAuditor(model, max_queries=500, **few, **f).fit(X),
        "subgroup": lambda **f: SubgroupAuditor(attributes="all", **f).fit(X, y_pred=y),
        "model": lambda **f: SubgroupAuditor(
            model, metric="false_positive_rate", sensitive_features=["a"], **f
        ).fit(X, 1 - y),
    }


@pytest.mark.parametrize("kind", ["table", "testsgd", "subgroup", "model"])
def test_guesses_warn_once_at_the_users_line(kind):
    run = auditors()[kind]
    with pytest.warns(UserWarning, match="^1 taken as favourable, which is a guess") as caught:
        run()
    (warning,) = [w for w in caught if "taken as favourable" in str(w.message)]
    assert warning.filename == __file__
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "1 taken as favourable")
        run(favourable=1)
    with pytest.raises(ValueError, match="never occurs"):
        run(favourable="1")


def test_accuracy_needs_no_favourable_label():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.integers(0, 2, 200)})
    y, wrong = rng.integers(0, 2, 200), rng.random(200) < 0.2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = SubgroupAuditor(metric="accuracy", attributes="all").fit(
            X, y, y_pred=np.where(wrong, 1 - y, y)
        )
    assert found.favourable_ is None and found.overall_ == pytest.approx(1 - wrong.mean())


@pytest.mark.parametrize("only", [0, 3, "yes"])
def test_a_model_of_one_class_gives_it_to_everybody(only):
    assert favourable_places(None, np.array([only]), None) == [0]
