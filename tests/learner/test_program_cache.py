"""Compiled programs are kept, found again, bounded, and mended."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import jax
import pytest

from clew.learner.program_cache import FOLDER, cache_folder, prune, use_program_cache

TRAIN = """
import hashlib, jax
from clew.learner import Pack, Settings, execution, program_cache, to_arrays
program_cache.WORTH_KEEPING = 0.0  # on any machine, however fast
program_cache.use_program_cache()
hits, found, compile_program = [], [], execution.compile_program

def counted(*args):
    before = len(hits)
    compiled = compile_program(*args)
    found.append(len(hits) > before)
    return compiled

execution.compile_program = counted
jax.monitoring.register_event_listener(
    lambda name, **_: hits.append(name) if name.endswith("cache_hits") else None
)
small = Settings(envs=2, steps=8, chunk=8, chunks_per_batch=2, memory_width=8, encoder_width=8,
                 encoder_hidden=8, eval_every=1, eval_episodes=2)
pack = Pack.of("TinyReproduce", "dense", "GRU", settings=small)
state, _ = pack.advance(pack.begin())
digest = hashlib.sha256(b"".join(a.tobytes() for a in to_arrays(state).values())).hexdigest()
print(digest, *(int(hit) for hit in found))
"""


class Trained(NamedTuple):
    """What was trained, for each program whether it was not compiled anew, and what was said."""

    digest: str
    found: list[bool]
    said: str


def train(folder: Path) -> Trained:
    env = {k: v for k, v in os.environ.items() if not k.startswith("JAX_COMPILATION_CACHE")}
    env |= {FOLDER: str(folder), "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(
        [sys.executable, "-c", TRAIN], env=env, capture_output=True, text=True, check=True
    )
    digest, *found = done.stdout.split()
    return Trained(digest, [hit == "1" for hit in found], done.stderr)


def test_a_program_is_compiled_once_and_a_damaged_one_is_replaced(tmp_path: Path) -> None:
    first = train(tmp_path)
    assert first.found
    assert not any(first.found)
    (torn,) = next(tmp_path.iterdir()).glob("jit_train_period-*-cache")
    whole = torn.read_bytes()
    torn.write_bytes(whole[: len(whole) // 2])
    mended = train(tmp_path)
    assert mended.digest == first.digest
    assert mended.found.count(False) == 1
    assert "persistent" not in mended.said
    train(tmp_path)  # writes it anew
    last = train(tmp_path)
    assert last.digest == first.digest
    assert all(last.found)


def test_the_oldest_entries_are_removed(tmp_path: Path) -> None:
    for i in range(5):
        path = tmp_path / f"jit_f-{i}"
        path.write_bytes(bytes(100))
        os.utime(path, (i, i))
    (tmp_path / "folder").mkdir()
    prune(tmp_path, largest=250 + (tmp_path / "folder").stat().st_size)
    assert {path.name for path in tmp_path.iterdir()} == {"jit_f-3", "jit_f-4", "folder"}


def test_a_cache_that_jax_has_already_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    before = jax.config.values["jax_compilation_cache_dir"]
    assert before is not None  # of these tests
    use_program_cache()
    assert jax.config.values["jax_compilation_cache_dir"] == before
    monkeypatch.setenv(FOLDER, "/somewhere")
    assert cache_folder().parent == Path("/somewhere")


def test_a_folder_that_cannot_be_written_to_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert not any(train(tmp_path / "file").found)
