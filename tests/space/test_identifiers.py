"""Columns that say who a row is: one warning, a domain of what was seen, and no sensitive ones."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn import datasets

from skfairtest import InputSpace, RandomAuditor, audit
from skfairtest.datasets import make_biased_regression

WARNING = "columns that identify rows"


def people(n=200):
    rng = np.random.default_rng(0)
    words = ["a", "good", "bad", "house", "very"]
    return pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], n),
            "row": rng.permutation(n),
            "customer_id": rng.choice(10**9, n, replace=False),
            "code": [f"{number:08x}" for number in rng.choice(2**31, n, replace=False)],
            "comment": [" ".join(rng.choice(words, 6)) for _ in range(n)],
            "income": np.exp(rng.normal(10.5, 0.6, n)).astype(int),
            "price": np.exp(rng.normal(15.5, 0.5, n)).astype(int),
            "amount": rng.integers(0, 10**6, n),
            "city": rng.choice([f"c{j}" for j in range(40)], n),
            "weight": rng.normal(size=n),
        }
    )


def kinds_of(X):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        space = InputSpace().fit(X, None)
    return {column.name: column.looks_like for column in space.domain.columns if column.looks_like}


def test_identifiers_and_texts_are_named_in_one_warning():
    X = people()
    with pytest.warns(UserWarning, match=WARNING) as caught:
        space = InputSpace().fit(X, ["sex"])
    assert len(caught) == 1
    said = str(caught[0].message)
    for name in ("row", "customer_id", "code"):
        assert f"{name!r} (different in almost every row, like an identifier)" in said
    assert "'comment' (free text)" in said
    assert not any(f"'{name}'" in said for name in ("income", "price", "amount", "city", "weight"))
    assert caught[0].filename == __file__
    # Searches take what was seen.
    sample = space.decode(space.sample(500, np.random.default_rng(0)))
    for name in ("row", "customer_id", "code", "comment"):
        assert sample[name].isin(X[name]).all()
    # Later numbers are no error.
    later = X.assign(customer_id=X["customer_id"] + 1)
    pd.testing.assert_frame_equal(space.decode(space.encode(later)), later)


def test_what_the_user_gives_is_no_identifier():
    X = people()[["sex", "row", "code"]]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        InputSpace(bounds={"row": (0, 500)}, categories={"code": [*X["code"], "other"]}).fit(
            X, ["sex"]
        )


@pytest.mark.parametrize("name", ["row", "code", "comment"])
def test_an_identifier_is_no_sensitive_column(name):
    X = people()
    with pytest.raises(ValueError, match=rf"Sensitive column '{name}' .* there are no groups"):
        InputSpace().fit(X, [name])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        InputSpace(categories={name: X[name].tolist()[:3]}).fit(X, [name])


@pytest.mark.parametrize("n", [60, 300, 3000])
def test_measurements_are_no_identifiers(n):
    found = kinds_of(people(n))
    assert set(found) == {"row", "customer_id", "code", "comment"}


def test_few_rows_say_nothing():
    assert not kinds_of(people(49))


def test_rows_kept_apart_are_still_rows():
    X = people(2000)
    assert "row" in kinds_of(X.sample(500, random_state=0))


@pytest.mark.parametrize(
    "load", ["load_breast_cancer", "load_diabetes", "load_digits", "load_iris", "load_wine"]
)
def test_no_false_warnings_on_known_tables(load):
    X = getattr(datasets, load)(as_frame=True).frame
    for table in (X, X.sample(60, random_state=0)):
        assert not kinds_of(table)


def test_chunks_find_the_identifiers_of_the_whole():
    X = people(300)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        whole = InputSpace().fit(X, ["sex"])
        chunks = InputSpace().fit([X[:100], X[100:]], ["sex"])
    assert [c.looks_like for c in whole.domain.columns] == [
        c.looks_like for c in chunks.domain.columns
    ]
    pd.testing.assert_frame_equal(whole.describe(), chunks.describe())


def test_many_names_cost_a_batch_little(monkeypatch):
    """What a batch takes does not grow with the names that the column has."""
    X = pd.DataFrame({"sex": ["f", "m"] * 5000, "name": [f"n{j}" for j in range(10_000)]})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        space = InputSpace().fit(X, ["sex"])
    lengths = []
    array = pd.array
    monkeypatch.setattr(pd, "array", lambda v, **kw: lengths.append(len(v)) or array(v, **kw))
    table = space.decode(space.data[:7])
    assert table["name"].tolist() == X["name"].tolist()[:7]
    assert max(lengths, default=7) == 7
    space.encode(table)
    first = space.domain.columns[1]._lookup
    space.encode(table)
    assert space.domain.columns[1]._lookup is first


def test_an_audit_and_an_auditor_warn_once():
    data = make_biased_regression(random_state=0)
    X = pd.DataFrame(data.data).rename(columns=str)
    names = list(X.columns)
    X["row"] = np.arange(len(X))

    class WithoutRow:
        def predict(self, X):
            columns = X[names]
            return data.estimator.predict(
                columns if hasattr(data.data, "columns") else columns.to_numpy()
            )

    settings = {"sensitive_features": data.sensitive_features}
    quick = RandomAuditor(max_queries=100, random_state=0)
    with pytest.warns(UserWarning, match=WARNING) as caught:
        RandomAuditor(WithoutRow(), max_queries=100, random_state=0, **settings).fit(X)
    assert sum(WARNING in str(w.message) for w in caught) == 1
    with pytest.warns(UserWarning, match=WARNING) as caught:
        audit(
            WithoutRow(),
            X,
            auditor=quick,
            groups=True,
            moved=False,
            progress=False,
            random_state=0,
            **settings,
        )
    assert sum(WARNING in str(w.message) for w in caught) == 1
