"""The sentences of first pages, read and computed again from the table and the model by pandas."""

from __future__ import annotations

import itertools
import operator
import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest
from clocks import CLOCK
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier
from tiers import some

from skfairtest import SBFTAuditor, audit
from skfairtest.report.parts.predictions import PredictionsPart
from skfairtest.report.render.first_page import first_page
from skfairtest.transports import QuantileTransport

LIMITS = {"max_degree": 0.3, "max_on_data_rate": 0.1, "min_impact_ratio": 0.8}


class Slow(ClassifierMixin, BaseEstimator):
    """A fitted classifier that takes its time for each row."""

    def __init__(self, model, seconds):
        self.model, self.seconds = model, seconds
        self.classes_, self.feature_names_in_ = model.classes_, model.feature_names_in_

    def fit(self, X, y=None):
        return self

    def __sklearn_is_fitted__(self):
        return True

    def predict(self, X):
        CLOCK.sleep(self.seconds * len(X))
        return self.model.predict(X)

    def predict_proba(self, X):
        CLOCK.sleep(self.seconds * len(X))
        return self.model.predict_proba(X)


def table_of(n, seed=0, race=(0.5, 0.3, 0.2)):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({
        "sex": rng.choice(["f", "m"], n),
        "race": rng.choice(list("abcdefgh")[: len(race)], n, p=race),
        "born": rng.choice(["here", "abroad"], n, p=[0.8, 0.2]),
        "income": rng.normal(30, 10, n).round(1),
        "years": rng.integers(0, 20, n),
    })  # fmt: skip
    score = (X["income"] - 30) / 10 + 0.6 * (X["sex"] == "m") + 0.5 * (X["race"] == "a")
    score += 0.3 * (X["born"] == "here") + rng.normal(0, 0.5, n)
    return X, score


def fitted(model, X, y):
    encoder = OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_exclude="number")
    return make_pipeline(make_column_transformer(encoder, remainder="passthrough"), model).fit(X, y)


@dataclass
class Case:
    model: Any
    X: pd.DataFrame
    sensitive: Any
    options: dict[str, Any]


def case(sensitive, n=400, race=(0.5, 0.3, 0.2), model=None, beside=(), **options):
    X, score = table_of(n, race=race)
    y = np.where(score > score.median(), "yes", "no")
    taken = X.drop(columns=list(beside))
    model = fitted(model or LogisticRegression(max_iter=500), taken, y)
    given = X[list(beside)] if beside else sensitive
    return Case(model, taken, given, {"favourable": "yes", **options})


def slow_model():
    made = case(["sex"], max_time=60)
    return Case(Slow(made.model, 0.3), made.X, made.sensitive, made.options)


def cut_by_time():
    CLOCK.step = 0.05
    return case(["sex", "race"], max_time=2)


def several_outputs():
    X, score = table_of(300)
    Y = pd.DataFrame({"first": score, "second": 3 * score + (X["sex"] == "m")})
    return Case(fitted(LinearRegression(), X, Y), X, ["sex", "born"], {})


def without_the_attribute():
    """The income alone goes along with race, so that a moved person has another income."""
    X, score = table_of(500, race=(0.6, 0.4))
    X["income"] += 8 * (X["race"] == "a")
    y, taken = np.where(score > score.median(), "yes", "no"), X[["income"]]
    model = LogisticRegression().fit(taken, y)
    return Case(model, taken, X[["race"]], {"favourable": "yes", "moved": QuantileTransport()})


def few_distinct_rows():
    X, score = table_of(12)
    rows = np.random.default_rng(0).integers(0, 12, 300)
    X, y = X.iloc[rows].reset_index(drop=True), np.where(score > score.median(), "yes", "no")[rows]
    return Case(fitted(DecisionTreeClassifier(), X, y), X, ["sex"], {"favourable": "yes"})


