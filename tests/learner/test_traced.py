"""What was traced is kept, found again, mended, and told apart."""

from __future__ import annotations

import dataclasses
import functools
from functools import partial
from pathlib import Path
from typing import Any

import jax
import pytest

from clew.envs.worlds.tiny_reproduce.world import TinyReproduce
from clew.learner import Program, Settings
from clew.learner.execution import run_shapes
from clew.learner.program_cache import FOLDER, use_program_cache
from clew.learner.run import EvalPeriod, init, train_period
from clew.learner.traced import ForeignError, _place, described, description, structure_of
from clew.memory.registry import architectures
from tests.learner.test_program_cache import told

SMALL = Settings(envs=2, steps=8, chunk=8, chunks_per_batch=2, memory_width=8, encoder_width=8,
                 encoder_hidden=8, eval_every=1, eval_episodes=2)  # fmt: skip
TRAIN = """
import dataclasses, hashlib, sys
from clew.envs.worlds.tiny_reproduce.world import TinyReproduce
from clew.learner import Pack, Settings, to_arrays, traced
exported, real = [], traced.export.export
traced.export.export = lambda function: exported.append(1) or real(function)

class Own(TinyReproduce):
    def start(self, level):
        jax.debug.callback(called.append, 1)
        return super().start(level)

called = []

def trained(world, gae_lambda=0.95):
    small = Settings(envs=2, steps=8, chunk=8, chunks_per_batch=2, memory_width=8, encoder_width=8,
                     encoder_hidden=8, eval_every=1, eval_episodes=2, gae_lambda=gae_lambda)
    pack = Pack.of(world, "dense", "GRU", settings=small)
    state, _ = pack.advance(pack.prepare())
    digest = hashlib.sha256(b"".join(a.tobytes() for a in to_arrays(state).values())).hexdigest()
    count = len(exported)
    exported.clear()
    return digest[:8], count

"""


def test_what_was_traced_is_not_traced_again(tmp_path: Path) -> None:
    begin = 'print(trained("TinyReproduce"))'
    first = told(tmp_path, TRAIN, begin)
    assert first.endswith(", 2)")  # the beginning and a period
    assert told(tmp_path, TRAIN, begin) == first.replace(", 2)", ", 0)")
    kept = list(tmp_path.rglob("traced-*"))
    assert len(kept) == 2
    kept[0].write_bytes(kept[0].read_bytes()[:-1] + b"?")
    kept[1].write_bytes(b"")
    assert told(tmp_path, TRAIN, begin) == first
    assert not list(tmp_path.rglob(".tmp-*"))


def test_other_settings_and_other_worlds_are_other_programs(tmp_path: Path) -> None:
    # another setting shares the beginning's shapes, not its description
    both = 'print([trained("TinyReproduce", each)[1] for each in (0.95, 0.5)])'
    assert told(tmp_path, TRAIN, both) == "[2, 2]"
    before = set(tmp_path.rglob("traced-*"))
    assert len(before) == 4
    # code that is not Clew's is traced every time, and not exported: it may call Python
    assert told(tmp_path, TRAIN, "print(trained(Own())[1], len(called) > 0)") == "0 True"
    assert set(tmp_path.rglob("traced-*")) == before


def test_code_that_changes_meanwhile_is_not_kept(tmp_path: Path) -> None:
    later = "traced._BEGAN = 0.0\n"
    assert told(tmp_path, TRAIN, later, 'print(trained("TinyReproduce")[1])') == "2"
    assert not list(tmp_path.rglob("traced-*"))


def test_nobody_needs_a_home(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", no_home)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv(FOLDER, raising=False)
    use_program_cache()
    assert _place("", "") is None


def test_a_program_is_described_by_all_that_it_is_made_of() -> None:
    program = Program.of("TinyReproduce", "GRU", "e3b", SMALL)
    others = [
        Program.of(TinyReproduce(k=3), "GRU", "e3b", SMALL),
        Program.of("TinyReproduce", "LSTM", "e3b", SMALL),
        Program.of("TinyReproduce", "GRU", "noveld", SMALL),
        Program.of("TinyReproduce", "GRU", "e3b", dataclasses.replace(SMALL, target_kl=0.1)),
        Program.of("TinyReproduce", "GRU", "e3b", SMALL, {"norm": False}),
    ]
    assert len({described(each) for each in (program, *others)}) == 1 + len(others)
    assert described(program) == described(Program.of("TinyReproduce", "GRU", "e3b", SMALL))


def test_a_wrapped_memory_is_not_taken_for_the_one_it_wraps() -> None:
    original = architectures["GRU"].factory()

    @functools.wraps(original)
    def mine(*args: Any, **options: Any) -> Any:
        return original(*args, **options)

    architectures.add("Wrapped", mine)
    try:
        assert description(Program.of("TinyReproduce", "Wrapped", "none", SMALL)) is None
        assert description(Program.of("TinyReproduce", "GRU", "none", SMALL)) is not None
    finally:
        del architectures._entries["Wrapped"]


@pytest.mark.parametrize("value", [object(), jax.numpy.zeros(3), {"a": 1}, (1, [lambda: 2])])
def test_what_is_not_plain_is_not_described(value: object) -> None:
    with pytest.raises(ForeignError):
        described(value)


def test_the_structure_of_a_record_is_known_without_tracing() -> None:
    program = Program.of("TinyReproduce", "Memoryless", "none", SMALL)
    run = run_shapes(program)
    state = jax.eval_shape(partial(init, program), run)
    _, record = jax.eval_shape(partial(train_period, program), run, state)
    assert jax.tree.structure(structure_of(EvalPeriod)) == jax.tree.structure(record)
