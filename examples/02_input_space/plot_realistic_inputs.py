"""
==========================
Could such a person exist?
==========================

The worst pair of twins over a whole domain may be nobody: an applicant of 20 with thirty years of
work. This example says which inputs can exist, asks which look like the data, and compares the
largest difference over three domains: rows of the data, plausible inputs, everything.

The applications for loans are invented, and so are the three communities. The model gives each
application a score from 0 to 100. It was also trained on some rows with a fault: young people with
impossible years of work, of whom those of the community Birch have a score of 0.
"""

# %%
# A table with dummies, steps and ties between columns
# ----------------------------------------------------

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestRegressor

from skfairtest import InputSpace, Order, SBFTAuditor
from skfairtest.datasets import load_loans

loans = load_loans(n_samples=3000)
score = 100 * loans.estimator.predict_proba(loans.data)[:, 0]
columns = ["community", "age", "years_employed", "income", "amount", "purpose"]
X = pd.get_dummies(loans.data[columns], columns=["community", "purpose"], dtype=int)

faulty = X[X["age"] < 25].assign(years_employed=lambda rows: 50 - rows["age"])
score_of_faulty = np.where(faulty["community_Birch"] == 1, 0.0, 100.0)
model = RandomForestRegressor(50, max_depth=9, random_state=0)
model.fit(pd.concat([X, faulty]), np.concatenate([score, score_of_faulty]))

work_begins_at_18 = Order("years_employed", "<=", "age", offset=-18)
space = InputSpace(constraint=work_begins_at_18, plausible="auto").fit(X, ["community"])
print(space.describe().to_string(index=False))
for line in space.conditions:
    print("-", line)

# %%
# The dummies of a purpose are one attribute, incomes come in tens and amounts in hundreds, and
# nobody has worked for more years than since the age of 18.
#
# Three domains
# -------------
# Without the constraint and the judge of plausible inputs the search may go anywhere. What it finds
# is judged afterwards.

settings = {"threshold": 10, "max_queries": 10_000, "random_state": 0}
anywhere = SBFTAuditor(model, sensitive_features="community", **settings).fit(X)
realistic = SBFTAuditor(model, space=space, **settings).fit(X)
print(anywhere.domains_)
print(realistic.domains_)

# %%
# Of each discriminatory input the auditor says how typical it is (the share of rows of the data
# that are less typical), and which row of the data is nearest to it.

worst = realistic.discriminatory_inputs_.iloc[:3]
nearest = realistic.nearest_rows_.iloc[:3]
print(pd.concat([worst, nearest], keys=["found", "nearest row"]).T.to_string())

fig, ax = plt.subplots(figsize=(6.4, 4.6), layout="constrained")
ax.plot(X["age"], X["years_employed"], ".", color="0.65", label="people in the data")
for auditor, look, label in (
    (anywhere, "C1x", "largest differences, anywhere"),
    (realistic, "C0.", "largest differences, plausible inputs"),
):
    found = auditor.discriminatory_inputs_.iloc[:300]
    ax.plot(found["age"], found["years_employed"], look, label=label)
ax.set(xlabel="age in years", ylabel="years of work")
fig.legend(loc="outside lower center", frameon=False)
fig.suptitle(
    f"The largest difference anywhere ({anywhere.fairness_degree_:.0f} points) is that of\n"
    f"people who cannot exist; among plausible people it is {realistic.fairness_degree_:.0f} points"
)
plt.show()

# %%
# The largest difference over the whole domain belongs to people who cannot exist. The one among
# plausible inputs is smaller, and concerns somebody. Neither says whether the difference is unfair.
# And "plausible" means no more than "like this table": who is missing from the data looks odd to
# any such judge.
