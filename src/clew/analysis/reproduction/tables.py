"""The reproduction in a line, and as tables: claims, arms, their pace, readings of the bonus."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from clew.analysis import formatting
from clew.analysis.names import bonus_label, task_label
from clew.analysis.published import SEEDS, published_pace
from clew.analysis.report.comparison import (
    Arm,
    ArmSummary,
    Comparison,
    difference,
    mean_difference,
    published_summaries,
    summary_cell,
)
from clew.analysis.reproduction.claims import CLAIMS, UNTRAINED, Judged, UnderReading, judge
from clew.analysis.reproduction.trained import DETAILS, DETAILS_OPTIONS, TrainedArm
from clew.analysis.results import ARM, records
from clew.analysis.stats.curves import sustained_by
from clew.analysis.stats.intervals import Interval
from clew.analysis.tables.grid import EMPTY, Cell, Grid, figure, word
from clew.analysis.tables.training import sustained_cell
from clew.store.names import listed


def overview(trained: Sequence[TrainedArm]) -> list[str]:
    """What came out, for someone who reads no further."""
    published = published_summaries()
    judged = Counter(judge(claim, trained, published).outcome for claim in CLAIMS)
    whole = [each for each in trained if each.whole and each.arm in published]
    ours = [each for each in whole if each.reading.of_suite]
    printed = [each for each in whole if not each.reading.exchanged]
    agree, others = (_agreeing(part, published) for part in (ours, printed))
    exact = {arm: dataclasses.replace(one, rounded=0.0) for arm, one in published.items()}
    counted = listed(
        f"{judged[outcome]} {one if judged[outcome] == 1 else many}"
        for outcome, one, many in _SHORT
        if judged[outcome]
    )
    return [
        f"{agree} of {len(ours)} arms agree with the paper, and of {len(CLAIMS)} comparisons that "
        f"its claims rest on, {counted}: once γ and GAE's λ are exchanged, as the study's public "
        f"code has them (suite paper). {len(published) - len(ours)} of its {len(published)} arms "
        "are not trained yet.",
        f"With γ and λ as the paper prints them, {others} of {len(printed)} agree; an arm counts "
        "once for every way to read what else the paper leaves open.",
        "An arm agrees if the 95% interval of the difference contains 0. Intervals have room for "
        f"the rounding of printed figures; without that {_agreeing(ours, exact)} agree.",
    ]


def _agreeing(trained: Sequence[TrainedArm], published: Mapping[Arm, ArmSummary]) -> int:
    return sum(compared(each, published).agreement == "agrees" for each in trained)


_SHORT = (
    ("holds", "holds", "hold"),
    ("does not hold", "does not hold", "do not hold"),
    ("open", "is open (too few seeds)", "are open (too few seeds)"),
    (UNTRAINED, "is not trained yet", "are not trained yet"),
)


def tables(trained: Sequence[TrainedArm]) -> list[Grid]:
    """Claims, arms, those of a memory together, pace, readings."""
    published = published_summaries()
    return [
        _claims([judge(claim, trained, published) for claim in CLAIMS]),
        _arms(trained, published),
        _together(trained, published),
        pace(trained),
        _readings(trained),
    ]


def compared(each: TrainedArm, published: Mapping[Arm, ArmSummary]) -> Comparison:
    """An arm beside the published one."""
    ours, theirs = each.summary(), published[each.arm]
    return Comparison(each.arm, ours, theirs, difference(ours, theirs))


def together(
    trained: Sequence[TrainedArm], published: Mapping[Arm, ArmSummary]
) -> dict[tuple[str, str, str], tuple[int, Interval]]:
    """Ours minus the paper's, of a world, memory and bonus: the mean over its rewards.

    As the suite `paper` has them, where two rewards or more were trained to the end. A small
    difference that no single reward shows is seen here if all have it.
    """
    groups: dict[tuple[str, str, str], list[tuple[ArmSummary, ArmSummary]]] = {}
    ours = {each.arm: each for each in trained if each.whole and each.reading.of_suite}
    for arm, theirs in published.items():
        if each := ours.get(arm):
            world, _, memory, bonus = arm
            groups.setdefault((world, memory, bonus), []).append((each.summary(), theirs))
    return {
        key: (len(pairs), mean_difference(pairs)) for key, pairs in groups.items() if len(pairs) > 1
    }


def _together(trained: Sequence[TrainedArm], published: Mapping[Arm, ArmSummary]) -> Grid:
    return Grid(
        name="together",
        caption="The same memory and bonus over the rewards of a world, as the suite paper has "
        "them: mean difference to the published arms [95%, Welch]",
        columns=("world", "memory", "bonus", "rewards", "difference"),
        rows=[
            [word(world), word(memory), word(bonus_label(bonus)), figure(str(n), n), _gap(gap)]
            for (world, memory, bonus), (n, gap) in together(trained, published).items()
        ],
        left=3,
    )


def _claims(judged: Sequence[Judged]) -> Grid:
    def rows(each: Judged) -> list[list[Cell]]:
        first = [word(each.claim.says), _gap(each.published), word(each.in_words)]
        if not each.found:
            return [[*first, *[EMPTY] * 5]]
        head = [first, *[[EMPTY] * 3] * (len(each.found) - 1)]
        return [h + _under(one) for h, one in zip(head, each.found, strict=True)]

    return Grid(
        name="claims",
        caption="The paper's claims: differences in success [95%, Welch], published and ours",
        columns=("claim", "published", "here", "reading", "M steps", "ours", "seeds", "so"),
        sections=[
            (name, [row for each in judged if each.claim.name == name for row in rows(each)])
            for name in dict.fromkeys(each.claim.name for each in judged)
        ],
        note="Here: under the reading of the suite paper, and under how many others. "
        "Both arms over the same evaluations, so a claim can be judged before the study's "
        "budget is over. 'Hardly' and 'nothing' hold where the interval lies within ±0.1. "
        f"{DETAILS} stands for {DETAILS_OPTIONS}.",
    )


def _arms(trained: Sequence[TrainedArm], published: Mapping[Arm, ArmSummary]) -> Grid:
    def row(each: TrainedArm) -> list[Cell]:
        ours = [
            word(each.arm[2]),
            word(bonus_label(each.arm[3])),
            word(str(each.reading)),
            _steps(each.steps),
            summary_cell(each.summary()),
        ]
        if each.arm not in published:
            return [*ours, EMPTY, EMPTY, word("not in the paper")]
        beside = compared(each, published)
        if not each.whole:
            return [*ours, summary_cell(beside.theirs), EMPTY, word("not to the end")]
        return [*ours, summary_cell(beside.theirs), _gap(beside.difference), word(beside.agreement)]

    places = {arm: place for place, arm in enumerate(published)}
    ordered = sorted(
        trained,
        key=lambda e: (not e.whole, places.get(e.arm, len(places)), not e.reading.of_suite),
    )
    return Grid(
        name="arms",
        caption="Every arm that was trained beside the published one: mean ± std over seeds of the "
        "tail mean, difference [95%, Welch]",
        columns=("memory", "bonus", "reading", "M steps", "ours", "published", "difference", ""),
        sections=[
            (task_label(*task), [row(each) for each in ordered if each.arm[:2] == task])
            for task in dict.fromkeys(each.arm[:2] for each in ordered)
        ],
        left=3,
        note=f"Arms not listed have not been trained. {DETAILS} stands for {DETAILS_OPTIONS}.",
    )


def pace(trained: Sequence[TrainedArm]) -> Grid:
    """How soon arms of the suite `paper` held a threshold, where that was published."""
    theirs = {tuple(one[name] for name in ARM): one for one in records(published_pace())}
    mine = {each.arm: each for each in trained if each.whole and each.reading.of_suite}
    rows: list[tuple[str, list[Cell]]] = []
    for arm, one in theirs.items():
        if (each := mine.get(arm)) is None:
            continue
        steps = each.period * np.arange(1.0, each.evaluations + 1)
        ours = sustained_by([(steps, curve) for curve in each.curves], one["threshold"])
        when = one["million_steps"]
        published = f"{'never' if math.isnan(when) else f'{when:.1f}'} ({one['seeds']}/{SEEDS})"
        title = f"{task_label(*each.arm[:2])} to {formatting.rate(one['threshold'])}"
        names = [word(each.arm[2]), word(bonus_label(each.arm[3]))]
        rows.append((title, [*names, sustained_cell(ours), figure(published, when)]))
    return Grid(
        name="pace",
        caption="Millions of environment steps until a threshold of success is held over five "
        "evaluations, as the suite paper has it: median over the seeds that did, and how many did",
        columns=("memory", "bonus", "ours", "published"),
        sections=[(t, [row for title, row in rows if title == t]) for t in dict(rows)],
        left=2,
    )


def _readings(trained: Sequence[TrainedArm]) -> Grid:
    def default(of: TrainedArm) -> TrainedArm | None:
        plain = of.reading.without_bonus
        found = (e for e in trained if e.arm == of.arm and e.reading == plain)
        return next((e for e in found if e.evaluations >= of.evaluations), None)

    rows: list[list[Cell]] = []
    for each in trained:
        beside = default(each)
        if each.arm[3] == "none" or beside is None or beside is each:
            continue
        then = beside.summary(each.evaluations)
        ours = each.summary()
        rows.append(
            [
                word(task_label(*each.arm[:2])),
                word(each.arm[2]),
                word(str(dataclasses.replace(each.reading, environment_options=""))),
                _steps(each.steps),
                summary_cell(ours),
                summary_cell(then),
                _gap(difference(ours, then)),
                figure(formatting.rate(each.late_bonus), each.late_bonus),
            ]
        )
    return Grid(
        name="readings",
        caption="Readings of the bonus beside its defaults, over the same evaluations",
        columns=("task", "memory", "reading", "M steps", "ours", "defaults then", "difference",
                 "late bonus"),
        rows=rows,
        left=3,
        note="Late bonus: normalised, a step, over the final fifth of the evaluations.",
    )  # fmt: skip


def _under(one: UnderReading) -> list[Cell]:
    return [
        word(str(one.reading)),
        figure(f"{one.steps / 1e6:.1f} ({one.share:.0%})", one.steps),
        _gap(one.difference),
        word(formatting.seeds(one.difference.n)),
        Cell(one.outcome, one.outcome, bold=one.outcome == "does not hold"),
    ]


def _gap(interval: Interval) -> Cell:
    text = formatting.estimate(interval, plus=True)
    return figure(text, interval.estimate, detail=interval.why_not)


def _steps(steps: int) -> Cell:
    return figure(f"{steps / 1e6:.1f}", steps)
