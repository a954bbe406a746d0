"""Gradients of torch modules in skorch nets."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from searches import get_to_know, handle_of
from sklearn.compose import ColumnTransformer
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from skfairtest import ADFAuditor, EIDIGAuditor, InputSpace, SBFTAuditor
from skfairtest.individual._gradient.analytic import AnalyticGradient
from skfairtest.individual._gradient.gradients import LossGradient

pytestmark = pytest.mark.services("torch", "skorch")

WHITE = [EIDIGAuditor, ADFAuditor]
#: Of central differences; single precision leaves room for no smaller ones.
H = 0.5


@pytest.fixture(autouse=True, scope="module")
def with_torch():
    """torch, imported for these tests alone, and modules; of nets this small, threads only wait."""
    global torch, skorch, nn, Several, Double, Detached, Keywords, Roots
    import skorch
    import torch
    from torch import nn

    class Several(nn.Module):
        """Returns more than its answer, as autoencoders do."""

        def __init__(self):
            super().__init__()
            self.inner = layers(2)

        def forward(self, X):
            return self.inner(X), X

    class Double(nn.Sequential):
        def __init__(self):
            super().__init__(layers(1).double())

    class Detached(nn.Sequential):
        def forward(self, X):
            return super().forward(X.detach())

    class Keywords(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = layers(2, n_in=2)

        def forward(self, a, b):
            return self.inner(torch.cat([a, b], dim=1).float())

    class Roots(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = layers(2, n_in=4)

        def forward(self, X):
            return self.inner(torch.sqrt(X - X))

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def table(n=200, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.random((n, 4)) * [1, 5, 2, 3]
    X[:, 0] = rng.integers(0, 2, n)
    y = X @ [1.0, 0.5, -1.0, 0.4] + 0.3 * X[:, 1] * X[:, 2]
    return X.astype(np.float32), y


def targets(cls, y, n_classes=2):
    if cls is skorch.NeuralNetRegressor:
        return y.astype(np.float32)[:, None]
    codes = np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes))
    return codes.astype(np.float32 if cls is skorch.NeuralNetBinaryClassifier else np.int64)


def layers(n_out, *tail, n_in=4):
    torch.manual_seed(0)
    # Dropout and batch normalization answer otherwise in training mode.
    hidden = [nn.Linear(n_in, 8), nn.BatchNorm1d(8), nn.Tanh(), nn.Dropout(0.3)]
    return nn.Sequential(*hidden, nn.Linear(8, n_out), *tail)


def make_net(name, module, **params):
    settings = {"max_epochs": 4, "lr": 0.1, "verbose": 0, "batch_size": 64, "train_split": None}
    return getattr(skorch, name)(module, **settings | params)


def classifier(module=None, **params):
    params = {"criterion": nn.CrossEntropyLoss} | params
    return make_net("NeuralNetClassifier", module or layers(2), **params)


def cast(T):
    return (T.toarray() if hasattr(T, "toarray") else np.asarray(T)).astype(np.float32)


def make_search(model, X, sensitive=(0,)):
    search = handle_of(model, InputSpace().fit(X, list(sensitive)))
    get_to_know(search, search.space.data[:8], np.random.default_rng(0))
    return search


def gradient_and_differences(model, X, sensitive=(0,), n=60):
    """The gradient, and central differences of the search's answers, by each real column."""
    search = make_search(model, X, sensitive)
    space, rng = search.space, np.random.default_rng(1)
    analytic = AnalyticGradient(model, space, search.response)
    Z = space.sample(n, rng)
    real = np.flatnonzero(
        ~space.domain.discrete & (np.arange(space.n_features) != space.sensitive[0])
    )
    # Far enough from the ends that neither neighbour is clipped.
    Z[:, real] = np.clip(
        Z[:, real],
        (space.domain.low + space.domain.steps)[real],
        (space.domain.high - space.domain.steps)[real],
    )
    scores = search.respond(Z)
    column = rng.integers(0, scores.shape[1], n)
    g = analytic(Z, scores, column)
    expected = np.zeros(g.shape)
    for k in real:
        up, down = Z.copy(), Z.copy()
        up[:, k] += H * space.domain.steps[k]
        down[:, k] -= H * space.domain.steps[k]
        change = (search.respond(up) - search.respond(down))[np.arange(n), column]
        expected[:, k] = change / (2 * H)
    assert len(real) and (np.abs(expected[:, real]).max(axis=0) > 0).all()
    return g[:, real], expected[:, real], search


def check_against_differences(model, X, sensitive=(0,)):
    g, expected, search = gradient_and_differences(model, X, sensitive)
    np.testing.assert_allclose(g, expected, rtol=1e-2, atol=5e-3 * np.abs(expected).max())
    return search


