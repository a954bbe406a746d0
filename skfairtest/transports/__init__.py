"""Transports: maps that move rows of one group to where another group's rows lie."""

from skfairtest.transports._quantile import QuantileTransport

__all__ = ["QuantileTransport"]
