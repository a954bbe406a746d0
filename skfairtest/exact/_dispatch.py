"""Find the family of a model, and check that the model as it was read predicts alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from skfairtest._typing import Floats
from skfairtest.exact._around import (
    asked_members,
    check_around,
    is_around,
    is_stack,
    members,
    read_around,
    with_final,
)
from skfairtest.exact._bracket import Bracket, Family, Limits, Pace
from skfairtest.exact._composite import CompositeFamily
from skfairtest.exact._constrained import ConstrainedFamily
from skfairtest.exact._expression import ModelOutput, Node
from skfairtest.exact._joined_trees import as_trees
from skfairtest.exact._linear import LINEAR, LinearFamily, check_linear, is_linear
from skfairtest.exact._mixture import MixtureFamily, check_averaged
from skfairtest.exact._networks.family import NetworkFamily
from skfairtest.exact._support import not_certified
from skfairtest.exact._trees.family import TreeFamily
from skfairtest.oracle._model import Model, choose_response
from skfairtest.space._space import InputSpace
from skfairtest.whitebox._boosting_libraries import (
    check_library_model,
    check_library_settings,
    library_of,
)
from skfairtest.whitebox._ensembles import BAGGED, ENSEMBLES, VOTING
from skfairtest.whitebox._layers import MLP
from skfairtest.whitebox._library_code import check_library_code
from skfairtest.whitebox._mixing import check_mixing
from skfairtest.whitebox._mixture import Mixture, read_mixture
from skfairtest.whitebox._sklearn_trees import BOOSTED, FORESTS, TREES, check_trees
from skfairtest.whitebox._steps import HINT, MIXING, check_kind
from skfairtest.whitebox._tree_model import Output, exponential_rounding
from skfairtest.whitebox._unsupported import Unsupported
from skfairtest.whitebox._unwrap import unwrap

#: Random rows on which what was read is compared with the model itself, beside those that pass all
#: of its tests.
N_COMPARED = 256
#: Difference that is no rounding, as a share of what outputs differ by, and of the largest one.
TOLERANCE, TOLERANCE_SINGLE, ROUNDING = 1e-9, 1e-4, 2e-14
#: Shares of the time that is left within which further rows are made, and compared.
ROWS_SHARE, COMPARED_SHARE = 0.25, 0.25


#: What to do about a model that predicts with code that was not read.
OWN_CODE = (
    "Certify a model of scikit-learn's own; SBFTAuditor and RandomAuditor search with any "
    "estimator."
)


class LabelFamily(Family):
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

    def solve(self, incumbent: float, limits: Limits) -> Bracket:
        return Bracket(incumbent, 1.0, None, 0, "labels have no bound but 1")


def read_family(
    estimator: Any,
    space: InputSpace,
    response: str,
    compiled: bool | None,
    rng: np.random.Generator,
    n_jobs: int | None = None,
    deadline: float = np.inf,
) -> tuple[Family, int]:
    """Read a fitted model, and compare its predictions with those of the model as read.

    - `n_jobs`: threads of the branch and bound on trees, where it is compiled.
    - `deadline`: when to stop reading trees, by `_clock.now`: the bound is then that of their
      ranges.
    - `family`: the model, read out.
    - `n_rows`: queries that this took.
    - `ValueError`: if the model or a step before it is not understood, or was read wrongly.
    """
    reader = _Reader(compiled, rng, n_jobs, deadline)
    return reader.read(estimator, space, response), reader.n_rows


class _Reader:
    """Reads models, and those inside of them, as `read_family` does.

    - `n_rows`: queries that this took so far.
    """

    def __init__(
        self,
        compiled: bool | None,
        rng: np.random.Generator,
        n_jobs: int | None,
        deadline: float,
    ) -> None:
        self.compiled, self.rng, self.n_jobs, self.deadline = compiled, rng, n_jobs, deadline
        self.n_rows = 0

    def read(self, estimator: Any, space: InputSpace, response: str) -> Family:
        """Return a model, read out for a space."""
        check_supported(estimator, response)
        if response == "labels":
            return LabelFamily()
        model = unwrap(estimator, HINT)[1]
        mixture = read_mixture(model, OWN_CODE)
        if mixture is not None:
            return self._averaged(estimator, mixture, space, response)
        if is_around(model):
            return self._around(estimator, space, response)

        def make(part: InputSpace, until: float) -> Family:
            if is_linear(model, response):
                return LinearFamily(estimator, part, response)
            if isinstance(model, (*MLP, *LINEAR)):
                return NetworkFamily(estimator, part, response)
            return TreeFamily(estimator, part, response, self.compiled, self.n_jobs, until)

        family = (
            ConstrainedFamily(space, make, self.deadline)
            if space.admission.repairs
            else make(space, self.deadline)
        )
        self._compare(family, estimator, space, response)
        return family

    def _averaged(
        self, estimator: Any, mixture: Mixture, space: InputSpace, response: str
    ) -> Family:
        """Return a model that averages another one."""
        steps = unwrap(estimator, HINT)[0]
        check_averaged(space, steps, mixture)
        inner = self.read(_behind(steps, mixture.model), space, response)
        family = MixtureFamily(mixture.strength, inner, response)
        asked = _asking(estimator, space, response)
        Z = _valid_rows(family.rows(N_COMPARED, self.rng), space, self.rng)
        off = family.check(lambda rows: asked.ask(rows)[0], Z, space, self.rng)
        self.n_rows += asked.n_rows
        if off > (TOLERANCE_SINGLE if asked.single else TOLERANCE):
            raise ValueError(
                f"{type(estimator).__name__} was read as an average over columns, but in "
                f"{len(Z)} pairs of twins its outputs differ otherwise (by {off:.3g} of the "
                "largest output). No bound can be trusted, so none is given. A step or a model "
                "that is not a function of single rows may be the reason; SBFTAuditor searches "
                "with any estimator."
            )
        return family

    def _around(self, estimator: Any, space: InputSpace, response: str) -> Family:
        """Return a model around other models."""
        steps, model = unwrap(estimator, HINT)
        made: dict[tuple[int, ...], Any] = {}

        def behind(inner: Any, *more: Any) -> Any:
            key = (id(inner), *map(id, more))
            # Kept with what it was made of, so that no other object gets their ids.
            if key not in made:
                made[key] = (_behind([*steps, *more], inner), more)
            return made[key][0]

        nodes = read_around(model, response, behind)
        families: dict[tuple[int, str], Family] = {}
        for node in nodes:
            for inner in node.model_outputs():
                key = (id(inner.estimator), inner.response)
                if key not in families:
                    families[key] = self.read(inner.estimator, space, inner.response)
        family: Family = _joined(nodes, families) or CompositeFamily(nodes, families)
        self._compare(family, estimator, space, response)
        return family

    def _compare(self, family: Family, estimator: Any, space: InputSpace, response: str) -> None:
        """Compare what a model says of rows with what was read of it."""
        limits = Limits(self.deadline, 0.0)
        method = "predict" if response == "regression" else response
        model = _asking(estimator, space, response)
        Z = family.rows(N_COMPARED, self.rng)
        # Models inside of this one have been compared by themselves.
        through = family.through(self.rng, limits.by(ROWS_SHARE))
        Z = np.concatenate([Z, through]) if len(through) else Z
        Z = _valid_rows(Z, space, self.rng)
        said, read = _outputs(model, family, Z, limits.by(COMPARED_SHARE))
        self.n_rows += model.n_rows
        scale = float(np.abs(said).max(initial=0.0))
        spread = float(np.ptp(said, axis=0).max(initial=0.0)) if len(said) else 0.0
        # Where single precision is part of the bound, what it may change is known.
        room = family.single_room(scale)
        # Outputs next to nothing, or far from zero, differ by less than a share of their size.
        tolerance = TOLERANCE * spread + ROUNDING * scale + family.rounding + room
        # Rounding in an exponent moves an output by a share of its size.
        tolerance += exponential_rounding(getattr(family, "outputs", []), scale)
        if model.single and not room:
            tolerance += TOLERANCE_SINGLE * max(1.0, scale)
        off = np.abs(said - read) if said.shape == read.shape else np.full((1, 1), np.inf)
        agree = np.asarray((off <= tolerance).all(axis=1))
        if isinstance(family, CompositeFamily) and said.shape == read.shape and not agree.all():
            # Behind a steep function the rounding of the models inside may carry outputs far.
            low, high = family.reach(Z[: len(said)][~agree])
            own = said[~agree]
            agree[~agree] = ((low - tolerance <= own) & (own <= high + tolerance)).all(axis=1)
        if not agree.all():
            worst = float(off.max())
            raise ValueError(
                f"{type(estimator).__name__} was read out of its fitted attributes, but its "
                f"{method} gives other outputs (they differ by {worst:.3g} on {len(said)} rows). "
                "No bound can be trusted, so none is given; please report the model and its "
                "version. SBFTAuditor searches with any estimator."
            )


def _joined(nodes: list[Node], families: dict[tuple[int, str], Family]) -> TreeFamily | None:
    """Return the outputs as sums of trees, where all that they are made of are models of trees."""
    trees = [family for family in families.values() if isinstance(family, TreeFamily)]
    if len(trees) < len(families):
        return None

    def trees_of(inner: ModelOutput) -> Output | None:
        family = families[id(inner.estimator), inner.response]
        return family.outputs[inner.output] if isinstance(family, TreeFamily) else None

    found = [as_trees(node, trees_of) for node in nodes]
    outputs = [output for output in found if output is not None]
    if len(outputs) < len(found):
        return None
    return TreeFamily(None, trees[0].space, "", *trees[0].settings, outputs=outputs)


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
    admitted = space.admission.repair(Z, rng)
    admitted = admitted[space.valid(admitted)]
    more = space.sample(max(0, min(len(Z), N_COMPARED) - len(admitted)), rng)
    return np.concatenate([admitted, more])


def _outputs(model: Model, family: Family, Z: Floats, until: float) -> tuple[Floats, Floats]:
    """Return what a model says of rows, and what was read of it; of `N_COMPARED` rows at least."""
    said: list[Floats] = []
    read: list[Floats] = []
    n = 0
    pace = Pace(N_COMPARED, len(Z), until)
    while not said or (n < len(Z) and pace.size):
        some = Z[n : n + (pace.size or N_COMPARED)]
        said.append(model.ask(some)[0])
        read.append(family.evaluate(some))
        n += len(some)
        pace.done(len(some))
    return np.concatenate(said), np.concatenate(read)


def _begins_with(model: Any, is_kind: Callable[[Any], bool]) -> bool:
    """Return whether a model, or all of its inner models, are of some kinds."""
    if is_around(model):
        return all(_begins_with(unwrap(member, HINT)[1], is_kind) for member in members(model))
    return is_kind(model)


# What can be certified ---------------------------------------------------------------------


def response_of(estimator: Any, method: str) -> str:
    """Return what an estimator, fitted or not, is asked for by a response method."""
    model = unwrap(estimator, HINT)[1]
    return choose_response(with_final(model) if is_stack(model) else estimator, method)


def check_supported(estimator: Any, response: str, before: Sequence[Any] = ()) -> None:
    """Check that a model, fitted or not, and all steps before it can be certified.

    - `response` {"regression", "predict_proba", "decision_function", "labels", "unknown"}: what is
      asked of it. Of labels nothing is read, so that settings do not matter.
    - `before`: steps before it, which have been checked by themselves.
    """
    steps, model = unwrap(estimator, HINT)
    also: tuple[type, ...] = ()
    if _begins_with(model, lambda inner: isinstance(inner, (*MLP, *LINEAR))):
        also = MIXING
    for step in steps:
        check_kind(step, OWN_CODE, also)
    steps = [*before, *steps]
    mixture = read_mixture(model, OWN_CODE)
    if mixture is not None:
        check_supported(mixture.model, response, steps)
        if read_mixture(unwrap(mixture.model, HINT)[1], OWN_CODE) is not None:
            raise Unsupported(
                f"{type(model).__name__} of {type(model).__name__}, an average of averages, cannot "
                "be certified.",
                "Name all columns in the sensitive_features of one of them.",
            )
        return
    if is_around(model) or isinstance(model, (*BAGGED, *VOTING)):
        _check_members(model, response, steps)
        return
    if library_of(model) is not None:
        check_library_model(model, OWN_CODE)
    elif isinstance(model, (*ENSEMBLES, *LINEAR, *MLP)):
        # With the trees of an ensemble, and what gradient boosting starts from.
        inside = [*np.ravel(getattr(model, "estimators_", [])), getattr(model, "init_", "zero")]
        for part in (model, *(part for part in inside if not isinstance(part, str))):
            check_library_code(part, OWN_CODE)
    else:
        raise not_certified(model)
    _check_settings(model, response, steps)


def _check_members(model: Any, response: str, steps: list[Any]) -> None:
    """Check a model around others, and these, behind the steps before it."""
    check_library_code(model, OWN_CODE)
    check_around(model, response)
    for member, asked in asked_members(model, response):
        check_supported(member, asked, steps)
        inner = unwrap(member, HINT)[1]
        if read_mixture(inner, OWN_CODE) is not None:
            raise Unsupported(
                f"{type(inner).__name__} in {type(model).__name__} cannot be certified.",
                "Marginalize the whole model instead.",
            )


def _check_settings(model: Any, response: str, steps: list[Any]) -> None:
    """Check the settings of a model and the order of the steps before it, as its reader does."""
    if isinstance(model, LINEAR):
        check_linear(model, response)
    if response == "labels":
        return
    if library_of(model) is not None:
        check_library_settings(model, response)
    elif isinstance(model, (*TREES, *FORESTS, *BOOSTED)):
        check_trees(model, response)
    elif isinstance(model, (*MLP, *LINEAR)):
        check_mixing(steps)
