"""Testers of group discrimination: the group that a model treats differently."""

from skfairtest.group._testsgd import TestSGDAuditor

__all__ = ["TestSGDAuditor"]
