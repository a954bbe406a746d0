"""
=====================================================
Does a model keep to its limits, and a mitigated one?
=====================================================

A gate is a command in a CI job: ``skfairtest audit`` loads a saved model, searches for twins (two
inputs that are identical but for the sensitive attributes) that it treats differently, compares
what is found with limits, and ends with an exit code. The model here decides on invented
applications for loans from three invented communities. A second model is the same, averaged over
the communities for the most part. The limits are for show; those of a real model are for the people
who use it to set.
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
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from skfairtest import AuditReport, Limits, MarginalizedClassifier
from skfairtest.__main__ import main
from skfairtest.datasets import load_loans

X, y = load_loans(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.4, random_state=0)

words = OneHotEncoder(), ["community", "purpose", "district"]
model = make_pipeline(
    make_column_transformer(words, remainder=StandardScaler()), LogisticRegression()
)
model.fit(X_train, y_train)
mitigated = MarginalizedClassifier(model, sensitive_features=["community"], strength=0.8)
mitigated.fit(X_train, y_train)

folder = tempfile.TemporaryDirectory()
place = Path(folder.name)
skops.io.dump(model, place / "model.skops")
skops.io.dump(mitigated, place / "mitigated.skops")
X_test.assign(decision=y_test).to_csv(place / "test.csv", index=False)

# %%
# The gate
# --------
# In a job this is one line: ``skfairtest audit model.skops test.csv --sensitive community --target
# decision --favourable granted --max-degree 0.1 ...``. The exit code is 0 within the limits, 1
# where one is exceeded, 3 where what is known decides neither: a difference that a search did not
# find has to be ruled out by a certificate, as it is here.

limits = Limits(max_degree=0.1, max_on_data_rate=0.1)
options = [str(place / "test.csv"), "--sensitive", "community", "--target", "decision"]
options += ["--favourable", "granted", "--max-degree", "0.1", "--max-on-data-rate", "0.1"]
options += ["--max-queries", "3000", "--quiet"]

for name in ("model", "mitigated"):
    code = main(["audit", str(place / f"{name}.skops"), *options, "--json", str(place / name)])
    print(f"{name}: exit code {code}\n")

# %%
# What was measured
# -----------------
# The same function decides for the command and in Python.

names = {"model": "the model", "mitigated": "averaged over\ncommunities"}
reports = {name: AuditReport.from_json(place / name) for name in names}
outcomes = [reports[name].check(limits) for name in names]
exceeded = [sum(check.status == "exceeded" for check in outcome.checks) for outcome in outcomes]
questions = {
    "max_degree": "largest difference in probability\nif only the community is changed",
    "max_on_data_rate": "people who would get another\ndecision from another community",
}
fig, axes = plt.subplots(1, 2, figsize=(7.2, 2.9), sharey=True, layout="constrained")
for ax, (limit, words) in zip(axes, questions.items(), strict=True):
    found = [check for outcome in outcomes for check in outcome.checks if check.name == limit]
    ax.barh(list(names.values()), [check.value for check in found], color=["0.6", "C0"])
    for place, check in enumerate(found):
        told = f"{check.value:.1%}\n{check.status}"
        ax.text(1, place, told, transform=ax.get_yaxis_transform(), ha="right", va="center")
    line = ax.axvline(found[0].limit, color="C1", linestyle="--", label="limit")
    ax.set(xlabel=words, xlim=(0, 1.9 * max(check.value for check in found)))
    ax.xaxis.set_major_formatter(lambda x, _: f"{x:.0%}")
    ax.spines[["top", "right"]].set_visible(False)
axes[0].invert_yaxis()
fig.legend(handles=[line], loc="outside lower center", frameon=False)
fig.suptitle(f"The model exceeds {exceeded[0]} of its 2 limits; averaged, it exceeds {exceeded[1]}")
plt.show()

# %%
# What this does not show
# -----------------------
# Twins keep all other columns, and these may stand for the community, as the district does here:
# rates of groups are another question, with a limit of its own (``--max-group-score``). Whoever
# sets limits chooses what they are about. What the averaging changes in rates, and what it costs
# in accuracy:

for name, fitted in (("model", model), ("mitigated", mitigated)):
    rates = reports[name].selection_table.set_index("group")["selection_rate"].round(2)
    accuracy = fitted.score(X_test, y_test)
    print(f"{name:<9}  rates of groups {rates.to_dict()}, accuracy {accuracy:.2f}")
folder.cleanup()

# %%
# What comes next: the page on the gate has the CI jobs, the exit codes and ``assert_within`` for
# tests; the examples on mitigation have other methods.
