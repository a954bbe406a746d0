"""Documentation that several classes share: texts of docstrings, and where the HTML links to."""

from __future__ import annotations

import os
import re
from typing import TypeVar

T = TypeVar("T", bound=type)

MARK = re.compile(r"( *)\{(\w+)\}")

#: Texts by the marks that they stand for; a text may hold marks of its own.
TEXTS: dict[str, str] = {}

# Texts of every auditor -------------------------------------------------------------------------

TEXTS["parameters"] = """estimator : estimator, default=None
    Regressor, classifier or pipeline to audit. Fitted, or fitted by ``fit(X, y)``. None
    makes a template for scorers and retrainers, which set it.
sensitive_features : "auto", str, int or list of these, default="auto"
    Sensitive columns by name or position. "auto" takes the columns whose names are common
    protected attributes (sex, gender, race, age, religion, ...); `sensitive_features_`
    tells which. Twins in a column that a fitted estimator does not take (`feature_names_in_`)
    are equal by construction: there is nothing to search, which is an error.
threshold : float, default=None
    An input is discriminatory when its disparity exceeds the threshold (output units of a
    regressor, probability or score units of a classifier). None: labels differ, for a
    regressor: outputs differ.
response_method : {"auto", "predict_proba", "decision_function", "predict"}, default="auto"
    How a classifier is asked. "auto" takes the first that it has, in this order.
bounds : dict of column to (low, high), default=None
    Closed domains of numeric columns; by default the range of the values in X.
categories : dict of column to list, default=None
    Domains of categorical columns; by default the values in X. A numeric column that is
    named here becomes categorical.
steps : dict of column to float, default=None
    Resolution of a numeric column: its values are the low end of the domain and multiples of
    the step above it. By default learned from the values (decimals, common steps, a list of
    amounts); 1 for integers, none for reals. Searches move by one step, by about a hundredth
    of the domain where fractions come in finer steps or in none.
one_hot : "auto", dict of name to list of columns, or None, default="auto"
    Groups of 0/1 columns that are one attribute each; inputs keep one of them at 1. "auto"
    takes columns with a common prefix (``race_``) that sum to one in every row, or to at most
    one where that is no chance; `one_hot_` tells which. The name of a group, or of any of its
    columns, in `sensitive_features` means the group.
constraint : constraint object, callable, dict or list of these, default=None
    Which inputs can exist: objects such as ``Order("experience", "<=", "age")`` (see `Order`,
    `Linear`, `Implies`, `Is`, `OneHot`, `Allowed`), or callables that take rows in the container
    of X and return a boolean for each. All must hold. A dict is `Is` for each of its columns.
plausible : "auto", float, outlier detector or None, default=None
    Which inputs look like the data. Only pairs of twins count of which one does, at least, and
    new inputs are drawn near rows of X. "auto" is a classifier told to separate the rows of X from
    inputs made up of their parts, and accepts 98% of real rows; a number is that share. A
    detector has scikit-learn's interface (``predict`` gives 1 and -1). It is cloned and fitted to
    X if it is not fitted; it gets the rows in the container of X, an unfitted one that is no
    pipeline codes where X has categories. None: all inputs count.
given : dict or callable, default=None
    What else follows from a sensitive value, so that twins differ there, too:
    ``{"sex": {"male": {"pregnancies": 0}}}``, or a function that takes rows in the container of X
    and returns them with what follows from their sensitive values.
space : InputSpace, default=None
    Which inputs exist, in place of the parameters above that say so and of
    `sensitive_features`; X then gives the rows of data alone. None: learned from X.
{proposals}
max_queries : int, default=20_000
    Budget in queries: one query is one row for which the model is asked. At least 2, or None.
max_time : float, default=None
    Budget in seconds; looked at after each batch.
max_found : int, default=None
    Ends the run after the batch in which so many unique discriminatory inputs were found.
max_inputs : int, default=None
    Ends the run after so many distinct inputs.
{n_jobs}
{random_state}
verbose : int, default=0
    1 prints a line each tenth of the budget, 2 each hundredth."""

# Texts of every auditor -------------------------------------------------------------------------

