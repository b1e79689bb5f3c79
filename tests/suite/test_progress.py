"""Where packs stand: told through the store, seen from outside, and shown alike."""

from __future__ import annotations

import errno
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given

import clew.suite.progress as progress
from clew.cli.commands.status import status
from clew.cli.output import counted
from clew.cli.progress import SuiteProgress, duration
from clew.store import CannotRead, Claims, Store
from clew.store.documents import Header, write_document
from clew.suite import PackProgress, plan
from clew.suite.launchers.watching import ProgressWatcher
from clew.suite.progress import FILE, last_published, publishing, unfinished
from tests.store.faults import failing, nth, watched
from tests.store.things import SPOIL, outcome
from tests.suite.declared import PERIODS, tiny

NUMBERS = st.floats(0, 1e9) | st.just(float("nan"))
STEPS = st.builds(
    PackProgress,
    st.just("pack-00000000"),
    st.sampled_from(["compiling", "training", "finished", "stopped", "failed", "found"]),
    *[st.integers(0, 10**9)] * 3,
    *[NUMBERS] * 4,
)


@given(STEPS)
def test_steps_travel_as_json(step: PackProgress) -> None:
    plain = json.loads(json.dumps(step.plain(), allow_nan=False))
    assert PackProgress.of(plain).plain() == step.plain()
    assert repr(PackProgress.of(plain)) == repr(step)


def nothing(step: PackProgress) -> None:
    """A watcher that does not look."""


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


def packs_of(store: Store) -> list[str]:
    return [pack.folder(store).name for pack in plan(tiny(), store, 2).packs]


