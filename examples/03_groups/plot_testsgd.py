"""
===============================================================
Which group gets another share of favourable predictions?
===============================================================

Comparing the groups of one attribute can miss what happens where two attributes meet. This example
looks at every group that a readable rule describes, up to all combinations of three attributes,
and asks what is left of the worst ones on rows that were not searched.
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
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from skfairtest import TestSGDAuditor

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

X_train, X_new, loan_train, _ = train_test_split(X, loan, test_size=0.4, random_state=0)
encode = make_column_transformer((OneHotEncoder(), ["group", "sex"]), remainder="passthrough")
model = make_pipeline(encode, HistGradientBoostingClassifier(random_state=0))
model.fit(X_train, loan_train)

# %%
# One attribute at a time
# -----------------------
# Each by itself, the differences are moderate.

predicted = pd.Series(model.predict(X_train) == "yes", index=X_train.index)
print(predicted.groupby(X_train["group"]).mean().round(2).to_string())
print(predicted.groupby(X_train["sex"]).mean().round(2).to_string())

# %%
# All groups that a rule describes
# --------------------------------
# A rule names some of the values of an attribute or a range of bins, and a rule set joins rules by
# "and". Those that hold for at least 5% of the rows are compared. ``low`` and ``high`` bound the
# score, and the bounds hold for all rule sets at once.

auditor = TestSGDAuditor(model, sensitive_features=["group", "sex", "age"], random_state=0)
auditor.fit(X_train)

columns = ["rule", "support", "share_inside", "share_outside", "score", "low", "high"]
print(auditor.rules_[columns].head(5).round(3).to_string(index=False))
print(f"{auditor.n_groups_} groups, {auditor.n_queries_} queries, {auditor.seconds_:.1f} s")

# %%
# On rows that were not searched
# ------------------------------
# The worst of a thousand estimates is likely to be one that chance made larger. ``confirm`` asks
# about the chosen few again, on rows that had no part in choosing them. Its intervals are wider
# because there are fewer rows; they are about the population that the rows come from.

confirmed = auditor.confirm(X_new, n_rules=5)
print(confirmed[["rule", "searched_score", "score", "low", "high"]].round(3).to_string(index=False))

# %%
# Nothing here tells why the groups differ, nor whether that is unfair. It may be that other columns
# differ between them. What the rule does is to tell people where to look.
#
# The picture
# -----------
# All ranked groups by size, and the five that were asked about again.

rules = auditor.rules_[auditor.rules_["ranked"]]
fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
ax.plot(
    rules["support"], rules["score"], ".", color="0.75", markersize=4, label="searched, each group"
)
ax.errorbar(
    confirmed["support"],
    confirmed["score"],
    yerr=[confirmed["score"] - confirmed["low"], confirmed["high"] - confirmed["score"]],
    fmt="o",
    color="C3",
    markersize=4,
    capsize=2,
    label="worst five, on new rows (95%, all five at once)",
)
ax.set(
    xlabel="share of the rows in the group",
    ylabel="difference of the shares of favourable predictions",
    title="Groups that readable rules describe: invented data",
    xlim=(0, 1),
    ylim=(0, None),
)
ax.legend(loc="upper right")

plt.show()
