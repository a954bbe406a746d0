"""Aequitas: walks, shared probabilities, rounds, and what it finds."""

import numpy as np
import pytest
from tiers import SAMPLE, slow_sample, some

from skfairtest import InputSpace, RandomAuditor
from skfairtest.datasets import make_biased_classification, make_biased_regression
from skfairtest.individual._aequitas import (
    STRATEGIES,
    AequitasAuditor,
    Probabilities,
    Walks,
    clamped_sum,
)
from skfairtest.individual._themis.auditor import ThemisAuditor

MAKERS = [make_biased_regression, make_biased_classification]


@pytest.fixture
def grid():
    """Two groups and three integer columns, 7,986 inputs; about a fifth of them discriminate."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, [2, 11, 22, 33], size=(400, 4)).astype(np.int64)
    X[:2] = [[0, 0, 0, 0], [1, 10, 21, 32]]
    return X


def discriminates(Z):
    return (Z[:, 1] > 3) & (np.abs(Z[:, 2] - 10) < 5) & (Z[:, 3] > 12)


def answer(X):
    return 0.2 + 0.6 * ((X[:, 0] == 1) & discriminates(X))


# Algorithms 2 to 4 ------------------------------------------------------------------------------


def naive_walks(space, starts, n_local, strategy, gain, rng):
    """Algorithms 2 to 4, word by word."""
    n = len(space.non_sensitive)
    sigma_pr, sigma_v = [1 / n] * n, [0.5] * n
    visited = []
    for start in starts:
        z = np.array(start)
        for _ in range(n_local):
            u, w = rng.random(2)
            p, total = 0, sigma_pr[0]
            while u >= total and p < n - 1:
                p += 1
                total += sigma_pr[p]
            delta = -1 if w < sigma_v[p] else 1
            j = space.non_sensitive[p]
            z[j] = min(max(z[j] + delta, space.domain.low[j]), space.domain.high[j])
            found = bool(discriminates(z[None])[0])
            visited.append((*z[space.non_sensitive], found))
            if strategy == "random":
                continue
            if found == (delta == -1):
                sigma_v[p] = min(sigma_v[p] + gain, 1)
            else:
                sigma_v[p] = max(sigma_v[p] - gain, 0)
            if strategy == "fully-directed" and found:
                sigma_pr[p] += gain
                total = sum(sigma_pr)
                sigma_pr = [value / total for value in sigma_pr]
    return visited


@slow_sample
@pytest.mark.parametrize("strategy", some(STRATEGIES))
def test_batch_of_one_is_the_published_algorithm(strategy, grid, models, monkeypatch):
    auditor = AequitasAuditor(
        models.Proba(answer), sensitive_features=[0], max_queries=None, max_inputs=300,
        n_global=30, n_local=120, batch_size=1, random_state=5, strategy=strategy, delta=0.05,
    )  # fmt: skip
    visited = []
    step = Walks.step

    def spy(walks, p, delta):
        found = step(walks, p, delta)
        visited.append((*walks.Z[0, walks.search.space.non_sensitive], bool(found[0])))
        return found

    monkeypatch.setattr(Walks, "step", spy)
    auditor.fit(grid)
    rng = np.random.default_rng(5)
    expected = []
    while len(expected) < len(visited):
        Z = auditor.space_.sample(30, rng)
        starts = Z[discriminates(Z)]
        expected += naive_walks(auditor.space_, starts, 120, strategy, 0.05, rng)
    assert len(visited) > 300
    assert visited == expected[: len(visited)]


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("n", [1, 2, 7, 64, 501])
def test_updates_of_a_batch_equal_updates_one_after_another(strategy, n):
    rng = np.random.default_rng(n)
    p = rng.integers(0, 5, size=n)
    delta = rng.choice([-1, 1], size=n)
    # Attribute 0 wins downward, 1 upward, so that both ends are reached and left again.
    found = np.where(p == 0, delta == -1, np.where(p == 1, delta == 1, rng.random(n) < 0.5))
    batch = Probabilities(5, strategy, 0.07, 0.03)
    single = Probabilities(5, strategy, 0.07, 0.03)
    batch.update(p, delta, found)
    for i in range(n):
        single.update(p[i : i + 1], delta[i : i + 1], found[i : i + 1])
    np.testing.assert_allclose(batch.v, single.v, atol=1e-12)
    np.testing.assert_allclose(batch.pr, single.pr, atol=1e-12)
    assert batch.pr.sum() == pytest.approx(1)
    assert ((batch.v >= 0) & (batch.v <= 1)).all()
    if strategy == "random":
        assert (batch.v == 0.5).all()
    if strategy == "semi-directed":
        np.testing.assert_allclose(batch.pr, 0.2)


def test_clamped_sum_is_a_loop():
    rng = np.random.default_rng(1)
    change = rng.normal(0, 0.4, size=(333, 6))
    start = rng.random(6)
    value = start
    for row in change:
        value = np.clip(value + row, 0, 1)
    np.testing.assert_allclose(clamped_sum(start, change), value, atol=1e-12)


def test_feedback_is_not_inverted():
    # A trap of the authors' code: there one strategy rewards what does not discriminate.
    sigma = Probabilities(2, "fully-directed", 0.1, 0.1)
    sigma.update(np.array([0]), np.array([-1]), np.array([True]))
    assert sigma.v.tolist() == [0.6, 0.5]
    assert sigma.pr[0] > sigma.pr[1]
    sigma.update(np.array([1]), np.array([-1]), np.array([False]))
    assert sigma.v.tolist() == [0.6, 0.4]


# Walks ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("batch_size", some([2048, 1]))
def test_a_step_changes_one_free_value_by_its_own_unit(batch_size, models, monkeypatch):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 2, 200), rng.random((200, 2)), rng.integers(0, 9, 200)])
    X[:2] = [[0, 0, 0, 0], [1, 1, 1, 8]]
    auditor = AequitasAuditor(
        models.Proba(lambda Z: 0.2 + 0.6 * (Z[:, 0] == 1)),
        sensitive_features=[0],
        max_queries=1000 + 2 * batch_size,
        n_global=20,
        batch_size=batch_size,
        random_state=0,
        space=InputSpace(steps={1: 0.25}),
    )
    step = Walks.step
    tops = []

    def spy(walks, p, delta):
        before = walks.Z.copy()
        found = step(walks, p, delta)
        change = np.abs(walks.Z - before)
        assert ((change > 0).sum(axis=1) <= 1).all()
        assert (change[:, 0] == 0).all()
        # The second column counts its steps of a quarter.
        assert (change.max(axis=0) <= np.array([0, 1, 0.01, 1]) + 1e-12).all()
        assert (walks.Z >= walks.search.space.domain.low).all()
        assert (walks.Z <= walks.search.space.domain.high).all()
        tops.append((walks.Z[:, 3] == 8).any())
        return found

    monkeypatch.setattr(Walks, "step", spy)
    auditor.fit(X)
    assert len(tops) > 2 and any(tops)


def test_found_inputs_are_those_of_brute_force(grid, models):
    auditor = AequitasAuditor(
        models.Proba(answer), sensitive_features=[0], max_queries=None, max_inputs=2000,
        n_global=100, random_state=0,
    ).fit(grid)  # fmt: skip
    inputs = auditor.discriminatory_inputs_
    assert discriminates(inputs).all()
    assert len(np.unique(inputs[:, 1:], axis=0)) == len(inputs) == auditor.n_found_
    assert (
        auditor.n_found_
        > 2 * discriminates(auditor.space_.sample(2000, np.random.default_rng(0))).sum()
    )


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("batch_size", some([64, 1]))
def test_any_single_limit_ends_the_run_even_when_the_domain_is_exhausted(
    strategy, batch_size, small, models
):
    model = models.Proba(lambda X: 0.3 + 0.4 * X[:, 0])
    for limit in ({"max_queries": 100}, {"max_time": 60}, {"max_found": 10**6}):
        limits = {"max_queries": None, **limit}
        auditor = AequitasAuditor(
            model, sensitive_features=[0], strategy=strategy, batch_size=batch_size, n_global=5,
            random_state=0, **limits,
        ).fit(small)  # fmt: skip
        assert auditor.n_inputs_ <= 20
        assert auditor.stop_reason_


@slow_sample
def test_walks_that_go_round_do_not_end_the_run(grid, models):
    class Unlucky(AequitasAuditor):
        """Its first global searches draw the same inputs again and again."""

        def _global_search(self, search, rng):
            n_rounds = search.measured["n_rounds_"] = search.measured.get("n_rounds_", 0) + 1
            same = np.random.default_rng(0)
            return super()._global_search(search, same if n_rounds <= 30 else rng)

        def _own_results(self, found, space):
            return found.measured[0]

    def is_pocket(X):
        return (X[:, 1] < 2) & (X[:, 2] == 4)

    # One pocket of 66 inputs, soon known, which no walk can leave.
    model = models.Proba(lambda X: 0.2 + 0.6 * ((X[:, 0] == 1) & is_pocket(X)))
    auditor = Unlucky(
        model, sensitive_features=[0], max_queries=None, max_inputs=2000, n_global=600,
        n_local=700, random_state=0,
        space=InputSpace(constraint=lambda X: is_pocket(X) | (X[:, 1] > 5)),
    ).fit(grid)  # fmt: skip
    assert auditor.n_rounds_ > 30
    assert auditor.stop_kind_ == "max_inputs"


@slow_sample
def test_rounds_follow_until_the_budget_is_spent(grid, models):
    auditor = AequitasAuditor(
        models.Proba(answer), sensitive_features=[0], n_global=5, n_local=3, max_queries=2000,
        random_state=0,
    ).fit(grid)  # fmt: skip
    assert "max_queries" in auditor.stop_reason_
    assert auditor.n_queries_ > 1990


def test_walks_respect_the_constraint(grid, models):
    auditor = AequitasAuditor(
        models.Proba(answer),
        sensitive_features=[0],
        max_queries=3000,
        random_state=0,
        space=InputSpace(constraint=lambda X: X[:, 1] + X[:, 2] < 20),
    ).fit(grid)
    inputs = auditor.discriminatory_inputs_
    assert len(inputs) > 100
    assert (inputs[:, 1] + inputs[:, 2] < 20).all()
    assert "max_queries" in auditor.stop_reason_


def test_regressor_with_a_threshold_in_output_units():
    data = make_biased_regression(random_state=0)
    auditor = AequitasAuditor(data.estimator, threshold=4.0, random_state=0).fit(data.data)
    assert (auditor.disparities_ > 4).all()
    assert auditor.n_found_ > 3000


def test_default_batch_asks_many_rows_a_call(models):
    X = np.random.default_rng(0).integers(0, [2, 11, 220, 330], size=(400, 4))
    model = models.Proba(lambda Z: answer(np.column_stack([Z[:, :2], Z[:, 2] / 9, Z[:, 3] / 9])))
    AequitasAuditor(model, sensitive_features=[0], max_queries=20_000, random_state=0).fit(X)
    # Two calls a step: the second confirms with predict, on the discriminating rows alone.
    assert model.rows / model.calls > 300


# Bad input --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"strategy": "directed"}, r"fully-directed.*semi-directed.*random.*got 'directed'"),
        ({"n_global": 0}, "n_global must be None or a whole number"),
        ({"n_local": 2.5}, "n_local must be a whole number"),
        ({"batch_size": True}, "batch_size must be a whole number"),
        ({"delta": -0.1}, r"delta must be a number in \[0, 1\]"),
        ({"delta": "much"}, r"delta must be a number in \[0, 1\]"),
    ],
)
def test_wrong_parameters_are_named_before_the_first_query(wrong, says, small, models):
    model = models.Proba(lambda X: 0.3 + 0.4 * X[:, 0])
    with pytest.raises(ValueError, match=says):
        AequitasAuditor(model, sensitive_features=[0], **wrong).fit(small)
    assert model.rows == 0


# Planted pockets --------------------------------------------------------------------------------


def number_found(auditor, data, seed, share):
    threshold = None if share is None else share * data.fairness_degree
    auditor.set_params(estimator=data.estimator, sensitive_features=data.sensitive_features)
    auditor.set_params(random_state=seed, threshold=threshold).fit(data.data)
    assert auditor.n_queries_ <= 20_000
    return auditor.n_found_


def planted(*variants):
    """Makers, variants and seeds: the first seed of one maker, and all of both, which is slow."""
    for variant in variants:
        if variant != "smooth":  # all seeds of which are in the sample
            yield pytest.param(MAKERS[0], variant, range(1), id=f"{variant} seed 0")
        for make in MAKERS:
            marks = SAMPLE if variant == "smooth" else pytest.mark.slow
            name = f"{make.__name__} {variant}"
            yield pytest.param(make, variant, range(5), id=name, marks=marks)


@pytest.mark.parametrize("make, variant, seeds", list(planted("smooth", "many-valued")))
def test_aequitas_finds_the_planted_region(make, variant, seeds):
    # More than a quarter of the degree: 27% of the domain for two values, and 4% of the pairs.
    for seed in seeds:
        data = make(variant=variant, random_state=seed)
        uniform = number_found(RandomAuditor(), data, seed, 0.25)
        assert number_found(AequitasAuditor(), data, seed, 0.25) > max(6000, 2.5 * uniform)


@slow_sample
@pytest.mark.parametrize("make, variant, seeds", list(planted("narrow")))
def test_aequitas_finds_the_narrow_pocket_and_uniform_inputs_do_not(make, variant, seeds):
    # More than a quarter of the degree: four of six conditions, which hold on 0.13% of the domain.
    for seed in seeds:
        data = make(variant=variant, random_state=seed)
        assert number_found(AequitasAuditor(), data, seed, 0.25) > 500
        for uniform in (RandomAuditor(), ThemisAuditor()):
            assert number_found(uniform, data, seed, 0.25) < 50
            # The innermost pocket, a millionth of the domain, has the whole degree.
            assert uniform.fairness_degree_ < 0.9 * data.fairness_degree
