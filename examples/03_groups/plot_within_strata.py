"""
===============================================================
Does a difference stay among people who want the same position?
===============================================================

Women are admitted less often than men. Within each department they are not: they apply more often
where few are admitted. This example compares like with like by ``control_features``, and says what
that shows and what it cannot show.
"""

# %%
# The data
# --------
# The applicants are made up, in the manner of Berkeley's admissions of 1973, so that the answer is
# known: within every department women and men are admitted equally often.

import matplotlib.pyplot as plt
import numpy as np

from skfairtest import selection_table
from skfairtest.datasets import make_admissions
from skfairtest.inspection import SelectionDisplay

admissions = make_admissions(4000, random_state=0)
X, decision = admissions.data, admissions.target
print(f"On the whole {admissions.ratio_overall:.2f}, within departments {admissions.ratio_within}.")

# %%
# On the whole and within strata
# ------------------------------
# Each department is a stratum. The rows whose ``stratum`` is empty are whole groups;
# ``ratio_within`` is Mantel and Haenszel's ratio, pooled over the departments.

table = selection_table(
    decision,
    sensitive_features=X["gender"],
    control_features=X["department"],
    favourable="admitted",
)
whole = table[table["stratum"] == ""].set_index("group")
columns = [
    "selection_rate",
    "impact_ratio",
    "ratio_within",
    "ratio_within_low",
    "ratio_within_high",
]
print(whole[columns].round(2).to_string())

# %%
# The difference of the rates is divided by strata (Kitagawa, Oaxaca and Blinder): what rates within
# departments make of it, and what it makes that women and men choose other departments. Both add up
# to it exactly.

parts = ["from_rates", "from_composition"]
women = table[table["group"] == "woman"].set_index("stratum")
print((100 * women[parts]).round(1).rename(index={"": "all"}).to_string())
print(f"One ratio in all departments: p = {whole['homogeneity_ratio']['woman']:.2f}")

# %%
# The first two rows are far apart. In every department the intervals of women and men overlap.

display = SelectionDisplay(table).plot()
display.figure_.suptitle(
    f"Women are admitted {whole['impact_ratio']['woman']:.2f} times as often as men on the whole,\n"
    f"and {whole['ratio_within']['woman']:.2f} times as often within departments"
)
plt.show()

# %%
# No licence
# ----------
# Whoever chooses the strata chooses the answer. Say that the office sorts applicants into two
# tracks, nearly all women into one and nearly all men into the other, and admits fewer from the
# first. Within tracks hardly anything is left to see, since the track stands in for gender (a
# proxy). Whether a department is a reason, or a consequence of how people are treated, no figure
# can tell; a report says who chose the strata.

rng = np.random.default_rng(1)
is_woman = X["gender"] == "woman"
in_first = rng.random(len(X)) < np.where(is_woman, 0.95, 0.05)
admitted = rng.random(len(X)) < np.where(in_first, 0.3, 0.5)
proxied = selection_table(
    admitted, sensitive_features=X["gender"], control_features={"track": in_first}, favourable=True
)
women = proxied[(proxied["stratum"] == "") & (proxied["group"] == "woman")]
columns = ["impact_ratio", "ratio_within", "ratio_within_low", "ratio_within_high", "n_strata"]
print(women[columns].round(2).to_string())
