"""
======================================
Which two inputs differ most, and how?
======================================

The largest difference that an audit finds comes with the two inputs that show it: twins, identical
but for the sensitive attribute. This example finds them for a forest on scikit-learn's diabetes
data and draws them as a card.
"""

# %%
# A model of real measurements
# ----------------------------
# 442 patients, ten measurements each; the model says whether the disease has progressed far a year
# later. The source codes ``sex`` as 1 and 2. With a threshold, an input counts as discriminatory
# when its twins' probabilities differ by more than that; which difference matters is for the people
# who use the model to say.

import matplotlib.pyplot as plt
from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestClassifier

from skfairtest import PairDisplay, SBFTAuditor

X, progression = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
y = (progression > 140).map({True: "far", False: "little"})
model = RandomForestClassifier(min_samples_leaf=5, random_state=0).fit(X, y)

auditor = SBFTAuditor(
    model, sensitive_features="sex", threshold=0.1, max_queries=10_000, random_state=0
)
auditor = auditor.fit(X)

# %%
# In a notebook the auditor itself shows the pair, above scikit-learn's picture of it. Looking at it
# asks the model nothing.

auditor

# %%
# The card
# --------
# The dumbbell at the top is the difference of the two predictions beside the threshold. Below, the
# cells that differ come first; all others are equal.

PairDisplay.from_auditor(auditor).plot()
plt.show()

# %%
# What this does not show
# -----------------------
# The search has combined values that perhaps nobody has: the pair says something about the model,
# not about how many people are concerned. And what a search finds is a lower bound; another pair
# may differ more.
