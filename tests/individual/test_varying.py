"""Auditors of models whose answers vary: only what repeated answers confirm is reported."""

from __future__ import annotations

import warnings

import joblib
import numpy as np
import pytest
from tiers import slow_sample
from varying import VaryingClassifier, VaryingLabels, VaryingRegressor, table

from skfairtest import (
    AequitasAuditor,
    FlipTestAuditor,
    Limits,
    MAFTAuditor,
    RandomAuditor,
    SBFTAuditor,
    SurrogateAuditor,
    SymbolicAuditor,
    ThemisAuditor,
    audit,
    certify,
    estimate_discrimination,
)
from skfairtest.exceptions import EstimatorFailedError, NoDisparityWarning
from skfairtest.report._limits import check_limits

AUDITORS = [AequitasAuditor, MAFTAuditor, RandomAuditor, SBFTAuditor, SurrogateAuditor,
            SymbolicAuditor, ThemisAuditor]  # fmt: skip
SEARCHES = [RandomAuditor, SBFTAuditor, SurrogateAuditor]
MODELS = [VaryingRegressor, VaryingClassifier, VaryingLabels]


class Anew(VaryingRegressor):
    """Noise that follows from the rows of a call, so that the order of calls does not matter."""

    def answer(self, X):
        rng = np.random.default_rng(np.frombuffer(np.array(X).tobytes(), dtype=np.uint32))
        call = self.noise * rng.normal(size=len(X)) * (X[:, 2] > 0.9)
        return self.quiet(X) + call


def fit(auditor, model, **params):
    params = {"sensitive_features": [0], "max_queries": 1000, "random_state": 0} | params
    return auditor(model, **params).fit(table())


@pytest.mark.parametrize("auditor", AUDITORS)
@pytest.mark.parametrize("model", MODELS)
def test_noise_is_no_disparity(auditor, model):
    model = model(effect=0.0, noise=0.2)
    with pytest.warns(UserWarning, match="answers vary"):
        fitted = fit(auditor, model)
    assert fitted.n_queries_ == model.rows <= 1000
    assert fitted.fairness_degree_ == 0 and fitted.worst_case_ is None
    assert len(fitted.discriminatory_inputs_) == fitted.n_found_ == 0
    assert fitted.answer_noise_ > 0 and fitted.fairness_degree_interval_ is None
    assert np.isnan(fitted.discrimination_rate_)


@pytest.mark.parametrize("auditor", AUDITORS)
def test_a_disparity_is_found_in_noise(auditor):
    model = VaryingRegressor(effect=0.3, noise=0.02)
    with pytest.warns(UserWarning, match="answers vary"):
        fitted = fit(auditor, model, max_queries=2000)
    low, high = fitted.fairness_degree_interval_
    assert low <= fitted.fairness_degree_ <= high and 0.2 < low <= 0.3 <= high
    found, twins = fitted.discriminatory_inputs_, fitted.counterfactuals_
    assert len(found) == fitted.n_found_ == len(fitted.disparities_) > 0
    np.testing.assert_allclose(np.abs(model.quiet(found) - model.quiet(twins)), 0.3)
    high, low = fitted.worst_case_outputs_
    assert high - low == pytest.approx(fitted.fairness_degree_)
    assert fitted.history_.iloc[-1][["found", "degree"]].tolist() == [
        fitted.n_found_, fitted.fairness_degree_]  # fmt: skip


@pytest.mark.parametrize("kind", ["part", "late"])
@pytest.mark.parametrize("auditor", AUDITORS)
def test_noise_that_the_first_pairs_do_not_show_is_noticed_later(auditor, kind):
    model = VaryingRegressor(effect=0.3, noise=0.2, kind=kind, seed=1)  # all 95% intervals hold
    with pytest.warns(UserWarning, match="answers vary"):
        fitted = fit(auditor, model, max_queries=2000)
    assert fitted.n_queries_ == model.rows <= 2000
    low, high = fitted.fairness_degree_interval_
    assert low <= 0.3 <= high  # single answers differ by 1
    found, twins = fitted.discriminatory_inputs_, fitted.counterfactuals_
    np.testing.assert_allclose(np.abs(model.quiet(found) - model.quiet(twins)), 0.3)


@pytest.mark.parametrize("auditor", AUDITORS)
def test_noise_in_the_last_answers_alone_is_noticed_at_the_end(auditor):
    """From the 950th row on twins differ by noise, and hardly by anything else."""

    class AtLast(VaryingRegressor):
        def answer(self, X):
            self.rows += len(X)
            noise = self.rng.normal(size=len(X)) * (self.rows > 950)
            return self.quiet(X) + self.noise * noise

    model = AtLast(effect=1e-3, noise=0.3)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        fitted = fit(auditor, model)
    assert fitted.n_queries_ == model.rows <= 1000
    if model.rows > 960:  # else the search was over
        assert any("answers vary" in str(one.message) for one in told)
    assert fitted.fairness_degree_ < 0.05


