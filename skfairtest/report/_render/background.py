"""The second half of a report: groups, errors, what it does not show, and the appendix."""

from __future__ import annotations

from typing import Any

from skfairtest.finding._words import ABSENT, number, percent, value_text
from skfairtest.report._render.blocks import (
    CodeBlock,
    FigureBlock,
    FoldBlock,
    ItemsBlock,
    Section,
    TableBlock,
    TermsBlock,
    TextBlock,
    count,
    figure,
    fixed,
    level,
    rate_of,
    rule_score,
    seconds,
    table,
    with_interval,
)
from skfairtest.report._render.findings import why_not
from skfairtest.report._render.words import group_named, in_sample, isolate, quoted

#: What marks groups below the support of the search for differences.
TOO_SMALL = "*"


# Groups ----------------------------------------------------------------------------------------


def groups(report: dict[str, Any]) -> Section:
    """Groups of the rows: their rates, and which of them differ most from everybody else."""
    blocks = [*_rates(report), *_differences(report)]
    return Section("groups", "Groups", tuple(blocks))


def _differences(report: dict[str, Any]) -> list[Any]:
    """The groups of rows whose shares or means differ most from all others'."""
    part = report["groups"]
    blocks: list[Any] = list(why_not(part, "Differences between groups"))
    if not part["rules"]:
        return blocks
    blocks.append(TextBlock(f"{_compared(part)} {_how_compared(part)}"))
    return blocks + _rules_blocks(report, "groups", part)


def perturbed_groups(report: dict[str, Any]) -> Section:
    """TestSGD's groups of perturbed inputs."""
    part = report["perturbed_groups"]
    blocks: list[Any] = list(why_not(part, "Groups of perturbed inputs"))
    rules = part["rules"]
    if rules:
        favourable = isolate(part["favourable"])
        what = f"share of {favourable}" if favourable != "mean" else "mean prediction"
        blocks.append(
            TextBlock(
                "This compares predictions near the rows, not for the rows themselves: as in "
                "TestSGD, each input is a row with one attribute moved, and need not resemble "
                f"real people. Each of {count(part['n_rules'])} rules is compared with "
                f"all other inputs by its {what}. {_intervals(part)} They hold for such inputs "
                "and say nothing about numbers of people."
            )
        )
        shown = rules[:10]
        scores = [rule_score(rule, fixed) for rule in shown]
        names = [isolate(rule["rule"]) for rule in shown]
        alt = "; ".join(map(": ".join, zip(names, scores, strict=True)))
        drawn = {**report, "perturbed_groups": {**part, "rules": shown}}
        caption = f"Difference of the {what} of perturbed inputs, within the group and outside"
        blocks.append(FigureBlock("perturbed_groups", drawn, caption, alt))
    return Section("perturbed", "Groups of perturbed inputs (TestSGD)", tuple(blocks))


def _intervals(part: dict[str, Any]) -> str:
    at = level(part["confidence"])
    if part["correction"] == "none":
        return (
            f"Each interval holds by itself at {at}; of many intervals, some miss the true value "
            "by chance."
        )
    name = part["correction"]
    by = "by resampling" if name == "resampling" else name.capitalize()
    return f"The intervals hold for all of them at once at {at} ({by})."


def _compared(part: dict[str, Any]) -> str:
    """What was compared on rows, of how many, and how many groups differ."""
    label = quoted(part["favourable"]) if part["favourable"] else "the favourable answer"
    value = _words(part["metric"])(_no_rounding(part["overall"]))
    sentence = METRICS.get(part["metric"], "{name}: {value}")
    sentence = sentence.format(value=value, label=label, name=part["metric"])
    return f"{sentence[:1].upper()}{sentence[1:]}{in_sample(part)}. {_listed(part)}"