def test_a_change_is_told_at_once_and_numbers_now_and_then(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, seen = [0.0], []
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    with store.claims(beat=1000, stale=3000).take("pack-00000000") as lease:  # type: ignore[union-attr]
        tell = publishing(lease, seen.append)

        def told(what: Any, period: int) -> int:
            tell(PackProgress("pack-00000000", what, period, 9))
            news = last_published(lease.place)
            assert news is not None
            return news.progress.period

        assert told("compiling", 0) == 0
        assert told("training", 1) == 1
        assert told("training", 2) == 1
        now[0] += progress.EVERY
        assert told("training", 3) == 3
        assert told("finished", 9) == 9
    assert [step.period for step in seen] == [0, 1, 2, 3, 9]


def test_a_full_disk_is_not_its_business(store: Store) -> None:
    with store.claims(beat=1000, stale=3000).take("pack-00000000") as lease:  # type: ignore[union-attr]
        with watched(nth(0, failing(errno.ENOSPC), ("write",))):
            publishing(lease, nothing)(PackProgress("pack-00000000", "training", 1, 9))
        assert last_published(lease.place) is None
        assert [path.name for path in lease.place.iterdir()] == ["00000001"]


@pytest.mark.parametrize("spoil", SPOIL)
def test_what_is_spoilt_was_not_said(store: Store, spoil: str) -> None:
    with store.claims(beat=1000, stale=3000).take("pack-00000000") as lease:  # type: ignore[union-attr]
        tell = publishing(lease, nothing)
        tell(PackProgress("pack-00000000", "compiling", 0, 9))
        file = lease.place / FILE
        file.write_bytes(SPOIL[spoil](file.read_bytes(), 1234))
        assert last_published(lease.place) is None
        assert list(unfinished(store)) == []
        tell(PackProgress("pack-00000000", "training", 1, 9))
        assert last_published(lease.place) is not None


def test_others_are_seen_as_they_see_themselves(store: Store) -> None:
    """Nothing before there is a plan; what is over is found; then every change, once."""
    watcher = ProgressWatcher(store, tiny())
    assert (watcher.periods, list(watcher.updates())) == (None, [])
    first, second = packs_of(store)
    for seed in (0, 1):
        store.run(tiny().runs()[seed].config).write_finished(**outcome(seed))
    assert [(step.name, step.what) for step in watcher.updates()] == [(first, "found")]
    assert watcher.periods == 2 * PERIODS
    with store.claims(beat=1000, stale=3000).take(second) as lease:  # type: ignore[union-attr]
        tell = publishing(lease, nothing)
        for step in (
            PackProgress(second, "compiling", 0, PERIODS),
            PackProgress(second, "training", 2, PERIODS, success=0.5),
            PackProgress(second, "finished", PERIODS, PERIODS, success=0.5),
        ):
            tell(step)
            assert [seen.plain() for seen in watcher.updates()] == [step.plain()]
            assert list(watcher.updates()) == []
        tell(PackProgress(second, "training", 1, PERIODS))  # it was over
        assert list(watcher.updates()) == []


def test_what_was_told_before_is_not_news(store: Store) -> None:
    first, _ = packs_of(store)
    with store.claims(beat=1000, stale=3000).take(first) as lease:  # type: ignore[union-attr]
        publishing(lease, nothing)(PackProgress(first, "stopped", 3, PERIODS))
        watcher = ProgressWatcher(store, tiny())
        assert list(watcher.updates()) == []
        publishing(lease, nothing)(PackProgress(first, "compiling", 3, PERIODS))
        assert [step.what for step in watcher.updates()] == ["compiling"]


HOLD = """
import sys
from clew.suite import PackProgress
from clew.suite.progress import publishing
from clew.store import Store
with Store(sys.argv[1]).claims().take(sys.argv[2]) as lease:
    step = PackProgress(sys.argv[2], "training", 3, 6, 100, 0.5, 0.25, 2.0, 90.0)
    publishing(lease, print)(step)
    sys.stdin.read()
"""


def test_status_tells_who_is_at_work(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    name, other = packs_of(store)
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(store.root), name],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdout is not None
    assert holder.stdout.readline()
    pack = store.pack([run.config for run in tiny().runs()[2:]])
    assert pack.name == other
    with store.claims().take(other) as lease:  # type: ignore[union-attr]
        pack.checkpoints.save(2, {}, lease)
        publishing(lease, nothing)(PackProgress(other, "stopped", 2, 6))
    status(store.root)
    told = capsys.readouterr().out
    numbers = "3/6 periods, 2 min left, success 0.25, 200 steps/s, compiled in 2 s"
    assert f"training: {name}: {numbers} (process {holder.pid} on " in told
    assert f"stopped: {other}: 2/6 periods" in told
    status(store.root, json=True)
    packs = json.loads(capsys.readouterr().out)["packs"]
    assert {each["name"]: each["state"] for each in packs} == {name: "at work", other: "stopped"}
    holder.kill()
    holder.communicate()
    status(store.root)
    assert f"its worker died: {name}: 3/6 periods" in capsys.readouterr().out


def test_one_unreadable_ticket_does_not_hide_the_others(
    store: Store, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Root may read anything, so the refusal is made up."""
    one, other = packs_of(store)
    claims = store.claims(beat=1000, stale=3000)
    for name in (one, other):
        lease = claims.take(name)
        assert lease is not None
        publishing(lease, nothing)(PackProgress(name, "training", 3, 6))
    holder = Claims.holder

    def refusing(self: Claims, name: str) -> object:
        if name == one:
            raise CannotRead(self.folder / name, PermissionError(13, "Permission denied"))
        return holder(self, name)

    monkeypatch.setattr(Claims, "holder", refusing)
    status(store.root)
    said = capsys.readouterr().out
    assert f"its lease cannot be read: {one}: 3/6 periods" in said
    assert f"training: {other}: 3/6 periods" in said


def test_what_has_ended_is_no_dead_workers(store: Store) -> None:
    """Killed after its last result, before it could say so."""
    pack = plan(tiny(), store, 2).packs[0].folder(store)
    lease = store.claims(beat=1000, stale=3000).take(pack.name)
    assert lease is not None
    names = [run.name for run in pack.runs]
    publishing(lease, nothing, names)(PackProgress(pack.name, "training", 6, 6))
    assert [each.state for each in unfinished(store)] == ["at work"]
    for seed, run in enumerate(pack.runs):
        run.write_finished(**outcome(seed))
    assert list(unfinished(store)) == []


@pytest.mark.parametrize("change", [{"period": "3"}, {"name": 3}, {"left": []}, {"what": None}])
def test_what_makes_no_sense_was_not_said(store: Store, change: dict[str, Any]) -> None:
    with store.claims(beat=1000, stale=3000).take("pack-00000000") as lease:  # type: ignore[union-attr]
        plain = PackProgress("pack-00000000", "training", 3, 9).plain() | change
        write_document(
            lease.place / FILE, Header("progress", "pack-00000000"), {"step": plain, "when": 0.0}
        )
        assert last_published(lease.place) is None


def test_silence_shows(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    with store.claims(beat=1000, stale=3000).take("pack-00000000") as lease:  # type: ignore[union-attr]
        with pytest.MonkeyPatch.context() as patch:
            long_ago = time.time() - 600
            patch.setattr(progress.time, "time", lambda: long_ago)
            publishing(lease, nothing)(PackProgress("pack-00000000", "compiling", 0, 9))
        status(store.root)
    assert "no news for 10 min" in capsys.readouterr().out


@given(
    periods=st.integers(32, 70),
    others=st.integers(1, 6),
    at_work=st.integers(1, 4),
    found=st.integers(0, 5),
    resumed=st.integers(0, 30),
    pace=st.floats(0.1, 100),
    compiled=st.floats(0, 300),
)
def test_the_time_left_is_what_it_takes(
    periods: int, others: int, at_work: int, found: int, resumed: int, pace: float, compiled: float
) -> None:
    """Of equal packs at an equal pace; what was done before does not count as speed."""
    whole = SuiteProgress((found + at_work + others) * periods)
    for pack in range(found):
        whole.add(PackProgress(f"found-{pack}", "found", periods, periods))
    for pack in range(at_work):
        whole.add(PackProgress(f"ours-{pack}", "compiling", resumed, periods))
        assert pack or "left" not in whole.text()
        left = (periods - resumed - 1) * pace
        trained = (resumed + 1, periods, 10, 1.0, 0.5, compiled, left)
        whole.add(PackProgress(f"ours-{pack}", "training", *trained))
    assert whole.done == found * periods + at_work * (resumed + 1)
    now = (periods - resumed - 1) * pace
    rest = others * (periods * pace + compiled)
    assert whole.left() == pytest.approx(now + rest / at_work)
    assert whole.text().endswith(f" left, {counted(found, 'pack')} done, {10 * at_work} steps/s")
    # a failure is the end of a pack
    for pack in range(at_work):
        whole.add(PackProgress(f"ours-{pack}", "failed", periods, periods))
    assert whole.left() >= others * periods * pace * (1 - 1e-9)
    unknown = SuiteProgress(None)
    unknown.add(PackProgress("ours", "training", 1, 2, 10, 1.0, 0.5, 1.0, 1.0))
    assert "left" not in unknown.text()


@given(st.floats(0, 1e8))
def test_durations_are_close(seconds: float) -> None:
    number, unit = duration(seconds).split()
    size = {"s": 1, "min": 60, "h": 3600, "days": 86400}[unit]
    assert abs(float(number) * size - seconds) <= max(0.5, 0.35 * seconds)
