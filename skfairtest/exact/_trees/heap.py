"""A heap of numbers of nodes, the one with the largest bound on top, for compiled searches."""

from __future__ import annotations

# Types are those of the compiled code; annotations would only repeat them.
# mypy: disable-error-code="no-untyped-def"
from skfairtest.workers._compiled import inner


@inner
def push(heap, n, bounds, node):
    """Push a node onto the heap, largest bound on top; return the new size of the heap."""
    i = n
    heap[i] = node
    while i > 0:
        up = (i - 1) // 2
        if bounds[heap[up]] >= bounds[heap[i]]:
            break
        heap[up], heap[i] = heap[i], heap[up]
        i = up
    return n + 1


@inner
def pop(heap, n, bounds):
    """Pop the top of the heap; it then stands behind the heap's new end."""
    n -= 1
    heap[0], heap[n] = heap[n], heap[0]
    i = 0
    while True:
        child = 2 * i + 1
        if child >= n:
            break
        if child + 1 < n and bounds[heap[child + 1]] > bounds[heap[child]]:
            child += 1
        if bounds[heap[i]] >= bounds[heap[child]]:
            break
        heap[i], heap[child] = heap[child], heap[i]
        i = child
    return n
