"""A pack: runs that share one compiled program and train side by side."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from clew.bonuses import Bonus
from clew.envs import Environment
from clew.learner.program import Program
from clew.learner.run import Leg, Run, State, init, leg
from clew.learner.settings import Knobs, Settings
from clew.validate import BadInput, whole_number


@dataclasses.dataclass(frozen=True, eq=False)
class Pack:
    """One program and the runs that it trains."""

    program: Program
    runs: Run
    """Every field with a leading axis over runs."""

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
        knobs = knobs or Knobs()
        seeds = [whole_number("seed", seed, 0, 2**32 - 1) for seed in seeds]
        if not seeds:
            raise BadInput("seeds=[] is not valid; a pack needs at least one run")
        prices = np.float32(program.env.prices(reward))
        same: dict[str, Any] = {
            name: np.full(len(seeds), value, np.float32)
            for name, value in dataclasses.asdict(knobs).items()
        }
        return cls(
            program,
            Run(
                seed=jnp.array(seeds, jnp.uint32),
                prices=jnp.tile(prices, (len(seeds), 1)),
                **same,
            ),
        )

    @classmethod
    def join(cls, packs: Sequence[Pack]) -> Pack:
        """Runs of several arms that share one program: rewards and knobs may differ."""
        programs = {pack.program for pack in packs}
        if len(programs) != 1:
            raise BadInput(f"packs of {len(programs)} different programs cannot be joined into one")
        return cls(
            packs[0].program,
            jax.tree.map(lambda *leaves: np.concatenate(leaves), *(pack.runs for pack in packs)),
        )

    def __len__(self) -> int:
        return len(self.runs.seed)

    def begin(self) -> State:
        """Every run before its first step."""
        return _beginning()(self.program, self.runs)

    def like(self) -> State:
        """The shapes and types of such a state, without computing one."""
        return jax.eval_shape(partial(_begin, self.program), self.runs)

    def advance(self, state: State) -> tuple[State, Leg]:
        """One leg of every run, in one compiled call. `state` is used up by it."""
        return _advance(self.program, self.runs, state)

    def compile(self, state: State) -> None:
        """Compile `advance` without running it."""
        _advance.lower(self.program, self.runs, state).compile()


@cache
def _beginning() -> Callable[[Program, Run], State]:
    # It runs once: on a CPU, optimising it takes three times as long as it saves.
    hasty = {"xla_backend_optimization_level": 0} if jax.default_backend() == "cpu" else None
    return jax.jit(_begin, static_argnames="program", compiler_options=hasty)


def _begin(program: Program, runs: Run) -> State:
    return jax.vmap(partial(init, program))(jax.tree.map(jnp.asarray, runs))


@partial(jax.jit, static_argnames="program", donate_argnames="state")
def _advance(program: Program, runs: Run, state: State) -> tuple[State, Leg]:
    return jax.vmap(partial(leg, program))(jax.tree.map(jnp.asarray, runs), state)
