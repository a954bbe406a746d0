"""
=======================================
What do bounds and a constraint change?
=======================================

A search may combine any values that occur in the data, also into an input that cannot exist. Bounds
and constraints tell it what can. This example audits the same model in three input spaces and
shows where the discriminatory inputs lie in each.

The model is one whose largest difference is known by construction, so that the search can be
checked: 10 over the whole domain, at an income of 62 and 41 hours.
"""

# %%
# Three input spaces
# ------------------
# Bounds limit one column at a time, a constraint may tie several together. The constraint here says
# that an income comes with hours: at most two units of income for each hour. It is an object that
# says in words what it demands.

import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from skfairtest import (
    ConstraintWarning,
    Implies,
    InputSpace,
    Is,
    Linear,
    Order,
    SBFTAuditor,
)
from skfairtest.datasets import make_biased_regression

bunch = make_biased_regression(random_state=0)
X, model = bunch.data, bunch.estimator
income_needs_hours = Linear({"income": 1, "hours": -2}, "<=", 0)
print(income_needs_hours)

spaces = {
    "values of the data": InputSpace(),
    "hours in 0 to 25": InputSpace(bounds={"hours": (0, 25)}),
    "hours in 0 to 25,\nincome at most 2 x hours": InputSpace(
        bounds={"hours": (0, 25)}, constraint=income_needs_hours
    ),
}
auditors = {}
for name, space in spaces.items():
    auditor = SBFTAuditor(
        model,
        sensitive_features="sex",
        threshold=1,
        space=space,
        max_queries=10_000,
        random_state=0,
    )
    auditors[name] = auditor.fit(X)

# %%
# The degree in each
# ------------------
# The smaller the space, the smaller the largest difference in it. No figure is wrong: each answers
# for its own space, and the space belongs to the finding. The rows of the data are a fixed set:
# bounds do not move or leave out any. A constraint, however, rules rows out; such a row has no
# twins to compare and counts as not discriminatory.

rows = []
for name, auditor in auditors.items():
    worst = auditor.worst_case_.iloc[0]
    rows.append(
        {
            "space": name.replace("\n", " "),
            "degree": auditor.fairness_degree_,
            "income": worst["income"],
            "hours": worst["hours"],
            "job": worst["job"],
            "on data": auditor.on_data_degree_,
        }
    )
print(pd.DataFrame(rows).round(2).to_string(index=False))

# %%
# Several constraints
# -------------------
# Constraints go together in a list, objects and functions alike. Objects know how to move an input
# to where they hold: of random inputs few satisfy all of them, of those that the space admits all.
# Those that leave nothing at all are named.

rules = [
    income_needs_hours,
    Order("experience", "<=", "points", offset=-15),
    Implies({"job": "teacher"}, {"hours": (10, 45)}),
]
with warnings.catch_warnings():
    # Invented data: some of its rows break these rules, which a warning says.
    warnings.simplefilter("ignore", ConstraintWarning)
    space = InputSpace(constraint=rules).fit(X, ["sex"])
print(space.constraint_)
rng = np.random.default_rng(0)
drawn = space.domain.draw(10_000, rng)
print(f"valid: {space.valid(drawn).mean():.0%} of random inputs, ", end="")
print(f"{space.valid(space.admission.repair(drawn, rng)).mean():.0%} of those that were repaired")

try:
    InputSpace(constraint=[*rules, Is("income", (150, None))]).fit(X, ["sex"])
except ValueError as error:
    print(error)

# %%
# Where the discriminatory inputs are
# -----------------------------------
# Darker points differ more. In the second space, the search goes to the edge of the bounds: the
# nearest place to the largest effect. In the third, it goes to the corner that the constraint
# leaves.

fig, axes = plt.subplots(1, 3, figsize=(10, 3.8), sharex=True, sharey=True, layout="constrained")
for ax, (name, auditor) in zip(axes, auditors.items(), strict=True):
    found = auditor.discriminatory_inputs_
    # Worst first, so that the plot has to be drawn from the back.
    points = ax.scatter(
        found["income"][::-1],
        found["hours"][::-1],
        c=auditor.disparities_[::-1],
        s=8,
        cmap="viridis_r",
        vmin=0,
        vmax=bunch.fairness_degree,
        rasterized=True,
    )
    worst = auditor.worst_case_.iloc[0]
    ax.plot(worst["income"], worst["hours"], marker="x", color="C3", markersize=9, mew=2)
    ax.set_title(f"{name}\ndegree {auditor.fairness_degree_:.1f}", fontsize=10)
    ax.set_xlabel("income")
axes[2].plot([20, 100], [10, 50], color="0.5", linestyle=":", label="income = 2 x hours")
axes[2].legend(loc="upper left", fontsize=9)
axes[0].set_ylabel("hours")
fig.colorbar(points, ax=axes, label="difference between the twins")
fig.suptitle("Discriminatory inputs found; the cross marks the worst", fontsize=11)

plt.show()
