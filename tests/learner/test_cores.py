"""The same bytes on one core and on several, at the study's size."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

BEGIN = """
import hashlib, os, sys
os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:int(sys.argv[1])])
import clew.learner.execution, jax, numpy as np
def show(arrays):
    print(hashlib.sha256(b"".join(np.asarray(a).tobytes() for a in arrays)).hexdigest())
"""
SUMS = """
x, y = (np.random.default_rng(n).standard_normal((2048, 256), np.float32) for n in range(2))
show([jax.jit(lambda x: x.sum())(x), jax.jit(lambda x: x.mean(0))(x)])
show([jax.jit(lambda x, y: x.T @ y)(x, y)])
"""
TRAINING = """
from clew.learner import Pack, Settings, to_arrays, periods
settings = Settings(eval_every=1)
pack = Pack.of("TinyReproduce", "dense", sys.argv[2], "e3b", seeds=[0, 1], settings=settings)
*_, last = periods(pack, 2 * settings.period)
show(to_arrays(last.state).values())
"""


def printed(script: str, cores: int, *words: str) -> str:
    command = [sys.executable, "-c", BEGIN + script, str(cores), *words]
    alone = {**os.environ, "XLA_FLAGS": "", "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(command, capture_output=True, text=True, env=alone, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


several = pytest.mark.skipif(
    not hasattr(os, "sched_getaffinity") or len(os.sched_getaffinity(0)) < 2,
    reason="there is one core only",
)


@several
def test_long_sums_and_products() -> None:
    assert printed(SUMS, 1) == printed(SUMS, 2)


@several
@pytest.mark.slow
@pytest.mark.parametrize("architecture", ["GRU", "Mamba-2"])
def test_training_at_the_studys_size(architecture: str) -> None:
    assert printed(TRAINING, 1, architecture) == printed(TRAINING, 2, architecture)
