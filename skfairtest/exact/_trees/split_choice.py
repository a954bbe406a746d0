"""Choosing where to cut a box: small compiled functions of the dive.

The trees' best pairs of leaves, the *heads*, are boxes, too. Where all heads share a point the
bound of the box is attained; else some copies have no cell that suits all heads, and a cut is worth
the more the more weight of heads it takes from each of the two children.
"""

from __future__ import annotations

# Types are those of the compiled code; annotations would only repeat them.
# mypy: disable-error-code="no-untyped-def"
import numpy as np

from skfairtest.exact._trees.compiled import njit, njit_fast

#: Columns of a proposed cut: score, 1 if ordered, place, cell or the tree whose head's set cuts.
SCORE, ORDERED, PLACE, CELL = 0, 1, 2, 3


@njit
def gather_heads(boxes, one, two, heads):
    """Boxes of the heads: what both leaves of each pair allow."""
    lows, highs, words = boxes.low, boxes.high, boxes.words
    twin_ordered, first_ordered = boxes.twin_ordered, boxes.first_ordered
    twin_word, first_word = boxes.twin_word, boxes.first_word
    head_low, head_high, head_words = heads.low, heads.high, heads.words
    for t in range(len(one)):
        a, b = one[t], two[t]
        for c in range(len(head_low)):
            low, high = 0, 2**31 - 1
            if twin_ordered[c] != 1:
                low, high = lows[a, c], highs[a, c]
            if twin_ordered[c] != 0:
                own = first_ordered[c]
                low, high = max(low, lows[b, own]), min(high, highs[b, own])
            head_low[c, t], head_high[c, t] = low, high
        for w in range(len(head_words)):
            word = ~np.uint64(0)
            if twin_word[w] != 1:
                word = words[a, w]
            if twin_word[w] != 0:
                word &= words[b, first_word[w]]
            head_words[w, t] = word


@njit
def common(heads, word_start, low, high, words):
    """Shrink a box to what all heads share; whether anything is left."""
    for c in range(len(low)):
        low[c] = max(low[c], heads.low[c].max())
        high[c] = min(high[c], heads.high[c].min())
        if low[c] >= high[c]:
            return False
    for m in range(len(word_start) - 1):
        some = False
        for w in range(word_start[m], word_start[m + 1]):
            for word in heads.words[w]:
                words[w] &= word
            some = some or words[w] != 0
        if not some:
            return False
    return True


@njit_fast
def mass_ordered(lows, highs, weights, cell):
    """Weight of the heads that a cut takes from the child below and above it."""
    below, above = 0.0, 0.0
    for t in range(len(weights)):
        below += weights[t] if lows[t] >= cell else 0.0
        above += weights[t] if highs[t] <= cell else 0.0
    return below, above


@njit_fast
def mass_word(head_words, weights, chosen, others):
    """The same for a cut of a set of cells in two, where the set is a single word."""
    inside, outside = 0.0, 0.0
    for t in range(len(weights)):
        inside += weights[t] if head_words[t] & chosen == 0 else 0.0
        outside += weights[t] if head_words[t] & others == 0 else 0.0
    return inside, outside


@njit
def mass_set(head_words, weights, start, end, proposer, words):
    """The same for the cut into the cells of one head's set and all others."""
    if end == start + 1:
        chosen = words[start] & head_words[start, proposer]
        return mass_word(head_words[start], weights, chosen, words[start] & ~chosen)
    inside, outside = 0.0, 0.0
    for t in range(len(weights)):
        some_in, some_out = False, False
        for w in range(start, end):
            own = head_words[w, t] & words[w]
            some_in = some_in or (own & head_words[w, proposer]) != 0
            some_out = some_out or (own & ~head_words[w, proposer]) != 0
        if not some_in:
            inside += weights[t]
        if not some_out:
            outside += weights[t]
    return inside, outside


@njit
def is_new(head_words, top, i, words, start, end):
    """Whether a proposer's set cuts the box otherwise than those of all proposers before it."""
    for k in range(i):
        same = True
        for w in range(start, end):
            same = same and (head_words[w, top[i]] ^ head_words[w, top[k]]) & words[w] == 0
        if same:
            return False
    return True


@njit
def worth(a, b):
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


@njit
def conflict(heads, word_start, ordered, place, words):
    """Whether the heads share no cell of a copy."""
    if ordered:
        return heads.low[place].max() >= heads.high[place].min()
    for w in range(word_start[place], word_start[place + 1]):
        left = words[w]
        for word in heads.words[w]:
            left &= word
        if left:
            return False
    return True


@njit
def propose(heads, weights, word_start, low, high, words, cut, n_proposers, everywhere):
    """Write the cut that separates heads best; whether there is one.

    Every cut splits the box into two smaller ones, so that its worth decides on speed alone. Only
    the heaviest heads propose. Copies in which all heads agree are passed over unless `everywhere`.
    """
    top = heaviest(weights, n_proposers)
    cut[SCORE] = -1.0
    for c in range(len(low)):
        if not everywhere and not conflict(heads, word_start, True, c, words):
            continue
        lows, highs, before = heads.low[c], heads.high[c], -1
        for i in range(2 * len(top)):
            t = top[i // 2]
            cell = lows[t] if i % 2 == 0 else highs[t]
            if not low[c] < cell < high[c] or cell == before:
                continue
            before = cell
            score = worth(*mass_ordered(lows, highs, weights, cell))
            if score > cut[SCORE]:
                cut[SCORE], cut[ORDERED], cut[PLACE], cut[CELL] = score, 1, c, cell
    for m in range(len(word_start) - 1):
        if not everywhere and not conflict(heads, word_start, False, m, words):
            continue
        start, end = word_start[m], word_start[m + 1]
        for i, t in enumerate(top):
            strict = False
            for w in range(start, end):
                strict = strict or (words[w] & ~heads.words[w, t]) != 0
            if not strict or not is_new(heads.words, top, i, words, start, end):
                continue
            score = worth(*mass_set(heads.words, weights, start, end, t, words))
            if score > cut[SCORE]:
                cut[SCORE], cut[ORDERED], cut[PLACE], cut[CELL] = score, 0, m, t
    return cut[SCORE] >= 0
