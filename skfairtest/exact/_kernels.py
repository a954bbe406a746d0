"""Choosing where to cut a box: small compiled functions of the dive.

The trees' best pairs of leaves, the *heads*, are boxes, too. Where all heads share a point the
bound of the box is attained; else some copies have no cell that suits all heads, and a cut is worth
the more the more weight of heads it takes from each of the two children.
"""

from __future__ import annotations

# Types are those of the compiled code; annotations would only repeat them.
# mypy: disable-error-code="no-untyped-def"
import numpy as np

from skfairtest.exact._compiled import njit

#: Columns of a proposed cut: score, 1 if ordered, place, cell or the tree whose head's set cuts.
SCORE, ORDERED, PLACE, CELL = 0, 1, 2, 3


@njit
def gather_heads(boxes, one, two, heads):
    """Boxes of the heads: what both leaves of each pair allow."""
    for t in range(len(one)):
        a, b = one[t], two[t]
        for c in range(heads.low.shape[1]):
            low, high = 0, 2**31 - 1
            if boxes.twin_ordered[c] != 1:
                low, high = boxes.low[a, c], boxes.high[a, c]
            if boxes.twin_ordered[c] != 0:
                own = boxes.first_ordered[c]
                low = max(low, boxes.low[b, own])
                high = min(high, boxes.high[b, own])
            heads.low[t, c], heads.high[t, c] = low, high
        for w in range(heads.words.shape[1]):
            word = ~np.uint64(0)
            if boxes.twin_word[w] != 1:
                word = boxes.words[a, w]
            if boxes.twin_word[w] != 0:
                word &= boxes.words[b, boxes.first_word[w]]
            heads.words[t, w] = word


@njit
def common(heads, word_start, low, high, words):
    """Shrink a box to what all heads share; whether anything is left."""
    for t in range(len(heads.low)):
        for c in range(len(low)):
            low[c] = max(low[c], heads.low[t, c])
            high[c] = min(high[c], heads.high[t, c])
        for w in range(len(words)):
            words[w] &= heads.words[t, w]
    for c in range(len(low)):
        if low[c] >= high[c]:
            return False
    for m in range(len(word_start) - 1):
        some = False
        for w in range(word_start[m], word_start[m + 1]):
            some = some or words[w] != 0
        if not some:
            return False
    return True


@njit
def mass_ordered(heads, weights, place, cell):
    """Weight of the heads that a cut takes from the child below and above it."""
    below, above = 0.0, 0.0
    for t in range(len(weights)):
        if heads.low[t, place] >= cell:
            below += weights[t]
        elif heads.high[t, place] <= cell:
            above += weights[t]
    return below, above


@njit
def mass_set(heads, weights, start, end, proposer, words):
    """The same for the cut into the cells of one head's set and all others."""
    inside, outside = 0.0, 0.0
    for t in range(len(weights)):
        some_in, some_out = False, False
        for w in range(start, end):
            own = heads.words[t, w] & words[w]
            some_in = some_in or (own & heads.words[proposer, w]) != 0
            some_out = some_out or (own & ~heads.words[proposer, w]) != 0
        if not some_in:
            inside += weights[t]
        if not some_out:
            outside += weights[t]
    return inside, outside


@njit
def enter(cuts, n, score, ordered, place, cell):
    """Put a proposed cut among the best so far, sorted by falling score; the new number."""
    if n == len(cuts):
        if score <= cuts[n - 1, SCORE]:
            return n
        n -= 1
    for i in range(n):
        if cuts[i, ORDERED] == ordered and cuts[i, PLACE] == place and cuts[i, CELL] == cell:
            return n
    i = n
    while i > 0 and cuts[i - 1, SCORE] < score:
        cuts[i] = cuts[i - 1]
        i -= 1
    cuts[i, SCORE], cuts[i, ORDERED], cuts[i, PLACE], cuts[i, CELL] = score, ordered, place, cell
    return n + 1


@njit
def conflict(heads, word_start, ordered, place, words):
    """Whether the heads share no cell of a copy."""
    if ordered:
        return heads.low[:, place].max() >= heads.high[:, place].min()
    for w in range(word_start[place], word_start[place + 1]):
        left = words[w]
        for t in range(len(heads.words)):
            left &= heads.words[t, w]
        if left:
            return False
    return True


@njit
def propose(heads, weights, word_start, low, high, words, cuts, n_proposers, everywhere):
    """Cuts that separate heads, best first; how many there are.

    Every cut splits the box into two smaller ones, so that its worth decides on speed alone. Only
    the heaviest heads propose. Copies in which all heads agree are passed over unless `everywhere`.
    """
    n = 0
    top = np.argsort(weights)[::-1][:n_proposers]
    total = weights.sum() + 1e-300
    for c in range(len(low)):
        if not everywhere and not conflict(heads, word_start, True, c, words):
            continue
        for i in range(2 * len(top)):
            t = top[i // 2]
            cell = heads.low[t, c] if i % 2 == 0 else heads.high[t, c]
            if low[c] < cell < high[c]:
                a, b = mass_ordered(heads, weights, c, cell)
                n = enter(cuts, n, (min(a, b) + 0.02 * max(a, b)) / total, 1, c, cell)
    for m in range(len(word_start) - 1):
        if not everywhere and not conflict(heads, word_start, False, m, words):
            continue
        for i in range(len(top)):
            t = top[i]
            strict = False
            for w in range(word_start[m], word_start[m + 1]):
                strict = strict or (words[w] & ~heads.words[t, w]) != 0
            if strict:
                a, b = mass_set(heads, weights, word_start[m], word_start[m + 1], t, words)
                n = enter(cuts, n, (min(a, b) + 0.02 * max(a, b)) / total, 0, m, t)
    return n
