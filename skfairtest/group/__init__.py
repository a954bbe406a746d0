"""Auditors of group discrimination: they find the groups that a model treats differently."""

from typing import TYPE_CHECKING

from skfairtest._first_use import at_first_use

#: Where the public names are.
_HOMES = {
    "IDENTITY_TERMS": "_pools.terms",
    "SubgroupAuditor": "_subgroup",
    "TestSGDAuditor": "_testsgd",
    "TextSGDAuditor": "_textsgd",
    "selection_table": "_selection",
}
__all__ = [*_HOMES]

if TYPE_CHECKING:
    from skfairtest.group._pools.terms import IDENTITY_TERMS as IDENTITY_TERMS
    from skfairtest.group._selection import selection_table as selection_table
    from skfairtest.group._subgroup import SubgroupAuditor as SubgroupAuditor
    from skfairtest.group._testsgd import TestSGDAuditor as TestSGDAuditor
    from skfairtest.group._textsgd import TextSGDAuditor as TextSGDAuditor

__getattr__, __dir__ = at_first_use(globals(), _HOMES)
