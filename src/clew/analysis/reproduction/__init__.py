"""The published study, as far as it was trained again: every arm, and every claim, beside ours."""

from clew.analysis.reproduction.claims import CLAIMS, Claim, Judged, UnderReading, judge
from clew.analysis.reproduction.tables import compared, overview, pace, tables, together
from clew.analysis.reproduction.trained import TrainedArm, read_trained, results_folder

__all__ = [
    "CLAIMS",
    "Claim",
    "Judged",
    "TrainedArm",
    "UnderReading",
    "compared",
    "judge",
    "overview",
    "pace",
    "read_trained",
    "results_folder",
    "tables",
    "together",
]
