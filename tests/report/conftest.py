"""The report that most tests look at."""

import pytest


@pytest.fixture(scope="session")
def report():
    """An audit with all its parts but moved twins; `look` of `test_audit` made it."""
    from test_audit import LABELS, LOGISTIC, look

    from skfairtest import SBFTAuditor

    auditor = SBFTAuditor(max_queries=400)
    return look(LOGISTIC, y=LABELS, sensitive_features=["sex", "race"], auditor=auditor)
