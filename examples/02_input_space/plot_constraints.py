"""
=======================================
What do bounds and a constraint change?
=======================================

A search may combine any values that occur in the data, also into an input that cannot exist. Bounds
and constraints tell it what can. This example audits a lender's rule in three input spaces, and
shows where the largest differences lie in each.

The rule is known, so that the search can be checked. Twins are the same application from two
communities. Everywhere the rule takes points from one of these, and many more from its business
loans of 10,000 or more in the first three years of employment: there, and only there, lies the
worst case.
"""

# %%
# Three input spaces
# ------------------
# Bounds limit one column at a time, a constraint may tie several together. The constraint here says
# that nobody borrows more than two months' income. It is an object that says in words what it
# demands.

import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from skfairtest import Implies, InputSpace, Is, Linear, Order, SBFTAuditor
from skfairtest.datasets import load_loans
from skfairtest.exceptions import ConstraintWarning

loans = load_loans()
X, model = loans.data, loans.estimator
two_months = Linear({"amount": 1, "income": -2}, "<=", 0)
print(two_months)

spaces = {
    "any values of the data": InputSpace(),
    "amounts up to 9,000": InputSpace(bounds={"amount": (1_000, 9_000)}),
    "at most 2 months' income": InputSpace(constraint=two_months),
}
auditors = {}
for name, space in spaces.items():
    auditor = SBFTAuditor(
        model,
        sensitive_features="community",
        threshold=0.1,
        space=space,
        max_queries=10_000,
        random_state=0,
    )
    with warnings.catch_warnings():
        # Most of the invented applicants ask for more than two months' income, as a warning says.
        warnings.simplefilter("ignore", ConstraintWarning)
        auditors[name] = auditor.fit(X)

# %%
# The degree in each
# ------------------
# The degree, which is the largest difference, can only shrink with the space. No figure is wrong:
# each answers for its own space, and the space belongs to the finding. The rows of the data are a
# fixed set: bounds do not move or leave out any. A constraint, however, rules rows out; such a row
# has no twins to compare and counts as not discriminatory.

rows = []
for name, auditor in auditors.items():
    worst = auditor.worst_case_.iloc[0]
    rows.append(
        {
            "space": name,
            "degree": auditor.fairness_degree_,
            "purpose": worst["purpose"],
            "amount": worst["amount"],
            "income": worst["income"],
            "on data": auditor.on_data_degree_,
        }
    )
print(pd.DataFrame(rows).round(2).to_string(index=False))
print(f"known of the rule, over all inputs: {loans.fairness_degree:.3f}")

# %%
# Several constraints
# -------------------
# Constraints go together in a list, objects and functions alike. Objects know how to move an input
# to where they hold: of random inputs few satisfy all of them, of those that were moved all do.
# Those that leave nothing at all are named.

rules = [
    two_months,
    Order("years_employed", "<=", "age", offset=-18),
    Implies({"purpose": "car"}, {"amount": (1_000, 20_000)}),
]
with warnings.catch_warnings():
    warnings.simplefilter("ignore", ConstraintWarning)
    space = InputSpace(constraint=rules).fit(X, ["community"])
    nowhere = InputSpace(constraint=[*rules, Is("income", (15_000, None))]).fit(X, ["community"])
print(*space.constraints_, sep="\n")
rng = np.random.default_rng(0)
drawn = space.domain.draw(10_000, rng)
print(f"valid: {space.valid(drawn).mean():.0%} of random inputs, ", end="")
print(f"{space.valid(space.feasibility.repair(drawn, rng)).mean():.0%} of those that were moved")

try:
    nowhere.sample(1, rng)
except ValueError as error:
    print(error)

# %%
# Where the largest differences are
# ---------------------------------
# Each point is an application that was found, and the cross is the worst. Bounds cut off the region
# of the worst case, and what is left differs little. The constraint leaves a part of it, for people
# with an income of 5,000 or more.

LARGE = 0.5
fig, axes = plt.subplots(1, 3, figsize=(9, 3.9), sharex=True, sharey=True, layout="constrained")
for ax, (name, auditor) in zip(axes, auditors.items(), strict=True):
    found, large = auditor.discriminatory_inputs_, auditor.disparities_ > LARGE
    for chosen, color, label in (
        (~large, "0.65", f"by up to {LARGE}"),
        (large, "C0", f"by more than {LARGE}"),
    ):
        some = found[chosen]
        ax.plot(some["income"], some["amount"], ".", color=color, label=label, rasterized=True)
    worst = auditor.worst_case_.iloc[0]
    ax.plot(worst["income"], worst["amount"], "kx", markersize=9, mew=2, label="largest")
    ax.set_title(f"{name}:\nlargest difference {auditor.fairness_degree_:.2f}", fontsize=10)
    ax.set_xlabel("monthly income")
axes[0].set_ylabel("amount of the loan")
fig.legend(
    *axes[0].get_legend_handles_labels(),
    title="The community alone changes the probability of a loan",
    loc="outside lower center",
    ncols=3,
    frameon=False,
)
anything, small, affordable = (auditor.fairness_degree_ for auditor in auditors.values())
fig.suptitle(
    f"A limit on amounts excludes the worst case ({small:.2f} instead of {anything:.2f}); "
    f"a limit by income does not ({affordable:.2f})",
    fontsize=11,
)

plt.show()
