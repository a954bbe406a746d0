"""
======================================
Which two inputs differ most, and how?
======================================

The largest difference that an audit finds comes with the two inputs that show it: twins, identical
but for the sensitive attribute. This example finds them for a model that decides on loans, and
draws them as a card.
"""

# %%
# A model of loans
# ----------------
# 1,000 invented applications from three invented communities, and whether each loan was granted.
# With a threshold, an input counts as discriminatory when its twins' probabilities differ by more
# than that; which difference matters is for the people who use the model to say.

import matplotlib.pyplot as plt
from sklearn.ensemble import HistGradientBoostingClassifier

from skfairtest import SBFTAuditor
from skfairtest.datasets import load_loans
from skfairtest.inspection import PairDisplay

X, y = load_loans(return_X_y=True)
model = HistGradientBoostingClassifier(max_depth=4, max_iter=50, random_state=0).fit(X, y)

auditor = SBFTAuditor(
    model, sensitive_features="community", threshold=0.1, max_queries=10_000, random_state=0
)
auditor = auditor.fit(X)

# %%
# In a notebook the auditor itself shows the pair, above scikit-learn's picture of it. Looking at it
# asks the model nothing.

auditor

# %%
# The card
# --------
# The line at the top joins the two predictions, with the threshold below it. In the table the
# columns that differ come first; all others are equal.

display = PairDisplay.from_auditor(auditor).plot()
communities = auditor.worst_case_["community"]
first, second = (
    f"{chance:.0%} for {community}"
    for community, chance in zip(communities, auditor.worst_case_outputs_, strict=True)
)
display.figure_.suptitle(
    f"The same application from two communities: the probability\n"
    f"of '{auditor.worst_case_class_}' is {first} and {second}"
)
plt.show()

# %%
# What this does not show
# -----------------------
# The search has combined values that perhaps nobody has. The pair says something about the model,
# not about how many people are concerned. And what a search finds is a lower bound: another pair
# may differ more.