def test_a_model_that_fails_at_the_end_keeps_what_was_found():
    class FailsAtLast(VaryingRegressor):
        def answer(self, X):
            if self.rows >= 900 and len(X) == 40:
                raise OSError("no connection")
            return super().answer(X)

    auditor = RandomAuditor(
        FailsAtLast(noise=0.0), sensitive_features=[0], max_queries=1000, random_state=0
    )
    with pytest.raises(EstimatorFailedError, match="no connection"):
        auditor.fit(table())
    assert auditor.stop_kind_ == "failed" and auditor.n_found_ > 0
    assert auditor.fairness_degree_ == pytest.approx(0.3)


@pytest.mark.parametrize("noise", [0.0, 0.05])
@pytest.mark.filterwarnings("ignore")
def test_workers_change_no_result(noise):
    """Each restart has a copy of the model, whose noise begins anew."""
    runs = []
    for n_jobs in (1, 2):
        with joblib.parallel_config("threading"):
            model = Anew(noise=noise, kind="part")
            runs.append(fit(RandomAuditor, model, n_restarts=2, n_jobs=n_jobs, max_queries=2000))
    one, two = runs
    assert one.fairness_degree_ == two.fairness_degree_ and one.n_queries_ == two.n_queries_
    np.testing.assert_array_equal(one.discriminatory_inputs_, two.discriminatory_inputs_)


def test_asking_again_keeps_to_a_tenth_of_the_budget():
    for max_queries in (50, 100, 1000):
        model = VaryingRegressor(noise=0.0)
        fitted = fit(RandomAuditor, model, max_queries=max_queries)
        asked_again = fitted.n_queries_ - len(np.unique(np.concatenate(model.asked), axis=0))
        assert 0 < asked_again <= max_queries / 10


def test_the_same_seed_gives_the_same_result():
    runs = []
    for _ in range(2):
        with pytest.warns(UserWarning, match="answers vary"):
            runs.append(fit(SBFTAuditor, VaryingClassifier(noise=0.05)))
    one, two = runs
    assert one.fairness_degree_ == two.fairness_degree_ and one.n_queries_ == two.n_queries_
    np.testing.assert_array_equal(one.discriminatory_inputs_, two.discriminatory_inputs_)


@pytest.mark.parametrize("effect", [0.0, 0.3])
def test_restarts_confirm_what_each_has_found(effect):
    model = VaryingRegressor(effect=effect, noise=0.05)
    with pytest.warns(UserWarning, match="answers vary"):
        fitted = fit(RandomAuditor, model, n_restarts=3, max_queries=3000)
    assert fitted.n_queries_ == model.rows <= 3000
    found = fitted.discriminatory_inputs_
    assert (fitted.n_found_ > 0) == (effect > 0) == (len(found) > 0)
    assert (found[:, 2] > 0.5).all()


def test_a_model_that_does_not_vary_is_not_said_to():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted = fit(RandomAuditor, VaryingRegressor(noise=0.0))
    assert fitted.answer_noise_ == 0 and fitted.fairness_degree_interval_ is None
    assert fitted.fairness_degree_ == pytest.approx(0.3)


# What such a model does not allow ----------------------------------------------------------


@pytest.mark.parametrize("model", MODELS)
def test_rows_are_not_compared_by_single_answers(model):
    varying, rows = model(), table()
    with pytest.warns(UserWarning, match="answers vary"):
        fitted = fit(RandomAuditor, varying)
    compared = [
        lambda: fitted.audit_rows(rows),
        lambda: fitted.audit_rows([rows[:100], rows[100:]]),
        lambda: fitted.on_data_rate_,
        lambda: fitted.domains_,
        lambda: estimate_discrimination(varying, rows, sensitive_features=[0], threshold=0.2),
        lambda: FlipTestAuditor(varying, sensitive_features=[0], threshold=0.2).fit(rows),
    ]
    for compare in compared:
        with pytest.raises(EstimatorFailedError, match="compared with their twins: the model's an"):
            compare()


def test_rows_of_a_model_with_one_answer_are_compared_whatever_the_rows_beside_them():
    class InSingle(VaryingRegressor):
        def predict(self, X):
            return (self.quiet(X) + 1e-8 * len(X)).astype(np.float32)

    fitted = fit(RandomAuditor, InSingle())
    assert fitted.audit_rows(table()).n_discriminatory == fitted.on_data_rate_ * len(table())


def test_there_is_no_certificate():
    with pytest.warns(UserWarning, match="answers vary"):
        fitted = fit(RandomAuditor, VaryingRegressor())
    with pytest.raises(ValueError, match="no certificate: the model's answers vary"):
        certify(fitted)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("effect", [0.0, 0.8])
