"""Testers of individual discrimination, one file a paper."""

from skfairtest.individual._random import RandomAuditor
from skfairtest.individual._sbft import SBFTAuditor

__all__ = ["RandomAuditor", "SBFTAuditor"]
