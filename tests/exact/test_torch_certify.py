"""Certificates of nets of skorch."""

from __future__ import annotations

import numpy as np
import pytest
from certify_cases import bracket_alone, certified, exhaustive_degree, small_table
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from skfairtest import CertifiedAuditor, SBFTAuditor

pytestmark = pytest.mark.services("torch", "skorch")


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """torch, imported for these tests alone; of nets this small, its threads only wait."""
    global torch, skorch, nn
    import skorch
    import torch
    from torch import nn

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


CAST = FunctionTransformer(np.float32)


def hidden(activation, n_in=9, n_out=1, *tail, width=5):
    """A module of random weights, larger than those that training starts from."""
    torch.manual_seed(n_in + n_out)
    module = nn.Sequential(
        nn.Linear(n_in, width), activation, nn.Dropout(0.4), nn.Linear(width, 3), activation,
        nn.Linear(3, n_out), *tail,
    )  # fmt: skip
    with torch.no_grad():
        for weight in module.parameters():
            weight.normal_()
    return module


def fitted(name, module, target, *, real=False, last=CAST, scaler=None, **params):
    """A net behind encoding, scaling and a cast, whose weights stay what they are."""
    X, y = small_table(0, real=real)
    encode = make_column_transformer(
        (OneHotEncoder(), ["s", "c"]), remainder=scaler or StandardScaler(), sparse_threshold=0
    )
    settings = {"max_epochs": 1, "lr": 0.0, "verbose": 0, "train_split": None} | params
    net = getattr(skorch, name)(module, **settings)
    steps = (encode,) if last is None else (encode, clone(last))
    return make_pipeline(*steps, net).fit(X, target(y)), X


def numbers(y):
    return y.astype(np.float32)[:, None]


def classes(n):
    return lambda y: np.digitize(y, np.quantile(y, np.arange(1, n) / n)).astype(np.int64)


def shares(y):
    return (y > np.median(y)).astype(np.float32)


