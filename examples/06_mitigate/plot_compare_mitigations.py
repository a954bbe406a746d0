"""
============================================
Which method of mitigation suits this model?
============================================

A model treats some people differently because of ``sex``. It can be trained without that column, or
averaged over its values; `fairlearn <https://fairlearn.org>`_ has methods of its own. One table
shows for each of them what is left, what it costs, and who pays. (Training again on what an audit
finds takes longer: :doc:`that has an example of its own
</auto_examples/06_mitigate/plot_mitigate>`.)
"""

# %%
# The table
# ---------
# The data are invented, with a planted effect of ``sex`` that depends on the job. Every method is
# trained on the same three folds and measured on the rows that were held out, on inputs near them,
# and on uniform inputs. Words are numbered beforehand, which a tree does not mind and which saves
# time; pipelines with encoders work as well.

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.tree import DecisionTreeClassifier

from skfairtest import MitigationDisplay, compare_mitigations
from skfairtest.datasets import make_biased_classification

bunch = make_biased_classification(n_samples=1500, random_state=0)
X = bunch.data.copy()
for name in X.columns.difference(X.select_dtypes("number").columns):
    X[name] = X[name].astype("category").cat.codes.astype(int)
model = DecisionTreeClassifier(min_samples_leaf=5, random_state=0)

table = compare_mitigations(
    model,
    X,
    bunch.target,
    sensitive_features="sex",
    methods=["drop", "marginalize", "correlation remover", "exponentiated parity"],
    cv=3,
    random_state=0,
    progress=False,
)
pd.set_option("display.width", 120, "display.max_columns", 20)
columns = ["accuracy", "accuracy_change", "share_rows", "share_near", "share_uniform"]
print(table[columns].round(4))

# %%
# Who pays
# --------
# A mean over everybody hides who bears the cost. The last column says why a method has no figures
# (fairlearn is not installed, say).

columns = ["demographic_parity_difference", "worst_group", "worst_group_accuracy", "note"]
print(table[columns].round(3).to_string())

# %%
# What is left, and what it costs
# -------------------------------
# A row a method: the shares of inputs whose twins are treated differently, the largest difference
# found, and the change of the accuracy. Its intervals are paired: the same rows are predicted by
# both models, so they are narrower than those of two accuracies.

MitigationDisplay.from_comparison(table).plot()
plt.show()

# %%
# What this does not show
# -----------------------
# Dropping and averaging leave no twins that are treated differently, by construction; other columns
# that stand for ``sex`` keep their influence. Equal rates between groups are another aim: what
# brings them about may treat more twins differently than before. And the intervals are about these
# rows: models trained on others would differ more.
