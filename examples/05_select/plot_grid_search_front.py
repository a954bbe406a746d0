"""
===================================================
Which candidate is accurate and treats twins alike?
===================================================

A search over a model's settings scores its fit and the largest difference between twins in one go,
and refits the best candidate within a limit.
"""

# %%
# A search with two metrics
# -------------------------
# Scikit-learn's diabetes data: how far the disease has progressed a year later. Twins differ in
# ``sex`` alone. The input space is fixed once, so that every candidate is audited on the same
# domain, and the seed is the same for all.

import matplotlib.pyplot as plt
from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestRegressor
from sklearn.model_selection import GridSearchCV, train_test_split

from skfairtest import (
    ParetoDisplay,
    SBFTAuditor,
    constrained_refit,
    make_audit_scorer,
    pareto_front,
)

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

# %%
# The picture
# -----------
# A point a candidate, the front, the limit, and the candidate that was refitted.

ParetoDisplay.from_cv_results(search).plot()
plt.show()

# %%
# What this does not show
# -----------------------
# A search is a lower bound: a candidate whose differences are hard to find looks better than it is.
# Audit the chosen one again, with a larger budget and another seed. And groups may be treated
# differently where twins are not: :doc:`see the next example
# </auto_examples/05_select/plot_twins_and_groups>`.
