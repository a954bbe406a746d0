"""Data for trying out fairness tests: planted bias of a known degree.

The generators (`make_biased_regression`, `make_biased_classification`) plant a dependence on a
sensitive column whose exact strength is known, so that an auditor can be judged by the share that
it finds; `make_identity_comments` does the same for terms in texts. `make_admissions` has groups
that differ on the whole and not within strata, and `load_loans` is one invented table with names
that mean something.
"""

from ._admissions import make_admissions
from ._comments import make_identity_comments
from ._loans import load_loans
from ._planted import make_biased_classification, make_biased_regression

__all__ = [
    "load_loans",
    "make_admissions",
    "make_biased_classification",
    "make_biased_regression",
    "make_identity_comments",
]
