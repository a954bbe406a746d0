"""Choose where to cut a box, by small compiled functions of the best-first search.

The trees' best leaf pairs are boxes, too. Where all of them share a point the bound of the box is
attained; else some copies have no cell that suits all pairs, and a cut scores the more the more
weight of pairs it takes from each of the two children.
"""

from __future__ import annotations

# Types are those of the compiled code; annotations would only repeat them.
# mypy: disable-error-code="no-untyped-def"
import numpy as np

from skfairtest.workers._compiled import inner, njit, njit_fast

#: Of so many boxes one is cut by its leaf values, too.
VALUE_TURN = 4
#: Share of a value by which the bound is far above it. Nearer by, chance finds better leaf values.
VALUE_GAP = 1e-4
#: Columns of a proposed cut: score, 1 if ordered, place, cell or the tree whose pair's set cuts.
SCORE, ORDERED, PLACE, CELL = 0, 1, 2, 3


@inner
def by_differences(links):
    """Whether conflicts are weighed by differences alone, and leaf values are cut by themselves.

    Of a logistic function the difference counts most. Of a softmax with its many sums, and of an
    exponential, leaf values do as much: weighed together they close in fewer boxes.
    """
    few = True
    for g in range(len(links.link)):
        few = few and links.link[g] <= 1
    return few


@inner
def collect_boxes(boxes, one, two, best):
    """Boxes of the best pairs: what both leaves of each allow."""
    lows, highs, words = boxes.low, boxes.high, boxes.words
    twin_ordered, first_ordered = boxes.twin_ordered, boxes.first_ordered
    twin_word, first_word = boxes.twin_word, boxes.first_word
    pair_low, pair_high, pair_words = best.low, best.high, best.words
    for t in range(len(one)):
        a, b = one[t], two[t]
        for c in range(len(pair_low)):
            low, high = 0, 2**31 - 1
            if twin_ordered[c] != 1:
                low, high = lows[a, c], highs[a, c]
            if twin_ordered[c] != 0:
                own = first_ordered[c]
                low, high = max(low, lows[b, own]), min(high, highs[b, own])
            pair_low[c, t], pair_high[c, t] = low, high
        for w in range(len(pair_words)):
            word = ~np.uint64(0)
            if twin_word[w] != 1:
                word = words[a, w]
            if twin_word[w] != 0:
                word &= words[b, first_word[w]]
            pair_words[w, t] = word


@inner
def common(best, word_start, low, high, words):
    """Shrink a box to what all best pairs share; return whether it is not empty."""
    shared = True
    for c in range(len(low)):
        lows, highs = best.low[c], best.high[c]
        for t in range(len(lows)):
            low[c], high[c] = max(low[c], lows[t]), min(high[c], highs[t])
        if low[c] >= high[c]:
            shared = False
            break
    for m in range(len(word_start) - 1):
        some = False
        for w in range(word_start[m], word_start[m + 1]):
            for t in range(best.words.shape[1]):
                words[w] &= best.words[w, t]
            some = some or words[w] != 0
        shared = shared and some
    return shared


@njit_fast
def mass_ordered(lows, highs, weights, cell):
    """Weight of the pairs that a cut takes from the child below and above it."""
    below, above = 0.0, 0.0
    for t in range(len(weights)):
        below += weights[t] if lows[t] >= cell else 0.0
        above += weights[t] if highs[t] <= cell else 0.0
    return below, above


@njit_fast
def mass_word(pair_words, weights, chosen, others):
    """The same for a cut of a set of cells in two, where the set is a single word."""
    inside, outside = 0.0, 0.0
    for t in range(len(weights)):
        inside += weights[t] if pair_words[t] & chosen == 0 else 0.0
        outside += weights[t] if pair_words[t] & others == 0 else 0.0
    return inside, outside


