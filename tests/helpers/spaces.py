"""Parameters of an auditor that describe its space, in the space."""

from __future__ import annotations

from typing import Any

from skfairtest import InputSpace


def in_space(params: dict[str, Any]) -> dict[str, Any]:
    """The parameters, those of `InputSpace` among them as one ``space=``."""
    own = {name: value for name, value in params.items() if name in InputSpace().get_params()}
    others = {name: value for name, value in params.items() if name not in own}
    return {**others, "space": InputSpace(**own)} if own else others