CASES = {
    "three attributes": lambda: case(["sex", "race", "born"]),
    "a minority of 10%": lambda: case(["race"], n=600, race=(0.9, 0.1), moved=QuantileTransport()),
    "tiny groups": lambda: case(["race"], n=800, race=(0.5, 0.445, 0.035, 0.015, 0.005)),
    "slow model": slow_model,
    "cut by time": cut_by_time,
    "several outputs": several_outputs,
    "model without the attribute": without_the_attribute,
    "12 distinct rows": few_distinct_rows,
}


class Reader:
    """Reads a page sentence by sentence, and computes each figure from the table and the model."""

    def __init__(self, case, report):
        self.case, self.X, self.page = case, case.X, first_page(report._data)
        self.worst, self.n = report.worst_case, len(case.X)
        self.is_short = report.status != "complete"
        beside = isinstance(case.sensitive, pd.DataFrame)
        self.S = case.sensitive if beside else case.X[case.sensitive]
        self.taken = [] if beside else case.sensitive
        self.own = self.predict(self.X)

    def predict(self, X):
        """What each person gets: a label, or a row of outputs."""
        return pd.DataFrame(np.asarray(self.case.model.predict(X)).reshape(len(X), -1))

    def twins(self, names):
        """What each person gets with each combination of values; with the combination."""
        values = [sorted(self.S[name].unique()) for name in names]
        for one in itertools.product(*values):
            yield dict(zip(names, one, strict=True))

    def changed(self, names, above):
        """For each person and each other label (or difference) whether a twin gets it."""
        told = {}
        for values in self.twins(names):
            twin = self.predict(self.X.assign(**values))
            if above is None:
                for label in twin[0].unique():
                    now = (twin[0] == label) & (self.own[0] != label)
                    told[label] = told.get(label, False) | now
            else:
                now = ((twin - self.own).abs() > above).any(axis=1)
                told["other"] = told.get("other", False) | now
        return pd.DataFrame(told)

    def rates(self, names):
        """Rates and sizes of the groups of these attributes that are large enough."""
        got = (self.own[0] == "yes").astype(float)
        table = got.groupby([self.S[name].to_numpy() for name in names]).agg(["mean", "size"])
        table.index = [one if isinstance(one, str) else ", ".join(one) for one in table.index]
        return table[table["size"] >= 0.02 * self.n]

    # Sentences: what stands in them comes as words ----------------------------------------------

    def asked(self, names, n):
        assert int(n) == self.n and names.replace(" or ", ", ").split(", ") == list(self.S)

    def people(self, n, who, what, names, others, share):
        names = names.replace(" or ", ", ").split(", ")
        above = re.search(r"more than ([\d.]+)", what)
        if above:
            table = self.predict(self.X)
            spread = (table.quantile(0.95) - table.quantile(0.05)).max()
            assert above[1] == f"{spread / 10:.2f}"
            above = spread / 10
        changed = self.changed(names, above).any(axis=1)
        combinations = len(list(self.twins(names)))
        assert (others or "1").replace(",", "") == str(combinations - 1) or n == "None"
        n_seen, n_rows = re.findall(r"[\d,]+", who)[0], re.findall(r"[\d,]+", who)[-1]
        assert int(n_rows.replace(",", "")) == self.n
        if n_seen != n_rows:  # a sample: which people are in it the page does not say
            ends = re.search(r"of all people ([\d.]+)% to ([\d.]+)%", share or "")
            low, high = (float(end) / 100 for end in ends.groups()) if ends else (0, 1)
            assert low <= changed.mean() <= high
            return
        count = {"None": 0, "All": self.n}.get(n) if not n[0].isdigit() else int(n)
        assert count == changed.sum()
        if share:
            assert share == f"{changed.mean():.1%}"

    def not_taken(self, name):
        assert [name] == list(self.S) and name not in self.case.model.feature_names_in_

    def two_rates(self, low, group, attribute, few, high, best, few_best, seen):
        table = self.rates([attribute])
        if seen:
            assert int(seen) < self.n and {group, best} <= set(table.index)
            return
        assert low == self.percent(table["mean"].min())
        assert high == self.percent(table["mean"].max())
        for one, rate, rows in ((group, low, few), (best, high, few_best)):
            assert self.percent(table.loc[one, "mean"]) == rate
            assert (rows is not None) == (table.loc[one, "size"] < 30)
            assert rows is None or int(rows) == table.loc[one, "size"]

    @staticmethod
    def percent(share):
        return f"{share:.0%}" if share in (0, 1) else f"{share:.1%}"

    def lowest(self, value, low, high, group, attribute, few, best, few_best, n):
        sets = [[a] for a in self.S] + [list(two) for two in itertools.combinations(self.S, 2)]
        sets += [list(self.S)] * (len(self.S.columns) > 2)
        tables = {" × ".join(names): self.rates(names) for names in sets}
        tables = {k: t for k, t in tables.items() if len(t) > 1 and t["mean"].max() > 0}
        ratios = {k: t["mean"] / t["mean"].max() for k, t in tables.items()}
        smallest = min(one.min() for one in ratios.values())
        assert float(low) <= smallest <= float(high)
        if self.is_short:
            return
        assert value == f"{smallest:.2f}"
        assert ratios[attribute][group] == smallest and ratios[attribute][best] == 1
        assert int(n) == sum(map(len, ratios.values()))
        for one, rows in ((group, few), (best, few_best)):
            size = tables[attribute].loc[one, "size"]
            assert (rows is None) == (size >= 30) and (rows is None or int(rows) == size)

    def ratio_below(self, status, value, low, high, apart, **groups):
        for few, group in (("few", "group"), ("few_best", "best")):
            told = re.search(rf"{groups[group]} has (\d+) rows?", apart)
            groups[few] = told and told[1]
        assert status == ("Fail" if float(high) < 0.8 else "Undecided")
        self.lowest(f"{float(value):.2f}", low, high, **groups)

    def for_whom(self, name, others, told, more, seen):
        changed, groups = self.changed([name], None), self.S[name]
        equal = operator.le if seen else operator.eq  # who is in a sample the page does not say
        assert others is None or int(others) == groups.nunique() - 1
        listed = told.split("; ")
        for one in listed:
            n, group, rest = re.fullmatch(r"of ([\d,]+) people in (\w+), (.*)", one).groups()
            inside = (groups == group).to_numpy()
            assert equal(int(n.replace(",", "")), inside.sum())
            way = (
                r"(?:^|and )(\d+) \((\S+%)\) "
                r"(?:would get '(\w+)' instead of '\w+'|(the other way))"
            )
            for count, share, label, _ in re.findall(way, rest):
                first = re.search(r"would get '(\w+)' instead of '(\w+)'", rest)
                assert equal(int(count), changed[label or first[2]][inside].sum())
                assert share == self.percent(int(count) / int(n.replace(",", "")))
        concerned = changed.any(axis=1).groupby(groups.to_numpy()).any().sum()
        assert equal(len(listed) + int(more or 0), concerned)

    def over(self, name, told):
        table = self.predict(self.X)
        above = (table.quantile(0.95) - table.quantile(0.05)).max() / 10
        changed = self.changed([name], above)["other"]
        groups = re.findall(
            r"of (\d+) people in (\w+), (\d+) \((\S+%)\) would get over ([\d.]+) more or less", told
        )
        for n, group, count, share, least in groups:
            inside = (self.S[name] == group).to_numpy()
            assert (int(n), int(count)) == (inside.sum(), changed[inside].sum())
            assert share == self.percent(changed[inside].mean()) and least == f"{above:.2f}"
        assert len(groups) == self.S[name].nunique()

    def moved(self, name, rate, low, high, seen, share, group, to):
        assert seen is None or int(seen) == self.S[name].value_counts().loc[lambda n: n >= 50].sum()
        assert float(low) <= float(rate) <= float(high)
        if list(self.X) != ["income"]:
            return
        # Each person at the rank of their own group in the other one
        flips, of = [], self.S[name].to_numpy()
        for own, other in itertools.permutations(np.unique(of), 2):
            mine, theirs = self.X[of == own], self.X.loc[of == other, "income"]
            rank = (mine["income"].rank(method="first") - 0.5) / len(mine)
            there = self.predict(mine.assign(income=np.quantile(theirs, rank)))
            flip = there[0].to_numpy() != self.own[0][of == own].to_numpy()
            flips.append((own, other, flip.mean(), flip.sum()))
        # Between two ranks maps may take another value: a point or so.
        assert float(rate) == pytest.approx(100 * sum(f[3] for f in flips) / self.n, abs=1.5)
        (known,) = [f[2] for f in flips if f[:2] == (group, to)]
        assert float(share) == pytest.approx(100 * known, abs=1.5)
        assert known >= max(f[2] for f in flips) - 0.015

    def too_small(self, name):
        assert (self.S[name].value_counts() >= 50).sum() < 2

    def largest(self, found, who, what, first, second):
        own = self.X[~self.X.duplicated()].astype(str).agg("|".join, axis=1)
        free = self.X.drop(columns=self.taken).astype(str).agg("|".join, axis=1)
        pair = self.worst.astype(str)
        is_person = pair.agg("|".join, axis=1).isin(set(own)).any()
        of_one = pair.drop(columns=self.taken).agg("|".join, axis=1).isin(set(free)).any()
        kind = "two made-up inputs"
        if of_one:
            kind = "two twins of a person of the table"
        assert who == ("a person of the table and their twin" if is_person else kind)
        if what.startswith("probability of "):
            place = list(self.case.model.classes_).index(what.removeprefix("probability of "))
            outputs = self.case.model.predict_proba(self.worst)[:, place]
        else:
            both = self.predict(self.worst)
            outputs = both[(both.iloc[0] - both.iloc[1]).abs().idxmax()]
        told = [float(word.replace(",", "")) for word in (first, second, found)]
        after = len(found.partition(".")[2])
        assert told[:2] == [round(value, after) for value in outputs]
        assert round(told[0] - told[1] - told[2], after) == 0
        self.found = told[2]
        assert self.is_short or self.largest_of_people() <= told[2] + 10.0**-after

    def largest_of_people(self):
        def ask(X):
            model = self.case.model
            return pd.DataFrame(
                model.predict_proba(X)[:, :1]
                if hasattr(model, "predict_proba")
                else model.predict(X)
            )

        every = [ask(self.X.assign(**values)) for values in self.twins(self.taken)]
        return max((a - b).abs().max().max() for a, b in itertools.combinations(every, 2))

    def nothing_found(self):
        self.found = 0.0
        assert self.largest_of_people() == 0

    def possible(self, upper):
        assert float(upper) >= self.found

    def compared(self, n):
        assert int(n.replace(",", "")) == self.n

    def sample(self, n, n_rows):
        assert int(n) < int(n_rows) == self.n

    def not_compared(self, names):
        assert self.is_short and set(names.replace(" or ", ", ").split(", ")) <= set(self.S)

    def few_rows(self, group, attribute, n):
        counts = self.S[attribute].value_counts()
        assert int(n) == counts[group] == counts.min() < 100

    def dropped(self, names):
        assert self.changed(names.replace(" and ", ", ").split(", "), None).any(axis=None)

    def proxies(self, names):
        assert names.replace(" or ", ", ").split(", ") == list(self.S)
        assert not self.taken or not self.changed(self.taken, None).any(axis=None)

    def share_within(self, status, share, n, side, limit):
        changed = self.changed(list(self.S), None).any(axis=1)
        assert share == f"{changed.mean():.1%}" and int(n) == self.n
        above = changed.mean() > float(limit) / 100
        assert (status, side) == (("Fail", "above") if above else ("Pass", "within"))

    def degree_above(self, status, value, limit):
        assert status == "Fail" and float(value) > float(limit)
        assert float(value) == pytest.approx(self.largest_of_domain(), abs=0.01)

    def largest_of_domain(self):
        outputs = self.case.model.predict_proba(self.worst)[:, 0]
        return abs(outputs[0] - outputs[1])

    def says_nothing(self):
        """A sentence without a figure of the table."""


