"""HTTP headers whose values are secret: they are neither shown nor saved."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


class Headers(Mapping[str, str]):
    """Map names of headers to values; representations and files contain the names only."""

    def __init__(self, values: Mapping[str, str]) -> None:
        self._values = {str(name): str(value) for name, value in values.items()}
        #: Names whose values were left out when this was saved.
        self.left_out: list[str] = []

    def __getitem__(self, name: str) -> str:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return repr(dict.fromkeys([*self._values, *self.left_out], "***"))

    def __copy__(self) -> Headers:
        return Headers(self._values)

    def __deepcopy__(self, memo: Any) -> Headers:
        # `clone` copies parameters; nothing leaves the process by that.
        return Headers(self._values)

    def __getstate__(self) -> dict[str, Any]:
        return {"left_out": [*self._values, *self.left_out]}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._values = {}
        self.left_out = list(state["left_out"])

    def hidden_in(self, text: str) -> str:
        """Return a text with the values of the headers hidden."""
        for value in self._values.values():
            for secret in (value, value.rpartition(" ")[2]):  # "Bearer ..."
                if len(secret) > 3:
                    text = text.replace(secret, "***")
        return text