NETS = {
    "softmax inside": lambda: make_net("NeuralNetClassifier", layers(2, nn.Softmax(dim=-1))),
    "softmax outside": lambda: classifier(),
    "log softmax": lambda: classifier(
        layers(2, nn.LogSoftmax(dim=-1)), predict_nonlinearity=torch.exp
    ),
    "no nonlinearity": lambda: classifier(layers(2, nn.Softmax(dim=-1)), predict_nonlinearity=None),
    "binary logit": lambda: make_net("NeuralNetBinaryClassifier", layers(1)),
    "binary flat logit": lambda: make_net(
        "NeuralNetBinaryClassifier", layers(1, nn.Flatten(0)), threshold=0.4
    ),
    "binary probability": lambda: make_net(
        "NeuralNetBinaryClassifier", layers(1, nn.Sigmoid()), criterion=nn.BCELoss
    ),
    "regressor": lambda: make_net("NeuralNetRegressor", layers(1)),
    "regressor with a link": lambda: make_net(
        "NeuralNetRegressor", layers(1), predict_nonlinearity=torch.exp
    ),
    "compiled": lambda: classifier(compile=True, compile__backend="eager"),
}


@pytest.mark.parametrize("name", NETS)
def test_gradient_is_what_the_answers_change_by(name):
    X, y = table()
    net = NETS[name]()
    net.fit(X, targets(type(net), y))
    check_against_differences(net, X)


@pytest.mark.parametrize("outside", [True, False])
def test_gradient_of_three_classes(outside):
    X, y = table()
    module = layers(3) if outside else layers(3, nn.Softmax(dim=-1))
    criterion = nn.CrossEntropyLoss if outside else nn.NLLLoss
    net = make_net("NeuralNetClassifier", module, criterion=criterion)
    net.fit(X, targets(skorch.NeuralNetClassifier, y, 3))
    assert check_against_differences(net, X).response == "predict_proba"


def test_gradient_of_a_regressor_with_two_outputs():
    X, y = table()
    net = make_net("NeuralNetRegressor", layers(2))
    net.fit(X, np.column_stack([y, y**2]).astype(np.float32))
    check_against_differences(net, X)


def test_gradient_of_the_first_of_several_outputs():
    class Net(skorch.NeuralNetClassifier):
        def get_loss(self, y_pred, *args, **kwargs):
            return super().get_loss(y_pred[0], *args, **kwargs)

    X, y = table()
    params = {"max_epochs": 3, "verbose": 0, "criterion": nn.CrossEntropyLoss}
    net = Net(Several, train_split=None, **params).fit(X, targets(Net, y))
    check_against_differences(net, X)


def test_gradient_in_double_precision():
    X, y = table()
    X = X.astype(np.float64)
    net = make_net("NeuralNetRegressor", Double).fit(X, y[:, None])
    g, expected, _ = gradient_and_differences(net, X)
    np.testing.assert_allclose(g, expected, rtol=1e-2, atol=1e-3)


@pytest.mark.parametrize("cast_first", [False, True])
@pytest.mark.parametrize("frozen", [False, True])
def test_gradient_behind_a_scaler(cast_first, frozen):
    X, y = table()
    # Of a column far from zero little is left in single precision.
    X = X.astype(np.float64) + [0, 2000, 0, 0]
    steps = [StandardScaler(), FunctionTransformer(cast)]
    for net, cls in [
        (classifier(), skorch.NeuralNetClassifier),
        (make_net("NeuralNetRegressor", layers(1)), skorch.NeuralNetRegressor),
    ]:
        model = make_pipeline(*(steps[::-1] if cast_first else steps), net)
        model.fit(X, targets(cls, y))
        check_against_differences(FrozenEstimator(model) if frozen else model, X)


def people(n=200, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], n),
            "age": rng.integers(18, 60, n),
            "income": rng.random(n) * 9,
            "job": rng.choice(["a", "b", "c"], n),
        }
    )
    y = X["income"] + (X["job"] == "b") * 4 + (X["sex"] == "m") * 2 + X["age"] / 20
    return X, y.to_numpy()


def people_model(net):
    columns = ColumnTransformer(
        [
            ("numbers", StandardScaler(), ["age", "income"]),
            ("coded", OneHotEncoder(), ["sex", "job"]),
        ]
    )
    return make_pipeline(columns, FunctionTransformer(cast, accept_sparse=True), net)


def people_net():
    return make_net("NeuralNetBinaryClassifier", layers(1, n_in=7), max_epochs=20, lr=0.3)


