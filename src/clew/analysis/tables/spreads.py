"""Tables of the interaction: analysis of variance, dispersion, separation, by reward variant."""

from __future__ import annotations

from clew.analysis import formatting
from clew.analysis.names import NONE, bonus_label
from clew.analysis.statistics import Statistics, TaskStatistics, View
from clew.analysis.stats.interaction import THREE_WAY, Interaction, shared, three_way
from clew.analysis.stats.spread import separation
from clew.analysis.stats.task import Task, all_bonuses
from clew.analysis.tables import TABLES
from clew.analysis.tables.grid import EMPTY, Cell, Grid, figure, word

EFFECTS = ("Architecture", "Bonus", "Arch. × Bonus")
LETTERS = dict(zip(THREE_WAY, "ABC", strict=True))


def comparable(statistics: Statistics) -> list[TaskStatistics]:
    """Tasks in which an interaction can be asked for."""
    return [found for found in statistics.tasks if found.interactions]


@TABLES.register("anova")
def anova_table(statistics: Statistics) -> Grid:
    """Two-way analysis of each task: F (parametric p) [permutation p]."""
    group = comparable(statistics)
    bonuses = all_bonuses(found.task for found in group)

    def row(found: TaskStatistics, i: int, effect: str) -> list[Cell]:
        cells = (_f(found.interactions.get(b), i) for b in bonuses)
        return [word(found.task.label if i == 0 else ""), word(effect), *cells]

    return Grid(
        name="anova",
        caption="Two-way analysis of variance over the memory architectures: F (p) [permutation p]",
        columns=("Task", "Effect", *map(bonus_label, bonuses)),
        sections=[("", [row(found, *each) for each in enumerate(EFFECTS)]) for found in group],
        left=2,
        note="Bonus labels are permuted within each architecture. The permutation p is of F; the "
        "second one is of the interaction's sum of squares, which fits what the study printed.",
    )


@TABLES.register("dispersion")
def dispersion_table(statistics: Statistics) -> Grid:
    """Variance of architecture means without and with each bonus, and the ratio."""
    group = comparable(statistics)
    bonuses = all_bonuses(found.task for found in group)
    rows = []
    for found in group:
        v_none = found.spread(next(iter(found.interactions))).none
        row = [word(found.task.label), figure(formatting.number(v_none, 4), v_none)]
        for b in bonuses:
            if b not in found.task.bonuses:
                row += [EMPTY, EMPTY]
                continue
            s = found.spread(b)
            decimals = 1 if s.ratio.estimate > 10 else 2
            text = formatting.estimate(s.ratio, decimals) if s.ratio.known else "undefined"
            row.append(figure(formatting.number(s.dispersed, 4), s.dispersed))
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
def separation_table(statistics: Statistics) -> Grid:
    """SEP without and with each bonus, and ΔSEP; once more with the memoryless control."""
    group = comparable(statistics)
    bonuses = all_bonuses(found.task for found in group)
    views: dict[View, str] = {
        "memories": "memory architectures",
        "with the control": "with the memoryless control",
    }
    deltas = [f"ΔSEP({bonus_label(b)})" for b in bonuses]
    return Grid(
        name="separation",
        caption="Separation index SEP: population standard deviation of architecture means; ΔSEP "
        "[95% seed bootstrap] is positive where the bonus widens the gap",
        columns=("Task", "SEP(none)", *(f"SEP({bonus_label(b)})" for b in bonuses), *deltas),
        sections=[
            (title, [_separation(found, bonuses, view) for found in group])
            for view, title in views.items()
        ],
    )


@TABLES.register("three-way")
def three_way_tables(statistics: Statistics) -> list[Grid]:
    """Architecture × bonus × reward, for every world with at least two rewards, and each bonus."""
    worlds: dict[str, list[Task]] = {}
    for found in comparable(statistics):
        worlds.setdefault(found.task.environment, []).append(found.task)
    return [
        _three_way(group, bonus)
        for group in worlds.values()
        if len(group) > 1
        for bonus in group[0].bonuses
        if len(shared(group, bonus)) > 1
    ]


@TABLES.register("by-variant")
def by_variant_tables(statistics: Statistics) -> list[Grid]:
    """The interaction in each task: F, partial ω², dispersion ratio; a table for each bonus."""
    return [_by_variant(statistics, bonus) for bonus in statistics.bonuses]


def _by_variant(statistics: Statistics, bonus: str) -> Grid:
    rows = []
    for found in statistics.tasks:
        if bonus not in found.interactions:
            continue
        effect = found.interactions[bonus].anova.effects[-1]
        ratio = found.spread(bonus).ratio
        text = formatting.number(ratio.estimate, 1) if ratio.known else "undefined"
        rows.append(
            [
                word(found.task.label),
                figure(formatting.number(effect.f, 1), effect.f),
                figure(formatting.number(effect.partial_omega2), effect.partial_omega2),
                figure(text, ratio.estimate, detail=ratio.why_not),
            ]
        )
    return Grid(
        name=f"by-variant-{bonus}",
        caption=f"Architecture × bonus under {bonus_label(bonus)}, by reward variant",
        columns=("Task", "F(A×B)", "partial ω²", "Dispersion ratio"),
        rows=rows,
    )


def _f(found: Interaction | None, term: int) -> Cell:
    if found is None:
        return EMPTY
    effect = found.anova.effects[term]
    text = formatting.number(effect.f, 1 if effect.f > 10 else 2)
    if effect is not found.anova.effects[-1]:
        return figure(f"{text} ({formatting.p_value(effect.p)})", effect.f)
    detail = f"parametric p {formatting.p_value(effect.p)}, partial ω² {effect.partial_omega2:.3f}"
    text += f" [{formatting.p_value(found.p_permutation)}; {formatting.p_value(found.p_study)}]"
    return figure(text, effect.f, bold=found.p_permutation < 0.05, detail=detail)


def _separation(found: TaskStatistics, bonuses: tuple[str, ...], view: View) -> list[Cell]:
    task = found.task
    pool = task.memories if view == "memories" else task.with_lower
    sep_none = float(separation(task.means(NONE, [a for a in pool if (a, NONE) in task.arms])))
    spreads = [found.spread(b, view) if b in task.bonuses else None for b in bonuses]
    row = [word(task.label), figure(formatting.number(sep_none), sep_none)]
    row += [figure(formatting.number(s.sep), s.sep) if s else EMPTY for s in spreads]
    for s in spreads:
        if s is None:
            row.append(EMPTY)
            continue
        noise = f"{formatting.signed(s.delta_beyond_noise)} with seed noise taken out"
        text = formatting.estimate(s.delta, plus=True)
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
                figure(formatting.number(effect.ss), effect.ss),
                figure(str(effect.df), effect.df),
                figure(formatting.number(effect.f, 1), effect.f, bold=last),
                figure(formatting.number(effect.omega2), effect.omega2, bold=last),
            ]
        )
    ss, df = found.anova.residual_ss, found.anova.residual_df
    left = [word("residual"), figure(formatting.number(ss), ss), figure(str(df), df), EMPTY, EMPTY]
    environment = group[0].environment
    p = formatting.p_value(found.p_permutation)
    return Grid(
        name=f"three-way-{environment}-{bonus}",
        caption=f"{environment}: {len(found.architectures)} architectures × none and "
        f"{bonus_label(bonus)} × {len(group)} rewards ({found.anova.n} runs)",
        columns=("Effect", "SS", "df", "F", "ω²"),
        sections=[("", rows), ("", [left])],
        note=f"Permutation p of the highest interaction: {p}.",
    )
