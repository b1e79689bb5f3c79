"""Copies of an environment: ends, resets, success; against the environments stepped one by one."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest

from clew import envs
from clew.envs.hosted.copies import Copies, HostStep
from clew.envs.hosted.environment import HostedEnvironment
from clew.envs.hosted.recipe import EnvironmentFailed
from clew.validate import BadInput
from tests.hosted.small_envs import Recall, Walk

HERE = "tests.hosted.small_envs"
MODES = ("NextStep", "SameStep", "Disabled")


def hosted(name: str, **options: Any) -> HostedEnvironment:
    env = envs.make(name, **options)
    assert isinstance(env, HostedEnvironment)
    return env


def played(env: HostedEnvironment, steps: int, n: int = 3) -> list[dict[str, Any]]:
    """What copies answer to random actions, as arrays of their own."""
    copies, random = Copies(env, n), np.random.default_rng(0)
    obs, _ = copies.reset([10, 20, 30][:n])
    found = [{"obs": env.layout.array(obs).copy()}]
    for _ in range(steps):
        action = random.integers(len(env.action_names), size=n)
        step = copies.step(action)
        now = {name: np.array(value) for name, value in step._asdict().items() if name != "info"}
        now |= {"obs": env.layout.array(step.obs).copy(), "action": action}
        found.append(now | {"final": env.layout.array(step.final).copy()})
    copies.close()
    return found


def one_by_one(make: Any, env: HostedEnvironment, steps: list[dict[str, Any]]) -> None:
    """The same actions in environments of their own, reset by hand."""
    for i, seed in enumerate((10, 20, 30)):
        alone = make()
        obs, _ = alone.reset(seed=seed)
        total = 0.0

        def array(obs: Any) -> np.ndarray:
            batch = {k: v[None] for k, v in obs.items()} if isinstance(obs, dict) else obs[None]
            return env.layout.array(batch)[0]

        np.testing.assert_array_equal(array(obs), steps[0]["obs"][i])
        for step in steps[1:]:
            action = env.actions.taken(step["action"][i : i + 1])[0]
            obs, reward, terminated, truncated, info = alone.step(action)
            total += float(reward)
            np.testing.assert_array_equal(array(obs), step["final"][i])
            assert (float(reward), terminated, truncated) == (
                step["reward"][i], step["terminated"][i], step["truncated"][i],
            )  # fmt: skip
            success = False
            if terminated or truncated:
                success = bool(info.get("is_success", "cue" not in info and total >= 0.5))
                total = 0.0
                obs, _ = alone.reset()
            assert step["success"][i] == success
            np.testing.assert_array_equal(array(obs), step["obs"][i])


def test_copies_do_what_single_environments_do() -> None:
    env = hosted(f"{HERE}:recall", max_episode_steps=5, success_key="is_success")
    steps = played(env, 60)
    one_by_one(lambda: gymnasium.wrappers.TimeLimit(Recall(), 5), env, steps)
    assert any(step["truncated"].any() for step in steps[1:])
    assert any((step["terminated"] & ~step["truncated"]).any() for step in steps[1:])
    assert any(step["success"].any() for step in steps[1:])


@pytest.mark.parametrize("world", ["recalls", "walks"])
def test_all_ways_of_beginning_the_next_episode_come_to_the_same(world: str) -> None:
    options: dict[str, Any] = {"success_return": 0.5} if world == "walks" else {}
    limit = {"max_episode_steps": 7} if world == "recalls" else {}
    found = [played(hosted(f"{HERE}:{world}", mode=mode, **options, **limit), 50) for mode in MODES]
    env = hosted(f"{HERE}:{world}", mode=MODES[0], **options, **limit)
    make = Recall if world == "recalls" else lambda: gymnasium.wrappers.TimeLimit(Walk(), 20)
    one_by_one(make, env, found[0])
    for other in found[1:]:
        for one, two in zip(found[0], other, strict=True):
            assert one.keys() == two.keys()
            for name in one:
                np.testing.assert_array_equal(one[name], two[name], err_msg=name)


def test_processes_of_their_own_change_nothing() -> None:
    name = f"{HERE}:recall"
    one, two = (played(hosted(name, max_episode_steps=9, vector=v), 12) for v in ("sync", "async"))
    for here, there in zip(one, two, strict=True):
        for field in here:
            np.testing.assert_array_equal(here[field], there[field], err_msg=field)


@pytest.mark.filterwarnings("ignore:.*ERROR")
@pytest.mark.parametrize("vector", ["sync", "async"])
@pytest.mark.parametrize(
    ("what", "value", "said"),
    [
        ("raises", "stuck", "could not step: ValueError: door is stuck"),
        ("exits", 3, "could not step: SystemExit: 3"),
    ],
)
def test_an_error_of_the_environment_says_where(
    what: str, value: Any, said: str, vector: str
) -> None:
    env = hosted(f"{HERE}:odd", max_episode_steps=9, what=what, value=value, vector=vector)
    copies = Copies(env, 2)
    copies.reset([0, 1])
    for _ in range(2):
        copies.step(np.zeros(2, int))
    with pytest.raises(EnvironmentFailed, match=rf"odd {said} \(small_envs\.py, line \d+\)$"):
        copies.step(np.zeros(2, int))
    copies.close()


LIES = {
    "number": r"returned 7 in the observation, where Discrete\(4, start=1\) has 1 to 4; correct it",
    "numbers": r"returned 3 in the observation, where MultiDiscrete\(\[2 3\]\) has 0 to 2; ",
    "bits": r"returned 2 in the observation, where MultiBinary\(2\) has 0 to 1; ",
    "pixels": r"returned -1 in the observation, where Box\(2, 2\) of int64 has 0 to 9; ",
    "part": r"returned 3 in the observation under 'a', where Discrete\(3\) has 0 to 2; ",
    "missing": "could not (reset|step): the observation has no key 'b'; the space has it$",
    "none": "could not (reset|step): the observation is ndarray, the space says Dict$",
    "shape": r"the observation under 'b' has shape \(2,\), the space says \(1,\)$",
    "old": "(step returned 4 values|reset returned something else); gymnasium's returns ",
}
SOME = ("number", "shape", "old")


@pytest.mark.filterwarnings("ignore:.*ERROR")
@pytest.mark.parametrize("after", [0, 1])
@pytest.mark.parametrize(
    ("what", "vector"), [*((what, "sync") for what in LIES), *((what, "async") for what in SOME)]
)
def test_what_the_space_does_not_have_is_refused(what: str, vector: str, after: int) -> None:
    env = hosted(f"{HERE}:lies", max_episode_steps=9, what=what, after=after, vector=vector)
    copies = Copies(env, 2)

    def play() -> None:
        copies.reset([0, 1])
        copies.step(np.zeros(2, int))

    with pytest.raises(EnvironmentFailed, match=f"^{HERE}:lies .*{LIES[what]}"):
        play()
    copies.close()


def test_after_the_first_episode_nothing_is_looked_at() -> None:
    """It would cost a tenth of the speed of an environment with pictures."""
    copies = Copies(hosted(f"{HERE}:lies", max_episode_steps=9, what="number", after=9), 1)
    copies.reset([0])
    for _ in range(5):
        assert copies._looks
        copies.step(np.zeros(1, int))
    assert not copies._looks
    assert not copies._vector.envs[0]._looks  # type: ignore[attr-defined]
    copies.close()


def test_a_part_that_nobody_sees_may_be_anything() -> None:
    for keys, fails in ((["b"], False), (["a"], True)):
        env = hosted(f"{HERE}:lies", max_episode_steps=9, what="part", after=0, keys=keys)
        copies = Copies(env, 1)
        if fails:
            with pytest.raises(EnvironmentFailed, match="returned 3"):
                copies.reset([0])
        else:
            copies.reset([0])
        copies.close()


def test_an_interrupt_is_no_error_of_the_environment() -> None:
    copies = Copies(hosted(f"{HERE}:odd", max_episode_steps=9, what="raises", value="ends"), 1)
    copies.reset([0])
    for _ in range(2):
        copies.step(np.zeros(1, int))
    with pytest.raises(KeyboardInterrupt):
        copies.step(np.zeros(1, int))


def test_closing_is_no_failure() -> None:
    """Neither after a process has ended, nor where an environment cannot close."""
    copies = Copies(hosted(f"{HERE}:recall", max_episode_steps=9, vector="async"), 2)
    copies.reset([0, 1])
    processes = copies._vector.processes  # type: ignore[attr-defined]
    processes[0].kill()
    processes[0].join()
    with pytest.raises(EnvironmentFailed, match="could not step"):
        copies.step(np.zeros(2, int))
    copies.close()
    processes[1].join(10)
    assert processes[1].exitcode is not None
    stays = Copies(hosted(f"{HERE}:odd", max_episode_steps=9, success_return=1), 1)
    stays._vector.envs[0].unwrapped.what = "stays"  # type: ignore[attr-defined]
    with pytest.warns(UserWarning, match="odd could not close: RuntimeError: I stay"):
        stays.close()


def test_a_copy_that_plays_once_stands_still_until_it_is_seeded() -> None:
    env = hosted(f"{HERE}:recall", max_episode_steps=10)
    copies = Copies(env, 2, once=True)
    copies.reset([1, 2])
    ends = np.zeros(2, int)
    for _ in range(20):  # `Recall` would fail if it were stepped after its end
        step = copies.step(np.zeros(2, int))
        ends += step.terminated | step.truncated
    assert ends.tolist() == [1, 1]
    before = copies.reset([1, 2])[0]["cue"].copy()
    np.testing.assert_array_equal(copies.reset([1, 2])[0]["cue"], before)
    assert not copies.step(np.zeros(2, int)).terminated.any()


def test_success_by_each_rule() -> None:
    last = 6
    for options, expected in (
        ({}, "is_success"),
        ({"success_key": "cue"}, "cue"),
        ({"success_key": "absent"}, "absent"),
        ({"success_return": -1000}, "always"),
        ({"success_return": 0.9}, "is_success"),  # of 1 less 0.01 a step
    ):
        env = hosted(f"{HERE}:recall", max_episode_steps=last, **options)
        copies = Copies(env, 1)
        copies.reset([0])
        ended = 0
        while ended < 8:
            step = copies.step(np.array([1]))
            if not (step.terminated | step.truncated)[0]:
                assert not step.success[0]
                continue
            ended += 1
            said = bool(step.info[expected][0]) if expected in step.info else False
            meant = True if expected == "always" else said
            assert step.success[0] == meant


@pytest.mark.parametrize(
    ("value", "succeeded"),
    [
        (True, True), (np.False_, False), (np.bool_(True), True), (1, True), (np.int8(0), False),
        (1.0, True), (np.float32(0), False), (np.array(True), True),
        ("no", None), (2, None), (0.5, None), (None, None), (float("nan"), None), ([1], None),
        ({"won": True}, None), (np.array([True]), None),
    ],
    ids=repr,
)  # fmt: skip
def test_what_says_success_is_true_or_false(value: Any, succeeded: bool | None) -> None:
    copies = Copies(hosted(f"{HERE}:recall", max_episode_steps=5, success_key="won"), 2)
    for one in copies._vector.envs:  # type: ignore[attr-defined]
        one.unwrapped._info = lambda: {"won": value}
    copies.reset([0, 1])
    if succeeded is None:
        with pytest.raises(BadInput, match=r"info\['won'\] is .* must be True or False, or 1 or 0"):
            until_an_end(copies)
        return
    for _ in range(5):
        step = until_an_end(copies)
        done = step.terminated | step.truncated
        assert step.success.tolist() == (done & succeeded).tolist()


def until_an_end(copies: Copies) -> HostStep:
    while True:
        step = copies.step(np.zeros(2, int))
        if (step.terminated | step.truncated).any():
            return step


def test_a_registered_threshold_is_the_last_resort() -> None:
    env = hosted("gymnasium:CartPole-v1", max_episode_steps=3)
    assert (env.threshold, env.horizon) == (475, 3)
    copies = Copies(env, 1)
    copies.reset([0])
    steps = [copies.step(np.array([i % 2])) for i in range(3)]
    assert steps[-1].truncated[0]
    assert not steps[-1].terminated[0]
    assert not steps[-1].success[0]


def test_an_episode_that_nobody_can_judge_is_a_sentence() -> None:
    copies = Copies(hosted(f"{HERE}:walk", max_episode_steps=1), 1)
    copies.reset([0])
    with pytest.raises(
        BadInput, match=r"does not say when an episode has succeeded.*success_return"
    ):
        copies.step(np.array([0]))


@pytest.mark.filterwarnings("ignore:.*ERROR")
@pytest.mark.parametrize("vector", ["sync", "async"])
def test_an_error_of_the_environment_names_it(vector: str) -> None:
    env = hosted(f"{HERE}:crashes", max_episode_steps=10, vector=vector)
    copies = Copies(env, 1)
    copies.reset([0])
    for _ in range(49):
        copies.step(np.array([0]))
    with pytest.raises(EnvironmentFailed, match="crashes could not step: OSError: the simulator"):
        copies.step(np.array([0]))
    copies.close()


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("gymnasium:CartPol-v1", {}, r"no environment 'CartPol-v1'.*did you mean 'CartPole-v1'\?"),
        ("gymnasium:nopackage:X-v0", {}, "cannot be made .*nopackage"),
        ("gymnasium:CartPole-v1", {"colour": 3}, "cannot be made .*colour"),
        ("gymnasium:Pendulum-v1", {}, r"actions of gymnasium:Pendulum-v1 are Box"),
        ("nowhere:function", {}, "'nowhere:function' cannot be imported"),
        (f"{HERE}:absent", {}, "cannot be imported .*absent"),
        (f"{HERE}:nothing", {}, "returned int, and must return a gymnasium.Env"),
        (f"{HERE}:walk", {}, "has no time limit.*max_episode_steps=500"),
        (f"{HERE}:walk", {"max_episode_steps": 0}, "max_episode_steps=0 is not valid"),
        (f"{HERE}:recall", {"max_episode_steps": 9, "knowledge": "x"}, "unknown key.*'x'"),
        (f"{HERE}:recall", {"max_episode_steps": 9, "knowledge": True}, "is the key of the obs"),
        (f"{HERE}:recall", {"max_episode_steps": 9, "vector": "many"}, "choose 'sync' or 'async'"),
        (f"{HERE}:recall", {"max_episode_steps": 9, "obs_scale": 0}, "obs_scale=0 is not valid"),
        (f"{HERE}:recall", {"max_episode_steps": 9, "wrappers": "a"}, "must be a list of names"),
        (f"{HERE}:recall", {"wrappers": ["nowhere:W"]}, "'nowhere:W' cannot be imported"),
        (
            f"{HERE}:recall",
            {"max_episode_steps": 9, "success_return": 1, "success_key": "x"},
            "two ways of saying one thing",
        ),
    ],
)
def test_a_mistake_is_a_sentence(name: str, options: dict[str, Any], said: str) -> None:
    with pytest.raises(BadInput, match=said):
        envs.make(name, **options)


def test_a_vector_that_resets_in_its_own_next_step_is_refused() -> None:
    env = hosted(f"{HERE}:cartpoles", success_return=100)
    assert env.horizon == 500
    with pytest.raises(BadInput, match=r"autoreset_mode='NextStep'.*SAME_STEP"):
        Copies(env, 2)


def test_an_environment_is_a_value() -> None:
    options: dict[str, Any] = {"max_episode_steps": 9, "length": 3, "keys": ["seen"]}
    one, two = (hosted(f"{HERE}:recall", **options) for _ in range(2))
    assert one == two
    assert hash(one) == hash(two)
    assert one != hosted(f"{HERE}:recall", **{**options, "length": 4})
    assert one.n_symbols == 4
    assert one.obs_shape == (4,)
    with pytest.raises(BadInput, match="steps on the host"):
        one.step((), np.int32(0), None)  # type: ignore[arg-type]
