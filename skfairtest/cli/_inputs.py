"""Turns the options that all commands share into a model, a table, and an auditor."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import NotFittedError

from skfairtest.cli._data_file import DataTable, read_table
from skfairtest.cli._errors import CommandError, ModelFailed
from skfairtest.cli._model_file import load_model
from skfairtest.cli._names import did_you_mean, split_names
from skfairtest.cli._parser import number
from skfairtest.cli._space_file import read_space
from skfairtest.cli._terminal import note
from skfairtest.exceptions import EstimatorFailedError
from skfairtest.space._rows import take_rows

#: Of the options that `add_model_options` and `add_search_options` add.
DEFAULTS: dict[str, Any] = {
    "sensitive": [], "sensitive_file": None, "target": None, "drop": [], "space": None, "trust": [],
    "unsafe_pickle": False, "auditor": None, "threshold": None, "favourable": None,
    "max_queries": None, "max_time": 60.0, "seed": 0, "quiet": False,
}  # fmt: skip


class CommandInputs(NamedTuple):
    """A model, its table, and the parameters that say which inputs exist."""

    model: Any
    table: DataTable
    space: Any


def read_inputs(options: argparse.Namespace, model: str, data: str) -> CommandInputs:
    """Load a model and the data, and check the data against the model."""
    loaded = load_model(
        model,
        trusted=split_names(options.trust),
        unsafe_pickle=options.unsafe_pickle,
        note=note,
    )
    check_fitted(loaded, model)
    table = read_table(
        data,
        loaded,
        sensitive=options.sensitive,
        target=options.target,
        drop=options.drop,
        sensitive_file=options.sensitive_file,
    )
    names = list(getattr(table.X, "columns", range(table.X.shape[1])))
    space = read_space(options.space, names) if options.space else None
    if len(table.X) == 1 and space is None:
        raise CommandError(
            "The data hold only one row, which shows one value of each column, so twins cannot "
            "differ. Give more rows, or give the values of columns by --space."
        )
    return CommandInputs(loaded, table, space)


def check_fitted(model: Any, where: str) -> None:
    """Raise an error unless a model of scikit-learn was fitted."""
    from sklearn.utils.validation import check_is_fitted

    if not hasattr(model, "fit"):
        return
    try:
        check_is_fitted(model)
    except NotFittedError as error:
        raise CommandError(
            f"The {type(model).__name__} in {where!r} is not fitted. Save it after fit(X, y)."
        ) from error
    except TypeError:  # no estimator of scikit-learn; its predict will tell
        pass


def make_auditor(options: argparse.Namespace, inputs: CommandInputs, name: str | None) -> Any:
    """Make an unfitted auditor by its name, with the space of --space."""
    from skfairtest.report._audit import auditor_names, make_template

    names = auditor_names()
    short = "sbft" if name is None else name.lower().removesuffix("auditor")
    if short not in names:
        raise CommandError(
            f"--auditor must be one of {', '.join(sorted(names))}; got {name!r}."
            f"{did_you_mean(short, names)}"
        )
    auditor = make_template(short, options.threshold)
    auditor.set_params(space=inputs.space)
    if options.max_queries is not None:
        auditor.set_params(max_queries=options.max_queries)
    return auditor


def read_favourable(options: argparse.Namespace, inputs: CommandInputs) -> Any:
    """Return the favourable label as the model has it, or None if it was not named."""
    if options.favourable is None:
        return None
    if predicts_numbers(inputs):
        if options.favourable == "mean":
            return "mean"
        try:
            return number(options.favourable)
        except argparse.ArgumentTypeError as error:
            raise CommandError(
                "--favourable must be a number with a model that predicts numbers, the smallest "
                f"prediction that is favourable, or mean; got {options.favourable!r}."
            ) from error
    classes = list(getattr(inputs.model, "classes_", []))
    same = [label for label in classes if str(label) == options.favourable]
    if not same:  # blanks that a file has put round a label are hard to see
        same = [label for label in classes if str(label).strip() == options.favourable.strip()]
    if len(same) != 1:
        words = [str(label) for label in classes]
        raise CommandError(
            f"--favourable names {options.favourable!r}, which is not a label of the "
            f"model.{did_you_mean(options.favourable, words)} Its labels: "
            f"{', '.join(words) or 'none'}."
        )
    return same[0]


def predicts_numbers(inputs: CommandInputs) -> bool:
    """Tell whether the model predicts numbers; one that does not say so is asked about a row."""
    from sklearn.base import is_regressor

    if hasattr(inputs.model, "__sklearn_tags__"):
        return bool(is_regressor(inputs.model))
    if hasattr(inputs.model, "classes_") or callable(getattr(inputs.model, "predict_proba", None)):
        return False
    first = inputs.model.predict(take_rows(inputs.table.X, np.arange(1)))
    return np.asarray(first).dtype.kind == "f"


@contextmanager
def command_errors() -> Iterator[None]:
    """Turn errors of an audit into errors of the command: wrong input, or a model that failed."""
    try:
        yield
    except EstimatorFailedError as error:
        raise ModelFailed(f"The model failed: {error}") from error
    except (ValueError, TypeError) as error:
        raise CommandError(str(error)) from error
    except SystemExit as error:
        raise ModelFailed(
            f"The model ended the program (SystemExit: {error.code}), so nothing was measured."
        ) from error
