"""Auditors of group discrimination: they find the groups that a model treats differently."""

from skfairtest.group._pools.terms import IDENTITY_TERMS
from skfairtest.group._selection import selection_table
from skfairtest.group._subgroup import SubgroupAuditor
from skfairtest.group._testsgd import TestSGDAuditor
from skfairtest.group._textsgd import TextSGDAuditor

__all__ = [
    "IDENTITY_TERMS",
    "SubgroupAuditor",
    "TestSGDAuditor",
    "TextSGDAuditor",
    "selection_table",
]
