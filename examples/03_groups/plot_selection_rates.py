"""
===============================================================
To whom does the model grant fewer loans, and how sure is that?
===============================================================

Where the groups are known, their rates can be counted, without a search. This example counts them
for predictions on a made-up table of loan applications, by community, by age and by both, with
intervals.
"""

# %%
# Predictions for people whom the model has not seen
# --------------------------------------------------
# Each application is predicted by a model that was trained on others. The communities Alder, Birch
# and Cedar are invented.

import matplotlib.pyplot as plt
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from skfairtest.datasets import load_loans
from skfairtest.inspection import SelectionDisplay

X, decision = load_loans(return_X_y=True)
encode = make_column_transformer(
    (OneHotEncoder(), ["community", "purpose", "district"]), remainder="passthrough"
)
model = make_pipeline(encode, RandomForestClassifier(min_samples_leaf=5, random_state=0))
predicted = cross_val_predict(model, X, decision)

# %%
# Rates and impact ratios
# -----------------------
# The impact ratio is a group's rate divided by the highest rate. Its interval allows for the
# highest rate being one that chance picked.

people = X[["community", "age"]].assign(
    age=X["age"].map(lambda age: "under 40" if age < 40 else "40 and over")
)
display = SelectionDisplay.from_predictions(
    predicted, sensitive_features=people, favourable="granted", y_true=decision
)
table = display.frame()
columns = ["attribute", "group", "n", "selection_rate", "impact_ratio", "impact_ratio_low"]
print(table[columns].round(2).to_string(index=False))

# %%
# The picture
# -----------

display.plot()
rates = table[table["attribute"] == "community"].set_index("group")["selection_rate"]
display.figure_.suptitle(
    f"The model grants a loan to {rates['Birch']:.0%} of the people of Birch,\n"
    f"to {rates['Alder']:.0%} of Alder and {rates['Cedar']:.0%} of Cedar"
)
display.ax_.set_xlabel("share of people to whom the model grants a loan (bars: 95% intervals)")
plt.show()

# %%
# What this does not show
# -----------------------
# The groups may differ in what they earn, or in what they apply for: rates say nothing about the
# reason. Whether a text of law or a guideline applies, and what follows from a ratio, is for people
# who know it.
