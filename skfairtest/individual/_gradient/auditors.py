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
from skfairtest.oracle._oracle import Oracle


class MAFTAuditor(TwoPhaseAuditor):
    """Audit by model-agnostic gradient search (MAFT).

    The gradient of the model's output is estimated from its outputs one step away. In the global
    phase seeds follow it to where the model's decision changes, until their twins are treated
    differently. In the local phase each of them is the start of a walk along the attributes that
    matter little to the model. All seeds move in lockstep, so that each step is a few large
    batches. This works on probabilities, decision scores, regression outputs, and labels alone.

    Parameters
    ----------
    estimator : estimator, default=None
        Regressor, classifier or pipeline to audit. It is fitted already, or ``fit(X, y)`` fits it.
        With None the auditor is a template; scorers and retrainers set its estimator.
    sensitive_features : "auto", str, int or list of these, default="auto"
        Sensitive columns, by name or position. "auto" takes the columns whose names are common
        protected attributes (sex, gender, race, age, religion, ...).
    threshold : float, default=None
        An input is discriminatory when its disparity exceeds the threshold, in units of the
        outputs. With None it is when the labels of its twins differ, or a regressor's outputs.
    response_method : {"auto", "predict_proba", "decision_function", "predict"}, default="auto"
        Method by which a classifier is asked. "auto" takes the first of the others that it has.
    space : InputSpace, default=None
        Which inputs exist: bounds, categories, constraints, plausible inputs, twins. `fit` learns a
        copy of it from X; a fitted space is used as it is. None means ``InputSpace()``.
    max_queries : int, default=20_000
        Budget in queries, at least 2; one query is one row that the model predicts. None sets no
        limit.
    max_time : float, default=None
        Budget in seconds, checked after each batch.
    max_found : int, default=None
        The run ends after the batch that reaches this number of unique discriminatory inputs.
    max_inputs : int, default=None
        The run ends after this number of distinct inputs.
    n_jobs : int, default=None
        Number of parts of a large batch that are predicted at the same time. None means 1, or the
        setting of `joblib.parallel_config`. The result does not depend on it.
    random_state : int, RandomState or Generator, default=None
        Seed of the run: the same seed gives the same result.
    verbose : int, default=0
        1 prints a line for each tenth of the budget, 2 for each hundredth.
    n_restarts : int, default=1
        Number of independent searches, each with its own seed, that share the budget. The results
        combine those of all searches.
    n_global : int, default=1000
        Number of seeds. These are rows of the data, in turn from four clusters of k-means, and
        uniform random inputs if there are fewer rows. X must have at least as many rows as
        clusters.
    max_iter : int, default=10
        Largest number of steps of a seed in the global phase.
    n_local : int, default=1000
        Steps of the local phase from each discriminatory input of the global phase.
    step : float, default=1.0
        Length of all steps, in steps of each attribute.

    Attributes
    ----------
    fairness_degree_ : float
        Largest disparity found, in units of the outputs: a lower bound of the true one.
    worst_case_ : array or DataFrame of shape (2, n_features), or None
        The two twins with this disparity; the one with the larger output comes first.
    worst_case_outputs_ : ndarray of shape (2,), or None
        The model's outputs for these two twins.
    worst_case_class_ : object
        The class whose probability or score these outputs are; which of several outputs it is.
    discriminatory_inputs_, counterfactuals_ : array or DataFrame of shape (n_kept, n_features)
        Unique discriminatory inputs, those with the largest disparities first, and their twins; as
        many as fit into 32 MB.
    disparities_ : ndarray of shape (n_kept,)
        Difference between the outputs for each input and its twin.
    n_found_ : int
        Unique discriminatory inputs found, kept or not.
    discrimination_rate_ : float
        Share of the distinct generated inputs that are discriminatory. For a directed search it
        does not estimate the share in the domain.
    plausibility_, distances_ : ndarray of shape (n_kept,)
        For each of the `discriminatory_inputs_`, the share of rows of X that are less typical, and
        the distance to the nearest row of X.
    nearest_rows_ : array or DataFrame of shape (n_kept, n_features)
        The row of X that is nearest to each of the `discriminatory_inputs_`.
    fairness_degree_plausible_ : float
        Largest disparity found among pairs with at least one plausible twin.
    worst_case_plausible_ : array or DataFrame of shape (2, n_features), or None
        The two twins with this disparity; the one with the larger output comes first.
    domains_ : DataFrame
        The fairness degree known for the rows of X, for plausible inputs and for the whole domain.
    n_inputs_, n_queries_, seconds_ : int, int, float
        The cost: distinct inputs, queries, seconds.
    history_ : DataFrame
        The course of the run: queries, seconds, inputs, found, degree.
    stop_reason_, stop_kind_ : str
        Why the run ended, in words and as one word; the Notes of `BaseAuditor` list these.
    on_data_degree_, on_data_rate_, on_data_discriminatory_ : float, float, array or DataFrame
        Largest disparity of the rows of X, the share of them that are discriminatory, and those
        rows.
    sensitive_features_ : list
        The sensitive columns.
    one_hot_ : dict of name to list
        The columns of each one-hot group.
    response_ : str
        How the estimator was asked: "regression", "predict_proba", "decision_function" or
        "labels".
    space_ : InputSpace
        The input space as learned.
    estimator_ : estimator
        The estimator that was audited.
    n_iter_ : int
        Largest number of steps that a seed took in the global phase.

    See Also
    --------
    EIDIGAuditor, ADFAuditor : Search in the same way with the gradient that the model itself has.
    SymbolicAuditor : Negates conditions of local explanations.
    SBFTAuditor : Searches for the largest disparity.

    Notes
    -----
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

    def _make_gradient(self, oracle: Oracle) -> Gradient:
        return ZeroOrderGradient(oracle)


class EIDIGAuditor(TwoPhaseAuditor):
    """Audit by the gradient of the model's output (EIDIG).

    This is the search of `MAFTAuditor` with the gradient that the model itself has, in place of one
    that is estimated.

    Parameters
    ----------
    estimator : estimator, default=None
        Regressor, classifier or pipeline to audit. It is fitted already, or ``fit(X, y)`` fits it.
        With None the auditor is a template; scorers and retrainers set its estimator.
    sensitive_features : "auto", str, int or list of these, default="auto"
        Sensitive columns, by name or position. "auto" takes the columns whose names are common
        protected attributes (sex, gender, race, age, religion, ...).
    threshold : float, default=None
        An input is discriminatory when its disparity exceeds the threshold, in units of the
        outputs. With None it is when the labels of its twins differ, or a regressor's outputs.
    response_method : {"auto", "predict_proba", "decision_function", "predict"}, default="auto"
        Method by which a classifier is asked. "auto" takes the first of the others that it has.
    space : InputSpace, default=None
        Which inputs exist: bounds, categories, constraints, plausible inputs, twins. `fit` learns a
        copy of it from X; a fitted space is used as it is. None means ``InputSpace()``.
    max_queries : int, default=20_000
        Budget in queries, at least 2; one query is one row that the model predicts. None sets no
        limit.
    max_time : float, default=None
        Budget in seconds, checked after each batch.
    max_found : int, default=None
        The run ends after the batch that reaches this number of unique discriminatory inputs.
    max_inputs : int, default=None
        The run ends after this number of distinct inputs.
    n_jobs : int, default=None
        Number of parts of a large batch that are predicted at the same time. None means 1, or the
        setting of `joblib.parallel_config`. The result does not depend on it.
    random_state : int, RandomState or Generator, default=None
        Seed of the run: the same seed gives the same result.
    verbose : int, default=0
        1 prints a line for each tenth of the budget, 2 for each hundredth.
    n_restarts : int, default=1
        Number of independent searches, each with its own seed, that share the budget. The results
        combine those of all searches.
    n_global : int, default=1000
        Number of seeds. These are rows of the data, in turn from four clusters of k-means, and
        uniform random inputs if there are fewer rows. X must have at least as many rows as
        clusters.
    max_iter : int, default=10
        Largest number of steps of a seed in the global phase.
    n_local : int, default=1000
        Steps of the local phase from each discriminatory input of the global phase.
    step : float, default=1.0
        Length of all steps, in steps of each attribute.
    gradient : "auto" or callable, default="auto"
        "auto" takes analytic gradients of linear models, `MLPClassifier` and `MLPRegressor`, and
        automatic ones of torch modules in a skorch net (the extra `torch`). The model may be the
        last step of a `Pipeline`, behind steps that scale, encode or pass single columns. A
        callable takes rows in the container of X and returns an array of shape (n, n_columns): the
        derivative of the output by each column of X, by the number itself or by the code of a
        category. The output is that of the second of two classes, of the predicted one of more
        classes, or a regressor's.

    Attributes
    ----------
    fairness_degree_ : float
        Largest disparity found, in units of the outputs: a lower bound of the true one.
    worst_case_ : array or DataFrame of shape (2, n_features), or None
        The two twins with this disparity; the one with the larger output comes first.
    worst_case_outputs_ : ndarray of shape (2,), or None
        The model's outputs for these two twins.
    worst_case_class_ : object
        The class whose probability or score these outputs are; which of several outputs it is.
    discriminatory_inputs_, counterfactuals_ : array or DataFrame of shape (n_kept, n_features)
        Unique discriminatory inputs, those with the largest disparities first, and their twins; as
        many as fit into 32 MB.
    disparities_ : ndarray of shape (n_kept,)
        Difference between the outputs for each input and its twin.
    n_found_ : int
        Unique discriminatory inputs found, kept or not.
    discrimination_rate_ : float
        Share of the distinct generated inputs that are discriminatory. For a directed search it
        does not estimate the share in the domain.
    plausibility_, distances_ : ndarray of shape (n_kept,)
        For each of the `discriminatory_inputs_`, the share of rows of X that are less typical, and
        the distance to the nearest row of X.
    nearest_rows_ : array or DataFrame of shape (n_kept, n_features)
        The row of X that is nearest to each of the `discriminatory_inputs_`.
    fairness_degree_plausible_ : float
        Largest disparity found among pairs with at least one plausible twin.
    worst_case_plausible_ : array or DataFrame of shape (2, n_features), or None
        The two twins with this disparity; the one with the larger output comes first.
    domains_ : DataFrame
        The fairness degree known for the rows of X, for plausible inputs and for the whole domain.
    n_inputs_, n_queries_, seconds_ : int, int, float
        The cost: distinct inputs, queries, seconds.
    history_ : DataFrame
        The course of the run: queries, seconds, inputs, found, degree.
    stop_reason_, stop_kind_ : str
        Why the run ended, in words and as one word; the Notes of `BaseAuditor` list these.
    on_data_degree_, on_data_rate_, on_data_discriminatory_ : float, float, array or DataFrame
        Largest disparity of the rows of X, the share of them that are discriminatory, and those
        rows.
    sensitive_features_ : list
        The sensitive columns.
    one_hot_ : dict of name to list
        The columns of each one-hot group.
    response_ : str
        How the estimator was asked: "regression", "predict_proba", "decision_function" or
        "labels".
    space_ : InputSpace
        The input space as learned.
    estimator_ : estimator
        The estimator that was audited.
    n_iter_ : int
        Largest number of steps that a seed took in the global phase.

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

    def _make_gradient(self, oracle: Oracle) -> Gradient:
        return white_box_gradient(oracle, self.gradient)


