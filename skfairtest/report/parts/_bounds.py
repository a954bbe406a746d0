"""What a certificate has brought: the search looks at it, and the certificate at the search."""

from __future__ import annotations

from typing import Annotated

from skfairtest.report._redact import neither
from skfairtest.report._types import Figure, PartResult


class CertificatePart(PartResult, frozen=True, kw_only=True, tag="certificate"):
    """How large the difference can get, as the certificate had it when it ended."""

    found: Annotated[float | None, neither("What the search had found.")] = None
    lower: Figure = None
    upper: Annotated[
        float | None, neither("None in the domain is larger; null if not certified.")
    ] = None
    certified: Annotated[bool, neither("Whether both bounds meet.")] = False
    stop_reason: Annotated[str, neither()] = ""
    engine: Annotated[str, neither("What bounded trees: numpy, numba, or empty.")] = ""
