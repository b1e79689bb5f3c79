"""The next program is compiled while a pack trains."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import clew.suite.worker as worker
from clew.learner import Pack
from clew.store import CannotRead, Claims, Store
from clew.suite import PackProgress, plan
from clew.suite.planning import preview
from tests.suite.declared import PERIODS, tiny
from tests.suite.trial import results, trained


class Compiled:
    """Stands in for the compiler: what it was asked for, in which thread, and how long it takes."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.sizes: list[int] = []
        self.threads: set[str] = set()
        self.begun, self.over = threading.Event(), threading.Event()

        def ahead(pack: Pack) -> Callable[[], None]:
            def compiler() -> None:
                self.sizes.append(len(pack))
                self.threads.add(threading.current_thread().name)
                self.begun.set()
                self.over.wait(60)

            return compiler

        monkeypatch.setattr(Pack, "ahead", ahead)


def test_the_next_program_is_compiled_while_a_pack_trains(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three runs in packs of two: an accelerator has a program for two runs, and one for one."""
    compiled = Compiled(monkeypatch)
    store = Store(tmp_path)
    first, second = (pack.folder(store).name for pack in plan(tiny(seeds=3), store, 2).packs)
    seen: list[tuple[str, str, int]] = []

    def watch(step: PackProgress) -> bool:
        seen.append((step.name, step.what, step.period))
        if seen[-1] == (first, "training", 2):
            assert compiled.begun.wait(60)  # it was asked for after the first period
        if step.name == second:
            compiled.over.set()  # its turn has come, and it is still being compiled
        return False

    outcome, _ = trained(tiny(seeds=3), tmp_path, until=watch)
    assert outcome == (2, 0, "")
    assert compiled.sizes == [1]
    assert compiled.threads == {"compile ahead"}
    assert [step for step in seen if step[1] != "training"] == [
        (first, "compiling", 0), (first, "finished", PERIODS),
        (second, "compiling", 0),  # it waits for the thread
        (second, "compiling", 0), (second, "finished", PERIODS),
    ]  # fmt: skip


def test_a_pack_of_the_same_program_needs_no_compiling(
    tmp_path: Path, finished: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled = Compiled(monkeypatch)
    trained(tiny(), tmp_path)
    assert compiled.sizes == []
    assert results(tmp_path) == results(finished)


def test_what_another_worker_trains_is_not_compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled = Compiled(monkeypatch)
    store = Store(tmp_path)
    *_, last = plan(tiny(seeds=3), store, 2).packs
    with store.claims().take(last.folder(store).name):  # type: ignore[union-attr]
        trained(tiny(seeds=3), tmp_path, wait=False)
    assert compiled.sizes == []


def test_what_goes_wrong_ahead_is_left_for_its_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    raised: list[object] = []
    monkeypatch.setattr(threading, "excepthook", raised.append)

    def fail() -> None:
        raise RuntimeError("it cannot be compiled")

    monkeypatch.setattr(Pack, "ahead", lambda _: fail)
    outcome, _ = trained(tiny(seeds=3), tmp_path)
    assert outcome == (2, 0, "")
    assert not raised


def test_a_look_at_the_next_pack_does_not_fail_this_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise CannotRead(Path("lease"), OSError("not now"))

    monkeypatch.setattr(Claims, "holder", fail)
    assert trained(tiny(seeds=3), tmp_path)[0] == (2, 0, "")


def test_a_pack_that_does_not_fit_beside_the_compiler_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And not split: alone it has the memory."""
    compiled = Compiled(monkeypatch)
    real, calls = worker.train_pack, 0

    def train_pack(*arguments: Any) -> bool:
        nonlocal calls
        calls += 1
        if calls > 1:
            return real(*arguments)
        *_, watch, _, _ = arguments
        watch(PackProgress("", "training", 1, PERIODS, left=1.0))
        assert compiled.begun.wait(60)
        threading.Timer(1.0, compiled.over.set).start()
        raise MemoryError

    monkeypatch.setattr(worker, "train_pack", train_pack)
    outcome, steps = trained(tiny(seeds=3), tmp_path)
    assert outcome == (2, 0, "")
    assert "split" not in {step.what for step in steps}
    assert calls == 3


def test_on_a_cpu_nothing_is_compiled_ahead() -> None:
    assert all(pack.pack.ahead() is None for pack in preview(tiny(), None, 2))


def test_no_command_waits_for_it_in_the_end(tmp_path: Path) -> None:
    """Here one that ends with a mistake."""
    script = f"""
import threading, time
from clew.cli import main
from clew.suite.ahead import NAME
threading.Thread(target=time.sleep, args=(600,), name=NAME).start()
main(["report", {str(tmp_path / "absent")!r}])
"""
    ended = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=300, check=False
    )
    assert ended.returncode == 2
    assert "does not exist" in ended.stderr
