"""Constraints state which inputs can exist; here they become rules on encoded values."""

from skfairtest.space._constraints.base import Constraint as Constraint
from skfairtest.space._constraints.base import Is
from skfairtest.space._constraints.objects import Allowed, Implies, Linear, Order

__all__ = ["Allowed", "Implies", "Is", "Linear", "Order"]
