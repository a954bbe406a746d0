"""The audited estimator as a function from encoded inputs to numbers and labels.

Finds out how to ask it, cuts batches into chunks, and turns whatever goes wrong inside it into one
error.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import is_classifier, is_outlier_detector, is_regressor

from skfairtest import _clock
from skfairtest._threads import Threads, one_thread
from skfairtest._typing import Floats
from skfairtest.exceptions import EstimatorFailedError, WorkersFailedError
from skfairtest.finding._words import message_of
from skfairtest.oracle._known_labels import labels_follow
from skfairtest.oracle._row_hash import row_keys
from skfairtest.space._rows import slice_rows
from skfairtest.space._space import InputSpace
from skfairtest.workers._sending import alone, n_workers, on_workers

Labels = NDArray[np.signedinteger[Any]]

RESPONSE_METHODS = ("auto", "predict_proba", "decision_function", "predict")
#: Rows in one call of the model. The same for every n_jobs: where a chunk is cut can change a
#: model's last bits, and the results must not depend on the number of jobs.
CHUNK = 4096
#: Rows used to see whether the label with the largest score is the label that predict gives.
PROBE_ROWS = 32
#: Flips of a search that `predict` confirms where labels are known to follow from the scores.
FIRST_FLIPS = 64
#: One in so many queries, or seconds, at most goes into getting to know the model.
PROBE_SHARE = 20
#: How far from one the probabilities of a row may add up: single precision, rounded output.
TOLERANCE = 1e-3


def probe_in_time(model: Any, Z: Any, seconds: float) -> None:
    """Let a model be probed on rows, or on as many as the share of some seconds for it allows.

    The first row tells how long one takes, which may be seconds.
    """
    if np.isfinite(seconds) and len(Z) > 1:
        began = _clock.now()
        model.probe(Z[:1])
        took = max(_clock.now() - began, 1e-9)
        Z = Z[1 : 1 + int(min(len(Z), seconds / PROBE_SHARE / took))]
    if len(Z):
        model.probe(Z)


class Model:
    """Estimator that is asked through one response method.

    Attributes
    ----------
    response : {"regression", "predict_proba", "decision_function", "labels", "unknown"}
        What `ask` returns; `probe` settles "unknown".
    cost : int
        Calls a row needs: 2 where the labels have to be asked apart from the scores.
    flips_to_confirm : float
        How many of the next flips of a search `predict` has to confirm: all, or where labels are
        known to follow from the scores what is left of the first ones.
    chunk : int or None
        Rows in one call; None for the number above.
    timer : callable or None
        Called as ``timer(n_rows, seconds)`` after each call.
    """

    chunk: int | None = None
    timer: Callable[[int, float], None] | None = None

    def __init__(
        self, estimator: Any, space: InputSpace, *, response_method: str, n_jobs: int | None
    ) -> None:
        self.estimator = estimator
        self.space = space
        self.n_jobs = n_jobs
        self.response = choose_response(estimator, response_method)
        is_known = labels_follow(estimator, self.response)
        self.flips_to_confirm: float = FIRST_FLIPS if is_known else math.inf
        self._name = type(estimator).__name__  # in errors
        # Shared with the same model of other tables.
        self._counted = [0]
        self.cost = 1
        self.single = False
        self.multilabel = False
        self._widths: dict[str, int] = {}
        self._threads = Threads()
        # Whether the probabilities of a row add up to one; the first batch tells.
        self._adds_up: bool | None = None

    @property
    def n_rows(self) -> int:
        """Queries so far; a row given to two methods counts twice."""
        return self._counted[0]

    @n_rows.setter
    def n_rows(self, n: int) -> None:
        self._counted[0] = n

    @property
    def infers_labels(self) -> bool:
        """Whether labels follow from the scores, so that `predict` must still agree."""
        return self.response in ("predict_proba", "decision_function") and self.cost == 1

    @property
    def probe_cost(self) -> int:
        """Queries that a probed row costs."""
        return {"regression": 0, "labels": 0, "unknown": 1}.get(self.response, 2)

    def probe(self, Z: Any, known: NDArray[Any] | None = None) -> None:
        """Test on a few rows whether labels follow from the scores; if not, always ask for both.

        A classifier with a tuned threshold, or an SVC with its own probabilities, gives other
        labels. `known` is what `predict` gives, where it was asked.
        """
        if self.response == "unknown":
            # Neither a regressor nor a classifier by its tags: fractional outputs are measured.
            answer = self._call("predict", Z)[0][0] if known is None else known
            self.response = "regression" if np.asarray(answer).dtype.kind == "f" else "labels"
        if self.response not in ("predict_proba", "decision_function"):
            return
        answers = self._call(self.response, Z)
        predicted = self.labels(Z) if known is None else hash_labels(known)
        self.multilabel |= known is not None and known.ndim > 1
        scores, labels = self._read(answers)
        if self.response == "predict_proba" and not self.multilabel:
            self._adds_up = True
            for answer, _ in answers:
                self._check_sums(np.asarray(_joined(answer), dtype=np.float64))
        # Two labellings agree when they cut the rows into the same groups and name them alike.
        classes = getattr(self.estimator, "classes_", None)
        if isinstance(classes, np.ndarray) and classes.ndim == 1 and len(classes) > labels.max():
            agree = bool((hash_labels(classes)[labels] == predicted).all())
        else:
            agree = False
        if not agree:
            self.cost = 2

    def with_table(self, table: Any, chunk: int | None = None) -> Model:
        """Return the same model with another table to decode rows; their queries count together."""
        other = copy.copy(self)
        other.space, other.chunk = table, chunk
        return other

    def output_name(self, output: int) -> Any:
        """Return the class that an output is of, or which of several it is; None for labels."""
        if self.response == "regression" and self._widths.get("predict", 1) > 1:
            return f"output {output + 1}"
        classes = getattr(self.estimator, "classes_", None)
        if self.response not in ("predict_proba", "decision_function") or classes is None:
            return None
        if isinstance(classes, list):  # several outputs with classes of their own
            each = [f"{one} (output {k})" for k, own in enumerate(classes, 1) for one in own]
            return each[output] if len(each) == self._widths.get(self.response) else None
        if len(classes) < 2:
            return None
        return classes[1] if len(classes) == 2 and not self.multilabel else classes[output]

    def ask(self, Z: Any, predicted: Labels | None = None) -> tuple[Floats, Labels]:
        """Scores of shape (n, n_outputs) and label codes of shape (n,) of the rows.

        `predicted` are the codes that `labels` gives, where they are known.
        """
        if self.response == "labels":
            labels = self.labels(Z) if predicted is None else predicted
            return np.zeros((len(Z), 1)), labels
        method = "predict" if self.response == "regression" else self.response
        scores, labels = self._read(self._call(method, Z))
        if self.cost == 2:
            labels = self.labels(Z) if predicted is None else predicted
        return scores, labels

    def _read(self, answers: list[tuple[Any, int]]) -> tuple[Floats, Labels]:
        """Return the scores of the response method, and the labels that they imply."""
        method = "predict" if self.response == "regression" else self.response
        parts = [self._as_scores(method, answer, n) for answer, n in answers]
        scores = parts[0] if len(parts) == 1 else np.concatenate(parts)
        if self.response == "regression":
            labels = np.zeros(len(scores), dtype=np.int64)
        elif scores.shape[1] == 1:
            labels = (scores[:, 0] > 0).astype(np.int64)
        elif scores.shape[1] == 2:  # as argmax has it, and faster
            labels = (scores[:, 1] > scores[:, 0]).view(np.int8)
        else:
            labels = scores.argmax(axis=1)
        if method == "predict_proba" and "labels" not in self._widths:
            self.multilabel = not self._adds_up  # as long as `predict` was not asked
        # Two columns may also be two labels at once.
        if method == "predict_proba" and scores.shape[1] == 2 and not self.multilabel:
            # The two say the same; that of the positive class is the one that people quote.
            scores = scores[:, 1:].copy()
        elif scores is parts[0]:
            scores = scores.copy()  # the model may write its next answer to the same place
        return scores, labels

    def labels(self, Z: Any) -> Labels:
        """Return the codes of the labels that the estimator's own predict gives, shape (n,)."""
        return hash_labels(self.predict(Z))

    def predict(self, Z: Any) -> NDArray[Any]:
        """Return what the estimator's own predict gives, (n,), or (n, n_outputs) of several."""
        parts = []
        for answer, n in self._call("predict", Z):
            array = np.asarray(answer)
            self._check_length("predict", array, n)
            self._check_width("labels", array)
            if pd.isna(array).any():
                raise EstimatorFailedError(self._complaint("predict", "labels", "missing labels"))
            parts.append(array[:, 0] if array.shape[1:] == (1,) else array)
        self.multilabel |= parts[0].ndim > 1
        return np.concatenate(parts)

    def _call(self, method: str, Z: Floats) -> list[tuple[Any, int]]:
        size = CHUNK if self.chunk is None else self.chunk
        chunks = [slice_rows(Z, start, start + size) for start in range(0, len(Z), size)]
        try:
            n = 1 if len(chunks) == 1 else n_workers(self.n_jobs)
            if n == 1:
                answers, ask = [], getattr(self.estimator, method)
                with alone():
                    for chunk in chunks:
                        self.n_rows += len(chunk)
                        with self._threads.of(len(chunk)), self._timing(len(chunk)):
                            answers.append(ask(self.space.decode(chunk)))
            else:
                self.n_rows += len(Z)
                space = self.space
                asked = self.estimator, space.layout if isinstance(space, InputSpace) else space
                # Few tasks of several chunks each: what every task needs is sent less often. Two
                # tasks for each worker, so that a slow one does not hold up the others.
                parts = np.array_split(np.arange(len(chunks)), min(len(chunks), 2 * n))
                tasks = [(method, [chunks[k] for k in part]) for part in parts]
                with self._timing(len(Z)):
                    found = on_workers(_ask_on_worker, asked, tasks, self.n_jobs, prefer="threads")
                answers = [answer for part in found for answer in part]
        except WorkersFailedError:
            raise
        except Exception as error:
            layout = getattr(self.space, "layout", None)
            message = message_of(error, layout.container.names if layout else ())
            raise EstimatorFailedError(
                f"{self._name}.{method} raised {type(error).__name__} on a batch of {len(Z)} rows: "
                f"{message}. {self._what_to_do(method, Z)} The auditor keeps what was found so far."
            ) from error
        return list(zip(answers, map(len, chunks), strict=True))

    @contextmanager
    def _timing(self, n: int) -> Iterator[None]:
        """Tell the timer how long a call in this context took."""
        if self.timer is None:
            yield
            return
        began = _clock.now()
        yield
        self.timer(n, _clock.now() - began)

    def _what_to_do(self, method: str, Z: Floats) -> str:
        """What helps where the estimator failed: limits of the inputs do not where data fail."""
        data: Any = getattr(self.space, "data", ())  # tables that are not encoded have none
        # Rows as they are, or numbers of given rows.
        fails_on_data = getattr(self.space, "is_data", False) or np.ndim(Z) == 1
        if len(data):
            fails_on_data = bool(np.isin(row_keys(Z), row_keys(data)).all())
        if len(data) and not fails_on_data:
            self.n_rows += 1
            try:
                getattr(self.estimator, method)(self.space.decode(data[:1]))
            except Exception:
                fails_on_data = True
        if fails_on_data:
            return "It fails on rows of the data, too: fix the model, or these rows."
        return (
            "If such rows cannot occur, exclude them by InputSpace(constraint=...), "
            "InputSpace(bounds=...) or InputSpace(categories=...)."
        )

    def _as_scores(self, method: str, answer: Any, n: int) -> Floats:
        """Return an output as floats of shape (n, n_outputs), checked."""
        try:
            array = np.asarray(_joined(answer))
            self.single |= array.dtype == np.float32
            scores = array if array.dtype.kind == "c" else array.astype(np.float64, copy=False)
        except (TypeError, ValueError) as error:
            raise EstimatorFailedError(
                self._complaint(method, "numbers", repr(answer)[:80])
            ) from error
        self._check_length(method, scores, n)
        if scores.dtype.kind == "c":
            raise EstimatorFailedError(self._complaint(method, "real numbers", "complex numbers"))
        # The sum tells in most cases, and costs less.
        if not np.isfinite(scores.sum()) and not np.isfinite(scores).all():
            n_bad = int((~np.isfinite(scores)).sum())
            raise EstimatorFailedError(
                self._complaint(
                    method, "finite numbers", f"{n_bad} NaN or infinite values in {n} rows"
                )
            )
        if method == "predict_proba" and scores.ndim != 2:
            raise EstimatorFailedError(
                self._complaint(method, "one column for each class", f"shape {scores.shape}")
            )
        self._check_width(method, scores)
        if method == "predict_proba":
            self._check_probabilities(scores)
        return scores.reshape(n, -1)

    def _check_probabilities(self, scores: Floats) -> None:
        """Check that each row of each batch holds probabilities."""
        if (lowest := scores.min(initial=0.0)) < -TOLERANCE:
            raise EstimatorFailedError(
                self._complaint("predict_proba", "probabilities", f"a value of {lowest:.6g}")
            )
        if self._adds_up is None:
            # Those of several labels, each of which is true or not, do not add up.
            self._adds_up = bool((np.abs(_row_sums(scores) - 1) <= TOLERANCE).all())
        if self._adds_up:
            self._check_sums(scores)

    def _check_sums(self, scores: Floats) -> None:
        """Check that the probabilities of each row add up to one."""
        total = _row_sums(scores)
        if -TOLERANCE <= total.min(initial=1.0) - 1 and total.max(initial=1.0) - 1 <= TOLERANCE:
            return
        wrong = np.flatnonzero(~(np.abs(total - 1) <= TOLERANCE))
        if len(wrong):
            raise EstimatorFailedError(
                f"{self._name}.predict_proba must return probabilities that add "
                f"up to 1 in each row; got {scores[wrong[0]].tolist()}, which add up to "
                f"{total[wrong[0]]:.6g} ({len(wrong)} of {len(scores)} rows are wrong). Fix the "
                "estimator, or audit it with response_method='decision_function' or 'predict'."
            )

    def _check_width(self, method: str, answer: NDArray[Any]) -> None:
        """Check that a batch has as many columns as the ones before it."""
        width = math.prod(answer.shape[1:])
        known = self._widths.setdefault(method, width)
        if width != known:
            raise EstimatorFailedError(
                self._complaint(
                    "predict" if method == "labels" else method,
                    f"the same number of columns in every batch, {known} so far",
                    f"shape {answer.shape}",
                )
            )

    def _check_length(self, method: str, answer: NDArray[Any], n: int) -> None:
        if answer.ndim == 0 or len(answer) != n:
            raise EstimatorFailedError(
                self._complaint(method, f"one output for each of {n} rows", f"shape {answer.shape}")
            )

    def _complaint(self, method: str, expected: str, got: str) -> str:
        return (
            f"{self._name}.{method} must return {expected}; got {got}. Fix the "
            "estimator; what was found so far is on the auditor."
        )