GROUP = r"(?P<group>[\w, ]+) \((?P<attribute>[\w ×]+?)(?:, (?P<few>\d+) rows?)?\)"
BEST = r"(?P<best>[\w, ]+?)(?: \((?P<few_best>\d+) rows?\))?"
WHO = r"(?P<who>(?:the )?\d[\d,]* (?:people|person)(?: in the table|, a random sample of [\d,]+,))"
SENTENCES = {
    r"Change only a person's (?P<names>.+?): does \w+ change its answer\? Asked for the (?P<n>\d+) "
    r"people in the table and for made-up inputs within the ranges of the data\.": Reader.asked,
    r"\w+ is not given (?P<names>.+?)\. Do its answers differ by group, for the (?P<n>\d+) people "
    r"in the table\?": Reader.asked,
    r"The favourable answer is 'yes'\.": Reader.says_nothing,
    rf"(?P<n>None|\d+) of {WHO} would get (?P<what>.+?) if only their (?P<names>[\w, ]+?) were "
    r"changed(?:, for at least one of (?P<others>\d+) other (?:values|combinations))?"
    r"(?: \((?P<share>[^)]+)\))?\.": Reader.people,
    r"(?P<n>All) (?P<who>\d+ people) in the table would get (?P<what>.+?) if only their "
    r"(?P<names>[\w, ]+?) were changed(?:, for at least one of (?P<others>\d+) other (?:values|comb"
    r"inations))?(?P<share>)\.": Reader.people,
    r"The model does not take (?P<name>\w+)\. Changing it alone changes no answer\.":
        Reader.not_taken,
    rf"'yes' is predicted for (?P<low>[\d.]+%) of {GROUP} and for (?P<high>[\d.]+%) of {BEST}"
    r"(?:, in a random sample of (?P<seen>\d+) of \d+ people)?\.":
        Reader.two_rates,
    r"Lowest impact ratio: (?P<value>[\d.]+) \((?P<low>[\d.]+) to (?P<high>[\d.]+) at 95%, all "
    rf"groups at once\), of {GROUP} to {BEST}, the smallest of (?P<n>\d+) groups\.": Reader.lowest,
    r"Not compared: .*": Reader.says_nothing,
    r"If only (?P<name>\w+) were changed: "
    r"(?P<told>of \d+ people in \w+, \d+ \(\S+%\) would get over .+?)"
    r"\.(?= If|$)": Reader.over,
    r"If only (?P<name>\w+) were changed(?:, for at least one of (?P<others>\d+) other values)?"
    r"(?:, in a random sample of (?P<seen>\d+) of \d+ people)?: "
    r"(?P<told>of .+?)(?:; and (?P<more>\d+) more groups?)?\.(?= |$)": Reader.for_whom,
    r"With what goes along with (?P<name>\w+), (?P<rate>[\d.]+)% \((?P<low>[\d.]+)% to "
    r"(?P<high>[\d.]+)%\) of (?:(?P<seen>\d+) of \d+ )?people would get another decision, most of "
    r"all (?P<share>[\d.]+)% of (?P<group>\w+) moved to (?P<to>\w+) \(quantile map\)"
    r"(?:, though the map does not reach the other group)?"
    r"(?:; this is not known to be more than between groups that chance has made)?\.": Reader.moved,
    r"Not measured for (?P<name>\w+): a map needs two groups of 50 rows or more, which (?P=name) "
    r"does not have\.": Reader.too_small,
    r"Moved twins are no counterfactuals\.": Reader.says_nothing,
    r"Largest difference found: (?P<found>[\d.]+) \((?P<who>[\w\- ]+), (?P<what>[\w ]+): "
    r"(?P<first>[\d.]+) against (?P<second>[\d.]+)\)\.": Reader.largest,
    r"Largest difference found: 0\.": Reader.nothing_found,
    r"Largest possible difference: (?:at most )?(?P<upper>[\d.]+) \(proven for all inputs within "
    r"the ranges of the data\)\.": Reader.possible,
    r"Larger ones are not ruled out: .*": Reader.says_nothing,
    r"People who differ in race alone are the same to the model .*": Reader.says_nothing,
    r"All (?P<n>\d+) people were compared;": Reader.compared,
    r"the largest difference is proven;":
        Reader.says_nothing,
    r"(?:a search of \d+ queries found no larger difference, which rules out no larger one|"
    r"no search for a larger difference ran);":
        Reader.says_nothing,
    r"[Rr]ates are of all (?P<n>\d+) predictions;": Reader.compared,
    r"[Rr]ates are of a random sample of (?P<n>\d+) of (?P<n_rows>\d+) people;": Reader.sample,
    r"(?P<n>\d+) people were moved in race;": Reader.compared,
    r"(?P<n>\d+) (?:people|person), a random sample of (?P<n_rows>\d+), (?:were|was) compared;":
        Reader.sample,
    r"People were not compared with twins in (?P<names>.+?) alone\.": Reader.not_compared,
    r"[\d,]+ predictions in .+?, seed 0\.": Reader.says_nothing,
    r"Nothing was cut short\.": Reader.says_nothing,
    r"(?:Cut short for lack of time|Incomplete, because a part failed): .*": Reader.says_nothing,
    r"Collect more rows of (?P<group>\w+) \((?P<attribute>\w+)\): its figures rest on (?P<n>\d+)\.":
        Reader.few_rows,
    r"Look at what dropping (?P<names>.+?), or averaging it out, would cost: compare_mitigations\.":
        Reader.dropped,
    r"Look for columns that stand in for (?P<names>.+?) \(proxies\): .*": Reader.proxies,
    rf"(?P<status>\w+): impact ratio of {GROUP} to {BEST}, the smallest of (?P<n>\d+) groups: "
    r"(?P<value>[\d.]+), below 0\.8[;,] .*from (?P<low>[\d.]+) to (?P<high>[\d.]+) "
    r"\(95% (?P<apart>.*)":
        Reader.ratio_below,
    r"(?P<status>Pass|Fail): (?P<share>[\d.]+%) of the (?P<n>\d+) people in the table would get "
    r"another decision, (?P<side>above|within) (?P<limit>\d+)%\.": Reader.share_within,
    r"(?P<status>Fail): a difference of (?P<value>[\d.]+) is above (?P<limit>[\d.]+)\.":
        Reader.degree_above,
    r"(?:See which part failed|Give the audit more time|Search longer|Let CI repeat|Read what).*":
        Reader.says_nothing,
}  # fmt: skip


