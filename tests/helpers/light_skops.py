"""skops, imported as the command line imports it: in a second less."""

import skops

from skfairtest.cli._model_file import import_skops

import_skops()

__all__ = ["skops"]
