"""Structural equations with two groups, whose rows in the other group are known."""

import numpy as np
import pandas as pd


def planted(n, seed):
    """Return groups, rows, and the same rows had they been in the other group."""
    rng = np.random.default_rng(seed)
    groups = rng.integers(0, 2, n)
    noise, luck = rng.normal(size=(4, n)), rng.uniform(size=n)

    def solved(g):
        age = 40 + 8 * noise[0]
        school = np.rint(12 + 1.5 * g + 0.05 * (age - 40) + 2 * noise[1])
        hours = 38 + 6 * g + 0.5 * (school - 12) + (3 + g) * noise[2]
        pay = np.exp(2 + 0.1 * school + 0.01 * hours + 0.3 * g + 0.2 * noise[3])
        owns = luck < 1 / (1 + np.exp(-(pay - 30) / 10 - g))
        columns = {"age": age, "school": school.astype(int), "hours": hours, "pay": pay}
        return pd.DataFrame({**columns, "home": np.where(owns, "owned", "rented")})

    return groups, solved(groups), solved(1 - groups)


GRAPH = {"school": ["age"], "hours": ["school"], "pay": ["school", "hours"], "home": ["pay"]}


def mixed(n, seed):
    """Return groups and a table with numbers, steps, categories, a one-hot group and gaps."""
    rng = np.random.default_rng(seed)
    groups = np.where(rng.random(n) < 0.5, "f", "m")
    m = groups == "m"
    district = np.where(rng.random(n) < 0.3 + 0.4 * m, "east", rng.choice(["west", "north"], n))
    color = rng.integers(0, 3, n) * np.where(rng.random(n) < 0.5, 1, m)
    size = rng.normal(size=n) + m
    X = pd.DataFrame(
        {
            "size": size,
            "points": rng.poisson(3 + 2 * m),
            "grade": np.round(rng.uniform(1, 5, n) - 0.5 * m, 1),
            "district": district,
            "gap": np.where(rng.random(n) < 0.1 + 0.3 * m, np.nan, size + rng.normal(size=n)),
            **{f"color_{k}": (color == k).astype(int) for k in range(3)},
        }
    )
    return groups, X
