"""
=======================================
Where along a column do two twins part?
=======================================

The worst pair of twins (inputs identical but for the sensitive attribute) is one point of the
domain. This example moves both of them along another column and draws the model's output for each.
"""

# %%
# A model and its worst pair
# --------------------------
# The model decides on invented applications for loans, from three invented communities. From one of
# them the lender took points, and more of them in the first three years of employment.

import matplotlib.pyplot as plt
from sklearn.ensemble import HistGradientBoostingClassifier

from skfairtest import ProfileDisplay, SBFTAuditor
from skfairtest.datasets import load_loans

X, y = load_loans(return_X_y=True)
model = HistGradientBoostingClassifier(max_depth=4, max_iter=50, random_state=0).fit(X, y)
auditor = SBFTAuditor(model, sensitive_features="community", random_state=0).fit(X)
print(f"largest difference found: {auditor.fairness_degree_:.2f}")

# %%
# Along the income
# ----------------
# A profile takes two queries for each value. Without a name, the column is the one along which the
# difference changes most.

display = ProfileDisplay.from_auditor(auditor, "income").plot()
pair = display.frame().query("is_pair").iloc[0]
display.figure_.suptitle(
    f"The same application from two communities: at an income of {pair['value']:,.0f}\n"
    f"the chance of a refusal is {pair['first']:.0%} for one and {pair['second']:.0%} for the other"
)
plt.show()

# %%
# The circle and the square mark the pair.
#
# What this does not show
# -----------------------
# All other columns stay as they are in the pair; for another pair the lines are others. The picture
# does not show whether anybody has applied like this: the search has combined values freely.
