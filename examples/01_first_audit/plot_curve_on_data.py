"""
===========================================
How many real rows are treated differently?
===========================================

The worst case that a search finds is made up, and perhaps nobody is like it. The rows of a table
are people. This example audits a model that decides on loans, and puts two answers beside each
other: how far a change of the applicant's community alone moves the answers to the people in the
table, and how far it moves the answer to any input that may exist.
"""

# %%
# The data and the model
# ----------------------
# Applications, communities and the lender are invented; that the lender treats one of the
# communities worse was planted.

import matplotlib.pyplot as plt
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from skfairtest import InputSpace, SBFTAuditor
from skfairtest.datasets import load_loans
from skfairtest.inspection import DisparityCurveDisplay

X, y = load_loans(return_X_y=True)
print(X.head(3).to_string())

X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)
words = OneHotEncoder(), ["community", "purpose", "district"]
model = make_pipeline(
    make_column_transformer(words, remainder="passthrough"),
    RandomForestClassifier(50, min_samples_leaf=5, random_state=0),
)
model.fit(X_train, y_train)
print(f"accuracy on the test rows: {model.score(X_test, y_test):.2f}")

# %%
# What may exist
# --------------
# We want to know about applicants from 21 to 65. We also know that nobody has been employed since
# before the age of 18. A constraint gets rows as a table like ``X`` and returns one boolean a row.


def was_of_age(rows):
    return rows["years_employed"] <= rows["age"] - 18


auditor = SBFTAuditor(
    model,
    sensitive_features="community",
    max_queries=10_000,
    random_state=0,
    space=InputSpace(bounds={"age": (21, 65)}, constraint=was_of_age),
)
auditor.fit(X_train)

# %%
# Two questions, two answers
# --------------------------
# For a classifier there is a verdict and a degree. By default an input is discriminatory when its
# twins (the same application from another community) get another decision. The degree is the
# largest difference between two probabilities.

print(f"largest difference, any input: {auditor.fairness_degree_:.2f}")
print(f"largest difference, the rows:  {auditor.on_data_degree_:.2f}")
print(f"rows with another decision:    {len(auditor.on_data_discriminatory_)} of {len(X_train)}")
print(f"queries: {auditor.n_queries_}, and {auditor.n_data_queries_} for the rows")

# %%
# The rows are taken as they are: bounds leave none of them out. A row that breaks the constraint
# would have no twins to compare, and would count as one whose decision stays.
#
# The worst pair keeps to the bounds and to the constraint.

print(auditor.worst_case_.T.to_string(header=False))

# %%
# Rows that training never saw can be asked about, too.

test_rows = auditor.audit_rows(X_test)
print(f"test rows with another decision: {test_rows.is_discriminatory.sum()} of {len(X_test)}")

# %%
# The picture
# -----------
# For how many rows does the community move the probability by more than so much? The worst case
# over all inputs says nothing about how many rows come near it; the curve does, for these rows.

SIZE = 0.2
share = (auditor.audit_rows(X_train).disparities > SIZE).mean()
asked = {f"{len(X_train)} applicants": auditor}
display = DisparityCurveDisplay.from_auditor(asked, X_train).plot()
display.ax_.set_xlabel("how far the probability moves if only the community is changed")
display.ax_.set_ylabel("applicants for whom it moves further")
display.ax_.plot([SIZE, SIZE, 0], [0, share, share], color="0.5", linestyle=":")
display.ax_.annotate(f"{share:.0%}", (SIZE, share), (6, 4), textcoords="offset points")
display.figure_.suptitle(
    f"Change nothing but the community: for {share:.0%} of the applicants the\n"
    f"probability of a loan moves by more than {100 * SIZE:.0f} percentage points"
)
plt.show()
