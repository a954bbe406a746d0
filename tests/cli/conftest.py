"""Audits that commands ask for: each runs once, and moves people only where a test asks for it."""

import copy
import warnings

import joblib
import pytest
from gate_samples import ArrayOnly, Foreign, ReadsDates

from skfairtest.report import _audit

#: Models of the tests that answer the same however often they are asked, and print nothing.
STEADY = (ArrayOnly, Foreign, ReadsDates)


class Audits:
    """`audit`, with what it said before where the model, the table and the parameters are the same.

    Attributes
    ----------
    moves : bool, transport or list of transports
        What moves people, whatever a command says. It takes half of the time of an audit or more.
    asked : dict
        The parameters of the last audit, as the command gave them.
    """

    def __init__(self):
        self.known, self.real = {}, _audit.audit
        self.moves, self.asked = False, {}

    def __call__(self, model, X, y=None, **params):
        self.asked = params
        params = {**params, "moved": self.moves}
        is_steady = type(model) in STEADY or type(model).__module__.startswith("sklearn.")
        if not is_steady or params["progress"]:
            return self.real(model, X, y, **params)
        key = joblib.hash((model, X, y, params))
        if key not in self.known:
            with warnings.catch_warnings(record=True) as told:
                self.known[key] = self.real(model, X, y, **params), told
        report, told = self.known[key]
        for one in told:
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
        return copy.copy(report)


@pytest.fixture(scope="session")
def all_audits():
    return Audits()


@pytest.fixture(autouse=True)
def audits(all_audits, monkeypatch):
    """What commands call in place of `audit`."""
    monkeypatch.setattr(_audit, "audit", all_audits)
    all_audits.moves = False
    return all_audits
