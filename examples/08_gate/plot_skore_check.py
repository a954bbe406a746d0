"""
=================================================
How does a finding get into the reports of skore?
=================================================

`skore <https://docs.skore.probabl.ai>`_ makes reports of estimators: metrics, and checks that look
for common problems. Its protocol ``Check`` takes checks from outside. The one here audits the model
of the report: twins (two inputs that are identical but for the sensitive attributes) whose
predictions differ by more than a limit become a tip beside skore's own. An audit scorer stands
beside its metrics. Made for skore 0.28; without skore, the picture is all that this shows.
"""

# %%
# A check
# -------
# A check says what it is called, which reports it is for, and that it is slow, so that skore leaves
# it out where it should be quick. It returns what was found in words, or None. No class of skore is
# needed to write one.

from importlib.util import find_spec

import matplotlib.pyplot as plt
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from skfairtest import Limits, SBFTAuditor, audit, make_audit_scorer
from skfairtest.datasets import load_loans


class TwinsCheck:
    """Twins get outputs that differ by more than a limit."""

    code = "SFT001"
    title = "Twins get different outputs"
    report_types = ["estimator"]
    docs_url = None
    severity = "tip"
    slow = True

    def __init__(self, limits, **options):
        self.limits = limits
        self.options = options

    def check_function(self, report):
        """What is not within the limits, in words; None where all is."""
        self.found = audit(report.estimator_, report.X_test, report.y_test, **self.options)
        outcome = self.found.check(self.limits)
        return None if outcome.status == "within" else f"{self.found.sentence} {outcome.verdict}"


auditor = SBFTAuditor(sensitive_features=["community"], max_queries=3000)
options = {"auditor": auditor, "groups": False, "favourable": "granted", "random_state": 0}
check = TwinsCheck(Limits(max_degree=0.1), **options, progress=False)

# %%
# In a report
# -----------
# The model decides on invented applications for loans from three invented communities. The limit of
# 0.1 is for show. The scorer's name is what the table calls it: negated, since greater is better
# for skore as for scikit-learn.

X, y = load_loans(return_X_y=True)
words = OneHotEncoder(), ["community", "purpose", "district"]
model = make_pipeline(
    make_column_transformer(words, remainder=StandardScaler()), LogisticRegression()
)

if find_spec("skore") is None:
    print("skore is not installed: pip install skore==0.28.0 shows this part.")
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.4, random_state=0)
    found = audit(model.fit(X_train, y_train), X_test, **options, progress=False)
else:
    import skore

    report = skore.evaluate(model, X, y, splitter=0.4)
    report.checks.add([check])
    checks = report.checks.summarize().frame().set_index("code")
    told = checks.loc["SFT001"]
    print(f"{told['section']}: {told['title']}. {told['explanation']}\n")

    report.metrics.add(make_audit_scorer(auditor, "degree", random_state=0))
    print(report.metrics.summarize().frame())
    found = check.found

# %%
# The pair behind it
# ------------------
# What the check found is a whole audit, which can be looked at. A check without a finding says that
# nothing above the limit was found; other columns may stand for ``community``, which twins do not
# show.

display = found.display("pair").plot()
pair = display.frame().attrs
first, second = (f"{chance:.0%}" for chance in pair["outputs"])
display.figure_.suptitle(
    f"The tip in skore rests on this pair, identical but for the community:\n"
    f"the {pair['output']} is {first} for one and {second} for the other"
)
plt.show()

# %%
# What comes next: the example of the gate, for the same limits in a CI job.