#: What each metric says of all people, in words.
METRICS = {
    "selection_rate": "{label} is predicted for {value} of all people (selection rate)",
    "mean_prediction": "the mean prediction is {value}",
    "false_positive_rate": "{label} is predicted for {value} of the people whose truth is another "
    "(false positive rate)",
    "false_negative_rate": "{label} is not predicted for {value} of the people whose truth it is "
    "(false negative rate)",
    "accuracy": "the prediction is right for {value} of all people (accuracy)",
    "mean_error": "prediction minus truth is {value} on average (mean error)",
    "mean_absolute_error": "predictions are off by {value} on average (mean absolute error)",
}


def _no_rounding(value: float | None) -> float | None:
    """A mean that is 0 but for the rounding of its sum as 0."""
    return 0.0 if value is not None and abs(value) < 1e-12 else value


def _how_compared(part: dict[str, Any]) -> str:
    """Which groups were compared, and what the intervals are about; for all metrics alike."""
    conditions = part["max_conditions"]
    return (
        f"Groups of {level(part['min_support'])} of the rows or more, by up to "
        f"{count(conditions)} condition{'s' * (conditions != 1)}, are compared with all other "
        f"rows. {_intervals(part)} They are about the population that the rows are a sample of."
    )


def _rules_blocks(report: dict[str, Any], kind: str, part: dict[str, Any]) -> list[Any]:
    """Picture of rules over rows."""
    name = part["metric"].replace("_", " ")
    # Where nothing is shown to differ, a picture of chance would only be read as a finding.
    rules = [rule for rule in part["rules"] if rule["differs"]]
    if not rules:
        return []
    words, shown = _difference(part["metric"]), rules[:5]
    alt = "; ".join(f"{isolate(rule['rule'])}: {rule_score(rule, words)}" for rule in shown)
    caption = f"Difference in {name}, within the group and outside of it"
    drawn = {**part, "rules": shown}
    seen = {**report, kind: [drawn] if kind == "errors" else drawn}
    return [FigureBlock(kind, seen, caption, alt)]


def _difference(metric: str) -> Any:
    """How a difference of this metric is written: of shares with two decimals."""
    return fixed if _words(metric) is percent else figure


def _rules_table(
    caption: str, rules: list[dict[str, Any]], metric: str, counted: str
) -> TableBlock:
    words, score = _words(metric), _difference(metric)
    rows = [
        [
            rule["rule"],
            rule_score(rule, score) + ("" if rule["differs"] else " – may be none"),
            f"{words(rule['value_inside'])} of {count(rule['n_inside'])}",
            f"{words(rule['value_outside'])} of {count(rule['n_outside'])}",
        ]
        for rule in rules
    ]
    head = ["group", "difference", f"inside, of {counted}", f"outside, of {counted}"]
    return table(caption, head, rows, shown=10)


# Where the model errs --------------------------------------------------------------------------


def errors(report: dict[str, Any]) -> Section:
    """The groups for which false positives, misses or errors differ most, on the rows of data."""
    blocks: list[Any] = []
    if not report["errors"]:
        blocks.append(TextBlock("It is not known what an error of this model is."))
    # What holds for all metrics alike stands there once.
    reasons = {(part["status"], part["reason"]) for part in report["errors"]}
    if len(reasons) == 1 and report["errors"]:
        blocks += why_not(report["errors"][0], "Errors by group")
    is_told = report["groups"]["rules"]
    for part in report["errors"]:
        name = part["metric"].replace("_", " ")
        if len(reasons) > 1:
            blocks += why_not(part, name.capitalize())
        if part["status"] == "done" and not part["rules"]:
            blocks.append(TextBlock(f"{name.capitalize()}: no rule holds for enough rows."))
        if not part["rules"]:
            continue
        how = "" if is_told else f" {_how_compared(part)}"
        is_told = True
        blocks.append(TextBlock(f"{_compared(part)}{how}"))
        blocks += _rules_blocks(report, "errors", part)
    return Section("errors", "Where the model errs", tuple(blocks))


def _listed(part: dict[str, Any]) -> str:
    n = f"{count(part['n_rules'])} groups"
    if not part["n_differ"]:
        return f"None of {n} shows a difference."
    words = "the largest that do not repeat others are drawn"
    return f"{count(part['n_differ'])} of {n} differ; {words}."


