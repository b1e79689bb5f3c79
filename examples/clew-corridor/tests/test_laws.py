"""The laws that worlds, memories and bonuses obey; and that all is found where it is installed."""

from __future__ import annotations

from clew import bonuses, envs
from clew.machines import check_knowledge
from clew.suite import find_suite
from clew.testing import check_bonus, check_memory, check_world
from clew_corridor.place import place
from clew_corridor.world import Corridor


def test_worlds() -> None:
    check_world(envs.make("Corridor"))
    assert envs.make("Corridor-long") == Corridor(length=8)


def test_a_perfect_memory_needs_to_know_no_more() -> None:
    assert check_knowledge("Corridor").sufficient


def test_memory() -> None:
    check_memory("Leaky")


def test_bonus() -> None:
    check_bonus(bonuses.make("change"))


def test_latent() -> None:
    asked = place(Corridor())
    assert asked is not None
    assert asked.questions == ("at place 1", "at place 2")
    assert envs.latents["place"].factory() is place
    assert place(envs.make("TinyReproduce")) is None


def test_suite() -> None:
    assert len(find_suite("corridor").runs()) == 36
