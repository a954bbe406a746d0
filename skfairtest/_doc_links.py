"""Where the HTML of an estimator links to: its page on a built site."""

from __future__ import annotations

import os

#: Names the address of a built site, such as "file:///home/me/skfairtest/docs/_build/html/". There
#: is no published one yet, so links are off where it is not set.
SITE_VARIABLE = "SKFAIRTEST_DOCS"


class LinksToDocs:
    """Has the HTML of an estimator link to its page; a mixin in front of scikit-learn's classes.

    The three names are those by which scikit-learn asks estimators of other packages.
    """

    _doc_link_module = "skfairtest"

    @property
    def _doc_link_template(self) -> str:
        site = os.environ.get(SITE_VARIABLE, "")
        return f"{site.rstrip('/')}/reference/api/skfairtest.{{name}}.html" if site else ""

    def _doc_link_url_param_generator(self) -> dict[str, str]:
        return {"name": type(self).__name__}
