"""Product trees: one tree of a model for both twins at once, grown on demand.

Twins start at the root of a tree and go down side by side; a pair of nodes stands for all pairs of
leaves below it. `advance` takes such a pair one test further: it is the one descent of the package,
of compiled product trees as of the lists of pairs that NumPy makes.

A product tree is a decision tree on the self-composition. Its leaves are the pairs of leaves that
two twins can reach together, and each node has an upper bound of the difference below it, so that
the best pair in a box is found by a descent that turns aside only where the bound allows more. Of a
deep tree there are very many pairs, few of which ever matter: a node stays *folded*, with a bound
from the values below the two nodes that it stands for, until a descent arrives at it.
"""

from __future__ import annotations

# Types are those of the compiled code; annotations would only repeat them.
# mypy: disable-error-code="no-untyped-def, assignment"
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from skfairtest._clock import check_time
from skfairtest.exact._trees.problem import Forest, Problem, levels_of
from skfairtest.exact._trees.self_composition import CompositionLayout
from skfairtest.workers._compiled import inner, njit

#: Marks leaves and folded nodes among the places.
LEAF, FOLDED = 2**15 - 1, 2**15 - 2
#: Nodes that are kept free: growing one takes two.
SPARE_NODES = 4

#: A node of a product tree. All that a descent asks of it stands together, and of two children side
#: by side, since the time of a descent is that of fetching nodes from memory.
NODE = np.dtype(
    [
        ("bound", np.float64),  # of the difference at or below the node
        ("cut", np.int32),  # cell or number of a set
        ("first", np.int32),  # child; where there is none, the first twin's node in the tree
        ("second", np.int32),  # child; where there is none, the second twin's node
        ("parent", np.int32),
        ("place", np.int32),  # ordered copy; -1 - place of another one; LEAF or FOLDED
        ("threshold", np.int32),  # number of the test
    ]
)


class ProductTrees(NamedTuple):
    """Nodes of product trees; the first ones are the roots, the others come as they are grown."""

    node: NDArray[np.void]
    size: NDArray[np.int64]  # (1,) nodes so far


class Thresholds(NamedTuple):
    """The tests of trees, numbered by tree, then by copy, ordered ones first, then by cut."""

    one: NDArray[np.int32]  # number of each node's test of the first twin; -1 at a leaf
    two: NDArray[np.int32]
    start: NDArray[np.int64]  # (n_trees * n_copies + 1,) first number of a tree and copy
    cut: NDArray[np.int64]  # cell, rising in a copy, or number of a set


class NodeBoxes(NamedTuple):
    """Box of every node as the first twin sees it, and how to read it for the second."""

    low: NDArray[np.int32]
    high: NDArray[np.int32]
    words: NDArray[np.uint64]
    twin_ordered: NDArray[np.int64]  # by copy: 0 the first twin's, 1 the second's, 2 of both
    first_ordered: NDArray[np.int64]  # by copy: where the first twin's stands
    twin_word: NDArray[np.int64]
    first_word: NDArray[np.int64]
    thresholds: Thresholds


