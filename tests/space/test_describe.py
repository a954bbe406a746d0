"""A space in words."""

import numpy as np
import pandas as pd

from skfairtest import InputSpace, Order


def table(n=400):
    rng = np.random.default_rng(0)
    age = rng.integers(18, 80, n)
    sex = rng.choice(["f", "m"], n)
    frame = pd.DataFrame(
        {
            "sex": sex,
            "race": rng.choice(list("abc"), n),
            "age": age,
            "years": np.where(sex == "m", 0, age - 18),
            "income": 100 * rng.integers(1, 90, n),
            "weight": rng.normal(size=n),
            "gain": np.where(rng.random(n) < 0.8, 0, rng.choice([7298, 15024, 99999], n)),
        }
    )
    return pd.get_dummies(frame, columns=["race"])


def test_attributes_in_words():
    told = InputSpace().fit(table(), ["sex"]).describe().set_index("attribute")
    assert told.loc["race", "kind"] == "one-hot group"
    assert told.loc["race", "columns"] == 3
    assert told.loc["income", "step"] == 100
    assert told.loc["age", "step"] == 1
    assert np.isnan(told.loc["weight", "step"])
    assert told.loc["gain", "domain"] == "0, 7298, 15024, 99999"
    assert told["sensitive"].sum() == 1


def test_conditions_in_words():
    space = InputSpace(
        constraint=Order("years", "<=", "age", offset=-18), twins={"sex": {"m": {"years": 0}}}
    ).fit(table(), ["sex"])
    assert space.conditions == [
        "exactly one of the columns ['race_a', 'race_b', 'race_c'] is 1; they are the attribute "
        "'race'",
        "years <= age - 18",
        "if sex is m, years is 0, also in twins",
    ]
    assert InputSpace(one_hot=None).fit(table(), ["sex"]).conditions == []
