"""Hyperparameters, with the study's values as defaults."""

from __future__ import annotations

import dataclasses
from typing import Literal

from clew.validate import BadInput, divides, finite_number, one_of, positive_number, whole_number

ENCODERS = ("auto", "mlp", "cnn", "small-cnn")
PRECISIONS = ("highest", "default")
LARGEST = 2**31 - 1
"""Shapes and counters are 32-bit numbers."""
TRUNCATIONS = ("bootstrap", "end")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Knobs:
    """Hyperparameters in which the runs of one compiled program may differ."""

    learning_rate: float = 1e-4
    """Learning rate of Adam, for the agent."""
    gamma: float = 0.995
    """Discount factor."""
    entropy: float = 0.008
    """Weight of the policy's entropy in the loss."""
    bonus_coef: float = 0.03
    """Coefficient of the bonus, which is normalised before it is added to the reward."""

    def __post_init__(self) -> None:
        positive_number("learning_rate", self.learning_rate)
        if not 0 <= finite_number("gamma", self.gamma) <= 1:
            raise BadInput(f"gamma={self.gamma!r} is not valid; it must be from 0 to 1")
        for field in ("entropy", "bonus_coef"):
            finite_number(field, getattr(self, field))


@dataclasses.dataclass(frozen=True, kw_only=True)
class Settings:
    """Hyperparameters that a program is compiled for."""

    envs: int = 16
    """Environments that a run plays in parallel."""
    steps: int = 512
    """Steps of each environment in a rollout."""
    chunk: int = 64
    """Steps of truncated backpropagation: rollouts are cut into chunks of this length."""
    chunks_per_batch: int = 32
    """Chunks in a minibatch."""
    epochs: int = 4
    """Passes over a rollout in an update."""
    clip: float = 0.2
    """Clip range of the probability ratio: how far it may go from 1."""
    gae_lambda: float = 0.95
    """λ of generalised advantage estimation."""
    truncation: Literal["bootstrap", "end"] = "bootstrap"
    """What follows an episode cut short by its time limit: the critic's value, or nothing."""
    value_coef: float = 1.0
    """Weight of the critic's loss."""
    max_grad_norm: float = 0.5
    """Largest norm of each component's gradient."""
    target_kl: float = 0.05
    """An update stops when the KL divergence of a minibatch exceeds 1.5 times this."""
    encoder: Literal["auto", "mlp", "cnn", "small-cnn"] = "auto"
    """Network for observations; auto is cnn for images and mlp for everything else; small-cnn is
    convolutions for grids of 7×7 and more."""
    encoder_width: int = 128
    """Size of an encoded observation."""
    encoder_hidden: int = 256
    """Width of the hidden layers of the mlp encoder."""
    memory_width: int = 128
    """Size of the memory's output."""
    critic_width: int | None = None
    """Width of the critic's head, half of it in its second layer; if not given, memory_width."""
    shared: bool = False
    """One backbone for actor and critic; the critic's loss then does not train it."""
    eval_every: int = 10
    """Rollouts from one evaluation to the next."""
    eval_episodes: int = 20
    """Episodes of an evaluation, with the deterministic policy."""
    precision: Literal["highest", "default"] = "highest"
    """Of matrix products: highest is float32, default the device's own (TF32 on a GPU)."""

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            if field.type == "int":
                whole_number(field.name, getattr(self, field.name), 1, LARGEST)
        for name in ("clip", "max_grad_norm", "target_kl"):
            positive_number(name, getattr(self, name))
        finite_number("value_coef", self.value_coef)
        if not 0 <= finite_number("gae_lambda", self.gae_lambda) <= 1:
            raise BadInput(f"gae_lambda={self.gae_lambda!r} is not valid; it must be from 0 to 1")
        one_of("encoder", self.encoder, ENCODERS)
        one_of("shared", self.shared, (False, True))
        one_of("precision", self.precision, PRECISIONS)
        one_of("truncation", self.truncation, TRUNCATIONS)
        whole_number("memory_width", self.memory_width, 2)
        if self.critic_width is not None:
            whole_number("critic_width", self.critic_width, 2, LARGEST)
        if self.chunk > self.steps:
            raise BadInput(
                f"chunk={self.chunk} is not valid; it is longer than a rollout of "
                f"steps={self.steps}"
            )
        divides("chunk", self.chunk, "steps", self.steps)
        divides("chunks_per_batch", self.chunks_per_batch, "envs × steps / chunk", self.chunks)

    @property
    def chunks(self) -> int:
        """Chunks in a rollout."""
        return self.envs * self.steps // self.chunk

    @property
    def rollout(self) -> int:
        """Environment steps in a rollout."""
        return self.envs * self.steps

    @property
    def period(self) -> int:
        """Environment steps from one evaluation to the next."""
        return self.rollout * self.eval_every
