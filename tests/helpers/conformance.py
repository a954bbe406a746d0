"""scikit-learn's checks of an estimator, all of them in one call."""

from __future__ import annotations

from sklearn.utils.estimator_checks import check_estimator

#: A tag of an estimator can make scikit-learn leave out most of its checks without a word.
LEAST_CHECKS = 45


def assert_conforms(estimator, least=LEAST_CHECKS):
    """See that no check fails, none is expected to fail, and that most of them really ran."""
    results = check_estimator(estimator, on_skip=None, on_fail=None)
    failed = {r["check_name"]: r["exception"] for r in results if r["status"] == "failed"}
    if failed:
        name, error = failed.popitem()
        raise AssertionError(f"{name} failed; so did {sorted(failed)}") from error
    n_passed = sum(result["status"] == "passed" for result in results)
    assert n_passed >= least, f"only {n_passed} checks ran"
