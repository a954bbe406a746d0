"""Certify bounds of the fairness degree, with one file for each model verifier."""

from skfairtest.exact._auditor import CertifiedAuditor
from skfairtest.exact._certify import Certificate, certify
from skfairtest.exact._support import Support as Support

__all__ = ["Certificate", "CertifiedAuditor", "certify"]
