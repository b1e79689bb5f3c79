"""The laws can be broken: each of these things breaks one, and is told which."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from clew.bonuses import Bonus, Transitions
from clew.envs import Asked, Latent, Step
from clew.envs.tiles import Tiles
from clew.envs.worlds.mystery_path.world import MysteryPath
from clew.envs.worlds.tiny_reproduce.world import SequenceState, TinyReproduce
from clew.memory import Architecture
from clew.memory.architectures.memoryless import Memoryless
from clew.testing import check_bonus, check_world, memory_laws
from clew.testing.world_laws import tiles_make_every_image
from clew.validate import BadInput


def world(**changes: Any) -> TinyReproduce:
    """TinyReproduce, with something about it that is wrong."""
    made = type("Wrong", (TinyReproduce,), {"__annotations__": {}, **changes})
    return dataclasses.dataclass(frozen=True)(made)(k=2, v=2)


def stepping(change: Callable[[Step], Step]) -> dict[str, Any]:
    def step(self: Any, state: SequenceState, action: Any, key: Any) -> Any:
        after, result = TinyReproduce.step(self, state, action, key)
        return after, change(result)

    return {"step": step}


class Twice(Latent[SequenceState, tuple[()]]):
    questions = ("is it?", "is it?")  # type: ignore[assignment]

    def start(self) -> tuple[()]:
        return ()

    def look(self, known: tuple[()], state: SequenceState) -> tuple[tuple[()], Asked]:
        raise NotImplementedError


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            stepping(lambda s: s._replace(terminated=jnp.int32(s.terminated))),
            r"Step.terminated must be bool\[\], and is int32\[\]",
        ),
        ({"obs_high": 0}, r"observations lie in \[0.0, 1.0\], and must in \[0, obs_high=0\]"),
        (
            {"horizon": 2, **stepping(lambda s: s._replace(truncated=jnp.bool_(False)))},
            "an episode took 3 steps, with horizon 2",
        ),
        ({"horizon": 9, "shortest_length": 4}, "an episode took 2 steps, with shortest_length 4"),
        ({"shortest_length": 4}, "shortest_length 4 must be 1 to the horizon 3"),
        (
            stepping(lambda s: s._replace(obs=jnp.float32(s.obs))),
            r"Step.obs must be int32\[\], and is float32\[\]",
        ),
        (
            stepping(lambda s: s._replace(terminated=jnp.bool_(False), truncated=jnp.bool_(False))),
            "no episode ended in 4 steps, with horizon 3",
        ),
        ({"rewards": {}}, "a world has at least one reward variant"),
        ({"explain": lambda self, state: {}}, "info's is_success must be False .* is None"),
        ({"picture": lambda self, state: np.zeros((4, 4, 3), np.uint8)}, "has a single colour"),
        ({"picture": lambda self, state: np.zeros((4, 4, 3))}, r"picture must be uint8\[4, 4, 3\]"),
        ({"latent": lambda self: Twice()}, "a latent's questions must differ"),
        ({"__hash__": lambda self: id(self)}, "equal options must make equal worlds"),
    ],
)  # fmt: skip
def test_worlds(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(AssertionError, match=said):
        check_world(world(**changes))


SMALL = MysteryPath(size=3)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (Tiles(SMALL.tiles.pictures, 3, SMALL.tiles.shown[:-1]), "59 rows, and must have one for"),
        (Tiles(SMALL.tiles.pictures + np.uint8(1), 3, SMALL.tiles.shown), "must be blank"),
        (Tiles(SMALL.tiles.pictures, 3, SMALL.tiles.shown.repeat(2, 1)), "not the sum of its"),
        (Tiles(SMALL.tiles.pictures, 3, SMALL.tiles.shown[::-1]), "not the sum of its"),
    ],
)
def test_tiles(wrong: Tiles, said: str) -> None:
    """A row is missing; the first picture is not blank; parts lie on one tile; wrong images."""
    tiles_make_every_image(SMALL)
    world = type("Wrong", (MysteryPath,), {"tiles": wrong})(size=3)
    with pytest.raises(AssertionError, match=said):
        tiles_make_every_image(world)


@pytest.mark.parametrize("one", [world(), "TinyReproduce"])
def test_a_sound_world_breaks_none(one: Any) -> None:
    check_world(one)


class Sum(Architecture[Any, Any]):
    """The sum of its inputs; `unroll` forgets about resets, and begins with ones."""

    in_size: int
    width: int

    def initial_state(self) -> Any:
        return jnp.ones(self.width)

    def step(self, state: Any, x: Any, reset: Any) -> Any:
        state = jnp.where(reset, 0, state) + x
        return state, state

    def unroll(self, state: Any, xs: Any, resets: Any) -> Any:
        ys = state + jnp.cumsum(xs, 0)
        return ys[-1], ys


def test_memories() -> None:
    with jax.enable_x64(True):
        inputs = memory_laws.Inputs(
            jnp.zeros((1, 3)), jnp.ones((1, 7, 3)), jnp.zeros((1, 7), bool).at[0, 3].set(True)
        )
        with pytest.raises(AssertionError, match="initial_state must be zeros"):
            memory_laws.starts_empty(Sum(3, 3))
        with pytest.raises(AssertionError, match="unroll must be a loop over step"):
            memory_laws.unroll_is_scan_of_step(Sum(3, 3), inputs)
        with pytest.raises(AssertionError, match="after a reset, all must be as from the start"):
            memory_laws.a_reset_is_a_fresh_sequence(Sum(3, 3), inputs, 3)
        sound = inputs._replace(resets=jnp.zeros((1, 7), bool))
        memory_laws.unroll_is_scan_of_step(Sum(3, 3), sound)


@dataclasses.dataclass(frozen=True)
class Paying(Bonus[Any]):
    """What it is told to."""

    scores: Callable[[Transitions], Any] = lambda seen: jnp.float32(seen.action)

    def init(self, observations: Any, envs: int, key: Any) -> Any:
        return ()

    def score(self, observations: Any, state: Any, transitions: Transitions) -> Any:
        return state, self.scores(transitions)


class Seeing(Paying):
    """It wants to know what the agent is paid."""

    def learn(
        self, observations: Any, state: Any, transitions: Any, key: Any, rewards: Any = 0
    ) -> Any:
        return state


@pytest.mark.parametrize(
    ("bonus", "said"),
    [
        (Paying(scores=lambda seen: -jnp.float32(seen.action)), "scores must not be negative"),
        (Paying(scores=lambda seen: seen.action), r"scores must be float32\[12, 3\], and is int32"),
        (Paying(scores=lambda seen: jnp.float32(seen.action[0])), r"and is float32\[3\]"),
        (Paying(scores=lambda seen: 1 / jnp.float32(seen.action)), "scores must be finite"),
        (Seeing(), "learn takes .*, and not .*'rewards'"),
    ],
)
def test_bonuses(bonus: Bonus, said: str) -> None:
    with pytest.raises(AssertionError, match=said):
        check_bonus(bonus)


@pytest.mark.parametrize("one", [Paying(), "e3b"])
def test_a_sound_bonus_breaks_none(one: Any) -> None:
    check_bonus(one)


@pytest.mark.parametrize(("check", "kind"), [(check_world, "environment"), (check_bonus, "bonus")])
def test_names_are_known_ones(check: Any, kind: str) -> None:
    with pytest.raises(BadInput, match=f"unknown {kind} 'nothing'"):
        check("nothing")


def test_no_memory_at_all_is_sound() -> None:
    with jax.enable_x64(True):
        memory_laws.starts_empty(Memoryless(5, 8, key=jax.random.key(0)))
