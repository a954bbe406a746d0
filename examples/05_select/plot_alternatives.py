"""
==================================================
Is there a model as good that treats groups alike?
==================================================

A search for less discriminatory alternatives tries other settings and leaves out columns, judges
the best on rows that played no part, and says whether one is found, or how many rows would tell.
"""

# %%
# A search
# --------
# The model decides on invented applications for loans. Settings of the model and its columns are
# tried; a candidate counts as good if its accuracy is at most three points lower.

import matplotlib.pyplot as plt
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from skfairtest import AlternativesSearchCV
from skfairtest.datasets import load_loans
from skfairtest.inspection import ParetoDisplay

X, y = load_loans(4000, return_X_y=True)
words = OneHotEncoder(), ["community", "purpose", "district"]
model = make_pipeline(
    make_column_transformer(words, remainder=StandardScaler()), LogisticRegression()
)
search = AlternativesSearchCV(
    model,
    ["columns", {"logisticregression__C": [0.0003, 0.001, 0.003, 0.01, 0.1]}],
    margin=0.03,
    cv=3,
    favourable="granted",
    random_state=0,
)
search.fit(X, y, sensitive_features="community")
print(search)

# %%
# The picture
# -----------
# Each candidate by its changes against the original, which stands at zero. Grey points are what
# the search saw, where the best owe part of their lead to luck. A dotted line leads from there to
# what other rows say of the judged ones, with intervals that hold for all of them at once. An
# alternative is one whose intervals lie in the shaded part.

display = ParetoDisplay.from_alternatives(search).plot()
display.figure_.suptitle(f"Alternatives to a model of loans: {search.verdict_}")
plt.show()

# %%
# What this does not show
# -----------------------
# Only these candidates were tried, on these people. Whether the one that was found has to replace
# the original is for people to judge. ``search.save_html(path)`` writes all of it to a page;
# :doc:`the tutorial </tutorials/less_discriminatory_alternative>` goes through it step by step.
