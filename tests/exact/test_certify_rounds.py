"""Certificates in rounds: box by box, on workers, and from a file."""

from __future__ import annotations

import copy
import itertools
import subprocess
import sys
import threading
from pathlib import Path

import joblib
import numpy as np
import pytest
from places import TOP
from sklearn.ensemble import (
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
)
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tiers import slow_sample, some

from skfairtest import CertifiedAuditor, InputSpace, Order, RandomAuditor
from skfairtest import certify as certify_on
from skfairtest.exact import _all_inputs, _certify, _rounds
from skfairtest.exact._bracket import Limits
from skfairtest.exact._checkpoint import Checkpoint
from skfairtest.exact._dispatch import read_family
from skfairtest.exact._trees.family import TreeFamily

SIZES = (3, 4, 5, 4, 3)


def certify(auditor, **params):
    """Rounds are the same for both engines, of which NumPy has nothing to compile."""
    return certify_on(auditor, engine="numpy", **params)


@pytest.fixture
def in_boxes(monkeypatch):
    """No try in one piece, no look at all inputs, little time for a box, so that it is cut."""
    monkeypatch.setattr(_all_inputs, "MOST_INPUTS", 0)
    monkeypatch.setattr(_rounds, "IN_ONE_PIECE", 0.0)
    monkeypatch.setattr(_rounds, "FIRST_SECONDS", 0.05)
    monkeypatch.setattr(_rounds, "N_ROOTS", 6)


def finite_table(seed=0, n=600):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.integers(0, size, n) for size in SIZES]).astype(float)
    y = X @ rng.normal(size=5) + 2 * (X[:, 0] == 2) * (X[:, 1] > 1) * (X[:, 2] < 3)
    return X, y + rng.normal(size=n)


def true_degree(model, valid=None):
    rows = np.array(list(itertools.product(*map(range, SIZES[1:]))), dtype=float)
    said = []
    for value in range(SIZES[0]):
        own = np.column_stack([np.full(len(rows), value), rows])
        said.append(
            np.where(valid(own), model.predict(own), np.nan) if valid else model.predict(own)
        )
    said = np.array(said)
    said = said[:, ~np.isnan(said).all(axis=0)]
    return float(np.max(np.nanmax(said, axis=0) - np.nanmin(said, axis=0)))


MODELS = {
    "forest": lambda: RandomForestRegressor(10, max_depth=6, random_state=0),
    "boosting": lambda: GradientBoostingRegressor(n_estimators=30, random_state=0),
    "network": lambda: make_pipeline(
        StandardScaler(),
        MLPRegressor(hidden_layer_sizes=(6,), max_iter=400, solver="lbfgs", random_state=0),
    ),
}


def audited(model, X, **params):
    return RandomAuditor(
        model, sensitive_features=[0], max_queries=60, random_state=0, **params
    ).fit(X)


@pytest.mark.parametrize("kind", MODELS)
def test_boxes_bound_the_whole(kind, in_boxes, tmp_path):
    X, y = finite_table()
    model = MODELS[kind]().fit(X, y)
    truth = true_degree(model)
    result = certify(audited(model, X), max_time=None, rtol=1e-6, resume=tmp_path / "state")
    assert result.fairness_degree <= truth * (1 + 1e-9)
    assert result.fairness_degree_upper_bound >= truth * (1 - 1e-12)
    assert result.certified
    assert result.fairness_degree == pytest.approx(truth, rel=1e-6)


TREES = {
    "forest": lambda: RandomForestRegressor(10, max_depth=6, random_state=0),
    "categories": lambda: HistGradientBoostingRegressor(
        max_iter=10, categorical_features=[1, 2], min_samples_leaf=5, random_state=0
    ),
}


@pytest.mark.parametrize("compiled", [pytest.param(True, marks=pytest.mark.slow), False])
@pytest.mark.parametrize("wide", [False, True], ids=["finite", "wide"])
@pytest.mark.parametrize("kind", some(["categories", "forest"]))
def test_parts_of_trees_are_bounded_without_reading_anew(kind, wide, compiled):
    """No input of a part exceeds its bound, and a part takes less than the whole."""
    if compiled:
        pytest.importorskip("numba")
    X, y = finite_table(5)
    rng = np.random.default_rng(7)
    if wide:
        X[:, 3:] += rng.normal(size=(len(X), 2)).round(3)
    model = TREES[kind]().fit(X, y)
    space = InputSpace().fit(X, [0])
    family, _ = read_family(model, space, "regression", compiled, np.random.default_rng(0), 1)
    whole = family.solve(0.0, Limits(np.inf, 0.0))
    less = 0
    for _ in range(12):
        low, high = np.sort(space.domain.draw(2, rng), axis=0)
        low[0], high[0] = 0, SIZES[0] - 1
        part = family.within(low, high).solve(0.0, Limits(np.inf, 0.0))
        rows = np.clip(space.domain.draw(4000, rng), low, high)
        said = [family.evaluate(space.twins_.with_sensitive(rows, np.full((len(rows), 1), value)))
                for value in range(SIZES[0])]  # fmt: skip
        most = float(np.ptp(np.concatenate(said, axis=1), axis=1).max())
        assert most * (1 - 1e-12) <= part.upper <= whole.upper * (1 + 1e-12)
        # A better pair may come from elsewhere, which leaves nothing to look into.
        less += part.upper < 0.99 * whole.upper or part.n_boxes < whole.n_boxes
    assert less >= 6
    # What was narrowed is a copy: the whole is bounded as before.
    again = family.solve(0.0, Limits(np.inf, 0.0))
    assert (again.upper, again.n_boxes) == (whole.upper, whole.n_boxes)


