"""
========================================
What do I hand to the people who decide?
========================================

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
from skops.card import Card

from skfairtest import audit

X, progression = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
y = (progression > 140).map({True: "far", False: "little"})
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
model = RandomForestClassifier(min_samples_leaf=5, random_state=0).fit(X_train, y_train)

report = audit(
    model,
    X_test,
    y_test,
    sensitive_features=["sex", "age"],
    max_time=8,
    random_state=0,
    progress=False,
)
print(report)

# %%
# A picture
# ---------
# A report has displays of what it holds: the pair, the bracket, the curve of the rows, the course
# of the search, groups, and rates. What was found is a lower bound; the certified end is an upper
# one.

report.display("bracket").plot()
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
# In a model card
# ---------------
# A card of ``skops.card`` goes with a model. The report adds its sections to it.

card = Card(model, template=None)
report.add_to_model_card(card)
print("\n".join(line for line in card.render().splitlines() if line.startswith("#")))

# %%
# What this does not show
# -----------------------
# The report says it itself, in its last section:

for line in report.to_dict()["not_shown"]:
    print("-", line)
