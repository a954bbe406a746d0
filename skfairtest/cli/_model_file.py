"""Loads the model from a skops file, a pickle if that is asked for, or an imported object."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile, is_zipfile

from skfairtest.cli._errors import CommandError
from skfairtest.cli._names import did_you_mean

IMPORTED = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")
#: How files of pickle and joblib begin: a protocol of pickle, or what joblib compresses by.
PICKLES = (b"\x80", b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda", b"\x1f\x8b", b"BZh")
PICKLES_TOO = (b"\xfd7zXZ", b"\x5d\x00\x00", b"\x04\x22\x4d\x18")
PICKLE_NAMES = (".pkl", ".pickle", ".joblib")
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


def load_model(
    where: str,
    *,
    trusted: Sequence[str] = (),
    unsafe_pickle: bool = False,
    note: Callable[..., Any],
) -> Any:
    """Load the model from a file or from ``package.module:object``.

    Parameters
    ----------
    where : str
        Path, or what is imported.
    trusted : sequence of str
        Types that a skops file may hold besides ours, scikit-learn's and those of skops itself.
    unsafe_pickle : bool
        Whether a pickle may be loaded.
    note : callable
        Called with each line that the user should know.

    Returns
    -------
    object
        It has `predict`.

    Raises
    ------
    CommandError
        If there is no such model, or it may not be loaded.
    """
    path = Path(where)
    if path.is_file():
        model = _of_file(path, trusted, unsafe_pickle, note)
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
    if isinstance(model, type):
        raise CommandError(
            f"Expected a fitted model in {where!r}; got the class {model.__name__}. Name an "
            "instance of it that was fitted."
        )
    if not callable(getattr(model, "predict", None)):
        raise CommandError(
            f"Expected a fitted model with a method predict in {where!r}; got an object of type "
            f"{type(model).__name__}. Save the model itself, whole pipeline included: "
            'skops.io.dump(model, "model.skops").'
        )
    return model


def _of_file(
    path: Path, trusted: Sequence[str], unsafe_pickle: bool, note: Callable[..., Any]
) -> Any:
    try:
        with path.open("rb") as file:
            head = file.read(8)
    except OSError as error:
        raise CommandError(f"{str(path)!r} cannot be read: {error.strerror or error}.") from error
    if _is_skops(path):
        return _of_skops(path, trusted, note)
    if head.startswith((*PICKLES, *PICKLES_TOO)) or (head and path.suffix in PICKLE_NAMES):
        return _of_pickle(path, unsafe_pickle, note)
    size = "it is empty" if not head else f"it begins with {head!r}"
    raise CommandError(
        f"{str(path)!r} is no model file: {size}. Expected a file of skops; write one with "
        f'skops.io.dump(model, "{path.with_suffix(".skops").name}").'
    )


def _is_skops(path: Path) -> bool:
    if not is_zipfile(path):
        return False
    try:
        with ZipFile(path) as archive:
            return "schema.json" in archive.namelist()
    except (BadZipFile, OSError):
        return False


def _of_skops(path: Path, trusted: Sequence[str], note: Callable[..., Any]) -> Any:
    import skops.io

    from skfairtest.io import TRUSTED_TYPES

    own = {f"{place}.{name}" for place, names in OF_SCIKIT_LEARN.items() for name in names.split()}
    allowed = {*TRUSTED_TYPES, *trusted, *own}
    try:
        found = skops.io.get_untrusted_types(file=path)
        unknown = [name for name in found if name not in allowed]
        if unknown:
            raise CommandError(_refusal(path, unknown, trusted))
        of_library = sorted(own.intersection(found) - {*trusted})
        if of_library:
            note(
                f"{str(path)!r} holds parts of scikit-learn's own models, which are trusted: "
                f"{', '.join(of_library)}. Use files whose origin you know"
            )
        return skops.io.load(path, trusted=sorted(allowed))
    except CommandError:
        raise
    except ImportError as error:
        raise _needs(path, error) from error
    except (Exception, SystemExit) as error:
        # Whatever is in the file: damaged, of another version of skops, or made to do harm.
        raise CommandError(
            f"{str(path)!r} cannot be read as a file of skops: {type(error).__name__}: {error}. "
            "Write it again with skops.io.dump, with the versions of skops and scikit-learn that "
            "are installed here."
        ) from error


def _refusal(path: Path, unknown: list[str], trusted: Sequence[str]) -> str:
    # A message names 20 types, and counts the others.
    named = unknown[:20]
    more = f"\n  and {len(unknown) - len(named)} more" if len(unknown) > len(named) else ""
    listed = "".join(f"\n  {name}" for name in named)
    # A type that was trusted by a name which is nearly right would otherwise be hard to see.
    wrong = [name for name in trusted if did_you_mean(name, unknown)]
    hint = f" --trust {wrong[0]}:{did_you_mean(wrong[0], unknown)}" if wrong else ""
    return (
        f"{str(path)!r} holds types that are not of skfairtest, scikit-learn or skops:{listed}"
        f"{more}\n"
        "A file of skops says which types are made from it, and a type can run code of its own "
        f"when it is made.{hint} If you know where the file comes from and what these are, add "
        f"{' '.join(f'--trust {name}' for name in named)}"
    )


def _of_pickle(path: Path, unsafe_pickle: bool, note: Callable[..., Any]) -> Any:
    if not unsafe_pickle:
        raise CommandError(
            f"{str(path)!r} looks like a pickle (or a file of joblib), which is refused: "
            f"{WHY_UNSAFE}. Write the model with skops.io.dump, or, if you made the file yourself, "
            "add --unsafe-pickle."
        )
    note(f"--unsafe-pickle: {str(path)!r} is loaded although {WHY_UNSAFE}")
    import joblib

    _look_here()
    try:
        return joblib.load(path)
    except ImportError as error:
        raise _needs(path, error) from error
    except (Exception, SystemExit) as error:
        raise CommandError(
            f"{str(path)!r} cannot be loaded as a pickle: {type(error).__name__}: {error}. Load it "
            "with the versions it was written with, and write it with skops.io.dump."
        ) from error


def _imported(where: str) -> Any:
    module, _, name = where.partition(":")
    _look_here()
    try:
        found = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name and (module == error.name or module.startswith(f"{error.name}.")):
            here = [path.stem for path in Path().glob("*.py")]
            raise CommandError(
                f"There is no module {error.name!r} to import {where!r} from."
                f"{did_you_mean(error.name, here)} It is looked for in the current directory and "
                "among the installed packages."
            ) from error
        raise _needs(where, error) from error
    except ImportError as error:
        raise _needs(where, error) from error
    except (Exception, SystemExit) as error:
        raise CommandError(
            f"Importing {module!r} raised {type(error).__name__}: {error}. Import it in Python to "
            "see where."
        ) from error
    for part in name.split("."):
        try:
            found = getattr(found, part)
        except AttributeError as error:
            raise CommandError(
                f"{where!r}: there is no {part!r} in {module}.{did_you_mean(part, dir(found))} "
                "Name an object of the module that is a fitted model."
            ) from error
    return found


def _look_here() -> None:
    """Let modules of the current directory be found, as `python -m` does."""
    here = str(Path.cwd())
    if here not in sys.path and "" not in sys.path:
        sys.path.insert(0, here)


def _needs(where: Any, error: ImportError) -> CommandError:
    package = (error.name or "").partition(".")[0]
    if isinstance(error, ModuleNotFoundError) and package:
        return CommandError(
            f"The model in {str(where)!r} needs the package {package!r}, which is not installed "
            "here. Install it (the name on the package index may differ), or run this where the "
            "model was trained."
        )
    return CommandError(
        f"The model in {str(where)!r} needs something that cannot be imported: {error}. Install "
        "the versions of the packages that it was trained with."
    )
