"""Which of our types `skops.io.load` may trust: fitted auditors, scorers and retrainers on disk.

A file in the skops format is a description of objects, and loading it runs no code of the file's
own; the reader says which types it trusts. `TRUSTED_TYPES` lists ours and nothing else, so that a
file with anything foreign in it is still refused.

The model inside is its author's: where skops does not trust it (trees, whose files can crash a
process), add its types yourself if you trust the file.

Examples
--------
>>> import skops.io
>>> from skfairtest import RandomAuditor
>>> from skfairtest.datasets import make_biased_regression
>>> from skfairtest.io import TRUSTED_TYPES
>>> data = make_biased_regression(random_state=0)
>>> auditor = RandomAuditor(data.estimator, max_queries=500, random_state=0).fit(data.data)
>>> again = skops.io.loads(skops.io.dumps(auditor), trusted=TRUSTED_TYPES)
>>> again.fairness_degree_ == auditor.fairness_degree_
True
"""

from __future__ import annotations

__all__ = ["TRUSTED_TYPES"]

#: Names of our types, to be passed as ``trusted=`` to ``skops.io.load``. A list that may be added
#: to: ``TRUSTED_TYPES + ["my_package.MyModel"]`` where a model of one's own was audited.
TRUSTED_TYPES = [
    "skfairtest.space._columns.Column",
    "skfairtest.space._containers.ArrayContainer",
    "skfairtest.space._containers.NarwhalsContainer",
    "skfairtest.space._containers.PandasContainer",
    "skfairtest.model_selection._refit.ConstrainedRefit",
    "skfairtest.model_selection._refit.ParetoRefit",
    "skfairtest.space._space.InputSpace",
    "skfairtest.datasets._comments.KnownTextClassifier",
    "skfairtest.datasets._known.KnownClassifier",
    "skfairtest.datasets._known.KnownRegressor",
    "skfairtest.exact._auditor.CertifiedAuditor",
    "skfairtest.group._rule_attribute.RuleAttribute",
    "skfairtest.group._sensitive_table.SensitiveTables",
    "skfairtest.group._terms.Terms",
    "skfairtest.group._testsgd.TestSGDAuditor",
    "skfairtest.group._textsgd.TextSGDAuditor",
    "skfairtest.individual._aequitas.AequitasAuditor",
    "skfairtest.individual._gradient.auditors.ADFAuditor",
    "skfairtest.individual._gradient.auditors.EIDIGAuditor",
    "skfairtest.individual._gradient.auditors.MAFTAuditor",
    "skfairtest.individual._random.RandomAuditor",
    "skfairtest.individual._sbft.auditor.SBFTAuditor",
    "skfairtest.individual._surrogate.auditor.SurrogateAuditor",
    "skfairtest.individual._symbolic.auditor.SymbolicAuditor",
    "skfairtest.individual._themis.auditor.ThemisAuditor",
    "skfairtest.mitigation._augmenter.FairnessAugmenter",
    "skfairtest.mitigation._labelers.average_label",
    "skfairtest.mitigation._labelers.majority_label",
    "skfairtest.mitigation._labelers.opposite_label",
    "skfairtest.mitigation._retrainer.FairnessRetrainer",
    "skfairtest.model_selection.AuditScorer",
    "skfairtest.testing.CountingClassifier",
    "skfairtest.testing.CountingRegressor",
]
