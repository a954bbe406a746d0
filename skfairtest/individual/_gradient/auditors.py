"""MAFT (Wang et al. 2024) and its white-box relatives EIDIG and ADF: gradient-guided testing."""

from __future__ import annotations

from typing import Any

from skfairtest._parameters import checked
from skfairtest.individual._gradient.analytic import refuse_bare_module
from skfairtest.individual._gradient.gradients import (
    LossGradient,
    ZeroOrderGradient,
    white_box_gradient,
)
from skfairtest.individual._gradient.two_phase import Gradient, TwoPhaseAuditor, check_gradient
from skfairtest.oracle._handle import SearchHandle


class MAFTAuditor(TwoPhaseAuditor):
    """Audit by model-agnostic gradient search (MAFT).

    The gradient of the model's output is estimated from its outputs one step away. In the global
    phase seeds follow it to where the model's decision changes, until their twins are treated
    differently. In the local phase each of them is the start of a walk along the attributes that
    matter little to the model. All seeds move in lockstep, so that each step is a few large
    batches. This works on probabilities, decision scores, regression outputs, and labels alone. It
    is our implementation of the paper, to repeat published results with; to find many
    discriminatory inputs, take `SurrogateAuditor`.

    See Also
    --------
    SurrogateAuditor : Finds many discriminatory inputs, also where they are rare.
    EIDIGAuditor, ADFAuditor : Search in the same way with the gradient that the model itself has.
    SymbolicAuditor : Negates conditions of local explanations.
    SBFTAuditor : Searches for the largest disparity.

    Notes
    -----
    An estimate of the gradient costs a row for every column. So in equal time MAFT often finds
    fewer discriminatory inputs than `RandomAuditor`: on 8 of 13 pairs of table and
    model in a reviewer's measurement, and on 8 of 12 in ours.

    Differences are taken forward, and backward at the upper end of a domain; whole numbers move by
    whole steps. For a model that gives labels only, the gradient is that of the one-hot predicted
    class, as in the paper, and is zero wherever the label stays. The gradient of a tree or a forest
    is zero in most directions, too, so that seeds hardly move.

    If labels decide, twins follow the rule of the paper: they move against the gradient of the
    confidence in the predicted class. If a threshold on the outputs decides, and for regressors,
    they move in the direction that drives the two outputs apart. A regressor without a threshold
    has discriminatory inputs everywhere, and the global phase has nothing to do: give a threshold.
    The twin is the one whose output is farthest away, among all combinations or, if these are more
    than eight, among two random ones.

    In the local phase the chance of an attribute is the reciprocal of its gradient, to which a
    tenth of the mean gradient is added, lest attributes without influence be the only ones to move.
    Seeds go through both phases in groups as large as the budget allows. Walks that find nothing
    new for 50 steps are given up. The run is complete after `n_global` seeds. The model is never
    asked about a row that breaks the constraint, and no seed moves to one.

    A discriminatory input shows that the model treats two twins differently. It does not show
    whether such a person exists, nor whether the difference is unfair. A run that finds none does
    not show that there are none.

    References
    ----------
    .. [1] Wang, Z., Zhang, M., Yang, J., Shao, B., & Zhang, M. (2024). MAFT: Efficient
       model-agnostic fairness testing for deep neural networks via zero-order gradient search.
       ICSE.

    Examples
    --------
    >>> from skfairtest import MAFTAuditor
    >>> from skfairtest.datasets import make_biased_classification
    >>> data = make_biased_classification(random_state=0)
    >>> auditor = MAFTAuditor(data.estimator, max_queries=1000, random_state=0)
    >>> auditor = auditor.fit(data.data)
    >>> auditor.n_found_ > 0
    True
    """

    def _make_gradient(self, search: SearchHandle) -> Gradient:
        return ZeroOrderGradient(search)


