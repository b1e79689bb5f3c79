"""What will the probes find? Predictions as data, sealed before the fit and graded after it.

A registration is a file of the store with the predictions, the time, and the hash of the
registration before it. What that proves has a limit: whoever controls the disk can set the clock
and write every file anew, the hashes too. A hash convinces others once it lies where its owner
cannot change it: publish it (`Registration.hash`) before fitting.
"""

from clew.probes.predictions.claims import Contrast, Prediction, Unless
from clew.probes.predictions.grading import Grade, Observed, Part, first_about, grade
from clew.probes.predictions.registering import (
    Register,
    Registration,
    clock,
    read_register,
    register,
)
from clew.probes.predictions.toml import read_predictions, study

__all__ = [
    "Contrast",
    "Grade",
    "Observed",
    "Part",
    "Prediction",
    "Register",
    "Registration",
    "Unless",
    "clock",
    "first_about",
    "grade",
    "read_predictions",
    "read_register",
    "register",
    "study",
]
