"""Non-deterministic models are refused, by whatever asks them."""

from __future__ import annotations

import pickle

import joblib
import numpy as np
import pandas as pd
import pytest
from varying import VaryingClassifier, VaryingLabels, VaryingRegressor, table

from skfairtest import (
    AequitasAuditor,
    EIDIGAuditor,
    FlipTestAuditor,
    MAFTAuditor,
    RandomAuditor,
    SBFTAuditor,
    SubgroupAuditor,
    SurrogateAuditor,
    SymbolicAuditor,
    TestSGDAuditor,
    TextSGDAuditor,
    ThemisAuditor,
    audit,
    certify,
    estimate_discrimination,
    make_audit_scorer,
)
from skfairtest.exceptions import EstimatorFailedError, NonDeterministicModelError

AUDITORS = [AequitasAuditor, MAFTAuditor, RandomAuditor, SBFTAuditor, SurrogateAuditor,
            SymbolicAuditor, ThemisAuditor]  # fmt: skip
GROUPS = [SubgroupAuditor, TestSGDAuditor]
SEARCHES = [RandomAuditor, SBFTAuditor, SurrogateAuditor]
MODELS = [VaryingRegressor, VaryingClassifier, VaryingLabels]
TOLD = (
    r"of the first \d+ rows that were asked twice, \d+ got another answer .* Fix what the answers"
)


class LateRegressor(VaryingRegressor):
    """Varies once `late` is set."""

    late = False

    def answer(self, X):
        return super().answer(X) if self.late else self.quiet(X)


def fit(auditor, model, **params):
    params = {"sensitive_features": [0], "max_queries": 1000, "random_state": 0} | params
    return auditor(model, **params).fit(table())


@pytest.mark.parametrize("auditor", AUDITORS)
@pytest.mark.parametrize("model", MODELS)
def test_auditors_of_twins_refuse(auditor, model):
    auditor = auditor(model(effect=0.0, noise=0.2), sensitive_features=[0], random_state=0)
    with pytest.raises(NonDeterministicModelError, match=TOLD):
        auditor.fit(table())
    assert not hasattr(auditor, "fairness_degree_")  # what was found may be noise


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("auditor", GROUPS)
@pytest.mark.filterwarnings("ignore:.*taken as favourable")
def test_auditors_of_groups_refuse(auditor, model):
    varying = model(noise=0.2)
    if auditor is SubgroupAuditor and model is VaryingRegressor:
        auditor = auditor(varying, sensitive_features=[0], metric="mean_prediction")
    else:
        auditor = auditor(varying, sensitive_features=[0], random_state=0)
    message = r"of the first 100 rows that were asked twice"
    with pytest.raises(NonDeterministicModelError, match=message):
        auditor.fit(table())
    # What has no classes shows them first.
    assert varying.rows <= 1000 * (1 + (model is VaryingLabels)) + 100 and not hasattr(
        auditor, "rules_"
    )


def test_the_auditor_of_texts_refuses():
    class Drawn(VaryingLabels):
        classes_ = np.array([0, 1])

        def quiet(self, X):
            return np.array(["woman" in text for text in X])

    texts = [f"A {who} wrote {n}" for n in range(50) for who in ("woman", "man", "child")]
    categories = {"who": ["woman", "man"]}
    auditor = TextSGDAuditor(Drawn(noise=0.3), categories=categories, favourable=1, random_state=0)
    with pytest.raises(NonDeterministicModelError, match=TOLD):
        auditor.fit(texts)


def test_an_auditor_with_a_given_gradient_refuses():
    with pytest.raises(NonDeterministicModelError, match=TOLD):
        fit(EIDIGAuditor, VaryingClassifier(), gradient=lambda X: np.ones(X.shape))


def test_the_model_is_asked_little_before_it_is_refused():
    model = VaryingRegressor()
    with pytest.raises(NonDeterministicModelError):
        fit(SBFTAuditor, model, max_queries=1_000_000)
    assert model.rows <= 64 + 10


@pytest.mark.parametrize("kind", ["part", "late"])
@pytest.mark.parametrize("auditor", AUDITORS)
def test_noise_that_makes_the_worst_pair_is_noticed_later(auditor, kind):
    model = VaryingRegressor(effect=0.05, noise=0.2, kind=kind)
    with pytest.raises(NonDeterministicModelError):
        fit(auditor, model, max_queries=2000)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_restarts_refuse(n_jobs):
    with joblib.parallel_config("threading"), pytest.raises(NonDeterministicModelError, match=TOLD):
        fit(RandomAuditor, VaryingRegressor(), n_restarts=2, n_jobs=n_jobs, max_queries=2000)


def test_a_refused_model_leaves_the_results_of_an_earlier_fit():
    auditor = fit(RandomAuditor, VaryingRegressor(noise=0.0))
    found = auditor.fairness_degree_
    auditor.set_params(estimator=VaryingRegressor())
    with pytest.raises(NonDeterministicModelError):
        auditor.fit(table())
    assert auditor.fairness_degree_ == found == pytest.approx(0.3)


def test_a_model_that_does_not_vary_is_asked_again_with_a_tenth_of_the_budget_at_most():
    for max_queries in (50, 100, 1000):
        model = VaryingRegressor(noise=0.0)
        fitted = fit(RandomAuditor, model, max_queries=max_queries)
        assert fitted.n_queries_ == model.rows <= max_queries
        again = fitted.n_queries_ - len(np.unique(np.concatenate(model.asked), axis=0))
        assert 0 < again <= max_queries / 10


# What asks a model about rows ----------------------------------------------------------------


