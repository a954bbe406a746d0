"""
=================================
What does a finding look like?
=================================

Nine displays show what audits, searches for models and mitigation have found. They work like
scikit-learn's: a class method takes what was fitted, ``plot`` draws it, ``frame`` gives the data.
The rows are scikit-learn's diabetes data, real people of whom ten measurements are known; the model
predicts whether the disease has progressed a year later. Twins are two inputs that are identical
but for ``sex``, which the source codes as 1 and 2.
"""

# %%
# One pair
# --------
# The card shows both predictions, the threshold, and the cells, those that differ first. The search
# has combined values that perhaps nobody has: the pair says something about the model, not about
# how many people are concerned.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skfairtest import (
    AequitasAuditor,
    BracketDisplay,
    CertifiedAuditor,
    DisparityCurveDisplay,
    FairnessRetrainer,
    GroupScoresDisplay,
    HistoryDisplay,
    MitigationDisplay,
    PairDisplay,
    ParetoDisplay,
    ProfileDisplay,
    RandomAuditor,
    SBFTAuditor,
    SelectionDisplay,
    TestSGDAuditor,
    make_audit_scorer,
    pareto_refit,
)

X, target = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
y = np.where(target > 150, "progressed", "little")
forest = RandomForestClassifier(30, min_samples_leaf=3, random_state=0).fit(X, y)

settings = {"sensitive_features": "sex", "threshold": 0.1, "random_state": 0}
searched = SBFTAuditor(forest, max_queries=5000, **settings).fit(X)
PairDisplay.from_auditor(searched).plot()

# %%
# Both twins along one column, all else as the pair has it. Without ``column=`` it is the one along
# which the difference changes most.

ProfileDisplay.from_auditor(searched).plot()

# %%
# How large can it get?
# ---------------------
# What a search found is a lower bound. For a forest the upper end can be worked out, too. Where the
# two ends do not meet within the time, a hatched part is neither found nor ruled out.

random = RandomAuditor(forest, max_queries=5000, **settings).fit(X)
certified = CertifiedAuditor(forest, max_time=3, **settings).fit(X)
display = BracketDisplay.from_auditor(
    {"random inputs": random, "genetic search": searched, "certified": certified}
)
display.plot()
print(display.frame().round(3).to_string(index=False))

# %%
# The same bracket over the seconds of the run.

BracketDisplay.from_auditor({"forest": certified}).plot(kind="time")

# %%
# Real rows
# ---------
# Of how many rows do the twins differ by more than t? The logistic regression gives ``sex`` one and
# the same weight everywhere.

linear = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
DisparityCurveDisplay.from_estimator(
    {"forest": forest, "logistic regression": linear}, X, sensitive_features="sex", threshold=0.1
).plot()

# %%
# The course of two searches
# --------------------------
# One run each; another seed has another course.

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
courses = HistoryDisplay.from_auditors({"SBFT": searched, "random": random})
courses.plot(ax=left)
courses.plot(ax=right, y="found")

# %%
# Groups
# ------
# The groups of which the most different share is predicted "progressed", found by TestSGD among all
# groups of ``sex`` and ``age``, with intervals that hold for all of them at once. Groups differ in
# other columns, too: this is not about twins.

groups = TestSGDAuditor(
    forest, sensitive_features=["sex", "age"], favourable="progressed", n_bins=4,
    error_threshold=0.1, random_state=0,
).fit(X)  # fmt: skip
GroupScoresDisplay.from_auditor(groups).plot(most=8)

# %%
# Groups that were named beforehand: the share predicted "progressed" in each, and how many rows
# there are.

names = X.assign(age=X["age"].map(lambda age: "under 50" if age < 50 else "50 and over"))
names["sex"] = names["sex"].map("code {:.0f}".format)
SelectionDisplay.from_predictions(
    forest.predict(X), sensitive_features=names[["sex", "age"]], favourable="progressed"
).plot()

# %%
# Models to choose from
# ---------------------
# Each point is a candidate of a grid search, scored by accuracy and by an audit.

degree = make_audit_scorer(RandomAuditor(max_queries=500, sensitive_features="sex"), space=X)
search = GridSearchCV(
    RandomForestClassifier(10, random_state=0),
    {"max_depth": [2, 4, 8], "max_features": [0.2, 0.5, 1.0]},
    scoring={"accuracy": "accuracy", "degree": degree},
    refit=pareto_refit("accuracy"),
    cv=3,
).fit(X, y)
ParetoDisplay.from_cv_results(search).plot()

# %%
# Before and after
# ----------------
# What a mitigation has changed, with intervals, and what it cost: the last panel is the score out
# of fold. A smaller share says that fewer twins are treated differently; other columns may still
# stand for ``sex``.

retrainer = FairnessRetrainer(
    RandomForestClassifier(10, min_samples_leaf=3, random_state=0),
    AequitasAuditor(sensitive_features="sex", max_queries=1000),
    max_rounds=1,
    max_score_drop=0.05,
    n_estimates=1000,
    cv=3,
    random_state=0,
).fit(X, y)
MitigationDisplay.from_retrainer(retrainer).plot()

plt.show()
