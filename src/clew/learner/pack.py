"""A pack: runs that share one compiled program and train side by side."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from clew.bonuses import Bonus
from clew.envs import Environment
from clew.learner.execution import Executor, executor_for
from clew.learner.program import Program
from clew.learner.run import EvalPeriod, RunParams, TrainState, init
from clew.learner.settings import Knobs, Settings
from clew.validate import BadInput, whole_number


@dataclasses.dataclass(frozen=True, eq=False)
class Pack:
    """One program and the runs that it trains."""

    program: Program
    runs: RunParams
    """Every field with a leading axis over runs."""
    executor: Executor = dataclasses.field(
        default_factory=lambda: executor_for(jax.default_backend())
    )
    """How they are trained: together, or each core one of them."""

    @classmethod
    def of(
        cls,
        env: str | Environment,
        reward: str | Mapping[str, float],
        architecture: str,
        bonus: str | Bonus = "none",
        *,
        seeds: Iterable[int] = (0,),
        knobs: Knobs | None = None,
        settings: Settings | None = None,
        architecture_options: Mapping[str, Any] | None = None,
    ) -> Pack:
        """One arm, once for every seed."""
        program = Program.of(env, architecture, bonus, settings, architecture_options)
        runs = [cls.single(program, seed, reward, knobs or Knobs()) for seed in seeds]
        if not runs:
            raise BadInput("seeds=[] is not valid; a pack needs at least one run")
        return cls.join(runs)

    @classmethod
    def single(
        cls, program: Program, seed: int, reward: str | Mapping[str, float], knobs: Knobs
    ) -> Pack:
        """One run of a program that is there already."""
        numbers = dataclasses.asdict(knobs).items()
        run = RunParams(
            seed=jnp.array([whole_number("seed", seed, 0, 2**32 - 1)], jnp.uint32),
            prices=jnp.asarray(np.float32(program.env.prices(reward)))[None],
            **{name: jnp.array([value], jnp.float32) for name, value in numbers},
        )
        return cls(program, run)

    @classmethod
    def join(cls, packs: Sequence[Pack]) -> Pack:
        """Runs of several arms that share one program: rewards and knobs may differ."""
        programs = {pack.program for pack in packs}
        if len(programs) != 1:
            raise BadInput(f"packs of {len(programs)} different programs cannot be joined into one")
        return cls(
            packs[0].program,
            jax.tree.map(lambda *leaves: jnp.concatenate(leaves), *(pack.runs for pack in packs)),
        )

    def __len__(self) -> int:
        return len(self.runs.seed)

    def begin(self) -> TrainState:
        """Every run before its first step."""
        return self.executor.begin(self.program, self.runs)

    def like(self) -> TrainState:
        """The shapes and types of such a state, without computing one."""
        return jax.eval_shape(jax.vmap(partial(init, self.program)), self.runs)

    def advance(self, state: TrainState) -> tuple[TrainState, EvalPeriod]:
        """One period of every run. `state` is used up by it."""
        return self.executor.advance(self.program, self.runs, state)

    def compile(self, state: TrainState) -> None:
        """Compile `advance` without running it."""
        self.executor.compile(self.program, self.runs, state)
