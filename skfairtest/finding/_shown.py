"""Shows a fitted object in notebooks: its card, and below it scikit-learn's own HTML."""

from __future__ import annotations

from typing import Any


class ShownFinding:
    """Puts a card above scikit-learn's HTML; a mixin in front of its `BaseEstimator`.

    Through the two methods that notebooks look for, so that ``set_config(display="text")`` is kept
    and that nothing of scikit-learn's own is relied on.
    """

    def _card(self) -> str:
        """Return the card of a fitted object, or an empty text; subclasses override it."""
        return ""

    @property
    def _repr_html_(self) -> Any:
        """HTML for notebooks; no attribute where scikit-learn is told to display text."""
        own: Any = super()
        below = own._repr_html_  # raises the AttributeError that says so
        return lambda: self._card() + str(below())

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        """The same, for notebooks that ask for all they can show."""
        own: Any = super()
        bundle: dict[str, Any] = own._repr_mimebundle_(**kwargs)
        if "text/html" in bundle:
            bundle["text/html"] = self._card() + bundle["text/html"]
        return bundle
