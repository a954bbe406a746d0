"""
================================
How soon does the bracket close?
================================

What a search has found is a lower bound of the largest difference between twins (inputs identical
but for the sensitive attributes). A certificate adds an upper bound. This example draws what was
known over the seconds of a run, until the two meet.
"""

# %%
# A forest on real measurements
# -----------------------------
# scikit-learn's diabetes data: 442 patients, ten measurements; the model predicts how far the
# disease has progressed a year later, in units of the source. Twins may differ in ``sex`` and in
# age.

import matplotlib.pyplot as plt
from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestRegressor

from skfairtest import BracketDisplay, CertifiedAuditor

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
model = RandomForestRegressor(50, max_depth=7, random_state=0).fit(X, y)

auditor = CertifiedAuditor(model, sensitive_features=["sex", "age"], max_time=10, random_state=0)
auditor.fit(X)
print(f"found {auditor.fairness_degree_:.1f}, at most {auditor.fairness_degree_upper_bound_:.1f}")
print(auditor.stop_reason_)

# %%
# The picture
# -----------
# The line of what was found rises in steps; the upper bound is that of the end of the run, and
# between the two is what is neither found nor ruled out. Where they meet, the largest difference is
# known.

BracketDisplay.from_auditor({"forest": auditor}).plot(kind="time")
plt.show()

# %%
# What this does not show
# -----------------------
# The bracket is about all inputs within the ranges of the columns, whether or not anybody is like
# them. Seconds depend on the machine; the bounds hold whenever the run ends.
