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
EXCHANGED = {"gamma=0.95": "gae_lambda=0.995", "gamma=0.98": "gae_lambda=0.999"}
"""γ and GAE's λ, each with the other's value, as in the suite `paper-swapped`."""


@dataclasses.dataclass(frozen=True)
class Reading:
    """How the study was read, where its paper leaves it open: `name=value`, empty for defaults."""

    environment_options: str
    bonus_options: str
    settings: str
    knobs: str

    def __str__(self) -> str:
        parts = list(dataclasses.astuple(self))
        words = [part.split() for part in parts]
        if any(EXCHANGED.get(knob) in words[2] for knob in words[3]):
            exchanged = {*EXCHANGED, *EXCHANGED.values()}
            parts = [" ".join(word for word in part if word not in exchanged) for part in words]
            parts.insert(0, "γ and λ exchanged")
        return (", ".join(filter(None, parts)) or "defaults").replace(DETAILS_OPTIONS, DETAILS)

    @property
    def without_bonus(self) -> Reading:
        """The same, of a run without a bonus."""
        knobs = [knob for knob in self.knobs.split() if not knob.startswith("bonus_coef=")]
        return Reading(self.environment_options, "", self.settings, " ".join(knobs))


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
    """Every arm under every reading; of a run that was trained twice, the longer."""
    fields = [field.name for field in dataclasses.fields(Reading)]
    runs = pd.read_csv(folder / "runs.csv", keep_default_na=False)
    curves = pd.read_csv(folder / "curves.csv").set_index("run")
    found: list[TrainedArm] = []
    for key, rows in runs.groupby([*ARM, *fields], sort=False):
        arm, reading = _named(*(str(each) for each in key))
        if arm[0] not in STEPS:
            continue
        longest = rows[rows["steps"] == rows["steps"].max()].drop_duplicates("seed")
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


def _named(
    environment: str, reward: str, memory: str, bonus: str, options: str, *rest: str
) -> tuple[Arm, Reading]:
    """The view of MemoryS13 belongs to its name, as in the published table. What counts as a
    revisit is no reading of a reward that does not pay for it."""
    words = [word for word in options.split() if reward == "distractor" or "revisit" not in word]
    if "view=7" in words:
        words.remove("view=7")
        environment += "[view=7]"
    return (environment, reward, memory, bonus), Reading(" ".join(words), *rest)
