"""What will the probes find? Predictions, registered before the fit and evaluated after it.

A registration is a file of the store with the predictions, the time, and the hash of the
registration before it. That proves only so much: whoever owns the disk can set the clock and write
every file again, with new hashes. A hash convinces others if it is published
(`Registration.hash`) before fitting.
"""

from clew.probes.predictions.outcomes import (
    PredictionOutcome,
    evaluate_predictions,
    first_results_about,
)
from clew.probes.predictions.prediction import (
    Contrast,
    Prediction,
    Unless,
    read_predictions,
    study,
)
from clew.probes.predictions.registrations import (
    Registration,
    Registrations,
    merge_registrations,
    read_registrations,
    register_predictions,
    utc_now,
)
from clew.probes.predictions.values import Measurement

__all__ = [
    "Contrast",
    "Measurement",
    "Prediction",
    "PredictionOutcome",
    "Registration",
    "Registrations",
    "Unless",
    "evaluate_predictions",
    "first_results_about",
    "merge_registrations",
    "read_predictions",
    "read_registrations",
    "register_predictions",
    "study",
    "utc_now",
]
