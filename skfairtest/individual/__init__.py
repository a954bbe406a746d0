"""Testers of individual discrimination: auditors that search for twins treated differently."""

from typing import TYPE_CHECKING

from skfairtest._first_use import at_first_use

#: Where the public names are.
_HOMES = {
    "ADFAuditor": "_gradient.auditors",
    "AequitasAuditor": "_aequitas",
    "EIDIGAuditor": "_gradient.auditors",
    "FlipTestAuditor": "_flip_test.auditor",
    "MAFTAuditor": "_gradient.auditors",
    "PublishedSBFTAuditor": "_sbft.published",
    "RandomAuditor": "_random",
    "SBFTAuditor": "_sbft.auditor",
    "SurrogateAuditor": "_surrogate.auditor",
    "SymbolicAuditor": "_symbolic.auditor",
    "ThemisAuditor": "_themis.auditor",
}
__all__ = [*_HOMES]

if TYPE_CHECKING:
    from skfairtest.individual._aequitas import AequitasAuditor as AequitasAuditor
    from skfairtest.individual._flip_test.auditor import FlipTestAuditor as FlipTestAuditor
    from skfairtest.individual._gradient.auditors import ADFAuditor as ADFAuditor
    from skfairtest.individual._gradient.auditors import EIDIGAuditor as EIDIGAuditor
    from skfairtest.individual._gradient.auditors import MAFTAuditor as MAFTAuditor
    from skfairtest.individual._random import RandomAuditor as RandomAuditor
    from skfairtest.individual._sbft.auditor import SBFTAuditor as SBFTAuditor
    from skfairtest.individual._sbft.published import PublishedSBFTAuditor as PublishedSBFTAuditor
    from skfairtest.individual._surrogate.auditor import SurrogateAuditor as SurrogateAuditor
    from skfairtest.individual._symbolic.auditor import SymbolicAuditor as SymbolicAuditor
    from skfairtest.individual._themis.auditor import ThemisAuditor as ThemisAuditor

__getattr__, __dir__ = at_first_use(globals(), _HOMES)
