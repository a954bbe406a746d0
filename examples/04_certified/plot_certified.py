"""
=========================================
Is the worst pair that I found the worst?
=========================================

A search for twins that a model treats differently returns what it found, and nobody knows what it
missed. For most of scikit-learn's models the true worst case can be worked out, because their
structure is known: a forest is a sum of trees, and a tree is constant on boxes. This example
certifies a forest on scikit-learn's diabetes data, and asks how much of the certified degree two
searches find.
"""

# %%
# A forest behind a pipeline
# --------------------------
# The twins differ in ``sex``. The model is read out of the fitted pipeline, scaler and all.

import matplotlib.pyplot as plt
from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skfairtest import CertifiedAuditor, RandomAuditor, SBFTAuditor, certify

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
forest = RandomForestRegressor(50, max_depth=6, random_state=0)
model = make_pipeline(StandardScaler(), forest).fit(X, y)

certified = CertifiedAuditor(model, sensitive_features="sex", max_time=30, random_state=0).fit(X)
print(f"largest difference known: {certified.fairness_degree_:.2f}")
print(f"no difference is larger than: {certified.fairness_degree_upper_bound_:.2f}")
print(f"certified: {certified.certified_} ({certified.stop_reason_})")

# %%
# The pair that attains it is one that the model was asked about, as with every auditor.

twins = certified.worst_case_.assign(prediction=certified.worst_case_outputs_)
print(twins.round(1).to_string(index=False))

# %%
# What do searches find of it?
# ----------------------------
# `certify` starts from what a fitted auditor found and brackets the true degree. The share found
# tells what the search missed.

shares = {}
for name, tester in {"SBFT": SBFTAuditor, "random": RandomAuditor}.items():
    for queries in (300, 1000, 3000, 10_000):
        found = tester(model, sensitive_features="sex", max_queries=queries, random_state=0).fit(X)
        shares.setdefault(name, {})[queries] = (
            found.fairness_degree_ / certified.fairness_degree_upper_bound_
        )
certificate = certify(found, max_time=30)
print(f"random testing with 10,000 queries found {certificate.found_share:.0%} of the bound")

# %%
# The rows of the table themselves, each compared with its twin, show less than the domain holds.
# The certified degree is about all inputs within the ranges of the columns; whether such people
# exist, and whether the difference is unfair, it does not say.

on_data = certified.on_data_degree_ / certified.fairness_degree_upper_bound_
fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for (name, found), color in zip(shares.items(), ("C0", "C1"), strict=True):
    ax.plot(list(found), list(found.values()), marker="o", color=color, label=name)
ax.axhline(1, color="0.2", linewidth=1, label="certified")
ax.axhline(on_data, color="0.4", linewidth=1, linestyle=":", label="rows of the data")
ax.set(
    xscale="log",
    xlabel="queries",
    ylabel="found over certified",
    title="Twins in sex: a forest on the diabetes data",
    ylim=(0, 1.05),
)
ax.legend(loc="lower right")

plt.show()
