"""Where the checkout is that is tested."""

from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
