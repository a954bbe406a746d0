"""
=====================================================
Does a model keep to its limits, and a mitigated one?
=====================================================

A gate is a command in a CI job: ``skfairtest audit`` loads a saved model, searches for twins (two
inputs that are identical but for the sensitive attributes) that it treats differently, compares
what is found with limits, and ends with an exit code. The rows are scikit-learn's diabetes data;
the model predicts whether the disease has progressed far a year later. A second model is the same,
averaged over ``sex`` for the most part. The limits are for show; those of a real model are for the
people who use it to set.
"""

# %%
# Two models on disk
# ------------------
# A gate sees what was saved: the whole pipeline, in skops' format, and rows that it was not trained
# on.

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import skops.io
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skfairtest import AuditReport, Limits, MarginalizedClassifier
from skfairtest.__main__ import main

X, progression = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
y = (progression > 140).map({True: "far", False: "little"})
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.4, random_state=0)

model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X_train, y_train)
mitigated = MarginalizedClassifier(model, sensitive_features=["sex"], strength=0.8).fit(
    X_train, y_train
)

folder = tempfile.TemporaryDirectory()
place = Path(folder.name)
skops.io.dump(model, place / "model.skops")
skops.io.dump(mitigated, place / "mitigated.skops")
X_test.assign(progress=y_test).to_csv(place / "test.csv", index=False)

# %%
# The gate
# --------
# In a job this is one line: ``skfairtest audit model.skops test.csv --sensitive sex --target
# progress --max-degree 0.1 ...``. The exit code is 0 within the limits, 1 where one is exceeded, 3
# where what is known decides neither: a difference that a search did not find has to be ruled out
# by a certificate, as it is here.

limits = Limits(max_degree=0.1, max_on_data_rate=0.1)
options = [str(place / "test.csv"), "--sensitive", "sex", "--target", "progress", "--quiet"]
options += ["--max-degree", "0.1", "--max-on-data-rate", "0.1", "--max-queries", "3000"]

for name in ("model", "mitigated"):
    code = main(["audit", str(place / f"{name}.skops"), *options, "--json", str(place / name)])
    print(f"{name}: exit code {code}\n")

# %%
# What was measured
# -----------------
# The same function decides for the command and in Python. Each figure is shown as a share of its
# limit, so that one line is the limit of all.

reports = {name: AuditReport.from_json(place / name) for name in ("model", "mitigated")}
labels = {
    "max_degree": "largest difference\nbetween twins",
    "max_on_data_rate": "rows that get another\nlabel than a twin",
}
fig, ax = plt.subplots(figsize=(7.2, 3.0), layout="constrained")
for name, label, color, shift in [
    ("model", "the model", "C1", -0.19),
    ("mitigated", "averaged over sex", "C0", 0.19),
]:
    checks = {check.name: check for check in reports[name].check(limits).checks}
    found = [checks[limit] for limit in labels]
    shares = [check.value / check.limit for check in found]
    bars = ax.barh([row + shift for row in range(2)], shares, 0.36, color=color, label=label)
    words = [f"{check.value:.2g}, {check.status}" for check in found]
    ax.bar_label(bars, words, padding=4, bbox={"facecolor": "white", "linewidth": 0, "pad": 1})
ax.axvline(1, color="0.2", linestyle="--", linewidth=1, label="limit")
ax.set(yticks=range(2), yticklabels=labels.values(), ylim=(1.5, -0.5))
ax.set(xlabel="figure as a share of its limit", xlim=(0, 4.2))
ax.set_title("Two models against the same limits")
fig.legend(loc="outside lower center", ncols=3, frameon=False)
plt.show()

# %%
# What this does not show
# -----------------------
# Twins keep all other columns, and these may stand for ``sex``. Rates of groups are another
# question: here the model gives both groups "little" about equally often, and the averaged one does
# not, so a limit on groups (``--max-group-score``) would end the other way round. Whoever sets
# limits chooses what they are about. What it costs in accuracy:

for name, fitted in (("model", model), ("mitigated", mitigated)):
    rates = reports[name].selection_table.set_index("group")["selection_rate"].round(2)
    accuracy = fitted.score(X_test, y_test)
    print(f"{name:<9}  rates of groups {rates.to_dict()}, accuracy {accuracy:.2f}")
folder.cleanup()

# %%
# What comes next: the page on the gate has the CI jobs, the exit codes and ``assert_within`` for
# tests; the examples on mitigation have other methods.