@inner
def mass_set(pair_words, weights, start, end, proposer, words):
    """The same for the cut into the cells of one pair's set and all others."""
    inside, outside = 0.0, 0.0
    if end == start + 1:
        chosen = words[start] & pair_words[start, proposer]
        inside, outside = mass_word(pair_words[start], weights, chosen, words[start] & ~chosen)
    else:
        for t in range(len(weights)):
            some_in, some_out = False, False
            for w in range(start, end):
                own = pair_words[w, t] & words[w]
                some_in = some_in or (own & pair_words[w, proposer]) != 0
                some_out = some_out or (own & ~pair_words[w, proposer]) != 0
            if not some_in:
                inside += weights[t]
            if not some_out:
                outside += weights[t]
    return inside, outside


@inner
def is_new(pair_words, top, i, words, start, end):
    """Whether a proposer's set cuts the box otherwise than those of all proposers before it."""
    new = True
    for k in range(i):
        same = True
        for w in range(start, end):
            same = same and (pair_words[w, top[i]] ^ pair_words[w, top[k]]) & words[w] == 0
        if same:
            new = False
            break
    return new


@inner
def split_score(a, b):
    """Score of a cut that takes the weights a and b from its two children.

    Both children have to gain; what one gains alone counts little.
    """
    return a * b / (a + b) + 0.1 * max(a, b) if a + b > 0 else 0.0


@njit
def heaviest(weights, n):
    """The n trees with the largest weights, largest first."""
    top = np.empty(min(n, len(weights)), dtype=np.int64)
    size = 0
    for t in range(len(weights)):
        if size == len(top) and weights[t] <= weights[top[size - 1]]:
            continue
        i = min(size, len(top) - 1)
        size = min(size + 1, len(top))
        while i > 0 and weights[top[i - 1]] < weights[t]:
            top[i] = top[i - 1]
            i -= 1
        top[i] = t
    return top


@inner
def conflict(best, word_start, ordered, place, words):
    """Whether the best pairs share no cell of a copy."""
    if ordered:
        low, high = best.low[place, 0], best.high[place, 0]
        for t in range(best.low.shape[1]):
            low, high = max(low, best.low[place, t]), min(high, best.high[place, t])
        none = low >= high
    else:
        none = True
        for w in range(word_start[place], word_start[place + 1]):
            left = words[w]
            for t in range(best.words.shape[1]):
                left &= best.words[w, t]
            none = none and left == 0
    return none


@inner
def propose(best, weights, word_start, low, high, words, cut, n_proposers):
    """Write the cut that separates most of the best pairs; return whether there is one.

    Every cut splits the box into two smaller ones, so that its score decides on speed alone. Only
    the heaviest pairs propose, in copies in which not all agree; with 0 proposers all, everywhere.
    """
    everywhere = n_proposers == 0
    top = heaviest(weights, len(weights) if everywhere else n_proposers)
    cut[SCORE] = -1.0
    for c in range(len(low)):
        if not everywhere and not conflict(best, word_start, True, c, words):
            continue
        lows, highs, before = best.low[c], best.high[c], -1
        for i in range(2 * len(top)):
            t = top[i // 2]
            cell = lows[t] if i % 2 == 0 else highs[t]
            if not low[c] < cell < high[c] or cell == before:
                continue
            before = cell
            below, above = mass_ordered(lows, highs, weights, cell)
            score = split_score(below, above)
            if score > cut[SCORE]:
                cut[SCORE], cut[ORDERED], cut[PLACE], cut[CELL] = score, 1, c, cell
    for m in range(len(word_start) - 1):
        if not everywhere and not conflict(best, word_start, False, m, words):
            continue
        start, end = word_start[m], word_start[m + 1]
        for i in range(len(top)):
            t, strict = top[i], False
            for w in range(start, end):
                strict = strict or (words[w] & ~best.words[w, t]) != 0
            if not strict or not is_new(best.words, top, i, words, start, end):
                continue
            inside, outside = mass_set(best.words, weights, start, end, t, words)
            score = split_score(inside, outside)
            if score > cut[SCORE]:
                cut[SCORE], cut[ORDERED], cut[PLACE], cut[CELL] = score, 0, m, t
    return cut[SCORE] >= 0
