"""
==============================================
How much of the worst case does a search find?
==============================================

A search for twins that a model treats differently returns what it found, and nobody knows what it
missed. For most of scikit-learn's models the true worst case can be worked out, because their
structure is known: a forest is a sum of trees, and a tree is constant on boxes. This example
certifies a forest that decides on made-up loan applications, and asks how much of the certified
degree two searches find.
"""

# %%
# A forest behind a pipeline
# --------------------------
# The twins differ in ``community``. The model is read out of the fitted pipeline, encoder and all.

import matplotlib.pyplot as plt
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from skfairtest import CertifiedAuditor, RandomAuditor, SBFTAuditor, certify
from skfairtest.datasets import load_loans

X, decision = load_loans(return_X_y=True)
encode = make_column_transformer(
    (OneHotEncoder(), ["community", "purpose", "district"]), remainder="passthrough"
)
forest = RandomForestClassifier(50, max_depth=6, random_state=0)
model = make_pipeline(encode, forest).fit(X, decision)

certified = CertifiedAuditor(model, sensitive_features="community", max_time=30, random_state=0)
certified.fit(X)
print(f"largest difference known: {certified.fairness_degree_:.3f}")
print(f"no difference is larger than: {certified.fairness_degree_upper_bound_:.3f}")
print(f"certified: {certified.certified_} ({certified.stop_reason_})")

# %%
# The pair that attains it is one that the model was asked about, as with every auditor.

twins = certified.worst_case_.assign(probability=certified.worst_case_outputs_.round(2))
print(twins.to_string(index=False))

# %%
# What do searches find of it?
# ----------------------------
# `certify` starts from what a fitted auditor found and bounds the true degree. The share found
# tells what the search missed.

shares = {}
for name, tester in {"genetic search": SBFTAuditor, "random search": RandomAuditor}.items():
    for queries in (300, 1000, 3000, 10_000):
        found = tester(
            model, sensitive_features="community", max_queries=queries, random_state=0
        ).fit(X)
        shares.setdefault(name, {})[queries] = (
            found.fairness_degree_ / certified.fairness_degree_upper_bound_
        )
certificate = certify(found, max_time=30)
print(f"random testing with 10,000 queries found {certificate.found_share:.0%} of the bound")

# %%
# The rows of the table themselves, each compared with its twins, show less than the domain holds.
# The certified degree is about all inputs within the ranges of the columns; whether such people
# exist, and whether the difference is unfair, it does not say.

on_data = certified.on_data_degree_ / certified.fairness_degree_upper_bound_
fig, ax = plt.subplots(figsize=(7, 4.4), layout="constrained")
looks = {"genetic search": ("#0072B2", "o", "-"), "random search": ("#009E73", "s", "--")}
for name, found in shares.items():
    color, marker, line = looks[name]
    percent = [100 * share for share in found.values()]
    ax.plot(list(found), percent, marker=marker, color=color, linestyle=line, linewidth=2)
    ax.annotate(
        name, (10_000, percent[-1]), xytext=(10, 0), textcoords="offset points", va="center"
    )
bound = certified.fairness_degree_upper_bound_
for level, color, line, text, above in (
    (100, "#D55E00", "-", f"proven: no difference is larger than {bound:.2f}", True),
    (100 * on_data, "#7F8891", ":", "largest among the people of the table", False),
):
    ax.axhline(level, color=color, linewidth=2, linestyle=line)
    ax.annotate(
        text, (10_000, level), xytext=(0, 3 if above else -3), textcoords="offset points",
        ha="right", va="bottom" if above else "top",
    )  # fmt: skip
ax.set(
    xscale="log",
    xlabel="rows that the model was asked about",
    ylabel="largest difference that was found,\nas a share of the proven one (%)",
    ylim=(0, 110),
    xlim=(270, 11_000),
)
ax.set_xticks([300, 1000, 3000, 10_000], ["300", "1,000", "3,000", "10,000"])
ax.spines[["top", "right"]].set_visible(False)
missed = {name: 1 - found[10_000] for name, found in shares.items()}
fig.suptitle(
    "How much of the worst case do searches find? After 10,000 queries\n"
    f"the genetic search has missed {missed['genetic search']:.0%} of it, "
    f"the random one {missed['random search']:.0%}"
)
plt.show()
