"""Our numbers beside someone else's: agreement by interval, not by eye."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence

from clew.analysis import formatting
from clew.analysis.names import bonus_label, task_label
from clew.analysis.published import DECIMALS, SEEDS, published, published_success
from clew.analysis.results import Results, records
from clew.analysis.statistics import Arm
from clew.analysis.stats.intervals import Interval, half_width, without_interval
from clew.analysis.stats.task import Values, tasks
from clew.analysis.tables.grid import Cell, Grid, figure, word
from clew.validate import BadInput


@dataclasses.dataclass(frozen=True)
class ArmSummary:
    """What is known of an arm: enough for Welch's interval."""

    mean: float
    std: float
    n: int
    rounded: float = 0.0
    """Half the last printed digit; each bound is moved out by as much."""

    @classmethod
    def of(cls, values: Values) -> ArmSummary:
        """From the tail means of its seeds."""
        std = float(values.std(ddof=1)) if len(values) > 1 else math.nan
        return cls(float(values.mean()), std, len(values))


@dataclasses.dataclass(frozen=True)
class Comparison:
    """One arm, ours and theirs."""

    arm: Arm
    ours: ArmSummary
    theirs: ArmSummary
    difference: Interval
    """Ours minus theirs, 95%, Welch."""

    @property
    def agreement(self) -> str:
        """'agrees' if the interval contains 0, 'differs' if not, 'open' without an interval."""
        if not self.difference.known:
            return "open"
        return "differs" if self.difference.excludes(0) else "agrees"


def compare_with_published(results: Results) -> list[Comparison]:
    """Every arm of ours that the study published, under our name, however MysteryPath was read."""

    def there(arm: Arm) -> Arm:
        return (_as_published(arm[0]), *arm[1:])

    return _compare(_summaries(results), published_summaries(), "the published study", there)


def published_summaries() -> dict[Arm, ArmSummary]:
    """Every arm of the study: from its seeds where they were printed, else mean and deviation."""
    half = 0.5 * 10.0**-DECIMALS
    printed = {
        (row["environment"], row["reward"], row["architecture"], row["bonus"]): ArmSummary(
            row["mean"], row["std"], SEEDS, half
        )
        for row in records(published_success())
    }
    return printed | _summaries(published())


def compare(results: Results, others: Results) -> list[Comparison]:
    """Every arm that both tables have."""
    return _compare(_summaries(results), _summaries(others), "the other table")


def comparison_table(found: list[Comparison]) -> Grid:
    """Ours, theirs, the difference and whether 0 is in its interval."""
    return Grid(
        name="comparison",
        caption="Ours beside theirs: mean ± std, and the difference [95%, Welch]",
        columns=("Architecture", "Bonus", "ours", "theirs", "difference", "0 in the interval?"),
        sections=[
            (task_label(*task), [_row(c) for c in found if c.arm[:2] == task])
            for task in dict.fromkeys(c.arm[:2] for c in found)
        ],
        left=2,
        note="'agrees' means not told apart by these seeds, not proved equal: look at the width of "
        "the interval. One arm in twenty differs by chance alone. Intervals of rounded "
        "numbers are widened by what rounding may hide.",
    )


def difference(ours: ArmSummary, theirs: ArmSummary) -> Interval:
    """Welch's interval from summaries, widened by what rounding may hide."""
    return mean_difference([(ours, theirs)])


def mean_difference(pairs: Sequence[tuple[ArmSummary, ArmSummary]]) -> Interval:
    """The same for several pairs, ours and theirs: the mean of their differences."""
    gap = sum(ours.mean - theirs.mean for ours, theirs in pairs) / len(pairs)
    first, second = (min(summary.n for summary in side) for side in zip(*pairs, strict=True))
    if min(first, second) < 2:
        return without_interval(
            gap, (first, second), "Welch t", "one seed says nothing about the spread"
        )
    summaries = [summary for both in pairs for summary in both]
    variances = [((s.std + s.rounded) / len(pairs)) ** 2 / s.n for s in summaries]
    spread = half_width(variances, [s.n for s in summaries]) if any(variances) else 0.0
    half = spread + sum(s.rounded for s in summaries) / len(pairs)
    return Interval(gap, gap - half, gap + half, (first, second), "Welch t")


def summary_cell(s: ArmSummary) -> Cell:
    """'.56 ± .05'; the number of seeds when pointed at."""
    spread = f" ± {formatting.rate(s.std)}" if math.isfinite(s.std) else ""
    return figure(formatting.rate(s.mean) + spread, s.mean, detail=f"n = {s.n}")


def _compare(
    ours: Mapping[Arm, ArmSummary],
    theirs: Mapping[Arm, ArmSummary],
    where: str,
    there: Callable[[Arm], Arm] = lambda arm: arm,
) -> list[Comparison]:
    """`there` is what an arm of ours is called by them."""
    shared = {arm: there(arm) for arm in ours if there(arm) in theirs}
    if not shared:
        example = " / ".join(next(iter(theirs), ("nothing",)))
        raise BadInput(
            f"the suites do not match: no arm is both here and in {where}, which has for example "
            f"{example}"
        )
    return [
        Comparison(a, ours[a], theirs[b], difference(ours[a], theirs[b])) for a, b in shared.items()
    ]


def _as_published(environment: str) -> str:
    """Without options of which the study's are not known: MysteryPath's, and `revisit`."""
    name, _, _ = environment.partition("[")
    unknown = name == "MysteryPath-Grid" or environment.endswith("[revisit=standing]")
    return name if unknown else environment


def _summaries(results: Results) -> dict[Arm, ArmSummary]:
    found: dict[Arm, ArmSummary] = {}
    for task in tasks(results.usual()):
        for a in task.architectures:
            for b in ("none", *task.bonuses):
                values = task.arms.get((a, b))
                if values is not None:
                    found[task.environment, task.reward, a, b] = ArmSummary.of(values)
    return found


def _row(c: Comparison) -> list[Cell]:
    return [
        word(c.arm[2]),
        word(bonus_label(c.arm[3])),
        summary_cell(c.ours),
        summary_cell(c.theirs),
        figure(
            formatting.estimate(c.difference, 2, plus=True),
            c.difference.estimate,
            detail=c.difference.why_not,
        ),
        Cell(c.agreement, c.agreement, bold=c.agreement == "differs"),
    ]