def test_boxes_under_a_constraint(in_boxes, tmp_path):
    X, y = finite_table(1)
    X = X[X[:, 1] <= X[:, 3]]
    y = y[: len(X)]
    model = RandomForestRegressor(10, max_depth=6, random_state=0).fit(X, y)
    truth = true_degree(model, valid=lambda rows: rows[:, 1] <= rows[:, 3])
    auditor = audited(model, X, space=InputSpace(constraint=Order(1, "<=", 3)))
    result = certify(auditor, max_time=None, resume=tmp_path / "state")
    assert result.certified
    assert result.fairness_degree == pytest.approx(truth, rel=1e-9)


def test_a_search_goes_on_where_it_was(in_boxes, tmp_path, monkeypatch):
    X, y = finite_table(2)
    model = RandomForestRegressor(10, random_state=0).fit(X, y)
    auditor = audited(model, X)
    path = tmp_path / "state.npz"
    first = certify(auditor, max_time=None, resume=path)

    def bounded(*args):
        pytest.fail("a box is bounded that was closed before")

    monkeypatch.setattr(_rounds, "on_workers", bounded)
    monkeypatch.setattr(TreeFamily, "solve", bounded)
    again = certify(auditor, max_time=None, resume=path)
    assert first.certified and again.certified
    assert again.fairness_degree == first.fairness_degree
    assert [p.name for p in tmp_path.iterdir()] == ["state.npz"]


#: Holds once the first state is on disk, for whoever kills it.
KILLED = """
import sys, threading
sys.path[:0] = {folders!r}
from clocks import install
install()
from skfairtest.exact import _rounds
from test_certify_rounds import *

save = Checkpoint.save
def save_and_hold(self, state):
    save(self, state)
    print("saved", flush=True)
    threading.Event().wait()

Checkpoint.save = save_and_hold
_rounds.IN_ONE_PIECE, _rounds.FIRST_SECONDS, _rounds.N_ROOTS = 0.0, 0.0, 8
X, y = finite_table(3)
model = RandomForestRegressor(30, random_state=0).fit(X, y)
certify(audited(model, X), max_time=None, resume={path!r})
"""
#: Seconds after which a process that says nothing is given up.
HUNG = 600


@slow_sample
def test_a_killed_process_leaves_what_it_knew(tmp_path):
    path = str(tmp_path / "state.npz")
    folders = [str(folder) for folder in (Path(__file__).parent, TOP / "tests" / "helpers", TOP)]
    program = KILLED.format(folders=folders, path=path)
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as process:
        hung = threading.Timer(HUNG, process.kill)
        hung.start()
        said = process.stdout.readline()
        hung.cancel()
        process.kill()
    assert said.split() == [b"saved"]
    with np.load(path) as state:
        assert len(state["open_upper"])  # there is something left to do
    X, y = finite_table(3)
    model = RandomForestRegressor(30, random_state=0).fit(X, y)
    result = certify(audited(model, X), max_time=None, resume=path)
    assert result.certified
    assert result.fairness_degree == pytest.approx(true_degree(model), rel=1e-9)


SAVE = Checkpoint.save


def end_after_a_round(monkeypatch, clock):
    """Let the time be up once a round was kept, in which boxes get next to none."""
    monkeypatch.setattr(_rounds, "FIRST_SECONDS", 0.005)

    def save(self, state):
        SAVE(self, state)
        clock.sleep(2000)

    monkeypatch.setattr(Checkpoint, "save", save)


