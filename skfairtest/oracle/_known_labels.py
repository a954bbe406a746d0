"""Estimators whose labels are known to follow from their scores, by the code of their packages.

Their `predict` gives the class with the largest score, or the side of zero of a single one. It may
differ where two scores are equal but for rounding.
"""

from __future__ import annotations

from typing import Any

#: By the method that gives the scores, and the package. Other classes have another rule, or one
#: that settings change: support vector machines (probabilities are fitted apart, classes chosen by
#: votes), tuned and fixed thresholds, Gaussian processes, neighbours within a radius, one against
#: the rest or another, dummies. With voting by labels there are no scores.
KNOWN = {
    ("predict_proba", "sklearn"): """
        AdaBoostClassifier BaggingClassifier BernoulliNB CalibratedClassifierCV CategoricalNB
        ComplementNB DecisionTreeClassifier ExtraTreeClassifier ExtraTreesClassifier GaussianNB
        GradientBoostingClassifier HistGradientBoostingClassifier KNeighborsClassifier
        LabelPropagation LabelSpreading LinearDiscriminantAnalysis LogisticRegression
        LogisticRegressionCV MLPClassifier MultinomialNB QuadraticDiscriminantAnalysis
        RandomForestClassifier VotingClassifier""".split(),
    ("predict_proba", "xgboost"): ["XGBClassifier", "XGBRFClassifier"],
    ("predict_proba", "lightgbm"): ["LGBMClassifier"],
    ("decision_function", "sklearn"): """
        LinearSVC LogisticRegression PassiveAggressiveClassifier Perceptron RidgeClassifier
        RidgeClassifierCV SGDClassifier""".split(),
}
#: Classes of scikit-learn that pass on to another estimator, and the attribute that holds it.
PASS_ON = {
    "FrozenEstimator": "estimator", "GridSearchCV": "best_estimator_", "RFE": "estimator_",
    "HalvingGridSearchCV": "best_estimator_", "HalvingRandomSearchCV": "best_estimator_",
    "RFECV": "estimator_", "RandomizedSearchCV": "best_estimator_",
    "SelfTrainingClassifier": "estimator_", "StackingClassifier": "final_estimator_",
}  # fmt: skip


def labels_follow(estimator: Any, method: str) -> bool:
    """Return whether `predict` is known to be the side of what a method returns.

    It is not of a class derived from a known one, nor of an object with a method of its own. That a
    method was replaced on the class itself shows when `predict` is asked.
    """
    package, name = type(estimator).__module__.partition(".")[0], type(estimator).__name__
    if {"predict", method} & set(getattr(estimator, "__dict__", ())):
        return False
    if package in ("sklearn", "imblearn") and name == "Pipeline":
        return labels_follow(estimator.steps[-1][1], method)
    if package == "sklearn" and name in PASS_ON:
        return labels_follow(getattr(estimator, PASS_ON[name], None), method)
    return name in KNOWN.get((method, package), ())
