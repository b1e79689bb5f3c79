"""MiniGrid-MemoryS: exact figures from its table, and the claims made about its rewards."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from clew import envs
from clew.envs.worlds.memory_s import SIZES
from clew.envs.worlds.memory_s.layout import KEY, looked_at
from clew.envs.worlds.memory_s.tables import Tables
from clew.envs.worlds.memory_s.world import MemoryS


def make(**options: object) -> MemoryS:
    env = envs.make("MiniGrid-MemoryS13", **options)
    assert isinstance(env, MemoryS)
    return env


def random_policy(env: MemoryS) -> dict[str, float]:
    """Exact figures of the uniformly random policy, by dynamic programming over the table."""
    tables, horizon = env.tables, env.horizon
    mass = np.zeros(len(tables.layout))
    starts = tables.starts[0]
    np.add.at(mass, starts.reshape(-1), 1 / starts.size)
    ended = tables.success | tables.failure
    success = native = length = 0.0
    for t in range(1, horizon + 1):
        length += mass.sum()
        moved = np.zeros_like(mass)
        for action in range(7):
            np.add.at(moved, tables.next_state[:, action], mass / 7)
        success += moved[tables.success].sum()
        native += moved[tables.success].sum() * (1 - 0.9 * t / horizon)
        mass = np.where(ended, 0, moved)
    return {"terminate": 1 - mass.sum(), "success": success, "length": length, "native": native}


def test_random_policy_exactly() -> None:
    figures = random_policy(make())
    assert round(figures["terminate"], 5) == 0.54407
    assert round(figures["success"], 5) == 0.27203
    assert round(figures["length"], 2) == 523.67
    assert round(figures["native"], 5) == 0.19832


def test_random_policy_played_agrees_with_its_exact_figures() -> None:
    env, n = make(), 8192
    exact = random_policy(env)
    played = envs.random_episodes(env, jax.random.key(1), n)
    deviation = float(played.success.mean()) - exact["success"]
    assert abs(deviation) < 4 * (exact["success"] * (1 - exact["success"]) / n) ** 0.5
    lengths = np.asarray(played.length)
    assert abs(lengths.mean() - exact["length"]) < 4 * lengths.std() / n**0.5


@pytest.mark.parametrize(("view", "observations"), [(3, 58), (7, 105)])
def test_size_of_the_table(view: int, observations: int) -> None:
    env = make(view=view)
    assert len(env.tables.layout) == 264
    assert (env.tables.success | env.tables.failure).sum() == 8
    assert len(env.alphabet) == observations


def test_cue_is_seen_at_reset_only_from_the_first_cell() -> None:
    tables = make().tables
    starts = tables.starts[0]
    assert tables.cue_visible[starts].all(1).tolist() == [True] + [False] * 9


def test_the_cue_is_visible_where_its_code_stands_in_the_view() -> None:
    """For every state: the cue's kind in the cell of the view that looks at the cue's place."""
    for view in (3, 5, 7):
        tables = make(view=view).tables
        assert 0 < tables.cue_visible.mean() < 1
        for row, pose in enumerate(tables.pose):
            cue = tables.layouts[tables.layout[row]].cue
            [places] = looked_at(pose[None], view)
            there = (places == (1, 5)).all(-1)
            shown = tables.alphabet[tables.symbol[row]][there][:, 5 + cue - KEY]
            assert tables.cue_visible[row] == bool(shown.any())


def test_levels_are_uniform() -> None:
    env = make()
    levels = jax.vmap(env.level)(jax.random.split(jax.random.key(0), 40_000))
    rows, counts = np.unique(np.asarray(levels), return_counts=True)
    np.testing.assert_array_equal(rows, np.unique(env.tables.starts))
    chi2 = ((counts - 1000) ** 2 / 1000).sum()
    assert chi2 < 39 + 5 * (2 * 39) ** 0.5


def test_random_length_draws_the_length_before_the_place() -> None:
    env = envs.make("MiniGrid-MemoryS13Random")
    assert isinstance(env, MemoryS)
    levels = np.asarray(jax.vmap(env.level)(jax.random.split(jax.random.key(0), 28_000)))
    ends = np.array([layout.hallway_end for layout in env.tables.layouts])
    _, counts = np.unique(ends[env.tables.layout[levels]], return_counts=True)
    assert len(counts) == 7
    assert abs(counts - 4000).max() < 5 * 4000**0.5


def shortest_ways(tables: Tables) -> np.ndarray:
    """Steps to the goal from every state, if one knew where it is."""
    steps = np.where(tables.success, 0, 10**6)
    for _ in range(len(steps)):
        better = np.minimum(steps, 1 + steps[tables.next_state].min(1))
        if (better == steps).all():
            break
        steps = better
    return steps


def test_the_per_move_cost_is_not_free_for_any_solver() -> None:
    """The paper calls the penalty return-matched; on this world every way to the goal pays it."""
    env = make()
    cheapest = shortest_ways(env.tables)[env.tables.starts[0]]
    assert cheapest.min() == 3
    assert cheapest.max() == 12
    assert cheapest.mean() == 7.5
    move = env.reward_variants()["penalty"]["move"]
    assert round(-move * cheapest.mean(), 5) == 0.00888


def test_the_distractor_cannot_be_farmed() -> None:
    """ε/(1−γ) < 1, at the study's γ."""
    epsilon = make().reward_variants()["distractor"]["revisit"]
    assert round(epsilon / (1 - 0.999), 3) == 0.118
    # a step of delay loses γⁿ(1−γ) of the goal; the revisit gains at most ε
    assert epsilon < 0.999**845 * (1 - 0.999)


def test_revisits_can_be_counted_by_standing() -> None:
    """Every step that leads to no new cell, the last one of an episode apart."""
    env = make(revisit="standing", max_steps=60)
    count = env.event_names.index("revisit")
    step_in = jax.jit(env.step)
    paid = 0
    for seed in range(8):
        state, _ = env.reset(jax.random.key(seed))
        been = {int(env.tables.cell[state.row])}
        for action in np.random.default_rng(seed).choice([0, 1, 2, 2, 2, 6], 60):
            state, step = step_in(state, jnp.int32(action), jax.random.key(0))
            cell, ended = int(env.tables.cell[state.row]), bool(step.terminated | step.truncated)
            assert step.events[count] == (cell in been and not ended)
            paid += int(step.events[count])
            been.add(cell)
            if ended:
                break
    assert paid > 10


def test_done_is_free_and_everything_else_is_a_move() -> None:
    env = make()
    state, _ = env.reset(jax.random.key(0))
    move = env.event_names.index("move")
    steps = [env.step(state, action, jax.random.key(0))[1] for action in jnp.arange(7)]
    moves = [float(step.events[move]) for step in steps]
    assert moves == [1, 1, 1, 1, 1, 1, 0]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("random_length", [False, True])
@pytest.mark.parametrize("max_steps", [None, 1, 2])
def test_no_episode_is_shorter_than_said(
    size: int, random_length: bool, max_steps: int | None
) -> None:
    """From all starts at once, whatever is done: a stock of levels is laid out by it."""
    env = MemoryS(size=size, random_length=random_length, max_steps=max_steps)
    tables, reached, steps = env.tables, np.unique(env.tables.starts), 0
    while steps < env.horizon and not (tables.success | tables.failure)[reached].any():
        reached, steps = np.unique(tables.next_state[reached]), steps + 1
    assert steps == env.shortest_length == env.typical_length