def test_gradient_behind_a_column_transformer():
    X, y = people()
    model = people_model(people_net()).fit(X, targets(skorch.NeuralNetBinaryClassifier, y))
    search = check_against_differences(model, X, ["sex"])
    analytic = AnalyticGradient(model, search.space, search.response)
    Z = search.space.sample(20, np.random.default_rng(0))
    np.testing.assert_allclose(
        analytic.steps.encode(Z), model[:-1].transform(search.space.decode(Z)), atol=1e-6
    )
    g = analytic(Z, search.respond(Z), np.zeros(20, dtype=int))
    # Categories have a gradient, too.
    assert (np.abs(g[:, search.space.non_sensitive]).max(axis=0) > 0).all()


def test_loss_gradient_divides_by_the_confidence():
    X, y = table()
    net = classifier().fit(X, targets(skorch.NeuralNetClassifier, y))
    search = make_search(net, X)
    output = AnalyticGradient(net, search.space, "predict_proba")
    Z = search.space.sample(10, np.random.default_rng(0))
    scores, column = search.respond(Z), np.zeros(10, dtype=int)
    loss = LossGradient(search, output)(Z, scores, column)
    expected = output(Z, scores, column) / np.maximum(scores, 1 - scores)
    np.testing.assert_allclose(loss, expected)


# What is left behind ------------------------------------------------------------------------


@pytest.mark.parametrize("with_grads", [True, False])
def test_module_is_left_as_it_was(with_grads):
    X, y = table()
    net = classifier().fit(X, targets(skorch.NeuralNetClassifier, y))
    search = make_search(net, X)
    Z = search.space.sample(30, np.random.default_rng(0))
    scores, column = search.respond(Z), np.zeros(30, dtype=int)
    net.module_.train()
    net.criterion_.train()
    net.module_[1].eval()  # a frozen batch normalization
    net.module_[0].weight.requires_grad_(False)
    if not with_grads:
        net.module_.zero_grad(set_to_none=True)

    def state():
        weights = list(net.module_.parameters())
        return (
            [module.training for module in (*net.module_.modules(), net.criterion_)],
            [weight.requires_grad for weight in weights],
            [None if weight.grad is None else weight.grad.clone() for weight in weights],
            [value.clone() for value in net.module_.state_dict().values()],
        )

    before = state()
    # A caller may have switched gradients off.
    with torch.no_grad():
        g = AnalyticGradient(net, search.space, "predict_proba")(Z, scores, column)
        assert not torch.is_grad_enabled()
    after = state()
    assert before[:2] == after[:2] and True in before[0] and False in before[0]
    for old, new in zip(before[2] + before[3], after[2] + after[3], strict=True):
        assert (old is None) == (new is None) and (old is None or torch.equal(old, new))
    # Not those of training mode: the same again.
    again = AnalyticGradient(net, search.space, "predict_proba")(Z, scores, column)
    np.testing.assert_array_equal(g, again)


def test_mode_is_restored_after_an_error():
    X, y = table()
    net = classifier().fit(X, targets(skorch.NeuralNetClassifier, y))
    search = make_search(net, X)
    net.module_.train()
    net.module_.register_forward_pre_hook(lambda *args: 1 / 0)
    with pytest.raises(ValueError, match="ZeroDivisionError.*MAFTAuditor"):
        AnalyticGradient(net, search.space, "predict_proba")
    assert net.module_.training


@pytest.mark.parametrize("device", ["cpu", None])
def test_rows_go_where_the_weights_are(device):
    X, y = table()
    net = classifier(device=device).fit(X, targets(skorch.NeuralNetClassifier, y))
    search = make_search(net, X)
    Z = search.space.sample(5, np.random.default_rng(0))
    scores, column = search.respond(Z), np.zeros(5, dtype=int)
    analytic = AnalyticGradient(net, search.space, "predict_proba")
    expected, seen = analytic(Z, scores, column), []
    net.module_.register_forward_pre_hook(lambda module, args: seen.append(args[0].device.type))
    torch.set_default_device("meta")
    try:
        got = analytic(Z, scores, column)
    finally:
        torch.set_default_device(None)
    assert seen == ["cpu"]
    np.testing.assert_array_equal(got, expected)


def test_large_batches_are_cut(monkeypatch):
    monkeypatch.setattr("skfairtest.individual._gradient.torch.ROWS", 7)
    X, y = table()
    net = classifier().fit(X, targets(skorch.NeuralNetClassifier, y))
    check_against_differences(net, X)


# Auditors -----------------------------------------------------------------------------------


@pytest.mark.parametrize("cls", WHITE, ids=lambda cls: cls.__name__)
def test_finds_are_confirmed_by_the_model(cls):
    X, y = people()
    y = targets(skorch.NeuralNetBinaryClassifier, y)
    model = people_model(people_net())
    params = {"sensitive_features": ["sex"], "max_queries": 3000, "random_state": 0}
    torch.manual_seed(0)
    auditor = cls(model, **params).fit(X, y)  # fits a clone
    assert auditor.n_found_ > 20
    first, second = auditor.discriminatory_inputs_, auditor.counterfactuals_
    net = auditor.estimator_
    assert (net.predict(first) != net.predict(second)).all()
    again = cls(net, **params).fit(X)
    assert again.n_found_ == auditor.n_found_


