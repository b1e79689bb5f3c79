"""Gymnasium environments: every kind of action, observations in words, and errors of their own."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.wrappers import TimeLimit

from clew.cli.commands import classify as command
from clew.machines import classify, from_env
from clew.machines.worlds.gym_words import symbol, written
from clew.validate import BadInput


class Once(gymnasium.Env):
    """One step, which pays if the action is the right one."""

    observation_space: spaces.Space = spaces.Discrete(2)

    def __init__(self, actions: spaces.Space, right: Any = 0, seen: Any = 0):
        self.action_space, self.right, self.seen = actions, right, seen

    def reset(self, *, seed: int | None = None, options: dict | None = None) -> Any:
        super().reset(seed=seed)
        return self.seen, {}

    def step(self, action: Any) -> Any:
        assert self.action_space.contains(action)
        return self.seen, float(np.array_equal(action, self.right)), True, False, {}


@pytest.mark.parametrize(
    ("actions", "right", "names"),
    [
        (spaces.Discrete(2, start=3), 4, ["a3", "a4"]),
        (spaces.MultiBinary(2), [1, 1], ["0,0", "0,1", "1,0", "1,1"]),
        (spaces.MultiBinary((1, 2)), [[1, 0]], ["0,0", "0,1", "1,0", "1,1"]),
        (spaces.MultiDiscrete([2, 3]), [1, 2], ["0,0", "0,1", "0,2", "1,0", "1,1", "1,2"]),
        (spaces.MultiDiscrete([2], start=[5]), [6], ["5", "6"]),
    ],
    ids=str,
)
def test_every_combination_is_an_action(
    actions: spaces.Space, right: Any, names: list[str]
) -> None:
    pomdp = from_env(Once(actions, right))
    assert list(pomdp.actions) == names
    assert f"actions go by the numbers that a step takes, such as {names[0]}" in pomdp.notes
    best = classify(pomdp).best
    assert best is not None
    assert best.value == 1


@pytest.mark.parametrize(
    ("actions", "why"),
    [
        (spaces.Box(-1, 1, (1,)), r"the actions are Box\(1,\) of float32, which cannot be tried"),
        (spaces.MultiBinary(11), "2,048 of them, .* offer at most 1,000"),
        (spaces.Discrete(10**12), "1,000,000,000,000 of them, .* offer at most 1,000"),
    ],
    ids=str,
)
@pytest.mark.parametrize("latent", [None, lambda env: {"s": 0}])
def test_actions_that_cannot_be_tried_one_by_one(
    actions: spaces.Space, why: str, latent: Any
) -> None:
    with pytest.raises(BadInput, match=why):
        from_env(Once(actions), latent)


class Corridor(gymnasium.Env):
    """One part of an action goes on or back, the other does nothing."""

    observation_space: spaces.Space = spaces.Discrete(2)

    def __init__(self, part: int):
        self.part, self.x = part, 0
        sizes = [50, 50]
        sizes[part] = 2
        self.action_space = spaces.MultiDiscrete(sizes)

    def reset(self, *, seed: int | None = None, options: dict | None = None) -> Any:
        super().reset(seed=seed)
        self.x = 0
        return 0, {}

    def step(self, action: Any) -> Any:
        self.x = 0 if action[self.part] else self.x + 1
        return int(self.x == 3), float(self.x == 3), self.x == 3, False, {}


@pytest.mark.parametrize("part", [0, 1])
def test_what_one_part_of_an_action_moves_is_no_clock(part: int) -> None:
    """Whichever part it is, though there are more combinations than are tried."""
    assert from_env(Corridor(part)).variables.keys() == {"x"}


class Later(Once):
    """A cue is seen, and asked for in the fourth step, in which an episode ends, or does not."""

    observation_space = spaces.Discrete(3)

    def __init__(self, end: str):
        super().__init__(spaces.Discrete(2))
        self.end, self.x, self.cue = end, 0, 0

    def reset(self, *, seed: int | None = None, options: dict | None = None) -> Any:
        gymnasium.Env.reset(self, seed=seed)
        self.x, self.cue = 0, int(self.np_random.integers(2))
        return self.cue, {}

    def step(self, action: Any) -> Any:
        self.x += 1
        asked = self.x == 4
        paid = float(asked and action == self.cue)
        return 2, paid, asked and self.end == "terminated", asked and self.end == "truncated", {}


@pytest.mark.parametrize("end", ["terminated", "truncated", "limit"])
def test_a_clock_is_part_of_a_state_where_what_happens_depends_on_it(end: str) -> None:
    env: gymnasium.Env = Later(end)
    pomdp = from_env(TimeLimit(env, 4) if end == "limit" else env, discount="1/2")
    assert "time is part of a state, as what happens depends on it: x" in pomdp.notes
    assert set(zip(pomdp.variables["cue"], pomdp.variables["x"], strict=True)) == {
        *((cue, x) for cue in (0, 1) for x in range(5)),
        ("end", "end"),
    }
    answer = classify(pomdp)
    assert answer.best is not None
    assert answer.best.value == Fraction(1, 8)
    assert answer.diagnosis.outcome == "null"


def test_a_clock_without_an_end_is_no_state() -> None:
    with pytest.raises(BadInput, match=r"left out, as they only count steps: x$"):
        from_env(Later("never"), limit=100)


def test_a_reward_that_is_no_number_is_the_environments() -> None:
    class Mute(Once):
        def step(self, action: Any) -> Any:
            return 0, float("nan"), True, False, {}

    with pytest.raises(BadInput, match="step paid nan, which is no finite reward"):
        from_env(Mute(spaces.Discrete(2)))


class Broken(Once):
    """Raises, or returns what Gymnasium does not know."""

    def __init__(self, what: str):
        super().__init__(spaces.Discrete(2))
        self.what = what

    def reset(self, **options: Any) -> Any:
        if self.what == "reset":
            raise RuntimeError("boom")
        return 0 if self.what == "reset's answer" else super().reset(**options)

    def step(self, action: Any) -> Any:
        if self.what == "step" and action:
            raise ValueError("oops in step")
        return super().step(action)[: 4 if self.what == "step's answer" else 5]

    def __deepcopy__(self, memo: object) -> Broken:
        if self.what == "copy":
            raise TypeError("cannot pickle")
        return Broken(self.what)


HERE = r"\(test_gym_named\.py, line \d+\)$"


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("step", rf"the environment's step raised ValueError: oops in step {HERE}"),
        ("step's answer", r"the environment's step raised ValueError: not enough values to unpack"),
        ("reset", rf"the environment's reset raised RuntimeError: boom {HERE}"),
        ("reset's answer", "the environment's reset raised TypeError: cannot unpack"),
        ("copy", rf"the deep copy of the environment raised TypeError: cannot pickle {HERE}"),
    ],
)
@pytest.mark.parametrize("latent", [None, lambda env: {"s": 0}])
def test_an_error_of_the_environment_is_said_in_a_sentence(
    what: str, said: str, latent: Any
) -> None:
    with pytest.raises(BadInput, match=said):
        from_env(Broken(what), latent)


def test_an_error_of_the_latent_variables() -> None:
    with pytest.raises(BadInput, match=r"latent variables raised AttributeError: .*'cue'"):
        from_env(Once(spaces.Discrete(2)), lambda env: {"cue": env.cue})


class Uniform(Once):
    """The first step draws a number, which is shown, or which the second step compares."""

    def __init__(self, shown: bool):
        super().__init__(spaces.Discrete(2))
        self.shown = shown

    def reset(self, **options: Any) -> Any:
        self.kept: float | None = None
        return super().reset(**options)

    def step(self, action: int) -> Any:
        drawn = self.np_random.random()
        if self.shown:
            return drawn, 0.0, True, False, {}
        if self.kept is None:
            self.kept = drawn
            return 1, 0.0, False, False, {}
        return 2, float(self.kept < 0.5), True, False, {}


@pytest.mark.parametrize(
    ("shown", "why"), [(True, "used otherwise than compared"), (False, "is kept for later")]
)
def test_a_uniform_number_that_outlives_its_step_is_walked_over_seeds(
    shown: bool, why: str
) -> None:
    pomdp = from_env(Uniform(shown))
    assert pomdp.draws == 200
    assert any(why in note for note in pomdp.notes)


LONG = np.zeros((3, 3), int)


@pytest.mark.parametrize(
    ("seen", "name"),
    [
        (3, "o3"),
        (np.int64(3), "o3"),
        (np.array(3), "o3"),
        (np.array([1, 0]), "(1, 0)"),
        (np.array([0.5], np.float32), "0.5"),
        ((np.array([-1 / 3]), True), "(-0.333333, 1)"),
        ({"view": 2, "known": [True, False]}, "view=2 known=(1, 0)"),
        ({"said": "", "deep": {"x": 1}}, "said='' deep=x=1"),
        ("left", "left"),
        ("left " * 9, ""),
        (LONG, ""),
        ({"image": LONG, "direction": 0}, ""),
    ],
    ids=str,
)
def test_small_observations_are_written_out(seen: Any, name: str) -> None:
    assert written(seen) == name
    assert hash(symbol(seen)) is not None


def test_what_is_too_long_is_numbered_and_said_to_be() -> None:
    env = Once(spaces.Discrete(2), seen=LONG)
    env.observation_space = spaces.Box(0, 1, (3, 3), np.int64)
    pomdp = from_env(env)
    assert pomdp.observations == ("view 0", "end")
    assert (
        "view 0, view 1, … are observations that are too long to write out, numbered as they were "
        "found: Box(3, 3) of int64"
    ) in pomdp.notes
    assert not any("o0" in note for note in pomdp.notes)


def test_names_that_come_out_alike_are_told_apart() -> None:
    class Near(Once):
        def step(self, action: int) -> Any:
            return np.array([1.0 + 1e-9 * action]), 0.0, True, False, {}

    assert set(from_env(Near(spaces.Discrete(2))).observations) == {"o0", "1 (1)", "1 (2)", "end"}


def test_how_to_try_it_stands_where_only_an_experiment_decides(capsys: Any) -> None:
    told = []
    for name in ("gymnasium:FrozenLake-v1", "TMaze", "TinyReproduce"):
        command.classify(name, options=("k=2", "v=2") if name == "TinyReproduce" else ())
        told.append("`clew new suite NAME`" in capsys.readouterr().out)
    assert told == [
        True,
        False,
        False,
    ]  # of the gallery, nothing is trained; a theorem needs no try
