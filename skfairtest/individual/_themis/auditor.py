"""Themis: measures discrimination on uniform random inputs (Galhotra et al. 2017)."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import is_regressor

from skfairtest._docstrings import document
from skfairtest._typing import is_real
from skfairtest._validation import check_real, check_whole
from skfairtest.base import BaseAuditor
from skfairtest.individual._themis.measurement import Measurement
from skfairtest.individual._themis.subsets import (
    SubsetSearch,
    candidate_columns,
    check_candidates,
    check_combinations,
)
from skfairtest.oracle._favourable import favourable_labels, favourable_places, known_classes
from skfairtest.oracle._findings import Findings
from skfairtest.oracle._oracle import Oracle
from skfairtest.space._space import InputSpace

MEASURES = ("causal", "group")


@document
class ThemisAuditor(BaseAuditor):
    """Audit by Themis: measure causal and group discrimination on uniform random inputs.

    Causal discrimination is the share of inputs whose twins are treated differently; group
    discrimination is the difference between the largest and the smallest share of favourable
    outputs over the sensitive sub-groups. The run ends when the measure is known to a margin, or
    when the budget is spent. It can also search for the smallest sets of attributes that
    discriminate.

    Parameters
    ----------
    {parameters}
    margin : float, default=0.05
        How far the estimate may be from either end of its interval.
    confidence : float, default=0.95
        Confidence of the intervals.
    min_samples : int, default=100
        Distinct inputs before the interval is looked at first. It is looked at again each time
        their number has doubled.
    measure : {"causal", "group"}, default="causal"
        What has to be known to the margin, and by which subsets are judged. Both are measured.
    favourable : label, set of labels or float, default=None
        Favourable predictions. For a classifier a label or several; None: one whose word says it
        ("approved", "good"), else the last of ``classes_``; shares of either of two classes differ
        alike. For a regressor the output above which a prediction is
        favourable; None: the mean output for all twins of the sampled inputs.
    search_subsets : bool, default=False
        Whether to search for minimal discriminating subsets of `candidates`.
    candidates : list of str or int, default=None
        Columns whose subsets are searched; None: the sensitive columns. Naming them implies
        `search_subsets`.
    max_subset_size : int, default=None
        Columns in a subset, at most.
    discrimination_threshold : float, default=0.2
        Share (or difference of shares) above which a subset discriminates.

    Attributes
    ----------
    causal_discrimination_ : float
        Share of the sampled inputs that discriminate; NaN if the budget held none.
    causal_interval_ : list of two floats
        Its confidence interval.
    group_discrimination_ : float
        Largest less smallest share in `group_shares_`; NaN for a classifier without ``classes_``
        and without `favourable`.
    group_interval_ : list of two floats
        Its confidence interval.
    group_shares_ : ndarray of shape (n_groups,)
        Share of favourable predictions of each combination of sensitive values.
    groups_ : list of lists
        Those combinations, in the order of `sensitive_features_`.
    minimal_subsets_ : list of lists
        Names of the columns of each minimal discriminating subset that was found.
    subset_scores_ : list of dicts
        Subsets that were measured: "subset", "discriminates", and both measures with intervals.
    {attributes}

    See Also
    --------
    RandomAuditor : Spends the whole budget on uniform random inputs.
    AequitasAuditor : Walks on from the discriminatory inputs that it finds.

    Notes
    -----
    The published tool stops where the normal interval is narrower than the margin. That interval
    has no width at a share of 0, so a model that discriminates rarely was seen as one that never
    does after a dozen inputs. Here intervals are Clopper-Pearson's, inputs are counted once, and
    each look at the data has its own part of the error (a half, a sixth, a twelfth, ...), so that
    the confidence holds although the data decide when to stop. This takes more inputs than a single
    look would.

    A real sensitive column is compared at some hundred values, `InputSpace.twin_codes`: the
    measures are those of these twins, a lower bound of causal discrimination.

    The interval of the group measure holds for all groups at once (Bonferroni). With many groups
    and few inputs the difference is too large on average, as a largest less a smallest estimate is;
    the interval allows for that. Where a regressor's mean output is the cut, it is taken as given.

    A superset of a discriminating subset discriminates at least as much, by either measure, and is
    skipped. The subsets share the run's budget. Where it ends the run early, `stop_reason_` says so
    and subsets may be missing. Every decision has the confidence; that all are right at once has
    less. All results but those of the subsets concern `sensitive_features`.

    A share concerns uniform inputs, not the people of any data set: many of them may not exist.
    With ``proposals="data"`` or `plausible` it concerns inputs near the data, rows of X crossed
    with one of their neighbours, and is no share of the domain. A share of 0 does not show that a
    model treats all twins alike, see the upper end of its interval.

    References
    ----------
    .. [1] Galhotra, S., Brun, Y., & Meliou, A. (2017). Fairness testing: testing software for
       discrimination. ESEC/FSE, 498-510. https://doi.org/10.1145/3106237.3106277
    .. [2] Angell, R., Johnson, B., Brun, Y., & Meliou, A. (2018). Themis: automatically testing
       software for discrimination. ESEC/FSE, 871-875. https://doi.org/10.1145/3236024.3264590

    Examples
    --------
    >>> from skfairtest import ThemisAuditor
    >>> from skfairtest.datasets import make_biased_classification
    >>> data = make_biased_classification(random_state=0)
    >>> auditor = ThemisAuditor(data.estimator, candidates=["sex", "region"], random_state=0)
    >>> auditor = auditor.set_params(discrimination_threshold=0.01).fit(data.data)
    >>> low, high = auditor.causal_interval_
    >>> bool(low <= auditor.causal_discrimination_ <= high <= low + 0.1)
    True
    >>> auditor.minimal_subsets_
    [['sex']]
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        sensitive_features: Any = "auto",
        threshold: float | None = None,
        response_method: str = "auto",
        bounds: Any = None,
        categories: Any = None,
        steps: Any = None,
        one_hot: Any = "auto",
        constraint: Any = None,
        plausible: Any = None,
        given: Any = None,
        space: Any = None,
        proposals: str = "uniform",
        max_queries: int | None = 20_000,
        max_time: float | None = None,
        max_found: int | None = None,
        max_inputs: int | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        margin: float = 0.05,
        confidence: float = 0.95,
        min_samples: int = 100,
        measure: str = "causal",
        favourable: Any = None,
        search_subsets: bool = False,
        candidates: Any = None,
        max_subset_size: int | None = None,
        discrimination_threshold: float = 0.2,
    ) -> None:
        super().__init__(
            estimator,
            sensitive_features=sensitive_features,
            threshold=threshold,
            response_method=response_method,
            bounds=bounds,
            categories=categories,
            steps=steps,
            one_hot=one_hot,
            constraint=constraint,
            plausible=plausible,
            given=given,
            space=space,
            proposals=proposals,
            max_queries=max_queries,
            max_time=max_time,
            max_found=max_found,
            max_inputs=max_inputs,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
        )
        self.margin = margin
        self.confidence = confidence
        self.min_samples = min_samples
        self.measure = measure
        self.favourable = favourable
        self.search_subsets = search_subsets
        self.candidates = candidates
        self.max_subset_size = max_subset_size
        self.discrimination_threshold = discrimination_threshold

    # Checks --------------------------------------------------------------------------------

    def _check_own_params(self) -> None:
        check_real(self, {"margin": "(0, 1)"}, hint="0.05 lets an estimate be five points off.")
        check_real(self, {"confidence": "(0, 1)"}, hint="0.95 is usual.")
        check_real(
            self,
            {"discrimination_threshold": "[0, 1)"},
            hint="It is a share of inputs; the threshold on the model's outputs is threshold=.",
        )
        if self.measure not in MEASURES:
            raise ValueError(
                f"measure must be one of {list(MEASURES)}; got {self.measure!r}. Choose one of "
                "these."
            )
        check_whole(self, {"min_samples": 1, "max_subset_size": 1}, optional=("max_subset_size",))

    def _make_space(self, X: Any, sensitive: Any = None) -> InputSpace:
        space = super()._make_space(X, sensitive)
        names = space.sensitive_features
        n = space.n_combinations if np.isfinite(space.n_combinations) else space.n_twins
        check_combinations(int(n), names, "Name fewer sensitive")
        columns: list[int] = []
        if self.candidates is not None:
            columns = candidate_columns(space.feature_names, self.candidates)
        elif self.search_subsets:
            columns = space.sensitive.tolist()
        largest = min(len(columns), self.max_subset_size or len(columns))
        if columns:
            check_candidates(space, columns, largest)
        self._subsets = SubsetSearch(columns, largest, self.measure, self.discrimination_threshold)
        return space

    def _make_estimator(self, X: Any, y: Any, fit_params: dict[str, Any]) -> Any:
        estimator = super()._make_estimator(X, y, fit_params)
        value = self.favourable
        if value is None:
            return estimator
        if hasattr(estimator, "__sklearn_tags__") and is_regressor(estimator):
            if not is_real(value):
                raise ValueError(
                    f"favourable must be a finite number for a regressor; got {value!r}. Give the "
                    "output above which a prediction is favourable, or None for the mean."
                )
        else:
            classes = known_classes(estimator)
            if classes is None:
                favourable_labels(value)
            else:
                favourable_places(value, classes, estimator)
        return estimator

    # Search --------------------------------------------------------------------------------

    def _search(self, oracle: Oracle, rng: np.random.Generator) -> None:
        def measure(part: Oracle) -> Measurement:
            measurement = Measurement(part, self.favourable, self.confidence)
            if part is oracle:
                self._measured = measurement
            measurement.run(rng, self.measure, self.margin, self.min_samples)
            return measurement

        measure(oracle)
        self._subsets.run(oracle, measure)

    def _notes(self, oracle: Oracle) -> Any:
        if self._subsets.n_inputs:
            # The subsets' queries belong into the course of the run.
            oracle.note()
        measured = self.__dict__.pop("_measured", None)
        return measured or Measurement(oracle, self.favourable, self.confidence)

    def _store(self, found: Findings) -> None:
        super()._store(found)
        measured: Measurement = found.notes[0]
        causal, group = measured.causal(), measured.group()
        self.causal_discrimination_, self.causal_interval_ = causal[0], list(causal[1:])
        self.group_discrimination_, self.group_interval_ = group[0], list(group[1:])
        favoured, n = measured.counts()
        self.group_shares_ = np.divide(favoured, n, out=np.full(len(n), np.nan), where=n > 0)
        self.groups_ = sensitive_groups(self.space_)
        subsets = self.__dict__.pop("_subsets")
        names = self.space_.feature_names
        self.minimal_subsets_ = [[names[j] for j in sorted(s)] for s in subsets.minimal]
        self.subset_scores_ = subsets.scores


def sensitive_groups(space: InputSpace) -> list[list[Any]]:
    """Sensitive values of each combination, as in the table."""
    codes = space.twin_codes
    values = [_told(space.columns[j], codes[:, i]) for i, j in enumerate(space.sensitive)]
    return [list(group) for group in zip(*values, strict=True)]


def _told(column: Any, codes: Any) -> list[Any]:
    # Dates in words: not every file format has dates.
    values = column.take(codes)
    return values.tolist() if column.dates is None else column.dates.texts(values)
