"""
===============================================================
Are the worst groups as bad among people who were not searched?
===============================================================

An audit of groups shows the one that differs most of a thousand. The largest of many estimates is
likely to be one that chance enlarged. This example keeps some rows aside and asks about the worst
groups again.
"""

# %%
# A model of made-up loan applications
# ------------------------------------
# The lender grants fewer loans to people of the community Birch, and still fewer for some of their
# business loans. The model has learnt this from 60% of the rows.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from skfairtest import TestSGDAuditor
from skfairtest.datasets import load_loans

X, decision = load_loans(8000, return_X_y=True)
X_train, X_new, decision_train, _ = train_test_split(X, decision, test_size=0.4, random_state=0)
encode = make_column_transformer(
    (OneHotEncoder(), ["community", "purpose", "district"]), remainder="passthrough"
)
model = make_pipeline(encode, HistGradientBoostingClassifier(random_state=0))
model.fit(X_train, decision_train)

# %%
# Search, then ask again
# ----------------------
# ``confirm`` asks about the listed few on rows that had no part in choosing them. Its intervals
# hold for all of them at once; they are wider because there are fewer rows.

auditor = TestSGDAuditor(
    model,
    sensitive_features=["community", "purpose", "age"],
    favourable="granted",
    n_bins=5,
    random_state=0,
)
auditor.fit(X_train)
confirmed = auditor.confirm(X_new, n_rules=6)
print(f"{auditor.n_groups_} groups were compared")
columns = ["rule", "searched_score", "score", "low", "high"]
print(confirmed[columns].round(3).to_string(index=False))

# %%
# The picture
# -----------
# A line a group: hollow, the difference that the search gave; filled, the difference on new rows
# with its interval. These differences are planted, so that none vanishes.

fig, ax = plt.subplots(figsize=(8, 4.6), layout="constrained")
place = np.arange(len(confirmed))[::-1]
low, high = confirmed["score"] - confirmed["low"], confirmed["high"] - confirmed["score"]
ax.errorbar(
    100 * confirmed["score"],
    place,
    xerr=[100 * low, 100 * high],
    fmt="o",
    color="#0072B2",
    markersize=8,
    linewidth=2,
    label="among people who were not searched (bars: 95% intervals, all at once)",
)
ax.plot(
    100 * confirmed["searched_score"],
    place + 0.25,
    "o",
    color="#7F8891",
    markersize=8,
    markerfacecolor="none",
    label="in the search",
)
rules = confirmed["rule"].str.replace(" and purpose", "\nand purpose")
ax.set_yticks(place, rules, fontsize="small")
ax.tick_params(axis="y", length=0)
ax.spines[["left", "top", "right"]].set_visible(False)
ax.set(
    xlabel="difference in the share granted, inside and outside\n"
    "of the group, in percentage points",
    xlim=(0, None),
    ylim=(-0.6, len(place) - 0.4),
)
fig.legend(loc="outside lower center", frameon=False)
less = (confirmed["score"] < confirmed["searched_score"]).sum()
fig.suptitle(
    f"{less} of the {len(confirmed)} groups that a search found differ less\n"
    f"among people not searched, but {confirmed['differs'].sum()} still differ by more than chance"
)
plt.show()

# %%
# What this does not show
# -----------------------
# Why the groups differ, and whether that is unfair: other columns may differ between them. The rule
# tells people where to look.
