"""Constraints state which inputs can exist; here they become rules on codes."""

from skfairtest.space._constraints.base import AllOf, Constraint, Is
from skfairtest.space._constraints.objects import Allowed, Implies, Linear, OneHot, Order

__all__ = ["AllOf", "Allowed", "Constraint", "Implies", "Is", "Linear", "OneHot", "Order"]
