"""measure_plausibility and two_sample_auc tell real rows from anything else."""

import numpy as np
from couples import people
from sklearn.ensemble import IsolationForest

from skfairtest import InputSpace
from skfairtest.comparison import measure_plausibility, two_sample_auc

FOREST = IsolationForest(n_estimators=10, contamination=0.1, random_state=0)


def test_real_rows_are_more_plausible_than_anything():
    X, real = people(400), people(150, seed=2)
    space = InputSpace().fit(X, ["sex"])
    anything = space.decode(space.domain.draw(150, np.random.default_rng(0)))
    good, bad = (
        measure_plausibility(Z, X, real, plausible=FOREST) for Z in (people(150, seed=3), anything)
    )
    assert good.accepted > 0.7 > bad.accepted and good.n_inputs == 150
    assert good.distance < bad.distance and good.distance_of_rows == bad.distance_of_rows
    assert good.two_sample_auc < 0.65 and bad.two_sample_auc > 0.9


def test_two_samples_need_rows():
    X = people(400)
    Z = np.random.default_rng(0).random((40, 3))
    assert np.isnan(two_sample_auc(Z[:5], Z))
    assert two_sample_auc(Z, Z) < 0.6
    assert np.isnan(measure_plausibility(X[:20], X, plausible=FOREST).two_sample_auc)
