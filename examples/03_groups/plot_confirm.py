"""
=============================================
What is left of the worst groups on new rows?
=============================================

An audit of groups shows the one that differs most of a thousand. The largest of many estimates is
likely to be one that chance enlarged. This example keeps some rows aside and asks about the worst
groups again.
"""

# %%
# A model of invented people
# --------------------------
# Whether somebody got a loan depended on income alone, except that of people under 30 in "B" and
# "C" a little more was asked. The groups "A" to "D" are invented.

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
# Search, then ask again
# ----------------------
# ``confirm`` asks about the chosen few on rows that had no part in choosing them. Its intervals
# hold for all five at once; they are wider because there are fewer rows.

auditor = TestSGDAuditor(model, sensitive_features=["group", "sex", "age"], random_state=0)
auditor.fit(X_train)
confirmed = auditor.confirm(X_new, n_rules=5)
print(f"{auditor.n_groups_} groups were compared")
columns = ["rule", "searched_score", "score", "low", "high"]
print(confirmed[columns].round(3).to_string(index=False))

# %%
# The picture
# -----------
# A line a rule set: hollow, the score that the search gave; filled, the score on new rows with its
# interval. The differences of these invented people are real, and none vanishes. That new rows show
# more is no accident either: the search asks about rows with one attribute moved, which blurs
# groups.

fig, ax = plt.subplots(figsize=(7.5, 3), layout="constrained")
place = np.arange(len(confirmed))[::-1]
ax.errorbar(
    confirmed["score"],
    place,
    xerr=[confirmed["score"] - confirmed["low"], confirmed["high"] - confirmed["score"]],
    fmt="o",
    color="#0072B2",
    capsize=3,
    label="on new rows (95%, all five at once)",
)
ax.plot(
    confirmed["searched_score"],
    place + 0.18,
    "D",
    color="#D55E00",
    markerfacecolor="none",
    label="in the search",
)
ax.set_yticks(place, confirmed["rule"])
ax.set(
    xlabel="difference of the shares of favourable predictions", xlim=(0, None), ylim=(-0.6, 4.6)
)
fig.legend(loc="outside upper right", ncols=2, frameon=False)
plt.show()

# %%
# What this does not show
# -----------------------
# Why the groups differ, and whether that is unfair: other columns may differ between them. The rule
# tells people where to look.