def test_a_report_has_what_repeated_answers_confirm_alone(model, effect):
    with pytest.warns(UserWarning, match="answers vary"):
        report = audit(
            model(effect=effect, noise=0.1), table(), sensitive_features=[0], random_state=0,
            auditor=SBFTAuditor(max_queries=2000), threshold=0.2, favourable=None, progress=False,
            groups=False, moved=False,
        )  # fmt: skip
    main = report.to_dict()["searches"][-1]
    assert main["noise"] > 0 and main["rows"]["status"] == main["bracket"]["status"] == "left out"
    assert "answers vary" in main["rows"]["reason"]
    # Neither the course of the audit nor its question speaks of differences between single answers.
    of_rows = next(one for one in report.to_dict()["parts"] if one["part"].startswith("rows"))
    assert of_rows["status"] == "left out"
    assert "Asked for made-up inputs within the ranges" in " ".join(str(report).split())
    assert (main["degree"] > 0.4) == (main["found"] > 0) == (effect > 0)
    assert (main["pair"] is None) == (main["low"] is None) == (effect == 0)
    assert "answers vary" in str(report) and report.to_html()
    limits = [check_limits(report, Limits(max_degree=most)).status for most in (0.3, 0.95)]
    assert limits == ["exceeded" if effect else "undecided", "undecided"]
    assert check_limits(report, Limits(max_on_data_rate=0.9)).status == "undecided"


# Bad input ---------------------------------------------------------------------------------


@pytest.mark.parametrize("auditor", AUDITORS)
@pytest.mark.parametrize("max_queries", [2, 10, 50])
@pytest.mark.parametrize("noise", [0.0, 0.05])
@pytest.mark.filterwarnings("ignore")
def test_few_queries(auditor, max_queries, noise):
    model = VaryingRegressor(noise=noise)
    fitted = fit(auditor, model, max_queries=max_queries)
    assert fitted.n_queries_ == model.rows <= max_queries
    assert fitted.stop_kind_ in ("max_queries", "complete")
    if max_queries == 50 and noise and fitted.answer_noise_:
        assert fitted.fairness_degree_ == 0 or fitted.fairness_degree_interval_ is not None


@pytest.mark.parametrize("auditor", SEARCHES)
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_a_model_of_five_seconds_a_row_ends_in_time(auditor, model, noise, clock):
    clock.step = 0.001

    class Slow(model):
        def quiet(self, X):
            clock.sleep(5 * len(X))
            return super().quiet(X)

    began = clock.now()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        fitted = fit(auditor, Slow(effect=0.8, noise=noise), max_time=60, max_queries=20_000)
    # No input is begun whose two queries would end later.
    assert clock.now() - began <= 60.1
    assert fitted.stop_kind_ == "max_time" and fitted.n_inputs_ >= 1
    if fitted.answer_noise_:  # in so short a time nothing can be confirmed
        assert any("no budget for it: raise max_time" in str(one.message) for one in told)


@pytest.mark.parametrize("auditor_class", SEARCHES)
@pytest.mark.parametrize("noise", [0.0, 0.05])
@pytest.mark.filterwarnings("ignore")
def test_a_model_that_fails_every_tenth_call_keeps_what_was_found(auditor_class, noise):
    class Failing(VaryingRegressor):
        def predict(self, X):
            answer = super().predict(X)
            if self.calls % 10 == 0:
                raise OSError("no connection")
            return answer

    model = Failing(noise=noise)
    auditor = auditor_class(model, sensitive_features=[0], max_queries=2000, random_state=0)
    with pytest.raises(EstimatorFailedError, match="no connection"):
        auditor.fit(table())
    assert auditor.stop_kind_ == "failed" and auditor.n_inputs_ > 0
    assert auditor.n_queries_ == model.rows
    if noise:  # what the calls that have not failed confirm
        low, high = auditor.fairness_degree_interval_
        assert auditor.n_found_ > 0 and low <= 0.3 <= high and high - low < 0.1
    else:
        assert auditor.fairness_degree_ == pytest.approx(0.3) and auditor.n_found_ > 0


@pytest.mark.parametrize("auditor", SEARCHES)
@pytest.mark.parametrize("effect", [0.0, 0.3])
def test_answers_that_drift_with_time(auditor, effect):
    model = VaryingRegressor(effect=effect, noise=0.01, kind="drift")
    with pytest.warns(UserWarning) as told:
        fitted = fit(auditor, model)
    assert fitted.fairness_degree_ == pytest.approx(effect)
    if effect:
        assert any("answers vary" in str(one.message) for one in told)
    else:  # a call treats all of its rows alike
        assert told[0].category is NoDisparityWarning


def test_an_interrupted_run_reports_no_noise():
    class Interrupting(VaryingRegressor):
        def predict(self, X):
            answer = super().predict(X)
            if self.calls == 12:
                raise KeyboardInterrupt
            return answer

    auditor = RandomAuditor(Interrupting(), sensitive_features=[0], random_state=0)
    with pytest.raises(KeyboardInterrupt):
        auditor.fit(table())
    assert auditor.stop_kind_ == "interrupted" and auditor.answer_noise_ > 0
    assert auditor.fairness_degree_ == 0 and auditor.n_found_ == 0


@slow_sample
@pytest.mark.parametrize("noise", [0.01, 0.2])
def test_searches_of_noise_confirm_a_pair_in_few_runs(noise):
    """At most 5% of runs; 40 runs leave chance up to 6 of them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        runs = [
            fit(SBFTAuditor, VaryingClassifier(effect=0.0, noise=noise, seed=seed), threshold=0.0,
                random_state=seed)
            for seed in range(40)
        ]  # fmt: skip
    assert sum(run.n_found_ > 0 or run.fairness_degree_ > 0 for run in runs) <= 6
