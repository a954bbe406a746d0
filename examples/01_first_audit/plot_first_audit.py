"""
==================================================
How differently does my regressor treat two twins?
==================================================

Twins are two inputs that are equal in everything but the sensitive attribute. This example takes
a regression pipeline on scikit-learn's diabetes data, which predicts how far the disease has
progressed a year later, and searches for the twins in ``sex`` whose predictions are furthest
apart.
"""

# %%
# A fitted pipeline
# -----------------
# ``scaled=False`` keeps the columns in units that a reader knows; ``sex`` is coded 1 and 2.

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestRegressor
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skfairtest import HistoryDisplay, RandomAuditor, SBFTAuditor

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
model = make_pipeline(
    StandardScaler(), RandomForestRegressor(50, min_samples_leaf=2, random_state=0)
)
model.fit(X_train, y_train)
print(f"R2 on the test rows: {model.score(X_test, y_test):.2f}")
print(f"target: from {y.min():.0f} to {y.max():.0f}")

# %%
# Two audits with the same budget
# -------------------------------
# The auditors read the input space off the table: which columns there are, and from where to where
# their values reach. An input counts as discriminatory here when its twins' predictions are more
# than 10 apart; what difference matters is for the people who use the model to say.

settings = {"sensitive_features": "sex", "threshold": 10, "max_queries": 10_000, "random_state": 0}
auditors = {
    "SBFT": SBFTAuditor(model, **settings),
    "random": RandomAuditor(model, **settings),
}
for auditor in auditors.values():
    auditor.fit(X_train)

summary = {
    name: {
        "degree": auditor.fairness_degree_,
        "discriminatory inputs": auditor.n_found_,
        "inputs tried": auditor.n_inputs_,
        "queries": auditor.n_queries_,
    }
    for name, auditor in auditors.items()
}
print(pd.DataFrame(summary).round(1).to_string())

# %%
# The degree is the largest difference found, in units of the target. Neither auditor has tried all
# inputs, so the larger of the two figures is what is known: the true degree is at least that.
#
# The counts do not compare in the same way. The random inputs are drawn evenly from the space, so
# their share of discriminatory ones estimates the share in the space. SBFT goes where the
# differences are large, and its share describes the search.
#
# The worst pair
# --------------

worst = auditors["SBFT"].worst_case_
table = worst.assign(prediction=auditors["SBFT"].worst_case_outputs_)
print(table.round(1).to_string(index=False))

# %%
# The two rows differ in ``sex`` alone. They are an input that the model can be asked about; whether
# such a patient exists, the audit does not know. For the patients in the table there is an answer
# of their own: every row, compared with its twin.

auditor = auditors["SBFT"]
print(f"largest difference among the rows of X_train: {auditor.on_data_degree_:.1f}")
print(f"share of the rows with a difference above 10: {auditor.on_data_rate_:.0%}")

# %%
# How the two searches went on
# ----------------------------
# One run each; another seed has another course.

courses = HistoryDisplay.from_auditors(auditors).plot()
on_data = auditor.on_data_degree_
courses.ax_.axhline(on_data, color="0.4", linewidth=1, linestyle=":")
courses.ax_.annotate(
    f"rows of X_train: {on_data:.0f}",
    (1, on_data),
    (-4, -4),
    xycoords=("axes fraction", "data"),
    textcoords="offset points",
    ha="right",
    va="top",
)
plt.show()
