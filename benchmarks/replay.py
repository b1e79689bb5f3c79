"""What a replay costs at its worst: 200 episodes of MemoryS13 of 845 steps, with a 64×64 memory.

The agent stands still and every step is asked about, so that nothing is left out:
`python benchmarks/replay.py`. What fitting costs, `benchmarks/probes.py` says.
"""

from __future__ import annotations

import argparse
import dataclasses
import resource
import tempfile
import time
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from clew import envs
from clew.envs import Asked, Latent
from clew.learner import Program
from clew.probes.replay import record


@dataclasses.dataclass(frozen=True)
class Always(Latent[Any, Any]):
    """Asked at every step."""

    questions = ("the cue is a ball",)

    def start(self) -> Any:
        return jnp.int32(0)

    def look(self, known: Any, state: Any) -> tuple[Any, Asked]:
        return known + 1, Asked(jnp.ones(1, bool), (state.row % 2 == 0)[None], known[None])


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--architecture", default="GatedDeltaNet")
    asked.add_argument("--episodes", type=int, default=200)
    chosen = asked.parse_args()
    env = envs.make("MiniGrid-MemoryS13")
    program = Program.of(env, chosen.architecture)
    agent = jax.jit(program.agent)(jax.random.key(0))
    assert agent.policy.bias is not None
    still = agent.policy.bias.at[env.action_names.index("done")].set(1e6)
    agent = eqx.tree_at(lambda a: a.policy.bias, agent, still)
    print(f"before anything: {peak():.2f} GiB at most")
    with tempfile.TemporaryDirectory() as folder:
        begin = time.perf_counter()
        found = record(program, agent, Always(), Path(folder), episodes=chosen.episodes, seed=0)
        took = time.perf_counter() - begin
        rows, width = found.features["memory"].shape
        print(
            f"recorded {rows:,} states of {width:,} numbers and as many untrained ones in "
            f"{took:.0f} s: {found.bytes / 2**30:.2f} GiB on the disk, {peak():.2f} GiB of memory "
            "at most"
        )


def peak() -> float:
    """GiB of this process so far, mapped files that are in memory included."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


if __name__ == "__main__":
    main()
