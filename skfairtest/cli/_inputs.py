"""Turns the options that all commands share into a model, a table, and an auditor."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from skfairtest.cli._data_file import DataTable, read_table, split_names
from skfairtest.cli._errors import CommandError, ModelFailed
from skfairtest.cli._model_file import load_model
from skfairtest.cli._parser import number
from skfairtest.cli._space_file import read_space
from skfairtest.exceptions import EstimatorFailedError
from skfairtest.oracle._favourable import known_classes
from skfairtest.oracle._model import choose_response
from skfairtest.space._column_names import did_you_mean
from skfairtest.space._rows import take_rows


class CommandInputs(NamedTuple):
    """A model, its table, and the parameters that say which inputs exist."""

    model: Any
    table: DataTable
    space: Any


def read_inputs(options: argparse.Namespace, model: str, data: str) -> CommandInputs:
    """Load a model and the data, and check the data against the model."""
    loaded = load_model(
        model, trusted=split_names(options.trust), unsafe_pickle=options.unsafe_pickle
    )
    table = read_table(
        data,
        loaded,
        sensitive=options.sensitive,
        target=options.target,
        drop=options.drop,
        sensitive_file=options.sensitive_file,
        control=options.control,
    )
    names = list(getattr(table.X, "columns", range(table.X.shape[1])))
    space = read_space(options.space, names) if options.space else None
    if len(table.X) == 1 and space is None:
        raise CommandError(
            "The data hold only one row, which shows one value of each column, so twins cannot "
            "differ. Give more rows, or give the values of columns by --space."
        )
    return CommandInputs(loaded, table, space)


def make_auditor(options: argparse.Namespace, inputs: CommandInputs, name: str | None) -> Any:
    """Make an unfitted auditor by its name, with the space of --space.

    It is None where nothing is asked of it: an audit then searches no longer than it has to.
    """
    from skfairtest.report._audit import make_template

    if name is None and inputs.space is None and options.max_queries is None:
        return None
    auditor = make_template(name, options.threshold)
    auditor.set_params(space=inputs.space)
    if options.max_queries is not None:
        auditor.set_params(max_queries=options.max_queries)
    return auditor


def read_favourable(options: argparse.Namespace, inputs: CommandInputs) -> Any:
    """Return the favourable label as the model has it, or None if it was not named."""
    given = options.favourable
    if given is None:
        return None
    if predicts_numbers(inputs):
        try:
            return given if given == "mean" else number(given)
        except argparse.ArgumentTypeError as error:
            raise CommandError(
                "--favourable must be a number with a model that predicts numbers, the smallest "
                f"prediction that is favourable, or mean; got {given!r}."
            ) from error
    classes = known_classes(inputs.model)
    labels = [] if classes is None else classes.tolist()
    # Blanks that a file has put round a label are hard to see.
    for same in (str, lambda label: str(label).strip()):
        found = [label for label in labels if same(label) == same(given)]
        if len(found) == 1:
            return found[0]
    raise CommandError(
        f"--favourable names {given!r}, which is not a label of the "
        f"model.{did_you_mean(given, map(str, labels))} Its labels: "
        f"{', '.join(map(str, labels)) or 'none'}."
    )


def predicts_numbers(inputs: CommandInputs) -> bool:
    """Tell whether the model predicts numbers; one that does not say so is asked about a row."""
    response = choose_response(inputs.model, "auto")
    if response != "unknown" or hasattr(inputs.model, "classes_"):
        return response == "regression"
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
