"""What makes an answer from someone's table doubtful.

Arms that were not trained or scored alike, seeds that are copies, names that are nearly the same.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any, cast

import numpy as np
import pandas as pd
from scipy import stats
from scipy.spatial.distance import pdist

from clew.analysis.formatting import listed, rate
from clew.analysis.names import bonus_label, task_label
from clew.analysis.results import ARM, RUN, TASK, by_run, describe
from clew.metrics import TAIL

ALIKE = 0.95
"""Arms, or runs, that end before this share of the longest are not equally long."""
COARSE = 0.04
"""Of training: a difference between the gaps of scores. The mean over the end then lies half as
much earlier or later."""
LATE = 0.1
"""Of training: a first score that is later than others by more."""
COUNTED = 10_000
"""Scores that are shares of at most so many, such as four decimals, may agree by chance."""
SURE = 0.01
"""Chance that as many seeds agree, below which it is no chance."""
CLOSE = 5
"""Widths of the grid within which scores are close."""
TELLING = 3
"""Scores of a curve besides 0 and 1 that make it one of its kind; also equal seeds of an arm."""
MOST_NAMED = 4


def cautions(runs: pd.DataFrame, curves: pd.DataFrame | None) -> list[str]:
    """Every caution, the gravest first."""
    finished = runs[runs["status"] == "finished"]
    found = uneven_ends(finished, curves is not None) if "steps" in finished else []
    if curves is not None:
        found += [*scores_that_stop(finished), *uneven_beginnings(curves), *uneven_gaps(curves)]
    return [*found, *copied_seeds(finished, curves)]


def uneven_ends(finished: pd.DataFrame, over_time: bool) -> list[str]:
    """Where arms of a task, or else runs, were not trained equally long."""
    notes = []
    known = finished[finished["steps"].notna()]
    for task, group in known.groupby(list(TASK), sort=True):
        label = task_label(*map(str, task))
        ends = {_arm(arm): g["steps"] for arm, g in group.groupby(list(ARM[2:]), sort=True)}
        means = [float(end.mean()) for end in ends.values()]
        first, last = group["steps"].min(), group["steps"].max()
        counts = f" Each counts with the final {TAIL:.0%} of its own." * over_time
        if min(means) < ALIKE * max(means):
            said = _by_value({arm: _span(end) for arm, end in ends.items()}, "{0} until step {1}")
            notes.append(
                f"Caution: the arms of {label} were not trained equally long: {said}."
                f"{counts} What looks like a gain or a loss may come of that"
                f"{': keep the rows of the steps that all have' * over_time}."
            )
        elif first < ALIKE * last:
            notes.append(
                f"The runs of {label} end between {first:,.0f} and {last:,.0f} steps.{counts}"
            )
    return notes


def scores_that_stop(finished: pd.DataFrame) -> list[str]:
    """Runs whose last rows have no score, as those of a run that diverged."""
    stopped = finished[finished["steps"] < ALIKE * finished["last_row"]]
    if stopped.empty:
        return []
    run = stopped.iloc[0]
    who = "a run has" if len(stopped) == 1 else f"{len(stopped)} runs have"
    return [
        f"Caution: {who} no score in the last rows: in {describe(run)}, scores "
        f"end at step {run['steps']:,.0f} of {run['last_row']:,.0f}. What was scored counts; if a "
        "run diverged or crashed, say so in a column status."
    ]


def uneven_beginnings(curves: pd.DataFrame) -> list[str]:
    """Where arms of a task have their first score so late that more than their end counts."""
    notes = []
    for task, group in curves.groupby(list(TASK), sort=True):
        firsts: dict[str, list[float]] = {}
        for run, (steps, _) in by_run(group, "success"):
            firsts.setdefault(_arm(run[2:4]), []).append(float(steps[0]))
        means = {arm: float(np.mean(found)) for arm, found in firsts.items()}
        if max(means.values()) - min(means.values()) > LATE * float(group["steps"].max()):
            each = {arm: f"{mean:,.0f}" for arm, mean in means.items()}
            notes.append(
                f"Caution: the scores of {task_label(*map(str, task))} do not begin at one step: "
                f"{_by_value(each, '{0} at step {1}')}. All are taken to have been trained from "
                "the first step on: of an arm whose steps were counted on, too much counts."
            )
    return notes


def uneven_gaps(curves: pd.DataFrame) -> list[str]:
    """Where arms of a task were scored so unequally often that their final scores lie apart."""
    notes = []
    for task, group in curves.groupby(list(TASK), sort=True):
        gaps: dict[str, list[float]] = {}
        for run, (steps, _) in by_run(group, "success"):
            if len(steps) > 1:
                gaps.setdefault(_arm(run[2:4]), []).append(float(np.diff(steps).mean()))
        means = {arm: float(np.mean(found)) for arm, found in gaps.items()}
        length = float(group["steps"].max() - group["steps"].min())
        if means and max(means.values()) - min(means.values()) > COARSE * length:
            each = {arm: f"{mean:,.0f}" for arm, mean in means.items()}
            notes.append(
                f"Caution: the arms of {task_label(*map(str, task))} were not scored equally "
                f"often: {_by_value(each, '{0} every {1} steps')}. Where there are few scores, "
                "those that count lie nearer the end: a curve that still rises then looks better."
            )
    return notes


def copied_seeds(finished: pd.DataFrame, curves: pd.DataFrame | None) -> list[str]:
    """Seeds of an arm with exactly the same scores, where chance does not make them so."""
    prints = _of_scores(finished) if curves is None else _of_curves(curves)
    found: dict[tuple[Any, ...], list[int]] = {}
    for run, seen in prints:
        found.setdefault((run[:-1], seen), []).append(int(run[-1]))
    arms: dict[tuple[Any, ...], list[str]] = {}
    sizes = finished.groupby(list(RUN[:-1])).size()
    by_chance = curves is None and chance_of_ties([*_of_scores(finished)]) > SURE
    for (arm, seen), seeds in found.items():
        all_of_it = TELLING <= len(seeds) == sizes[arm]
        if len(seeds) > 1 and (all_of_it or not (by_chance and _counted(seen))):
            same = f" ({rate(seen)})" if curves is None else ""
            arms.setdefault(arm, []).append(f"{listed(map(str, sorted(seeds)))}{same}")
    if not arms:
        return []
    named = [f"{task_label(*a[:2])} / {_arm(a[2:4])}: {'; '.join(s)}" for a, s in arms.items()]
    more = f" | {len(named) - MOST_NAMED} more arms" * (len(named) > MOST_NAMED)
    what = "score" if curves is None else "scores at every step"
    return [
        f"Caution: these seeds have exactly the same {what}: {' | '.join(named[:MOST_NAMED])}"
        f"{more}. If their seed was not applied, or a run was copied, they are one run, and the "
        "answer is less sure than it looks."
    ]


def alike_names(runs: pd.DataFrame) -> list[str]:
    """Names that differ only in upper and lower case, spaces, hyphens and underscores."""
    notes = []
    words = {"environment": "environments", "reward": "rewards", "architecture": "agents",
             "bonus": "bonuses"}  # fmt: skip
    for column, word in words.items():
        plain: dict[str, list[str]] = {}
        for name in runs[column].unique():
            bare = "".join(c for c in str(name).lower() if c not in " -_")
            plain.setdefault(bare, []).append(repr(name))
        notes += [
            f"{listed(sorted(names))} are different {word} here; if they are one, write them alike."
            for names in plain.values()
            if len(names) > 1
        ]
    return notes


def _of_scores(finished: pd.DataFrame) -> Iterator[tuple[tuple[Any, ...], float]]:
    rows = finished[[*RUN, "tail_mean"]].itertuples(index=False, name=None)
    for row in cast(Iterator[tuple[Any, ...]], rows):
        if 0 < row[-1] < 1:
            yield row[:-1], float(row[-1])


def _of_curves(curves: pd.DataFrame) -> Iterator[tuple[tuple[Any, ...], bytes]]:
    for run, (steps, scores) in by_run(curves, "success"):
        if ((scores > 0) & (scores < 1)).sum() >= TELLING:
            yield run, steps.tobytes() + scores.tobytes()


def chance_of_ties(scores: Sequence[tuple[tuple[Any, ...], float]]) -> float:
    """How probable it is that as many seeds of an arm agree as do, if all are runs of their own.

    Scores lie on a grid. Were those of an arm normal around their mean, two of them would agree
    with probability grid / (2 sqrt(pi) std); and where many are close, as near the top, half as
    many agree as differ by one width of the grid.
    """
    arms: dict[tuple[Any, ...], list[float]] = {}
    for run, score in scores:
        arms.setdefault(run[:-1], []).append(score)
    grid = _grid([score for _, score in scores])
    normal = near = agree = 0.0
    for found in arms.values():
        std = float(np.std(found))
        if std <= grid / 10:  # all are equal: said of the arm by itself
            continue
        apart = pdist(np.array(found)[:, None]) / grid
        normal += len(apart) * min(1.0, grid / (2 * np.sqrt(np.pi) * std))
        near += float(((apart > 0.5) & (apart < CLOSE + 0.5)).sum()) / (2 * CLOSE)
        agree += float((apart < 0.5).sum())
    return float(stats.poisson.sf(agree - 1, max(normal, near)))


def _grid(scores: Sequence[float]) -> float:
    """1/n if all are n-ths, as shares of n episodes are; else their smallest difference."""
    if all(map(_counted, scores)):
        n = math.lcm(*(Fraction(s).limit_denominator(COUNTED).denominator for s in set(scores)))
        if n <= COUNTED:
            return 1 / n
    different = np.unique(np.round(scores, 12))
    return float(np.diff(different).min()) if len(different) > 1 else 0.0


def _counted(score: float) -> bool:
    return abs(score - float(Fraction(score).limit_denominator(COUNTED))) < 1e-12


def _arm(names: tuple[Any, ...]) -> str:
    """'GRU / E3B', from the agent and the bonus."""
    return f"{names[0]} / {bonus_label(str(names[1]))}"


def _span(ends: pd.Series) -> str:
    low, high = f"{ends.min():,.0f}", f"{ends.max():,.0f}"
    return low if low == high else f"{low} to {high}"


def _by_value(arms: dict[str, str], words: str) -> str:
    """'GRU / none until step 200; GRU / RND until step 900'; arms with one value stand together."""
    together: dict[str, list[str]] = {}
    for arm, value in arms.items():
        together.setdefault(value, []).append(arm)
    said = [words.format(_few(named), value) for value, named in together.items()]
    return "; ".join(said[:MOST_NAMED]) + "; …" * (len(said) > MOST_NAMED)


def _few(arms: list[str]) -> str:
    more = len(arms) - MOST_NAMED
    return listed([*arms[:MOST_NAMED], f"{more} more"] if more > 1 else arms)
