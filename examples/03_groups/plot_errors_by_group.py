"""
=====================================================
About which people is the model wrong far more often?
=====================================================

An error rate is a mean over people, and can hide a group for which the model is wrong twice as
often. This example looks at every group that a rule over four columns describes, on rows as they
are, and says of which groups that is more than chance.
"""

# %%
# The data and the model
# ----------------------
# The applications are made up. Whether somebody pays a loan back depends on income and on the years
# in a job, except for business loans in the district Harbour: of them nobody can tell by these
# columns. Predictions are out of fold, because a model errs little about people that it has learnt
# from.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from skfairtest import SubgroupAuditor
from skfairtest.datasets import load_loans
from skfairtest.inspection import GroupScoresDisplay

rng = np.random.default_rng(0)
columns = ["community", "age", "income", "years_employed", "purpose", "district"]
X = load_loans(12_000).data[columns]
n = len(X)
means = X["income"] / 100 + X["years_employed"] / 2 + rng.normal(0, 2, n)
unclear = (X["purpose"] == "business") & (X["district"] == "Harbour")
paid_back = np.where(np.where(unclear, rng.random(n) < 0.5, means > 30), "yes", "no")

encode = make_column_transformer(
    (OneHotEncoder(), ["community", "purpose", "district"]), remainder="passthrough"
)
model = make_pipeline(encode, RandomForestClassifier(60, min_samples_leaf=5, random_state=0))
predicted = cross_val_predict(model, X, paid_back, cv=3)

# %%
# All frequent rules
# ------------------
# Of people who pay back, those are missed to whom the model says "no". Rules may name the columns
# of ``attributes``; numbers are put into bins. Two thirds of the rows are searched, the others are
# kept for later.

searched = rng.random(n) < 2 / 3
auditor = SubgroupAuditor(
    metric="false_negative_rate",
    favourable="yes",
    attributes=["community", "age", "purpose", "district"],
    bins=4,
    random_state=0,
)
auditor.fit(X[searched], paid_back[searched], y_pred=predicted[searched])
print(f"{auditor.n_rules_} rules hold for 5% of the rows or more;")
print(f"{auditor.rules_['differs'].sum()} differ from everybody else by more than chance.")
print(f"Missed, of all who pay back: {auditor.overall_:.3f}")

# %%
# Most of the rules are the same people by other words. The short list has rules that do not repeat
# each other: each adds to its parts by more than chance, and differs without those before it.

shown = ["rule", "value_inside", "value_outside", "low", "high", "n_inside", "gain"]
print(auditor.short_list_[shown].round(3).to_string())

# %%
# The intervals hold for all rules at once. To the right of zero the model is wrong more often about
# the group than about everybody else.

worst = auditor.short_list_.iloc[0]
display = GroupScoresDisplay.from_auditor(auditor).plot()
display.figure_.suptitle(
    f"Refused although they would pay back: {worst['value_inside']:.0%} of those who want a\n"
    f"business in Harbour, {worst['value_outside']:.0%} of all others"
)
plt.show()

# %%
# The same rules on new rows
# --------------------------
# The worst of many estimates tends to be too large. On rows that were not searched it is not.

new = auditor.confirm(X[~searched], paid_back[~searched], y_pred=predicted[~searched])
print(new[["rule", "score", "low", "high", "searched_score", "differs"]].round(3).to_string())

# %%
# This does not say why the model errs about a group: there may be too few of them, their labels may
# be wrong, or what tells them apart is in no column. Groups below ``min_support`` were not looked
# at.
