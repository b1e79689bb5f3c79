"""A pack: runs that share one compiled program and train side by side."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

import jax
import jax.numpy as jnp

from clew.bonuses import Bonus, OneOf
from clew.envs import Environment
from clew.learner.execution import Executor, default_executor
from clew.learner.program import Options, Program, RunParams
from clew.learner.run import EvalPeriod, TrainState, init
from clew.learner.settings import Knobs, Settings
from clew.validate import BadInput, whole_number


@dataclasses.dataclass(frozen=True, eq=False)
class Pack:
    """One program and the runs that it trains."""

    program: Program
    runs: RunParams
    """Every field with a leading axis over runs."""
    executor: Executor = dataclasses.field(default=None)  # type: ignore[assignment]
    """How they are trained: vmapped, one on every core, or with environments on the host. If not
    given, as suits the device and the environment."""

    def __post_init__(self) -> None:
        if self.executor is None:
            object.__setattr__(self, "executor", _suitable(self.program))

    @classmethod
    def of(
        cls,
        env: str | Environment,
        reward: str | Mapping[str, float],
        architecture: str,
        bonus: str | Bonus = "none",
        *,
        seeds: int | Iterable[int] = (0,),
        knobs: Knobs | None = None,
        settings: Settings | None = None,
        architecture_options: Options | None = None,
    ) -> Pack:
        """One arm, once for every seed; a number of seeds counts them from 0."""
        program = Program.of(env, architecture, bonus, settings, architecture_options)
        if isinstance(program.bonus, OneOf):
            raise BadInput(
                f"which of {list(program.bonus.names)} pays these runs? Make them with "
                "Pack.single(program, seed, reward, knobs, bonus) and Pack.join"
            )
        which = seeds if isinstance(seeds, Iterable) else range(whole_number("seeds", seeds, 1))
        runs = [cls.single(program, seed, reward, knobs or Knobs()) for seed in which]
        if not runs:
            raise BadInput("seeds=[] is not valid; a pack needs at least one run")
        pack = cls.join(runs)
        if len(set(found := pack.runs.seed.tolist())) < len(found):
            raise BadInput(f"seeds={found} is not valid; it has an entry twice")
        return pack

    @classmethod
    def single(
        cls,
        program: Program,
        seed: int,
        reward: str | Mapping[str, float],
        knobs: Knobs,
        bonus: str | None = None,
    ) -> Pack:
        """One run of a program that exists already; if that has several bonuses, with this one."""
        run = RunParams.of(program, seed, reward, knobs, bonus)
        return cls(program, jax.tree.map(lambda leaf: leaf[None], run))

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

    def prepare(self) -> TrainState:
        """The same, and `advance` compiled."""
        return self.executor.prepare(self.program, self.runs)

    def state_shapes(self) -> TrainState:
        """The shapes and types of such a state, without computing one."""
        return jax.eval_shape(jax.vmap(partial(init, self.program)), self.runs)

    def advance(self, state: TrainState) -> tuple[TrainState, EvalPeriod]:
        """One evaluation period of every run. `state` is donated: do not use it afterwards."""
        return self.executor.advance(self.program, self.runs, state)

    def compile(self, state: TrainState) -> None:
        """Compile `advance` without running it."""
        self.executor.compile(self.program, self.runs, state)

    def ahead(self) -> Callable[[], None] | None:
        """Compiles what `prepare` would, to be called in a thread while another pack trains.

        None where that would only take the other's time, or code is not made for threads.
        """
        return self.executor.ahead(self.program, self.runs)

    def close(self) -> None:
        """Let go of environments that live beside the state; `advance` would begin new ones."""
        self.executor.close()


def _suitable(program: Program) -> Executor:
    if not program.env.hosted:
        return default_executor()
    from clew.learner.hosted import Hosted  # which needs gymnasium

    return Hosted()
