"""A search for many discriminatory inputs by what was learned of where they are."""
