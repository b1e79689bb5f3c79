"""Agents that are paid a bonus see more of an episode."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, partial
from itertools import pairwise
from typing import Any

import jax
import numpy as np
import pytest

from clew import bonuses, envs
from clew.learner import Knobs, Pack, Settings, TrainState, periods
from clew.learner.rollout import collect_rollout

SEEDS, STEPS = 3, 100_000
SMALL = Settings(
    envs=16, steps=128, chunk=16, chunks_per_batch=32, eval_every=10, eval_episodes=4,
    memory_width=32, encoder_width=32, encoder_hidden=32,
)  # fmt: skip
# a predictor of 1e-4 would still be surprised by everything
OPTIONS: Mapping[str, Mapping[str, Any]] = {"rnd": {"learning_rate": 1e-3}}


def pack_of(bonus: str) -> Pack:
    made = bonuses.make(bonus, **OPTIONS.get(bonus, {}))
    world = envs.make("MiniGrid-MemoryS13", max_steps=100)
    knobs = Knobs(learning_rate=1e-3, bonus_coef=0.1)
    seeds = range(SEEDS)
    return Pack.of(world, "sparse", "Memoryless", made, seeds=seeds, knobs=knobs, settings=SMALL)


def distinct(pack: Pack, state: TrainState) -> np.ndarray:
    """Mean number of different observations of an episode, by run; over four rollouts."""
    collect = jax.jit(jax.vmap(partial(collect_rollout, pack.program), in_axes=(0, 0, None)))
    runner, parts = state.runner, []
    for i in range(4):
        runner, rollout, _ = collect(state.agent, runner, jax.random.key(i))
        parts.append([np.asarray(x) for x in (rollout.first, rollout.obs, rollout.next_obs)])
    first, obs, after = (np.concatenate(part, 1) for part in zip(*parts, strict=True))
    means = []
    for run in range(SEEDS):
        numbers = []
        for env in range(SMALL.envs):
            begins = np.flatnonzero(first[run, :, env])  # what no episode ends is left out
            for begin, end in pairwise(begins):
                seen = {*obs[run, begin:end, env].tolist(), int(after[run, end - 1, env])}
                numbers.append(len(seen))
        means.append(np.mean(numbers))
    return np.array(means)


@cache
def trained(bonus: str) -> np.ndarray:
    pack = pack_of(bonus)
    *_, last = periods(pack, STEPS)
    return distinct(pack, last.state)


@pytest.mark.slow
@pytest.mark.parametrize("bonus", [name for name in bonuses.names() if name != "none"])
def test_an_agent_with_a_bonus_sees_more(bonus: str) -> None:
    """Of 58 different views, than one without a bonus, and than one that was never trained."""
    pack = pack_of("none")
    without, untrained = trained("none").mean(), distinct(pack, pack.begin()).mean()
    found = trained(bonus)
    print(f"{bonus}: {found.round(1)}, without {without:.1f}, untrained {untrained:.1f}")
    assert found.mean() > 1.5 * without
    assert found.mean() > untrained
