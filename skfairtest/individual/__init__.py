"""Testers of individual discrimination, one file a paper."""

from skfairtest.individual._aequitas import AequitasAuditor
from skfairtest.individual._gradient.auditors import ADFAuditor, EIDIGAuditor, MAFTAuditor
from skfairtest.individual._random import RandomAuditor
from skfairtest.individual._sbft import SBFTAuditor
from skfairtest.individual._surrogate import SurrogateAuditor
from skfairtest.individual._symbolic import SymbolicAuditor
from skfairtest.individual._themis import ThemisAuditor

__all__ = [
    "ADFAuditor",
    "AequitasAuditor",
    "EIDIGAuditor",
    "MAFTAuditor",
    "RandomAuditor",
    "SBFTAuditor",
    "SurrogateAuditor",
    "SymbolicAuditor",
    "ThemisAuditor",
]
