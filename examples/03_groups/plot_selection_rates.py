"""
=====================================================
How often is each group selected, and how sure is it?
=====================================================

Where the groups are known, their rates can be counted, without a search. This example counts them
for predictions on scikit-learn's diabetes data, by sex, by age and by both, with intervals.
"""

# %%
# Predictions for people whom the model has not seen
# --------------------------------------------------
# Each patient is predicted by a model that was trained on others. "Selected" are those whose
# disease is predicted to get far worse, a class that a clinic may want to invite first.

import matplotlib.pyplot as plt
from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import cross_val_predict

from skfairtest import SelectionDisplay

X, progression = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
y = (progression > 140).map({True: "far", False: "little"})
model = RandomForestClassifier(min_samples_leaf=5, random_state=0)
predicted = cross_val_predict(model, X, y)

# %%
# Rates and impact ratios
# -----------------------
# The impact ratio is a group's rate divided by the highest rate. Its interval allows for the
# highest rate being one that chance picked. The source codes ``sex`` as 1 and 2.

people = X[["sex", "age"]].assign(
    sex=X["sex"].map("code {:.0f}".format),
    age=X["age"].map(lambda age: "under 50" if age < 50 else "50 and over"),
)
display = SelectionDisplay.from_predictions(
    predicted, sensitive_features=people, favourable="far", y_true=y
)
columns = ["attribute", "group", "n", "selection_rate", "impact_ratio", "impact_ratio_low"]
print(display.frame()[columns].round(2).to_string(index=False))

# %%
# The picture
# -----------

display.plot()
plt.show()

# %%
# What this does not show
# -----------------------
# The groups differ in their measurements, and may differ in the disease: rates say nothing about
# the reason. Whether a text of law or a guideline applies, and what follows from a ratio, is for
# people who know it.
