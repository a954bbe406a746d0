"""Displays: they store data, draw it on any axes, and give it back; tests look at no pixel."""

from __future__ import annotations

import importlib
import importlib.resources as resources
import inspect
import pickle
import re
import sys
import warnings
from dataclasses import fields, replace
from types import SimpleNamespace

import alternatives_samples
import numpy as np
import pandas as pd
import planted_groups
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib import pyplot as plt
from matplotlib.text import Text
from pandas.testing import assert_frame_equal
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.tree import DecisionTreeClassifier
from tiers import SAMPLE, slow_sample

from skfairtest import (
    AequitasAuditor,
    AlternativesSearchCV,
    CertifiedAuditor,
    FairnessRetrainer,
    FlipTestAuditor,
    InputSpace,
    RandomAuditor,
    SubgroupAuditor,
    TestSGDAuditor,
    certify,
    compare_mitigations,
    constrained_refit,
    inspection,
    make_audit_scorer,
    selection_table,
)
from skfairtest.finding import _card
from skfairtest.finding._pair import Cell, Pair
from skfairtest.group._results import TableResults
from skfairtest.inspection import (
    BoundsDisplay,
    DisparityCurveDisplay,
    FlipTestDisplay,
    GroupScoresDisplay,
    HistoryDisplay,
    MitigationDisplay,
    PairDisplay,
    ParetoDisplay,
    SelectionDisplay,
    _style,
)
from skfairtest.oracle._compare import disparity_curve
from skfairtest.report.render import plots

pytestmark = [
    pytest.mark.filterwarnings("ignore::skfairtest.exceptions.NoDisparityWarning"),
    pytest.mark.filterwarnings("ignore::skfairtest.exceptions.MitigationWarning"),
    # Where no font has a letter, matplotlib draws a box and says so.
    pytest.mark.filterwarnings("ignore:Glyph"),
]


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "sex": np.arange(400) % 2,
            "age": rng.integers(20, 60, 400),
            "grade": rng.integers(0, 4, 400),
        }
    )
    return X, (X["age"] / 10 + 2 * X["sex"] + X["grade"] > 7).astype(int)


