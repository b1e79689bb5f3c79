"""Gymnasium environments as POMDPs: what is random is enumerated, or many seeds are walked."""

from __future__ import annotations

import random
import sys
from collections import Counter, defaultdict
from fractions import Fraction
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from clew.cli.commands import classify as command
from clew.machines import classify, from_env
from clew.machines.certificates.claims import Dense
from clew.machines.deciding.classify import summary
from clew.machines.model.pomdp import Pomdp
from clew.machines.worlds.chance import CannotEnumerateError, outcomes
from clew.validate import BadInput

HALF = Fraction(1, 2)


class TMaze(gymnasium.Env):
    """A cue in the first cell, drawn at reset; at the far end, turn as it said."""

    action_space, observation_space = spaces.Discrete(3), spaces.Discrete(4)
    length = 3

    def reset(self, *, seed: int | None = None, options: dict | None = None) -> Any:
        super().reset(seed=seed)
        self.x, self.steps = 0, 0
        self.cue = int(self.np_random.integers(2))
        return self._seen(), {}

    def step(self, action: int) -> Any:
        self.steps += 1
        if self.x == self.length and action < 2:
            return 3, float(action == self.cue), True, False, {}
        self.x = min(self.x + (action == 2), self.length)
        return self._seen(), 0.0, False, self.steps >= 50, {}

    def _seen(self) -> int:
        return self.cue if self.x == 0 else 2 if self.x < self.length else 3


class Coin(gymnasium.Env):
    """Every step flips a coin, in a way of its own; heads pays and ends."""

    action_space, observation_space = spaces.Discrete(2), spaces.Discrete(2)

    def __init__(self, how: str = "integers"):
        self.how = how

    def reset(self, *, seed: int | None = None, options: dict | None = None) -> Any:
        super().reset(seed=seed)
        self.heads = False
        return 0, {}

    def step(self, action: int) -> Any:
        rng = self.np_random
        self.heads = (
            bool(action)
            and {
                "integers": lambda: rng.integers(2) == 1,
                "random": lambda: rng.random() < 0.3,
                "choice": lambda: rng.choice(["heads", "tails"], p=[0.25, 0.75]) == "heads",
                "permutation": lambda: rng.permutation(3)[0] == 0,
                "normal": lambda: rng.normal() > 0,
                "global": lambda: random.random() < 0.5,
            }[self.how]()
        )
        return int(self.heads), float(self.heads), self.heads, False, {}


def heads(pomdp: Pomdp) -> Fraction:
    """How likely the second action ends the first step."""
    begin = pomdp.start[0].state
    return sum(
        (b.probability for b in pomdp.steps[begin][1] if b.state in pomdp.terminal), Fraction(0)
    )


def test_a_cue_that_is_drawn_at_the_start() -> None:
    pomdp = from_env(TMaze())
    assert [b.probability for b in pomdp.start] == [HALF, HALF]
    assert pomdp.draws == 0
    assert set(pomdp.variables) == {"cue", "x"}
    assert any("count steps are left out: steps" in note for note in pomdp.notes)
    answer = classify(pomdp)
    assert summary(answer)["expected_effect_of_a_bonus"] == "equalise"
    assert answer.profile is not None
    cue = answer.profile.variables["cue"]
    assert cue.unpoolable == cue.pairs > 0
    assert answer.best is not None
    assert answer.best.value == pomdp.discount**3


@pytest.mark.parametrize(
    ("how", "chance"),
    [("integers", "1/2"), ("random", "3/10"), ("choice", "1/4"), ("permutation", "1/3")],
)
def test_a_coin_inside_a_step_is_enumerated(how: str, chance: str) -> None:
    pomdp = from_env(Coin(how))
    assert heads(pomdp) == Fraction(chance)
    assert pomdp.draws == 0
    gamma, p = pomdp.discount, Fraction(chance)
    answer = classify(pomdp)
    assert answer.best is not None
    assert answer.best.value == p / (1 - gamma * (1 - p))


@pytest.mark.parametrize(
    ("how", "why"), [("normal", "'normal' is drawn"), ("global", "other than")]
)
def test_a_coin_that_cannot_be_enumerated_is_walked_over_many_seeds(how: str, why: str) -> None:
    pomdp = from_env(Coin(how))
    assert pomdp.draws == 200
    assert abs(heads(pomdp) - HALF) < Fraction(1, 8)
    (note,) = (note for note in pomdp.notes if "seeds" in note)
    assert why in note
    assert "more often than 2.3% of the time is missed with a chance of less than 1 in 100" in note


def test_so_few_seeds_show_nothing() -> None:
    """With 4 seeds, ln(100)/4 is more than all of the time."""
    for seeds, said in ((4, "so few say nothing of what they may have missed"), (5, "than 92.1%")):
        (note,) = (note for note in from_env(TMaze(), seeds=seeds).notes if "seeds" in note)
        assert said in note


@pytest.mark.parametrize("name", ["CartPole-v1", "Blackjack-v1"])
def test_what_is_refused_is_called_as_it_was_typed(name: str) -> None:
    with pytest.raises(BadInput, match=f"^{name} begins in more ways than 1,000 seeds show"):
        from_env(f"gymnasium:{name}")