# Rates by group --------------------------------------------------------------------------------

_ENDS = ("_low", "_high", "_n")
_WORDS = ("attribute", "group", "note")


def _rates(report: dict[str, Any]) -> list[Any]:
    """The selection table, with the intervals of its figures."""
    part = report["selection"]
    blocks: list[Any] = list(why_not(part, "Rates by group"))
    kept = _kept_groups(part)
    if kept:
        blocks.append(TextBlock(_what_it_is(part)))
        if any(row[rate_of(part["columns"])] is not None for row in kept):
            blocks.append(_selection_figure(report, kept))
    return blocks


def _kept_groups(part: dict[str, Any]) -> list[dict[str, Any]]:
    rows = [dict(zip(part["columns"], row, strict=True)) for row in part["rows"]]
    most = 200  # groups of a page: the JSON has all
    if len(rows) <= most:
        return rows
    # By size and not by rate: the extremes of many small groups are chance.
    largest = sorted(range(len(rows)), key=lambda place: -(rows[place]["n"] or 0))
    return [rows[place] for place in sorted(largest[:most])]


def tables_of_groups(report: dict[str, Any]) -> Section:
    """All rates with their intervals, and the groups that differ most, as tables."""
    part = report["selection"]
    blocks: list[Any] = []
    kept = _kept_groups(part)
    if kept:
        least = report["groups"]["min_support"]
        blocks += _how_small(least)
        blocks += _selection_tables(part["columns"], kept, len(part["rows"]), least)
    for one in (report["groups"], *report["errors"]):
        if one["rules"]:
            name = one["metric"].replace("_", " ")
            caption = f"Where {name} differs most"
            blocks.append(_rules_table(caption, one["rules"], one["metric"], "people"))
    perturbed = report["perturbed_groups"]
    if perturbed is not None and perturbed["rules"]:
        metric = "selection_rate" if perturbed["favourable"] != "mean" else "mean_prediction"
        caption = "Groups of perturbed inputs"
        blocks.append(_rules_table(caption, perturbed["rules"], metric, "inputs"))
    if not blocks:
        blocks.append(TextBlock("No groups were compared."))
    return Section("tables", "Groups in figures", tuple(blocks), in_appendix=True)


def _what_it_is(part: dict[str, Any]) -> str:
    at = f" Intervals are at {level(part['confidence'])}." if part["confidence"] else ""
    if "impact_ratio" not in part["columns"]:
        return f"Each group of the sensitive attributes and of their intersections.{at}"
    small = ""
    if part["min_share"]:
        small = f"; groups of less than {percent(part['min_share'])} of the rows have none"
    favourable = f" of {isolate(part['favourable'])}" if part["favourable"] else ""
    return (
        f"The rate is the share of predictions{favourable} in a group; the impact ratio is this "
        f"rate divided by the highest rate of the same attribute{small}.{at}"
    )


def _how_small(least: float | None) -> list[TextBlock]:
    """What the figures of small groups say, and which groups have the mark."""
    words = (
        "The figures of a group of few rows are mostly chance, which its wide intervals tell: "
        "compare intervals, not figures, where groups are small."
    )
    if least is not None:
        words += (
            f" {TOO_SMALL} marks groups of less than {level(least)} of the rows, which are not "
            "among the groups that are compared with all other rows."
        )
    return [TextBlock(words)]


def _selection_figure(report: dict[str, Any], rows: list[dict[str, Any]]) -> FigureBlock:
    part = report["selection"]
    rate = rate_of(part["columns"])
    words = _words(rate)
    rates = [
        with_interval(row[rate], row.get(f"{rate}_low"), row.get(f"{rate}_high"), words)
        for row in rows[:10]
    ]
    names = [isolate(row["group"]) for row in rows]
    alt = "; ".join(map(": ".join, zip(names, rates, strict=False)))
    # A picture shows fifteen of these groups.
    drawn = [list(row.values()) for row in rows[:15] if row[rate] is not None]
    caption = f"{rate.replace('_', ' ').capitalize()} by group"
    if len(drawn) < len(rows):
        caption += f", the first {len(drawn)} of the table"
    return FigureBlock("selection", {**report, "selection": {**part, "rows": drawn}}, caption, alt)