@pytest.mark.parametrize("cls", WHITE, ids=lambda cls: cls.__name__)
def test_regressor_is_audited(cls):
    X, y = table()
    net = make_net("NeuralNetRegressor", layers(1))
    net.fit(X, targets(skorch.NeuralNetRegressor, y))
    params = {"sensitive_features": [0], "max_queries": 2000, "random_state": 0, "threshold": 0.1}
    assert cls(net, **params).fit(X).n_found_ > 0


# Errors -------------------------------------------------------------------------------------


class Wrapper:
    """What people write around a module who do not know skorch."""

    classes_ = np.array([0, 1])

    def __init__(self, module):
        self.module = module

    def predict_proba(self, X):
        with torch.no_grad():
            return torch.softmax(self.module(torch.as_tensor(X)), dim=1).numpy()

    def predict(self, X):
        return self.predict_proba(X).argmax(axis=1)


@pytest.mark.parametrize("cls", WHITE, ids=lambda cls: cls.__name__)
def test_own_wrapper_is_told_of_the_extra(cls):
    X, _ = table()
    model = Wrapper(layers(2).eval())
    with pytest.raises(ValueError, match=r"got Wrapper\..*skfairtest\[torch\].*MAFTAuditor"):
        cls(model, sensitive_features=[0]).fit(X)
    # Whoever has no torch module is not told to wrap one.
    model.module = model.module.forward
    with pytest.raises(ValueError, match="got Wrapper.*MAFTAuditor") as error:
        cls(model, sensitive_features=[0]).fit(X)
    assert "[torch]" not in str(error.value)


@pytest.mark.parametrize("cls", WHITE, ids=lambda cls: cls.__name__)
@pytest.mark.parametrize("behind_scaler", [False, True])
def test_bare_module_is_told_of_the_extra(cls, behind_scaler):
    X, y = table()
    model = make_pipeline(StandardScaler(), layers(2)) if behind_scaler else layers(2)
    for fit in (lambda auditor: auditor.fit(X), lambda auditor: auditor.fit(X, y)):
        with pytest.raises(TypeError, match=r"must have predict.*Sequential.*skfairtest\[torch\]"):
            fit(cls(model, sensitive_features=[0]))


def refuse_before_a_query(net, X, message, sensitive=0):
    search = handle_of(net, InputSpace().fit(X, [sensitive]))
    with pytest.raises(ValueError, match=message):
        AnalyticGradient(net, search.space, "predict_proba")
    for cls in WHITE:
        with pytest.raises(ValueError, match=message):
            cls(net, sensitive_features=[sensitive]).fit(X)


def test_modules_without_a_gradient(monkeypatch):
    X, _ = table()
    monkeypatch.setattr(
        "skfairtest.oracle._model.Model._call", lambda *args: pytest.fail("was asked")
    )
    # Frozen, its weights do not give the outputs a gradient, either.
    frozen = classifier(Detached(*layers(2))).initialize()
    frozen.module_.requires_grad_(False)
    refuse_before_a_query(frozen, X, "can be differentiated.*RuntimeError.*MAFTAuditor")
    detached = classifier(Detached(*layers(2))).initialize()
    refuse_before_a_query(detached, X, "can be differentiated.*RuntimeError.*MAFTAuditor")
    roots = classifier(Roots()).initialize()
    refuse_before_a_query(roots, X, "must be finite; got 4 NaN.*MAFTAuditor")
    frame = pd.DataFrame(X[:, :2], columns=["a", "b"])
    keywords = classifier(Keywords()).initialize()
    refuse_before_a_query(keywords, frame, "one tensor a column.*one array.*MAFTAuditor", "a")


def test_answers_that_are_not_the_outputs():
    class Sharper(skorch.NeuralNetClassifier):
        def predict_proba(self, X):
            p = super().predict_proba(X) ** 4
            return p / p.sum(axis=1, keepdims=True)

    X, y = table()
    params = {"max_epochs": 3, "verbose": 0, "criterion": nn.CrossEntropyLoss}
    net = Sharper(layers(2), train_split=None, **params).fit(X, targets(Sharper, y))
    for cls in WHITE:
        with pytest.raises(ValueError, match="predict_nonlinearity.*Sharper gives.*MAFTAuditor"):
            cls(net, sensitive_features=[0]).fit(X)
    # Others need no gradient.
    assert SBFTAuditor(net, sensitive_features=[0], max_queries=200, random_state=0).fit(X)
