"""Given memory: a network without a memory, shown what a perfect one would know."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from clew import envs
from clew.bonuses import Bonus
from clew.envs import Knowing, Known
from clew.envs.worlds.tiny_reproduce.world import TinyReproduce
from clew.learner import Knobs, Pack, Program, Settings, train
from clew.learner.agent import components
from clew.learner.informed import Informed
from clew.suite import RunSpec
from clew.suite.spec import from_config
from clew.validate import BadInput
from tests.learner.conftest import close, pack_of, small, tiny


def test_the_environment_is_wrapped_and_keeps_its_name() -> None:
    program = Program.of(tiny(), "Given")
    assert program.env == Knowing(tiny())
    assert program.observations.env == tiny()
    assert program.facts == 6
    assert Program.of(Knowing(tiny()), "Given").env == program.env
    assert Program.of(tiny(), "Memoryless").facts == 0


def test_the_encoder_of_the_observation_is_that_of_a_plain_agent() -> None:
    """With the same seed, Given and Memoryless differ by the network of the facts alone."""
    key = jax.random.key(5)
    given, plain = (
        Program.of(tiny(), name, settings=small()).agent(key) for name in ("Given", "Memoryless")
    )
    assert isinstance(given.actor.encoder, Informed)
    close(given.actor.encoder.plain, plain.actor.encoder, 0)
    close(given.actor.memory, plain.actor.memory, 0)
    close((given.policy, given.value), (plain.policy, plain.value), 0)
    assert components(given).keys() == components(plain).keys()


class Watching(Bonus[tuple[()]]):
    """Fails if it is shown more than the world's own observation."""

    def init(self, observations: Any, envs: int, key: Any) -> tuple[()]:
        assert not isinstance(observations.env, Knowing)
        return ()

    def score(self, observations: Any, state: tuple[()], transitions: Any) -> Any:
        for seen in (transitions.obs, transitions.next_obs):
            assert not isinstance(seen, Known)
            assert seen.shape == transitions.action.shape
        return (), transitions.next_obs.astype(jnp.float32)


@pytest.mark.parametrize(
    ("env", "shared"),
    [
        # truncated in the middle of a chunk
        (envs.make("MiniGrid-MemoryS7", max_steps=5), False),
        # too many images for a table
        pytest.param(
            envs.make("MysteryPath-Grid", size=12, max_steps=9), True, marks=pytest.mark.slow
        ),
    ],
    ids=["truncated", "no table, shared"],
)
def test_it_trains_and_the_bonus_sees_the_plain_observation(env: Any, shared: bool) -> None:
    settings = small(shared=shared, encoder="mlp")
    pack = pack_of("Given", Watching(), env=env, reward="sparse", settings=settings)
    history = train(pack, settings.period)
    assert np.isfinite(history.rollouts.report.mean.policy_loss).all()
    assert np.isfinite(history.rollouts.reward).all()
    # the policy that acted is the policy that learns: facts are the same in both
    assert history.rollouts.report.first_ratio_error.max() < 1e-5


def test_any_memory_can_be_given_knowledge() -> None:
    """As an option of the environment: another task, with a name of its own."""
    settings = small()
    run = RunSpec(
        environment="TinyReproduce",
        environment_options=(("k", 3), ("knowledge", True), ("v", 2)),
        reward="dense", architecture="GRU", bonus="none", seed=0, steps=settings.period,
        knobs=Knobs(), settings=settings,
    )  # fmt: skip
    assert run.config["environment_options"] == {"k": 3, "knowledge": True, "v": 2}
    assert from_config(run.config) == run
    assert run.program().facts == 6
    history = train(run.pack(run.program()), settings.period)
    assert np.isfinite(history.rollouts.report.mean.policy_loss).all()


def test_no_knowledge_is_no_option() -> None:
    """A run without it is the run that was stored before there was any."""
    settings = small()
    one, two = (
        RunSpec(
            environment="TinyReproduce", environment_options=options, reward="dense",
            architecture="GRU", bonus="none", seed=0, steps=settings.period, knobs=Knobs(),
            settings=settings,
        )
        for options in ((("knowledge", False),), ())
    )  # fmt: skip
    assert one == two
    assert "knowledge" not in one.config["environment_options"]


def test_a_world_without_knowledge_is_refused() -> None:
    class Silent(TinyReproduce):
        def knowledge(self) -> Any:
            return None

    with pytest.raises(BadInput, match="Silent does not say what a perfect memory would know"):
        Program.of(Silent(), "Given")


@pytest.mark.slow
def test_it_learns_what_the_memoryless_cannot() -> None:
    settings = Settings(
        envs=16, steps=64, chunk=32, chunks_per_batch=8, eval_every=5, eval_episodes=40,
        encoder_width=32, encoder_hidden=64, memory_width=32,
    )  # fmt: skip
    knobs = Knobs(learning_rate=1.5e-3)
    env = envs.make("TinyReproduce", k=4, v=3)
    tails = {
        name: train(
            Pack.of(env, "dense", name, seeds=(0, 1), knobs=knobs, settings=settings),
            2 * settings.period,
        ).evaluations.success[:, -1]
        for name in ("Given", "Memoryless")
    }
    assert tails["Given"].min() > 0.95, tails
    assert tails["Memoryless"].max() < 0.3, tails
