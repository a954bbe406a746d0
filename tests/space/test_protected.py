"""Tests of the names that are taken for common protected attributes."""

from __future__ import annotations

import pytest

from skfairtest.space._protected_names import is_protected_name, protected_names

PROTECTED = """
    sex Sex SEX gender Gender race ethnicity Ethnicity age Age religion nationality disability
    marital-status marital_status MaritalStatus maritalStatus country_of_birth CountryOfBirth
    native-country native_country applicant_sex applicantSex is_female_sex? date_of_birth DOB
    foreign_worker sexual_orientation pregnant veteran_status skin_color race_code sex_id
    age_group AgeGroup num__age cat__sex remainder__race is_disabled patient_gender civil_status
    ethnic_group national_origin citizenship
""".split()
OTHERS = """
    income age_of_car average sexton wage package image stage education hours-per-week score
    race_time_seconds region points message manage capital-gain relation message_id usage_code
    num__income
""".split()


@pytest.mark.parametrize("name", [n for n in PROTECTED if not n.endswith("?")])
def test_usual_spellings_are_protected(name):
    assert is_protected_name(name)


@pytest.mark.parametrize("name", OTHERS)
def test_other_names_are_not(name):
    assert not is_protected_name(name)


@pytest.mark.parametrize("name", [0, 3.5, None, ("sex",), "", "__", "-"])
def test_what_is_no_name_is_not_protected(name):
    assert not is_protected_name(name)


def test_names_keep_their_order():
    assert protected_names(["race", "income", 4, "age", "sex"]) == ["race", "age", "sex"]
