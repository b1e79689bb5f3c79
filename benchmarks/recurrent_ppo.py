"""sb3-contrib's RecurrentPPO with our settings under its names, and networks like ours.

Actor and critic each have an encoder of two layers (for images, sb3's convolutions), an LSTM, and
the head that ours have. It does not cut time into chunks: a minibatch is as many steps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import torch
from sb3_contrib import RecurrentPPO
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from stable_baselines3.common.vec_env import DummyVecEnv

from clew.learner import Knobs, Settings

LARGE = 36
"""Pixels a side from which sb3's convolutions can be used."""


def make(
    env: Callable[[], gymnasium.Env[Any, Any]], settings: Settings, knobs: Knobs, seed: int = 0
) -> RecurrentPPO:
    """On the CPU, with as many copies of the environment as the settings say."""
    shape = env().observation_space.shape or ()
    images = len(shape) == 3 and min(shape[:2]) >= LARGE
    encoder = {
        "features_extractor_class": Encoder,
        "features_extractor_kwargs": {
            "hidden": settings.encoder_hidden,
            "width": settings.encoder_width,
        },
    }
    return RecurrentPPO(
        "CnnLstmPolicy" if images else "MlpLstmPolicy",
        DummyVecEnv([env] * settings.envs),
        n_steps=settings.steps,
        batch_size=settings.chunk * settings.chunks_per_batch,
        n_epochs=settings.epochs,
        learning_rate=knobs.learning_rate,
        gamma=knobs.gamma,
        gae_lambda=settings.gae_lambda,
        clip_range=settings.clip,
        ent_coef=knobs.entropy,
        vf_coef=settings.value_coef,
        max_grad_norm=settings.max_grad_norm,
        target_kl=settings.target_kl,
        policy_kwargs={
            "lstm_hidden_size": settings.memory_width,
            "enable_critic_lstm": True,
            "net_arch": {"pi": [], "vf": [settings.memory_width // 2]},
            "share_features_extractor": False,
            **({} if images else encoder),
        },
        device="cpu",
        seed=seed,
    )


class Encoder(BaseFeaturesExtractor):
    """Two layers, as ours has for what is no image."""

    def __init__(self, space: Any, hidden: int, width: int):
        super().__init__(space, width)
        self.net = torch.nn.Sequential(
            torch.nn.Flatten(),
            torch.nn.Linear(int(np.prod(space.shape)), hidden),
            torch.nn.ReLU(),
            torch.nn.Linear(hidden, width),
            torch.nn.ReLU(),
        )

    def forward(self, observations: Any) -> Any:
        return self.net(observations)
