"""Which of our types `skops.io.load` may trust: fitted auditors, scorers and retrainers on disk.

A file in the skops format is a description of objects, and loading it runs no code of the file's
own; the reader says which types it trusts. `TRUSTED_TYPES` lists ours and nothing else, so that a
file with anything foreign in it is still refused.

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
]
