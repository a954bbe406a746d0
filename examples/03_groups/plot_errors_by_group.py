"""
===============================
Which people does it err about?
===============================

An error rate is a mean over people, and can hide a group for which the model is wrong twice as
often. This example looks at every group that a rule over all columns describes, on rows as they
are, and says of which groups that is more than chance.
"""

# %%
# The data and the model
# ----------------------
# The people are invented. Who pays back a loan depends on income and on the years in a job, except
# for people of the group "B" who rent: of them nobody can tell by these columns. Predictions are
# out of fold, because a model errs little about people that it has learnt from.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from skfairtest import GroupScoresDisplay, SubgroupAuditor

rng = np.random.default_rng(0)
n = 12_000
X = pd.DataFrame(
    {
        "group": rng.choice(["A", "B", "C", "D"], n),
        "home": rng.choice(["owns", "rents"], n),
        "age": rng.integers(20, 70, n),
        "income": rng.normal(30, 8, n).round(),
        "years_in_job": rng.integers(0, 20, n),
    }
)
pays = X["income"] + X["years_in_job"] / 2 + rng.normal(0, 2, n) > 34
unclear = (X["group"] == "B") & (X["home"] == "rents")
pays = np.where(unclear, rng.random(n) < 0.5, pays)
paid_back = np.where(pays, "yes", "no")

encode = make_column_transformer((OneHotEncoder(), ["group", "home"]), remainder="passthrough")
model = make_pipeline(encode, RandomForestClassifier(60, min_samples_leaf=5, random_state=0))
predicted = cross_val_predict(model, X, paid_back, cv=3)

# %%
# All frequent rules
# ------------------
# Misses are people who pay back and are told "no". With ``attributes="all"`` rules may name every
# column; numbers are put into bins. Two thirds of the rows are searched, the others are kept for
# later.

searched = rng.random(n) < 2 / 3
auditor = SubgroupAuditor(metric="false_negative_rate", attributes="all", bins=4, random_state=0)
auditor.fit(X[searched], paid_back[searched], y_pred=predicted[searched])
print(f"{auditor.n_rule_sets_} rules hold for 5% of the rows or more;")
print(f"{auditor.rules_['differs'].sum()} differ from everybody else by more than chance.")
print(f"Missed, of all who pay back: {auditor.overall_:.3f}")

# %%
# Most of the rules are the same people by other words. The short list has rules that do not repeat
# each other: each adds to its parts by more than chance, and differs without those before it.

columns = ["rule", "value_inside", "value_outside", "low", "high", "n_inside", "gain"]
print(auditor.short_list_[columns].round(3).to_string())

# %%
# The intervals hold for all rules at once. Markers point to where the rate is higher or lower
# inside; they are hollow where an interval holds 0.

GroupScoresDisplay.from_auditor(auditor).plot()
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
