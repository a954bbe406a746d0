"""Constraints state which inputs can exist; here they become rules on codes."""

from skfairtest.space._constraints.base import Constraint, Is
from skfairtest.space._constraints.objects import Allowed, Implies, Linear, Order

__all__ = ["Allowed", "Constraint", "Implies", "Is", "Linear", "Order"]
