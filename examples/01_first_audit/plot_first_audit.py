"""
===================================================
How differently does my classifier treat two twins?
===================================================

Twins are two inputs that are equal in everything but the sensitive attribute. This example takes a
pipeline that decides on applications for loans, and searches for the twins in ``community`` whose
probabilities are furthest apart.
"""

# %%
# A fitted pipeline
# -----------------
# The applications are invented, and so are the three communities. The effect of the community is
# planted, so that the true worst case of the lender's rule is known.

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from skfairtest import RandomAuditor, SBFTAuditor
from skfairtest.datasets import load_loans
from skfairtest.inspection import HistoryDisplay

loans = load_loans()
X_train, X_test, y_train, y_test = train_test_split(loans.data, loans.target, random_state=0)
model = make_pipeline(
    make_column_transformer(
        (OneHotEncoder(), ["community", "purpose", "district"]), remainder="passthrough"
    ),
    RandomForestClassifier(50, min_samples_leaf=5, random_state=0),
)
model.fit(X_train, y_train)
print(f"accuracy on the test rows: {model.score(X_test, y_test):.2f}")

# %%
# Two audits with the same budget
# -------------------------------
# The columns of the data and their ranges say which inputs may be tried. An input counts as
# discriminatory here when its twins' probabilities are more than 0.2 apart; which difference
# matters is for the people who use the model to say.

settings = {
    "sensitive_features": "community",
    "threshold": 0.2,
    "max_queries": 10_000,
    "random_state": 0,
}
auditors = {
    "directed search (SBFT)": SBFTAuditor(model, **settings),
    "random inputs": RandomAuditor(model, **settings),
}
for auditor in auditors.values():
    auditor.fit(X_train)

summary = {
    name: {
        "degree": auditor.fairness_degree_,
        "discriminatory inputs": auditor.n_found_,
        "inputs tried": auditor.n_inputs_,
        "queries": auditor.n_queries_,
    }
    for name, auditor in auditors.items()
}
print(pd.DataFrame(summary).round(2).to_string())

# %%
# The degree is the largest difference found between two probabilities. Neither auditor has tried
# all inputs, so the true degree is at least the larger of the two figures.
#
# The counts do not compare in the same way. The random inputs are drawn evenly from the space, so
# their share of discriminatory ones estimates the share in the space. SBFT goes where the
# differences are large, and its share describes the search.
#
# The worst pair
# --------------

auditor = auditors["directed search (SBFT)"]
table = auditor.worst_case_.assign(probability=auditor.worst_case_outputs_)
print(table.round(2).T.to_string(header=False))
print(f"(probability of {auditor.worst_case_class_})")

# %%
# The two applications differ in ``community`` alone. The model can be asked about them; whether
# anybody has applied like this, the audit does not know. For the applications in the data the
# question has an answer of its own, because every row is compared with its twins.

print(f"largest difference among the rows of X_train: {auditor.on_data_degree_:.2f}")
print(f"share of the rows with a difference above 0.2: {auditor.on_data_rate_:.0%}")

# %%
# How the two searches went on
# ----------------------------
# One run each; another seed has another course.

courses = HistoryDisplay.from_auditors(auditors).plot()
directed, random = (auditor.fairness_degree_ for auditor in auditors.values())
courses.figure_.suptitle(
    f"{settings['max_queries']:,} questions each: the directed search finds a\n"
    f"difference of {directed:.2f} in probability, random inputs show {random:.2f}"
)
plt.show()
