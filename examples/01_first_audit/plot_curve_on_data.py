"""
===========================================
How many real rows are treated differently?
===========================================

Real tables hold strings, booleans and numbers, and the model is a pipeline that encodes them. An
auditor takes the pipeline and the raw table as they are. This example audits a classifier on
invented data, in which the dependence on the sensitive column was planted, within bounds and a
constraint, and puts two answers beside each other: the worst case among the rows at hand, and the
worst case among all inputs that may exist.
"""

# %%
# The data and the model
# ----------------------
# The people in the data are invented, and so is the effect of ``sex``: it says nothing about any
# real group.

import matplotlib.pyplot as plt
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from skfairtest import DisparityCurveDisplay, InputSpace, SBFTAuditor
from skfairtest.datasets import make_biased_classification

bunch = make_biased_classification(n_samples=1000, random_state=0)
X, y = bunch.data, bunch.target
print(X.head(3).to_string())

X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)
encode = make_column_transformer(
    (OneHotEncoder(handle_unknown="ignore"), ["sex", "job", "region", "owner"]),
    remainder=StandardScaler(),
)
model = make_pipeline(encode, RandomForestClassifier(50, min_samples_leaf=5, random_state=0))
model.fit(X_train, y_train)
print(f"accuracy on the test rows: {model.score(X_test, y_test):.2f}")

# %%
# What may exist
# --------------
# ``points`` reach from 18 to 80 in the data, and we want to know about 20 to 65 only. We also know
# that nobody has more years of experience than their points leave room for. The constraint gets
# rows as a table like ``X`` and returns one boolean a row.


def has_room_for_experience(rows):
    return rows["experience"] <= rows["points"] - 15


auditor = SBFTAuditor(
    model,
    sensitive_features="sex",
    max_queries=10_000,
    random_state=0,
    space=InputSpace(bounds={"points": (20, 65)}, constraint=has_room_for_experience),
)
auditor.fit(X_train)

# %%
# Two questions, two answers
# --------------------------
# For a classifier there is a verdict and a degree. By default an input is discriminatory when its
# twins get different labels. The degree is the largest difference of a class probability.

print(f"asked through:          {auditor.response_}")
print(f"degree over the domain: {auditor.fairness_degree_:.2f}")
print(f"degree on the data:     {auditor.on_data_degree_:.2f}")
print(f"rows whose label flips: {len(auditor.on_data_discriminatory_)} of {len(X_train)}")
print(f"inputs found that flip: {auditor.n_found_} of {auditor.n_inputs_} tried")
print(f"cost: {auditor.n_queries_} queries, and {auditor.n_data_queries_} for the data at hand")

# %%
# The rows at hand are taken as they are: bounds leave none of them out. A row that breaks the
# constraint has no twins to compare, is not asked about, and counts as one that does not flip.
#
# The worst pair, and the probability of "yes" for each of the two. All values keep to the bounds
# and to the constraint.

worst = auditor.worst_case_
yes = list(auditor.classes_).index("yes")
table = worst.assign(probability_of_yes=auditor.predict_proba(worst)[:, yes])
print(table.round(2).to_string(index=False))

# %%
# Rows that training never saw can be asked about, too.

test_audit = auditor.audit_rows(X_test)
print(f"test rows whose label flips: {test_audit.is_discriminatory.sum()} of {len(X_test)}")

# %%
# The picture
# -----------
# Of how many rows do the twins differ by more than so much? Rows that break the constraint are left
# out. The worst case over the domain says nothing about how many rows come near it; the curve does,
# for these rows.

possible = X_train[has_room_for_experience(X_train)]
display = DisparityCurveDisplay.from_auditor(auditor, possible).plot()
display.ax_.axvline(
    auditor.fairness_degree_,
    color="C1",
    linestyle="--",
    label=f"largest found in the domain: {auditor.fairness_degree_:.2f}",
)
display.ax_.set_xlim(0, 1.05 * auditor.fairness_degree_)
display.ax_.legend(loc="upper right")
plt.show()