def thresholds_of(forest: Forest, n_ordered: int) -> Thresholds:
    """Number the tests of each tree."""
    tree = np.zeros(len(forest.attribute), dtype=np.int64)
    tree[forest.roots] = np.arange(len(forest.roots))
    for here in levels_of(forest.attribute, forest.first, forest.second, forest.roots):
        inner = here[forest.attribute[here] >= 0]
        tree[forest.first[inner]] = tree[forest.second[inner]] = tree[inner]
    inner = np.flatnonzero(forest.attribute >= 0)
    j, cut = forest.attribute[inner], forest.cut[inner]
    n_copies = n_ordered + len(forest.word_start) - 1
    behind = np.where(forest.ordered[j] == 1, 0, n_ordered)
    places = forest.place_one[j] + behind, forest.place_two[j] + behind
    most = int(cut.max(initial=0)) + 1
    keys = np.concatenate([(tree[inner] * n_copies + place) * most + cut for place in places])
    keys, number = np.unique(keys, return_inverse=True)
    start = np.searchsorted(keys // most, np.arange(len(forest.roots) * n_copies + 1))
    numbers = np.full((2, len(forest.attribute)), -1, dtype=np.int32)
    numbers[:, inner] = number.reshape(2, -1)
    return Thresholds(numbers[0], numbers[1], start.astype(np.int64), keys % most)


def node_boxes_of(problem: Problem, deadline: float = np.inf) -> NodeBoxes:
    """Return the nodes' boxes, worked out once for all searches of a problem."""
    if problem.node_boxes is None:
        problem.node_boxes = _boxes_of(problem.forest, problem.layout, deadline)
    boxes: NodeBoxes = problem.node_boxes
    return boxes


def _boxes_of(forest: Forest, layout: CompositionLayout, deadline: float) -> NodeBoxes:
    whole = layout.whole
    twin_ordered = np.full(len(whole.low), 2, dtype=np.int64)
    first_ordered = np.arange(len(whole.low), dtype=np.int64)
    twin_word = np.full(len(whole.words), 2, dtype=np.int64)
    first_word = np.arange(len(whole.words), dtype=np.int64)
    for j, (one, two) in layout.place.items():
        if one == two:
            continue
        if layout.is_ordered[j]:
            twin_ordered[one], twin_ordered[two] = 0, 1
            first_ordered[two] = one
        else:
            a, b = (slice(*layout.word_start[p : p + 2]) for p in (one, two))
            twin_word[a], twin_word[b] = 0, 1
            first_word[b] = np.arange(a.start, a.stop)
    thresholds = thresholds_of(forest, len(whole.low))
    twins_of = (twin_ordered, first_ordered, twin_word, first_word, thresholds)
    return node_boxes(forest, whole, twins_of, deadline)


def node_boxes(forest: Forest, whole, twins_of, deadline=np.inf) -> NodeBoxes:
    """The boxes of all nodes inside the whole domain; `twins_of` are the fields behind that."""
    n = len(forest.attribute)
    low = np.repeat(whole.low[None], n, axis=0)
    high = np.repeat(whole.high[None], n, axis=0)
    words = np.repeat(whole.words[None], n, axis=0)
    for here in levels_of(forest.attribute, forest.first, forest.second, forest.roots):
        check_time(deadline)
        inner = here[forest.attribute[here] >= 0]
        copy = forest.place_one[forest.attribute[inner]]
        is_ordered = forest.ordered[forest.attribute[inner]] == 1
        for side, children in enumerate((forest.first[inner], forest.second[inner])):
            low[children], high[children] = low[inner], high[inner]
            words[children] = words[inner]
            some, at = children[is_ordered], copy[is_ordered]
            cut = forest.cut[inner[is_ordered]]
            if side == 0:
                high[some, at] = np.minimum(high[some, at], cut)
            else:
                low[some, at] = np.maximum(low[some, at], cut)
            for m in np.unique(copy[~is_ordered]):
                own = np.flatnonzero(~is_ordered & (copy == m))
                start, end = forest.word_start[m], forest.word_start[m + 1]
                sets = forest.sets[forest.cut[inner[own]], : end - start]
                words[children[own], start:end] &= sets if side == 0 else ~sets
    return NodeBoxes(low, high, words, *twins_of)


@inner
def advance(forest, a, b):
    """Advance a pair of nodes, or arrays of pairs, by one test.

    The shallower node goes first, so that twins who part at a node can meet again below it; both go
    at once where they are one node, and twins agree in what it tests.

    - `node`: the node whose test it is.
    - `copy`: where the copy that it tests stands.
    - `a1, b1, a2, b2`: the pairs below it: on the first, and on the second side of the test.
    """
    by_first = (forest.attribute[a] >= 0) & (
        (forest.attribute[b] < 0) | (forest.depth[a] <= forest.depth[b])
    )
    # Arithmetic, since it is the same for numbers and for arrays.
    one = 1 * by_first
    node = one * a + (1 - one) * b
    j = forest.attribute[node]
    copy = one * forest.place_one[j] + (1 - one) * forest.place_two[j]
    together = (a == b) & (forest.place_one[j] == forest.place_two[j])
    two = 1 * (together | (one == 0))
    first, second = forest.first[node], forest.second[node]
    a1, a2 = one * first + (1 - one) * a, one * second + (1 - one) * a
    b1, b2 = two * first + (1 - two) * b, two * second + (1 - two) * b
    return node, copy, a1, b1, a2, b2


@inner
def is_finished(forest, a, b):
    """Whether nothing below a pair of nodes, or each of several, is left to tell apart."""
    leaves = (forest.attribute[a] < 0) & (forest.attribute[b] < 0)
    # Twins in one subtree that nothing takes apart get the same value of it.
    return leaves | ((a == b) & (forest.splits[a] == 0) & (not forest.by_value))


@inner
def upper_bound(forest, a, b):
    """Return a bound of the difference of leaves below the nodes a and b."""
    return forest.most[a] if a == b else forest.high[a] - forest.low[b]


@inner
def fold(forest, nodes, node, a, b, parent):
    """Return a node for the pair of nodes a and b; it is unexpanded unless it is a leaf."""
    nodes[node]["first"], nodes[node]["second"], nodes[node]["parent"] = a, b, parent
    nodes[node]["place"] = LEAF if is_finished(forest, a, b) else FOLDED
    nodes[node]["bound"] = upper_bound(forest, a, b)


@inner
def plant(forest, pairs):
    """Put an unexpanded root for each tree, and forget all other nodes."""
    for t in range(len(forest.roots)):
        fold(forest, pairs.node, t, forest.roots[t], forest.roots[t], np.int64(-1))
    # Pairs of children begin at even places.
    pairs.size[0] = len(forest.roots) + len(forest.roots) % 2


@inner
def sides(forest, boxes, node, copy, a, b):
    """Which sides of a test the paths to a and b leave open: 1 the first, 2 the second, 3 both."""
    j, cut = forest.attribute[node], forest.cut[node]
    some = 0
    if forest.ordered[j] == 1:
        low, high = np.int64(0), np.int64(2**31 - 1)
        if boxes.twin_ordered[copy] != 1:
            low, high = np.int64(boxes.low[a, copy]), np.int64(boxes.high[a, copy])
        if boxes.twin_ordered[copy] != 0:
            own = boxes.first_ordered[copy]
            low, high = max(low, boxes.low[b, own]), min(high, boxes.high[b, own])
        if high <= cut:
            some = 1
        else:
            some = 2 if low >= cut else 3
    else:
        start = forest.word_start[copy]
        for w in range(start, forest.word_start[copy + 1]):
            word = ~np.uint64(0)
            if boxes.twin_word[w] != 1:
                word = boxes.words[a, w]
            if boxes.twin_word[w] != 0:
                word &= boxes.words[b, boxes.first_word[w]]
            chosen = forest.sets[cut, w - start]
            if word & chosen:
                some |= 1
            if word & ~chosen:
                some |= 2
    return some


@inner
def unfold(forest, pairs, boxes, node):
    """Expand a node into a leaf or a test with two children, and update the bounds above it."""
    nodes = pairs.node
    a, b = np.int64(nodes[node]["first"]), np.int64(nodes[node]["second"])
    growing = True
    while growing:
        if is_finished(forest, a, b):
            fold(forest, nodes, node, a, b, np.int64(nodes[node]["parent"]))
            growing = False
        else:
            test, copy, a1, b1, a2, b2 = advance(forest, a, b)
            some = sides(forest, boxes, test, copy, a, b)
            if some == 1:
                a, b = a1, b1
            elif some == 2:
                a, b = a2, b2
            else:
                n = pairs.size[0]
                pairs.size[0] = n + 2
                fold(forest, nodes, n, a1, b1, np.int64(node))
                fold(forest, nodes, n + 1, a2, b2, np.int64(node))
                is_ordered = forest.ordered[forest.attribute[test]] == 1
                nodes[node]["place"] = copy if is_ordered else -1 - copy
                nodes[node]["cut"] = forest.cut[test]
                thresholds = boxes.thresholds
                is_first = forest.place_one[forest.attribute[test]] == copy
                number = thresholds.one[test] if is_first else thresholds.two[test]
                nodes[node]["threshold"] = number
                nodes[node]["first"], nodes[node]["second"] = n, n + 1
                bound = max(nodes[n]["bound"], nodes[n + 1]["bound"])
                nodes[node]["bound"] = min(nodes[node]["bound"], bound)
                growing = False
    up = np.int64(nodes[node]["parent"])
    while up >= 0:
        bound = max(nodes[nodes[up]["first"]]["bound"], nodes[nodes[up]["second"]]["bound"])
        if bound >= nodes[up]["bound"]:
            up = -1
        else:
            nodes[up]["bound"] = bound
            up = np.int64(nodes[up]["parent"])


@inner
def meets_sets(leaf_words, twin_word, first_word, a, b, words, word_start):
    """Whether a pair of nodes meets the sets of a box."""
    meets = True
    for m in range(len(word_start) - 1):
        some = False
        for w in range(word_start[m], word_start[m + 1]):
            word = words[w]
            if twin_word[w] != 1:
                word &= leaf_words[a, w]
            if twin_word[w] != 0:
                word &= leaf_words[b, first_word[w]]
            some = some or word != 0
        meets = meets and some
    return meets


@inner
def best_twins(
    nodes, waiting, root, low, high, words, word_start, sets, leaf_words, twin_word, first_word,
    ceiling,
):  # fmt: skip
    """Largest difference in a box, the leaves that show it, and -1; stops at `ceiling`.

    Ends with the number of a folded node where it arrives at one: unfold it, and ask again. Takes
    arrays by themselves, since handing on tuples of them costs more than the descent does.
    """
    best, best_a, best_b = -np.inf, np.int64(-1), np.int64(-1)
    waiting[0] = root
    top = 0
    while top >= 0:
        at = waiting[top]
        top -= 1
        while nodes[at]["bound"] > best:
            place, cut = nodes[at]["place"], nodes[at]["cut"]
            one, two = np.int64(nodes[at]["first"]), np.int64(nodes[at]["second"])
            if place >= FOLDED:
                # Sets may each meet a box of which they share no cell.
                if len(words) and not meets_sets(
                    leaf_words, twin_word, first_word, one, two, words, word_start
                ):
                    break
                if place == FOLDED:
                    return best, one, two, at
                best, best_a, best_b = nodes[at]["bound"], one, two
                break
            if place >= 0:
                first, second = low[place] < cut, high[place] > cut
            else:
                first, second = False, False
                start = word_start[-1 - place]
                for w in range(start, word_start[-place]):
                    chosen = sets[cut, w - start]
                    first = first or (words[w] & chosen) != 0
                    second = second or (words[w] & ~chosen) != 0
            if first and second:
                if nodes[one]["bound"] < nodes[two]["bound"]:
                    one, two = two, one
                if nodes[two]["bound"] > best:
                    top += 1
                    waiting[top] = two
                at = one
            else:
                at = one if first else two
        if best >= ceiling:
            break
    return best, best_a, best_b, np.int64(-1)


@njit
def ask_tree(forest, pairs, boxes, t, low, high, words, ceiling, waiting):
    """Find the best pair of one tree in a box, expanding nodes where needed.

    Where the nodes are used up, all are forgotten and grown again. -1 stands for the leaves where
    they do not hold the output to a single question.
    """
    n_cleared = 0
    while n_cleared < 2:
        best, a, b, folded = best_twins(
            pairs.node, waiting, t, low, high, words, forest.word_start, forest.sets,
            boxes.words, boxes.twin_word, boxes.first_word, ceiling,
        )  # fmt: skip
        if folded < 0:
            return best, a, b
        if pairs.size[0] + SPARE_NODES >= len(pairs.node):
            plant(forest, pairs)
            n_cleared += 1
        else:
            unfold(forest, pairs, boxes, folded)
    return ceiling, np.int64(-1), np.int64(-1)


@inner
def best_leaf(forest, root, twin, low, high, words, waiting):
    """The leaf with the largest value that the first twin can reach; smallest, of the second."""
    best, leaf = -np.inf, root
    top = 0
    waiting[0] = root
    while top >= 0:
        # The box itself decides; a path that tests an attribute twice only loosens the bound.
        node = waiting[top]
        top -= 1
        value = forest.high[node] if twin == 0 else -forest.low[node]
        if value <= best:
            continue
        j = forest.attribute[node]
        if j < 0:
            best, leaf = value, node
            continue
        copy = forest.place_one[j] if twin == 0 else forest.place_two[j]
        if forest.ordered[j] == 1:
            cut = forest.cut[node]
            first, second = low[copy] < cut, high[copy] > cut
        else:
            first, second = False, False
            start = forest.word_start[copy]
            for w in range(start, forest.word_start[copy + 1]):
                chosen = forest.sets[forest.cut[node], w - start]
                first = first or (words[w] & chosen) != 0
                second = second or (words[w] & ~chosen) != 0
        if second:
            top += 1
            waiting[top] = forest.second[node]
        if first:
            top += 1
            waiting[top] = forest.first[node]
    return leaf
