"""
=========================================================
Which group gets another share of favourable predictions?
=========================================================

Comparing the groups of one attribute can miss what happens where two attributes meet. This example
looks at every group that a readable rule describes, up to all combinations of three attributes.
"""

# %%
# The data and the model
# ----------------------
# The people are invented, and so are the groups "A" to "D". Whether somebody got a loan depended on
# income alone, except that of people under 30 in "B" and "C" more was asked. The model has learnt
# this.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from skfairtest import GroupScoresDisplay, TestSGDAuditor

rng = np.random.default_rng(0)
n = 8000
X = pd.DataFrame(
    {
        "group": rng.choice(["A", "B", "C", "D"], n),
        "sex": rng.choice(["f", "m"], n),
        "age": rng.integers(20, 70, n),
        "income": rng.normal(30, 8, n),
        "years_in_job": rng.integers(0, 20, n),
    }
)
more_asked = X["group"].isin(["B", "C"]) & (X["age"] < 30)
needed = np.where(more_asked, 36, 28) + rng.normal(0, 3, n)
loan = np.where(X["income"] > needed, "yes", "no")

encode = make_column_transformer((OneHotEncoder(), ["group", "sex"]), remainder="passthrough")
model = make_pipeline(encode, HistGradientBoostingClassifier(random_state=0))
model.fit(X, loan)

# %%
# One attribute at a time
# -----------------------
# Each by itself, the differences are moderate.

predicted = pd.Series(model.predict(X) == "yes", index=X.index)
print(predicted.groupby(X["group"]).mean().round(2).to_string())
print(predicted.groupby(X["sex"]).mean().round(2).to_string())

# %%
# All groups that a rule describes
# --------------------------------
# A rule names some of the values of an attribute or a range of bins, and a rule set joins rules by
# "and". Those that hold for at least 5% of the rows are compared. ``low`` and ``high`` bound the
# score, and the bounds hold for all rule sets at once.

auditor = TestSGDAuditor(model, sensitive_features=["group", "sex", "age"], random_state=0)
auditor.fit(X)

columns = ["rule", "support", "value_inside", "value_outside", "score", "low", "high"]
print(auditor.rules_[columns].head(5).round(3).to_string(index=False))
print(f"{auditor.n_groups_} groups, {auditor.n_queries_} queries, {auditor.seconds_:.1f} s")

# %%
# The picture
# -----------
# A line a rule set: the score and the interval that holds for all of them at once. One that reaches
# 0 shows no difference.

GroupScoresDisplay.from_auditor(auditor).plot(most=12)
plt.show()

# %%
# What this does not show
# -----------------------
# Why the groups differ, and whether that is unfair: other columns may differ between them. The rule
# tells people where to look. The largest of so many scores is likely to be one that chance
# enlarged: :doc:`ask again on new rows </auto_examples/03_groups/plot_confirm>`.
