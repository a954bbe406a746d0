"""What tests of reports share: maps that are judged quickly, and pages without pictures."""

from __future__ import annotations

from importlib import import_module

import pytest
from sklearn.naive_bayes import GaussianNB

from skfairtest.individual._flip_test import people
from skfairtest.report.render import plots


@pytest.fixture(scope="module")
def quick_maps():
    """Maps with few resamples, judged by a model that is quickly fitted."""
    # Readers of models are to know the real class, whenever they are imported.
    import_module("skfairtest.whitebox._histogram_trees")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(people, "SETTINGS", people.MovedSettings(n_again=2))
        judge = "sklearn.ensemble.HistGradientBoostingClassifier"
        patch.setattr(judge, lambda **_: GaussianNB())
        yield


@pytest.fixture
def unillustrated(monkeypatch):
    """Pages without pictures, which take most of the time; what they show is said beside them."""
    monkeypatch.setattr(plots, "draw", lambda figure, key: figure.alt)