@pytest.mark.filterwarnings("ignore:No disparity")
@pytest.mark.parametrize("first", ["loose", "loose and killed", "known well"])
def test_a_narrower_bracket_goes_on_from_a_wider_one(first, in_boxes, tmp_path, monkeypatch, clock):
    """What was narrow enough, or not worth a look, must not be taken as closed later on."""
    X, y = finite_table(2)
    model = RandomForestRegressor(20, max_depth=7, random_state=0).fit(X, y)
    truth, path = true_degree(model), tmp_path / "state.npz"
    auditor, rtol = audited(model, X), 0.5
    if first == "known well":
        auditor = RandomAuditor(
            model, sensitive_features=[0], max_queries=100_000, random_state=0
        ).fit(X)
        rtol = 1e-6
        assert auditor.fairness_degree_ == pytest.approx(truth)
    if "killed" in first:
        end_after_a_round(monkeypatch, clock)
        rtol = 0.1
    wide = certify(auditor, max_time=1000, rtol=rtol, resume=path)
    monkeypatch.setattr(Checkpoint, "save", SAVE)
    assert wide.fairness_degree_upper_bound >= truth * (1 - 1e-12)
    assert wide.certified == ("killed" not in first)
    # Another auditor, which found less: what the file knows counts.
    fewer = RandomAuditor(model, sensitive_features=[0], max_queries=2, random_state=1).fit(X)
    assert fewer.fairness_degree_ < truth * 0.9
    for narrow in (1e-2, 1e-6):
        again = certify(fewer, max_time=None, rtol=narrow, resume=path)
        assert again.certified
        assert again.fairness_degree <= truth * (1 + 1e-12)
        assert again.fairness_degree_upper_bound >= truth * (1 - 1e-12)
        assert again.gap <= narrow * again.fairness_degree_upper_bound
    assert again.fairness_degree == pytest.approx(truth, rel=1e-6)


def test_boxes_in_which_nothing_is_valid_are_cut_as_well(in_boxes):
    X, y = finite_table(1)
    X = X[X[:, 1] <= X[:, 3]]
    model = RandomForestRegressor(10, max_depth=6, random_state=0).fit(X, y[: len(X)])
    space = audited(model, X, space=InputSpace(constraint=Order(1, "<=", 3))).space_
    asked = (model, space, "regression", False)
    family, _ = read_family(*asked, np.random.default_rng(0))
    rounds = _rounds._Rounds(
        _rounds.RoundsFamily(family, asked, None, None, None), 0.0, Limits(np.inf, 0.0)
    )
    low, high = space.domain.low.copy(), space.domain.high.copy()
    low[1], high[3] = 3, 1
    parts = rounds._cut(_rounds.Boxes(low[None], high[None], np.array([1.0])), 4)
    assert len(parts.upper) == 4
    inputs = np.array(list(itertools.product(*map(range, SIZES))))
    within = ((parts.low[:, None] <= inputs) & (inputs <= parts.high[:, None])).all(axis=2)
    np.testing.assert_array_equal(
        within.sum(axis=0), ((low <= inputs) & (inputs <= high)).all(axis=1)
    )


def test_files_that_do_not_belong_here(in_boxes, tmp_path):
    X, y = finite_table()
    one = audited(RandomForestRegressor(5, random_state=0).fit(X, y), X)
    other = audited(RandomForestRegressor(5, random_state=1).fit(X, y), X)
    path = tmp_path / "state"
    certify(one, resume=path)
    with pytest.raises(ValueError, match="another model"):
        certify(other, resume=path)
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(ValueError, match="cannot be read"):
        certify(one, resume=path)
    path.write_text("no file of ours")
    with pytest.raises(ValueError, match="cannot be read"):
        certify(one, resume=path)


def one_leaf_less(model):
    """The same forest, but for one leaf, of those that fewest inputs of the domain fall into."""
    other = copy.deepcopy(model)
    inputs = np.array(list(itertools.product(*map(range, SIZES))), dtype=float)
    leaves, counts = np.unique(other.estimators_[0].apply(inputs), return_counts=True)
    assert counts.min() <= 4
    other.estimators_[0].tree_.value[leaves[counts.argmin()]] += 0.5
    return other


