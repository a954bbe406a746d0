"""The error about a model or a step that is not understood."""

from __future__ import annotations


class Unsupported(ValueError):
    """A model or a step that is not understood: the reason, and the nearest thing that works."""

    def __init__(self, reason: str, nearest: str) -> None:
        super().__init__(f"{reason} {nearest}")
        self.reason, self.nearest = reason, nearest