def test_slippery_ice_is_read_off_its_table_and_walked_alike() -> None:
    """The same by two ways: the table `P`, and every comparison of a uniform number a fork."""
    table = from_env("gymnasium:FrozenLake-v1")
    env = gymnasium.make("FrozenLake-v1")
    walked = from_env(env, latent=lambda env: {"s": int(env.s)})
    assert (table.draws, walked.draws) == (0, 0)
    one, two = classify(table), classify(walked)
    assert one.best is not None
    assert two.best is not None
    assert one.best.value == two.best.value
    assert abs(float(one.best.value) - 0.5420259) < 1e-6  # known of γ = 0.99
    assert isinstance(one.verdict, Dense)
    assert any("time limit of 100 steps is left out" in note for note in table.notes)


def test_the_cliff() -> None:
    pomdp = from_env("gymnasium:CliffWalking-v1")
    answer = classify(pomdp)
    assert answer.best is not None
    assert answer.best.value == -sum(pomdp.discount**t for t in range(13))


def test_the_enumerated_law_is_that_of_many_seeds() -> None:
    draws = 4000
    counted = Counter()
    for seed in range(draws):
        env = Coin("random")
        env.reset(seed=seed)
        counted[env.step(1)[2]] += 1
    assert abs(counted[True] / draws - float(heads(from_env(Coin("random"))))) < 0.03


def test_outcomes_add_up_and_follow_each_other() -> None:
    def run(rng: np.random.Generator) -> tuple[int, bool, bool]:
        first = int(rng.integers(1, 4))
        uniform = rng.random()
        return first, uniform < 0.5, uniform < 0.25 * first

    found = outcomes(run)
    assert sum(p for _, p in found) == 1
    law: dict[tuple[int, bool, bool], Fraction] = defaultdict(Fraction)
    for value, p in found:
        law[value] += p
    # below a quarter is below a half: the second comparison knows of the first
    assert (1, False, True) not in law
    assert law[1, True, True] == Fraction(1, 12)
    assert law[3, False, True] == Fraction(1, 3) * Fraction(1, 4)
    with pytest.raises(CannotEnumerateError, match="otherwise than compared"):
        outcomes(lambda rng: 2 * rng.random())
    with pytest.raises(CannotEnumerateError, match="more than 20,000 outcomes"):
        outcomes(lambda rng: [int(rng.integers(10)) for _ in range(9)])


def test_time_in_the_reward_is_part_of_a_state_or_left_out() -> None:
    class Hurry(TMaze):
        def step(self, action: int) -> Any:
            obs, reward, *rest = super().step(action)
            return obs, reward * (1 - self.steps / 100), *rest

    timed = from_env(Hurry(), discount="9/10")
    best = classify(timed).best
    assert best is not None
    assert best.value == Fraction(9, 10) ** 3 * Fraction(96, 100)
    assert len(set(timed.variables["steps"])) == 52  # none to 50, and the end
    assert "steps" not in from_env(Hurry(), reward="sign").variables
    with pytest.raises(BadInput, match=r"too few.*the time or the past"):
        from_env(Hurry(), limit=100)


def test_from_a_shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    (tmp_path / "own_maze.py").write_text(
        "from tests.machines.test_gym import TMaze\n"
        "def make(length=3):\n    env = TMaze()\n    env.length = length\n    return env\n"
        "def state(env):\n    return {'x': env.x, 'cue': env.cue}\n",
        encoding="utf-8",
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "own_maze", None)
    monkeypatch.delitem(sys.modules, "own_maze")
    command.classify("own_maze:make", options=("length=2", "state=own_maze:state"))
    words = " ".join(capsys.readouterr().out.split())
    assert "The reward supervises memory of the cue" in words
    with pytest.raises(BadInput, match="no environment 'FrozenLak-v1'"):
        command.classify("gymnasium:FrozenLak-v1")


class Told(TMaze):
    """It also says what a perfect memory would know, and something else."""

    observation_space = spaces.Dict(
        {"seen": spaces.Discrete(4), "known": spaces.Discrete(2), "same": spaces.Discrete(1)}
    )

    def _seen(self) -> Any:
        return {"seen": super()._seen(), "known": self.cue, "same": 0}

    def step(self, action: int) -> Any:
        obs, *rest = super().step(action)
        return obs if isinstance(obs, dict) else self._seen(), *rest


@pytest.mark.parametrize(
    ("options", "pairs"),
    [({}, 2), ({"knowledge": "known"}, 7), ({"keys": "seen,same"}, 7), ({"keys": ["known"]}, 12)],
)
def test_only_what_an_agent_sees_is_seen(options: dict, pairs: int) -> None:
    """The corridor has two cells that look alike, which the cue makes four, and the junction."""
    answer = classify(from_env("tests.machines.test_gym:Told", **options))
    assert answer.profile is not None
    assert answer.profile.total.pairs == pairs


def test_a_part_that_is_not_there() -> None:
    with pytest.raises(BadInput, match=r"unknown key of the observations.*'sen'.*'seen'"):
        from_env("tests.machines.test_gym:Told", keys="sen")


@pytest.mark.originals
def test_minigrid() -> None:
    """Its own MemoryS7 with the reward's sign: what our world says of it."""
    pytest.importorskip("minigrid")
    pomdp = from_env("gymnasium:minigrid:MiniGrid-MemoryS7-v0", reward="sign", agent_view_size=3)
    assert pomdp.draws == 0
    assert "forward" in pomdp.actions
    answer = classify(pomdp)
    assert answer.encoder is not None
    assert len(answer.encoder.machine.states) == 3
    assert answer.diagnosis.outcome == "equalise"
