"""MysteryPath-Grid: the distribution of its levels, its images, its options, its rewards."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew import envs
from clew.envs.canvas import GREEN, ORANGE
from clew.envs.worlds.mystery_path.world import MysteryPath
from clew.testing.world_laws import tiles_make_every_image

# Figures of the original over 100,000 levels.
LENGTHS = {7: .042, 8: .139, 9: .217, 10: .209, 11: .183, 12: .128, 13: .067, 14: .011}  # fmt: skip


def make(**options: object) -> MysteryPath:
    env = envs.make("MysteryPath-Grid", **options)
    assert isinstance(env, MysteryPath)
    return env


def levels_of(env: MysteryPath, n: int, seed: int = 0) -> tuple[np.ndarray, ...]:
    keys = jax.random.split(jax.random.key(seed), n)
    return tuple(np.asarray(part) for part in jax.jit(jax.vmap(env.level))(keys))


def test_path_lengths_have_the_originals_distribution() -> None:
    n = 20_000
    tiles = levels_of(make(), n)[0].sum(1)
    for length, share in LENGTHS.items():
        # both figures are samples; the reference is also rounded to three places
        error = (share * (1 - share) * (1 / n + 1e-5)) ** 0.5
        assert abs((tiles == length).mean() - share) < 4 * error + 5e-4, length
    assert abs(tiles.mean() - 10.08) < 4 * tiles.std() * (1 / n + 1e-5) ** 0.5 + 5e-3


def test_random_policy_within_sampling_error_of_the_original() -> None:
    n = 16_384
    env = make()
    played = envs.random_episodes(env, jax.random.key(5), n)
    assert abs(float(played.success.mean()) - 0.0109) < 4 * (0.0109 / n) ** 0.5
    assert abs(float(played.length.mean()) - 127.4) < 0.2
    totals = dict(zip(env.event_names, np.asarray(played.events).mean(0), strict=True))
    assert abs(totals["fall"] - 12.40) < 0.15
    assert abs(totals["progress"] - 2.56) < 0.06


@pytest.mark.parametrize(
    "size", [3, 4, 7, 11, *(pytest.param(n, marks=pytest.mark.slow) for n in (5, 6, 8, 16))]
)
def test_every_level_is_a_way_from_side_to_side(size: int) -> None:
    path, origin, goal = levels_of(make(size=size), 2000 if size <= 8 else 400)
    for tiles, start, end in zip(path.reshape(-1, size, size), origin, goal, strict=True):
        reached = {divmod(int(start), size)}
        frontier = list(reached)
        while frontier:
            x, y = frontier.pop()
            near = {(x + 1, y), (x - 1, y), (x, y + 1), (x, y - 1)}
            new = {(i, j) for i, j in near if 0 <= i < size and 0 <= j < size and tiles[i, j]}
            frontier += new - reached
            reached |= new
        assert divmod(int(end), size) in reached
        assert len(reached) == tiles.sum()
        across = np.abs(np.subtract(divmod(int(start), size), divmod(int(end), size)))
        assert across.max() == size - 1


def test_images_are_364_and_all_are_reached() -> None:
    env = make()
    assert env.alphabet is not None
    assert len(env.alphabet) == 364

    def body(state: object, key: jax.Array) -> object:
        state, step = env.step(state, jax.random.randint(key, (), 0, 4), key)  # type: ignore
        return state, step.obs

    @jax.jit
    @jax.vmap
    def episode(key: jax.Array) -> jax.Array:
        return jax.lax.scan(body, env.reset(key)[0], jax.random.split(key, 128))[1]  # type: ignore

    seen = np.unique(episode(jax.random.split(jax.random.key(0), 3000)))
    np.testing.assert_array_equal(seen, np.arange(364))


def test_without_a_table_decode_draws_the_same_images() -> None:
    """With the goal shown there are 8,736 images: no table, the same interface."""
    env, plain = make(show_goal=True), make()
    assert env.alphabet is None
    assert env.n_symbols == 8736
    assert plain.alphabet is not None
    level = env.level(jax.random.key(0))
    (state, symbol), (_, plain_symbol) = env.start(level), plain.start(level)
    image = np.array(env.decode(symbol))
    x, y = divmod(int(state.level.goal), 7)
    tile = (slice(12 * x, 12 * x + 12), slice(12 * y, 12 * y + 12))
    assert (image[tile] == (0, 255, 0)).all()
    image[tile] = 0
    np.testing.assert_array_equal(image, plain.alphabet[int(plain_symbol)])
    batch = env.decode(jnp.stack([symbol, symbol]).reshape(2, 1))
    assert batch.shape == (2, 1, 84, 84, 3)


def test_small_grids_keep_their_table_with_the_goal_shown() -> None:
    env = make(size=3, show_goal=True)
    assert env.alphabet is not None
    assert len(env.alphabet) == (8 * 9 - 4 * 3) * 8  # a goal lies on the border


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"show_goal": True},
        {"size": 3, "show_goal": True, "show_origin": True},
        {"size": 5, "show_origin": True, "visual_feedback": False},
    ],
)
def test_tiles_make_every_image(options: dict[str, Any]) -> None:
    tiles_make_every_image(make(**options))


CARDINAL, EGOCENTRIC = make(actions="cardinal"), make(max_steps=1000)
LEVEL = jax.jit(CARDINAL.level)
STEP_CARDINAL, STEP_EGOCENTRIC = jax.jit(CARDINAL.step), jax.jit(EGOCENTRIC.step)


@given(seed=st.integers(0, 2**31 - 1), actions=st.lists(st.integers(0, 3), max_size=40))
def test_cardinal_actions_are_turning_and_walking(seed: int, actions: list[int]) -> None:
    """A cardinal action is the egocentric turns to that heading, then forward."""
    key = jax.random.key(seed)
    level = LEVEL(key)
    (ours, _), (theirs, _) = CARDINAL.start(level), EGOCENTRIC.start(level)
    for action in actions:
        # a fallen agent is put back whatever it does: one egocentric action matches that
        turns = 0 if ours.off else (action - int(theirs.heading)) % 4
        ours, got = STEP_CARDINAL(ours, action, key)
        for _ in range(turns):
            theirs, _ = STEP_EGOCENTRIC(theirs, 1, key)
        theirs, want = STEP_EGOCENTRIC(theirs, 3, key)
        assert int(ours.tile) == int(theirs.tile)
        assert int(ours.heading) == int(theirs.heading)
        assert bool(got.success) == bool(want.success)
        if got.terminated:
            break


def _walk_the_path(env: MysteryPath, seed: int) -> np.ndarray:
    """Event totals of an agent that knows the path and never falls."""
    state, _ = env.reset(jax.random.key(seed))
    path = np.asarray(state.level.path).reshape(env.size, env.size)
    goal = divmod(int(state.level.goal), env.size)
    distance = {goal: 0}
    frontier = [goal]
    for x, y in frontier:
        for i, j in ((x + 1, y), (x - 1, y), (x, y + 1), (x, y - 1)):
            if 0 <= min(i, j) <= max(i, j) < env.size and path[i, j] and (i, j) not in distance:
                distance[i, j] = distance[x, y] + 1
                frontier.append((i, j))
    total = np.zeros(len(env.event_names))
    moves = ((0, -1), (-1, 0), (0, 1), (1, 0))
    while True:
        x, y = divmod(int(state.tile), env.size)
        ways = [distance.get((x + dx, y + dy), 99) for dx, dy in moves]
        state, step = env.step(state, jnp.int32(np.argmin(ways)), jax.random.key(0))
        total += np.asarray(step.events)
        if step.terminated:
            assert step.success
            return total


def test_the_penalty_costs_nothing_if_one_knows_the_path() -> None:
    env = make(actions="cardinal")
    for seed in range(5):
        total = _walk_the_path(env, seed)
        assert total @ env.prices("penalty") == total @ env.prices("sparse") == 1.0


def test_no_policy_that_always_arrives_can_avoid_all_falls() -> None:
    """Two levels look the same at their origin, and what is safe in one is a fall in the other."""
    path, origin, _ = levels_of(make(), 3000)
    safe_starts: dict[int, set[int]] = {}
    for tiles, start in zip(path, origin, strict=True):
        x, y = divmod(int(start), 7)
        near = [(x + 1, y), (x - 1, y), (x, y + 1), (x, y - 1)]
        safe = [7 * i + j for i, j in near if 0 <= min(i, j) <= max(i, j) < 7 and tiles[7 * i + j]]
        if len(safe) == 1:
            safe_starts.setdefault(int(start), set()).add(safe[0])
    assert any(len(tiles) > 1 for tiles in safe_starts.values())


def test_the_picture_shows_agent_and_goal_where_they_are() -> None:
    env = make()
    level = env.level(jax.random.key(2))
    state, _ = env.start(level)
    image = env.picture(state)
    for tile, colour in ((int(level.origin), ORANGE), (int(level.goal), GREEN)):
        x, y = divmod(tile, 7)
        # left of the centre, beside the arrow that shows the heading
        assert tuple(image[6 + 32 * y + 16, 6 + 32 * x + 6]) == colour


def test_the_distractor_cannot_be_farmed() -> None:
    """ε/(1−γ) < 1 at the study's γ, and delaying the goal for it never pays within an episode."""
    gamma = 0.995
    prices = make().reward_variants()["distractor"]
    epsilon = prices["revisit"]
    assert prices["returned"] == epsilon
    assert round(epsilon / (1 - gamma), 3) == 0.156
    # a step of delay loses γⁿ(1−γ) of the goal; the revisit gains at most ε
    assert epsilon < gamma**128 * (1 - gamma)


def test_revisits_can_be_counted_by_standing() -> None:
    """On any tile that holds and was stood on before, having moved or not; the slow way."""
    env = make(revisit="standing")
    count = env.event_names.index("revisit")
    step_in = jax.jit(env.step)
    turned = moved = 0
    for seed in range(8):
        state, _ = env.reset(jax.random.key(seed))
        been = {int(state.tile)}
        actions = np.random.default_rng(seed).integers(0, 4, env.max_steps)
        for action in actions:
            before = state
            state, step = step_in(state, jnp.int32(action), jax.random.key(0))
            tile, fell = int(state.tile), bool(state.off)
            expected = tile in been and not fell and not bool(step.terminated) and not before.off
            assert step.events[count] == expected
            turned += expected and tile == int(before.tile)
            moved += expected and tile != int(before.tile)
            been.add(tile)
            if step.terminated:
                break
    assert turned > 10
    assert moved > 10


def test_prices_of_the_study() -> None:
    variants = make().reward_variants()
    assert variants["penalty"] == {"goal": 1.0, "fall": -0.008}
    assert variants["aligned"] == {"goal": 1.0, "progress": 0.1}
    assert variants["distractor"]["revisit"] == 0.1 / 128