def _joined(answer: Any) -> Any:
    """Return an output as one array, also if a classifier gives a list of several."""
    several = isinstance(answer, list) and answer and np.ndim(answer[0]) == 2
    return np.concatenate(answer, axis=1) if several else answer


def _row_sums(scores: Floats) -> Floats:
    """Return the sums of rows, with a faster way for two columns."""
    return scores[:, 0] + scores[:, 1] if scores.shape[1] == 2 else scores.sum(axis=1)


@one_thread()  # beside the other workers
def _ask_on_worker(asked: tuple[Any, Any], method: str, chunks: list[Floats]) -> list[Any]:
    estimator, table = asked
    return [getattr(estimator, method)(table.decode(chunk)) for chunk in chunks]


def hash_labels(labels: Any) -> Labels:
    """Return a 64-bit code for each label or row of labels; equal labels have equal codes."""
    array = np.asarray(labels)
    if array.ndim > 1:
        parts = [hash_labels(array[:, j]) for j in range(array.shape[1])]
        array = np.column_stack(parts)
        return (
            pd.util.hash_pandas_object(pd.DataFrame(array), index=False).to_numpy().view(np.int64)
        )
    if array.dtype.kind in "US":
        array = array.astype(object)
    if array.dtype.kind in "biuf":
        array = array.astype(np.float64)  # a class may be 1 in classes_ and 1.0 in an output
    return pd.util.hash_array(array, categorize=array.dtype.kind == "O").view(np.int64)


