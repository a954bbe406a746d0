"""The comparison of twins against a loop over all pairs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skfairtest.oracle._compare import compare


def farthest_flip(scores, labels, valid, plausible):
    """Of one input, the first of the most distant pairs with different labels, by all pairs."""
    best = (-1.0, None)
    k = len(labels)
    for i in range(k):
        for j in range(k):
            if labels[i] == labels[j] or not (valid[i] and valid[j]):
                continue
            if plausible is not None and not plausible[i]:
                continue
            gap = np.abs(scores[i] - scores[j]).max()
            if gap > best[0]:
                best = (gap, (i, j))
    return best


@st.composite
def twins(draw):
    """Outputs, labels and masks with many ties; labels need not be those of the largest output."""
    n, k = draw(st.integers(1, 4)), draw(st.integers(2, 7))
    n_outputs, n_labels = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    scores = rng.integers(0, 4, (n, k, n_outputs)) / 3
    if draw(st.booleans()):
        scores = rng.normal(size=(n, k, n_outputs))
    labels = rng.integers(0, n_labels, (n, k))
    valid = rng.random((n, k)) < draw(st.sampled_from([0.5, 0.9, 1.0]))
    plausible = None
    if draw(st.booleans()):
        plausible = rng.random((n, k)) < draw(st.sampled_from([0.3, 0.9]))
    return scores, labels, valid, plausible


@given(twins())
def test_flips_are_those_of_a_loop_over_all_pairs(case):
    scores, labels, valid, plausible = case
    shown = compare(
        scores, labels, valid, response="predict_proba", threshold=None, single=False,
        plausible=plausible,
    )  # fmt: skip
    for i in range(len(scores)):
        usable = None if plausible is None else plausible[i] & valid[i]
        gap, pair = farthest_flip(scores[i], labels[i], valid[i], usable)
        assert shown.verdict[i] == (pair is not None)
        if pair is None:
            continue
        widest = shown.pair[i]
        if labels[i, widest[0]] != labels[i, widest[1]]:
            # The most distant outputs are a flip as well, and stay as they are.
            assert set(shown.twins[i]) == set(widest)
            assert shown.gap[i] == shown.disparity[i]
        else:
            assert tuple(shown.twins[i]) == pair
            assert shown.gap[i] == gap


def test_the_farthest_flip_of_many_twins_needs_no_table_of_all_pairs():
    # A table of all pairs would take 80 GB and more here.
    k = 100_000
    scores = np.zeros((2, k, 3))
    # The most distant outputs have one label; only the last twin has another one.
    scores[:, :, 0], scores[:, :, 1] = 0.5, np.linspace(0.0, 0.4, k)
    scores[:, -1] = [0.3, 0.41, 0.0]
    labels = scores.argmax(axis=2)
    scores[:, :, 2] = np.linspace(0.0, 0.49, k)
    scores[:, -1, 2] = 0.2
    shown = compare(
        scores, labels, np.ones((2, k), dtype=bool), response="predict_proba", threshold=None,
        single=False,
    )  # fmt: skip
    assert shown.verdict.all()
    assert shown.pair.tolist() == [[k - 2, 0]] * 2
    assert shown.twins.tolist() == [[0, k - 1]] * 2
    assert shown.gap == pytest.approx(0.41)


@given(twins(), st.sampled_from([None, 0.3]))
def test_two_twins_are_compared_as_those_with_a_third_that_is_none(case, threshold):
    scores, labels, valid, plausible = case
    scores, labels, valid = scores[:, :2, :1], labels[:, :2], valid[:, :2]
    plausible = None if plausible is None else plausible[:, :2]
    settings = {"response": "predict_proba", "threshold": threshold, "single": False}
    two = compare(scores, labels, valid, plausible=plausible, **settings)
    width = ((0, 0), (0, 1))
    three = compare(
        np.pad(scores, (*width, (0, 0)), constant_values=9.0), np.pad(labels, width),
        np.pad(valid, width), plausible=None if plausible is None else np.pad(plausible, width),
        **settings,
    )  # fmt: skip
    for name in two._fields:
        assert np.array_equal(getattr(two, name), getattr(three, name)), name
