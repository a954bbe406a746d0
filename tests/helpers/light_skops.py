"""skops, imported without torch and dask.

skops asks scikit-learn for all its estimators, which imports all of its modules, also those that
translate arrays of torch and of dask: seconds for each process of the tests, and no estimator.
"""

import sys

_hidden = [name for name in ("torch", "dask") if name not in sys.modules]
# An entry of None makes an import fail, as where the package is missing.
sys.modules.update(dict.fromkeys(_hidden))
try:
    import skops.io
finally:
    for _name in _hidden:
        del sys.modules[_name]

__all__ = ["skops"]
