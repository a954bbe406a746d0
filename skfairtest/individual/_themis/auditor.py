"""Themis: measures discrimination on uniform random inputs (Galhotra et al. 2017)."""

from __future__ import annotations

from dataclasses import field
from typing import Any

import numpy as np
from sklearn.base import is_regressor

from skfairtest._parameters import one_of, real
from skfairtest._typing import is_real
from skfairtest.base import BaseAuditor
from skfairtest.individual._themis.measurement import Measurement
from skfairtest.individual._themis.subsets import (
    SubsetSearch,
    candidate_columns,
    check_candidates,
    check_combinations,
    largest_subset,
)
from skfairtest.oracle._favourable import favourable_labels, favourable_places, known_classes
from skfairtest.oracle._findings import Findings
from skfairtest.oracle._handle import SearchHandle
from skfairtest.space._space import InputSpace

MEASURES = ("causal", "group")


class ThemisAuditor(BaseAuditor):
    """Audit by Themis: measure causal and group discrimination on uniform random inputs.

    Causal discrimination is the share of inputs whose twins are treated differently. Group
    discrimination is the difference between the largest and the smallest share of favourable
    outputs among the groups that the sensitive values form. The run ends when the measure is known
    to a margin, or when the budget is spent. It can also search for the smallest sets of attributes
    that discriminate.

    Parameters
    ----------
    margin : float, default=0.05
        How far the estimate may be from either end of its interval.
    confidence : float, default=0.95
        Confidence of the intervals.
    measure : {"causal", "group"}, default="causal"
        The measure that has to be known to the margin, and by which subsets are judged. Both
        measures are reported.
    favourable : label, set of labels or float, default=None
        Favourable predictions. For a classifier these are one label or several. None takes a label
        whose name says that it is favourable ("approved", "good"), else the last of ``classes_``;
        with two classes the difference is the same for either. For a regressor this is the output
        above which a prediction is favourable, and None takes the mean output for all twins of the
        sampled inputs.
    candidates : list of str or int, default=None
        Columns whose subsets are searched for minimal discriminating ones. Subsets are searched up
        to the largest size at which each has at most 1,000 combinations of values. None means no
        search.
    discrimination_threshold : float, default=0.2
        Share (or difference of shares) above which a subset discriminates.

    Attributes
    ----------
    causal_discrimination_ : float
        Share of the sampled inputs that discriminate; NaN if the budget allowed none.
    causal_interval_ : list of two floats
        Its confidence interval.
    group_discrimination_ : float
        The largest share in `group_shares_` less the smallest; NaN for a classifier without
        ``classes_`` if `favourable` is None.
    group_interval_ : list of two floats
        Its confidence interval.
    group_shares_ : ndarray of shape (n_groups,)
        Share of favourable predictions of each combination of sensitive values.
    groups_ : list of lists
        Those combinations, in the order of `sensitive_features_`.
    minimal_subsets_ : list of lists
        Names of the columns of each minimal discriminating subset that was found.
    subset_scores_ : list of dicts
        The subsets that were measured, each with "subset", "discriminates", and both measures with
        their intervals.

    See Also
    --------
    RandomAuditor : Spends its whole budget on uniform random inputs.
    AequitasAuditor : Walks from random discriminatory inputs to more of them.

    Notes
    -----
    The published tool stops when the normal interval is narrower than the margin. That interval has
    no width at a share of 0, so after a dozen inputs a model that discriminates rarely is taken for
    one that never does. Here the intervals are those of Clopper and Pearson, and inputs are counted
    once. The data are looked at first after 100 distinct inputs, and then at each doubling of their
    number. Each look has its own part of the error (a half, a sixth, a twelfth, ...), so that the
    confidence holds although the data decide when to stop. This takes more inputs than a single
    look would.

    A real sensitive column is compared at some hundred values. The measures are those of these
    twins, which for causal discrimination is a lower bound.

    The interval of the group measure holds for all groups at once (Bonferroni). With many groups
    and few inputs the difference is too large on average, as the largest of several estimates less
    the smallest always is; the interval allows for that. If a regressor's mean output is the cut,
    the intervals treat it as known.

    A superset of a discriminating subset discriminates at least as much, by either measure, and is
    skipped. The subsets share the budget of the run. Where the budget ends the run early,
    `stop_reason_` says so and subsets may be missing. Each decision on a subset has the confidence
    by itself; all of them together have less. All results but those of the subsets concern
    `sensitive_features`.

    A share concerns uniform inputs, not the people of any data set: many of them may not exist. If
    the `space` has ``proposals="data"`` or `plausible`, it concerns inputs near the data, rows of X
    crossed with one of their neighbours, and is no share of the domain. A share of 0 does not show
    that a model treats all twins alike; the upper end of its interval says how many may be treated
    differently.

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

    # There is one sample with one interval, and nothing to start again.
    n_restarts: int = field(default=1, init=False)
    margin: float = real(
        default=0.05, interval="(0, 1)", hint="0.05 lets an estimate be five points off."
    )
    confidence: float = real(default=0.95, interval="(0, 1)", hint="0.95 is usual.")
    measure: str = one_of(default="causal", options=MEASURES)
    favourable: Any = None
    candidates: Any = None
    discrimination_threshold: float = real(
        default=0.2,
        interval="[0, 1)",
        hint="It is a share of inputs; the threshold on the model's outputs is threshold=.",
    )

    # Checks --------------------------------------------------------------------------------

    def _make_space(self, X: Any, sensitive: Any = None) -> InputSpace:
        space = super()._make_space(X, sensitive)
        names = space.sensitive_features
        n = (
            space.twins_.n_combinations
            if np.isfinite(space.twins_.n_combinations)
            else space.twins_.n_twins
        )
        check_combinations(int(n), names, "Name fewer sensitive")
        check_candidates(space, self._subsets(space)[0])
        return space

    def _subsets(self, space: InputSpace) -> tuple[list[int], int]:
        """Columns whose subsets are searched, and the size of the largest of them."""
        columns: list[int] = []
        if self.candidates is not None:
            columns = candidate_columns(space.feature_names, self.candidates)
        return columns, largest_subset(space, columns)

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

    def _prepare(self, search: SearchHandle) -> None:
        # Left before the first query, so that results are there however the run ends.
        search.measured["domain"] = Measurement(search, self.favourable, self.confidence)
        search.measured["subsets"] = SubsetSearch(
            *self._subsets(search.space), self.measure, self.discrimination_threshold
        )

    def _run_search(self, search: SearchHandle, rng: np.random.Generator) -> None:
        search.measured["domain"].run(rng, self.measure, self.margin)
        subsets, space = search.measured["subsets"], search.space
        n_inputs = search.so_far.inputs
        for subset in subsets.subsets():
            part = search.fork(space.with_sensitive_features(subset), n_inputs)
            measured = Measurement(part, self.favourable, self.confidence)
            measured.run(rng, self.measure, self.margin)
            n_inputs += part.so_far.inputs
            subsets.note(subset, measured, space.feature_names)

    def _own_results(self, found: Findings, space: InputSpace) -> dict[str, Any]:
        (measured,) = found.measured
        causal, group = measured["domain"].causal(), measured["domain"].group()
        favoured, n = measured["domain"].counts()
        subsets, names = measured["subsets"], space.feature_names
        return {
            "causal_discrimination_": causal[0],
            "causal_interval_": list(causal[1:]),
            "group_discrimination_": group[0],
            "group_interval_": list(group[1:]),
            "group_shares_": np.divide(favoured, n, out=np.full(len(n), np.nan), where=n > 0),
            "groups_": sensitive_groups(space),
            "minimal_subsets_": [[names[j] for j in sorted(s)] for s in subsets.minimal],
            "subset_scores_": subsets.scores,
        }


def sensitive_groups(space: InputSpace) -> list[list[Any]]:
    """The sensitive values of each combination, as they are in the table."""
    encoded = space.twins_.twin_values
    # Dates as text: not every file format has dates.
    values = [
        space.domain.columns[j].plain_values(encoded[:, i]) for i, j in enumerate(space.sensitive)
    ]
    return [list(group) for group in zip(*values, strict=True)]