TEXTS["attributes"] = """fairness_degree_ : float
    Largest disparity found in the domain: a lower bound of the true one. Output units of a
    regressor; probability for a classifier with ``predict_proba``, score units with
    ``decision_function``, else 0 or 1.
worst_case_ : array or DataFrame of shape (2, n_features), or None
    The two twins that show it, the larger output first.
worst_case_outputs_ : ndarray of shape (2,), or None
    The model's outputs for them.
worst_case_class_ : object
    The class whose probability or score they are: the positive class of a binary
    classifier.
discriminatory_inputs_, counterfactuals_ : array or DataFrame of shape (n_kept, n_features)
    Unique discriminatory inputs, worst first, and their twins. Where they are too many for
    32 MB, the worst are kept. With `plausible` the input is plausible as it stands; its twin
    need not be.
disparities_ : ndarray of shape (n_kept,)
    Difference between the outputs for each input and its twin.
n_found_ : int
    Unique discriminatory inputs found, kept or not.
discrimination_rate_ : float
    Share of the distinct generated inputs that discriminate. What a directed search
    generates is no sample of the domain: only `RandomAuditor` estimates the domain's own
    share, or with ``proposals="data"`` the share near the data.
plausibility_, distances_ : ndarray of shape (n_kept,)
    How typical each of the `discriminatory_inputs_` is: the share of rows of X that are less
    typical, and the distance to the nearest row (mean over the columns of ``|difference| / range``,
    0 or 1 for categories). Without `plausible`, "auto" judges. These and the next four are
    worked out on first access, without a query.
nearest_rows_ : array or DataFrame of shape (n_kept, n_features)
    The row of X nearest to each of them.
fairness_degree_plausible_ : float
    The largest disparity found among pairs of which one twin is plausible.
worst_case_plausible_ : array or DataFrame of shape (2, n_features), or None
    That pair, the larger output first.
domains_ : DataFrame
    The degree known of the rows of X, of plausible inputs, and of the whole domain; asks the model
    about the rows of X, as `on_data_degree_` does.
n_inputs_, n_queries_, seconds_ : int, int, float
    The cost: distinct inputs, queries, seconds. (Exact up to 5.8 million
    inputs; beyond that, an input that comes again may be counted again.)
history_ : DataFrame
    The course of the run: queries, seconds, inputs, found, degree.
stop_reason_, stop_kind_ : str
    What ended the run: in words, and as one of "max_queries", "max_time", "max_found",
    "max_inputs", "exhausted", "stalled", "callback", "complete", "open" (a bracket that could
    not be closed), "interrupted" and "failed".
on_data_degree_, on_data_rate_, on_data_discriminatory_ : float, float, array or DataFrame
    The same for the rows of X as they are, every one flipped. Worked out on first access;
    the queries for it are counted in `n_data_queries_`, not in `n_queries_`.
sensitive_features_ : list
    The sensitive columns.
one_hot_ : dict of name to list
    The columns of each one-hot group.
response_ : str
    How the estimator was asked: "regression", "predict_proba", "decision_function" or
    "labels".
space_ : InputSpace
    The inputs that exist.
{estimator}"""

TEXTS["proposals"] = """proposals : {"uniform", "data"}, default="uniform"
    Where new inputs are drawn: anywhere in the domain, or near the data: a row of X crossed with
    one of its nearest neighbours. With `plausible` always near the data."""

TEXTS["n_jobs"] = """n_jobs : int, default=None
    Parts of a large batch that are predicted at the same time, in threads unless
    `joblib.parallel_config` says otherwise; None is 1, or what `joblib.parallel_config` says.
    The result does not depend on it."""

TEXTS["n_restarts"] = """n_restarts : int, default=1
    Independent searches, with seeds of their own, that share the budget; results are those of all
    of them. They run one after another, or on as many workers as `n_jobs` or
    `joblib.parallel_config` say, in processes unless that says otherwise: of this machine, or of
    a cluster. The number of workers changes no result, unless `max_time` ends the run: once
    the first ones have found `max_found` inputs together, the others do not count, nor do their
    queries."""

TEXTS["random_state"] = """random_state : int, RandomState or Generator, default=None
    Seed. The same seed gives the same result."""

TEXTS["estimator"] = """estimator_ : estimator
    What was audited."""

# Texts of testers that look for discriminatory inputs -------------------------------------------

TEXTS["caveat"] = """\
A discriminatory input shows that the model treats two twins differently. Whether such a person
exists, and whether the difference is unfair, it does not show; nor does a run that finds none
show that there are none."""

# Texts of the gradient testers ------------------------------------------------------------------

TEXTS["global_phase"] = """n_clusters : int, default=4
    K-means clusters of the data that seeds are taken from in turn. X must have as many rows.
n_global : int, default=1000
    Seeds: rows of the data, and uniform random inputs where these are fewer.
max_iter : int, default=10
    Steps that a seed may take in the global phase.
global_step : float, default=1
    Length of these steps, in steps of each attribute."""

TEXTS["decay"] = """decay : float, default=0.5
    Share of the accumulated gradient that is kept from one step to the next."""

TEXTS["local_phase"] = """n_local : int, default=1000
    Steps of the local phase from each discriminatory input of the global phase.
local_step : float, default=1
    Length of these steps."""

