"""DivExplorer's patterns of one table, as JSON; run by `bench_subgroups.py`, maybe elsewhere.

Arguments: a table as CSV (attributes, and the column "outcome": 0, 1, or missing where a row does
not count), and the least support. DivExplorer wants its own versions of pandas, so this file needs
nothing of skfairtest and may be run by the interpreter of another environment.
"""

import json
import sys
import time

import pandas as pd


def main(path, min_support):
    from divexplorer import DivergenceExplorer

    table = pd.read_csv(path, dtype=str)
    table["outcome"] = pd.to_numeric(table["outcome"])
    attributes = [name for name in table if name != "outcome"]
    start = time.perf_counter()
    found = DivergenceExplorer(table).get_pattern_divergence(
        min_support=min_support, boolean_outcomes=["outcome"], attributes=attributes
    )
    seconds = time.perf_counter() - start
    found = found[found["itemset"].map(len) > 0]
    divergence = "outcome_div"
    order = found[divergence].abs().sort_values(ascending=False, kind="stable").index[:10]
    top = [
        {
            "items": sorted(found.loc[i, "itemset"]),
            "support": float(found.loc[i, "support"]),
            "divergence": float(found.loc[i, divergence]),
            "t": float(found.loc[i, "outcome_t"]),
        }
        for i in order
    ]
    many = int((found["outcome_t"] > 1.96).sum())
    json.dump({"patterns": len(found), "seconds": seconds, "top": top, "t over 1.96": many},
              sys.stdout)  # fmt: skip


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]))
