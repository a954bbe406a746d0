"""Testers of individual discrimination, one file a paper."""

from skfairtest.individual._aequitas import AequitasAuditor
from skfairtest.individual._random import RandomAuditor
from skfairtest.individual._sbft import SBFTAuditor
from skfairtest.individual._surrogate import SurrogateAuditor
from skfairtest.individual._themis import ThemisAuditor

__all__ = [
    "AequitasAuditor",
    "RandomAuditor",
    "SBFTAuditor",
    "SurrogateAuditor",
    "ThemisAuditor",
]
