"""Find the verifier of a model, and check that the model as it was read predicts alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from skfairtest._typing import Floats
from skfairtest.exact._averaged import AveragedVerifier
from skfairtest.exact._closed_form import ClosedForm, one_map
from skfairtest.exact._composition import CompositeVerifier, kind_of, taken_apart
from skfairtest.exact._constrained import ConstrainedVerifier
from skfairtest.exact._trees.verifier import TreeVerifier
from skfairtest.exact._verifier import Pace, SolverLimits, SolverResult, Verifier
from skfairtest.oracle._model import Model, choose_response
from skfairtest.space._space import InputSpace
from skfairtest.whitebox._features import Chain
from skfairtest.whitebox._layers import Layers
from skfairtest.whitebox._mixture import check_averaged, read_mixture
from skfairtest.whitebox._readers import check_model
from skfairtest.whitebox._steps import HINT
from skfairtest.whitebox._unsupported import OWN_CODE
from skfairtest.whitebox._unwrap import unwrap
from skfairtest.whitebox.graph import (
    EXPONENTIAL,
    Averaged,
    NetworkOutput,
    Node,
    Output,
    RestrictedGraphs,
    all_nodes,
    all_outputs,
    evaluate,
    exponential_rounding,
    is_single,
    link_rounding,
)
from skfairtest.whitebox.meta_estimators import is_stack, with_final
from skfairtest.whitebox.registry import Graph, Readings

#: Random rows on which what was read is compared with the model itself, apart from those that pass
#: all of its tests.
N_COMPARED = 256
#: Difference that is no rounding, as a share of what outputs differ by: of models in double and in
#: single precision.
TOLERANCE, TOLERANCE_SINGLE = 1e-9, 1e-4
#: Share of the time that is left within which further rows are made, and then compared.
TIME_SHARE = 0.25


class LabelVerifier(Verifier):
    """Classifier that is asked for labels; labels differ or do not, so 1 is a bound."""

    vague = True

    def evaluate(self, Z: Floats) -> Floats:
        """Return zeros, as labels were not read; shape (n, 1)."""
        return np.zeros((len(Z), 1))

    def rows(self, n: int, rng: np.random.Generator) -> Floats:
        """Return no rows, as there is nothing to compare."""
        return np.empty((0, 0))

    def root_bound(self) -> float:
        """Return a bound that takes no time."""
        return 1.0

    def solve(self, incumbent: float, limits: SolverLimits) -> SolverResult:
        return SolverResult(incumbent, 1.0, None, 0, "labels have no bound but 1")


def read_verifier(
    estimator: Any,
    space: InputSpace,
    response: str,
    compiled: bool | None,
    rng: np.random.Generator,
    n_jobs: int | None = None,
    deadline: float = np.inf,
    readings: Readings | None = None,
) -> tuple[Verifier, int]:
    """Read a fitted model, and compare its predictions with those of the model as read.

    - `n_jobs`: threads of the branch and bound on trees, where it is compiled.
    - `deadline`: when to stop reading trees, by `_clock.now`: the bound is then that of their
      ranges.
    - `readings`: models that were read before, this one maybe among them.
    - `verifier`: the model, read out.
    - `n_rows`: queries that this took.
    - `ValueError`: if the model or a step before it is not understood, or was read wrongly.
    """
    check_model(estimator, response)
    if response == "labels":
        return LabelVerifier(), 0
    reader = _Reader(space, compiled, rng, n_jobs, deadline)
    graph = (readings or Readings()).read(estimator, space, response)
    return reader.verifier(graph, estimator), reader.n_rows


class _Reader:
    """Makes what bounds a model that was read, and compares it with the model.

    - `n_rows`: queries that this took so far.
    """

    def __init__(
        self,
        space: InputSpace,
        compiled: bool | None,
        rng: np.random.Generator,
        n_jobs: int | None,
        deadline: float,
    ) -> None:
        self.space, self.compiled, self.rng = space, compiled, rng
        self.n_jobs, self.deadline = n_jobs, deadline
        self.n_rows = 0

    def verifier(self, graph: Graph, estimator: Any) -> Verifier:
        """Return what bounds a model, which predicts as it was read."""
        first = graph.outputs[0]
        if isinstance(first, Averaged):
            (inside,) = graph.inside
            check_averaged(Chain(self.space, graph.steps), read_mixture(graph.model, OWN_CODE))
            inner = self.verifier(inside, _behind(inside.steps, inside.model))
            return self._averaged(AveragedVerifier(first.share, inner, graph.response), estimator)
        verifier = self._of(graph.outputs) or CompositeVerifier(
            [taken_apart(node) for node in graph.outputs], self._known
        )
        Z = self._compare(verifier, estimator, graph.response)
        if isinstance(verifier, CompositeVerifier):
            for inside in graph.inside:
                self._compare_inside(inside, Z)
        return verifier

    def _known(self, outputs: list[Any]) -> Verifier:
        found = self._of(outputs)
        assert found is not None
        return found

    def _of(self, outputs: list[Node]) -> Verifier | None:
        """Return what bounds outputs in one search; None where there is no such search."""
        kind = _kind(outputs)
        if not kind:
            return None

        def make(part: InputSpace, until: float) -> Verifier:
            moved = RestrictedGraphs(part)
            own: list[Any] = (
                [moved(node) for node in outputs] if part is not self.space else outputs
            )
            if kind == "network":
                from skfairtest.exact._networks.verifier import NetworkVerifier

                return NetworkVerifier(part, *own[0].network)
            if kind == "softmax":
                return softmax_verifier(part, own)
            if kind == "effects":
                return ClosedForm(part, own, until)
            return TreeVerifier(part, own, self.compiled, self.n_jobs, until)

        if self.space.feasibility.repairs:
            return ConstrainedVerifier(self.space, make, self.deadline)
        return make(self.space, self.deadline)

    def _averaged(self, verifier: AveragedVerifier, estimator: Any) -> Verifier:
        """Return what bounds a model that averages another one, whose twins differ as it says."""
        asked = _asking(estimator, self.space, verifier.response)
        Z = _valid_rows(verifier.rows(N_COMPARED, self.rng), self.space, self.rng)
        off = verifier.check(lambda rows: asked.ask(rows)[0], Z, self.space, self.rng)
        self.n_rows += asked.n_rows
        if off > (TOLERANCE_SINGLE if asked.single else TOLERANCE):
            raise ValueError(
                f"{type(estimator).__name__} was read as an average over columns, but in "
                f"{len(Z)} pairs of twins its outputs differ otherwise (by {off:.3g} of the "
                "largest output). No bound can be trusted, so none is given. A step or a model "
                "that is not a function of single rows may be the reason; SBFTAuditor searches "
                "with any estimator."
            )
        return verifier

    def _compare(self, verifier: Verifier, estimator: Any, response: str) -> Floats:
        """Compare what a model says of rows with what was read of it; return the rows."""
        limits = SolverLimits(self.deadline, 0.0)
        model = _asking(estimator, self.space, response)
        Z = verifier.rows(N_COMPARED, self.rng)
        through = verifier.through(self.rng, limits.by(TIME_SHARE))
        Z = np.concatenate([Z, through]) if len(through) else Z
        Z = _valid_rows(Z, self.space, self.rng)
        answers, read = _outputs(model, verifier.evaluate, Z, limits.by(TIME_SHARE))
        self.n_rows += model.n_rows
        scale = float(np.abs(answers).max(initial=0.0))
        # Where single precision is part of the bound, what it may change is known.
        single = verifier.single_tolerance(scale)
        tolerance = _tolerance(answers, model.single and not single) + verifier.rounding + single
        # Rounding in an exponent moves an output by a share of its size.
        tolerance += exponential_rounding(getattr(verifier, "outputs", []), scale)
        off = np.abs(answers - read) if answers.shape == read.shape else np.full((1, 1), np.inf)
        agree = np.asarray((off <= tolerance).all(axis=1))
        if (
            isinstance(verifier, CompositeVerifier)
            and answers.shape == read.shape
            and not agree.all()
        ):
            # Behind a steep function the rounding of the models inside may carry outputs far.
            low, high = verifier.reach(Z[: len(answers)][~agree])
            own = answers[~agree]
            agree[~agree] = ((low - tolerance <= own) & (own <= high + tolerance)).all(axis=1)
        if not agree.all():
            raise _read_wrongly(estimator, response, off)
        return Z

    def _compare_inside(self, graph: Graph, Z: Floats) -> None:
        """Compare a model inside of another one by itself: what is outside may hide differences."""
        outputs = [node for node in graph.outputs if isinstance(node, (list, NetworkOutput))]
        if len(outputs) < len(graph.outputs):
            for inside in graph.inside:
                self._compare_inside(inside, Z)
            return
        estimator = _behind(graph.steps, graph.model)
        model = _asking(estimator, self.space, graph.response)
        until = SolverLimits(self.deadline, 0.0).by(TIME_SHARE)
        answers, read = _outputs(model, lambda rows: evaluate(outputs, rows), Z, until)
        self.n_rows += model.n_rows
        scale = float(np.abs(answers).max(initial=0.0))
        rounding = max(_rounding(node, scale) for node in outputs)
        tolerance = _tolerance(answers, model.single and not rounding) + 5 * rounding
        off = np.abs(answers - read) if answers.shape == read.shape else np.full((1, 1), np.inf)
        if not (off <= tolerance).all():
            raise _read_wrongly(estimator, graph.response, off)


def _tolerance(answers: Floats, is_rough: bool) -> float:
    """Return what differences of outputs are rounding, on top of what is known of that."""
    scale = float(np.abs(answers).max(initial=0.0))
    spread = float(np.ptp(answers, axis=0).max(initial=0.0)) if len(answers) else 0.0
    # Outputs next to nothing, or far from zero, differ by less than a share of their size.
    found = TOLERANCE * spread + 2e-14 * scale
    return found + TOLERANCE_SINGLE * max(1.0, scale) if is_rough else found


def _rounding(node: Output | NetworkOutput, scale: float) -> float:
    """Return how far rounding may carry an output that is no larger than a number."""
    if isinstance(node, NetworkOutput):
        features, layers = node.network
        return layers.error(features.sizes(), layers.n_outputs)
    others = [group for group in node if group.link != EXPONENTIAL]
    own = sum(abs(group.weight) * link_rounding(group) for group in others)
    return float(own + exponential_rounding([node], scale))


def _read_wrongly(estimator: Any, response: str, off: Floats) -> ValueError:
    method = "predict" if response == "regression" else response
    return ValueError(
        f"{type(estimator).__name__} was read out of its fitted attributes, but its {method} gives "
        f"other outputs (they differ by {float(off.max()):.3g} on {len(off)} rows). No bound can "
        "be trusted, so none is given; please report the model and its version. SBFTAuditor "
        "searches with any estimator."
    )


def _kind(outputs: list[Node]) -> str:
    """Return what bounds outputs together: a search for them all, or nothing (an empty text)."""
    if all(isinstance(node, NetworkOutput) for node in outputs):
        of = [node for node in outputs if isinstance(node, NetworkOutput)]
        whole = [(id(own.network), own.which) for own in all_outputs(of[0].network)]
        return "network" if [(id(own.network), own.which) for own in of] == whole else ""
    sums = [node for node in outputs if isinstance(node, list)]
    if len(sums) < len(outputs):
        return ""
    kinds = {kind_of(node) for node in sums}
    if kinds == {"trees", "effects"} and not all_nodes(sums) and all(len(o) == 1 for o in sums):
        return "effects"  # and constants
    if kinds == {"softmax"}:
        # The shares of different classes of one softmax, each once.
        softmaxes = {frozenset(map(id, group.parts)) for (group,) in sums}
        classes = {id(group.parts[0]) for (group,) in sums}
        return "softmax" if len(softmaxes) == 1 and len(classes) == len(sums) else ""
    return kinds.pop() if len(kinds) == 1 else ""


def softmax_verifier(space: InputSpace, outputs: list[Output]) -> Verifier:
    """Return what bounds a softmax of sums of effects: a network of one layer."""
    from skfairtest.exact._networks.verifier import NetworkVerifier

    parts = [group.parts[0] for (group,) in outputs]
    (group,) = outputs[0]
    parts += [part for part in group.parts if all(part is not own for own in parts)]
    if len(parts) == 2:
        parts = parts[::-1]  # of two classes the second is looked at
    features, own = one_map(parts)
    single = any(map(is_single, outputs))
    layers = Layers([own], "softmax", 2.0**-24 if single else 2.0**-53)
    touched = any(part.looks_at(space.sensitive) for part in parts)
    return NetworkVerifier(space, features, layers, link_rounding(group), touched)


def _behind(steps: list[Any], model: Any) -> Any:
    """Return a model behind steps."""
    # A name a step, as a pipeline wants it.
    named = [(str(k), step) for k, step in enumerate([*steps, model])]
    return Pipeline(named) if steps else model


def _asking(estimator: Any, space: InputSpace, response: str) -> Model:
    model = Model(estimator, space, response_method="auto", n_jobs=None)
    model.response = response
    return model


def _valid_rows(Z: Any, space: InputSpace, rng: Any) -> Any:
    """Return enough valid rows, as the model is asked about no others."""
    if not space.constraints_:
        return Z
    admitted = space.feasibility.repair(Z, rng)
    admitted = admitted[space.valid(admitted)]
    more = space.sample(max(0, min(len(Z), N_COMPARED) - len(admitted)), rng)
    return np.concatenate([admitted, more])


def _outputs(
    model: Model, evaluate: Callable[[Floats], Floats], Z: Floats, until: float
) -> tuple[Floats, Floats]:
    """Return what a model says of rows, and what was read of it; of `N_COMPARED` rows at least."""
    answers: list[Floats] = []
    read: list[Floats] = []
    n = 0
    pace = Pace(N_COMPARED, len(Z), until)
    while not answers or (n < len(Z) and pace.size):
        some = Z[n : n + (pace.size or N_COMPARED)]
        answers.append(model.ask(some)[0])
        read.append(evaluate(some))
        n += len(some)
        pace.done(len(some))
    return np.concatenate(answers), np.concatenate(read)


def response_of(estimator: Any, method: str) -> str:
    """Return what an estimator, fitted or not, is asked for by a response method."""
    model = unwrap(estimator, HINT)[1]
    return choose_response(with_final(model) if is_stack(model) else estimator, method)
