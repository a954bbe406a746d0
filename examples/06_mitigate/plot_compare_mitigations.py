"""
============================================
Which method of mitigation suits this model?
============================================

A lender's model treats some applicants differently because of their ``community``. It can be
trained without that column, or averaged over its values; `fairlearn <https://fairlearn.org>`_ has
methods of its own. One comparison shows for each of them what is left, what it costs, and who pays,
and recommends one where the figures allow it. (Training again on what an audit finds takes longer:
:doc:`that has an example of its own </auto_examples/06_mitigate/plot_mitigate>`.)
"""

# %%
# Compare
# -------
# The loans are invented. Applicants of the community Birch get worse answers than others whose rows
# are the same in all other columns. Every method is trained on the same three folds and measured on
# the people who were held out, and on inputs near them.

import matplotlib.pyplot as plt
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from skfairtest import compare_mitigations
from skfairtest.datasets import load_loans
from skfairtest.inspection import MitigationDisplay

X, y = load_loans(return_X_y=True)
encode = make_column_transformer(
    (OneHotEncoder(handle_unknown="ignore"), ["community", "purpose", "district"]),
    remainder=StandardScaler(),
)
comparison = compare_mitigations(
    make_pipeline(encode, LogisticRegression()),
    X,
    y,
    sensitive_features="community",
    favourable="granted",
    methods=["drop", "marginalize", "correlation remover", "exponentiated parity"],
    random_state=0,
    progress=False,
)
comparison

# %%
# The recommendation says what it rests on. A method is recommended if it leaves clearly less than
# the original, and if the interval of its cost excludes more than two points of accuracy. Another
# limit may give another answer; ``print(comparison)`` says the same in a terminal.

print(comparison.recommend(max_score_drop=0.01).reason)

# %%
# What is left, what it costs, and for whom
# -----------------------------------------
# A row per method. The intervals of the change are paired: the same people are predicted by both
# models, so they are narrower than those of two accuracies. On the right are the rates of the
# groups: they come closer, though not only because Birch is granted more.

MitigationDisplay.from_comparison(comparison).plot()
plt.show()

# %%
# All figures
# -----------
# ``table`` has one row per method, and ``groups`` one per method and group.

columns = ["selection_rate", "selection_rate_change", "accuracy"]
comparison.groups[columns].round(3)

# %%
# What this does not show
# -----------------------
# Dropping and averaging leave nobody who is treated differently from a twin, by construction; other
# columns that stand in for ``community``, such as the ``district``, keep their influence. Equal
# rates between groups are another aim: what brings them about may treat more twins differently than
# before. The intervals are those of one training, on these rows.
