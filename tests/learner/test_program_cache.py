"""Compiled programs are kept, found again, bounded, and mended."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import jax
import pytest

from clew.learner.program_cache import FOLDER, cache_folder, prune, use_program_cache

BEGIN = """
import jax
from clew.learner import program_cache
program_cache.WORTH_KEEPING = 0.0  # on any machine, however fast
program_cache.use_program_cache()
hits = []
jax.monitoring.register_event_listener(
    lambda name, **_: hits.append(name) if name.endswith("cache_hits") else None
)
"""
TRAIN = """
import hashlib
from clew.learner import Pack, Settings, to_arrays, traced
found, compile_program = [], traced.compile_program

def counted(*args):
    before = len(hits)
    compiled = compile_program(*args)
    found.append(len(hits) > before)
    return compiled

traced.compile_program = counted
small = Settings(envs=2, steps=8, chunk=8, chunks_per_batch=2, memory_width=8, encoder_width=8,
                 encoder_hidden=8, eval_every=1, eval_episodes=2)
pack = Pack.of("TinyReproduce", "dense", "GRU", settings=small)
state, _ = pack.advance(pack.begin())
digest = hashlib.sha256(b"".join(a.tobytes() for a in to_arrays(state).values())).hexdigest()
print(digest, found)
"""
COMPILE = """
def twice(x):
    return 2 * x

def found():
    jax.clear_caches()
    before = len(hits)
    compiled = program_cache.compile_program(jax.jit(twice).lower(1.0), None)
    hit = len(hits) > before
    assert float(compiled(1.0)) == 2
    return hit

"""
DAMAGE = """
sound = [found(), found()]
(torn,) = program_cache.cache_folder().glob("jit_twice-*-cache")
whole = torn.read_bytes()
torn.write_bytes(whole[: len(whole) // 2])
print(sound, [found(), found(), found()])
"""


def told(folder: Path, *parts: str) -> str:
    """What a process prints that keeps its programs there."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("JAX_COMPILATION_CACHE")}
    env |= {FOLDER: str(folder), "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(
        [sys.executable, "-c", BEGIN + "".join(parts)],
        env=env,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "persistent" not in done.stderr
    return done.stdout.strip()


def test_what_trains_is_compiled_once(tmp_path: Path) -> None:
    first = told(tmp_path, TRAIN)
    assert first.endswith("[False, False]")  # the beginning and a period
    assert list(next(tmp_path.iterdir()).glob("jit_train_period-*-cache"))
    assert told(tmp_path, TRAIN) == first.replace("False", "True")


def test_a_damaged_program_is_replaced(tmp_path: Path) -> None:
    """It is removed by whom it fails, and written anew by the next."""
    assert told(tmp_path, COMPILE, DAMAGE) == "[False, True] [False, False, True]"


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
    assert told(tmp_path / "file", COMPILE, "print(found(), found())") == "False False"
