"""The installed package makes a report: templates and schema are in the wheel.

Run by .ci/run in an empty directory, with `python -I`, so that the checkout is out of reach.
"""

import json
import sys
from importlib.resources import files
from pathlib import Path

import jsonschema

import skfairtest
from skfairtest.datasets import make_biased_classification

home = Path(skfairtest.__file__)
if "site-packages" not in home.parts:
    sys.exit(f"Expected the installed package; got {home}.")

data = make_biased_classification(random_state=0)
report = skfairtest.audit(data.estimator, data.data, max_time=20, random_state=0, progress=False)
report.save_html("report.html")
report.to_json("report.json")

schema = json.loads((files("skfairtest.report") / "schema" / "v2.json").read_text("utf-8"))
jsonschema.validate(json.loads(Path("report.json").read_text("utf-8")), schema)
html = Path("report.html").read_text("utf-8")
for part in ("</html>", "<svg", "@media print", "What this does not show"):
    if part not in html:
        sys.exit(f"Expected {part!r} in the page; it is not there.")
print(f"{report.sentence} The page has {len(html.encode()):,} bytes.")
