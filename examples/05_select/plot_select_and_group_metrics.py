"""
=================================================
Which candidate is accurate and treats twins alike?
=================================================

A search over a model's settings scores accuracy and the largest difference between twins in one go,
and refits the most accurate candidate within a limit. Group metrics (how often each group is
selected, how often the model errs in it) answer another question. They are the business of
`fairlearn <https://fairlearn.org>`_; its ``MetricFrame`` stands beside our scorers here.
"""

# %%
# A search with two metrics
# -------------------------
# The data are invented: ``sex`` has a planted effect on the labels. The input space is fixed once,
# so that every candidate is audited on the same domain, and the seed is the same for all.

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.metrics import accuracy_score
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from skfairtest import SBFTAuditor, constrained_refit, make_audit_scorer, pareto_front
from skfairtest.datasets import make_biased_classification

bunch = make_biased_classification(n_samples=2000, random_state=0)
X_train, X_test, y_train, y_test = train_test_split(bunch.data, bunch.target, random_state=0)
encode = make_column_transformer(
    (OneHotEncoder(handle_unknown="ignore"), ["sex", "job", "region", "owner"]),
    remainder="passthrough",
)
model = make_pipeline(encode, DecisionTreeClassifier(random_state=0))

auditor = SBFTAuditor(sensitive_features="sex", max_queries=2000)
degree = make_audit_scorer(auditor, space=X_train, random_state=0)
limit = 0.25
search = GridSearchCV(
    model,
    {
        "decisiontreeclassifier__max_depth": [2, 4, 6, 10],
        "decisiontreeclassifier__min_samples_leaf": [1, 20, 80],
    },
    scoring={"accuracy": "accuracy", "degree": degree},
    refit=constrained_refit("accuracy", limit, when_none="least_unfair"),
    cv=3,
)
search.fit(X_train, y_train)
print(f"chosen: {search.best_params_}")

# %%
# The front: candidates that no other beats in both. An audit score is negative, so that greater is
# better; 0 would mean that no difference was found.

front = pareto_front(search.cv_results_, ["accuracy", "degree"])
print(front[["accuracy", "degree"]].round(3).to_string(index=False))

fig, ax = plt.subplots(figsize=(6, 4), layout="constrained")
results = search.cv_results_
ax.scatter(-results["mean_test_degree"], results["mean_test_accuracy"], color="0.6", label="all")
ax.plot(-front["degree"], front["accuracy"], "o-", color="C0", label="front")
chosen = search.best_index_
ax.scatter(
    -results["mean_test_degree"][chosen],
    results["mean_test_accuracy"][chosen],
    s=120,
    facecolors="none",
    edgecolors="C1",
    label="refitted",
)
ax.axvline(limit, color="C1", linestyle="--", linewidth=1, label="limit")
ax.set(xlabel="largest difference between twins", ylabel="accuracy", title="Twelve trees")
ax.legend()

# %%
# Group metrics beside it
# -----------------------
# fairlearn is no dependency of this package, so the import is guarded; ``pip install fairlearn``
# runs this part.

try:
    from fairlearn.metrics import MetricFrame, selection_rate
except ImportError:
    print("fairlearn is not installed: the group metrics are left out")
else:
    frame = MetricFrame(
        metrics={"accuracy": accuracy_score, "selected": selection_rate},
        y_true=y_test,
        y_pred=search.predict(X_test),
        sensitive_features=X_test["sex"],
    )
    print(frame.by_group.round(3).to_string())
    gap = frame.difference()["selected"]
    both = pd.Series({"selection gap": gap, "degree of twins": -degree(search, X_test)})
    print(both.round(3).to_string())

# %%
# The two can disagree. A model that does not see ``sex`` treats twins alike and may still select one
# group far more often, through columns that stand for it. And a model may select both groups equally
# often and flip for single persons. A limit on one of them is no promise about the other.

plt.show()
