"""Data for trying out fairness tests: planted bias of a known degree.

The generators (`make_biased_regression`, `make_biased_classification`) plant a dependence on a
sensitive column whose exact strength is known, so that an auditor can be judged by the share that
it finds; `make_identity_comments` does the same for terms in texts, and `load_loans` is one
invented table with names that mean something. `make_proxy_regression` and
`make_proxy_classification` plant proxies of a column that the model does not see, with
counterfactuals that are known.
"""

from __future__ import annotations

from ._comments import KnownTextClassifier, make_identity_comments
from ._known import KnownClassifier, KnownRegressor
from ._loans import load_loans
from ._planted import make_biased_classification, make_biased_regression
from ._proxies import make_proxy_classification, make_proxy_regression

__all__ = [
    "KnownClassifier",
    "KnownRegressor",
    "KnownTextClassifier",
    "load_loans",
    "make_biased_classification",
    "make_biased_regression",
    "make_identity_comments",
    "make_proxy_classification",
    "make_proxy_regression",
]