TEXTS["update_interval"] = """update_interval : int, default=5
    Successful local steps after which the attributes' probabilities are updated."""

TEXTS["gradient"] = """gradient : "auto" or callable, default="auto"
    "auto": analytic for linear models, `MLPClassifier` and `MLPRegressor`, automatic for torch
    modules in a skorch net (the extra `torch`); each also as the last step of a `Pipeline`,
    behind steps that scale, encode or pass single columns. A callable takes rows in the
    container of X and returns the derivative of the output by each column of X, shape
    (n, n_columns), by the number itself or by the code of a category: of the second class of
    two, of the predicted one of more, or of a regressor's output."""

TEXTS["n_iter"] = """n_iter_ : int
    Most steps that a seed took in the global phase."""

# Texts of models whose sensitive columns are averaged out ----------------------------------------

TEXTS[
    "marginalized_parameters"
] = """sensitive_features : "auto", str, int or list of these, default="auto"
    Columns that are averaged out, by name or position; a column of a one-hot group means the group.
    "auto" takes the columns whose names are common protected attributes.
strength : float, default=1.0
    Share of the average in the predictions, in [0, 1]; the rest is the model's own output for the
    row as it is. Averaged scores of two twins differ by (1 - strength) times what the model's do.
    Read at prediction: another one may be set after `fit`, and nothing is trained anew.
weights : {"data", "uniform"}, default="data"
    What the values weigh. "data": their share of the rows, each by its ``sample_weight``.
    "uniform": all combinations of values that occur weigh the same.
max_values : int or None, default=100
    Combinations of values that are averaged over at most: a prediction costs as many of the model.
    Where there are more, they are put in order (by the first sensitive column, then by the next)
    and cut into so many parts of equal weight, and the value in the middle of each part stands for
    it: of a column of numbers, its quantiles. None keeps all.
unseen : {"error", "ignore"}, default="error"
    What a category is at prediction that a sensitive column did not have in `fit` (or a missing
    value, where there was none): an error, or ignored. With ``strength=1`` predictions do not
    depend on it; with less the model is asked about the row as it is. Numbers are never unseen; in
    a column of numbers, a missing value where there was none is an error either way.
one_hot : "auto", dict of name to list of columns, or None, default="auto"
    Groups of 0/1 columns that are one attribute each and change together; as for every auditor."""

TEXTS["marginalized_attributes"] = """sensitive_features_ : list
    What is averaged over.
one_hot_ : dict of name to list
    The columns of each one-hot group.
values_ : DataFrame
    The combinations of values, a one-hot group as one column, and their `weight`.
n_features_in_, feature_names_in_
    As of every estimator."""

TEXTS["marginalized_notes"] = """\
All values are put to the model in one call, of 200,000 rows at most; rows that are equal but for
the sensitive columns are put to it once. So twins in one table get the same prediction to the last
bit with ``strength=1``.

Twins are treated alike by construction, which is no finding about people: other columns that go
together with the sensitive ones keep their influence, so that groups may still get different
predictions on average. What follows from a sensitive value (``given`` of the auditors) is not
changed along with it."""

TEXTS[
    "marginalized_references"
] = """.. [1] Pope, D. G., & Sydnor, J. R. (2011). Implementing anti-discrimination policies in
   statistical profiling models. American Economic Journal: Economic Policy, 3(3), 206-231.
.. [2] Lindholm, M., Richman, R., Tsanakas, A., & Wuthrich, M. V. (2022). Discrimination-free
   insurance pricing. ASTIN Bulletin, 52(1), 55-89."""

# Texts of the auditors of groups ----------------------------------------------------------------

TEXTS["rule_parameters"] = """min_support : float, default=0.05
    Share of the rows that a rule set must hold for, at least, in (0, 1).
min_outside : float, default=0.05
    Share of the rows that a rule set must leave outside, at least, to be ranked. Those that
    leave fewer are counted and listed behind the others: their score is about the few outside.
sampling_threshold : int, default=1000
    Rows that are asked about on each side of a rule set, at least.
error_threshold : float, default=0.05
    The pool is so large that no interval reaches further than this from the score, for
    shares of up to one half, where the error is largest. For means: in units of twice the
    standard deviation of the predictions.
confidence : float, default=0.95
    Confidence of the intervals.
correction : {"bonferroni", "holm", "none"}, default="bonferroni"
    "bonferroni": all intervals hold at once with the confidence, so that the worst of many
    rule sets may be quoted. "holm" shows a difference for more rule sets; for those, its
    interval begins at 0. "none": each interval by itself, as in the paper: right for a rule
    set that was chosen beforehand, too narrow for the worst of many.
ci_method : {"likelihood", "newcombe", "wilson", "paper"}, default="likelihood"
    How an interval is made of the two sides. "likelihood": the differences of shares that the
    profile likelihood does not rule out, which is right for rare events in small groups, too.
    "newcombe" and "wilson" combine two Wilson intervals, "paper" two normal ones (which have
    length 0 where all predictions are alike): too short for the worst of very many groups.
    Differences of means have Welch's interval, or the paper's.
max_rules : int, default=20_000
    Rule sets that are kept, worst first. All of them are counted and compared."""