@pytest.fixture(scope="module")
def fitted(people):
    """Auditors, a search and a retrainer that have been fitted."""
    X, y = people
    model = LogisticRegression().fit(X, y)
    common = {"sensitive_features": "sex", "random_state": 0}
    auditor = RandomAuditor(model, max_queries=600, threshold=0.1, **common).fit(X)
    ridge = Ridge().fit(X, X["age"] + 3.0 * X["sex"])
    certified = CertifiedAuditor(ridge, max_queries=600, **common).fit(X)
    groups = TestSGDAuditor(
        model, sensitive_features=["sex", "age"], error_threshold=0.2,
        n_bins=4, random_state=0,
    ).fit(X)  # fmt: skip
    scorer = make_audit_scorer(RandomAuditor(sensitive_features="sex", max_queries=200))
    search = GridSearchCV(
        LogisticRegression(), {"C": [0.01, 1.0]}, cv=2,
        scoring={"accuracy": "accuracy", "degree": scorer},
        refit=constrained_refit("accuracy", 0.9, when_none="least_unfair"),
    ).fit(X, y)  # fmt: skip
    tree = DecisionTreeClassifier(max_depth=4, random_state=0)
    retrainer = FairnessRetrainer(
        tree, AequitasAuditor(sensitive_features="sex", max_queries=500), max_rounds=1, cv=2,
        max_score_drop=1.0, random_state=0,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.MonkeyPatch.context() as patch:  # what takes most of the time
            patch.setattr(FairnessRetrainer, "_n_estimates", 500)
            retrainer.fit(X, y)
            running = importlib.import_module(compare_mitigations.__module__)
            settings = running.SETTINGS._replace(degree_queries=20, n_parts=5)
            patch.setattr(running, "SETTINGS", settings)
            comparison = compare_mitigations(
                tree, X[:200], y[:200], sensitive_features="sex", methods=["drop"], cv=2,
                random_state=0, progress=False,
            )  # fmt: skip
    aged = X.assign(age=X["age"] + 8 * X["sex"])
    flips = FlipTestAuditor(
        model, n_bootstrap=2, attribution="order", classifier=clone(tree), random_state=0
    ).fit(aged, sensitive_features=X["sex"].map({0: "f", 1: "m"}).rename("gender"))
    return SimpleNamespace(
        flips=flips,
        X=X, y=y, model=model, auditor=auditor, certified=certified, groups=groups, search=search,
        retrainer=retrainer, comparison=comparison, certificate=certify(auditor, max_time=2),
    )  # fmt: skip


#: One way to make each display, and some have several.
MAKERS = {
    "pair": lambda f: PairDisplay.from_auditor(f.auditor),
    "kept pair": lambda f: PairDisplay.from_auditor(f.auditor, place=3),
    "no pair": lambda f: PairDisplay(None, "nothing was found"),
    "bounds": lambda f: BoundsDisplay.from_auditor({"a": f.auditor, "b": f.certified}),
    "certificate": lambda f: BoundsDisplay.from_certificate(f.certificate),
    "curve": lambda f: DisparityCurveDisplay.from_auditor(f.auditor),
    "curves": lambda f: DisparityCurveDisplay.from_estimator(
        {"one": f.model, "other": DummyClassifier().fit(f.X, f.y)}, f.X, sensitive_features="sex"
    ),
    "history": lambda f: HistoryDisplay.from_auditors({"a": f.auditor, "b": f.certified}),
    "groups": lambda f: GroupScoresDisplay.from_auditor(f.groups),
    "selection": lambda f: SelectionDisplay.from_predictions(
        f.model.predict(f.X), sensitive_features=f.X[["sex"]].astype(str), y_true=f.y
    ),
    "flips": lambda f: FlipTestDisplay.from_auditor(f.flips),
    "search": lambda f: ParetoDisplay.from_cv_results(f.search),
    "retrainer": lambda f: MitigationDisplay.from_retrainer(f.retrainer),
    "comparison": lambda f: MitigationDisplay.from_comparison(f.comparison),
}


# All displays ------------------------------------------------------------------------------------


COLOR = "#abcdef"
PARTS = ("text.color", "axes.labelcolor", "xtick.color", "ytick.color", "axes.edgecolor")


#: Other ways to make a display that is made already.
AGAIN = {"kept pair", "certificate", "curves", "retrainer"}


@pytest.fixture(
    scope="module",
    params=[pytest.param(name, marks=SAMPLE if name in AGAIN else []) for name in MAKERS],
)
def case(request, fitted):
    """A display as it was made, the same one drawn on axes of its own, and its data before that."""
    made, drawn = MAKERS[request.param](fitted), MAKERS[request.param](fitted)
    frame = drawn.frame()
    with plt.rc_context(dict.fromkeys(PARTS, COLOR)):
        assert drawn.plot() is drawn
    return SimpleNamespace(made=made, drawn=drawn, frame=frame)


@slow_sample
def test_every_display_is_tested_here_and_public(fitted):
    made = {type(make(fitted)).__name__ for make in MAKERS.values()}
    assert made == set(inspection.__all__)


def test_constructors_store_data_and_nothing_else(case):
    names = list(inspect.signature(type(case.made)).parameters)
    assert list(vars(case.made)) == names
    marks = {name: object() for name in names}
    stored = vars(type(case.made)(**marks))
    assert all(stored[name] is mark for name, mark in marks.items())


def test_plot_draws_on_given_axes_and_asks_the_model_nothing(case, monkeypatch):
    for name in ("predict", "predict_proba", "decision_function"):
        monkeypatch.setattr(LogisticRegression, name, None)
        monkeypatch.setattr(DecisionTreeClassifier, name, None, raising=False)
    display, first = case.drawn, case.drawn.ax_
    assert display.figure_ is first.figure
    figure, (left, right) = plt.subplots(1, 2, figsize=(12, 5))
    assert display.plot(ax=right) is display
    assert display.ax_ is right and display.figure_ is figure
    assert left.get_children() and not left.lines and not left.child_axes
    figure.draw_without_rendering()
    display.ax_, display.figure_ = first, first.figure


def test_no_title_and_colours_of_the_style(case):
    for ax in (case.drawn.ax_, *case.drawn.ax_.child_axes):
        assert not any(ax.get_title(loc=loc) for loc in ("left", "center", "right"))
    assert case.drawn.figure_.get_suptitle() == ""
    texts = [text for text in case.drawn.figure_.findobj(Text) if text.get_text()]
    assert texts and {text.get_color() for text in texts} == {COLOR}


def everything(display):
    """Axes that are seen, with the legend, and boxes of the other texts on and around them."""
    display.figure_.draw_without_rendering()
    for ax in (display.ax_, *display.ax_.child_axes):
        low, high = sorted(ax.get_xlim())
        shown = [
            label
            for place, label in zip(ax.get_xticks(), ax.get_xticklabels(), strict=True)
            if low <= place <= high
        ]
        texts = [*ax.texts, ax.xaxis.label, ax.yaxis.label, *(shown if ax.axison else ())]
        boxes = {text.get_text(): text.get_window_extent() for text in texts if text.get_text()}
        yield ax, ax.get_legend(), boxes


@pytest.mark.parametrize("size", [None, (6.2, 4.0)])  # its own, and one of a page
def test_legends_stand_where_nothing_else_is_and_nothing_is_cut(case, size):
    display = case.drawn
    if size is not None:
        display = type(case.made)(**vars(case.made))
        display.plot(ax=plt.subplots(figsize=size, layout="constrained")[1])
    check_places(display)


@pytest.mark.parametrize(
    "name, kind", [("flips", "columns"), ("bounds", "time"), ("certificate", "time")]
)
def test_legends_of_other_kinds_stand_where_nothing_else_is(fitted, name, kind):
    display = MAKERS[name](fitted)
    if kind == "columns":  # names that leave little room for the axes
        display.columns = display.columns.assign(column=lambda t: t["column"] + 40 * "x")
    check_places(display.plot(plt.subplots(figsize=(6.2, 4.0), layout="constrained")[1], kind=kind))


def test_a_legend_of_groups_stands_beside_the_head_of_their_figures():
    display = GroupScoresDisplay(rules(4).assign(low=0.0), 0.95, "none", "selection rate")
    check_places(display.plot(plt.subplots(figsize=(6.2, 4.0), layout="constrained")[1]))


def check_places(display):
    """Texts and legends lie within the figure, and no legend over anything else."""
    whole = display.figure_.bbox.padded(1)
    parts = list(everything(display))
    for legend in (legend for _, legend, _ in parts if legend is not None):
        box = legend.get_window_extent()
        assert whole.x0 <= box.x0 and box.x1 <= whole.x1 and box.y1 <= whole.y1
        for ax, _, boxes in parts:
            assert [text for text, other in boxes.items() if other.overlaps(box)] == []
            inside = ax.get_window_extent()
            assert not ax.axison or not inside.overlaps(box.translated(0, 2)), ax
    for _, _, boxes in parts:
        for text, box in boxes.items():
            assert whole.x0 <= box.x0 and box.x1 <= whole.x1, text
            assert whole.y0 <= box.y0 and box.y1 <= whole.y1, text


@slow_sample
@pytest.mark.parametrize(
    "name, n_names, wide",
    [("a", 5, True), ("a name of many letters, as long as it may be", 5, False)],
)
def test_a_legend_has_as_many_columns_as_there_is_room_for(name, n_names, wide):
    names = [f"{name} {place}" for place in range(n_names)]
    curves = pd.DataFrame({"name": names, "difference": 0.0, "share": 0.5})
    display = DisparityCurveDisplay(curves).plot()
    display.figure_.draw_without_rendering()
    legend = display.ax_.get_legend()
    assert len({text.get_window_extent().x0 for text in legend.get_texts()}) == (4 if wide else 1)
    assert legend.get_window_extent().x1 <= display.figure_.bbox.x1


@slow_sample
def test_axes_of_shares_end_at_0_and_1(fitted):
    curve = DisparityCurveDisplay.from_auditor(fitted.auditor).plot()
    assert curve.ax_.get_ylim() == (0, 1) and curve.ax_.get_xlim()[1] <= 1
    assert FlipTestDisplay.from_auditor(fitted.flips).plot().ax_.get_xlim() == (0, 1)
    assert MAKERS["selection"](fitted).plot().ax_.get_xlim() == (0, 1)
    dumbbell = PairDisplay.from_auditor(fitted.auditor).plot().dumbbell_
    assert dumbbell.spines["bottom"].get_bounds() == (0, 1)
    assert 0 <= min(dumbbell.get_xticks()) and max(dumbbell.get_xticks()) <= 1
    comparison = MitigationDisplay.from_comparison(fitted.comparison).plot()
    for place in ("rows", "near", "rate"):
        first, last = comparison.panels_[place].spines["bottom"].get_bounds()
        assert first == 0 and last <= 1


def test_differences_of_shares_are_drawn_as_far_as_they_go():
    table = rules(3).assign(score=0.3, low=0.1, high=1.2, value_inside=0.5, value_outside=0.2)
    first, last = GroupScoresDisplay(table, 0.95, "none", "selection rate").plot().ax_.get_xlim()
    assert first == 0 and last == 1  # no difference of shares is above 1
    table["high"] = 0.5
    first, last = GroupScoresDisplay(table, 0.95, "none", "selection rate").plot().ax_.get_xlim()
    assert first == 0 and 0.5 < last < 0.6


def test_a_threshold_that_passes_1_is_drawn_below_it():
    pair = Pair((Cell("a", 0, 1, True),), "probability of yes", (0.95, 0.9), None, 0.05, 0.3)
    assert PairDisplay(pair).plot().threshold_.get_xdata() == pytest.approx([0.7, 1.0])


@pytest.mark.parametrize(
    "values, zero, limits",
    [
        ((0.2, 1.0), True, (0, 1)),
        ((-1.0, 0.5), True, (-1, 0.59)),
        ((0.01, 0.99), False, (0, 1)),
        ((0.0, 1.5), True, (0, 1.59)),
        ((-0.5, 0.0), True, (-0.53, 0.03)),
        ((20.0, 70.0), False, (17, 73)),
    ],
)
def test_margins_pass_neither_0_nor_1(values, zero, limits):
    assert _style.span(values, zero=zero) == pytest.approx(limits)


def test_frame_is_a_copy_and_plotting_leaves_it_alone(case):
    assert isinstance(case.frame, pd.DataFrame)
    assert_frame_equal(case.drawn.frame(), case.frame)
    changed = case.drawn.frame()
    if len(changed):
        changed.iloc[0] = changed.iloc[-1]
    assert_frame_equal(case.drawn.frame(), case.frame)


def test_pickles_before_and_after_plot(case):
    for display in (case.made, case.drawn):
        back = pickle.loads(pickle.dumps(display))
        assert_frame_equal(back.frame(), case.frame)
        assert list(vars(back)) == list(vars(display))


def test_without_matplotlib_the_error_names_the_extra(case, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    name = type(case.made).__name__
    with pytest.raises(ImportError, match=rf"{name}\.plot needs.*skfairtest\[plot\].*frame\(\)"):
        case.made.plot()
    assert isinstance(case.made.frame(), pd.DataFrame)


@pytest.mark.parametrize(
    "make",
    [
        PairDisplay.from_auditor, BoundsDisplay.from_auditor, DisparityCurveDisplay.from_auditor,
        HistoryDisplay.from_auditors,
    ],
)  # fmt: skip
def test_auditors_that_are_not_fitted_or_of_another_kind(make, fitted):
    with pytest.raises(NotFittedError):
        make(RandomAuditor(fitted.model))
    with pytest.raises(TypeError, match="auditor of twins.*got TestSGDAuditor"):
        make(fitted.groups)


def test_others_that_are_not_fitted_or_of_another_kind(fitted):
    with pytest.raises(NotFittedError):
        GroupScoresDisplay.from_auditor(TestSGDAuditor(fitted.model))
    with pytest.raises(TypeError, match="auditor of groups.*got RandomAuditor"):
        GroupScoresDisplay.from_auditor(fitted.auditor)
    with pytest.raises(NotFittedError):
        FlipTestDisplay.from_auditor(FlipTestAuditor(fitted.model))
    with pytest.raises(TypeError, match="FlipTestAuditor; got RandomAuditor"):
        FlipTestDisplay.from_auditor(fitted.auditor)
    with pytest.raises(NotFittedError):
        MitigationDisplay.from_retrainer(FairnessRetrainer(fitted.model))
    with pytest.raises(TypeError, match="FairnessRetrainer; got RandomAuditor"):
        MitigationDisplay.from_retrainer(fitted.auditor)
    with pytest.raises(NotFittedError):
        ParetoDisplay.from_cv_results(GridSearchCV(fitted.model, {"C": [1]}))
    with pytest.raises(NotFittedError):
        DisparityCurveDisplay.from_estimator(Ridge(), fitted.X, sensitive_features="sex")


# Pairs -------------------------------------------------------------------------------------------


def written(display):
    return [text.get_text() for text in display.texts_]


def test_pair_shows_changed_cells_first_and_by_more_than_colour(fitted):
    display = PairDisplay.from_auditor(fitted.auditor).plot()
    assert display.frame()["name"].tolist() == ["sex", "age", "grade"]
    assert display.frame()["changed"].tolist() == [True, False, False]
    words = written(display)
    assert words[:4] == [*words[:2], "column", "≠"]
    assert words[4] == "sex" and words.count("≠") == 1 and words.count("same") == 2
    bold = {t.get_text() for t in display.texts_ if t.get_fontweight() == "bold"}
    assert {"≠", "sex"} <= bold and "age" not in bold
    assert len(display.ax_.patches) == 1  # the band behind the changed cell
    high, low = fitted.auditor.worst_case_outputs_
    assert [p.get_xdata()[0] for p in display.points_] == [high, low]
    assert display.points_[0].get_marker() != display.points_[1].get_marker()
    assert display.threshold_.get_xdata() == pytest.approx([low, low + 0.1])
    assert display.dumbbell_.get_xlabel() == "probability of 1"


def test_pair_of_a_find_costs_two_queries(fitted, models):
    # A known model that counts.
    model = models.Proba(lambda X: 0.5 + 0.1 * (np.asarray(X)[:, 0] - 0.5))
    X = np.array([[0, 1], [1, 5], [0, 3]])
    auditor = RandomAuditor(model, sensitive_features=[0], threshold=0.05, random_state=0).fit(X)
    model.rows = 0
    PairDisplay.from_auditor(auditor)
    assert model.rows == 0
    display = PairDisplay.from_auditor(auditor, place=1)
    assert model.rows == 2
    assert display.pair.difference == pytest.approx(auditor.disparities_[1])
    assert display.pair.outputs == pytest.approx((0.55, 0.45))
    assert [cell.name for cell in display.pair.cells if cell.changed] == [0]
    # With `plausible` the plausible twin is kept first, in a pair the larger output.
    auditor._state["pairs"] = auditor._state["pairs"][:, ::-1]
    assert PairDisplay.from_auditor(auditor, place=1).pair == display.pair


@pytest.mark.parametrize("place", [-1, 10**6, 0.5, True, "first"])
def test_pair_has_to_be_there(fitted, place):
    with pytest.raises(ValueError, match="place must be None.*from 0 to"):
        PairDisplay.from_auditor(fitted.auditor, place=place)


def test_pair_of_labels(models):
    model = models.LabelsOnly(lambda X: np.where(np.asarray(X)[:, 0] > 0, "yes", "no"))
    X = np.array([[0, 1], [1, 5], [0, 3]])
    auditor = RandomAuditor(model, sensitive_features=[0], random_state=0).fit(X)
    model.rows = 0
    display = PairDisplay.from_auditor(auditor)
    assert model.rows == 2
    assert set(display.pair.labels) == {"yes", "no"} and display.pair.outputs is None
    assert display.plot().dumbbell_ is None
    assert {"yes", "no"} <= set(written(display))


@slow_sample
def test_without_a_pair_the_picture_says_so(models):
    model = models.Regressor(lambda X: np.zeros(len(X)))
    X = np.array([[0, 1], [1, 5], [0, 3]])
    auditor = RandomAuditor(model, sensitive_features=[0], random_state=0).fit(X)
    display = PairDisplay.from_auditor(auditor).plot()
    assert f"found in {auditor.n_inputs_} inputs" in " ".join(written(display))
    assert (
        list(display.frame().columns) == [field.name for field in fields(Cell)]
        and display.frame().empty
    )
    with pytest.raises(ValueError, match="of which there are none"):
        PairDisplay.from_auditor(auditor, place=0)
    # What has no pair has bounds and a history all the same.
    assert BoundsDisplay.from_auditor(auditor).plot().bars_[0].get_width() == 0
    HistoryDisplay.from_auditors(auditor).plot()
    assert DisparityCurveDisplay.from_auditor(auditor).plot().frame()["share"].tolist() == [0.0]


def wide_pair(n, n_changed=1, matters=None):
    cells = [Cell(f"c{j}", j, j + (j < n_changed), j < n_changed) for j in range(n)]
    pair = Pair(tuple(cells), "score", (2.0, -1.0), None, 3.0, None)
    return pair if matters is None else pair.with_matters(matters)


def test_pair_of_many_columns_shows_those_that_matter():
    matters = np.zeros(500)
    matters[[100, 499]] = 1.0, 2.0
    display = PairDisplay(wide_pair(500, matters=matters)).plot(most=15)
    words = written(display)
    assert sum(word.startswith("c") and word[1:].isdigit() for word in words) == 16
    assert words.index("c499") < words.index("c100") < words.index("c1")
    assert words[-1] == "484 of 500 columns left out; the twins are alike in 499"
    assert len(display.frame()) == 500
    many = written(PairDisplay(wide_pair(300, n_changed=200)).plot(most=2))
    assert many.count("≠") == 30
    assert many[-1] == "268 of 300 columns left out; the twins are alike in 100"


def test_letters_of_a_card_shrink_with_the_axes():
    pair = PairDisplay(wide_pair(20))
    usual = pair.plot().texts_[0].get_fontsize()
    _, axes = plt.subplots(3, 3, figsize=(6, 6))
    assert pair.plot(ax=axes[0, 0]).texts_[0].get_fontsize() < 0.7 * usual
    for size in ((12, 1.5), (1.5, 12)):
        assert pair.plot(ax=plt.subplots(figsize=size)[1]).texts_[0].get_fontsize() < 0.7 * usual


# A drawing takes as long as a hundred examples of other tests.
@slow_sample
@settings(max_examples=max(4, settings.default.max_examples // 3))
@given(
    st.lists(st.text(max_size=60), min_size=1, max_size=4, unique=True),
    st.floats(-1e300, 1e300), st.floats(0, 1e300), st.none() | st.floats(0, 1e6),
)  # fmt: skip
def test_any_pair_can_be_drawn(names, low, difference, threshold):
    cells = tuple(Cell(name, name, None, True) for name in names)
    high = low + difference
    pair = Pair(cells, f"score of {names[0]}", (high, low), None, high - low, threshold)
    display = PairDisplay(pair).plot()
    assert not any(text.get_parse_math() for text in display.texts_)
    display.figure_.draw_without_rendering()
    plt.close(display.figure_)


# Brackets, curves, courses -----------------------------------------------------------------------


def test_bracket_of_auditors(fitted):
    display = BoundsDisplay.from_auditor({"searched": fitted.auditor, "closed": fitted.certified})
    table = display.frame().set_index("name")
    assert table.loc["searched", "found"] == fitted.auditor.fairness_degree_
    assert np.isnan(table.loc["searched", "upper"]) and not table.loc["searched", "certified"]
    assert table.loc["closed", "upper"] == fitted.certified.fairness_degree_upper_bound_
    assert table.loc["closed", "certified"]
    assert table.loc["searched", "rows"] == fitted.auditor.on_data_degree_
    display.plot()
    assert [bar.get_width() for bar in display.bars_] == table["found"].tolist()
    assert display.open_ == []
    display.plot(kind="time")
    course = display.lines_[0].get_xydata()
    assert course[0].tolist() == [0, 0]
    assert course[-1, 1] == fitted.auditor.fairness_degree_
    assert (np.diff(course, axis=0) >= 0).all()
    # Only one of them certifies: its bound falls until what was found attains it.
    (bound,) = (line.get_xydata() for line in display.bounds_)
    assert (np.diff(bound[:, 0]) >= 0).all() and (np.diff(bound[:, 1]) <= 0).all()
    assert bound[-1, 1] == fitted.certified.fairness_degree_upper_bound_


def test_ends_of_a_bracket_that_people_write_alike_are_one_figure():
    row = {"name": "a", "found": 0.281444, "upper": 0.281445, "rows": 0.2, "certified": False}
    display = BoundsDisplay(pd.DataFrame([row | {"lower": 0.281444}])).plot()
    assert [text.get_text() for text in display.ax_.texts] == ["at most 0.28"]


def test_bracket_that_is_open():
    row = {"name": "a", "found": 0.4, "lower": 0.5, "upper": 0.8, "rows": 0.9, "certified": False}
    display = BoundsDisplay(pd.DataFrame([row])).plot()
    (bar,) = display.open_
    assert (bar.get_x(), bar.get_width()) == pytest.approx((0.5, 0.3))
    assert bar.get_hatch() and display.bars_[0].get_width() == 0.4
    assert "0.50 to 0.80" in [text.get_text() for text in display.ax_.texts]
    names = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert "found while certifying" in names and "not ruled out" in names
    with pytest.raises(ValueError, match="kind='time' needs"):
        display.plot(kind="time")
    with pytest.raises(ValueError, match="kind must be one of"):
        display.plot(kind="pie")
    with pytest.raises(TypeError, match="what certify"):
        BoundsDisplay.from_certificate(3)
    history = pd.DataFrame(
        {"name": "a", "seconds": [0.0, 1.0], "degree": [0.0, 0.5], "bound": [np.nan, 0.8]}
    )
    assert len(BoundsDisplay(pd.DataFrame([row]), history).plot(kind="time").open_) == 1
    display = BoundsDisplay(pd.DataFrame([row]), history.drop(columns="bound")).plot(kind="time")
    assert display.open_ == display.bounds_ == []


def test_bracket_of_what_was_found_alone():
    row = {"name": "a", "found": 0.4, "lower": np.nan, "upper": np.nan, "rows": np.nan}
    display = BoundsDisplay(pd.DataFrame([row]).assign(certified=False)).plot()
    assert [text.get_text() for text in display.ax_.texts] == ["→ 0.40 found, no bound"]
    assert len(display.ax_.lines) == 0 and display.open_ == []
    assert max(display.ax_.get_xticks()) <= 0.43  # the room for words is no part of the axis


def test_rows_of_the_data_may_be_left_out(models):
    model = models.Regressor(lambda X: np.asarray(X)[:, 0] * 1.0)
    X = np.array([[0, 1], [1, 5], [0, 3]])
    auditor = RandomAuditor(model, sensitive_features=[0], random_state=0).fit(X)
    model.rows = 0
    assert np.isnan(BoundsDisplay.from_auditor(auditor, rows=False).frame().loc[0, "rows"])
    assert model.rows == 0
    assert BoundsDisplay.from_auditor(auditor).frame().loc[0, "rows"] == 1.0


@slow_sample
@given(
    st.lists(st.floats(0, 100) | st.sampled_from([0.0, 0.5]), min_size=1, max_size=60),
    st.integers(4, 100),
)
def test_curve_is_the_share_of_rows_above(disparities, most):
    curve = disparity_curve(np.array(disparities), "a", most)
    assert curve["difference"].iloc[0] == 0 and curve["share"].iloc[-1] == 0
    assert curve["difference"].is_monotonic_increasing and curve["difference"].is_unique
    assert len(curve) <= max(most + 2, 4)
    for t, share in zip(curve["difference"], curve["share"], strict=True):
        assert share == np.mean(np.array(disparities) > t)


def test_curves_of_rows(fitted):
    rows = fitted.X.iloc[:50]
    display = DisparityCurveDisplay.from_auditor({"some": fitted.auditor, "all": fitted.auditor})
    assert display.threshold == 0.1 and display.output == "probability"
    some = DisparityCurveDisplay.from_auditor(fitted.auditor, rows).frame()
    audited = fitted.auditor.audit_rows(rows).disparities
    assert some["difference"].iloc[1:].tolist() == np.unique(audited).tolist()
    display.plot()
    for name, line in zip(("some", "all"), display.lines_, strict=True):
        curve = display.frame()
        curve = curve[curve["name"] == name]
        np.testing.assert_array_equal(line.get_xydata()[:-1], curve[["difference", "share"]])
        assert line.get_drawstyle() == "steps-post"
    assert len({(line.get_linestyle(), line.get_marker()) for line in display.lines_}) == 2
    again = DisparityCurveDisplay.from_estimator(
        fitted.model, fitted.X, sensitive_features="sex", threshold=0.1
    )
    assert again.output == "probability" and len(again.frame()["name"].unique()) == 1
    np.testing.assert_array_equal(
        again.frame()["share"], display.frame().query("name == 'all'")["share"]
    )


def test_many_points_are_held_as_pixels():
    curves = pd.DataFrame({"name": "a", "difference": np.arange(3000.0), "share": 0.5})
    assert DisparityCurveDisplay(curves).plot().lines_[0].get_rasterized()
    assert not DisparityCurveDisplay(curves[:100]).plot().lines_[0].get_rasterized()
    n = 3000
    table = pd.DataFrame({"candidate": range(n), "x": 0.1, "y": 0.5})
    table[["on_front", "is_refit"]] = False
    assert ParetoDisplay(table).plot().points_.get_rasterized()


def test_history_of_auditors(fitted):
    display = HistoryDisplay.from_auditors({"a": fitted.auditor, "b": fitted.certified})
    table = display.frame()
    assert list(table.columns) == ["name", "queries", "seconds", "found", "degree"]
    assert (table.groupby("name").first() == 0).all(axis=None)
    last = table.groupby("name").last()
    assert last.loc["a", "queries"] == fitted.auditor.n_queries_
    assert last.loc["b", "degree"] == fitted.certified.fairness_degree_
    display.plot(x="seconds", y="found")
    course = table.query("name == 'a'")
    np.testing.assert_array_equal(display.lines_[0].get_xydata(), course[["seconds", "found"]])
    assert display.ax_.get_xlabel() == "seconds"
    with pytest.raises(ValueError, match="x must be one of"):
        display.plot(x="found")
    with pytest.raises(ValueError, match="y must be one of"):
        display.plot(y="seconds")
    with pytest.raises(ValueError, match="empty"):
        HistoryDisplay.from_auditors({})


def test_interrupted_audits_show_what_was_found(models):
    def function(X):
        if model.calls > 2:
            raise KeyboardInterrupt
        return np.asarray(X)[:, 0] * 2.0

    model = models.Regressor(function)
    X = np.column_stack([np.arange(60) % 2, np.random.default_rng(0).normal(size=60)])
    auditor = RandomAuditor(model, sensitive_features=[0], max_queries=None, max_time=60.0)
    with pytest.raises(KeyboardInterrupt):
        auditor.fit(X)
    model.calls = -9
    assert PairDisplay.from_auditor(auditor).plot().pair.outputs == (2.0, 0.0)
    assert BoundsDisplay.from_auditor(auditor).plot(kind="time").frame().loc[0, "found"] == 2.0
    assert HistoryDisplay.from_auditors(auditor).plot().frame()["degree"].max() == 2.0


# Groups ------------------------------------------------------------------------------------------


def rules(n):
    score = np.linspace(0.9, 0, n)
    return pd.DataFrame(
        {
            "rule": [f"age in [{j}, {j + 9}) and race = ${j}$" for j in range(n)], "score": score,
            "low": np.maximum(0, score - 0.2), "high": 1.0, "n_inside": 10, "value_inside": 0.1,
            "value_outside": 0.9,
        }
    )  # fmt: skip


def test_groups_of_an_auditor(fitted):
    display = GroupScoresDisplay.from_auditor(fitted.groups).plot()
    kept = fitted.groups.short_list_
    sign = np.sign(kept["value_inside"] - kept["value_outside"])
    assert [p.get_xdata()[0] for p in display.points_] == (sign * kept["score"]).tolist()
    ends = [segment[:, 0].tolist() for segment in display.intervals_.get_segments()]
    assert ends == (kept[["low", "high"]].mul(sign, axis=0)).to_numpy().tolist()
    label = display.ax_.get_xlabel()
    assert label.startswith("difference in the share predicted 1,\ninside minus outside")
    assert "95% intervals, all of which hold at once" in label
    n = fitted.groups.n_groups_
    assert len(kept) < n and f"drawn: {len(kept)} of {n:,} groups" in label
    # Made up near the rows, and not counted as if they were people.
    assert any("(perturbed inputs)" in text.get_text() for text in display.ax_.texts)


def test_a_group_and_everybody_else_are_one_difference():
    table = rules(3).assign(
        value_inside=[0.1, 0.9, 0.1], value_outside=[0.9, 0.1, 0.9], n_inside=[10, 30, 20],
        n_outside=[30, 10, 20],
    )  # fmt: skip
    display = GroupScoresDisplay(table, measure="share predicted yes").plot()
    assert [label.get_text() for label in display.ax_.get_yticklabels()] == table["rule"][
        [0, 2]
    ].tolist()
    assert len(display.frame()) == 3
    assert all(point.get_xdata()[0] <= 0 for point in display.points_)  # less inside
    # Of tables that do not count the others, the two means decide.
    assert len(GroupScoresDisplay(table.drop(columns="n_outside")).plot().points_) == 2
    equal = table.assign(value_inside=0.5, value_outside=0.5)
    assert len(GroupScoresDisplay(equal).plot().points_) == 3


def test_nothing_stands_on_the_heads_of_columns():
    display = GroupScoresDisplay(rules(5))
    display.plot(ax=plt.subplots(figsize=(6.2, 3.5), layout="constrained")[1])
    display.figure_.draw_without_rendering()
    (head,) = [text for text in display.ax_.texts if "inside | outside" in text.get_text()]
    box, legend = head.get_window_extent(), display.ax_.get_legend().get_window_extent()
    assert not box.overlaps(legend)


def test_groups_of_any_outcome_are_those_of_the_short_list():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({name: rng.choice(list("xyz"), 3000) for name in "abc"})
    y = rng.integers(0, 2, 3000)
    wrong = rng.random(3000) < np.where((X["a"] == "x") & (X["b"] == "y"), 0.5, 0.1)
    auditor = SubgroupAuditor(metric="accuracy", attributes="all")
    auditor.fit(X, y, y_pred=np.where(wrong, 1 - y, y))
    display = GroupScoresDisplay.from_auditor(auditor).plot()
    assert display.frame()["rule"].tolist() == auditor.short_list_["rule"].tolist()
    assert display.ax_.get_xlabel().startswith("difference in the accuracy,")
    assert (display.frame()["low"] > 0).all() and display.frame()["differs"].all()
    filled = {point.get_markerfacecolor() for point in display.points_}
    assert filled == {display.points_[0].get_color()}
    begins = [segment[0, 0] for segment in display.intervals_.get_segments()]
    assert begins == (-display.frame()["low"]).tolist()  # the accuracy is lower inside
    every = GroupScoresDisplay.from_auditor(auditor, short_list=False).plot(most=200)
    assert every.frame()["rule"].tolist() == auditor.rules_["rule"].tolist()
    hollow = [p.get_markerfacecolor() != p.get_color() for p in every.points_]
    assert hollow == (~auditor.rules_["differs"]).tolist() and any(hollow)
    # Nothing differs: the worst rules, unless the list is asked for.
    auditor.fit(X, y, y_pred=np.where(rng.random(3000) < 0.1, 1 - y, y))
    assert len(GroupScoresDisplay.from_auditor(auditor).frame()) == len(auditor.rules_)
    assert GroupScoresDisplay.from_auditor(auditor, short_list=True).plot().points_ == []


def test_groups_that_differ_by_an_unknown_amount_are_drawn_as_differing():
    """The interval begins at 0 where only a test of steps shows a difference."""
    auditor = planted_groups.fit(error_threshold=0.1)
    auditor._state["low"][auditor._state["differs"]] = 0
    display = GroupScoresDisplay.from_auditor(auditor).plot()
    shown = display.frame().iloc[: len(display.points_)]
    first = display.points_[0]
    assert shown["differs"].iloc[0] and shown["low"].iloc[0] == 0
    assert first.get_markerfacecolor() == first.get_color()
    assert abs(display.intervals_.get_segments()[0][0, 0]) == shown["score"].iloc[0]
    texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert any("not known by how much" in text for text in texts)


def test_a_short_list_needs_an_auditor_that_has_one(fitted, monkeypatch):
    monkeypatch.delattr(TableResults, "short_list_")
    with pytest.raises(ValueError, match="short_list=True needs an auditor with short_list_"):
        GroupScoresDisplay.from_auditor(fitted.groups, short_list=True)


def test_very_many_rules():
    display = GroupScoresDisplay(rules(20_000)).plot()
    assert len(display.points_) == 20 and len(display.frame()) == 20_000
    assert "drawn: 20 of 20,000 groups" in display.ax_.get_xlabel()
    last = GroupScoresDisplay(rules(20_000).iloc[-2:]).plot().points_
    assert {point.get_markerfacecolor() for point in last} == {plt.rcParams["axes.facecolor"]}
    assert GroupScoresDisplay(rules(3).iloc[:0]).plot().points_ == []


def test_flips_are_drawn_by_direction(fitted):
    display = FlipTestDisplay.from_auditor(fitted.flips).plot()
    table = fitted.flips.flips_
    shown = table[table["direction"] != "any"]
    assert [point.get_xdata()[0] for point in display.points_] == shown["share"].tolist()
    names = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert names[0] == "f → m\n0 → 1" and len(names) == len(shown)
    assert "bars: 95% intervals" in display.ax_.get_xlabel()
    few = display.plot(most=1)
    assert len(few.points_) == 1 and f"{len(shown) - 1} of {len(shown)} rows" in (
        few.ax_.get_xlabel()
    )


def test_columns_go_from_their_own_value_to_that_of_moved_twins(fitted):
    display = FlipTestDisplay.from_auditor(fitted.flips).plot(kind="columns")
    # Of the two groups between which most people change.
    group = fitted.flips.flips_.sort_values("share")["group"].iloc[-1]
    columns = display.columns[display.columns["group"] == group]
    age = columns.set_index("column").loc["age"]
    flips = fitted.flips.flipset_
    own = flips[flips["case"]["group"] == group]
    assert age["before"] == pytest.approx(own["row", "age"].mean())
    assert age["after"] == pytest.approx(own["moved twin", "age"].mean())
    names = [label.get_text() for label in display.ax_.get_yticklabels()]
    point = display.points_[names.index("age")]
    way = (age["after"] - age["before"]) / age["spread"]
    assert (way > 0) == (group == "f") and point.get_xdata()[0] == pytest.approx(way)


def test_columns_without_a_mean_say_how_many_move():
    flips = pd.DataFrame(
        {"group": ["a"], "to": ["b"], "direction": ["no -> yes"], "n_rows": [50], "share": [0.2],
         "low": [0.1], "high": [0.3]}
    )  # fmt: skip
    columns = pd.DataFrame(
        {"group": "a", "to": "b", "column": ["job", "age"], "before": [np.nan, 30.0],
         "after": [np.nan, 40.0], "spread": [np.nan, 5.0], "moved": [0.4, 1.0]}
    )  # fmt: skip
    display = FlipTestDisplay(flips, columns).plot(kind="columns")
    told = {text.get_text() for text in display.ax_.texts}
    assert {"40% get another value", "30.0 → 40.0"} <= told
    assert len(display.points_[0].get_xdata()) == 0 and display.points_[1].get_xdata() == [2.0]
    with pytest.raises(ValueError, match="no columns to draw"):
        FlipTestDisplay(flips).plot(kind="columns")
    with pytest.raises(ValueError, match="kind must be one of"):
        display.plot(kind="slopes")


def test_selection_draws_a_measure_with_interval_and_count(fitted):
    predicted = fitted.model.predict(fitted.X)
    groups = fitted.X[["sex", "grade"]].astype(str)
    display = SelectionDisplay.from_predictions(predicted, sensitive_features=groups)
    table = selection_table(predicted, sensitive_features=groups)
    assert_frame_equal(display.frame(), table)
    display.plot()
    values = [point.get_xdata()[0] for point in display.points_]
    assert values == table["selection_rate"].tolist()
    ends = [segment[:, 0].tolist() for segment in display.intervals_.get_segments()]
    np.testing.assert_array_equal(ends, table[["selection_rate_low", "selection_rate_high"]])
    counts = [text.get_text() for text in display.texts_ if text.get_text()]
    assert all(f"{n:,} rows" in text for n, text in zip(table["n"], counts, strict=True))
    assert display.ax_.get_xlabel().startswith("selection rate: share with the")
    assert "95% intervals" in display.ax_.get_xlabel()
    ratios = display.plot(measure="impact_ratio")
    assert [p.get_xdata()[0] for p in ratios.points_] == table["impact_ratio"].tolist()
    # No line at four fifths: the table draws no conclusion, nor does the picture.
    assert not [line for line in ratios.ax_.lines if line not in ratios.points_]
    with pytest.raises(ValueError, match="measure must be.*need y_true="):
        display.plot(measure="false_positive_rate")


def test_selection_of_many_groups_and_of_unknown_ones():
    names = [f"g{j % 70}" for j in range(7000)]
    names[:400] = ["g1"] * 400
    names[-50:] = [None] * 50
    table = selection_table(np.arange(7000) % 2, sensitive_features={"$s$_": names})
    display = SelectionDisplay(table).plot()
    assert len(display.points_) == 50 and len(display.frame()) == 71
    assert "21 of 71 groups are left out" in display.ax_.get_xlabel()
    labels = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert "g1" in labels and "(unknown)" not in labels  # the largest ones are shown
    unknown = display.plot(measure="impact_ratio", most=100)
    place = table.index[table["group"] == "(unknown)"][0]
    assert len(unknown.points_[place].get_xdata()) == 0  # listed, without a ratio
    assert "$s$_" in [label.get_text() for label in unknown.ax_.get_yticklabels()]
    # Groups with a note have a hollow mark and a letter, and the note stands below the axis.
    noted = (table["note"] != "").tolist()
    assert any(noted) and not all(noted)
    paper = plt.rcParams["axes.facecolor"]
    assert [point.get_markerfacecolor() == paper for point in unknown.points_] == noted
    words = [text.get_text() for text in unknown.texts_ if text.get_text()]
    assert [text.endswith(")") for text in words] == noted
    assert f"(a) {table['note'][table['note'] != ''].iloc[0]}"[:60] in unknown.ax_.get_xlabel()


# Searches and mitigation -------------------------------------------------------------------------


def test_pareto_of_a_search_knows_names_limit_and_choice(fitted):
    display = ParetoDisplay.from_cv_results(fitted.search)
    assert (display.x, display.y, display.limit) == ("degree", "accuracy", 0.9)
    table = display.frame()
    assert table["is_refit"].to_numpy().nonzero()[0].tolist() == [fitted.search.best_index_]
    results = fitted.search.cv_results_
    np.testing.assert_array_equal(table["x"], -results["mean_test_degree"])
    np.testing.assert_array_equal(table["y"], results["mean_test_accuracy"])
    scores = np.column_stack([results["mean_test_accuracy"], results["mean_test_degree"]])
    beaten = [((scores >= one).all(axis=1) & (scores > one).any(axis=1)).any() for one in scores]
    front = table.loc[table["on_front"], "candidate"]
    assert front.tolist() == np.flatnonzero(~np.array(beaten)).tolist()
    display.plot()
    assert len(display.points_.get_offsets()) == len(table)
    assert len(display.front_.get_xdata()) == len(front)
    assert display.refit_ is not None and display.limit_.get_xdata()[0] == 0.9


RESULTS = {
    "mean_test_a": [0.9, 0.8, np.nan], "mean_test_b": [-0.5, -0.1, -0.2],
    "mean_test_c": [-1.0, -2.0, -3.0],
}  # fmt: skip


def test_pareto_of_results(fitted):
    display = ParetoDisplay.from_cv_results(RESULTS, x="b", y="a", refit=1).plot()
    assert len(display.points_.get_offsets()) == 2  # the candidate without a score is left out
    assert display.refit_.get_xdata().tolist() == [0.1] and display.limit_ is None
    assert ParetoDisplay.from_cv_results(RESULTS, x="b", y="a").plot().refit_ is None
    rule = constrained_refit("a", 0.3, unfairness="b")
    assert ParetoDisplay.from_cv_results(RESULTS, refit=rule).plot().limit == 0.3
    two = {name: RESULTS[name] for name in ("mean_test_a", "mean_test_b")}
    assert ParetoDisplay.from_cv_results(two).x == "b"
    with pytest.raises(ValueError, match="name of the audit scorer as x="):
        ParetoDisplay.from_cv_results(RESULTS)
    with pytest.raises(ValueError, match="refit must be the position"):
        ParetoDisplay.from_cv_results(RESULTS, x="b", y="a", refit=7)
    with pytest.raises(ValueError, match="at most 0"):
        ParetoDisplay.from_cv_results(RESULTS, x="a", y="b")


def test_alternatives_by_their_changes_against_the_original():
    found = alternatives_samples.found_in(n=8, n_judged=2, margin=0.01)
    display = ParetoDisplay.from_alternatives(found).plot()
    table = display.frame()
    assert table.query("rows == 'judge'")["candidate"].tolist() == ["setting 0", "setting 1"]
    assert table["rows"].value_counts().to_dict() == {"search": 9, "judge": 2}
    assert list(display.judged_) == ["setting 0", "setting 1"]
    # Marks, bars and the square are where the figures are.
    judged = found["setting 0"].judged
    gain, change = judged.gain["impact_ratio"], judged.score_change
    mark, _, bars = display.judged_["setting 0"]
    assert mark.get_xydata()[0].tolist() == [gain.value, change.value]
    ends = [bar.get_segments()[0] for bar in bars]
    np.testing.assert_allclose(ends[0][:, 0], [gain.low, gain.high])
    np.testing.assert_allclose(ends[1][:, 1], [change.low, change.high])
    assert display.refit_.get_xydata()[0].tolist() == [gain.value, change.value]
    assert set(display.limit_.get_ydata()) == {-0.01}
    front = table[table["on_front"]]
    assert len(display.front_.get_xdata()) == len(front) == 2
    assert "gain in impact ratio (larger is better; bars: 95% intervals)" in (
        display.ax_.get_xlabel()
    )


@pytest.mark.parametrize("name", alternatives_samples.ALTERNATIVES)
def test_pictures_of_all_kinds_of_alternatives(name):
    found = alternatives_samples.ALTERNATIVES[name]()
    display = ParetoDisplay.from_alternatives(found).plot()
    display.figure_.draw_without_rendering()
    assert (display.refit_ is not None) == (found.verdict == "found")
    n_drawn = len(display.points_.get_offsets())
    n_compared = (display.frame()["rows"] == "search").sum()
    assert 0 < n_drawn <= n_compared
    assert ("left out" in display.ax_.get_xlabel()) == (n_drawn < n_compared)


def test_far_points_do_not_press_the_others_into_a_corner():
    found = alternatives_samples.found_in(n=8)
    table = ParetoDisplay.from_alternatives(found).frame()
    table.loc[len(table)] = {**table.iloc[-1].to_dict(), "candidate": "far", "x": -50.0, "y": -9.0}
    table.loc[len(table) - 1, ["rows", "on_front", "is_refit"]] = ["search", False, False]
    display = ParetoDisplay(table, margin=0.01).plot()
    assert display.ax_.get_xlim()[0] > -1
    assert "which are far off, are left out" in display.ax_.get_xlabel()


def test_alternatives_are_those_of_a_search():
    with pytest.raises(TypeError, match="fitted AlternativesSearchCV or its result_; got dict"):
        ParetoDisplay.from_alternatives({})
    with pytest.raises(NotFittedError):
        ParetoDisplay.from_alternatives(AlternativesSearchCV(LogisticRegression(), "columns"))


def test_mitigation_of_a_retrainer(fitted):
    display = MitigationDisplay.from_retrainer(fitted.retrainer)
    table = display.frame().set_index(["model", "measure"])[["value", "low", "high"]]
    for model, found in (
        ("original", fitted.retrainer.before_),
        ("mitigated", fitted.retrainer.after_),
    ):
        for place, name in (("rows", "unseen"), ("near", "near"), ("uniform", "uniform")):
            assert table.loc[(model, place)].to_dict() == found[name]
    drop = fitted.retrainer.score_drop_
    assert table.loc[("mitigated", "score")].tolist() == [
        -drop["value"],
        -drop["high"],
        -drop["low"],
    ]
    display.plot()
    assert list(display.panels_) == ["rows", "near", "uniform", "score"]
    for (measure, model, _), point in display.points_.items():
        assert point.get_xdata()[0] == table.loc[(model, measure), "value"]
    limits = {display.panels_[place].get_xlim() for place in ("rows", "near", "uniform")}
    assert len(limits) == 1  # shares of different inputs are read against each other
    kept = fitted.retrainer.estimator_ is fitted.retrainer.original_estimator_
    assert display.message_.get_text().startswith("The original is kept") == kept


def test_mitigation_that_ended_early(fitted):
    ended = FairnessRetrainer(fitted.model)
    ended.estimator_, ended.stop_reason_ = fitted.model, "the audit failed"
    with pytest.raises(ValueError, match="ended before.*the audit failed"):
        MitigationDisplay.from_retrainer(ended)


def test_mitigation_of_a_comparison(fitted):
    table, groups = fitted.comparison.table, fitted.comparison.groups
    display = MitigationDisplay.from_comparison(fitted.comparison).plot()
    drawn = display.frame().set_index(["model", "measure", "group"])
    for method in ("original", "drop"):
        assert drawn.loc[(method, "near", ""), "value"] == table.loc[method, "share_near"]
        low = table.loc[method, "accuracy_change_low"]
        assert drawn.loc[(method, "score", ""), "low"] == low
        rate = groups.loc[(method, "sex = 1"), "selection_rate"]
        assert display.points_["rate", method, "1"].get_xdata()[0] == rate
    assert fitted.comparison.recommend().sentence in display.message_.get_text().replace("\n", " ")
    with pytest.raises(TypeError, match="MitigationComparison.*got DataFrame"):
        MitigationDisplay.from_comparison(table)


@slow_sample
def test_methods_without_figures_have_a_row_with_the_reason(fitted):
    comparison = replace(fitted.comparison, table=fitted.comparison.table.copy())
    numbers = comparison.table.select_dtypes("number").columns
    comparison.table.loc["drop", numbers] = np.nan
    comparison.table.loc["drop", "note"] = "no time was left of max_time=5 s"
    display = MitigationDisplay.from_comparison(comparison).plot()
    assert set(display.frame()["model"]) == {"original"} and display.highlight is None
    names = [label.get_text() for label in display.panels_["rows"].get_yticklabels()]
    assert names == ["original", "drop"]
    assert display.notes_["drop"].get_text() == "no time was left of max_time=5 s"
    assert display.notes_["drop"].get_position()[1] == 1  # in its own row


def test_the_recommended_method_stands_out_by_more_than_colour(fitted):
    display = MitigationDisplay.from_comparison(fitted.comparison)
    assert {"drop", "original"} <= set(display.frame()["model"])
    display.highlight = "drop"
    display.plot()
    weights = {
        label.get_text(): label.get_fontweight()
        for label in display.panels_["rows"].get_yticklabels()
    }
    assert weights == {"original": "normal", "drop": "bold"}
    assert all(panel.patches for panel in display.panels_.values())  # a band in each
    colors = [display.points_["rows", name, ""].get_color() for name in ("drop", "original")]
    assert colors == [_style.FOUND, _style.NEUTRAL]


def test_no_number_stands_on_the_line_of_no_change(fitted):
    display = MitigationDisplay.from_comparison(fitted.comparison).plot()
    display.figure_.draw_without_rendering()
    panel = display.panels_["score"]
    lines = [
        panel.transData.transform(segment)
        for lines in panel.collections
        for segment in lines.get_segments()
        if (segment[:, 0] == 0).all() and segment[0, 1] != segment[1, 1]
    ]
    assert lines and panel.texts
    for text in panel.texts:
        box = text.get_window_extent()
        for (x, y0), (_, y1) in lines:
            assert not (box.x0 < x < box.x1 and min(y0, y1) < box.y1 and box.y0 < max(y0, y1))


# Names -------------------------------------------------------------------------------------------

NAMES = ["_a", "$x$ and $y$", "列名 " * 30, "العربية", "a\nb\tc", "", "<script>", "\\alpha_{2}"]
NAME = "_n $x$ 列 <b>"


@slow_sample
def test_names_are_written_as_they_are():
    n = len(NAMES)
    curves = pd.DataFrame({"name": NAMES, "difference": 0.0, "share": 0.5})
    bounds = pd.DataFrame({"name": NAMES, "found": 1.0, "lower": 1.0, "upper": 2.0, "rows": 0.5})
    course = curves.assign(queries=1, seconds=1.0, found=1, degree=0.5)
    groups = selection_table(
        [0, 1] * 20 * n, sensitive_features={NAME: [name or NAME for name in NAMES] * 40}
    )
    results = {f"mean_test_{NAME}": [-0.5], "mean_test_y": [0.5]}
    cells = tuple(Cell(name, name, None, True) for name in NAMES)
    several = [
        PairDisplay(Pair(cells, NAME, (1.0, 0.0), None, 1.0)),
        DisparityCurveDisplay(curves, output=NAME),
        BoundsDisplay(bounds.assign(certified=False)),
        HistoryDisplay(course),
        GroupScoresDisplay(rules(n).assign(rule=NAMES)),
        SelectionDisplay(groups),
    ]
    for display in [*several, ParetoDisplay.from_cv_results(results, x=NAME, y="y")]:
        display.plot()
        display.figure_.draw_without_rendering()
        texts = [text for text in display.figure_.findobj(Text) if text.get_text()]
        for text in texts:
            # The numbers of an axis may be written by matplotlib's own formulas.
            if "x" in text.get_text():
                assert not text.get_parse_math(), (type(display).__name__, text)
        words = [text.get_text() for text in texts]
        for name in NAMES if display in several else []:
            short = _style.shorten(name, 24).rstrip("…").strip()
            assert any(short in word.replace("\n", " ") for word in words), (display, name)
        if type(display) not in (BoundsDisplay, HistoryDisplay, GroupScoresDisplay):
            assert any(NAME in word for word in words), display


def test_a_font_that_has_the_letters_is_found():
    curves = pd.DataFrame({"name": ["שלום"], "difference": 0.0, "share": 0.5})
    with plt.rc_context({"font.family": "DejaVu Serif"}):  # which has no Hebrew
        display = DisparityCurveDisplay(curves).plot()
    (text,) = display.ax_.get_legend().get_texts()
    assert text.get_fontfamily()[0] == "DejaVu Serif" and len(text.get_fontfamily()) > 1
    assert display.ax_.yaxis.label.get_fontfamily() == ["DejaVu Serif"]
    assert _style._letters_of("no such file") == frozenset()


@slow_sample
@given(st.text(max_size=200), st.integers(2, 60))
def test_shortened_names_fit(text, most):
    short = _style.shorten(text, most)
    assert _style.width(short) <= most and short.isprintable()
    lines = _style.wrap(text, most, 3).split("\n")
    assert len(lines) <= 3 and all(_style.width(line) <= most for line in lines)
    if _style.width(_style.one_line(text).strip()) <= most:
        assert lines == [_style.one_line(text).strip()]


def test_card_page_and_displays_have_one_highlight_colour():
    folder = resources.files("skfairtest.report") / "templates"
    css = (folder / "report.css").read_text(encoding="utf-8")
    accent = re.findall(r"--accent: (#\w+)", css)[0]
    (edge,) = re.findall(r"--skft-edge: (#\w+)", _card._LIGHT)
    assert _style.FOUND.lower() == accent == edge
    # The page has a shade of each colour of the grammar for its dark mode.
    for color in (*_style.COLORS, _style.NEUTRAL):
        assert plots.NAMED[color.lower()].startswith("var(--")
    assert _style.BOUND not in _style.SERIES


def test_series_are_told_apart_without_colour():
    looks = [_style.series(place) for place in range(30)]
    assert len({(look["marker"], str(look["linestyle"])) for look in looks}) == 30
    assert len({look["color"] for look in looks[:6]}) == 6


@slow_sample
def test_space_of_many_sensitive_values(models):
    model = models.Regressor(lambda X: np.asarray(X["s"].str[1:].astype(int) + 0.0 * X["a"]))
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"s": [f"v{j % 300}" for j in range(600)], "a": rng.integers(0, 5, 600)})
    assert InputSpace().fit(X, ["s"]).twins_.n_combinations == 300
    auditor = RandomAuditor(model, sensitive_features="s", max_queries=700, random_state=0).fit(X)
    display = PairDisplay.from_auditor(auditor).plot()
    assert display.pair.difference == auditor.fairness_degree_
