"""Training in environments on the host: what is collected, repeated, resumed, given and scored."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from PIL import Image

from clew import envs
from clew.bonuses import Transitions
from clew.bonuses.visits import Visits
from clew.cli.film import BORDER, WIDTH
from clew.envs import Known
from clew.envs.hosted.environment import HostedEnvironment
from clew.envs.hosted.recipe import EnvironmentFailed
from clew.learner import Knobs, Pack, Program, TrainState, from_arrays, periods, to_arrays
from clew.learner.hosted import Hosted, LiveRun
from clew.learner.rollout import Rollout
from clew.suite import Block, from_config
from clew.suite.schema import FIRST, HOSTED, _parameters
from clew.validate import BadInput
from tests.cli.called import called
from tests.learner.conftest import SMALL, one, small

HERE = "tests.hosted.small_envs"
RECALL: dict[str, Any] = {"max_episode_steps": 5, "success_key": "is_success", "knowledge": "cue"}


def recall(**options: Any) -> HostedEnvironment:
    env = envs.make(f"{HERE}:recall", **{**RECALL, **options})
    assert isinstance(env, HostedEnvironment)
    return env


def pack_of(architecture: str = "GRU", bonus: str = "none", seeds: Any = (0,)) -> Pack:
    return Pack.of(recall(), "native", architecture, bonus, seeds=seeds, settings=small())


def collected(program: Program, rollouts: int = 3) -> list[tuple[TrainState, Rollout]]:
    """Rollouts of one run that does not learn, one after the other."""
    pack = Pack.single(program, 3, "native", Knobs())
    state = one(pack.begin())
    live = LiveRun(program, 3, 0)
    noise = np.random.default_rng(0).gumbel(size=(16, 4, 2)).astype(np.float32)
    found = []
    for _ in range(rollouts):
        rollout, _, memory = live._collect(state, noise)
        runner = state.runner._replace(
            actor_memory=jax.tree.unflatten(jax.tree.structure(state.runner.actor_memory), memory)
        )
        state = state._replace(runner=runner)
        found.append((state, rollout))
    live.close()
    return found


def history(pack: Pack, n: int, state: Any = None, done: int = 0) -> list[Any]:
    return list(periods(pack, n * pack.program.settings.period, state, done))


@pytest.fixture(scope="module")
def rollout() -> Rollout:
    """Three rollouts of an agent that is given the cue, one after the other."""
    program = Program.of(recall(), "Given", settings=small())
    parts = [rollout for _, rollout in collected(program)]
    return jax.tree.map(lambda *each: np.concatenate(each), *parts)


def test_a_rollout_is_one_history_of_every_copy(rollout: Rollout) -> None:
    done = rollout.terminated | rollout.truncated
    assert rollout.first[0].all()
    np.testing.assert_array_equal(rollout.first[1:], done[:-1])
    same = np.all(rollout.obs.obs[1:] == rollout.next_obs.obs[:-1], -1)
    np.testing.assert_array_equal(same, ~done[:-1])
    assert rollout.truncated.any()
    assert (rollout.terminated & ~rollout.truncated).any()
    # what is seen first is the cue, and what is known is always the cue
    cue = rollout.obs.knowledge
    np.testing.assert_array_equal(rollout.obs.obs[..., -4:-2][rollout.first], cue[rollout.first])
    np.testing.assert_array_equal(rollout.next_obs.knowledge, cue)
    right = rollout.terminated & (rollout.action == cue.argmax(-1))
    np.testing.assert_array_equal(rollout.success, right)
    expected = np.stack((right - 0.01, right), -1).astype(np.float32)
    np.testing.assert_allclose(rollout.events, expected)


def test_the_visited_gate_works_on_hashes_of_observations(rollout: Rollout) -> None:
    """Against a set of the bytes of every observation of the episode."""
    env = recall()
    obs, next_obs = rollout.obs.obs, rollout.next_obs.obs
    transitions = Transitions(obs, rollout.first, rollout.action, next_obs)
    assert env.n_symbols is None
    _, before = Visits.empty(env, obs.shape[1]).update(transitions)
    for copy in range(obs.shape[1]):
        seen: set[bytes] = set()
        for t in range(len(obs)):
            if rollout.first[t, copy]:
                seen = {obs[t, copy].tobytes()}
            key = next_obs[t, copy].tobytes()
            assert bool(before[t, copy] == 0) == (key not in seen)
            seen.add(key)


def test_knowledge_is_seen_by_given_alone() -> None:
    plain, given = (Program.of(recall(), name, settings=small()) for name in ("GRU", "Given"))
    assert plain.observations.size == given.observations.size == 1 + 4  # clock, and what is seen
    assert (plain.facts, given.facts) == (0, 2)
    _, seen = given.env.start(given.env.level(jax.random.key(0)))
    assert isinstance(seen, Known)
    with pytest.raises(BadInput, match=r"does not say what a perfect memory.*key of its"):
        Program.of(recall(knowledge=None), "Given", settings=small())


@pytest.fixture(scope="module")
def trained() -> list[Any]:
    """Four periods of two runs."""
    pack = pack_of("GRU", "noveld", (0, 1))
    return [(now.record, to_arrays(now.state)) for now in history(pack, 4)]


def test_the_policy_that_acted_is_the_policy_that_learns(trained: list[Any]) -> None:
    for record, _ in trained:
        assert record.rollouts.report.first_ratio_error.max() < 1e-5
        assert np.isfinite(record.rollouts.report.mean.policy_loss).all()
        assert (record.rollouts.normalised > 0).any()
        # of an episode: ends at most after five steps, and pays 1 for success
        assert (record.evaluation.length <= 5).all()
        np.testing.assert_allclose(
            record.evaluation.reward,
            record.evaluation.success - 0.01 * record.evaluation.length,
            rtol=1e-5,
        )


def test_the_same_seed_gives_the_same_run_in_any_company(trained: list[Any]) -> None:
    again = history(pack_of("GRU", "noveld", (1,)), 2)
    for now, (record, _) in zip(again, trained, strict=False):
        for left, right in zip(jax.tree.leaves(now.record), jax.tree.leaves(record), strict=True):
            np.testing.assert_array_equal(np.asarray(left)[0], np.asarray(right)[1])
    arrays = trained[1][1]
    for name, array in to_arrays(again[-1].state).items():
        np.testing.assert_array_equal(array[0], arrays[name][1], err_msg=name)


def test_a_run_that_is_resumed_begins_new_episodes_and_loses_nothing_else(
    trained: list[Any],
) -> None:
    pack = pack_of("GRU", "noveld", (0, 1))
    state = from_arrays(pack, trained[1][1])
    weights = to_arrays(state)
    resumed = history(pack, 4, state, done=2)
    assert [now.period for now in resumed] == [3, 4]
    assert resumed[-1].state.steps.tolist() == [4 * small().period] * 2
    # twice the same, though not what it would have been without the stop
    again = history(pack, 4, from_arrays(pack, weights), done=2)
    for left, right in zip(resumed, again, strict=True):
        for a, b in zip(jax.tree.leaves(left.record), jax.tree.leaves(right.record), strict=True):
            np.testing.assert_array_equal(a, b)
    assert isinstance(pack.executor, Hosted)
    assert not pack.executor._live


def test_symbols_are_looked_up() -> None:
    env = envs.make(f"{HERE}:symbols", max_episode_steps=9)
    program = Program.of(env, "Memoryless", settings=small())
    assert env.n_symbols == 5
    state, rollout = collected(program, 1)[0]
    assert rollout.obs.shape == rollout.action.shape
    # it begins at 0, an action adds 1 or 2, and it ends at 4
    np.testing.assert_array_equal(rollout.next_obs, (rollout.obs + rollout.action + 1) % 5)
    np.testing.assert_array_equal(rollout.terminated, rollout.next_obs == 4)
    np.testing.assert_array_equal(rollout.obs[rollout.first], 0)
    table, arrays = (
        state.agent.actor.encode(program.observations, each, rollout.obs).embedding
        for each in (state.agent.actor.encode_table(program.observations), None)
    )
    np.testing.assert_allclose(table, arrays, rtol=1e-6)


@pytest.mark.parametrize(
    ("what", "value", "said"),
    [
        ("sees", float("nan"), "odd returned NaN in the observation"),
        ("sees", float("-inf"), "odd returned -inf in the observation"),
        ("pays", float("nan"), "odd paid nan, "),
        ("pays", float("inf"), "odd paid inf, "),
    ],
)
@pytest.mark.parametrize("knowledge", [None, "clock"])
def test_what_is_not_finite_is_the_environments(
    what: str, value: float, said: str, knowledge: str | None
) -> None:
    options = {"max_episode_steps": 5, "success_key": "is_success", "what": what, "value": value}
    env = envs.make(f"{HERE}:odd", **options, knowledge=knowledge)
    pack = Pack.of(env, "native", "Given" if knowledge else "GRU", settings=small())
    with pytest.raises(EnvironmentFailed, match=said):
        history(pack, 1)
    # a part that nobody sees may be anything
    unseen = envs.make(f"{HERE}:odd", **options, keys=["seen"])
    if what == "sees":
        history(Pack.of(unseen, "native", "GRU", settings=small()), 1)


def block(**changes: Any) -> Block:
    declared: dict[str, Any] = {
        "environment": f"{HERE}:recall",
        "environment_options": RECALL,
        "rewards": ("native",),
        "architectures": ("GRU",),
        "bonuses": ("noveld",),
        "seeds": 1,
        "steps": 2 * small().period,
        "settings": SMALL,
    }
    return Block(**{**declared, **changes})


def test_identity_and_options() -> None:
    run = next(block().runs())
    assert run.config["environment_options"] == RECALL
    assert from_config(run.config) == run
    # how copies are stepped is no part of what was run
    quick = next(block(environment_options={**RECALL, "vector": "async"}).runs())
    assert quick.identity == run.identity
    assert quick.env != run.env
    longer = next(block(environment_options={**RECALL, "length": 7}).runs())
    assert longer.identity != run.identity
    assert longer.config["environment_options"]["length"] == 7
    first = {p.name: p.default for p in _parameters("environment", run.environment).values()}
    stated = FIRST["environment"][HOSTED]
    assert {k: list(v) if isinstance(v, tuple) else v for k, v in first.items()} == stated
    for environment, options, said in (
        ("gymnasium:CartPole", {"max_episode_steps": 2.5}, "max_episode_steps=2.5 is not valid"),
        ("gymnasium:CartPole-v1", {"success_return": "x"}, "must be a finite number"),
        ("nowhere:x", {}, "cannot be imported"),
    ):
        with pytest.raises(BadInput, match=said):
            block(environment=environment, environment_options=options)


SUITE = """
[[block]]
environment = "tests.hosted.small_envs:crashes"
environment_options = { max_episode_steps = 5, success_key = "is_success", knowledge = "cue" }
rewards = ["native"]
architectures = ["GRU"]
bonuses = ["noveld"]
seeds = 1
steps = 256

