"""What was trained of the study: `results/` of the repository, which wheels bring along."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pandas as pd

import clew
from clew.analysis.published import STEPS
from clew.analysis.report.comparison import Arm, ArmSummary
from clew.analysis.results import ARM
from clew.metrics import tail_mean
from clew.validate import BadInput

DETAILS, DETAILS_OPTIONS = "three details", "layers=2 max_score=100 last_pairs=false"
"""Of E3B; the suite `paper` has them."""
_SHARED = {"gamma=0.95", "gae_lambda=0.995"}
EXCHANGED = {
    "MysteryPath-Grid": _SHARED,
    "MiniGrid-MemoryS13": {"gamma=0.98", "gae_lambda=0.999"},
    "TinyReproduce": _SHARED,
}
"""γ and GAE's λ, each with the other's value, as in the suite `paper`."""
SUITE = "suite paper"
SUITES_SETTINGS = {"target_kl=1e9", "truncation=end", "critic_width=256"}
SUITES_BONUSES = {
    "none": set[str](),
    "e3b": {*DETAILS_OPTIONS.split(), "boundary=unpaid"},
    "noveld": {"layers=2", "boundary=unpaid"},
}
CONVOLUTIONS = "encoder=small-cnn"
"""Of the 7×7 view, in that suite."""


@dataclasses.dataclass(frozen=True)
class Reading:
    """How the study was read, where its paper leaves it open: `name=value`, empty for defaults."""

    environment_options: str
    bonus_options: str
    settings: str
    knobs: str
    exchanged: bool = False
    """γ and λ; they are then in neither of the above."""
    of_suite: bool = dataclasses.field(default=False, compare=False)
    """Whether the suite `paper` has the arm so."""

    def __str__(self) -> str:
        if self.of_suite:
            return SUITE
        parts = (
            "γ and λ exchanged" if self.exchanged else "",
            self.environment_options,
            self.bonus_options,
            self.settings,
            self.knobs,
        )
        return (", ".join(filter(None, parts)) or "defaults").replace(DETAILS_OPTIONS, DETAILS)

    @property
    def without_bonus(self) -> Reading:
        """The same, of a run without a bonus."""
        knobs = [knob for knob in self.knobs.split() if not knob.startswith("bonus_coef=")]
        return dataclasses.replace(self, bonus_options="", knobs=" ".join(knobs))


@dataclasses.dataclass(frozen=True)
class TrainedArm:
    """The runs of an arm under one reading."""

    arm: Arm
    reading: Reading
    curves: tuple[np.ndarray, ...]
    """A run's share of successes at each evaluation; equally many of each."""
    period: int
    """Environment steps from one evaluation to the next."""
    late_bonus: float
    """The normalised bonus a step, over the final fifth."""

    @property
    def evaluations(self) -> int:
        """Of each run."""
        return len(self.curves[0])

    @property
    def steps(self) -> int:
        """Environment steps of each run."""
        return self.period * self.evaluations

    @property
    def whole(self) -> bool:
        """Whether it was trained as long as the study's, but for part of an evaluation period."""
        return self.steps > STEPS[self.arm[0]] - self.period

    def summary(self, evaluations: int | None = None) -> ArmSummary:
        """Of the tail means, as they were after so many evaluations."""
        return ArmSummary.of(np.array([tail_mean(curve[:evaluations]) for curve in self.curves]))


def results_folder() -> Path:
    """Where runs of the study are kept: beside the package, or in the repository it is run from."""
    package = Path(clew.__file__).parent
    for folder in (package / "results", package.parent.parent / "results"):
        if (folder / "runs.csv").is_file():
            return folder
    raise BadInput(
        "the runs of the study are not installed; reinstall clew, or clone its repository"
    )


def read_trained(folder: Path) -> list[TrainedArm]:
    """Every arm under every reading; of a run that was trained twice, the longer, or the later."""
    runs = pd.read_csv(folder / "runs.csv", keep_default_na=False)
    curves = pd.read_csv(folder / "curves.csv").set_index("run")
    columns = [*ARM, "environment_options", "bonus_options", "settings", "knobs"]
    named: dict[tuple[Arm, Reading], list[int]] = {}
    for row, key in enumerate(runs[columns].astype(str).itertuples(index=False)):
        named.setdefault(named_reading(*key), []).append(row)
    found: list[TrainedArm] = []
    for (arm, reading), places in named.items():
        if arm[0] not in STEPS:
            continue
        rows = runs.iloc[places]
        longest = rows[rows["steps"] == rows["steps"].max()].drop_duplicates("seed", keep="last")
        mine = curves.loc[longest["run"].tolist()]
        found.append(
            TrainedArm(
                arm=arm,
                reading=reading,
                curves=tuple(
                    np.array(str(text).split(), float) / episodes
                    for text, episodes in zip(
                        mine["successes"], mine["evaluation_episodes"], strict=True
                    )
                ),
                period=int(mine["evaluation_steps"].iloc[0]),
                late_bonus=float(pd.to_numeric(longest["late_bonus"]).mean()),
            )
        )
    return found


def named_reading(
    environment: str,
    reward: str,
    memory: str,
    bonus: str,
    world: str,
    bonus_options: str,
    settings: str,
    knobs: str,
) -> tuple[Arm, Reading]:
    """An arm as the published table names it, and the rest of its options.

    What belongs to an arm's name is no reading: the view of MemoryS13, and what Given cannot do
    without. Nor is what counts as a revisit, for a reward that does not pay for it.
    """
    options, chosen, numbers = world.split(), settings.split(), knobs.split()
    if reward != "distractor":
        options = [option for option in options if not option.startswith("revisit=")]
    if memory == "Given":
        options.remove("knowledge=true")
    exchange = EXCHANGED.get(environment, {""})
    exchanged = exchange <= {*chosen, *numbers}
    if exchanged:
        chosen = [each for each in chosen if each not in exchange]
        numbers = [each for each in numbers if each not in exchange]
    usual = SUITES_SETTINGS
    if wide := "view=7" in options:
        options.remove("view=7")
        environment, usual = f"{environment}[view=7]", usual | {CONVOLUTIONS}
    of_suite = (
        exchanged
        and options == (["revisit=standing"] if reward == "distractor" else [])
        and set(bonus_options.split()) == SUITES_BONUSES.get(bonus)
        and set(chosen) == usual
        and not numbers
    )
    if wide and CONVOLUTIONS not in chosen:
        chosen.append("encoder=mlp")
    # in whatever order the script that trained it wrote them
    world, settings, knobs = (" ".join(sorted(each)) for each in (options, chosen, numbers))
    reading = Reading(world, bonus_options, settings, knobs, exchanged, of_suite)
    return (environment, reward, memory, bonus), reading
