"""
===================================================
Which candidate is accurate and treats twins alike?
===================================================

A search over a model's settings scores its fit and the largest difference between twins in one go,
and refits the best candidate within a limit. Group metrics (how large the predictions and the
errors are in each group) answer another question. They are the business of `fairlearn
<https://fairlearn.org>`_; its ``MetricFrame`` stands beside our scorers here.
"""

# %%
# A search with two metrics
# -------------------------
# Scikit-learn's diabetes data: how far the disease has progressed a year later. Twins differ in
# ``sex`` alone. The input space is fixed once, so that every candidate is audited on the same
# domain, and the seed is the same for all.

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestRegressor
from sklearn.metrics import mean_absolute_error
from sklearn.model_selection import GridSearchCV, train_test_split

from skfairtest import SBFTAuditor, constrained_refit, make_audit_scorer, pareto_front

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)

auditor = SBFTAuditor(sensitive_features="sex", max_queries=2000)
degree = make_audit_scorer(auditor, space=X_train, random_state=0)
limit = 3.0
search = GridSearchCV(
    RandomForestRegressor(n_estimators=30, random_state=0),
    {"max_depth": [2, 4, 8], "max_features": [0.2, 0.5, 1.0]},
    scoring={"r2": "r2", "degree": degree},
    refit=constrained_refit("r2", limit, when_none="least_unfair"),
    cv=3,
)
search.fit(X_train, y_train)
print(f"chosen: {search.best_params_}")

# %%
# The front: candidates that no other beats in both. An audit score is negative, so that greater is
# better; 0 would mean that no difference was found. The limit is for those who use the model to
# set; this one is for show.

front = pareto_front(search.cv_results_, ["r2", "degree"])
print(front.round(3).to_string(index=False))

fig, ax = plt.subplots(figsize=(6, 4), layout="constrained")
results = search.cv_results_
ax.scatter(-results["mean_test_degree"], results["mean_test_r2"], color="0.6", label="all")
ax.plot(-front["degree"], front["r2"], "o-", color="C0", label="front")
chosen = search.best_index_
ax.scatter(
    -results["mean_test_degree"][chosen],
    results["mean_test_r2"][chosen],
    s=120,
    facecolors="none",
    edgecolors="C1",
    label="refitted",
)
ax.axvline(limit, color="C1", linestyle="--", linewidth=1, label="limit")
ax.set(xlabel="largest difference between twins", ylabel="R2", title="Nine forests")
ax.legend()

# %%
# Group metrics beside it
# -----------------------
# fairlearn is no dependency of this package, so the import is guarded; ``pip install fairlearn``
# runs this part.

try:
    from fairlearn.metrics import MetricFrame, mean_prediction
except ImportError:
    print("fairlearn is not installed: the group metrics are left out")
else:
    frame = MetricFrame(
        metrics={"error": mean_absolute_error, "prediction": mean_prediction},
        y_true=y_test,
        y_pred=search.predict(X_test),
        sensitive_features=X_test["sex"],
    )
    print(frame.by_group.round(1).to_string())
    gap = frame.difference()["prediction"]
    both = pd.Series({"gap between groups": gap, "degree of twins": abs(degree(search, X_test))})
    print(both.round(1).to_string())

# %%
# The two can disagree. A model that does not see ``sex`` treats twins alike and may still predict
# more for one group, through columns that stand for it. And a model may predict the same for both
# groups on average and differ for single persons. A limit on one of them is no promise about the
# other.

plt.show()
