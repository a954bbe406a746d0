"""What is said of a search for alternatives: short answers, and what they do not show."""

from __future__ import annotations

from collections import Counter

from skfairtest.finding._words import ABSENT, listed, number
from skfairtest.model_selection._alternatives.result import (
    Alternative,
    FoundAlternatives,
    GroupChange,
    Interval,
    named,
    verdict_words,
    with_bounds,
)
from skfairtest.report.parts._part import Step
from skfairtest.report.render.blocks import count, level, seconds
from skfairtest.report.render.words import group_named, isolate, quoted

#: What kinds of candidates are called, of one and of several.
KINDS = {
    "parameters": ("setting {drawn}", "settings {drawn}"),
    "estimator": ("other estimator", "other estimators"),
    "method": ("method of mitigation", "methods of mitigation"),
    "columns": ("column left out", "columns left out, one at a time"),
}  # fmt: skip


def title_of(found: FoundAlternatives) -> str:
    """What the page is about; no judgement."""
    return f"Search for alternatives to {found.settings.model or 'a model'}"


def answers_of(found: FoundAlternatives) -> dict[str, str]:
    """Short answers to the questions that readers have, each under its name; the verdict first."""
    return {
        "Verdict": isolate(verdict_words(found)),
        "Asked": asked(found),
        "Searched": searched(found),
        "Who gains": who_gains(found),
        "How sure": how_sure(found),
        "Not tried": not_tried(found),
    }


def asked(found: FoundAlternatives) -> str:
    """The question."""
    settings = found.settings
    kept = f"{named(settings.score, False)} no lower"
    if settings.margin:
        kept = f"{named(settings.score, False)} at most {settings.margin:g} lower"
    first, *others = settings.disparity
    more = f"the {named(first, False)} {goes(found, first)}"
    if others:
        more += f", and {listed([named(name, False) for name in others])} do not get worse"
    by = f" by {listed(list(map(isolate, settings.sensitive_features)))}"
    favourable = ""
    if settings.favourable and settings.task == "classification":
        favourable = f" The favourable answer is {quoted(settings.favourable)}."
    return (
        f"Is there a model that predicts as well as this {settings.model} ({kept}) and treats "
        f"groups{by if settings.sensitive_features else ''} more alike (so that {more})?"
        f"{favourable}"
    )


def goes(found: FoundAlternatives, name: str) -> str:
    """In which direction a measure gets better."""
    return "rises" if found.settings.higher_is_better.get(name) else "falls"


def searched(found: FoundAlternatives) -> str:
    """What was tried and how."""
    settings, tried = found.settings, found.alternatives[1:]
    kinds = Counter[str](one.kind for one in tried)
    is_random = settings.sampler == "random"
    drawn = "drawn at random" if is_random else f"drawn by {settings.sampler}"
    listing = [
        f"{kinds[kind]} {words[kinds[kind] > 1].format(drawn=drawn)}"
        for kind, words in KINDS.items()
        if kinds[kind]
    ]
    if not tried:
        return f"No candidate was trained{', as the search' * bool(ended(found))}{ended(found)}."
    n = sum(one.status in ("judged", "screened") for one in tried)
    which = "All" if n == len(tried) > 1 else "It" if n == len(tried) else f"{n} of them"
    words = (
        f"{_candidates(len(tried))}: {listed(listing)}. {which} {_were(n)} compared with "
        f"the original out of fold, in {settings.n_folds} folds of {count(settings.n_search)} rows."
    )
    if n_judged := len(found.judged):
        words += (
            f" The {n_judged} that promised most {_were(n_judged)} judged on "
            f"{count(settings.n_judge)} rows that had played no part, by {settings.n_trainings} "
            "trainings each."
        )
    else:
        words += " None was judged on the rows held out for that."
    return (
        f"{words} It took {seconds(settings.seconds)}{', and' * bool(ended(found))}{ended(found)}."
    )


def ended(found: FoundAlternatives) -> str:
    """What ended the search before its end, if anything did."""
    reason = found.settings.stop_reason
    names = {"interrupted": "Ctrl-C", "callback": "a callback", "max_time": "its time, max_time"}
    return "" if reason in ("", "complete") else f" was ended by {names.get(reason, reason)}"


def _candidates(n: int) -> str:
    return f"{n:,} candidate{'s' * (n != 1)}"


def _were(n: int) -> str:
    return "was" if n == 1 else "were"


def told(found: FoundAlternatives) -> Alternative | None:
    """The candidate that is told of: what was found, the nearest, or the first that was judged."""
    if found.nearest != "original":
        return found[found.nearest]
    return found.judged[0] if found.judged else None