[[block]]
environment = "tests.hosted.small_envs:recall"
rewards = ["native"]
architectures = ["GRU", "Given"]
bonuses = ["noveld"]
seeds = 2
steps = 256
[block.environment_options]
max_episode_steps = 5
success_key = "is_success"
knowledge = "cue"

[settings]
"""


def test_from_a_suite_to_the_report(tmp_path: Path, trained: list[Any]) -> None:
    """`run`, `show` and `report`; beside an environment that crashes."""
    suite, store = tmp_path / "mine.toml", tmp_path / "store"
    suite.write_text(SUITE + "\n".join(f"{name} = {value}" for name, value in SMALL.items()))
    done = called("run", str(suite), "--store", str(store))
    assert done.code == 3, done
    assert "1 failed" in done.out
    names = [path.name for path in sorted((store / "runs").iterdir())]
    crashed = next(name for name in names if "crashes" in name)
    found = called("show", crashed, "--store", str(store))
    said = " ".join(found.out.split())
    assert f"{HERE}:crashes could not step: OSError: the simulator is gone" in said
    film, run = tmp_path / "film.gif", next(name for name in names if "recall" in name)
    words = ("show", run, "--store", str(store), "--gif", str(film), "--episodes", "2")
    assert f"if you trust it: --module {HERE}" in called(*words).err
    shown = called(*words, "--module", HERE)
    assert shown.code == 0, shown
    with Image.open(film) as opened:
        assert getattr(opened, "n_frames", 1) > 4
    given = next(name for name in names if "recall" in name and "given" in name)
    for more, panels in (((), 1), (("--beside", "GRU"), 2)):
        words = ("show", given, "--store", str(store), "--gif", str(film), "--module", HERE, *more)
        assert (shown := called(*words)).code == 0, shown
        with Image.open(film) as opened:
            assert opened.width == panels * (WIDTH + 2 * BORDER)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(HostedEnvironment, "films", False)
        film.unlink()
        words = ("show", given, "--store", str(store), "--module", HERE)
        told = called(*words)
        assert told.code == 0, told
        assert f"there is no GIF: {HERE}:recall has no render_mode 'rgb_array'" in told.out
        assert json.loads(called(*words, "--json").out)["gif"] is None
        for asked in (("--gif", str(film)), ("--beside", "GRU")):
            assert "so it cannot be filmed" in called(*words, *asked).err
        assert not film.exists()
    for words, said in (
        ((), f"unless you name its module, --module {HERE}; by hand: clew classify {HERE}:recall"),
        (("--module", HERE), "time is part of a state, as what happens depends on it: t"),
    ):
        told = called("report", str(store), *words)
        assert told.code == 0, told
        assert said in (store / "report.html").read_text()
