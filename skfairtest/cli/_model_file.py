"""Loads the model from a skops file, a pickle if that is asked for, or an imported object."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from operator import attrgetter
from pathlib import Path
from typing import Any
from zipfile import is_zipfile

from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from skfairtest.cli._errors import CommandError
from skfairtest.cli._terminal import note
from skfairtest.space._column_names import did_you_mean

IMPORTED = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")
WHY_UNSAFE = (
    "loading a pickle runs whatever code its author put into it, with your rights, before anything "
    "can be checked"
)
#: What fitted estimators of scikit-learn hold besides what skops trusts, by module. A partial
#: function is as harmless as its function, which a file names as well.
OF_SCIKIT_LEARN = {
    "functools": "partial",
    "numpy": "dtype mean",
    "scipy._lib.array_api_compat.numpy._aliases": "asarray",
    "scipy.interpolate._bsplines": "BSpline",
    "scipy.sparse._csr": "csr_array csr_matrix",
    "sklearn._loss.link": "HalfLogitLink IdentityLink Interval LogLink LogitLink MultinomialLogit",
    "sklearn._loss.loss": (
        "AbsoluteError HalfBinomialLoss HalfGammaLoss HalfMultinomialLoss HalfPoissonLoss "
        "HalfSquaredError HalfTweedieLossIdentity PinballLoss"
    ),
    "sklearn.calibration": "_CalibratedClassifier _SigmoidCalibration _TemperatureScaling",
    "sklearn.compose._column_transformer": "_RemainderColsList make_column_selector",
    "sklearn.ensemble._hist_gradient_boosting.binning": "_BinMapper",
    "sklearn.ensemble._hist_gradient_boosting.predictor": "TreePredictor",
    "sklearn.feature_selection._univariate_selection": "chi2 f_classif f_regression",
    "sklearn.gaussian_process._gpc": "_BinaryGaussianProcessClassifierLaplace",
    "sklearn.gaussian_process.kernels": "ConstantKernel Matern Product RBF Sum WhiteKernel",
    "sklearn.metrics._classification": "accuracy_score balanced_accuracy_score f1_score",
    "sklearn.metrics._dist_metrics": "EuclideanDistance64 ManhattanDistance64 MinkowskiDistance64",
    "sklearn.metrics._scorer": "_CurveScorer _PassthroughScorer _Scorer",
    "sklearn.model_selection._split": "KFold ShuffleSplit StratifiedKFold StratifiedShuffleSplit",
    "sklearn.multiclass": "_ConstantPredictor",
    "sklearn.neighbors._ball_tree": "BallTree",
    "sklearn.neighbors._kd_tree": "KDTree",
    "sklearn.neural_network._stochastic_optimizers": "AdamOptimizer SGDOptimizer",
    "sklearn.tree._tree": "Tree",
    "sklearn.utils._bunch": "Bunch",
    "sklearn.utils._metadata_requests": "MetadataRequest MethodMetadataRequest",
    "sklearn.utils.validation": "check_array",
}


def load_model(where: str, *, trusted: Sequence[str] = (), unsafe_pickle: bool = False) -> Any:
    """Load a fitted model from a file or from ``package.module:object``.

    A file of skops may hold types that are trusted, besides ours, scikit-learn's and its own.
    """
    path = Path(where)
    if path.is_file():
        model = _of_skops(path, trusted) if is_zipfile(path) else _of_pickle(path, unsafe_pickle)
    elif path.exists():
        raise CommandError(f"MODEL must be a file or package.module:object; {where!r} is a folder.")
    elif IMPORTED.fullmatch(where):
        model = _imported(where)
    else:
        others = [entry.name for entry in path.parent.iterdir()] if path.parent.is_dir() else []
        raise CommandError(
            f"There is no model file {where!r}.{did_you_mean(path.name, others)} MODEL is a file "
            "that skops.io.dump wrote, or package.module:object."
        )
    if isinstance(model, type) or not callable(getattr(model, "predict", None)):
        what = "the class" if isinstance(model, type) else "an object of type"
        name = model.__name__ if isinstance(model, type) else type(model).__name__
        raise CommandError(
            f"Expected a fitted model with a method predict in {where!r}; got {what} {name}. Save "
            'the model itself, whole pipeline included: skops.io.dump(model, "model.skops").'
        )
    try:
        if hasattr(model, "fit"):
            check_is_fitted(model)
    except NotFittedError as error:
        raise CommandError(
            f"The {type(model).__name__} in {where!r} is not fitted. Save it after fit(X, y)."
        ) from error
    except TypeError:  # no estimator of scikit-learn; its predict will tell
        pass
    return model


def _of_skops(path: Path, trusted: Sequence[str]) -> Any:
    skops_io = import_skops()
    own = {f"{place}.{name}" for place, names in OF_SCIKIT_LEARN.items() for name in names.split()}
    # Whatever is in the file: damaged, of another version of skops, or made to do harm.
    with _loading(
        repr(str(path)),
        "cannot be read as a file of skops",
        "Write it again with skops.io.dump, with the versions of skops and scikit-learn that are "
        "installed here.",
    ):
        found = skops_io.get_untrusted_types(file=path)
        allowed = {*trusted, *own}
        if any(name.startswith("skfairtest.") for name in found):
            from skfairtest.io import TRUSTED_TYPES  # which imports all of the package

            allowed.update(TRUSTED_TYPES)
        unknown = [name for name in found if name not in allowed]
        if unknown:
            raise CommandError(_refusal(path, unknown, trusted))
        of_library = sorted(own.intersection(found) - {*trusted})
        if of_library:
            note(
                f"{str(path)!r} holds parts of scikit-learn's own models, which are trusted: "
                f"{', '.join(of_library)}. Use files whose origin you know"
            )
        return skops_io.load(path, trusted=sorted(allowed))


def import_skops() -> Any:
    """Import skops without torch and dask, and return it.

    It asks scikit-learn for all its estimators, which imports all of its modules, also those that
    translate arrays of torch and of dask: seconds, and no estimator.
    """
    hidden = [name for name in ("torch", "dask", "pytest") if name not in sys.modules]
    # An entry of None makes an import fail, as where the package is missing.
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]
    try:
        return importlib.import_module("skops.io")
    finally:
        for name in hidden:
            del sys.modules[name]


def _refusal(path: Path, unknown: list[str], trusted: Sequence[str]) -> str:
    # A message names 20 types, and counts the others.
    named = unknown[:20]
    more = f"\n  and {len(unknown) - len(named)} more" if len(unknown) > len(named) else ""
    listed = "".join(f"\n  {name}" for name in named)
    # A type that was trusted by a name which is nearly right would otherwise be hard to see.
    hints = (f" --trust {name}:{did_you_mean(name, unknown)}" for name in trusted)
    return (
        f"{str(path)!r} holds types that are not of skfairtest, scikit-learn or skops:{listed}"
        f"{more}\n"
        "A file of skops says which types are made from it, and a type can run code of its own "
        f"when it is made.{next((hint for hint in hints if hint.endswith('?')), '')} If you know "
        "where the file comes from and what these are, add "
        f"{' '.join(f'--trust {name}' for name in named)}"
    )


def _of_pickle(path: Path, unsafe_pickle: bool) -> Any:
    if not unsafe_pickle:
        with path.open("rb") as file:
            head = file.read(8)
        begins = f"begins with {head!r}" if head else "is empty"
        raise CommandError(
            f"{str(path)!r} is no file of skops: it {begins}. Write one with "
            f'skops.io.dump(model, "{path.with_suffix(".skops").name}"). If this is a pickle (or a '
            f"file of joblib), it is refused: {WHY_UNSAFE}. If you made the file yourself, add "
            "--unsafe-pickle."
        )
    note(f"--unsafe-pickle: {str(path)!r} is loaded although {WHY_UNSAFE}")
    import joblib

    _look_here()
    with _loading(
        repr(str(path)),
        "cannot be loaded as a pickle",
        "Load it with the versions it was written with, and write it with skops.io.dump.",
    ):
        return joblib.load(path)


def _imported(where: str) -> Any:
    module, _, name = where.partition(":")
    _look_here()
    with _loading(repr(where), "cannot be imported", f"Import {module} in Python to see where."):
        found = importlib.import_module(module)
    try:
        return attrgetter(name)(found)
    except AttributeError as error:
        raise CommandError(
            f"{where!r}: there is no {error.name!r} in "
            f"{module}.{did_you_mean(error.name, dir(error.obj))} Name an object of the module "
            "that is a fitted model."
        ) from error


def _look_here() -> None:
    """Let modules of the current directory be found, as `python -m` does."""
    here = str(Path.cwd())
    if here not in sys.path and "" not in sys.path:
        sys.path.insert(0, here)


@contextmanager
def _loading(where: str, what: str, todo: str) -> Iterator[None]:
    """Turn whatever is raised while a model is loaded into an error of the command."""
    try:
        yield
    except CommandError:
        raise
    except ImportError as error:
        raise needs(f"The model in {where}", error) from error
    except (Exception, SystemExit) as error:
        raise CommandError(f"{where} {what}: {type(error).__name__}: {error}. {todo}") from error


def needs(what: str, error: ImportError) -> CommandError:
    """Return an error that says which package a model needs."""
    if isinstance(error, ModuleNotFoundError) and error.name:
        here = [path.stem for path in Path().glob("*.py")]
        return CommandError(
            f"{what} needs the package {error.name!r}, which is neither installed nor in the "
            f"current directory.{did_you_mean(error.name, here)} Install it (the name on the "
            "package index may differ), or run this where the model was trained."
        )
    return CommandError(
        f"{what} needs something that cannot be imported: {error}. Install the versions of the "
        "packages that it was trained with."
    )
