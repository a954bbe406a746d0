"""AlternativesResult: what a search has found, in the forms that people read and file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from skfairtest.model_selection._alternatives.result import FoundAlternatives


class Forms:
    """Gives what a search for alternatives has found as a page, Markdown and JSON; a mixin.

    No form holds a row of the table: what stands in them of people are counts and rates of groups.
    """

    __slots__ = ()

    @property
    def _found(self) -> FoundAlternatives:
        """What was found."""
        raise NotImplementedError

    def to_html(
        self,
        *,
        title: str | None = None,
        purpose: str | None = None,
        owner: str | None = None,
        data: str | None = None,
    ) -> str:
        """Return what was found as one HTML page that loads nothing from outside.

        Parameters
        ----------
        title, purpose, owner, data : str, default=None
            What stands at the head of the page: its title, what the model is used for, who answers
            for it, and the name of the data.

        Returns
        -------
        str
            The page.

        Raises
        ------
        ImportError
            If jinja2 is missing (the extra ``report``); `to_json` and `to_markdown` do not need it.
        """
        from skfairtest.model_selection._alternatives.page import page_of
        from skfairtest.report.render.html import page_in_html

        about = {"title": title, "purpose": purpose, "owner": owner, "data": data}
        return page_in_html(page_of(self._found), about)

    def save_html(
        self,
        path: Any,
        *,
        title: str | None = None,
        purpose: str | None = None,
        owner: str | None = None,
        data: str | None = None,
    ) -> None:
        """Write the page of `to_html` to a file.

        Parameters
        ----------
        path : str or path
            File to write. An existing file is replaced.
        title, purpose, owner, data : str, default=None
            As in `to_html`.
        """
        html = self.to_html(title=title, purpose=purpose, owner=owner, data=data)
        _write(path, html)

    def to_markdown(self, path: Any = None) -> str | None:
        """Return what was found as Markdown without pictures, or write it to a file.

        Parameters
        ----------
        path : str or path, default=None
            File to write. An existing file is replaced. None returns the text.

        Returns
        -------
        str or None
            The text if `path` is None.
        """
        from skfairtest.model_selection._alternatives.page import page_of
        from skfairtest.report.render.markdown import page_in_markdown

        return _given(path, page_in_markdown(page_of(self._found)))

    def to_json(self, path: Any = None) -> str | None:
        """Return what was found as JSON, or write it to a file.

        Parameters
        ----------
        path : str or path, default=None
            File to write. An existing file is replaced. None returns the JSON.

        Returns
        -------
        str or None
            The JSON if `path` is None. ``AlternativesResult.from_json`` reads it.
        """
        from skfairtest.model_selection._alternatives.page import without_values

        return _given(path, msgspec.json.encode(without_values(self._found)).decode() + "\n")


class AlternativesResult(Forms, FoundAlternatives, frozen=True, kw_only=True):
    """All that a search for alternatives has found.

    ``print`` and notebooks show the verdict and what it rests on; ``save_html`` writes a page to
    file.

    Attributes
    ----------
    verdict : {"found", "not found", "cannot be told"}
        Whether an alternative was found.
    sentence : str
        The verdict in words, with its figures.
    best : str
        Name of the alternative that was found, else "original".
    nearest : str
        Name of what was found, or, where it cannot be told, of the judged candidate that needs
        fewest rows to be found, or of one that has a gain and was not judged, as its score is too
        low by its estimate; else "original".
    rows_needed : int or None
        How many rows would tell, where these cannot.
    not_excluded : float or None
        The largest gain of a candidate as good as the original that the rows do not exclude.
    alternatives : list of Alternative
        The original first, then the candidates in the order in which they were tried.
    settings : SearchSettings
        How was searched.

    See Also
    --------
    AlternativesSearchCV : Makes it.
    """

    @property
    def _found(self) -> FoundAlternatives:
        return self

    def __repr__(self) -> str:
        from skfairtest.model_selection._alternatives.page import text_of

        return text_of(self)

    def _repr_html_(self) -> str:
        """The card that notebooks show."""
        from skfairtest.model_selection._alternatives.page import card_of

        return card_of(self)

    @classmethod
    def from_json(cls, path: Any) -> AlternativesResult:
        """Read what `to_json` wrote or returned.

        Parameters
        ----------
        path : str or path
            The file, or the JSON itself: a string that begins with "{".

        Returns
        -------
        AlternativesResult
            What was found.

        Raises
        ------
        ValueError
            If it is something else.
        """
        is_json = isinstance(path, str) and path.lstrip().startswith("{")
        text = path if is_json else Path(path).read_bytes()
        try:
            return msgspec.json.decode(text, type=cls)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise ValueError(
                f"Expected the JSON that AlternativesResult.to_json wrote; got none of it ({error})"
                ". Give the whole file."
            ) from error


def _given(path: Any, text: str) -> str | None:
    """The text, or None where it is written to a file."""
    if path is None:
        return text
    _write(path, text)
    return None


def _write(path: Any, text: str) -> None:
    from skfairtest.report._report import write

    write(path, text)
