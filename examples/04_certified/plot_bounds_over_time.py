"""
===================================================
How soon is it known how bad the worst case can be?
===================================================

What a search has found is a lower bound of the largest difference between twins (inputs identical
but for the sensitive columns). A certificate adds an upper bound. This example draws how the one
rose and the other fell over the seconds of a run.
"""

# %%
# A forest that decides on loans
# ------------------------------
# A made-up table of loan applications. Twins are two applications that differ in ``community``
# alone; what may differ is the model's probability of a loan.

import matplotlib.pyplot as plt
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from skfairtest import CertifiedAuditor
from skfairtest.datasets import load_loans
from skfairtest.inspection import BoundsDisplay

X, decision = load_loans(return_X_y=True)
encode = make_column_transformer(
    (OneHotEncoder(), ["community", "purpose", "district"]), remainder="passthrough"
)
forest = RandomForestClassifier(60, max_depth=8, random_state=0)
model = make_pipeline(encode, forest).fit(X, decision)

auditor = CertifiedAuditor(model, sensitive_features="community", max_time=10, random_state=0)
auditor.fit(X)
print(f"found {auditor.fairness_degree_:.3f}, at most {auditor.fairness_degree_upper_bound_:.3f}")
print(auditor.stop_reason_)

# %%
# The course of both bounds is kept.

print(auditor.bound_history_.iloc[::50].round(3).to_string(index=False))

# %%
# The picture
# -----------
# What was found rises in steps. The bound comes from the structure of the forest and falls as the
# domain is cut into boxes. Between the two is what is neither found nor ruled out; where they meet,
# the largest difference is known.

display = BoundsDisplay.from_auditor({"forest": auditor}).plot(kind="time")
display.ax_.set_ylabel("difference in the probability of a loan\nif only the community is changed")
display.figure_.suptitle(
    f"After {auditor.seconds_:.0f} seconds: another community changes the probability of a loan\n"
    f"by {auditor.fairness_degree_:.2f} for one application, and for none by more than "
    f"{auditor.fairness_degree_upper_bound_:.2f}"
)
plt.show()

# %%
# What this does not show
# -----------------------
# The bounds are about all inputs within the ranges of the columns, whether or not anybody is like
# them. Seconds depend on the machine; the bounds hold whenever the run ends.