def _words(column: str) -> Any:
    if column == "n":
        return count
    if column == "impact_ratio":
        return fixed
    is_share = column in ("share", "accuracy") or column.endswith("_rate")
    return percent if is_share else figure


def _selection_tables(
    columns: list[str], rows: list[dict[str, Any]], n_rows: int, least: float | None
) -> list[TableBlock]:
    """All figures of the groups, in tables that are no wider than a page."""
    names = [
        name
        for name in columns
        if not any(name.endswith(end) and name.removesuffix(end) in columns for end in _ENDS)
        and name not in ("attribute", "group", "n", "note")
    ]
    # A column of notes that are all empty says nothing.
    notes = ["note"] * any(row["note"] for row in rows)
    of_errors = [name for name in names if name.endswith(_OF_ERRORS)]
    of_rows = [name for name in names if name not in of_errors]
    parts = [("Rates by group, with intervals", ["n", *of_rows, *notes])]
    if of_errors:
        parts.append(("Errors by group, with intervals", of_errors))
    several = len({row["attribute"] for row in rows}) > 1
    groups = [_named(row, several, least) for row in rows]
    tables = []
    for caption, chosen in parts:
        cells = [
            [group, *(_selection_cell(row, name) for name in chosen)]
            for group, row in zip(groups, rows, strict=True)
        ]
        head = ["group", *({"n": "people"}.get(name, name.replace("_", " ")) for name in chosen)]
        words = [place for place, name in enumerate(["group", *chosen]) if name in _WORDS]
        if len(rows) < n_rows:
            caption += f"; the {len(rows)} groups with the most rows, of {count(n_rows)}"
        tables.append(table(caption, head, cells, words=words))
    return tables


_OF_ERRORS = ("positive_rate", "negative_rate", "accuracy", "error")


def _named(row: dict[str, Any], with_attribute: bool, least: float | None) -> str:
    """The name of a group, with a mark if it is too small to be compared with all others."""
    name = str(row["group"])
    if with_attribute:
        name = group_named(row)
    is_small = least is not None and row["share"] is not None and row["share"] < least
    return f"{name} {TOO_SMALL}" if is_small else name


def _selection_cell(row: dict[str, Any], name: str) -> str:
    if name in _WORDS:
        return str(row[name])
    text = with_interval(row[name], row.get(f"{name}_low"), row.get(f"{name}_high"), _words(name))
    of = row.get(f"{name}_n")
    return f"{text} of {count(of)}" if of is not None else text


# Model, data and domain ------------------------------------------------------------------------


def model(report: dict[str, Any]) -> Section:
    """What was audited, and on which inputs."""
    about, data = report["model"], report["data"]
    of = f"{about['class']}, ending in {about['final']}"
    terms = [
        ("Model", about["class"] if about["class"] == about["final"] else of),
        ("Task", about["task"]),
        ("Method called", _ASKED.get(about["response"], about["response"])),
        ("Classes", _classes(about)),
        ("Sensitive", ", ".join(map(isolate, report["sensitive_features"]))),
        ("Counted as different", _counted(report)),
        ("Rows", count(data["n_rows"])),
        ("Columns", count(data["n_columns"])),
        ("Target", "given" if data["target_given"] else "not given"),
    ]
    blocks: list[Any] = [
        TermsBlock(tuple((name, words) for name, words in terms if words)),
        TextBlock("The model as Python writes it:", True),
        CodeBlock(_short(about["repr"]), "model"),
        _domain_table(report["domain"]["attributes"]),
    ]
    conditions = report["domain"]["conditions"]
    if conditions:
        blocks.append(TextBlock("Inputs of the search keep to these conditions:", True))
        blocks.append(ItemsBlock(tuple(map(isolate, conditions[:20]))))
        if len(conditions) > 20:
            more = ItemsBlock(tuple(map(isolate, conditions[20:500])))
            blocks.append(FoldBlock(f"{len(conditions) - 20:,} more conditions", (more,)))
    return Section("model", "Model, data and domain", tuple(blocks), in_appendix=True)


