"""Plausible inputs: those that look like the data, by our own detector or by the user's."""

from __future__ import annotations

import inspect
import numbers
import warnings
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from skfairtest._typing import Bools, Floats, Ints
from skfairtest.exceptions import DetectorFailedError, users_level
from skfairtest.space._domain import Domain
from skfairtest.space._layout import Layout
from skfairtest.space._plausible.neighbours import Neighbours
from skfairtest.space._plausible.real_vs_synthetic import RealVsSyntheticClassifier

WANTED = "plausible= must be 'auto', a share between 0 and 1, an outlier detector or None"


class Plausibility:
    """Judges whether inputs look like the rows of a table.

    ``InputSpace(plausible=...).fit(X)`` makes it and keeps it as ``space.plausibility``. It is the
    same for the same data, whatever the seed of a run, so that chance does not decide what counts
    as plausible.

    "auto" is a classifier trained to separate the rows from inputs made up of their parts; what
    else was measured is in docs/explanation/measured/testers.md. A detector of the user has
    scikit-learn's interface: ``predict`` gives 1 for inputs that it accepts and -1 for outliers,
    and ``score_samples`` or ``decision_function`` tells how typical an input is.

    Parameters
    ----------
    detector : "auto", float or outlier detector
        A number is the share of real rows that "auto" accepts; its default is 0.98. An unfitted
        detector is cloned and fitted to the rows of the data. Detectors get rows in the user's own
        kind of table, except that an unfitted detector that is no pipeline gets codes if there are
        categories: the position of each value among the sorted values of its column.
    layout : Layout
        The attributes of the table.
    domain : Domain
        Their values.
    data : ndarray of shape (n_rows, n_features)
        Codes of the data.

    Attributes
    ----------
    share_accepted : float
        Share of the rows of the data that the detector accepts.

    See Also
    --------
    skfairtest.InputSpace : Which inputs exist.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from skfairtest import InputSpace
    >>> rng = np.random.default_rng(0)
    >>> age = rng.integers(18, 80, 500)
    >>> X = pd.DataFrame({"sex": age % 2, "age": age, "years": age - 16 - rng.integers(0, 4, 500)})
    >>> space = InputSpace(plausible="auto").fit(X, ["sex"])
    >>> space.plausibility.accepts(np.array([[0.0, 50, 32], [0.0, 19, 60]]))
    array([ True, False])
    """

    def __init__(self, detector: Any, layout: Layout, domain: Domain, data: Floats) -> None:
        self._layout, self._domain, self._data = layout, domain, data
        self._neighbours: Neighbours | None = None
        self._classifier: RealVsSyntheticClassifier | None = None
        self._detector: Any = None
        self._by_codes = False
        self._share = 0.98  # of the real rows, which "auto" accepts
        self._scores_of_rows: Floats = np.empty(0)
        self._cut = 0.0
        if isinstance(detector, str):
            if detector != "auto":
                raise ValueError(f"{WANTED}; got {detector!r}.")
        elif isinstance(detector, numbers.Real) and not isinstance(detector, bool):
            self._share = float(detector)
            if not 0 < self._share < 1:
                raise ValueError(
                    f"plausible= as a number is the share of real rows to accept, between 0 and 1; "
                    f"got {detector!r}. Write 0.98 to leave out the least typical 2%."
                )
        else:
            self._take(detector)
        self.share_accepted = self._share
        if self._detector is not None:
            self._scores_of_rows = self._look_at_rows()
        elif len(data) < 10:
            raise ValueError(
                "plausible='auto' learns what looks like the data from at least 10 rows of X; "
                f"got {len(data)}. Give more rows, or an outlier detector of your own."
            )

    # Making ---------------------------------------------------------------------------------

    def _learn(self) -> RealVsSyntheticClassifier:
        """Return what "auto" goes by, learned when it is first needed."""
        if self._classifier is None:
            # A fixed seed: see above. After unpickling, what was learned is learned again.
            rng = np.random.default_rng(0)
            self._classifier = RealVsSyntheticClassifier(self._domain, self.neighbours.rows, rng)
            self._scores_of_rows = self._classifier.of_rows
            self._cut = float(np.quantile(self._scores_of_rows, 1 - self._share))
        return self._classifier

    def _take(self, detector: Any) -> None:
        """Check that an object is a detector, and fit it if it is not."""
        if inspect.isclass(detector):
            raise TypeError(f"{WANTED}; got the class {detector.__name__}. Make an instance of it.")
        name = type(detector).__name__
        if not hasattr(detector, "fit") and not hasattr(detector, "predict"):
            raise TypeError(f"{WANTED}; got {name}, which has neither fit nor predict.")
        try:
            check_is_fitted(detector)
            is_fitted = True
        except NotFittedError:
            is_fitted = False
        except TypeError:  # no estimator, but it has predict
            is_fitted = True
        if not hasattr(detector, "predict"):
            raise TypeError(
                f"plausible= needs a detector that judges new rows with predict; got {name}, which "
                "has none as it stands (LocalOutlierFactor has it with novelty=True)."
            )
        self._by_codes = not (is_fitted or isinstance(detector, Pipeline) or self._is_numeric())
        self._detector = detector
        if not is_fitted:
            self._detector = clone(detector)
            table = self._table(self.neighbours.rows)
            self._guard("fit", lambda: self._detector.fit(table))

    def _is_numeric(self) -> bool:
        """Return whether all columns of the table are numbers or booleans."""
        table = self._layout.decode(self._domain.low[None])
        container = self._layout.container
        return all(
            container.column_values(table, j).dtype.kind in "fb"
            for j in range(len(self._domain.columns))
        )

    def _look_at_rows(self) -> Floats:
        """Sorted scores of the rows, once the detector has accepted some of them."""
        rows = self.neighbours.rows
        most = 20_000  # that a user's detector is asked about to see that it suits them
        if len(rows) > most:
            rows = rows[np.random.default_rng(0).permutation(len(rows))[:most]]
        self.share_accepted = share = float(self.accepts(rows).mean())
        name = type(self._detector).__name__
        if share == 0:
            raise ValueError(
                f"The detector {name} in plausible= accepts none of {len(rows)} rows of X, so no "
                "input would count. Expected a detector that accepts most rows: fit it on X, or "
                "lower its contamination."
            )
        if share < 0.5:
            warnings.warn(
                f"The detector {name} in plausible= accepts only {share:.1%} of the rows of X; "
                "inputs like the others do not count. A contamination of 0.02 accepts 98%.",
                UserWarning, stacklevel=users_level(),
            )  # fmt: skip
        return np.sort(self.score(rows))

    def __getstate__(self) -> dict[str, Any]:
        """Return what the same data give again is not written out."""
        state = self.__dict__.copy()
        return {**state, "_classifier": None, "_neighbours": None}

    # Judging --------------------------------------------------------------------------------

    @property
    def neighbours(self) -> Neighbours:
        """The rows of the data as inputs of the domain."""
        if self._neighbours is None:
            self._neighbours = Neighbours(self._domain, self._data, np.random.default_rng(0))
        return self._neighbours

    def accepts(self, Z: Floats) -> Bools:
        """Return which inputs look like the data, shape (n,)."""
        if self._detector is None:
            scores = self.score(Z)
            return scores >= self._cut
        verdict = self._ask("predict", Z)
        if not np.isin(verdict, (-1, 1)).all():
            raise DetectorFailedError(
                f"The detector {type(self._detector).__name__} in plausible= must predict 1 for "
                f"rows that it accepts and -1 for others; got {np.unique(verdict)[:5].tolist()}. "
                "Expected an outlier detector, such as IsolationForest()."
            )
        return verdict == 1

    def score(self, Z: Floats) -> Floats:
        """How typical inputs are, larger for more; in the detector's own units, shape (n,)."""
        Z = np.asarray(Z, dtype=np.float64)
        if self._detector is None:
            return self._learn().score(Z)
        for method in ("score_samples", "decision_function"):
            if hasattr(self._detector, method):
                return self._ask(method, Z)
        return self._ask("predict", Z)

    def rank(self, Z: Floats) -> Floats:
        """Return the share of data rows that are less typical than each input, shape (n,)."""
        scores = self.score(Z)  # which is when "auto" learns, if it has not
        below = np.searchsorted(self._scores_of_rows, scores, side="left")
        share: Floats = below / len(self._scores_of_rows)
        return share

    def nearest(self, Z: Floats) -> tuple[Ints, Floats]:
        """Return the row of ``neighbours.rows`` nearest to each input, by index, and its distance.

        The distance is the mean over the columns of |difference| / range, 0 or 1 for categories.
        """
        return self.neighbours.nearest(np.asarray(Z, dtype=np.float64))

    def _table(self, Z: Floats) -> Any:
        return Z if self._by_codes else self._layout.decode(Z)

    def _ask(self, method: str, Z: Floats) -> Floats:
        """Return the output of a method of the user's detector, one number for each input."""
        outputs = [np.empty(0)]
        # Detectors may need memory for each input: they get so many in one call.
        for start in range(0, len(Z), 50_000):
            part = slice(start, start + 50_000)
            table = self._table(Z[part])
            n = len(table)
            answer = self._guard(method, lambda: getattr(self._detector, method)(table))  # noqa: B023
            try:
                values = np.asarray(answer, dtype=np.float64)
            except (TypeError, ValueError):
                values = np.empty(0)
            if values.shape != (n,) or np.isnan(values).any():
                raise DetectorFailedError(
                    f"{method} of the detector {type(self._detector).__name__} in plausible= must "
                    f"return one number for each row, an array of shape ({n},); got "
                    f"{type(answer).__name__} of shape {np.shape(answer)}."
                )
            outputs.append(values)
        return np.concatenate(outputs)

    def _guard(self, method: str, call: Any) -> Any:
        try:
            return call()
        except Exception as error:
            hint = (
                "It got codes, a number for each category."
                if self._by_codes
                else "It got rows in the kind of table that X is. If it needs numbers, give an "
                "unfitted detector, or a pipeline that encodes the categories first."
            )
            raise DetectorFailedError(
                f"The detector {type(self._detector).__name__} in plausible= failed in {method}: "
                f"{type(error).__name__}: {error}. {hint}"
            ) from error
