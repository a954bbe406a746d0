"""
=======================================
Where along a column do two twins part?
=======================================

The worst pair of twins (inputs identical but for the sensitive attribute) is one point of the
domain. This example moves both of them along another column and draws what the model says to each.
"""

# %%
# A model and its worst pair
# --------------------------
# scikit-learn's diabetes data: how far the disease has progressed a year later, in units of the
# source. ``sex`` is coded as 1 and 2.

import matplotlib.pyplot as plt
from sklearn.datasets import load_diabetes
from sklearn.ensemble import GradientBoostingRegressor

from skfairtest import ProfileDisplay, SBFTAuditor

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
model = GradientBoostingRegressor(random_state=0).fit(X, y)
auditor = SBFTAuditor(model, sensitive_features="sex", threshold=10, random_state=0).fit(X)
print(f"largest difference found: {auditor.fairness_degree_:.1f}")

# %%
# Along the blood pressure
# ------------------------
# Two queries a value. Without a name, the column is the one along which the difference changes
# most.

ProfileDisplay.from_auditor(auditor, "bp").plot()
plt.show()

# %%
# What this does not show
# -----------------------
# All other columns stay as the pair has them; elsewhere the lines are others. Whether there is a
# patient along the line, the picture does not know: the search has combined values freely.