def _counted(report: dict[str, Any]) -> str:
    """What of a twin is counted as different."""
    if report["threshold"] is not None:
        return f"outputs that differ by more than {number(report['threshold'])}"
    is_regression = report["model"]["task"] == "regression"
    return "another prediction" if is_regression else "another predicted label"


_ASKED = {"labels": "predict", "regression": "predict"}


def _classes(about: dict[str, Any]) -> str:
    if about["n_classes"] is None:
        return ""
    rest = about["n_classes"] - len(about["classes"])
    names = ", ".join(map(isolate, about["classes"]))
    return f"{about['n_classes']}: {names}" + (f" and {rest} more" if rest > 0 else "")


def _short(text: str, most: int = 5_000) -> str:
    return text if len(text) <= most else f"{text[:most]} …"


def _domain_table(attributes: list[dict[str, Any]]) -> TableBlock:
    # Sensitive ones first, as a long table folds the rest.
    attributes = sorted(attributes, key=lambda attribute: not attribute["sensitive"])
    rows = [
        [
            str(attribute["name"]),
            "sensitive" if attribute["sensitive"] else "",
            attribute["kind"],
            str(attribute["domain"]),
            ABSENT if attribute["step"] is None else value_text(attribute["step"]),
            count(attribute["columns"]),
        ]
        for attribute in attributes
    ]
    head = ["attribute", "role", "kind", "domain", "step", "columns"]
    # Columns in which all rows are the same tell nothing.
    usual = {4: ABSENT, 5: "1"}
    drop = {place for place, same in usual.items() if all(row[place] == same for row in rows)}
    keep = [place for place in range(len(head)) if place not in drop]
    rows = [[row[place] for place in keep] for row in rows]
    words = [place for place, old in enumerate(keep) if head[old] not in ("step", "columns")]
    return table(
        "The domain: inputs that the search may generate",
        [head[place] for place in keep],
        rows,
        shown=15,  # the others are folded away
        words=words,
    )


# Cost, and limits ------------------------------------------------------------------------------


def cost(report: dict[str, Any]) -> Section:
    """What it took, and the code that repeats it."""
    spent = report["cost"]
    most = "" if spent["max_time"] is None else f", of {seconds(spent['max_time'])} at most"
    seed = report["seed"]
    terms = [
        ("Made", report["created"]),
        ("Predictions", f"{count(spent['queries'])} inputs given to the model"),
        ("Time", f"{seconds(spent['seconds'])}{most}"),
        ("Seed", "none: another run may find other pairs" if seed is None else str(seed)),
        (
            "Versions",
            ", ".join(f"{name} {version}" for name, version in report["versions"].items()),
        ),
    ]
    rows = [
        [
            part["part"],
            "; ".join(
                [part["status"] + (f": {part['reason']}" if part["reason"] else ""), *part["notes"]]
            ),
            count(part["queries"]),
            seconds(part["seconds"]),
        ]
        for part in report["parts"]
    ]
    blocks: list[Any] = [TermsBlock(tuple(terms))]
    if rows:
        head = ["part", "status", "predictions", "time"]
        blocks.append(table("Parts in the order they ran", head, rows, shown=12, words=[1]))
    settings = tuple((str(name), str(value)) for name, value in report["settings"].items())
    if settings:
        blocks.append(TermsBlock(settings))
    if report["code"]:
        blocks += [TextBlock("This repeats the audit:"), CodeBlock(report["code"], "Python")]
    blocks.append(
        TextBlock("report.to_json(path) writes all figures of this report as data.", True)
    )
    return Section("cost", "Cost, versions and code", tuple(blocks), in_appendix=True)


def limits(report: dict[str, Any]) -> Section:
    """What this does not show."""
    return Section("limits", "What this does not show", (ItemsBlock(tuple(report["not_shown"])),))