class ADFAuditor(TwoPhaseAuditor):
    """Audit by the gradient of the model's loss (ADF), the predecessor of EIDIG.

    Unlike `EIDIGAuditor` it has no momentum, and updates the probabilities of the attributes at
    every local step.

    Parameters
    ----------
    estimator : estimator, default=None
        Regressor, classifier or pipeline to audit. It is fitted already, or ``fit(X, y)`` fits it.
        With None the auditor is a template; scorers and retrainers set its estimator.
    sensitive_features : "auto", str, int or list of these, default="auto"
        Sensitive columns, by name or position. "auto" takes the columns whose names are common
        protected attributes (sex, gender, race, age, religion, ...).
    threshold : float, default=None
        An input is discriminatory when its disparity exceeds the threshold, in units of the
        outputs. With None it is when the labels of its twins differ, or a regressor's outputs.
    response_method : {"auto", "predict_proba", "decision_function", "predict"}, default="auto"
        Method by which a classifier is asked. "auto" takes the first of the others that it has.
    space : InputSpace, default=None
        Which inputs exist: bounds, categories, constraints, plausible inputs, twins. `fit` learns a
        copy of it from X; a fitted space is used as it is. None means ``InputSpace()``.
    max_queries : int, default=20_000
        Budget in queries, at least 2; one query is one row that the model predicts. None sets no
        limit.
    max_time : float, default=None
        Budget in seconds, checked after each batch.
    max_found : int, default=None
        The run ends after the batch that reaches this number of unique discriminatory inputs.
    max_inputs : int, default=None
        The run ends after this number of distinct inputs.
    n_jobs : int, default=None
        Number of parts of a large batch that are predicted at the same time. None means 1, or the
        setting of `joblib.parallel_config`. The result does not depend on it.
    random_state : int, RandomState or Generator, default=None
        Seed of the run: the same seed gives the same result.
    verbose : int, default=0
        1 prints a line for each tenth of the budget, 2 for each hundredth.
    n_restarts : int, default=1
        Number of independent searches, each with its own seed, that share the budget. The results
        combine those of all searches.
    n_global : int, default=1000
        Number of seeds. These are rows of the data, in turn from four clusters of k-means, and
        uniform random inputs if there are fewer rows. X must have at least as many rows as
        clusters.
    max_iter : int, default=10
        Largest number of steps of a seed in the global phase.
    n_local : int, default=1000
        Steps of the local phase from each discriminatory input of the global phase.
    step : float, default=1.0
        Length of all steps, in steps of each attribute.
    gradient : "auto" or callable, default="auto"
        "auto": analytic for linear models, `MLPClassifier` and `MLPRegressor`, automatic for torch
        modules in a skorch net (the extra `torch`); each also as the last step of a `Pipeline`,
        behind steps that scale, encode or pass single columns. A callable takes rows in the
        container of X and returns the derivative of the output by each column of X, shape
        (n, n_columns), by the number itself or by the code of a category: of the second class of
        two, of the predicted one of more, or of a regressor's output.

    Attributes
    ----------
    fairness_degree_ : float
        Largest disparity found, in units of the outputs: a lower bound of the true one.
    worst_case_ : array or DataFrame of shape (2, n_features), or None
        The two twins with this disparity; the one with the larger output comes first.
    worst_case_outputs_ : ndarray of shape (2,), or None
        The model's outputs for these two twins.
    worst_case_class_ : object
        The class whose probability or score these outputs are; which of several outputs it is.
    discriminatory_inputs_, counterfactuals_ : array or DataFrame of shape (n_kept, n_features)
        Unique discriminatory inputs, those with the largest disparities first, and their twins; as
        many as fit into 32 MB.
    disparities_ : ndarray of shape (n_kept,)
        Difference between the outputs for each input and its twin.
    n_found_ : int
        Unique discriminatory inputs found, kept or not.
    discrimination_rate_ : float
        Share of the distinct generated inputs that are discriminatory. For a directed search it
        does not estimate the share in the domain.
    plausibility_, distances_ : ndarray of shape (n_kept,)
        For each of the `discriminatory_inputs_`, the share of rows of X that are less typical, and
        the distance to the nearest row of X.
    nearest_rows_ : array or DataFrame of shape (n_kept, n_features)
        The row of X that is nearest to each of the `discriminatory_inputs_`.
    fairness_degree_plausible_ : float
        Largest disparity found among pairs with at least one plausible twin.
    worst_case_plausible_ : array or DataFrame of shape (2, n_features), or None
        The two twins with this disparity; the one with the larger output comes first.
    domains_ : DataFrame
        The fairness degree known for the rows of X, for plausible inputs and for the whole domain.
    n_inputs_, n_queries_, seconds_ : int, int, float
        The cost: distinct inputs, queries, seconds.
    history_ : DataFrame
        The course of the run: queries, seconds, inputs, found, degree.
    stop_reason_, stop_kind_ : str
        Why the run ended, in words and as one word; the Notes of `BaseAuditor` list these.
    on_data_degree_, on_data_rate_, on_data_discriminatory_ : float, float, array or DataFrame
        Largest disparity of the rows of X, the share of them that are discriminatory, and those
        rows.
    sensitive_features_ : list
        The sensitive columns.
    one_hot_ : dict of name to list
        The columns of each one-hot group.
    response_ : str
        How the estimator was asked: "regression", "predict_proba", "decision_function" or
        "labels".
    space_ : InputSpace
        The input space as learned.
    estimator_ : estimator
        The estimator that was audited.
    n_iter_ : int
        Largest number of steps that a seed took in the global phase.

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

    def _make_gradient(self, oracle: Oracle) -> Gradient:
        return LossGradient(oracle, white_box_gradient(oracle, self.gradient))
