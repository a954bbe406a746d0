"""
================================================
Do twins and groups tell the same about a model?
================================================

How differently a model treats two twins (inputs identical but for the sensitive attribute) is one
question; how far the rates of groups are apart is another. This example asks both of three models
that decide on loans: one that sees the applicant's community, one that does not, and one that does
not see the district either, where most of one community live.
"""

# %%
# Three models
# ------------
# Applications, communities and the lender are invented. Metrics of groups are the business of
# `fairlearn <https://fairlearn.org>`_, which is no dependency of this package; where it is not
# installed, the difference of two shares does.

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from skfairtest import SBFTAuditor, make_audit_scorer
from skfairtest.datasets import load_loans

try:
    from fairlearn.metrics import MetricFrame, selection_rate
except ImportError:
    MetricFrame = None


def gap_between_groups(model, X, y):
    granted = model.predict(X) == "granted"
    if MetricFrame is None:
        rates = pd.Series(granted).groupby(X["community"].to_numpy()).mean()
        return rates.max() - rates.min()
    frame = MetricFrame(
        metrics=selection_rate,
        y_true=y == "granted",
        y_pred=granted,
        sensitive_features=X["community"],
    )
    return frame.difference()


X, y = load_loans(n_samples=20_000, return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
auditor = SBFTAuditor(sensitive_features="community", max_queries=2000)
degree = make_audit_scorer(auditor, space=X_train, random_state=0)
hidden = {
    "sees the community": [],
    "does not see\nthe community": ["community"],
    "sees neither community\nnor district": ["community", "district"],
}
rows = []
for name, left_out in hidden.items():
    words = [column for column in ("community", "purpose", "district") if column not in left_out]
    model = make_pipeline(
        make_column_transformer(
            ("drop", left_out), (OneHotEncoder(), words), remainder=StandardScaler()
        ),
        LogisticRegression(),
    )
    model.fit(X_train, y_train)
    twins, groups = abs(degree(model, X_test)), gap_between_groups(model, X_test, y_test)
    rows.append({"model": name, "twins": twins, "groups": groups})
table = pd.DataFrame(rows)
print(table.replace("\n", " ", regex=True).round(2).to_string(index=False))

# %%
# The picture
# -----------

fig, axes = plt.subplots(1, 2, figsize=(7.2, 3.2), sharey=True, layout="constrained")
for ax, question, color, words in (
    (axes[0], "twins", "C0", "largest difference in probability\nif only the community is changed"),
    (axes[1], "groups", "0.6", "difference in the share of loans\nbetween communities"),
):
    bars = ax.barh(table["model"], table[question], 0.6, color=color)
    ax.bar_label(bars, [f"{value:.0%}" for value in table[question]], padding=4)
    ax.set(xlabel=words, xlim=(0, 1.25 * table[question].max()), xticks=[])
    ax.spines[["top", "right", "bottom"]].set_visible(False)
axes[0].invert_yaxis()
_, twins, groups = table.iloc[1]
fig.suptitle(
    f"A model that does not see the community treats twins alike ({twins:.0%}), and\n"
    f"still grants one community {100 * groups:.0f} percentage points fewer loans than another"
)
plt.show()

# %%
# What this does not show
# -----------------------
# Where a difference between groups comes from. Here the rule that decided on the loans takes points
# from everybody in one district, which the model has learned. And a model may grant all groups the
# same share and differ for single persons. A limit on one of the two is no promise about the other.
