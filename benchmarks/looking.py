"""Does a bonus work on MemoryS13 because it pays for the look at the cue?

Two worlds of one idea: in one the first sight of the cue in an episode is paid, in the other the
agent begins beside the cue, and has nothing to seek.

    clew run benchmarks/looking.toml --store looking
    python benchmarks/looking.py looking            # the table of docs/reproduction.md
    python benchmarks/looking.py looking --add results/looking.csv
    python benchmarks/looking.py results/looking.csv
"""

from __future__ import annotations

import argparse
import dataclasses
from pathlib import Path
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
from jaxtyping import Array, Bool, Int, PRNGKeyArray, PyTree

from clew import envs
from clew.analysis.names import bonus_label
from clew.analysis.reproduction.trained import named_reading
from clew.analysis.results import ARM
from clew.analysis.stats.intervals import mean_interval
from clew.envs.base import Environment, Rewards, Step
from clew.envs.knowledge import Knowledge
from clew.envs.worlds.memory_s.world import CorridorState, Level, MemoryS
from clew.learner import Knobs
from clew.store import Store, scan
from reproduce import append

LEVEL = 0.75
"""Over five evaluations, as the paper's table of MemoryS13 has it."""


class LookState(NamedTuple):
    """The corridor, and whether the cue has been in view."""

    corridor: CorridorState
    looked: Bool[Array, ""]


@envs.register("MemoryS13-Look")
@dataclasses.dataclass(frozen=True)
class Look(Environment[Level, LookState]):
    """MemoryS13 as the suite `paper` has it, where the first sight of the cue is an event."""

    beside_cue: bool = False
    """Begin every episode at the end of the hallway from which the cue is in view."""

    obs_dtype, obs_high = MemoryS.obs_dtype, MemoryS.obs_high
    event_names = (*MemoryS.event_names, "look")
    """look: for the first time in an episode that does not begin so, the cue is in view."""
    rewards: ClassVar[Rewards] = {
        "sparse": lambda world: {"goal": 1.0},
        "look-0.2": lambda world: {"goal": 1.0, "look": 0.2},
    }

    @property
    def corridor(self) -> MemoryS:
        """The world of the study."""
        return MemoryS(revisit="standing")

    @property
    def action_names(self) -> tuple[str, ...]:
        return self.corridor.action_names

    @property
    def horizon(self) -> int:
        return self.corridor.horizon

    @property
    def typical_length(self) -> int:
        return self.corridor.typical_length

    @property
    def shortest_length(self) -> int:
        return self.corridor.shortest_length

    @property
    def obs_shape(self) -> tuple[int, ...]:
        return self.corridor.obs_shape

    @property
    def alphabet(self) -> np.ndarray:
        return self.corridor.alphabet

    def level(self, key: PRNGKeyArray) -> Level:
        if not self.beside_cue:
            return self.corridor.level(key)
        return jnp.asarray(self.corridor.tables.starts, jnp.int32)[
            0, 0, jax.random.randint(key, (), 0, 4)
        ]

    def start(self, level: Level) -> tuple[LookState, Int[Array, ""]]:
        corridor, obs = self.corridor.start(level)
        return LookState(corridor, self._in_view(corridor)), obs

    def step(
        self, state: LookState, action: Int[Array, ""], key: PRNGKeyArray
    ) -> tuple[LookState, Step]:
        corridor, result = self.corridor.step(state.corridor, action, key)
        seen = self._in_view(corridor)
        look = jnp.float32(seen & ~state.looked)
        events = jnp.concatenate([result.events, look[None]])
        return LookState(corridor, state.looked | seen), result._replace(events=events)

    def info(self, state: LookState) -> dict[str, Array]:
        return {**self.corridor.info(state.corridor), "looked": state.looked}

    def knowledge(self) -> Knowledge[PyTree[Array]]:
        return self.corridor.knowledge()

    def picture(self, state: LookState) -> np.ndarray:
        return self.corridor.picture(state.corridor)

    def _in_view(self, state: CorridorState) -> Bool[Array, ""]:
        return jnp.asarray(self.corridor.tables.cue_visible)[state.row]


def added(store: Store) -> list[dict[str, object]]:
    """A line a run: how many episodes of each evaluation succeeded, and had a look."""
    found: list[dict[str, object]] = []
    for config in (each.config for each in scan(store) if each.status == "finished"):
        run = store.run(config)
        curve, episodes = run.curve(), config["settings"]["eval_episodes"]
        looks = curve["events"][:, run.result()["events"].index("look")]
        about, counts = run.provenance(), {"successes": curve["success"], "looks": looks}
        found.append(
            {
                **{name: about[name] for name in ("commit", "device", "jax")},
                "beside_cue": config["environment_options"].get("beside_cue", False),
                **{name: config[name] for name in ("reward", "architecture", "bonus")},
                "entropy": config["knobs"]["entropy"],
                "seed": config["seed"],
                "evaluation_steps": int(curve["steps"][1] - curve["steps"][0]),
                "evaluation_episodes": episodes,
                **{n: " ".join(str(round(episodes * float(x))) for x in counts[n]) for n in counts},
            }
        )
    return found


