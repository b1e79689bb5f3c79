"""What training takes of a machine, compilation included. Slow: `make test-slow`."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

PROGRAM = """
from pathlib import Path
from clew.learner import Pack, Settings
pack = Pack.of("TinyReproduce", "dense", "GRU", "e3b", settings=Settings(eval_every=1))
state, period = pack.advance(pack.begin())
assert state.steps.tolist() == [8192]
# its own peak: what getrusage gives begins with that of the process which started it
peak = next(line for line in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in line)
print("kilobytes", peak.split()[1])
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere there is no /proc")
def test_a_pack_of_one_at_the_studys_settings_fits_in_one_and_a_half_gigabytes() -> None:
    """With the compiler as users have it: most of it is the compiler's."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=os.environ | {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": ""},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.stdout.startswith("kilobytes"), done.stderr
    assert int(done.stdout.split()[1]) < 1_500_000