def test_files_of_models_and_domains_that_are_nearly_the_same(in_boxes, tmp_path):
    X, y = finite_table()
    model = RandomForestRegressor(5, max_depth=6, random_state=0).fit(X, y)
    path = tmp_path / "state"
    certify(audited(model, X), resume=path)
    same = RandomForestRegressor(5, max_depth=6, random_state=0).fit(X, y)
    certify(audited(same, X), resume=path)
    given = {"space": InputSpace(constraint=Order(1, "<=", 3))}
    others = [
        audited(one_leaf_less(model), X),
        audited(model, X, **given),
        audited(model, X, space=InputSpace(categories={1: [0, 1, 2]})),
        RandomAuditor(model, sensitive_features=[1], max_queries=60, random_state=0).fit(X),
        RandomAuditor(model, sensitive_features=[0, 1], max_queries=60, random_state=0).fit(X),
    ]
    for other in others:
        with pytest.raises(ValueError, match="another model or another domain"):
            certify(other, resume=path)
    path.unlink()
    certify(audited(model, X, **given), resume=path)
    with pytest.raises(ValueError, match="another model or another domain"):
        certify(audited(model, X, space=InputSpace(constraint=Order(1, "<", 3))), resume=path)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nowhere/state", "no folder"),
        ("", "is a folder"),
        ("s" * 300, "cannot be written"),
    ],
)
def test_paths_that_cannot_be_written(name, message, monkeypatch, tmp_path):
    X, y = finite_table()
    auditor = audited(RandomForestRegressor(5, random_state=0).fit(X, y), X)

    def begun(*args, **params):
        pytest.fail("the search has begun")

    monkeypatch.setattr(_certify, "Oracle", begun)
    with pytest.raises(ValueError, match=message):
        certify(auditor, resume=tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_a_file_that_does_not_belong_here_is_told_before_the_search(
    in_boxes, monkeypatch, tmp_path
):
    X, y = finite_table()
    auditor = audited(RandomForestRegressor(5, random_state=0).fit(X, y), X)
    (tmp_path / "state").write_text("no file of ours")

    def begun(*args, **params):
        pytest.fail("the search has begun")

    monkeypatch.setattr(_certify, "look_at_data", begun)
    monkeypatch.setattr(_certify, "close", begun)
    with pytest.raises(ValueError, match="cannot be read"):
        certify(auditor, resume=tmp_path / "state")


@pytest.fixture(scope="module")
def cluster():
    import distributed

    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as own,
        distributed.Client(own) as client,
    ):
        yield client


def n_transitions(client):
    """Changes of state of tasks so far: none where nothing is sent."""
    return client.run_on_scheduler(lambda dask_scheduler: dask_scheduler.transition_counter)


@pytest.mark.services("distributed")
def test_boxes_on_workers_of_a_cluster(in_boxes, cluster):
    X, y = finite_table(4)
    model = RandomForestRegressor(10, max_depth=6, random_state=0).fit(X, y)
    auditor = audited(model, X)
    alone = certify(auditor, max_time=None)
    before = n_transitions(cluster)
    with joblib.parallel_config("dask"):
        there = certify(auditor, max_time=None)
    assert n_transitions(cluster) > before + 10
    assert alone.certified and there.certified
    assert there.fairness_degree == pytest.approx(alone.fairness_degree, rel=1e-9)


@pytest.mark.services("distributed")
@pytest.mark.parametrize("kind", ["forest", "network"])
def test_a_certified_audit_on_workers_of_a_cluster(kind, in_boxes, cluster):
    X, y = finite_table(4)
    model = MODELS[kind]().fit(X, y)
    settings = {"sensitive_features": [0], "max_queries": 100, "random_state": 0, "rtol": 1e-6}
    settings |= {"engine": "numpy", "max_time": None}
    alone = CertifiedAuditor(model, **settings).fit(X)
    before = n_transitions(cluster)
    with joblib.parallel_config("dask"):
        there = CertifiedAuditor(model, **settings).fit(X)
    assert n_transitions(cluster) > before + 10
    assert alone.certified_ and there.certified_
    truth = true_degree(model)
    for one in (alone, there):
        assert one.fairness_degree_ == pytest.approx(truth, rel=1e-6)
        assert one.fairness_degree_upper_bound_ == pytest.approx(truth, rel=2e-6)


@pytest.mark.services("distributed")
def test_no_threads_of_this_machine_stand_in_for_a_cluster(cluster):
    X, y = finite_table(4)
    model = MODELS["forest"]().fit(X, y)
    space = audited(model, X).space_
    with joblib.parallel_config("dask"):
        assert TreeFamily(model, space, "regression", False, 2).n_workers == 1
    with joblib.parallel_config("threading"):
        assert TreeFamily(model, space, "regression", False, 2).n_workers == 2


@pytest.mark.parametrize("backend", ["threading", pytest.param("loky", marks=pytest.mark.slow)])
def test_boxes_on_workers_of_this_machine_are_the_same(backend, in_boxes, tmp_path):
    X, y = finite_table(5)
    model = MODELS["boosting"]().fit(X, y)
    auditor = audited(model, X)
    alone = certify(auditor, max_time=None, resume=tmp_path / "alone")
    with joblib.parallel_config(backend, n_jobs=2):
        there = certify(auditor, max_time=None, resume=tmp_path / "there")
    assert alone.certified and there.certified
    assert there.fairness_degree == pytest.approx(alone.fairness_degree, rel=1e-9)
