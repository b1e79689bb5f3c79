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
"""γ and GAE's λ, each with the other's value, as in the suite `paper`."""
CONVOLUTIONS = "encoder=small-cnn"
"""Of the 7×7 view, in that suite."""
SUITE = "suite paper"
SUITES_SETTINGS = "target_kl=1e9 truncation=end critic_width=256"
SUITES_BONUSES = ("", f"{DETAILS_OPTIONS} boundary=unpaid", "layers=2 boundary=unpaid")


@dataclasses.dataclass(frozen=True)
class Reading:
    """How the study was read, where its paper leaves it open: `name=value`, empty for defaults."""

    environment_options: str
    bonus_options: str
    settings: str
    knobs: str

    def __str__(self) -> str:
        if self.of_suite:
            return SUITE
        named = self._exchange_named
        parts = ("γ and λ exchanged" if named else "", *dataclasses.astuple(named or self))
        return (", ".join(filter(None, parts)) or "defaults").replace(DETAILS_OPTIONS, DETAILS)

    @property
    def of_suite(self) -> bool:
        """Whether it is that of the suite `paper`."""
        rest = self._exchange_named
        return (
            rest is not None
            and rest.environment_options in ("", "revisit=standing")
            and rest.bonus_options in SUITES_BONUSES
            and (rest.settings, rest.knobs) == (SUITES_SETTINGS, "")
        )

    @property
    def _exchange_named(self) -> Reading | None:
        """All but γ and λ, if these are exchanged."""
        settings, knobs = self.settings.split(), self.knobs.split()
        for gamma, gae_lambda in EXCHANGED.items():
            if gamma in knobs and gae_lambda in settings:
                settings.remove(gae_lambda)
                knobs.remove(gamma)
                return dataclasses.replace(self, settings=" ".join(settings), knobs=" ".join(knobs))
        return None

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
    named: dict[tuple[Arm, Reading], list[int]] = {}
    for row, key in enumerate(runs[[*ARM, *fields]].astype(str).itertuples(index=False)):
        named.setdefault(_named(*key), []).append(row)
    found: list[TrainedArm] = []
    for (arm, reading), places in named.items():
        if arm[0] not in STEPS:
            continue
        rows = runs.iloc[places]
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
    """The view of MemoryS13 belongs to its name, as in the published table, and its convolutions
    to the suite `paper`. What counts as a revisit is no reading of a reward that does not pay for
    it."""
    bonus_options, settings, knobs = rest
    words = [word for word in options.split() if reward == "distractor" or "revisit" not in word]
    if "view=7" in words:
        words.remove("view=7")
        environment += "[view=7]"
        others = [word for word in settings.split() if word != CONVOLUTIONS]
        settings = " ".join(others if CONVOLUTIONS in settings else ["encoder=mlp", *others])
    return (environment, reward, memory, bonus), Reading(
        " ".join(words), bonus_options, settings, knobs
    )
