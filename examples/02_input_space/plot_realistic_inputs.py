"""
==========================
Could such a person exist?
==========================

The worst pair of twins over a whole domain may be nobody: a schoolchild with thirty years of work.
This example says which inputs can exist, asks which look like the data, and compares the degree
over three domains: rows of the data, plausible inputs, everything.

The table and the model are made for the purpose: a credit score that treats women with long work
experience worse. It was also trained on some rows with a fault: young people with an impossible
experience, of whom the women have a very low score.
"""

# %%
# A table with dummies, steps and ties between columns
# ----------------------------------------------------

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestRegressor

from skfairtest import InputSpace, Order, SBFTAuditor

rng = np.random.default_rng(0)
n = 3000
age = rng.integers(18, 70, size=n)
experience = np.floor((age - 18) * rng.random(n)).astype(int)
people = pd.DataFrame(
    {
        "sex": rng.choice(["female", "male"], size=n),
        "age": age,
        "experience": experience,
        "income": 100 * rng.integers(8, 60, size=n),
        "job": rng.choice(["cook", "driver", "nurse", "teacher"], size=n),
    }
)
X = pd.get_dummies(people, columns=["sex", "job"], dtype=int)
score = X["income"] / 100 + 10 * X["sex_male"] * (X["experience"] > 20) + rng.normal(size=n)

faulty = X[X["age"] < 25].assign(experience=lambda rows: 65 - rows["age"])
low_for_women = np.where(faulty["sex_male"] == 1, 60.0, 0.0)
model = RandomForestRegressor(50, max_depth=9, random_state=0)
model.fit(pd.concat([X, faulty]), np.concatenate([score, low_for_women]))

space = InputSpace(constraint=Order("experience", "<=", "age", offset=-18), plausible="auto").fit(
    X, ["sex"]
)
print(space.describe().to_string(index=False))
for line in space.conditions:
    print("-", line)

# %%
# The dummies of a job are one attribute, incomes come in hundreds, and nobody has more experience
# than years since the age of 18.
#
# Three domains
# -------------
# Without the constraint and the judge of plausible inputs the search may go anywhere. What it finds
# is judged afterwards.

settings = {"sensitive_features": "sex", "threshold": 5, "max_queries": 10_000, "random_state": 0}
anywhere = SBFTAuditor(model, **settings).fit(X)
realistic = SBFTAuditor(model, space=space, threshold=5, max_queries=10_000, random_state=0).fit(X)
print(anywhere.domains_)
print(realistic.domains_)

# %%
# Of each discriminatory input the auditor says how typical it is (the share of rows of the data
# that are less typical), and which row of the data is nearest to it.

worst = realistic.discriminatory_inputs_.iloc[:3]
nearest = realistic.nearest_rows_.iloc[:3]
print(pd.concat([worst, nearest], keys=["found", "nearest row"]).to_string())

fig, ax = plt.subplots()
ax.plot(X["age"], X["experience"], ".", color="lightgrey", label="rows of the data")
for auditor, name in ((anywhere, "found anywhere"), (realistic, "found, plausible")):
    found = auditor.discriminatory_inputs_.iloc[:300]
    ax.plot(found["age"], found["experience"], ".", alpha=0.6, label=name)
ax.set(xlabel="age", ylabel="experience")
ax.legend()
plt.show()

# %%
# The largest difference over the whole domain belongs to people who cannot exist. The one among
# plausible inputs is smaller, and concerns somebody. Neither says whether the difference is unfair.
# And "plausible" means no more than "like this table": who is missing from the data looks odd to
# any such judge.
