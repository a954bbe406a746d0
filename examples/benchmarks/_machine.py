"""What a benchmark ran on."""

import os
import platform

import numpy
import pandas
import sklearn

import skfairtest


def describe_machine():
    """One line: processor count, Python and library versions."""
    return (
        f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}, "
        f"scikit-learn {sklearn.__version__}, numpy {numpy.__version__}, "
        f"pandas {pandas.__version__}, skfairtest {skfairtest.__version__}"
    )
