"""Testers of individual discrimination, one file a paper."""

from skfairtest.individual._random import RandomAuditor
from skfairtest.individual._sbft import SBFTAuditor
from skfairtest.individual._surrogate import SurrogateAuditor

__all__ = ["RandomAuditor", "SBFTAuditor", "SurrogateAuditor"]
