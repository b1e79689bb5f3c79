"""Tables of the interaction: analysis of variance, dispersion, separation, by reward variant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from clew.analysis import names, words
from clew.analysis.names import NONE, bonus_label
from clew.analysis.stats.anova import Effect
from clew.analysis.stats.interaction import THREE_WAY, three_way, two_way
from clew.analysis.stats.spread import separation, spread
from clew.analysis.stats.task import Task, tasks
from clew.analysis.table import Results
from clew.analysis.tables import TABLES
from clew.analysis.tables.grid import EMPTY, Cell, Grid, figure, word

EFFECTS = ("Architecture", "Bonus", "Arch. × Bonus")
LETTERS = dict(zip(THREE_WAY, "ABC", strict=True))


def all_bonuses(group: Sequence[Task]) -> tuple[str, ...]:
    """Every bonus but none, of any of the tasks."""
    return names.ordered((b for t in group for b in t.bonuses), tuple(names.BONUSES))


def comparable(group: Sequence[Task]) -> list[Task]:
    """Tasks in which an interaction can be asked for."""
    return [t for t in group if any(len(t.both(b)) > 1 for b in t.bonuses)]


@TABLES.register("anova")
def anova(results: Results) -> Grid:
    """Two-way analysis of each task: F (parametric p) [permutation p]."""
    group = comparable(tasks(results))
    bonuses = all_bonuses(group)
    rows: list[list[Cell]] = []
    sections = []
    for task in group:
        sections.append((len(rows), ""))
        found = {b: two_way(task, b) for b in bonuses if len(task.both(b)) > 1}
        for i, title in enumerate(EFFECTS):
            row = [word(task.label if i == 0 else ""), word(title)]
            for b in bonuses:
                if b not in found:
                    row.append(EMPTY)
                    continue
                effect, p = found[b].anova.effects[i], found[b].p_permutation
                row.append(_f(effect, p, found[b].p_study, last=i == 2))
            rows.append(row)
    return Grid(
        name="anova",
        caption="Two-way analysis of variance over the memory architectures: F (p) [permutation p]",
        columns=("Task", "Effect", *map(bonus_label, bonuses)),
        rows=rows,
        sections=sections,
        left=2,
        note="Bonus labels are permuted within each architecture. The permutation p is of F; the "
        "second one is of the interaction's sum of squares, which fits what the study printed.",
    )


@TABLES.register("dispersion")
def dispersion(results: Results) -> Grid:
    """Variance of architecture means without and with each bonus, and the ratio."""
    group = comparable(tasks(results))
    bonuses = all_bonuses(group)
    rows = []
    for task in group:
        row = [word(task.label)]
        found = {b: spread(task, b) for b in task.bonuses}
        v_none = next(iter(found.values())).none
        row.append(figure(words.number(v_none, 4), v_none))
        for b in bonuses:
            if b not in found:
                row += [EMPTY, EMPTY]
                continue
            s = found[b]
            decimals = 1 if s.ratio.estimate > 10 else 2
            text = words.estimate(s.ratio, decimals) if s.ratio.known else "undefined"
            row.append(figure(words.number(s.dispersed, 4), s.dispersed))
            row.append(figure(text, s.ratio.estimate, detail=s.ratio.why_not))
        rows.append(row)
    return Grid(
        name="dispersion",
        caption="Variance of architecture means without and with the bonus, and their ratio "
        "[95% seed bootstrap]",
        columns=("Task", "none", *(["V", "ratio"] * len(bonuses))),
        groups=[("", 2), *((bonus_label(b), 2) for b in bonuses)],
        rows=rows,
        note="Over memory architectures, ddof = 1. The ratio is undefined where all architectures "
        "are alike without the bonus.",
    )


@TABLES.register("separation")
def separations(results: Results) -> Grid:
    """SEP without and with each bonus, and ΔSEP; once more with the memoryless control."""
    group = comparable(tasks(results))
    bonuses = all_bonuses(group)
    rows: list[list[Cell]] = []
    sections = []
    for control, title in ((False, "memory architectures"), (True, "with the memoryless control")):
        sections.append((len(rows), title))
        rows += [_separation(task, bonuses, control) for task in group]
    deltas = [f"ΔSEP({bonus_label(b)})" for b in bonuses]
    return Grid(
        name="separation",
        caption="Separation index SEP: population standard deviation of architecture means; ΔSEP "
        "[95% seed bootstrap] is positive where the bonus widens the gap",
        columns=("Task", "SEP(none)", *(f"SEP({bonus_label(b)})" for b in bonuses), *deltas),
        rows=rows,
        sections=sections,
    )


@TABLES.register("three-way")
def three_ways(results: Results) -> list[Grid]:
    """Architecture × bonus × reward, for every world with at least two rewards, and each bonus."""
    worlds: dict[str, list[Task]] = {}
    for task in comparable(tasks(results)):
        worlds.setdefault(task.environment, []).append(task)
    return [
        _three_way(group, bonus)
        for group in worlds.values()
        if len(group) > 1
        for bonus in group[0].bonuses
        if all(bonus in t.bonuses for t in group)
    ]


@TABLES.register("by-variant")
def by_variant(
    results: Results, bonus: str = "e3b", classes: Mapping[tuple[str, str], str] | None = None
) -> Grid:
    """The interaction in each task: F, partial ω², dispersion ratio.

    `classes` says of (environment, reward) what the formal side proved of it.
    """
    rows = []
    for task in comparable(tasks(results)):
        if len(task.both(bonus)) < 2:
            continue
        effect = two_way(task, bonus, permutations=0).anova.effects[-1]
        ratio = spread(task, bonus).ratio
        text = words.number(ratio.estimate, 1) if ratio.known else "undefined"
        proved = (classes or {}).get((task.environment, task.reward), words.NOTHING)
        rows.append(
            [
                word(task.label),
                word(proved),
                figure(words.number(effect.f, 1), effect.f),
                figure(words.number(effect.partial_omega2), effect.partial_omega2),
                figure(text, ratio.estimate, detail=ratio.why_not),
            ]
        )
    return Grid(
        name=f"by-variant-{bonus}",
        caption=f"Architecture × bonus under {bonus_label(bonus)}, by reward variant",
        columns=("Task", "Classification", "F(A×B)", "partial ω²", "Dispersion ratio"),
        rows=rows,
        left=2,
    )


def _f(effect: Effect, p: float, p_study: float, last: bool) -> Cell:
    decimals = 1 if effect.f > 10 else 2
    text = words.number(effect.f, decimals)
    if last:
        detail = f"parametric p {words.p_value(effect.p)}, partial ω² {effect.partial_omega2:.3f}"
        text += f" [{words.p_value(p)}; {words.p_value(p_study)}]"
        return figure(text, effect.f, bold=p < 0.05, detail=detail)
    return figure(f"{text} ({words.p_value(effect.p)})", effect.f)


def _separation(task: Task, bonuses: tuple[str, ...], control: bool) -> list[Cell]:
    pool = task.architectures if control else task.memories
    without = [task.arms[a, NONE].mean() for a in pool if (a, NONE) in task.arms]
    sep_none = float(separation(np.array(without)))
    found = {b: spread(task, b, control=control) for b in bonuses if b in task.bonuses}
    row = [word(task.label), figure(words.number(sep_none), sep_none)]
    for b in bonuses:
        row.append(figure(words.number(found[b].sep), found[b].sep) if b in found else EMPTY)
    for b in bonuses:
        if b not in found:
            row.append(EMPTY)
            continue
        s = found[b]
        noise = f"{words.signed(s.delta_beyond_noise)} with seed noise taken out"
        text = words.estimate(s.delta, plus=True)
        row.append(figure(text, s.delta.estimate, bold=s.delta.excludes(0), detail=noise))
    return row


def _three_way(group: list[Task], bonus: str) -> Grid:
    found = three_way(group, bonus)
    names_of = {"architecture": "Architecture", "bonus": "Bonus", "reward": "Reward"}
    rows = []
    for effect in found.anova.effects:
        letters = " × ".join(LETTERS[f] for f in effect.factors)
        first = names_of[next(iter(effect.factors))]
        title = letters if len(effect.factors) > 1 else f"{first} ({letters})"
        last = effect is found.anova.effects[-1]
        rows.append(
            [
                word(title),
                figure(words.number(effect.ss), effect.ss),
                figure(str(effect.df), effect.df),
                figure(words.number(effect.f, 1), effect.f, bold=last),
                figure(words.number(effect.omega2), effect.omega2, bold=last),
            ]
        )
    residual = found.anova.residual_ss
    rows.append(
        [word("residual"), figure(words.number(residual), residual),
         figure(str(found.anova.residual_df), found.anova.residual_df), EMPTY, EMPTY]
    )  # fmt: skip
    environment = group[0].environment
    return Grid(
        name=f"three-way-{environment}-{bonus}",
        caption=f"{environment}: {len(found.architectures)} architectures × none and "
        f"{bonus_label(bonus)} × {len(group)} rewards ({found.anova.n} runs)",
        columns=("Effect", "SS", "df", "F", "ω²"),
        rows=rows,
        sections=[(len(rows) - 1, "")],
        note=f"Permutation p of the highest interaction: {words.p_value(found.p_permutation)}.",
    )
