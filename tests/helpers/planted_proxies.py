"""Structural equations of groups, whose rows in another group are known."""

from types import SimpleNamespace

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


#: Groups of `with_proxies`: their shares, and how far each is moved.
SHARES = {2: {"a": 0.6, "b": 0.4}, 3: {"a": 0.5, "b": 0.3, "c": 0.2}}
STRENGTHS = {"a": 0.0, "b": 1.0, "c": -0.6}


def with_proxies(n, *, n_groups=2, regression=False, random_state=0):
    """A table whose columns depend on the group, a target that depends on the group by them alone.

    Returns `data` with the column "group", `target`, `sensitive` (the groups), and `moved`: the
    table as it would be in each group, with the noise of each row.
    """
    rng = np.random.default_rng(random_state)
    shares = SHARES[n_groups]
    # The sizes of the groups are fixed.
    places = np.searchsorted(np.cumsum(list(shares.values())), (np.arange(n) + 0.5) / n)
    groups = rng.permutation(np.array(list(shares), dtype=object)[places])
    age, region = rng.random(n), rng.random(n)
    noise = rng.standard_normal((5, n))

    def solved(own):
        g = np.array([STRENGTHS[name] for name in own])
        row = {"age": np.floor(20.0 + 45.0 * age).astype(np.int64)}
        z, r = (row["age"] - 42.0) / 13.0, np.searchsorted([0.5, 0.8], region, side="right")
        row["region"] = pd.Categorical.from_codes(r, ["north", "south", "east"])
        row["hours"] = 36.0 + 2.0 * z - 3.0 * g + 4.0 * (1.0 - 0.2 * g) * noise[0]
        row["rating"] = 60.0 + 4.0 * z - 8.0 * g + 10.0 * (1.0 - 0.2 * g) * noise[1]
        log = 3.0 + 0.03 * (row["hours"] - 36.0) + 0.015 * (row["rating"] - 60.0)
        row["income"] = np.exp(log + 0.1 * r - 0.25 * g + 0.35 * noise[2])
        log = 0.6 - 0.4 * (np.log(row["income"]) - 3.0) + 0.3 * g + 0.7 * noise[3]
        row["late_payments"] = np.floor(np.exp(log)).astype(np.int64)
        # What does not matter to the score.
        row["distance"] = np.exp(1.0 + 0.2 * r + 0.5 * g + 0.5 * noise[4])
        return pd.DataFrame({"group": pd.Categorical(own, list(shares)), **row}), z, r

    data, z, r = solved(groups)
    hours, income = data["hours"] - 36.0, np.log1p(data["income"]) - 3.0
    score = 0.2 + 0.3 * z + 0.2 * r + 0.05 * hours + 0.04 * (data["rating"] - 60.0)
    score += (1.2 + 0.03 * hours) * income - 0.2 * np.minimum(data["late_payments"], 8)
    if regression:
        target = pd.Series(score + 0.5 * rng.standard_normal(n))
    else:
        target = pd.Series(np.where(rng.random(n) < 1.0 / (1.0 + np.exp(-score)), "yes", "no"))
    moved = {name: solved([name] * n)[0] for name in shares}
    return SimpleNamespace(data=data, target=target, sensitive=data["group"], moved=moved)