def test_rows_are_not_compared(monkeypatch):
    model, rows = LateRegressor(), table()
    fitted = fit(RandomAuditor, model)
    model.late = True
    compared = [
        lambda: fitted.audit_rows(rows),
        lambda: fitted.audit_rows([rows[:100], rows[100:]]),
        lambda: fitted.on_data_rate_,
        lambda: fitted.domains_,
    ]
    for compare in [*compared, lambda: certify(fitted)]:
        with pytest.raises(
            NonDeterministicModelError, match="worst_case_.* or it is non-deterministic"
        ):
            compare()
    # Where the worst pair happens to get the answers that it got before, the rows tell.
    monkeypatch.setattr("skfairtest._audit_results.check_reproduced", lambda auditor: None)
    for compare in compared:
        with pytest.raises(NonDeterministicModelError, match=TOLD):
            compare()


@pytest.mark.parametrize("model", MODELS)
def test_estimates_and_moved_rows_are_refused(model):
    varying, rows = model(), table()
    for ask in (
        lambda: estimate_discrimination(varying, rows, sensitive_features=[0], threshold=0.2),
        lambda: FlipTestAuditor(varying, sensitive_features=[0], threshold=0.2).fit(rows),
    ):
        with pytest.raises(NonDeterministicModelError, match=TOLD):
            ask()


@pytest.mark.parametrize(
    "auditor, metric", [(SBFTAuditor, "degree"), (FlipTestAuditor, "moved_rate"),
                        (TestSGDAuditor, "auto")]
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:.*taken as favourable")
def test_scorers_refuse(auditor, metric):
    scorer = make_audit_scorer(auditor(sensitive_features=[0]), metric, random_state=0)
    with pytest.raises(NonDeterministicModelError, match=TOLD):
        scorer(VaryingClassifier(noise=0.2), table())


def test_rows_of_a_model_with_one_answer_are_compared_whatever_the_rows_beside_them():
    class InSingle(VaryingRegressor):
        def predict(self, X):
            return (self.quiet(X) + 1e-8 * len(X)).astype(np.float32)

    fitted = fit(RandomAuditor, InSingle())
    assert fitted.audit_rows(table()).n_discriminatory == fitted.on_data_rate_ * len(table())


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.filterwarnings("ignore:.*taken as favourable")
def test_audit_refuses(model):
    with pytest.raises(NonDeterministicModelError, match=TOLD):
        audit(model(), table(), sensitive_features=[0], random_state=0, progress=False)


@pytest.mark.parametrize("model", MODELS)
def test_audit_refuses_where_there_are_no_twins(model):
    X = pd.DataFrame(table(), columns=["sex", "a", "b"])

    class OfTwo(model):
        feature_names_in_ = np.array(["a", "b"])

        def quiet(self, X):
            return np.asarray(X["b"], dtype=float)

    favourable = None if model is VaryingRegressor else 1
    with pytest.raises(NonDeterministicModelError, match="of the first 100 rows that were asked"):
        audit(
            OfTwo(noise=0.3), X, sensitive_features="sex", favourable=favourable, random_state=0,
            progress=False, moved=False,
        )  # fmt: skip


# Bad input ---------------------------------------------------------------------------------


def test_the_error_can_be_caught_as_a_failure_of_the_model_and_sent():
    error = NonDeterministicModelError("of the first rows")
    again = pickle.loads(pickle.dumps(error))
    assert isinstance(again, EstimatorFailedError) and str(again) == "of the first rows"


@pytest.mark.parametrize("auditor", AUDITORS)
@pytest.mark.parametrize("max_queries", [2, 10, 50])
def test_few_queries_are_kept_to(auditor, max_queries):
    for noise in (0.0, 0.05):
        model = VaryingRegressor(noise=noise)
        try:
            assert fit(auditor, model, max_queries=max_queries).n_queries_ == model.rows
        except NonDeterministicModelError:
            assert noise and max_queries >= 20
        assert model.rows <= max_queries


@pytest.mark.parametrize("auditor", SEARCHES)
@pytest.mark.parametrize("model", MODELS)
def test_a_model_of_five_seconds_a_row_ends_in_time(auditor, model, clock):
    clock.step = 0.001

    class Slow(model):
        def quiet(self, X):
            clock.sleep(5 * len(X))
            return super().quiet(X)

    began = clock.now()
    fitted = fit(auditor, Slow(effect=0.8, noise=0.0), max_time=60, max_queries=20_000)
    # No input is begun whose two queries would end later.
    assert clock.now() - began <= 60.1
    assert fitted.stop_kind_ == "max_time" and fitted.n_inputs_ >= 1


@pytest.mark.parametrize("auditor_class", SEARCHES)
def test_a_model_that_fails_every_tenth_call_keeps_what_was_found(auditor_class):
    class Failing(VaryingRegressor):
        def predict(self, X):
            answer = super().predict(X)
            if self.calls % 10 == 0:
                raise OSError("no connection")
            return answer

    model = Failing(noise=0.0)
    auditor = auditor_class(model, sensitive_features=[0], max_queries=2000, random_state=0)
    with pytest.raises(EstimatorFailedError, match="no connection"):
        auditor.fit(table())
    assert auditor.stop_kind_ == "failed" and auditor.n_inputs_ > 0
    assert auditor.n_queries_ == model.rows
    assert auditor.fairness_degree_ == pytest.approx(0.3) and auditor.n_found_ > 0


@pytest.mark.parametrize("auditor", SEARCHES)
def test_answers_that_drift_with_time(auditor):
    with pytest.raises(NonDeterministicModelError):
        fit(auditor, VaryingRegressor(effect=0.3, noise=0.01, kind="drift"))