def named_labels(codes: Labels, estimator: Any) -> NDArray[Any] | None:
    """Return the labels of codes, as far as the estimator's classes know them all; asks nothing."""
    classes = getattr(estimator, "classes_", None)
    if not isinstance(classes, np.ndarray) or classes.ndim != 1:
        return None
    equal = hash_labels(classes) == np.asarray(codes)[:, None]
    return classes[equal.argmax(axis=1)] if equal.any(axis=1).all() else None


def _is(test: Callable[[Any], bool], estimator: Any) -> bool:
    # Objects that are no scikit-learn estimators have no tags to ask.
    return hasattr(estimator, "__sklearn_tags__") and test(estimator)


def check_response_method(method: Any) -> None:
    """Check that a response method is one of the known ones."""
    if not (isinstance(method, str) and method in RESPONSE_METHODS):
        raise ValueError(
            f"response_method must be one of {RESPONSE_METHODS}; got {method!r}. Leave it out for "
            "the first that the estimator has."
        )


def choose_response(estimator: Any, method: str) -> str:
    """Return the response to read; raise an error if the estimator lacks it."""
    check_response_method(method)
    if not hasattr(estimator, "predict"):
        raise TypeError(
            f"The estimator must have predict; {type(estimator).__name__} has none. Give a "
            "regressor, a classifier, or a pipeline that ends in one."
        )
    scoring = ("predict_proba", "decision_function")
    classifies = _is(is_classifier, estimator) or _is(is_outlier_detector, estimator)
    regresses = _is(is_regressor, estimator)
    if method in scoring:
        if not hasattr(estimator, method):
            raise TypeError(
                f"response_method is {method!r}, which {type(estimator).__name__} does not have. "
                "Use 'auto', or an estimator that has it."
            )
        return method
    if regresses:
        return "regression"
    for candidate in scoring:
        if method == "auto" and hasattr(estimator, candidate):
            return candidate
    return "labels" if classifies else "unknown"
