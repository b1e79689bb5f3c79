"""What can be known of a suite before it is trained: that it fails, or can give no answer."""

from __future__ import annotations

import os
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

from clew.envs.registry import hosted
from clew.labels import NONE
from clew.store import ENDED, Store, scan

if TYPE_CHECKING:
    from clew.suite import Suite

SEEDS, EQUIVALENT_SEEDS = 3, 5
"""As in `clew.analysis.stats.effects`, without importing the analysis."""
ALONE = "these runs alone give no answer"
LOST = 0.05
"""Of a run's steps, what is not trained without a word: periods are whole."""


def doubts(suite: Suite) -> list[str]:
    """Environments in which success may be out of reach, and steps that are not trained."""
    runs = suite.runs()
    environments = {(run.environment, repr(run.env)): run.env for run in runs}
    told = [getattr(env, "doubt", "") for env in environments.values()]
    budgets = dict.fromkeys((run.steps, run.settings.period) for run in runs)
    told += [_rounded(steps, period) for steps, period in budgets]
    return [f"caution: {each}" for each in told if each]


def require_playable(suite: Suite, path: Path, retry: bool = False) -> None:
    """Refuse environments on the host that fail in a random episode, where runs are left to train.

    A store counts the runs that it has begun, also when their suite is corrected later.
    """
    runs = [run for run in suite.runs() if hosted(run.environment)]
    if not runs:
        return
    from clew.envs.hosted import copies  # which needs gymnasium
    from clew.envs.hosted.environment import HostedEnvironment

    ended = ("finished",) if retry else ENDED
    store = existing_store(path)
    done = {row.identity for row in scan(store) if row.status in ended} if store else set()
    for env in {repr(run.env): run.env for run in runs if run.identity not in done}.values():
        assert isinstance(env, HostedEnvironment)
        copies.require_playable(env)


def existing_store(path: Path) -> Store | None:
    """To read; None if the folder is yet to be made, or to be filled."""
    if not path.exists() or (path.is_dir() and not os.listdir(path)):
        return None
    return Store(path, read_only=True)


def why_no_answer(suite: Suite) -> str:
    """Why none of its tasks can be answered; empty if one can."""
    arms: dict[tuple[object, ...], set[int]] = defaultdict(set)
    for run in suite.runs():
        world = run.environment, run.environment_options, run.reward
        arms[(*world, run.architecture, run.bonus)].add(run.seed)
    plain = {arm[:-1]: seeds for arm, seeds in arms.items() if arm[-1] == NONE}
    if not plain:
        return f'{ALONE}: each has a bonus; add "none" to `bonuses`, to compare with'
    if len(plain) == len(arms):
        return f'{ALONE}: none has a bonus; write, for one, bonuses = ["none", "noveld"]'
    with_bonus = [(arm[:-1], seeds) for arm, seeds in arms.items() if arm[-1] != NONE]
    pairs = [min(len(seeds), len(plain.get(agent, ()))) for agent, seeds in with_bonus]
    if not max(pairs):
        return f"{ALONE}: no agent has runs both with a bonus and without on one task"
    if max(pairs) < SEEDS:
        return (
            f"{ALONE}: it needs at least {SEEDS} seeds with a bonus and without, and "
            f"{EQUIVALENT_SEEDS} to show that it does not matter; here are {max(pairs)}"
        )
    return ""


def _rounded(steps: int, period: int) -> str:
    """What becomes of a run's steps; empty if nearly all are trained."""
    periods, left = divmod(steps, period)
    if left <= LOST * steps:
        return ""
    return (
        f"of steps={steps:,} a run trains {steps - left:,}, as whole periods (eval_every × envs × "
        f"steps of the settings) of {period:,}; steps={period * (periods + 1)} would be "
        f"{periods + 1} of them"
    )
