"""Replay in an environment on the host: what its `info` says, beside the state of the memory.

Questions are asked at every step at which `info` has the key. Whether the answer is in sight then,
nobody knows; how well it can be read off the observation alone is measured beside it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path

import jax
import numpy as np
from jaxtyping import Array, Bool, Int

from clew.envs.hosted.copies import Copies, whole_numbers
from clew.envs.hosted.recipe import Info
from clew.learner.agent import Agent, Backbone, MemoryState, Seen, act
from clew.learner.host_actor import Parts, hosted_env, play, seeds_of, seen
from clew.learner.program import Program
from clew.probes.recording import Recording, RowWriter
from clew.probes.replay import WIDE, flatten, state_size, stride, untrained_backbone
from clew.validate import BadInput

MOST = 32
"""Values that one key may take, each of which is a question."""
Values = Int[np.ndarray, "row key"]


def record_hosted(
    program: Program, agent: Agent, folder: Path, episodes: int, seed: int, untrained_seed: int
) -> Recording:
    """Play `episodes` episodes, with the likeliest actions, and record them; see `record`."""
    env, width = hosted_env(program.env), state_size(program)
    replay = _Replay(program, agent, untrained_backbone(program, agent, seed, untrained_seed))
    every, rows = stride(width, episodes, env.horizon), RowWriter(folder, half=width > WIDE)
    values, known = list[np.ndarray](), list[np.ndarray]()
    success, length = np.zeros(episodes, bool), np.zeros(episodes, int)
    told: dict[int, Info] = {}
    # so many processes would be too many
    copies = Copies(dataclasses.replace(env, vector="sync"), episodes, once=True)
    try:
        seeds = seeds_of(seed, n=episodes)
        for now in play(program, copies, seeds, replay.choose, told.__setitem__):
            number, there = _read(told.pop(now.t), env.latents, episodes)
            wanted = np.flatnonzero(now.alive & there.any(-1) & (now.t % every == 0))
            values.append(number[wanted])
            known.append(there[wanted])
            rows.add(
                {"episode": wanted, "step": np.full(len(wanted), now.t)},
                {name: array[wanted] for name, array in replay.features.items()},
            )
            success |= now.alive & now.step.success
            length += now.alive
    finally:
        copies.close()
    questions, answers = _questions(env.latents, np.concatenate(values), np.concatenate(known))
    rows.add(answers, {})
    return rows.finish(questions, success, length)


class _Replay:
    """The agent at play, and the features of its last step."""

    def __init__(self, program: Program, agent: Agent, untrained: Backbone) -> None:
        observations, half = program.observations, state_size(program) > WIDE
        self.features: Mapping[str, np.ndarray] = {}
        self._memories: tuple[MemoryState, MemoryState] | None = None
        self._agent, self._untrained = agent, untrained

        @jax.jit
        def step(
            agent: Agent,
            untrained: Backbone,
            memories: tuple[MemoryState, MemoryState],
            obs: Seen,
            first: Bool[Array, " env"],
        ) -> tuple[Array, tuple[MemoryState, MemoryState], dict[str, Array]]:
            with jax.default_matmul_precision(program.precision):
                acted = act(agent, observations, None, memories[0], obs, first)
                encoding = untrained.encode(observations, None, obs)
                other, _ = untrained.step(memories[1], encoding, first)
            features = {
                "memory": flatten(acted.memory, half),
                "observation": acted.embedding,
                "untrained": flatten(other, half),
            }
            return acted.action, (acted.memory, other), features

        self._step = step

    def choose(self, parts: Parts, first: Bool[np.ndarray, " env"]) -> np.ndarray:
        if self._memories is None:
            empty = self._agent.actor.initial_state(len(first))
            self._memories = empty, empty
        action, self._memories, features = self._step(
            self._agent, self._untrained, self._memories, seen(parts), first
        )
        self.features = jax.device_get(features)
        return np.asarray(action)


def _read(info: Info, keys: tuple[str, ...], n: int) -> tuple[Values, np.ndarray]:
    """The whole numbers of each copy, and which of them there are."""
    values, known = np.zeros((n, len(keys)), np.int64), np.zeros((n, len(keys)), bool)
    for column, key in enumerate(keys):
        if key not in info:
            continue
        there = np.broadcast_to(info.get(f"_{key}", True), n)
        whole = whole_numbers(np.asarray(info[key])[there])
        if whole is None:
            raise BadInput(f"latents={key!r} is not valid; info[{key!r}] is not a whole number")
        values[there, column], known[there, column] = whole, True
    return values, known


def _questions(
    keys: tuple[str, ...], values: Values, known: Bool[np.ndarray, "row key"]
) -> tuple[tuple[str, ...], dict[str, np.ndarray]]:
    """A question for each key that is 0 or 1, else one for each value; and all answers."""
    names, asked, answers = list[str](), list[np.ndarray](), list[np.ndarray]()
    for key, column, there in zip(keys, values.T, known.T, strict=True):
        taken = np.unique(column[there])
        if len(taken) > MOST:
            raise BadInput(
                f"latents={key!r} is not valid; info[{key!r}] takes {len(taken)} values, and each "
                f"would be a question; at most {MOST} will do"
            )
        if not len(taken):
            raise BadInput(f"latents={key!r} is not valid; no info has {key!r}")
        single = set(taken.tolist()) <= {0, 1}
        for value in [1] if single else taken.tolist():
            names.append(key if single else f"{key} is {value}")
            asked.append(there)
            answers.append(column == value)
    since = np.full((len(values), len(names)), -1)
    return tuple(names), {
        "asked": np.stack(asked, -1), "answer": np.stack(answers, -1), "since": since,
    }  # fmt: skip