@pytest.mark.parametrize("name", some(CASES, 0)[:2] + [
    pytest.param(name, marks=pytest.mark.slow) for name in list(CASES)[2:]
])  # fmt: skip
def test_each_sentence_is_what_pandas_computes(name):
    case = CASES[name]()
    report = audit(
        case.model, case.X, sensitive_features=case.sensitive, groups=False, random_state=0,
        auditor=SBFTAuditor(max_queries=400), progress=False,
        **{"max_time": None, "moved": False, **case.options},
    )  # fmt: skip
    if name == "three attributes":
        report = report.with_limits(**LIMITS)
    reader, n_read = Reader(case, report), 0
    page = reader.page
    limits = [f"{one.status.capitalize()}: {one.words}" for one in page.limits]
    answers = [one for key, told in page.answers.items() if key != "headline" for one in told]
    for words in [*answers, *limits, *(step.words for step in page.steps)]:
        if words == "No limits were given." or words.startswith("Say which differences"):
            continue
        while words:
            for pattern, check in SENTENCES.items():
                if match := re.match(pattern, words):
                    check(reader, **match.groupdict())
                    words, n_read = words[match.end() :].lstrip(), n_read + 1
                    break
            else:
                raise AssertionError(f"no figure of this is checked: {words}")
    assert n_read > 8


def test_rows_are_asked_in_larger_calls_where_most_of_the_time_is_that_of_the_call():
    made = cut_by_time()
    report = audit(
        made.model, made.X, sensitive_features=made.sensitive, groups=False, moved=False,
        random_state=0, auditor=SBFTAuditor(max_queries=400), progress=False, **made.options,
    )  # fmt: skip
    (predictions,) = report.results(PredictionsPart)
    assert predictions.n == len(made.X) and predictions.seconds < 2
