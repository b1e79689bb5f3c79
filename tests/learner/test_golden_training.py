"""Training gives the numbers that it gave when `tests/golden/training.json` was recorded."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import jax
import numpy as np
import pytest

from tests.oracles.training import ARMS, FILE, FLAGS

COUNTS = (
    "first_success",
    "diverged",
    "evaluation/success",
    "evaluation/length",
    "evaluation/events",
    "rollouts/episodes",
    "rollouts/successes",
    "rollouts/events",
    "rollouts/report/minibatches",
    "rollouts/report/finite",
)
"""Counts, or counts over a power of two: no rounding of another processor reaches them."""


EVERY_TIME = [arm for arm in ARMS if arm.startswith("images")]
SLOW = [pytest.param(arm, marks=pytest.mark.slow) for arm in ARMS if arm not in EVERY_TIME]


@pytest.mark.skipif(
    jax.__version__ != "0.10.2",
    reason="recorded with jax 0.10.2: training enlarges what other compilers round otherwise",
)
@pytest.mark.parametrize("arm", EVERY_TIME + SLOW)
def test_training_gives_the_recorded_numbers(arm: str) -> None:
    """Exact where numbers are counts, else up to what processors differ in."""
    found = json.loads(
        subprocess.run(
            [sys.executable, "-m", "tests.oracles.training", arm],
            env=os.environ | {"XLA_FLAGS": FLAGS},
            check=True,
            stdout=subprocess.PIPE,
        ).stdout
    )[arm]
    recorded = json.loads(FILE.read_text())[arm]
    assert recorded.keys() == found.keys()
    for name, expected in recorded.items():
        if name in COUNTS:
            assert found[name] == expected, name
        elif not name.endswith("ratio_error"):  # which is rounding, and checked elsewhere
            np.testing.assert_allclose(found[name], expected, 1e-3, 2e-6, err_msg=name)