CASES = {
    "relu": lambda: ("NeuralNetRegressor", hidden(nn.ReLU()), numbers, {}),
    "leaky": lambda: ("NeuralNetRegressor", hidden(nn.LeakyReLU(0.3)), numbers, {}),
    "tanh": lambda: ("NeuralNetRegressor", hidden(nn.Tanh()), numbers, {}),
    "sigmoid": lambda: ("NeuralNetRegressor", hidden(nn.Sigmoid()), numbers, {}),
    "identity": lambda: ("NeuralNetRegressor", hidden(nn.Identity()), numbers, {}),
    "relu at the end": lambda: (
        "NeuralNetRegressor",
        hidden(nn.Tanh(), 9, 1, nn.ReLU()),
        numbers,
        {},
    ),
    "regressor with a link": lambda: (
        "NeuralNetRegressor",
        hidden(nn.Tanh()),
        numbers,
        {"predict_nonlinearity": torch.exp},
    ),
    "batch normalization": lambda: (
        "NeuralNetRegressor",
        nn.Sequential(nn.BatchNorm1d(9), hidden(nn.ReLU()), nn.Flatten()),
        numbers,
        {},
    ),
    "softmax inside": lambda: (
        "NeuralNetClassifier",
        hidden(nn.ReLU(), 9, 2, nn.Softmax(dim=-1)),
        classes(2),
        {},
    ),
    "softmax outside": lambda: (
        "NeuralNetClassifier",
        hidden(nn.ReLU(), 9, 3),
        classes(3),
        {"criterion": nn.CrossEntropyLoss},
    ),
    "log softmax": lambda: (
        "NeuralNetClassifier",
        hidden(nn.Tanh(), 9, 2, nn.LogSoftmax(dim=-1)),
        classes(2),
        {"predict_nonlinearity": torch.exp, "criterion": nn.CrossEntropyLoss},
    ),
    "binary logit": lambda: (
        "NeuralNetBinaryClassifier",
        hidden(nn.ReLU(), 9, 1, nn.Flatten(0)),
        shares,
        {},
    ),
    "binary probability": lambda: (
        "NeuralNetBinaryClassifier",
        hidden(nn.Tanh(), 9, 1, nn.Sigmoid()),
        shares,
        {"criterion": nn.BCELoss},
    ),
    "compiled": lambda: (
        "NeuralNetRegressor",
        hidden(nn.ReLU()),
        numbers,
        {"compile": True, "compile__backend": "eager"},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_finite_domains_are_bracketed_up_to_single_precision(name):
    kind, module, target, params = CASES[name]()
    model, X = fitted(kind, module, target, **params)
    auditor = certified(model, X)
    degree = exhaustive_degree(auditor)
    bracket, rounding = bracket_alone(auditor)
    assert 0 < degree <= bracket.upper + rounding
    np.testing.assert_allclose(auditor.fairness_degree_, degree, rtol=1e-4)
    # What the rounding takes is small beside the degree, and there.
    upper = auditor.fairness_degree_upper_bound_
    assert degree < upper < degree * (1 + 2e-3)
    # Certified is said where it takes less than a ten thousandth, else the ends are a bracket.
    assert auditor.certified_ == (upper - auditor.fairness_degree_ <= 1e-4 * upper)
    assert (
        "single precision" in auditor.stop_reason_
        if auditor.certified_
        else "rounding of the model's own sums" in auditor.stop_reason_
    )


def test_no_search_finds_more_than_the_bound_on_real_columns():
    model, X = fitted("NeuralNetRegressor", hidden(nn.LeakyReLU(), 11), numbers, real=True)
    found = SBFTAuditor(model, sensitive_features="s", max_queries=2000, random_state=0).fit(X)
    bracket, rounding = bracket_alone(found)
    assert 0 < found.fairness_degree_ <= bracket.upper + rounding < 3 * found.fairness_degree_


def test_double_precision_is_certified_to_its_own_digits():
    model, X = fitted(
        "NeuralNetRegressor", hidden(nn.ReLU()).double(), lambda y: y[:, None], last=None
    )
    auditor = certified(model, X)
    assert auditor.certified_ and "rtol" in auditor.stop_reason_
    np.testing.assert_allclose(auditor.fairness_degree_, exhaustive_degree(auditor), rtol=1e-9)


@pytest.mark.parametrize("dtype", [None, np.float32, "float32", np.dtype("float32")])
def test_casts_that_change_nothing_else_are_understood(dtype):
    last = CAST
    if dtype is not None:
        last = FunctionTransformer(np.asarray, kw_args={"dtype": dtype})
    model, X = fitted("NeuralNetRegressor", hidden(nn.ReLU()), numbers, last=last)
    assert CertifiedAuditor.supports(model)
    assert certified(model, X).certified_
    # What a function of one's own does nobody knows, whatever it is called.
    model.steps[-2][1].set_params(func=lambda T: T.astype(np.float32), kw_args=None)
    support = CertifiedAuditor.supports(model)
    assert not support and "numpy.float32" in support.nearest


def test_other_functions_before_the_net_are_refused():
    def doubled(T):
        return (T + T).astype(np.float32)

    last = FunctionTransformer(doubled)
    model, _ = fitted("NeuralNetRegressor", hidden(nn.ReLU()), numbers, last=last)
    support = CertifiedAuditor.supports(model)
    assert not support and "numpy.float32" in support.nearest


def squared():
    class Squared(nn.Module):
        def forward(self, X):
            return X**2

    return Squared()


def hooked():
    module = hidden(nn.ReLU())
    module[0].register_forward_hook(lambda module, args, out: 2 * out)
    return module


@pytest.mark.parametrize(
    "module, params, why",
    [
        (lambda: nn.Sequential(hidden(nn.ReLU()), squared()), {}, "Squared"),
        (lambda: hidden(nn.GELU()), {}, "GELU"),
        (lambda: hidden(nn.LeakyReLU(1.5)), {}, "LeakyReLU"),
        (lambda: nn.Sequential(nn.ReLU(), nn.Linear(9, 1)), {}, "first layer"),
        (hooked, {}, "hook"),
        (lambda: hidden(nn.ReLU()), {"predict_nonlinearity": "abs"}, "predict_nonlinearity"),
    ],
)
def test_other_modules_are_refused_with_what_works(module, params, why):
    # By name, since torch is there for the tests alone.
    params = {key: getattr(torch, name) for key, name in params.items()}
    model, X = fitted("NeuralNetRegressor", module(), numbers, **params)
    support = CertifiedAuditor.supports(model)
    assert not support and why in support.reason
    assert "Linear, ReLU" in support.nearest
    with pytest.raises(ValueError, match=why):
        certified(model, X)


def test_a_net_of_ones_own_class_is_refused():
    class Net(skorch.NeuralNetRegressor):
        def predict(self, X):
            return 2 * super().predict(X)

    support = CertifiedAuditor.supports(Net(nn.Linear(3, 1)))
    assert not support and "Net" in support.reason
    assert CertifiedAuditor.supports(skorch.NeuralNetRegressor(nn.Linear(3, 1)))
