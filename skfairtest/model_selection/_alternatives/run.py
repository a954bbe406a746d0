"""A search for alternatives from its rows to its result: screen, judge, tell."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import rankdata
from sklearn.model_selection import check_cv

from skfairtest import _clock
from skfairtest._typing import Floats, Ints
from skfairtest.inspection._front import not_dominated
from skfairtest.mitigation._comparison.jackknife import deal
from skfairtest.model_selection._alternatives.candidates import Candidate
from skfairtest.model_selection._alternatives.judging import Changes, Criteria, changes_of
from skfairtest.model_selection._alternatives.measures import (
    Answers,
    GroupRates,
    Measure,
    Sample,
    in_place,
)
from skfairtest.model_selection._alternatives.result import (
    Alternative,
    Figures,
    FoundAlternatives,
    GroupChange,
    Interval,
    SearchSettings,
    Status,
    Verdict,
)
from skfairtest.model_selection._alternatives.samplers import Sampler
from skfairtest.model_selection._alternatives.trainings import (
    Trained,
    Training,
    Work,
    run_training,
)
from skfairtest.workers._sending import on_workers

#: Candidates that are judged at most: each makes the intervals of the others wider.
MOST_JUDGED = 2
#: How often the folds are drawn anew for the trainings that are judged.
N_REPEATS = 4
#: Parts of the rows that a jackknife leaves out in turn; fewer where each asks the model itself.
N_PARTS, N_PARTS_ASKED = 40, 8


class Plan(NamedTuple):
    """Which rows search and which judge, and what is trained on which."""

    searches: Sample  # rows that search
    judges: Sample  # rows that judge
    folds: list[Training]  # a training for each fold of the rows that search
    places: list[Ints]  # where the rows of each fold stand among those
    trainings: list[Training]  # of what is judged
    seed: int  # of the model that is handed over


def make_plan(
    work: Work, strata: Ints, cv: Any, held_out: float, asks: bool, rng: np.random.Generator
) -> Plan:
    """Deal the rows out; of each stratum the same share searches and judges.

    Raises
    ------
    ValueError
        For folds that hold out a row twice, and more of them than rows.
    """
    order = rng.permutation(len(strata))
    order = order[np.argsort(strata[order], kind="stable")]
    steps = np.floor(np.arange(len(order) + 1) * held_out + rng.random())
    judges = np.zeros(len(order), dtype=bool)
    judges[order] = np.diff(steps) > 0
    search, judge = np.flatnonzero(~judges), np.flatnonzero(judges)
    held = _held(work, search, strata, cv, rng)
    again = held
    if isinstance(cv, (int, np.integer)):
        again = [fold for _ in range(N_REPEATS) for fold in _held(work, search, strata, cv, rng)]
    n_parts = N_PARTS_ASKED if asks else N_PARTS
    # Each row once, in the order of the folds that hold it out.
    rows = np.concatenate(held)
    number = np.repeat(np.arange(len(held)), [len(fold) for fold in held])
    parts = number if asks else deal(strata[rows], N_PARTS, rng)
    searches = _sample(work, rows, parts)
    places = [np.flatnonzero(number == k) for k in range(len(held))]
    judging = _sample(work, judge, deal(strata[judge], n_parts, rng))
    seeds = iter(rng.integers(2**31 - 1, size=len(held) + len(again) + 1).tolist())
    return Plan(
        searches,
        judging,
        [Training(np.setdiff1d(search, fold), searches.whole(place), next(seeds))
         for fold, place in zip(held, places, strict=True)],
        places,
        [Training(np.setdiff1d(search, fold), judging, next(seeds)) for fold in again],
        next(seeds),
    )  # fmt: skip


def _sample(work: Work, rows: Ints, parts: Ints) -> Sample:
    weights = None if work.weights is None else work.weights[rows]
    return Sample(rows, work.y[rows], weights, parts)


def _held(work: Work, rows: Ints, strata: Ints, cv: Any, rng: np.random.Generator) -> list[Ints]:
    """Rows that each fold holds out."""
    if isinstance(cv, (int, np.integer)):
        number = deal(strata[rows], int(cv), rng)
        return [rows[number == k] for k in range(int(number.max()) + 1)]
    y = work.y[rows]
    splitter = check_cv(cv, y, classifier=work.classes is not None)
    held = [rows[fold] for _, fold in splitter.split(np.zeros((len(rows), 1)), y)]
    often = np.unique(np.concatenate(held), return_counts=True)[1]
    if len(held) < 2 or (often > 1).any():
        raise ValueError(
            "cv must have two folds or more, and hold out no row twice, so that each has one "
            f"prediction; got {len(held)} folds, and {int((often > 1).sum())} rows twice. Take a "
            "number, or KFold or StratifiedKFold."
        )
    return held


@dataclass
class Record:
    """What is known of a candidate so far."""

    candidate: Candidate  # what it is
    status: Status = "not reached"  # how far it came
    note: str = ""  # why no further
    screened: Floats | None = None  # measures on the rows that search, (n_measures, 1 + n_parts)
    of_folds: Floats | None = None  # (n_folds, n_measures)
    predicted: Any = None  # for the rows that search
    judged: Floats | None = None  # on the rows that judge, (n_trainings, n_measures, 1 + n_parts)
    rates: Floats | None = None  # rates of groups there
    seconds: list[float] = field(default_factory=list)  # of each training


class Run:
    """Trains, and keeps what was found; Ctrl-C and the end of the time end the search only.

    `measures` are the score and the disparities, `rates` those of favourable predictions, to tell
    who gains; `tick` is called after each training, with words, and says whether to stop.
    """

    def __init__(
        self,
        work: Work,
        plan: Plan,
        measures: list[Measure],
        rates: GroupRates | None,
        criteria: Criteria,
        *,
        n_jobs: int | None,
        deadline: _clock.Deadline,
        tick: Callable[[str], bool],
        rng: np.random.Generator,
    ) -> None:
        self.work, self.plan, self.measures, self.rates = work, plan, measures, rates
        self.criteria, self.rng = criteria, rng
        self.stop_reason = "complete"
        self.records: list[Record] = []
        self.screening: Changes | None = None
        self.judging: Changes | None = None
        #: Places of what is judged among the records, and of what was found.
        self.judged: list[int] = []
        self.found: int | None = None
        self._n_jobs, self._deadline, self._tick = n_jobs, deadline, tick
        self._began, self._n_trained = _clock.now(), 0
        self._asked_to_stop = False
        self._of_params: dict[int, tuple[Any, Record]] = {}

    # Trainings -------------------------------------------------------------------------------

    def _train(
        self, records: list[Record], trainings: list[Training], words: str
    ) -> Iterator[tuple[Record, list[Trained]]]:
        """Train each of the candidates; one that fails does so as a whole."""
        tasks = [(record.candidate, training) for record in records for training in trainings]
        done: list[Trained] = []
        for trained in on_workers(run_training, self.work, tasks, self._n_jobs):
            self._n_trained += 1
            if self._tick(words):
                self._asked_to_stop = True
            done.append(trained)
            if len(done) % len(trainings) == 0:
                record = records[len(done) // len(trainings) - 1]
                last = done[-len(trainings) :]
                record.seconds += [one.seconds for one in last if not one.reason]
                record.note = next((one.reason for one in last if one.reason), "")
                yield record, last
            self._check_time(0)

    def _check_time(self, n_later: int) -> None:
        """End where no time is left for so many trainings, at the pace so far."""
        pace = (_clock.now() - self._began) / max(1, self._n_trained)
        if self._asked_to_stop or self._deadline.left <= pace * n_later:
            raise _clock.OutOfTime

    def _ended(self, error: BaseException) -> None:
        interrupted = isinstance(error, KeyboardInterrupt)
        stopped = "callback" if self._asked_to_stop else "max_time"
        self.stop_reason = "interrupted" if interrupted else stopped

    # Screening -------------------------------------------------------------------------------

    def screen_original(self, candidate: Candidate) -> Record:
        """The original, without which nothing can be compared.

        Raises
        ------
        ValueError
            If it cannot be trained, or a measure of it is undefined.
        """
        record = Record(candidate)
        self.records.append(record)
        for _ in self._screened([record], self.plan.folds):
            pass
        if record.screened is None:
            raise ValueError(
                f"The original could not be trained and measured in every fold: {record.note}. "
                "Mend it, or choose other folds (cv=), scoring= or disparity=."
            )
        return record

    def screen(self, fixed: list[Candidate], sampler: Sampler | None, make: Any) -> None:
        """All candidates: those that are known at once, then what a sampler proposes."""
        try:
            known = [Record(candidate, note=candidate.reason) for candidate in fixed]
            self._screen(known, 1.0)
            values = None
            while sampler is not None and (asked := sampler.ask(values)) is not None:
                drawn = [self._drawn(params, make) for params in asked.params]
                values = self._screen(drawn, asked.share)
        except (_clock.OutOfTime, KeyboardInterrupt) as error:
            self._ended(error)

    def _drawn(self, params: dict[str, Any], make: Any) -> Record:
        """The record of settings; halving proposes the same ones again, for more rows."""
        if id(params) not in self._of_params:
            candidate = make(params)
            self._of_params[id(params)] = params, Record(candidate, note=candidate.reason)
        return self._of_params[id(params)][1]

    def _screen(self, records: list[Record], share: float) -> Floats:
        """Score and first gain of each, NaN where it failed."""
        new = [record for record in records if not any(record is known for known in self.records)]
        self.records += new
        able = [record for record in records if record.candidate.estimator is not None]
        for record in records:
            record.status = "failed" if record.candidate.estimator is None else "not reached"
        trainings = [
            training._replace(rows=_share(training.rows, share, training.seed))
            for training in self.plan.folds
        ]
        for record in self._screened(able, trainings):
            if share < 1 and record.status == "screened":
                record.status, record.note = "dropped", f"on {share:.0%} of the rows"
            # Judging needs time, too, and so does the model that is handed over.
            self._check_time((MOST_JUDGED + 1) * len(self.plan.trainings) + 1)
        return self.values(records)

    def _screened(self, records: list[Record], trainings: list[Training]) -> Iterator[Record]:
        for record, trained in self._train(records, trainings, "search"):
            record.status = "failed"
            if not record.note:
                try:
                    self._measure(record, trained)
                    record.status = "screened"
                except ValueError as error:
                    record.note = f"{type(error).__name__}: {error}"
            yield record

    def _measure(self, record: Record, trained: list[Trained]) -> None:
        """Measures on the rows that search, from the models that have not seen them."""
        plan, n = self.plan, len(self.plan.searches.rows)
        answers = [one.answers for one in trained]
        common = set.intersection(*(set(one.predictions) for one in answers))
        whole = Answers(
            {name: in_place([one.predictions[name] for one in answers], plan.places, n)
             for name in common},
            {measure.name: measure.joined(
                [one.own[measure.name] for one in answers], plan.places, n)
             for measure in self.work.measures},
        )  # fmt: skip
        screened = np.array([one.values(whole, plan.searches) for one in self.measures])
        undefined = [
            one.name for one, values in zip(self.measures, screened, strict=True)
            if not np.isfinite(values[0])
        ]  # fmt: skip
        if undefined:
            raise ValueError(f"undefined: {', '.join(undefined)}")
        record.of_folds = np.array([
            [_of_fold(measure, one, fold.asked) for measure in self.measures]
            for one, fold in zip(answers, plan.folds, strict=True)
        ])  # fmt: skip
        record.screened, record.predicted = screened, whole.predictions["predict"]

    @property
    def signs(self) -> Ints:
        """By which changes of measures are multiplied to be gains."""
        return np.array([measure.sign for measure in self.measures])

    def values(self, records: list[Record]) -> Floats:
        """Score and first disparity, both greater where better; NaN where there are none."""
        found = np.full((len(records), 2), np.nan)
        for place, record in enumerate(records):
            if record.screened is not None and record.status != "failed":
                found[place] = record.screened[:2, 0] * self.signs[:2]
        return found

    # Judging ---------------------------------------------------------------------------------

    def compare(self) -> None:
        """Changes of all candidates that were screened to the end, on the rows that search."""
        compared = self.compared
        if compared:
            original = self.records[0].screened
            gains = np.array([self._gains(record.screened, original) for record in compared])
            self.screening = changes_of(gains[:, :, None], self.rng)

    @property
    def compared(self) -> list[Record]:
        """Candidates that were screened to the end."""
        return [one for one in self.records[1:] if one.status in ("screened", "judged")]

    def _gains(self, own: Any, original: Any) -> Floats:
        return np.asarray((own - original) * self.signs[:, None])

    def judge(self) -> None:
        """Train the short list again, and compare it on the rows that judge."""
        compared = self.compared
        if self.screening is None or self.stop_reason == "interrupted":
            return

        def alike(one: int, other: int) -> bool:
            return np.array_equal(compared[one].predicted, compared[other].predicted)

        short = self.criteria.short_list(self.screening, MOST_JUDGED, alike)
        records = [self.records[0], *(compared[place] for place in short)]
        if not short:
            return
        done = []
        try:
            for record, trained in self._train(records, self.plan.trainings, "judge"):
                if record.note:
                    record.status = "failed"
                    continue
                self._measure_judged(record, [one.answers for one in trained])
                done.append(record)
        except (_clock.OutOfTime, KeyboardInterrupt) as error:
            self._ended(error)
        if done and done[0] is self.records[0] and len(done) > 1:
            self._tell(done)

    def _measure_judged(self, record: Record, answers: list[Answers]) -> None:
        sample = self.plan.judges
        record.judged = np.array(
            [[measure.values(one, sample) for measure in self.measures] for one in answers]
        )
        if self.rates is not None:
            record.rates = np.array([self.rates.of_groups(one, sample)[0].T for one in answers])

    def _tell(self, done: list[Record]) -> None:
        original, *judged = done
        gains = np.array([self._gains(record.judged, original.judged) for record in judged])
        self.judging = changes_of(gains.swapaxes(1, 2), self.rng)
        for record in done:
            record.status = "judged"
        self.judged = [self._place(record) for record in judged]
        certain = np.flatnonzero(self.criteria.for_certain(self.judging))
        if len(certain):
            self.found = self.judged[certain[self.judging.low[certain, 1].argmax()]]

    def _place(self, record: Record) -> int:
        return next(k for k, one in enumerate(self.records) if one is record)

    # Results ---------------------------------------------------------------------------------

    def result(self, settings: SearchSettings) -> FoundAlternatives:
        """The verdict, and all that it rests on; the sentence is still to be written."""
        verdict, nearest, rows_needed = self._verdict()
        not_excluded = None
        if self.screening is not None:
            not_excluded = self.criteria.not_excluded(self.screening)
        return FoundAlternatives(
            verdict=verdict, sentence="", best=self.records[self.found or 0].candidate.name,
            nearest=self.records[nearest].candidate.name, rows_needed=rows_needed,
            not_excluded=not_excluded, alternatives=self.alternatives(), settings=settings,
        )  # fmt: skip

    def _verdict(self) -> tuple[Verdict, int, int | None]:
        """The verdict, the place of what is nearest to an alternative, and rows that would tell."""
        if self.found is not None:
            return "found", self.found, None
        if self.judging is not None and self.criteria.by_estimate(self.judging).any():
            n_rows = len(self.plan.searches.rows) + len(self.plan.judges.rows)
            nearest, needed = self.criteria.rows_needed(self.judging, n_rows)
            return "cannot be told", self.judged[nearest], needed
        if self.judging is None:
            promising = (
                self.screening is not None and self.criteria.by_estimate(self.screening).any()
            )
            if promising or self.stop_reason != "complete":
                return "cannot be told", 0, None
        left = self._left_open()
        return ("not found" if left is None else "cannot be told"), left or 0, None

    def _left_open(self) -> int | None:
        """The place of a candidate that was not judged, has a gain, and may be as good."""
        if self.screening is None:
            return None
        compared = self.compared
        not_judged = np.array([record.status != "judged" for record in compared])
        left = np.flatnonzero(self.criteria.left_open(self.screening) & not_judged)
        if not len(left):
            return None
        return self._place(compared[left[self.screening.value[left, 0].argmax()]])

    def failures(self) -> list[str]:
        """What a user should know of candidates that failed: one sentence for all."""
        failed = [one for one in self.records if one.status == "failed"]
        if not failed:
            return []
        first = failed[0]
        return [
            f"{len(failed)} of {len(self.records) - 1} candidates failed, the first, "
            f"{first.candidate.name}, by {first.note}. See alternatives_['note']."
        ]

    def cv_results(self) -> dict[str, Any]:
        """What every search has, one entry for each candidate."""
        names = sorted({key for one in self.records for key in one.candidate.params})
        results: dict[str, Any] = {
            "candidate": np.array([one.candidate.name for one in self.records], dtype=object),
            "mean_fit_time": np.array([np.mean(one.seconds or [np.nan]) for one in self.records]),
            "params": [dict(one.candidate.params) for one in self.records],
        }
        for name in names:
            given = [one.candidate.params for one in self.records]
            column = np.ma.MaskedArray(np.empty(len(given), dtype=object), mask=True)
            for place, params in enumerate(given):
                if name in params:
                    column[place] = params[name]
            results[f"param_{name}"] = column
        n_folds = len(self.plan.folds)
        for j, measure in enumerate(self.measures):
            prefix = "" if measure.higher_is_better else "neg_"
            name = "score" if j == 0 else f"{prefix}{measure.name}"
            of_folds = np.full((len(self.records), n_folds), np.nan)
            for place, record in enumerate(self.records):
                if record.of_folds is not None and record.status in ("screened", "judged"):
                    of_folds[place] = record.of_folds[:, j] * measure.sign
            for k in range(n_folds):
                results[f"split{k}_test_{name}"] = of_folds[:, k]
            results[f"mean_test_{name}"] = of_folds.mean(axis=1)
            results[f"std_test_{name}"] = of_folds.std(axis=1)
            results[f"rank_test_{name}"] = _ranks(results[f"mean_test_{name}"])
        return results

    def alternatives(self) -> list[Alternative]:
        """Everything that is known, as plain data."""
        values = self.values(self.records)
        values[[one.status not in ("screened", "judged") for one in self.records]] = np.nan
        front = not_dominated(values)
        compared = self.compared
        found = []
        for place, record in enumerate(self.records):
            row = next((k for k, one in enumerate(compared) if one is record), None)
            screened = self._figures(record.screened, self.screening, row)
            judged, groups = Figures(), []
            if record.status == "judged" and record.judged is not None:
                row = self.judged.index(place) if place else None
                judged = self._figures(record.judged.mean(axis=0), self.judging, row)
                groups = self._groups(record)
            found.append(Alternative(
                name=record.candidate.name, kind=record.candidate.kind,
                params={key: str(value) for key, value in record.candidate.params.items()},
                status=record.status, note=record.note, on_front=bool(front[place]),
                screened=screened, judged=judged, groups=groups,
                fit_seconds=float(np.mean(record.seconds)) if record.seconds else None,
            ))  # fmt: skip
        return found

    def _figures(self, values: Any, changes: Changes | None, row: int | None) -> Figures:
        """Figures of the candidate in a row of the changes; of the original without a row."""
        if values is None:
            return Figures()
        names = [measure.name for measure in self.measures]
        same = [Interval.of(0.0, 0.0)] * len(names) if row is None else []
        if row is not None and changes is not None:
            same = [
                Interval.of(value, reach)
                for value, reach in zip(changes.value[row], changes.reach[row], strict=True)
            ]
        spread = {}
        if row is not None and changes is not None and changes.spread is not None:
            spread = dict(zip(["score", *names[1:]], changes.spread[row].tolist(), strict=True))
        return Figures(
            score=float(values[0, 0]),
            disparity=dict(zip(names[1:], values[1:, 0].tolist(), strict=True)),
            score_change=same[0],
            gain=dict(zip(names[1:], same[1:], strict=True)),
            spread=spread,
        )

    def _groups(self, record: Record) -> list[GroupChange]:
        """Who gains and who loses, with intervals that hold for all groups at once."""
        original = self.records[0].rates
        if self.rates is None or record.rates is None or original is None:
            return []
        changes = changes_of((record.rates - original)[None].swapaxes(1, 2), self.rng)
        groups = self.rates.groups
        return [
            GroupChange(
                attribute=attribute, group=group, n=int(size), original=float(before),
                change=Interval.of(changes.value[0, k], changes.reach[0, k]),
            )
            for k, ((attribute, group), size, before) in enumerate(zip(
                groups.names, groups.sizes, original[..., 0].mean(axis=0), strict=True
            ))
        ]  # fmt: skip


def _ranks(values: Floats) -> Ints:
    """1 for the largest; what has no value comes last."""
    return rankdata(-np.nan_to_num(values, nan=-np.inf), method="min").astype(np.intp)


def _of_fold(measure: Measure, answers: Answers, sample: Sample) -> float:
    try:
        return float(measure.values(answers, sample)[0])
    except ValueError:  # without one of the classes, say
        return np.nan


def _share(rows: Ints, share: float, seed: int) -> Ints:
    """Some of the rows, the same for all candidates; more rows hold all of fewer."""
    if share == 1:
        return rows
    order = np.random.default_rng(seed).permutation(len(rows))
    return np.sort(rows[order[: max(2, int(share * len(rows)))]])
