"""
=====================================
What does an audit say of a pipeline?
=====================================

Tables hold words and numbers, and the model is a pipeline that encodes them. An auditor takes the
pipeline and the raw table as they are. This example trains one on invented applications for loans,
and shows the two inputs that it treats most differently.
"""

# %%
# The data
# --------
# The table is invented, so nothing below is about anybody. A public table goes the same way:
# ``X, y = fetch_openml(data_id=1590, return_X_y=True)`` has Adult, where ``sex`` and ``race`` are
# sensitive.

import matplotlib.pyplot as plt
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder

from skfairtest import SBFTAuditor
from skfairtest.datasets import load_loans
from skfairtest.inspection import PairDisplay

X, y = load_loans(n_samples=5000, return_X_y=True)
sensitive = ["community"]
print(f"{X.shape[0]} rows, {X.shape[1]} columns")

# %%
# The pipeline and its audit
# --------------------------
# The pipeline turns words into numbers. The auditor sees the table before that: twins (two inputs
# that are identical but for the sensitive columns) have different words there, not different
# numbers.

words = make_column_selector(dtype_exclude="number")
encode = make_column_transformer(
    (OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1), words),
    remainder="passthrough",
)
model = make_pipeline(encode, HistGradientBoostingClassifier(max_iter=50, random_state=0)).fit(X, y)

auditor = SBFTAuditor(
    model, sensitive_features=sensitive, threshold=0.1, max_queries=10_000, random_state=0
)
auditor.fit(X)
print(f"largest difference found: {auditor.fairness_degree_:.2f}")
print(f"largest among the rows:   {auditor.on_data_degree_:.2f}")
print(f"rows with more than 0.1:  {auditor.on_data_rate_:.1%}")

# %%
# The two twins
# -------------

display = PairDisplay.from_auditor(auditor).plot()
high, low = sorted(auditor.worst_case_outputs_, reverse=True)
display.figure_.suptitle(
    f"The same person but for {' and '.join(sensitive)}: the model's probability\n"
    f"of '{auditor.worst_case_class_}' is {high:.0%} for one and {low:.0%} for the other"
)
plt.show()

# %%
# What this does not show
# -----------------------
# Why the model does so, and whether a difference is warranted. Columns that stand for the sensitive
# ones are equal in both twins, so what the model does through them does not show. And the two are
# made up: there may be nobody like them.
