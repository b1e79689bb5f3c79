"""Bad input is answered before anything is compiled."""

from __future__ import annotations

from typing import Any

import gymnasium
import jax
import pytest

from clew.learner import Knobs, Pack, Program, Settings, train
from clew.validate import BadInput


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"chunk": 1024}, "chunk=1024 is not valid; it is longer than a rollout of steps=512"),
        ({"chunk": 60}, "chunk=60 is not valid; it must divide steps=512"),
        ({"chunks_per_batch": 33}, "chunks_per_batch=33 is not valid; it must divide"),
        ({"envs": 0}, "envs=0 is not valid"),
        ({"envs": 2.5}, "envs=2.5 is not valid"),
        ({"epochs": True}, "epochs=True is not valid"),
        ({"clip": -0.1}, "clip=-0.1 is not valid"),
        ({"gae_lambda": 1.5}, "gae_lambda=1.5 is not valid"),
        ({"value_coef": float("nan")}, "value_coef=nan is not valid"),
        ({"target_kl": 0}, "target_kl=0 is not valid"),
        (
            {"encoder": "resnet"},
            "encoder='resnet' is not valid; choose 'auto', 'mlp', 'cnn' or 'small-cnn'",
        ),
        ({"precision": "low"}, "precision='low' is not valid"),
        ({"shared": 1}, "shared=1 is not valid"),
        ({"memory_width": 1}, "memory_width=1 is not valid"),
        ({"critic_width": 1}, "critic_width=1 is not valid"),
    ],
)
def test_settings(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(BadInput) as caught:
        Settings(**changes)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"learning_rate": 0}, "learning_rate=0 is not valid"),
        ({"gamma": 1.01}, "gamma=1.01 is not valid"),
        ({"entropy": float("inf")}, "entropy=inf is not valid"),
        ({"bonus_coef": "much"}, "bonus_coef='much' is not valid"),
    ],
)
def test_knobs(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(BadInput) as caught:
        Knobs(**changes)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "rest", "words"),
    [
        (("Tiny", "dense", "GRU"), {}, "unknown environment 'Tiny'"),
        (("TinyReproduce", "density", "GRU"), {}, "unknown reward of TinyReproduce 'density'"),
        (("TinyReproduce", "dense", "GRUU"), {}, "unknown architecture 'GRUU'"),
        (("TinyReproduce", "dense", "GRU", "e3c"), {}, "unknown bonus 'e3c'"),
        (("TinyReproduce", "dense", "GRU"), {"seeds": []}, "at least one run"),
        (("TinyReproduce", "dense", "GRU"), {"seeds": [-1]}, "seed=-1 is not valid"),
        (("TinyReproduce", "dense", "GRU"), {"seeds": 0}, "seeds=0 is not valid; it must be a"),
        (("TinyReproduce", "dense", "GRU"), {"seeds": "3"}, "seed='3' is not valid"),
        (("TinyReproduce", "dense", "GRU"), {"seeds": [1, 1]}, "seeds=[1, 1] is not valid; it has"),
        (
            (3, "dense", "GRU"),
            {},
            "env is of type int, and must be a name or what",
        ),
        (
            ("MiniGrid-MemoryS13", "sparse", "GRU"),
            {"settings": Settings(encoder="cnn")},
            "observations of MemoryS have shape (3, 3, 20)",
        ),
        (
            ("TinyReproduce", "dense", "RetNet"),
            {"settings": Settings(memory_width=30)},
            "heads=4 is not valid; it must divide width=30",
        ),
        (
            ("TinyReproduce", "dense", "GRU"),
            {"architecture_options": {"heads": 4}},
            "unknown option of GRU 'heads'",
        ),
    ],
)
def test_packs(arguments: Any, rest: dict[str, Any], words: str) -> None:
    with pytest.raises(BadInput) as caught:
        Pack.of(*arguments, **rest)
    assert words in str(caught.value)


def test_a_number_of_seeds_counts_them() -> None:
    assert Pack.of("TinyReproduce", "dense", "GRU", seeds=3).runs.seed.tolist() == [0, 1, 2]


def test_a_gymnasium_environment_is_named() -> None:
    env: Any = gymnasium.make("CartPole-v1")
    with pytest.raises(BadInput, match='is named "gymnasium:CartPole-v1", or "module:f'):
        Pack.of(env, "native", "GRU")


def test_a_name_is_no_pack() -> None:
    name: Any = "TinyReproduce"
    with pytest.raises(BadInput, match="pack is of type str, and must be a Pack of"):
        train(name, 1000)


def test_the_defaults_are_the_papers_shared_table() -> None:
    settings, knobs = Settings(), Knobs()
    assert (settings.envs, settings.steps, settings.chunk, settings.chunks_per_batch) == (
        16,
        512,
        64,
        32,
    )
    assert (settings.epochs, settings.clip, settings.value_coef) == (4, 0.2, 1.0)
    assert (settings.max_grad_norm, settings.target_kl, settings.gae_lambda) == (0.5, 0.05, 0.95)
    assert (settings.encoder_width, settings.encoder_hidden) == (128, 256)
    assert (settings.eval_every, settings.eval_episodes) == (10, 20)
    assert (knobs.learning_rate, knobs.gamma) == (1e-4, 0.995)
    assert (knobs.entropy, knobs.bonus_coef) == (0.008, 0.03)


def test_64_bits_are_refused() -> None:
    with jax.enable_x64(True), pytest.raises(BadInput, match="unset JAX_ENABLE_X64"):
        Program.of("TinyReproduce", "GRU")
