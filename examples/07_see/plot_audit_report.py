"""
========================================
What do I hand to the people who decide?
========================================

``audit`` tests a fitted model in one call and returns a report: the two inputs that the model
treats most differently, how large the difference can get, how many rows of the data are concerned,
which predictions groups get, and what all of that does not show. The model decides on invented
applications for loans. Twins are two inputs that are identical but for the sensitive attributes,
here the applicant's community.
"""

# %%
# One call
# --------
# The model is audited as it stands. With ``y`` the report has rates of errors by group, too. A bar,
# or a line for each part, shows the progress, unless ``progress=False`` is given.

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import train_test_split
from skops.card import Card

from skfairtest import SBFTAuditor, audit
from skfairtest.datasets import load_loans

X, y = load_loans(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
model = HistGradientBoostingClassifier(max_depth=4, max_iter=50, random_state=0)
model.fit(X_train, y_train)

report = audit(
    model,
    X_test,
    y_test,
    sensitive_features="community",
    favourable="granted",
    auditor=SBFTAuditor(max_queries=5000),
    random_state=0,
    progress=False,
)
print(report)

# %%
# A picture
# ---------
# A report has displays of its parts: the pair, the bounds (the largest difference found, and the
# largest possible one), the curve of the rows, the course of the search, groups, and rates.

display = report.display("bounds").plot()
bounds = display.frame().iloc[0]
display.figure_.suptitle(
    f"The largest difference found is {bounds['lower']:.2f};\n"
    f"none is larger than {bounds['upper']:.2f}, which is proven"
)
plt.show()

# %%
# A file for everybody
# --------------------
# One HTML file that loads nothing from outside can be mailed, printed and read on a phone. The JSON
# has all figures, as ``skfairtest/report/schema/v2.json`` describes them. Both contain the worst
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
