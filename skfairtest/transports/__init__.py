"""Transports: maps that move rows of one group to where another group's rows lie."""

from skfairtest.transports._optimal import OptimalTransport
from skfairtest.transports._quantile import QuantileTransport
from skfairtest.transports._sequential import SequentialTransport

__all__ = ["OptimalTransport", "QuantileTransport", "SequentialTransport"]