def shares(runs: pd.DataFrame, name: str, evaluations: int) -> np.ndarray:
    """Of the episodes of every evaluation: a row a run."""
    counts = np.array([text.split()[:evaluations] for text in runs[name]], float)
    return counts / runs["evaluation_episodes"].to_numpy()[:, None]


def line(title: str, runs: pd.DataFrame, evaluations: int) -> str:
    """Of the table: success and looks over the last fifth, and how soon success is held."""
    success = shares(runs, "successes", evaluations)
    last = max(1, evaluations // 5)
    cells = [title, str(runs["architecture"].iloc[0]), str(len(runs))]
    for name in ("successes", "looks"):
        if name not in runs or (name == "looks" and runs["beside_cue"].all()):
            cells.append("")  # not recorded; or every episode begins with a look
            continue
        mean = mean_interval(shares(runs, name, evaluations)[:, -last:].mean(1))
        cells.append(f"{mean.estimate:.2f} [{max(mean.low, 0):.2f}, {min(mean.high, 1):.2f}]")
    held = np.apply_along_axis(lambda one: np.convolve(one, np.ones(5) / 5, "valid"), 1, success)
    there = (held >= LEVEL).any(1)
    steps = (np.argmax(held >= LEVEL, 1)[there] + 5) * int(runs["evaluation_steps"].iloc[0])
    when = f"{np.median(steps) / 1e6:.1f} M " if there.any() else ""
    return "| " + " | ".join([*cells, f"{when}({there.sum()}/{len(there)})"]) + " |"


def table(runs: pd.DataFrame, results: Path) -> str:
    """Beside runs of `results/` that are not paid for a look, over as many evaluations."""
    evaluations = min(len(text.split()) for text in runs["successes"])
    lines = [
        "| | memory | n | success at the end | episodes with a look | .75 held after |",
        "|---|---|---:|---:|---:|---:|",
    ]
    for architecture, of_one in runs.groupby("architecture", sort=False):
        for bonus, others in in_results(results, str(architecture)).groupby("bonus", sort=False):
            title = "as it is" if bonus == "none" else f"with {bonus_label(str(bonus))}"
            lines.append(line(title, others, evaluations))
        for (beside, reward, bonus, entropy), same in of_one.groupby(
            ["beside_cue", "reward", "bonus", "entropy"]
        ):
            paid = reward.removeprefix("look-")
            title = f"the look pays {paid}" if paid != reward else "as it is"
            title = "begins beside the cue" if beside else title
            title += f", with {bonus_label(bonus)}" * (bonus != "none")
            title += f", entropy {entropy:g}" * (entropy != Knobs().entropy)
            lines.append(line(title, same, evaluations))
    return "\n".join(lines)


def in_results(folder: Path, architecture: str) -> pd.DataFrame:
    """The suite's runs on MemoryS13 with the sparse reward, as they were trained there."""
    runs = pd.read_csv(folder / "runs.csv", keep_default_na=False)
    runs = runs.merge(pd.read_csv(folder / "curves.csv"), on="run")
    arm = (runs.environment == "MiniGrid-MemoryS13") & (runs.reward == "sparse")
    runs = runs[arm & (runs.architecture == architecture) & (runs.steps > 19e6)]
    columns = ["environment_options", "bonus_options", "settings", "knobs"]
    keys = runs[[*ARM, *columns]].astype(str).itertuples(index=False)
    return runs[[named_reading(*key)[1].of_suite for key in keys]]


def main() -> None:
    description = argparse.RawDescriptionHelpFormatter
    args_of = argparse.ArgumentParser(description=__doc__, formatter_class=description)
    args_of.add_argument("runs", type=Path, help="a store, or the table that --add wrote")
    args_of.add_argument("--results", type=Path, default=Path("results"))
    args_of.add_argument("--add", type=Path, help="write the runs of the store to this table")
    args = args_of.parse_args()
    if args.runs.suffix == ".csv":
        runs = pd.read_csv(args.runs)
    else:
        rows = added(Store(args.runs, read_only=True))
        runs = pd.DataFrame(rows)
        if args.add:
            append(args.add, list(runs), rows)
    print(table(runs, args.results))


if __name__ == "__main__":
    main()