class EIDIGAuditor(TwoPhaseAuditor):
    """Audit by the gradient of the model's output (EIDIG).

    This is the search of `MAFTAuditor` with the gradient that the model itself has, in place of one
    that is estimated: for linear models and networks, and to repeat published results.

    Parameters
    ----------
    gradient : "auto" or callable, default="auto"
        "auto" takes analytic gradients of linear models, `MLPClassifier` and `MLPRegressor`, and
        automatic ones of torch modules in a skorch net (the extra `torch`). The model may be the
        last step of a `Pipeline`, behind steps that scale, encode or pass single columns. A
        callable takes rows in the container of X and returns an array of shape (n, n_columns): the
        derivative of the output by each column of X, by the number itself or by the code of a
        category. The output is that of the second of two classes, of the predicted one of more
        classes, or a regressor's.

    See Also
    --------
    MAFTAuditor : Searches in the same way with any model; its notes describe the two phases.
    ADFAuditor : Follows the gradient of the loss.

    Notes
    -----
    Evaluations of the gradient are not counted as queries. The steps of a pipeline turn a value of
    a discrete column into numbers; its gradient is taken along their difference to those of the
    neighbouring value. The notes of `MAFTAuditor` on directions, groups of seeds and the end of a
    run hold here, too.

    A discriminatory input shows that the model treats two twins differently. It does not show
    whether such a person exists, nor whether the difference is unfair. A run that finds none does
    not show that there are none.

    References
    ----------
    .. [1] Zhang, L., Zhang, Y., & Zhang, M. (2021). Efficient white-box fairness testing through
       gradient search. ISSTA, 103-114.
    .. [2] Wang, Z., Zhang, M., Yang, J., Shao, B., & Zhang, M. (2024). MAFT: Efficient
       model-agnostic fairness testing for deep neural networks via zero-order gradient search.
       ICSE.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import OneHotEncoder
    >>> from skfairtest import EIDIGAuditor
    >>> from skfairtest.datasets import make_biased_classification
    >>> data = make_biased_classification(variant="narrow", random_state=0)
    >>> X, y = data.data[["sex", "job", "region", "owner"]], data.data["hours"] > 40
    >>> model = make_pipeline(OneHotEncoder(), LogisticRegression())
    >>> auditor = EIDIGAuditor(model, max_queries=500, random_state=0).fit(X, y)
    >>> auditor.n_found_ > 0
    True
    """

    _is_white_box = True

    gradient: Any = checked(default="auto", check=check_gradient)

    def _check_own_params(self) -> None:
        refuse_bare_module(self.estimator)

    def _make_gradient(self, search: SearchHandle) -> Gradient:
        return white_box_gradient(search, self.gradient)


class ADFAuditor(TwoPhaseAuditor):
    """Audit by the gradient of the model's loss (ADF), the predecessor of EIDIG.

    Unlike `EIDIGAuditor` it has no momentum, and updates the probabilities of the attributes at
    every local step.

    Parameters
    ----------
    gradient : "auto" or callable, default="auto"
        "auto": analytic for linear models, `MLPClassifier` and `MLPRegressor`, automatic for torch
        modules in a skorch net (the extra `torch`); each also as the last step of a `Pipeline`,
        behind steps that scale, encode or pass single columns. A callable takes rows in the
        container of X and returns the derivative of the output by each column of X, shape
        (n, n_columns), by the number itself or by the code of a category: of the second class of
        two, of the predicted one of more, or of a regressor's output.

    See Also
    --------
    EIDIGAuditor : Follows the gradient of the output, with momentum.
    MAFTAuditor : Searches in the same way with any model; its notes describe the two phases.

    Notes
    -----
    The loss is the log-loss of the predicted class. For decision scores and regression outputs, and
    if a threshold decides, the gradient is that of the output itself. Evaluations of the gradient
    are not counted as queries.

    A discriminatory input shows that the model treats two twins differently. It does not show
    whether such a person exists, nor whether the difference is unfair. A run that finds none does
    not show that there are none.

    References
    ----------
    .. [1] Zhang, P., Wang, J., Sun, J., Dong, G., Wang, X., Wang, X., Dong, J. S., & Dai, T.
       (2020). White-box fairness testing through adversarial sampling. ICSE, 949-960.
    .. [2] Wang, Z., Zhang, M., Yang, J., Shao, B., & Zhang, M. (2024). MAFT: Efficient
       model-agnostic fairness testing for deep neural networks via zero-order gradient search.
       ICSE.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import OneHotEncoder
    >>> from skfairtest import ADFAuditor
    >>> from skfairtest.datasets import make_biased_classification
    >>> data = make_biased_classification(variant="narrow", random_state=0)
    >>> X, y = data.data[["sex", "job", "region", "owner"]], data.data["hours"] > 40
    >>> model = make_pipeline(OneHotEncoder(), LogisticRegression())
    >>> auditor = ADFAuditor(model, max_queries=500, random_state=0).fit(X, y)
    >>> auditor.n_found_ > 0
    True
    """

    _is_white_box = True

    gradient: Any = checked(default="auto", check=check_gradient)

    _decay, _update_interval = 0.0, 1

    def _check_own_params(self) -> None:
        refuse_bare_module(self.estimator)

    def _make_gradient(self, search: SearchHandle) -> Gradient:
        return LossGradient(search, white_box_gradient(search, self.gradient))
