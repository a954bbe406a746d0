"""Models that are services: estimators whose predictions come over HTTP."""

from skfairtest.remote._estimators import RemoteClassifier, RemoteRegressor

__all__ = ["RemoteClassifier", "RemoteRegressor"]
