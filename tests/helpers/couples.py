"""A table in which some inputs are plausible and others are not."""

import numpy as np
import pandas as pd


def people(n, seed=0):
    """Years at work follow from the age, husbands are men and wives are women."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 70, n)
    sex = rng.choice(["f", "m"], n)
    single = rng.random(n) < 0.4
    return pd.DataFrame(
        {
            "sex": sex,
            "age": age,
            "years": np.maximum(0, age - 18 - rng.integers(0, 3, n)),
            "role": np.where(single, "single", np.where(sex == "m", "husband", "wife")),
            "score": np.round(age / 70 + rng.normal(0, 0.05, n), 2),
        }
    )
