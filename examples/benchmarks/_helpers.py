"""What benchmarks share with the tests: this makes the modules of tests/helpers known."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "tests" / "helpers"))
