"""Estimates for small groups: formulas against plain ones, odd input, and what is promised."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import special, stats
from tiers import some

from skfairtest import selection_table
from skfairtest.group._inference import structured_regression as regression
from skfairtest.group._inference.structured_regression import structured_estimates

SHAPES = [(4,), (2, 3), (2, 3, 4), (2, 2, 2, 2)]


def groups(shape):
    return np.array(list(np.ndindex(*shape)))


def shares(seed, shape, most=6.0):
    """Groups of very different sizes, and how many rows of each have the outcome."""
    rng = np.random.default_rng(seed)
    codes = groups(shape)
    n = np.floor(np.exp(rng.uniform(0, most, len(codes))))
    rate = special.expit(-1 + 0.5 * codes[:, 0] - 0.3 * codes[:, -1])
    return codes, rng.binomial(n.astype(int), rate) / n, n, rate


def estimate(codes, mean, n, variance=None, confidence=0.95):
    is_share = variance is None
    given = np.zeros(len(n)) if is_share else variance
    return structured_estimates(
        codes, np.asarray(mean), np.asarray(n), given, is_share=is_share, confidence=confidence
    )


def fitted(seed, shape, of_terms, of_groups):
    """A regression, with the dense prior covariance of what it fits."""
    codes, mean, n, _ = shares(seed, shape)
    terms = regression.Terms(codes)
    outcome = regression.Shares(codes, mean, n, n * 0)
    cells = outcome.cells(outcome.start)
    spread = np.array([regression.FAR, *of_terms])[np.minimum(terms.order, len(of_terms))]
    prior = (terms.Z * spread**2) @ terms.Z.T + of_groups**2 * np.eye(len(n))
    return regression.Weighted(terms, cells, of_groups).solve(of_terms), cells, prior


# Formulas ------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES)
def test_the_prior_of_a_group_is_what_the_others_say(shape):
    of_terms = (0.7, 0.3)[: min(2, len(shape) - 1)]
    solved, cells, prior = fitted(0, shape, of_terms, 0.4)
    found = solved.fit()
    noise = np.diag(1 / cells.information)
    for place in range(len(cells.z)):
        rest = np.arange(len(cells.z)) != place
        inverse = np.linalg.inv((prior + noise)[np.ix_(rest, rest)])
        mean = prior[place, rest] @ inverse @ cells.z[rest]
        variance = prior[place, place] - prior[place, rest] @ inverse @ prior[rest, place]
        assert found.mean[place] == pytest.approx(mean)
        assert found.variance[place] == pytest.approx(variance)
    np.testing.assert_allclose(found.effect, prior @ np.linalg.solve(prior + noise, cells.z))


@pytest.mark.parametrize("shape", SHAPES)
def test_evidence_is_the_normal_density_up_to_a_constant(shape):
    seen = []
    for spread in (0.2, 1.0):
        of_terms = (spread, 0.3)[: min(2, len(shape) - 1)]
        solved, cells, prior = fitted(1, shape, of_terms, 2 * spread)
        density = stats.multivariate_normal(cov=prior + np.diag(1 / cells.information))
        seen.append(solved.evidence - density.logpdf(cells.z))
    assert seen[0] == pytest.approx(seen[1])


def test_a_group_without_others_has_the_posterior_of_its_own_rows():
    found = estimate(groups((1,)), [0.3], [50.0])
    # With a prior as wide as this one it is about that of a beta distribution.
    low, high = stats.beta.interval(0.95, 15.5, 35.5)
    assert (found.low[0], found.high[0]) == pytest.approx((low, high), abs=0.02)


@pytest.mark.parametrize("shape", [(2, 3), (2, 3, 4)])
@pytest.mark.parametrize("is_share", [True, False])
def test_moments_of_the_test_are_those_of_dense_matrices(shape, is_share, monkeypatch):
    codes, mean, n, _ = shares(2, shape)
    terms = regression.Terms(codes)
    kind = regression.Shares if is_share else regression.Numbers
    outcome = kind(codes, mean, n, np.linspace(0.1, 0.3, len(n)))
    seen = []
    monkeypatch.setattr(stats.f, "sf", lambda *args: seen.append(args) or 0.5)
    monkeypatch.setattr(stats.chi2, "sf", lambda *args: seen.append(args) or 0.5)
    regression.interactions_p_value(terms, outcome)
    statistic, freedom = seen[0][:2]
    # The same from the covariance matrix of the residuals.
    Z = terms.Z[:, terms.order <= 1]
    beta = np.zeros(Z.shape[1])
    for _ in range(100):
        cells = outcome.cells(Z @ beta)
        weight = np.diag(cells.information * outcome.to_pooled)
        gram = Z.T @ weight @ Z + np.eye(len(beta)) / regression.FAR**2
        beta = np.linalg.solve(gram, Z.T @ weight @ cells.z)
    cells = outcome.cells(Z @ beta)
    residual = weight @ (cells.z - Z @ beta)
    left = weight - weight @ Z @ np.linalg.inv(gram) @ Z.T @ weight
    covariance = left @ np.diag(outcome.ratio / weight.diagonal()) @ left
    crossed = np.hstack([terms.Z[:, terms.order > 1], np.eye(len(n))])
    size = regression.TESTED**2
    form = (crossed * (size / (1 + size * (crossed.T @ weight.diagonal())))) @ crossed.T
    mean = np.trace(form @ covariance)
    variance = 2 * np.trace(form @ covariance @ form @ covariance)
    variance += np.diag(form) ** 2 @ outcome.fourth(cells)
    assert freedom == pytest.approx(2 * mean**2 / variance, rel=1e-4)
    scaled = statistic * (1 if not is_share else 1 / freedom)
    assert scaled == pytest.approx(residual @ form @ residual / mean, rel=1e-4)


# What it is the same for -----------------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES)
def test_other_names_order_and_side_change_nothing(shape):
    codes, mean, n, _ = shares(3, shape)
    found = estimate(codes, mean, n)
    rng = np.random.default_rng(0)
    order, attributes = rng.permutation(len(n)), rng.permutation(len(shape))
    other = estimate(7 * codes[order][:, attributes] + 3, mean[order], n[order])
    for one, two in zip(found, other, strict=True):
        np.testing.assert_allclose(np.asarray(one)[order] if np.ndim(one) else one, two, atol=1e-6)
    mirrored = estimate(codes, 1 - mean, n)
    np.testing.assert_allclose(1 - mirrored.value, found.value, atol=1e-3)
    np.testing.assert_allclose(1 - mirrored.low, found.high, atol=1e-3)
    assert mirrored.interactions == pytest.approx(found.interactions, nan_ok=True)


def test_units_of_numbers_change_nothing():
    codes, mean, n, _ = shares(4, (2, 3))
    found = estimate(codes, mean, n, np.full(6, 0.2))
    scaled = estimate(codes, 1e6 - 1e3 * mean, n, np.full(6, 0.2e6))
    np.testing.assert_allclose(scaled.value, 1e6 - 1e3 * found.value)
    np.testing.assert_allclose(scaled.low, 1e6 - 1e3 * found.high)
    assert scaled.interactions == pytest.approx(found.interactions)


# What it is for --------------------------------------------------------------------------------


def test_few_rows_borrow_and_many_do_not():
    codes, n = groups((2, 3, 4)), np.full(24, 300.0)
    n[0] = 3
    mean = np.full(24, 0.3)
    mean[0] = 1.0
    found = estimate(codes, mean, n)
    assert 0.3 < found.value[0] < 0.7 and found.low[0] < 0.35 and found.high[0] == 1
    np.testing.assert_allclose(found.value[1:], 0.3, atol=0.01)
    n[0] = 1e6
    assert estimate(codes, mean, n).value[0] == pytest.approx(1.0, abs=1e-3)


def test_a_group_like_no_other_stays_in_sight():
    codes, n = groups((2, 5, 7)), np.full(70, 100.0)
    n[33] = 30
    mean = np.random.default_rng(0).binomial(n.astype(int), 0.3) / n
    assert estimate(codes, mean, n).interactions > 0.05
    mean[33] = 27 / 30
    found = estimate(codes, mean, n)
    assert found.value[33] > 0.8 and found.low[33] > 0.6
    assert found.interactions < 0.01


def test_additive_effects_are_told_from_interactions():
    codes, n = groups((2, 5)), np.full(10, 200.0)
    logits = -1 + 0.8 * codes[:, 0] - 0.4 * codes[:, 1]
    assert estimate(codes, special.expit(logits), n).interactions > 0.9
    crossed = special.expit(logits + 1.5 * codes[:, 0] * (codes[:, 1] > 2))
    assert estimate(codes, crossed, n).interactions < 0.01


# Odd input -----------------------------------------------------------------------------------


@pytest.mark.parametrize("mean", [0.0, 1.0])
def test_rates_of_0_and_1(mean):
    found = estimate(groups((2, 3)), np.full(6, mean), np.array([1.0, 10, 100, 0, 20, 20]))
    edge, open_end = (found.low, found.high) if mean == 0 else (found.high, found.low)
    assert (edge == mean).all()
    assert (np.abs(open_end - mean)[[0, 1]] > np.abs(open_end - mean)[[1, 2]]).all()
    # Nobody was observed in the last one.
    assert (found.low[3], found.high[3]) == (0, 1) and abs(found.value[3] - mean) < 0.2
    assert np.isnan(found.interactions)


def test_nothing_one_row_and_constants():
    for is_share in (True, False):
        variance = None if is_share else np.full(4, np.nan)
        nobody = estimate(groups((2, 2)), np.full(4, np.nan), np.zeros(4), variance)
        assert all(np.isnan(part).all() for part in nobody)
        none = estimate(np.empty((0, 2), dtype=int), np.empty(0), np.empty(0), variance)
        assert len(none.value) == 0
    one = estimate(groups((1, 1)), [1.0], [1.0])
    assert 0 < one.low[0] < one.value[0] < 1 == one.high[0] and np.isnan(one.interactions)
    constant = estimate(groups((2, 2)), np.full(4, 7.0), np.full(4, 9.0), np.zeros(4))
    assert (constant.value == 7).all() and np.isnan(constant.low).all()


@pytest.mark.parametrize("seed", range(12))
def test_extremes_are_finite_and_in_order(seed):
    rng = np.random.default_rng(seed)
    codes = groups([(1,), (2,), (2, 3), (2, 3, 4), (1, 1), (3, 1, 2)][seed % 6])
    n = np.floor(np.exp(rng.normal(3, 4, len(codes)))) + (np.arange(len(codes)) == 0)
    rate = rng.choice([0, 1e-6, 0.01, 0.5, 0.99, 1], len(codes))
    mean = rng.binomial(n.astype(int), rate) / np.where(n > 0, n, np.nan)
    found = estimate(codes, mean, n)
    assert np.isfinite(found[:3]).all()
    assert (found.low <= found.value).all() and (found.value <= found.high).all()
    many = n > 1000
    assert (np.abs(found.value - mean)[many] < 0.01).all()
    variance = rng.choice([0, 1e-10, 1.0, 1e10], len(codes))
    numbers = estimate(codes, rng.normal(0, 10.0 ** rng.integers(-8, 8), len(codes)), n, variance)
    if (n > 0).sum() > 1:
        assert np.isfinite(numbers[:3]).all()
        assert (numbers.low <= numbers.value).all() and (numbers.value <= numbers.high).all()


def test_thousands_of_values_are_no_effects_in_common():
    rng = np.random.default_rng(0)
    codes = groups((2, 600))
    n = rng.integers(1, 20, len(codes)).astype(float)
    found = estimate(codes, rng.binomial(n.astype(int), 0.3) / n, n)
    assert np.isfinite(found[:3]).all() and np.isnan(found.interactions)


# In the table ----------------------------------------------------------------------------------


def people(seed, n=600):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "sex": rng.choice(["f", "m", None], n, p=[0.5, 0.4, 0.1]),
            "race": rng.choice(list("abcd"), n, p=[0.6, 0.3, 0.08, 0.02]),
        }
    )
    return X, (rng.random(n) < 0.3).astype(int), (rng.random(n) < 0.4).astype(int), rng


def test_every_group_that_occurs_is_listed_raw_and_estimated():
    X, predicted, y, rng = people(0)
    weights = rng.random(len(X)) * (rng.random(len(X)) < 0.9)
    table = selection_table(
        predicted, sensitive_features=X, y_true=y, favourable=1, sample_weight=weights
    )
    occurring = X.dropna().drop_duplicates()
    both = table[(table["attribute"] == "sex × race") & (table["group"] != "(unknown)")]
    assert sorted(both["group"]) == sorted(", ".join(row) for row in occurring.to_numpy())
    known = table["group"] != "(unknown)"
    for name in ("selection_rate", "false_positive_rate", "false_negative_rate", "accuracy"):
        value, low, high = (table[f"{name}_estimate{end}"] for end in ("", "_low", "_high"))
        assert value[known].between(low[known], high[known]).all()
        assert value[~known].isna().all() and table.loc[~known, name].notna().all()
        assert 0 <= table.attrs["interactions"]["sex × race"][name] <= 1
    assert set(table.attrs["interactions"]) == {"sex × race"}


def test_chunks_are_as_all_rows_at_once():
    X, predicted, y, rng = people(1)
    for outcome, truth in ((predicted, y), (rng.normal(size=len(X)), rng.normal(size=len(X)))):
        table = X.assign(p=outcome, y=truth)
        what = {"favourable": 1 if outcome is predicted else "mean"}
        whole = selection_table(outcome, y_true=truth, sensitive_features=X, **what)
        parts = selection_table(
            "p", y_true="y", sensitive_features=["sex", "race"],
            data=[table.iloc[:250], table.iloc[250:]], **what,
        )  # fmt: skip
        pd.testing.assert_frame_equal(whole, parts)
        for attribute, tests in whole.attrs["interactions"].items():
            assert parts.attrs["interactions"][attribute] == pytest.approx(tests)


def test_many_categories_and_missing_outcomes_are_one_error():
    n = 10_000
    with pytest.raises(ValueError, match="10,000 different values .*expected at most 5,000"):
        selection_table(
            np.arange(n) % 2, sensitive_features={"id": [f"p{k}" for k in range(n)]}, favourable=1
        )
    with pytest.raises(ValueError, match="1 missing values"):
        selection_table([0.5, np.nan, 1.0], sensitive_features=list("abc"))


# Over many samples -------------------------------------------------------------------------------


def sample(rng, n, base=None, planted=None):
    """Rows of people in very unequal groups: codes, rates (with interactions), and outcomes."""
    shares_of = [(0.67, 0.33), (0.85, 0.1, 0.03, 0.01, 0.01), (0.2, 0.3, 0.2, 0.15, 0.15)]
    people = np.column_stack([rng.choice(len(p), n, p=p) for p in shares_of])
    if base is not None:
        rate = np.full(n, base)
    else:
        effects = np.random.default_rng(99)
        tables = [effects.normal(0, 0.6, len(p)) for p in shares_of]
        logits = -1 + sum(table[people[:, j]] for j, table in enumerate(tables))
        own = effects.normal(0, 0.3, [len(p) for p in shares_of])
        rate = special.expit(logits + own[tuple(people.T)])
    place = None
    if planted is not None:
        found = np.unique(people, axis=0)
        place = found[rng.integers(len(found))]
        others = (people != place).any(axis=1)
        people = np.vstack([people[others], np.tile(place, (30, 1))])
        rate = np.concatenate([rate[others], np.full(30, planted)])
    return people, rate, (rng.random(len(rate)) < rate).astype(float), place


def counted(people, rate, outcome):
    codes, which = np.unique(people, axis=0, return_inverse=True)
    which = which.reshape(-1)
    n = np.bincount(which).astype(float)
    return codes, np.bincount(which, outcome) / n, n, np.bincount(which, rate) / n


@pytest.mark.parametrize(("n", "runs"), some([(1000, 10), (500, 300), (2000, 300), (5000, 200)]))
def test_coverage_and_error_by_size(n, runs):
    # Seen with 300 runs: coverage from 0.94 to 0.98 in each class of sizes, and errors of groups
    # below 10, 30 and 100 rows of 0.5, 0.7 and 0.9 times the raw ones.
    rng = np.random.default_rng(n)
    found = []
    for _ in range(runs):
        codes, mean, size, truth = counted(*sample(rng, n)[:3])
        result = estimate(codes, mean, size)
        covers = (result.low <= truth) & (truth <= result.high)
        errors = ((result.value - truth) ** 2, (mean - truth) ** 2)
        found.append(np.column_stack([size, covers, *errors]))
    size, covers, error, raw = np.vstack(found).T
    assert covers.mean() > (0.93 if runs < 100 else 0.945)
    for low, high in ((1, 10), (10, 30), (30, 100)):
        part = (low <= size) & (size < high)
        assert error[part].mean() < raw[part].mean()
        assert covers[part].mean() > (0.88 if runs < 100 else 0.93)


@pytest.mark.parametrize(("base", "runs"), some([(0.3, 10), (0.3, 200), (None, 200)]))
def test_a_planted_group_of_30_rows_is_not_hidden(base, runs):
    # At most 10% are asked for; in 200 runs of the benchmark it was 0.5% at most.
    rng, hidden, seen = np.random.default_rng(5), 0, 0
    for _ in range(runs):
        people, rate, outcome, place = sample(rng, 2000, base, planted=0.9)
        codes, mean, size, _ = counted(people, rate, outcome)
        which = int((codes == place).all(axis=1).argmax())
        overall, result = outcome.mean(), estimate(codes, mean, size)
        away, of_raw = np.abs(result.value - overall), np.abs(mean - overall)
        rivals = (size >= 30) & (of_raw < of_raw[which])
        seen += 1
        hidden += bool(
            result.low[which] <= overall
            or (away[rivals] > away[which]).any()
            or away[which] < (0.9 - overall) / 2
        )
    assert seen == runs and hidden <= 0.1 * runs


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["0.3", "0.03", "normal", "exponential"])
@pytest.mark.parametrize("n", [500, 3000])
def test_p_values_of_additive_effects(kind, n):
    rng, runs, found = np.random.default_rng(6), 600, []
    for _ in range(runs):
        people = sample(rng, n)[0]
        effect = sum(rng.normal(0, 0.5, 5)[people[:, j]] for j in range(3))
        if kind.startswith("0"):
            rate = special.expit(special.logit(float(kind)) + effect)
            outcome = (rng.random(n) < rate).astype(float)
        else:
            outcome = effect + getattr(rng, f"standard_{kind}")(n)
        table = pd.Series(outcome).groupby([*people.T]).agg(["mean", "size", "var"])
        size = table["size"].to_numpy(dtype=float)
        codes = np.array(table.index.tolist())
        variance = table["var"].to_numpy()
        outcomes = regression.Shares if kind.startswith("0") else regression.Numbers
        kept = outcomes(codes, table["mean"].to_numpy(), size, variance)
        found.append(regression.interactions_p_value(regression.Terms(codes), kept))
    # Seen with other seeds: 4 to 7% below 0.05. Of long tails in groups of few rows, whose fourth
    # moments are not known, 8%: the margin for these is not chance.
    long_tails = 0.03 if (kind, n) == ("exponential", 500) else 0.0
    for level in (0.05, 0.2):
        assert np.mean(np.array(found) < level) < level + 3 * np.sqrt(level / runs) + long_tails
