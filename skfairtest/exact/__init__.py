"""Certified bounds of the fairness degree, one file a model family."""

from skfairtest.exact._auditor import CertifiedAuditor
from skfairtest.exact._certify import Certificate, certify

__all__ = ["Certificate", "CertifiedAuditor", "certify"]
