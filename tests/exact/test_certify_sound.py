"""Random models over all families and steps: no bound is below what enumeration finds."""

from __future__ import annotations

import pytest
from soundness_cases import FAMILIES, boosting, check_case, make_case
from tiers import slow_sample

from skfairtest.exceptions import EstimatorFailedError

#: Models of the slow run, and how many a test.
N_MODELS, EACH = 2000, 50
SAMPLE = 8


def check_some(first, n, families=FAMILIES):
    """So many models that can be fitted, from seeds of their own."""
    done = certified = 0
    seed = first
    while done < n:
        case = make_case(seed, families)
        seed += 1
        assert seed < first + 4 * n, "most models cannot be fitted"
        if case is None:
            continue
        try:
            certified += check_case(*case)[0]
        except EstimatorFailedError:
            continue  # where no class has any score, what it gives is no probability
        except Exception as error:
            raise AssertionError(f"seed {seed - 1}, {case[0]!r}: {error}") from error
        done += 1
    # Bounds that are always loose would be right as well.
    assert certified > n / 2


@slow_sample
@pytest.mark.filterwarnings("ignore")
def test_a_sample_of_random_models(clock):
    clock.step = 0.01  # some gaps stay open
    check_some(0, SAMPLE)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("part", range(N_MODELS // EACH))
def test_random_models_over_all_families_and_steps(part):
    check_some(1000 + 4 * EACH * part, EACH)


@pytest.mark.services("xgboost", "lightgbm")
@pytest.mark.filterwarnings("ignore")
def test_a_sample_of_random_models_of_boosting_libraries(clock):
    clock.step = 0.01  # some gaps stay open
    check_some(500, SAMPLE, [boosting()])


@pytest.mark.services("xgboost", "lightgbm")
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("part", range(8))
def test_random_models_of_boosting_libraries(part):
    check_some(1000 + 4 * EACH * part, EACH, [boosting()])