def who_gains(found: FoundAlternatives) -> str:
    """Whose rates rise and fall for certain with the candidate that is told of."""
    one = told(found)
    if one is None:
        return "Not known: no candidate was judged."
    if not one.groups:
        was = "no groups were compared" if one.status == "judged" else "it was not judged"
        return f"Not known of {quoted(one.name)}: {was}."
    clear = [group for group in one.groups if _is_clear(group.change)]
    clear.sort(key=lambda group: -(group.change.value or 0.0))
    listing = [f"{group_of(group)} by {change_of(found, group)}" for group in clear[:6]]
    if len(clear) > 6:
        listing.append(f"{len(clear) - 6} more groups")
    what = quoted(one.name)
    rest = len(one.groups) - len(clear)
    if not clear:
        return (
            f"With {what} no group's {rate_name(found)} changes for certain: the intervals of all "
            f"{rest} hold 0."
        )
    open_words = ""
    if rest:
        open_words = f" For {rest} other group{'s' * (rest > 1)} that is not certain."
    return f"With {what} the {rate_name(found)} changes for {listed(listing)}.{open_words}"


def _is_clear(change: Interval) -> bool:
    return change.low is not None and change.high is not None and not change.low <= 0 <= change.high


def rate_name(found: FoundAlternatives) -> str:
    """What of a group changes."""
    settings = found.settings
    if settings.task == "regression" and settings.favourable in ("", "mean"):
        return "mean prediction"
    return f"rate of {quoted(settings.favourable)}"


def group_of(group: GroupChange) -> str:
    """A group with its attribute; a small one with its rows."""
    return group_named(group.group, group.attribute, group.n)


def change_of(found: FoundAlternatives, group: GroupChange) -> str:
    """By how much the rate of a group changes: rates in percentage points."""
    change = group.change
    if rate_name(found) == "mean prediction":
        return with_bounds(change)
    if change.value is None or change.low is None or change.high is None:
        return ABSENT if change.value is None else f"{100 * change.value:+.1f} points"
    return f"{100 * change.value:+.1f} points ({100 * change.low:+.1f} to {100 * change.high:+.1f})"


def how_sure(found: FoundAlternatives) -> str:
    """What the intervals hold for, and what they leave open."""
    settings, name = found.settings, named(found.settings.disparity[0], False)
    words = (
        f"Intervals hold for all candidates and measures on the same rows at once "
        f"({level(settings.confidence)}); those of judged candidates reckon with how models differ "
        "from training to training."
    )
    if found.not_excluded and found.verdict != "not found":  # which says so itself
        words += (
            f" The rows do not exclude that one of the candidates compared is as good and has a "
            f"gain in {name} of up to {number(found.not_excluded)}."
        )
    return words


def not_tried(found: FoundAlternatives) -> str:
    """What was not tried, and could have been."""
    kinds = list(map(isolate, found.settings.not_searched))
    words = f"{listed(kinds)}. " if kinds else ""
    n_missing = sum(
        one.status in ("failed", "not reached", "dropped") for one in found.alternatives[1:]
    )
    if n_missing:
        words += (
            f"{_candidates(n_missing)} failed, {_were(n_missing)} given up on few rows, or not "
            "reached. "
        )
    words = words[:1].upper() + words[1:]
    return f"{words}Other data, other targets, and another use of the prediction."


def not_shown(found: FoundAlternatives) -> list[str]:
    """What the verdict cannot tell."""
    settings = found.settings
    measures = listed([named(name, False) for name in settings.disparity])
    return [
        "Only the candidates listed here were compared. That none of them is an alternative does "
        "not show that there is none.",
        "What is found on one sample need not hold on the next: the figures are about people like "
        "those in the table. Measure again on new data, before a model is used and while it is.",
        f"As good is meant by {named(settings.score, False)} and a margin of {settings.margin:g}, "
        "which whoever searched has chosen. What else the model is needed for was not compared.",
        f"More alike is meant by {measures}. Another measure, or groups that were not compared, "
        "may show the contrary.",
        "Targets are taken as they are. Where they hold past decisions of people, a model that "
        "predicts them well repeats these.",
        "An alternative that is told apart by the sensitive attributes themselves, or trained with "
        "them, may be open to objections of its own.",
        "Whether a model may be used, or has to be replaced, is a question of law and of the "
        "purpose, which figures do not answer.",
    ]


def steps_of(found: FoundAlternatives) -> list[Step]:
    """What the reader may do next."""
    steps = {
        "found": Step(
            10,
            "Audit best_estimator_ on rows that played no part here, before it replaces the model.",
            "Run an audit", "how_to/run_an_audit",
        ),
        "cannot be told": Step(
            10, "Search again with more rows, or say a larger margin that the purpose allows.",
            "Show that there is no better model", "how_to/show_that_there_is_no_better_model",
        ),
        "not found": Step(
            10, "Search wider: other settings, estimators, methods, and columns.",
            "Show that there is no better model", "how_to/show_that_there_is_no_better_model",
        ),
    }  # fmt: skip
    first = steps[found.verdict]
    limits = Step(20, "Read what no audit shows.", "What a finding does not show",
                  "explanation/limits")  # fmt: skip
    return [first, limits]