TEXTS["favourable"] = """favourable : label, set of labels, float or "mean", default=None
    What counts as a favourable prediction. Classifiers: a label or several; None takes one whose
    word says it ("approved", "good"; or, of two, the other of "rejected", "bad"), else the last of
    ``classes_``, with a warning. Regressors: predictions of at least this
    threshold; None or "mean" compares means instead of shares. Of several outputs the mean
    counts.
response_method : {"auto", "predict", "predict_proba"}, default="auto"
    "auto" asks for labels. "predict_proba" compares the mean probability of the favourable
    labels in place of their share."""

TEXTS["metric"] = """metric : str or callable, default="selection_rate"
    What is compared.

    - Of labels: "selection_rate", "false_positive_rate", "false_negative_rate",
      "true_positive_rate", "positive_predictive_value", each among the rows that it is a share
      of, and "accuracy".
    - Of numbers: "mean_prediction" (of a classifier, the mean probability of the favourable
      labels), "mean_error" (prediction less target), "mean_absolute_error".
    - Of probabilities: "calibration" (mean of outcome less probability), "log_loss".
    - A callable of (y_true, y_pred) that returns a value a row and which rows count, two
      arrays of shape (n_rows,); y_true is None without targets."""

TEXTS["run_parameters"] = """max_queries : int, default={default_queries}
    Budget in queries: one query is one row for which the model is asked. Where it is smaller than
    what the thresholds need, the intervals are wider, and a warning says so.
{n_jobs}
{random_state}
verbose : int, default=0
    1 prints a line each tenth of the work, 2 each hundredth."""

TEXTS["rule_attributes"] = """rules_ : DataFrame
    The kept rule sets, worst first: `rule` (in words), `attributes`, `conditions` (for each
    attribute the values that match: a tuple of categories, in which None is a missing one, or
    an interval), `support` (share of the rows of X), `share_inside` and `share_outside` (of
    favourable predictions; means for a regressor without a threshold), `score` (their absolute
    difference), `low` and `high` (the interval of the score), `differs` (whether it shows a
    difference), `error` (the paper's, for the rule set alone), `n_inside` and `n_outside`
    (perturbed inputs or texts asked about, not rows of X), `ranked` (whether both sides are
    large enough to compare).
worst_rule_ : Series
    The first row of `rules_`.
group_fairness_score_ : float
    Its score. The largest of many estimates tends to be too large: quote it with its interval,
    or `confirm` it.
n_rule_sets_, n_groups_ : int
    Frequent rule sets, and the different groups that they describe, as far as these were
    told apart (up to 2,000,000). The intervals allow for so many groups.
favourable_ : list, float or "mean"
    What was taken to be favourable.
n_queries_, seconds_ : int, float
    The cost: queries, seconds.
stop_reason_, stop_kind_ : str
    What ended the run: in words, and as one of "complete", "max_queries", "callback",
    "interrupted" and "failed".
{estimator}"""


#: Names the address of a built site, such as "file:///home/me/skfairtest/docs/_build/html/". There
#: is no published one yet, so links are off where it is not set.
SITE_VARIABLE = "SKFAIRTEST_DOCS"


class LinksToDocs:
    """Has the HTML of an estimator link to its page; a mixin in front of scikit-learn's classes.

    The three names are those by which scikit-learn asks estimators of other packages.
    """

    _doc_link_module = "skfairtest"

    @property
    def _doc_link_template(self) -> str:
        site = os.environ.get(SITE_VARIABLE, "")
        return f"{site.rstrip('/')}/reference/api/skfairtest.{{name}}.html" if site else ""

    def _doc_link_url_param_generator(self) -> dict[str, str]:
        return {"name": type(self).__name__}


def document(cls: T) -> T:
    """Put the shared texts into a class's docstring, in place of marks such as {parameters}."""
    doc = cls.__doc__ or ""
    texts = {**TEXTS, "default_queries": getattr(cls, "_default_queries", "100_000")}

    def put(match: re.Match[str]) -> str:
        indent, mark = match.group(1), match.group(2)
        if mark not in texts:
            return match.group(0)
        # Marks within a text stand at its margin, or in a line.
        text = re.sub(MARK, put, texts[mark])
        return indent + text.replace("\n", "\n" + indent)

    cls.__doc__ = re.sub(MARK, put, doc)
    return cls
