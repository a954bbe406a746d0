"""
================================================
Do twins and groups tell the same about a model?
================================================

How differently a model treats two twins (inputs identical but for the sensitive attribute) is one
question; how far the mean predictions of two groups are apart is another. This example asks both of
nine forests.
"""

# %%
# Nine forests
# ------------
# scikit-learn's diabetes data: how far the disease has progressed a year later. Group metrics are
# the business of `fairlearn <https://fairlearn.org>`_, which is no dependency of this package;
# where it is not installed, the difference of two means does.

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestRegressor
from sklearn.model_selection import ParameterGrid, train_test_split

from skfairtest import SBFTAuditor, make_audit_scorer

try:
    from fairlearn.metrics import MetricFrame, mean_prediction
except ImportError:
    MetricFrame = None


def gap_between_groups(model, X, y):
    predicted = model.predict(X)
    if MetricFrame is None:
        return pd.Series(predicted).groupby(X["sex"].to_numpy()).mean().diff().abs().iloc[-1]
    frame = MetricFrame(
        metrics=mean_prediction, y_true=y, y_pred=predicted, sensitive_features=X["sex"]
    )
    return frame.difference()


X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
auditor = SBFTAuditor(sensitive_features="sex", max_queries=2000)
degree = make_audit_scorer(auditor, space=X_train, random_state=0)
rows = []
for params in ParameterGrid({"max_depth": [2, 4, 8], "max_features": [0.2, 0.5, 1.0]}):
    model = RandomForestRegressor(30, random_state=0, **params).fit(X_train, y_train)
    rows.append(
        params
        | {"twins": -degree(model, X_test), "groups": gap_between_groups(model, X_test, y_test)}
    )
table = pd.DataFrame(rows)
print(table.round(1).to_string(index=False))

# %%
# The picture
# -----------

fig, ax = plt.subplots(figsize=(6.5, 4), layout="constrained")
for depth, marker in zip((2, 4, 8), "o^s", strict=True):
    some = table[table["max_depth"] == depth]
    ax.plot(some["twins"], some["groups"], marker, markersize=8, label=f"depth {depth}")
ax.set(
    xlabel="largest difference between twins",
    ylabel="difference between the\nmean predictions of two groups",
    title="Nine forests on the diabetes data",
    xlim=(-1.5, None),
    ylim=(0, 28),
)
ax.legend()
plt.show()

# %%
# What this does not show
# -----------------------
# A model that does not see ``sex`` treats twins alike and may still predict more for one group,
# through columns that differ between the groups. And a model may predict the same for both groups
# on average and differ for single persons. A limit on one of the two is no promise about the other.
