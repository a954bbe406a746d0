"""Transports: maps that move rows of one group to where another group's rows lie."""

from typing import TYPE_CHECKING

from skfairtest._first_use import at_first_use

#: Where the public names are.
_HOMES = {
    "OptimalTransport": "_optimal",
    "QuantileTransport": "_quantile",
    "SequentialTransport": "_sequential",
}
__all__ = [*_HOMES]

if TYPE_CHECKING:
    from skfairtest.transports._optimal import OptimalTransport as OptimalTransport
    from skfairtest.transports._quantile import QuantileTransport as QuantileTransport
    from skfairtest.transports._sequential import SequentialTransport as SequentialTransport

__getattr__, __dir__ = at_first_use(globals(), _HOMES)
