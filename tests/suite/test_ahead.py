"""The next program is compiled while a pack trains."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from clew.learner import Pack
from clew.store import Store
from clew.suite import PackProgress, plan
from tests.suite.declared import PERIODS, tiny
from tests.suite.trial import results, trained


class Compiled:
    """Stands in for the compiler: what it was asked for, in which thread, and how long it takes."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, until: threading.Event | None = None):
        self.sizes: list[int] = []
        self.threads: set[str] = set()

        def compile_ahead(pack: Pack) -> None:
            self.sizes.append(len(pack))
            self.threads.add(threading.current_thread().name)
            if until is not None:
                assert until.wait(60)

        monkeypatch.setattr(Pack, "compile_ahead", compile_ahead)


def test_the_next_program_is_compiled_while_a_pack_trains(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three runs in packs of two: an accelerator has a program for two runs, and one for one."""
    over = threading.Event()
    compiled = Compiled(monkeypatch, over)
    seen: list[tuple[str, int, list[int]]] = []

    def watch(step: PackProgress) -> bool:
        if len(names) == 2 and step.name == names[1]:
            over.set()  # its turn has come, and it is still being compiled
        seen.append((step.what, step.period, list(compiled.sizes)))
        return False

    store = Store(tmp_path)
    names = [pack.folder(store).name for pack in plan(tiny(seeds=3), store, 2).packs]
    outcome, _ = trained(tiny(seeds=3), tmp_path, until=watch)
    assert outcome == (2, 0, "")
    assert compiled.sizes == [1]
    assert compiled.threads == {"compile ahead"}
    # asked for after the first period, waited for before the second pack's own compilation
    first = [(what, period) for what, period, _ in seen]
    assert first[: PERIODS + 2] == [
        ("compiling", 0), *(("training", n) for n in range(1, PERIODS + 1)), ("finished", PERIODS)
    ]  # fmt: skip
    assert first[PERIODS + 2 : PERIODS + 4] == [("compiling", 0), ("compiling", 0)]
    assert {tuple(sizes) for what, period, sizes in seen if (what, period) > ("training", 1)} == {
        (1,)
    }


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


def test_what_cannot_be_compiled_is_reported_when_it_is_its_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(pack: Pack) -> None:
        raise RuntimeError("RESOURCE_EXHAUSTED")

    monkeypatch.setattr(Pack, "compile_ahead", fail)
    outcome, steps = trained(tiny(seeds=3), tmp_path)
    assert outcome == (2, 0, "")
    assert [step.what for step in steps].count("finished") == 2
