"""Compiled programs are kept, found again, bounded, and mended."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import jax
import pytest

from clew.learner.program_cache import FOLDER, cache_folder, prune, use_program_cache

TRAIN = """
import hashlib, jax
from clew.learner import Pack, Settings, to_arrays
from clew.learner.program_cache import use_program_cache
use_program_cache()
hits = []
jax.monitoring.register_event_listener(lambda name, **_: hits.append(name.rsplit("/")[-1]))
small = Settings(envs=2, steps=8, chunk=8, chunks_per_batch=2, memory_width=8, encoder_width=8,
                 encoder_hidden=8, eval_every=1, eval_episodes=2)
pack = Pack.of("TinyReproduce", "dense", "GRU", settings=small)
state, _ = pack.advance(pack.begin())
digest = hashlib.sha256(b"".join(a.tobytes() for a in to_arrays(state).values())).hexdigest()
print(digest, hits.count("cache_hits"))
"""


def train(folder: Path) -> tuple[str, int, str]:
    """What was trained, how many programs were not compiled, and what was said."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("JAX_COMPILATION_CACHE")}
    env |= {FOLDER: str(folder), "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(
        [sys.executable, "-c", TRAIN], env=env, capture_output=True, text=True, check=True
    )
    digest, hits = done.stdout.split()
    return digest, int(hits), done.stderr


def test_a_program_is_compiled_once_and_a_damaged_one_is_replaced(tmp_path: Path) -> None:
    first, hits, _ = train(tmp_path)
    assert hits == 0
    kept = {path.name: path for path in next(tmp_path.iterdir()).glob("jit_*")}
    assert any(name.startswith("jit_train_period-") for name in kept)
    assert train(tmp_path)[:2] == (first, len(kept))
    (torn,) = (path for name, path in kept.items() if name.startswith("jit_train_period-"))
    whole = torn.read_bytes()
    torn.write_bytes(whole[: len(whole) // 2])
    again, hits, said = train(tmp_path)
    assert (again, hits) == (first, len(kept) - 1)
    assert "persistent" not in said
    train(tmp_path)  # writes it anew
    assert train(tmp_path)[:2] == (first, len(kept))


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
    assert train(tmp_path / "file")[1] == 0
