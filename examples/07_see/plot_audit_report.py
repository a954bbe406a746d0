"""
=========================================
What do I hand to the people who decide?
=========================================

``audit`` looks at a fitted model in one call and returns a report: the two inputs that the model
treats most differently, how large the difference can get, how many rows of the data are concerned,
how groups fare, and what all of that does not show. The rows are scikit-learn's diabetes data; the
model predicts whether the disease has progressed far a year later. Twins are two inputs that are
identical but for the sensitive attributes, here ``sex`` (coded 1 and 2 by the source) and age.
"""

# %%
# One call
# --------
# The model is audited as it stands. With ``y`` the report has rates of errors by group, too. A bar,
# or a line a part, tells how far it is, unless there is ``progress=False``.

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

from skfairtest import Limits, MarginalizedClassifier, audit

X, progression = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
y = (progression > 140).map({True: "far", False: "little"})
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
model = RandomForestClassifier(min_samples_leaf=5, random_state=0).fit(X_train, y_train)

settings = {"sensitive_features": ["sex", "age"], "max_time": 15, "random_state": 0}
report = audit(model, X_test, y_test, progress=False, **settings)
print(report)

# %%
# Pictures
# --------
# A report has displays of what it holds; others can be made from its ``auditors``.

report.display("pair").plot()

# %%
# What was found is a lower bound; the certified end is an upper one.

report.display("bracket").plot()

# %%
# Rates by group are counted on the rows, without a search. Of few rows the intervals are wide.

report.display("selection").plot()
plt.show()

# %%
# A file for everybody
# --------------------
# One HTML file that loads nothing from outside: it can be mailed, printed and read on a phone. The
# JSON has all figures, as ``skfairtest/report/schema/v1.json`` describes them. Both hold the worst
# rows of the data, which are people: mind who gets them.

folder = Path(tempfile.mkdtemp())
report.save_html(folder / "report.html")
report.to_json(folder / "report.json")
for path in sorted(folder.iterdir()):
    print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")

# %%
# Before and after
# ----------------
# The same model, averaged over the sensitive attributes, gives all twins the same probabilities.
# Where an interval or a bracket allows it, the comparison says which way a figure went.

averaged = MarginalizedClassifier(model, sensitive_features=["sex", "age"])
averaged.fit(X_train, y_train)
after = audit(averaged, X_test, y_test, progress=False, **settings)
table = report.compare(after, names=("before", "after"))
print(table[["before", "after", "change", "says"]].round(3).to_string())

# %%
# Limits
# ------
# ``check`` compares a report with limits; the words say what was shown and what was not.

limits = Limits(max_degree=0.1, max_on_data_rate=0.05)
for name, one in (("before", report), ("after", after)):
    print(f"{name}: {one.check(limits).verdict}")
