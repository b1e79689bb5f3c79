"""What probes record in an environment on the host, against single environments and steps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from clew import envs
from clew.learner import Program
from clew.learner.host_actor import seeds_of
from clew.probes.probing import Protocol, probe_runs
from clew.probes.recording import Recording
from clew.probes.replay import flatten, record
from clew.store import Store
from clew.validate import BadInput
from tests.cli.called import called
from tests.hosted.small_envs import Recall
from tests.hosted.test_training import HERE, SUITE, block
from tests.learner.conftest import SMALL, small

EPISODES = 5


def program_of(*latents: str, **options: Any) -> Program:
    options = {"max_episode_steps": 9, "success_return": 0.5, "keys": ["seen"], **options}
    env = envs.make(f"{HERE}:recall", latents=list(latents), **options)
    return Program.of(env, "GRU", settings=small())


def recorded(program: Program, folder: Path) -> tuple[Any, Recording]:
    agent, latent = program.agent(jax.random.key(1)), program.env.latent()
    assert latent is not None
    return agent, record(program, agent, latent, folder, episodes=EPISODES, seed=7)


def test_rows_are_what_single_environments_say(tmp_path: Path) -> None:
    program = program_of("cue", "t")
    agent, found = recorded(program, tmp_path)
    assert found.questions == ("cue", *(f"t is {t}" for t in range(max(found.length))))
    for episode, seed in enumerate(seeds_of(7, n=EPISODES)):
        env, memory = Recall(), agent.actor.initial_state(1)
        obs, info = env.reset(seed=seed)
        rows = np.flatnonzero(found.episode == episode)
        ended, success = False, False
        for row in rows:
            assert not ended
            t = int(found.step[row])
            assert (info["cue"], info["t"]) == (found.answer[row, 0], t)
            assert found.answer[row, 1:].tolist() == [t == n for n in range(max(found.length))]
            seen = jnp.array([obs["seen"]])
            encoding = agent.actor.encode(program.observations, None, seen)
            memory, features = agent.actor.step(memory, encoding, jnp.array([t == 0]))
            expected = {"memory": flatten(memory)[0], "observation": encoding.embedding[0]}
            for name, vector in expected.items():
                np.testing.assert_allclose(found.features[name][row], vector, 1e-4, 1e-5)
            action = int(agent.policy(features)[0].argmax())
            obs, _, ended, _, info = env.step(action)
            success = info.get("is_success", False)
        assert ended
        assert (len(rows), success) == (found.length[episode], found.success[episode])
    assert found.asked.all()
    assert (found.since == -1).all()


@pytest.mark.parametrize(
    ("latents", "options", "said"),
    [
        (("absent",), {}, "no info has 'absent'"),
        (("t",), {"length": 40, "max_episode_steps": 60}, r"info\['t'\] takes \d+ values"),
        (("words",), {"words": True}, r"info\['words'\] is not a whole number"),
    ],
)
def test_what_cannot_be_asked_is_a_sentence(
    tmp_path: Path, latents: tuple[str, ...], options: dict[str, Any], said: str
) -> None:
    with pytest.raises(BadInput, match=said):
        recorded(program_of(*latents, **options), tmp_path)


def test_without_latents_it_says_where_to_state_them(tmp_path: Path) -> None:
    run, store = next(block().runs()), Store(tmp_path)
    arrays = {"x": np.zeros(1)}
    store.run(run.config).write_finished(
        {}, curve=arrays, diagnostics=arrays, provenance={}, agent=arrays
    )
    (found,) = probe_runs(store, [run], Protocol())
    assert "environment_options = { latents = [" in found.skipped
    assert "before you train" in found.skipped


@pytest.mark.slow
def test_a_suite_is_probed(tmp_path: Path) -> None:
    suite, store = tmp_path / "mine.toml", tmp_path / "store"
    told = SUITE.replace("[settings]", 'latents = ["cue"]\n[settings]')
    suite.write_text(told + "\n".join(f"{name} = {value}" for name, value in SMALL.items()))
    called("run", str(suite), "--store", str(store))
    probed = called("probe", str(suite), "--store", str(store), "--episodes", "40")
    assert "5 runs: 2 probed now, 0 before, 3 without a result" in probed.out, probed
    assert "it is failed, not finished: tests-hosted-small-envs-crashes" in probed.out
    assert "Given keeps nothing from step to step: tests-hosted-small-envs-recall" in probed.out
    again = f"this trains it: clew run {suite} --store {store} --retry"
    assert f"1 of them is not trained to the end; {again}\n" in probed.out
    assert len(list(Store(store, read_only=True).folders())) == 5
