"""Testers of individual discrimination: auditors that search for twins treated differently."""

from skfairtest.individual._aequitas import AequitasAuditor
from skfairtest.individual._flip_test.auditor import FlipTestAuditor
from skfairtest.individual._gradient.auditors import ADFAuditor, EIDIGAuditor, MAFTAuditor
from skfairtest.individual._random import RandomAuditor
from skfairtest.individual._sbft.auditor import SBFTAuditor
from skfairtest.individual._sbft.published import PublishedSBFTAuditor
from skfairtest.individual._surrogate.auditor import SurrogateAuditor
from skfairtest.individual._symbolic.auditor import SymbolicAuditor
from skfairtest.individual._themis.auditor import ThemisAuditor

__all__ = [
    "ADFAuditor",
    "AequitasAuditor",
    "EIDIGAuditor",
    "FlipTestAuditor",
    "MAFTAuditor",
    "PublishedSBFTAuditor",
    "RandomAuditor",
    "SBFTAuditor",
    "SurrogateAuditor",
    "SymbolicAuditor",
    "ThemisAuditor",
]
