"""Knowledge is all that matters of the past: proved over every history of small worlds."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax.numpy as jnp
import pytest

from clew import envs
from clew.envs.worlds.memory_s.knowledge import Possible
from clew.envs.worlds.memory_s.world import MemoryS
from clew.envs.worlds.mystery_path.knowledge import Map
from clew.envs.worlds.mystery_path.world import MysteryPath
from clew.envs.worlds.tiny_reproduce.knowledge import ToPlay
from clew.envs.worlds.tiny_reproduce.world import TinyReproduce
from clew.machines import check_knowledge
from clew.validate import BadInput

TINY: dict[str, Any] = {"k": 3, "v": 2}
PATH: dict[str, Any] = {"size": 3}


def proved(name: str, reward: str = "sparse", **options: Any) -> None:
    proof = check_knowledge(envs.make(name, **options), reward)
    assert proof.sufficient, str(proof)
    assert proof.histories >= proof.situations > 1
    assert "knowledge is sufficient" in str(proof)


@pytest.mark.parametrize("reward", ["sparse", "dense"])
@pytest.mark.parametrize("order", ["reverse", "forward"])
def test_tiny_reproduce(order: str, reward: str) -> None:
    proved("TinyReproduce", reward, order=order, **TINY)


@pytest.mark.parametrize("size", [7, pytest.param(9, marks=pytest.mark.slow)])
def test_memory_s(size: int) -> None:
    proved(f"MiniGrid-MemoryS{size}")


@pytest.mark.parametrize(
    "actions", ["cardinal", pytest.param("egocentric", marks=pytest.mark.slow)]
)
def test_mystery_path(actions: str) -> None:
    proved("MysteryPath-Grid", actions=actions, origin_sides=(0,), **PATH)


@pytest.mark.slow
@pytest.mark.parametrize("actions", ["cardinal", "egocentric"])
@pytest.mark.parametrize("options", [{}, {"visual_feedback": False}, {"show_goal": True}], ids=str)
def test_mystery_path_from_all_sides(actions: str, options: dict[str, Any]) -> None:
    proved("MysteryPath-Grid", actions=actions, **PATH, **options)


@pytest.mark.slow
@pytest.mark.parametrize("reward", ["penalty", "aligned", "distractor"])
def test_mystery_path_for_other_rewards(reward: str) -> None:
    proved("MysteryPath-Grid", reward, actions="cardinal", origin_sides=(0,), **PATH)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "options"), [("S13", {}), ("S13", {"view": 7}), ("S13Random", {})], ids=str
)
def test_memory_s_at_full_size(name: str, options: dict[str, Any]) -> None:
    proved(f"MiniGrid-Memory{name}", **options)


# Forgetful on purpose --------------------------------------------------------------------------


class ForgetsTheLast(ToPlay):
    """The token that is played last is not remembered."""

    def array(self, known: Any, obs: Any) -> Any:
        whole = super().array(known, obs).reshape(self.env.k, self.env.v)
        return whole.at[-1].set(False).reshape(-1)


class ForgetsFalls(Map):
    """Tiles found to be off the path are not remembered."""

    def look(self, known: Any, action: Any, obs: Any) -> Any:
        after = super().look(known, action, obs)
        return after._replace(off=jnp.zeros_like(after.off))


class ForgetsTheCue(Possible):
    """Whatever was seen, the cue may be either."""

    def array(self, known: Any, obs: Any) -> Any:
        return super().array(known, obs).at[:2].set(True)


@dataclasses.dataclass(frozen=True)
class ForgetfulTiny(TinyReproduce):
    def knowledge(self) -> Any:
        return ForgetsTheLast(self)


@dataclasses.dataclass(frozen=True)
class ForgetfulPath(MysteryPath):
    def knowledge(self) -> Any:
        return ForgetsFalls(self)


@dataclasses.dataclass(frozen=True)
class ForgetfulMemory(MemoryS):
    def knowledge(self) -> Any:
        return ForgetsTheCue(self)


@pytest.mark.parametrize(
    "world",
    [
        ForgetfulTiny(**TINY),
        ForgetfulPath(actions="cardinal", origin_sides=(0,), **PATH),
        ForgetfulMemory(size=7),
    ],
    ids=lambda world: type(world).__name__,
)
def test_forgetful_knowledge_is_refuted(world: Any) -> None:
    proof = check_knowledge(world)
    assert not proof.sufficient
    assert proof.counterexample is not None
    one, two, action = proof.counterexample
    assert one != two
    assert action in world.action_names
    assert one in str(proof)


def test_the_counterexample_is_a_pair_of_histories() -> None:
    """The first tokens differ; they are played last, and the knowledge has lost them."""
    proof = check_knowledge(ForgetfulTiny(**TINY))
    assert proof.counterexample is not None
    one, two, _ = proof.counterexample
    shown = [history.split(", ")[::2] for history in (one, two)]
    assert {tokens[0] for tokens in shown} == {"o0", "o1"}
    assert shown[0][1:] == shown[1][1:]


def test_what_cannot_be_checked() -> None:
    class Silent(TinyReproduce):
        def knowledge(self) -> Any:
            return None

    class Unread(TinyReproduce):
        def enumeration(self, priced: Any) -> Any:
            return None

    with pytest.raises(BadInput, match="Silent has no knowledge"):
        check_knowledge(Silent())
    with pytest.raises(BadInput, match="Unread has no enumeration"):
        check_knowledge(Unread())
    with pytest.raises(BadInput, match="more than limit=10 histories"):
        check_knowledge(TinyReproduce(**TINY), limit=10)
