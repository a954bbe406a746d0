"""
========================================================
Which people get fewer loans where several columns meet?
========================================================

Comparing the groups of one column can miss what happens where two columns meet. This example looks
at every group that a readable rule describes, up to all combinations of three columns.
"""

# %%
# The data and the model
# ----------------------
# A made-up table of loan applications. Its lender grants fewer loans to people of the community
# Birch, and still fewer for some of their business loans. The model has learnt this.

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from skfairtest import TestSGDAuditor
from skfairtest.datasets import load_loans
from skfairtest.inspection import GroupScoresDisplay

X, decision = load_loans(8000, return_X_y=True)
encode = make_column_transformer(
    (OneHotEncoder(), ["community", "purpose", "district"]), remainder="passthrough"
)
model = make_pipeline(encode, HistGradientBoostingClassifier(random_state=0))
model.fit(X, decision)

# %%
# One column at a time
# --------------------
# Each by itself, the differences are moderate.

granted = pd.Series(model.predict(X) == "granted", index=X.index)
print(granted.groupby(X["community"], observed=True).mean().round(2).to_string())
print(granted.groupby(X["purpose"], observed=True).mean().round(2).to_string())

# %%
# All groups that a rule describes
# --------------------------------
# A condition names some of the values of a column or a range of bins, and a rule joins conditions
# by "and". Rules that hold for at least 5% of the rows are compared. The model is asked about rows
# of the table in which one other column was moved by a step. ``low`` and ``high`` bound the
# difference, and the bounds hold for all rules at once.

auditor = TestSGDAuditor(
    model,
    sensitive_features=["community", "purpose", "age"],
    favourable="granted",
    n_bins=5,
    random_state=0,
)
auditor.fit(X)

columns = ["rule", "support", "value_inside", "value_outside", "low", "high"]
print(auditor.rules_[columns].head(5).round(3).to_string(index=False))
print(f"{auditor.n_groups_} groups, {auditor.n_queries_} queries, {auditor.seconds_:.1f} s")

# %%
# The picture
# -----------
# The worst rules are the same people by other words. ``short_list_``, which is drawn, has rules
# that do not repeat each other: half of the people of each are in none of those above it.

worst = auditor.short_list_.iloc[0]
display = GroupScoresDisplay.from_auditor(auditor).plot()
display.figure_.suptitle(
    f"Of people of Birch under 52 who want a loan for a business the model grants\n"
    f"{worst['value_inside']:.0%}, of all others {worst['value_outside']:.0%}: no column alone "
    "shows this group"
)
plt.show()

# %%
# What this does not show
# -----------------------
# Why the groups differ, and whether that is unfair: other columns may differ between them. The rule
# tells people where to look. The largest of so many differences is likely to be one that chance
# enlarged: :doc:`ask again on new rows </auto_examples/03_groups/plot_confirm>`.
