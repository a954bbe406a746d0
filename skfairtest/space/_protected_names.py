"""Recognise column names that are common protected attributes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

# Written without separators: names are compared after their separators and case are dropped.
_ATTRIBUTES = frozenset(
    """
    sex gender genderidentity sexatbirth sexassignedatbirth biologicalsex
    race ethnicity ethnic ethnicgroup ethnicorigin raceethnicity ethnicityrace skincolor
    skincolour indigenousstatus indigenous caste tribe
    age ageyears ageinyears agegroup agecat agecategory ageband agebin agebracket agerange
    dateofbirth yearofbirth birthyear dob
    religion religiousaffiliation religiousbelief faith creed
    nationality nationalorigin citizenship citizen nation foreigner foreignworker foreignborn
    migrant immigrant migrationstatus immigrationstatus migrationbackground
    nativecountry countryofbirth birthcountry countryoforigin birthplace placeofbirth
    disability disabled disabilitystatus handicap handicapped
    marital maritalstatus marriage married civilstatus familystatus
    sexualorientation pregnancy pregnant veteran veteranstatus
    preferredlanguage nativelanguage mothertongue firstlanguage
    """.split()
)
# Words that say whose attribute it is, or how it is coded, and change nothing about which it is.
_PREFIXES = frozenset(
    """
    is has self reported patient applicant person personal client customer employee candidate
    respondent borrower defendant user subject derived demographic protected sensitive attr
    """.split()
)
_SUFFIXES = frozenset(
    """
    code coded cd id cat category group label flag num encoded enc status desc type value 1 self
    reported
    """.split()
)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def is_protected_name(name: Any) -> bool:
    """Return whether a column name is that of a common protected attribute.

    The whole name must name the attribute, give or take case, separators and words such as
    ``applicant_`` or ``_code``: ``"applicantSex"`` does, ``"age_of_car"`` does not.
    """
    if not isinstance(name, str):
        return False
    # A ColumnTransformer with set_output writes "step__column".
    words = [w for w in re.split(r"[^A-Za-z0-9]+", _CAMEL.sub(" ", name.split("__")[-1])) if w]
    words = [word.lower() for word in words]
    while len(words) > 1 and "".join(words) not in _ATTRIBUTES and words[0] in _PREFIXES:
        words = words[1:]
    while len(words) > 1 and "".join(words) not in _ATTRIBUTES and words[-1] in _SUFFIXES:
        words = words[:-1]
    return "".join(words) in _ATTRIBUTES


def protected_names(names: Iterable[Any]) -> list[Any]:
    """Return the names that are common protected attributes, in their order."""
    return [name for name in names if is_protected_name(name)]


def auto_sensitive(names: Iterable[Any]) -> list[Any]:
    """Return the sensitive columns by their names; an error where there are none."""
    names = list(names)
    found = protected_names(names)
    if not found:
        raise ValueError(
            "sensitive_features='auto' found no column with the name of a common protected "
            f"attribute (sex, race, age, ...) among {names!r}. Name the sensitive columns: "
            "sensitive_features=[...]."
        )
    return found
