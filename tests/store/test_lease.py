"""Leases within one process; `test_workers` has the races of many."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, given, settings

from clew.store import CannotWrite, Claims, Lease, LeaseLost
from clew.store.leases import Owner, highest
from clew.validate import BadInput
from tests.store.faults import failing, nth, watched
from tests.store.things import SPOIL

NAME = "gru-x10-00000000"


class Clock:
    """A clock that goes when it is told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on, this process looks like one on another machine."""
    monkeypatch.setattr("clew.store.leases._machine", lambda: "another boot pid:[1]")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "leases"


def taken(claims: Claims) -> Lease:
    lease = claims.take(NAME)
    assert lease is not None
    return lease


def quiet(folder: Path) -> Claims:
    """Claims that do not send a heartbeat during a test, unless told to."""
    return Claims(folder, beat=1000, stale=3000)


def watcher(folder: Path, clock: Clock) -> Claims:
    return Claims(folder, beat=10, stale=30, clock=clock)


def test_one_holds_and_the_others_wait(folder: Path) -> None:
    one, other = quiet(folder), quiet(folder)
    with taken(one) as lease:
        assert other.take(NAME) is None
        assert one.take(NAME) is None
        assert other.take("another-00000000") is not None
        lease.check()
        lease.confirm()
        assert other.take(NAME) is None
        assert other.holder(NAME) == lease.owner
    assert other.holder(NAME) is None
    taken(other).check()


def test_a_silent_holder_is_replaced_and_finds_out(folder: Path) -> None:
    clock = Clock()
    lease, other = taken(quiet(folder)), watcher(folder, clock)
    for clock.now in (0.0, 20.0, 29.9):
        assert other.take(NAME) is None
    clock.now = 30.0
    new = taken(other)
    for call in (lease.check, lease.confirm):
        with pytest.raises(LeaseLost, match=f"{NAME} is no longer ours: process {os.getpid()}"):
            call()
    new.check()
    # what the old holder still does, does no harm
    lease.release()
    new.confirm()
    assert quiet(folder).holder(NAME) == new.owner


def test_a_beating_holder_stays_however_long_it_takes(folder: Path) -> None:
    clock = Clock()
    lease, other = taken(quiet(folder)), watcher(folder, clock)
    for clock.now in range(0, 1000, 20):
        lease.pulse()
        assert other.take(NAME) is None


def test_to_confirm_is_to_be_safe_for_a_whole_period(folder: Path) -> None:
    clock = Clock()
    lease, other = taken(quiet(folder)), watcher(folder, clock)
    assert other.take(NAME) is None
    clock.now = 29.0
    lease.confirm()
    clock.now = 58.0
    assert other.take(NAME) is None
    clock.now = 87.0
    assert other.take(NAME) is None
    clock.now = 88.0
    assert other.take(NAME) is not None


@pytest.mark.parametrize("jump", [-1e9, -1.0, 1.0, 1e9])
def test_wall_clocks_do_not_matter(
    folder: Path, jump: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    lease, other = taken(quiet(folder)), watcher(folder, clock)
    assert other.take(NAME) is None
    wall = time.time
    monkeypatch.setattr(time, "time", lambda: wall() + jump)
    for path in folder.rglob("*"):
        os.utime(path, (wall() + jump, wall() + jump))
    clock.now = 29.0
    assert other.take(NAME) is None
    lease.check()
    clock.now = 30.0
    assert other.take(NAME) is not None


@pytest.mark.parametrize("jump", [-1e9, 119.0, 1e9])
def test_a_clock_that_jumps_makes_nobody_dead(folder: Path, jump: float) -> None:
    """Both may have slept: whoever is alive has three heartbeats' time to show it."""
    clock = Clock()
    lease, other = taken(quiet(folder)), Claims(folder, beat=10, stale=120, clock=clock)
    for step in (0.0, 5.0, jump, 5.0):
        clock.now += step
        assert other.take(NAME) is None
    lease.check()
    lease.pulse()
    for _ in range(11):
        assert other.take(NAME) is None
        clock.now += 10
    clock.now += 10
    assert other.take(NAME) is not None


@pytest.mark.parametrize("name", ["7", "٧", "007", "0000000７", "-1", "000000009", "progress.json"])
def test_foreign_names_are_no_tickets(folder: Path, name: str) -> None:
    (folder / NAME).mkdir(parents=True)
    (folder / NAME / name).write_bytes(b"")
    assert highest(folder / NAME) is None
    assert taken(quiet(folder)).number == 1


@pytest.mark.parametrize("what", ["dangling", "folder", "endless"])
def test_a_ticket_that_is_no_file(folder: Path, what: str) -> None:
    (folder / NAME).mkdir(parents=True)
    ticket = folder / NAME / "00000009"
    if what == "dangling":
        ticket.symlink_to(folder / "nowhere")
    elif what == "folder":
        ticket.mkdir()
    else:
        ticket.symlink_to("/dev/zero")
    clock = Clock()
    claims = watcher(folder, clock)
    assert claims.take(NAME) is None
    clock.now = 30.0
    assert taken(claims).number == 10


@pytest.mark.parametrize("change", [{"pid": "7"}, {"pid": -1}, {"host": 3}, {"more": ""}, None])
def test_a_sealed_ticket_of_nobody(folder: Path, change: dict[str, Any] | None) -> None:
    lease = taken(quiet(folder))
    owner = lease.owner._asdict() | change if change is not None else []
    line = json.dumps(owner).encode()
    seal = hashlib.sha256(line).hexdigest().encode()
    ticket = folder / NAME / "00000001"
    ticket.write_bytes(ticket.read_bytes()[:18] + line + b"\n" + seal + b"\n")
    assert quiet(folder).holder(NAME) is None
    assert quiet(folder).take(NAME) is None


def test_a_watcher_that_has_just_come_waits_its_own_time(folder: Path) -> None:
    lease = taken(quiet(folder))
    late = Clock()
    late.now = 1e6
    assert watcher(folder, late).take(NAME) is None
    lease.check()


def test_the_heart_beats_by_itself(folder: Path) -> None:
    with taken(Claims(folder, beat=0.02, stale=1)):
        before = highest(folder / NAME)
        deadline = time.monotonic() + 60
        while highest(folder / NAME) == before and time.monotonic() < deadline:
            time.sleep(0.02)
        assert highest(folder / NAME) != before


TAKE = """
import sys
from pathlib import Path
from clew.store.leases import Claims
assert Claims(Path(sys.argv[1])).take(sys.argv[2])
print("taken", flush=True)
sys.stdin.read()
"""


def other_process(folder: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", TAKE, str(folder), NAME]
    pipe = subprocess.PIPE
    child = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)
    assert child.stdout is not None
    assert child.stdout.readline() == "taken\n"
    return child


def test_a_dead_process_of_this_machine_is_replaced_at_once(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    child = other_process(folder)
    claims = quiet(folder)
    assert claims.take(NAME) is None
    child.kill()
    deadline = time.monotonic() + 60
    while (lease := claims.take(NAME)) is None and time.monotonic() < deadline:
        time.sleep(0.01)  # until it is dead; it is not yet waited for: a zombie counts as dead
    assert lease is not None
    child.communicate()
    # on another machine nobody can know
    elsewhere(monkeypatch)
    assert Owner.current().machine != lease.owner.machine
    assert quiet(folder).take(NAME) is None


def test_a_number_used_again_is_another_process() -> None:
    me = Owner.current()
    assert not me.dead()
    assert me._replace(started="1").dead()
    assert me._replace(pid=2**22 + 1).dead()


def test_in_doubt_nobody_is_dead(monkeypatch: pytest.MonkeyPatch) -> None:
    gone = Owner.current()._replace(pid=2**22 + 1)
    assert not gone._replace(started="").dead()
    assert not gone._replace(machine="").dead()
    reused = Owner.current()._replace(started="1")
    monkeypatch.setattr("clew.store.leases._stat", lambda pid: ("", ""))
    assert not reused.dead()  # it lives, and we may not look
    elsewhere(monkeypatch)
    assert not gone.dead()


@pytest.mark.parametrize("content", [b"", b"held", b"\0" * 40, b"held 000000000000\n{"])
def test_a_torn_ticket_is_somebodys_until_it_is_stale(folder: Path, content: bytes) -> None:
    (folder / NAME).mkdir(parents=True)
    (folder / NAME / "00000001").write_bytes(content)
    clock = Clock()
    claims = watcher(folder, clock)
    assert claims.take(NAME) is None
    assert claims.holder(NAME) is None
    clock.now = 30.0
    assert taken(claims).number == 2


@pytest.mark.parametrize("spoil", SPOIL)
@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(n=st.integers(0, 10**6))
def test_a_spoilt_ticket_is_believed_of_nobody(tmp_path_factory: Any, spoil: str, n: int) -> None:
    """Neither that it was given back, nor who holds it, nor that this process is gone."""
    folder, clock = tmp_path_factory.mktemp("leases"), Clock()
    lease, other = taken(quiet(folder)), watcher(folder, clock)
    ticket = folder / NAME / "00000001"
    sound = ticket.read_bytes()
    ticket.write_bytes(SPOIL[spoil](sound, n))
    found = highest(folder / NAME)
    assert found is not None
    assert found.owner in (None, lease.owner)
    assert other.take(NAME) is None
    lease.check()
    # who is alive stays the holder for as long as it confirms; then anybody may have it
    lease.confirm()
    clock.now = 30.0
    assert other.take(NAME) is None
    clock.now = 60.0
    assert taken(other).number == 3


def test_a_lease_that_was_deleted_is_lost(folder: Path) -> None:
    lease = taken(quiet(folder))
    for path in (folder / NAME).iterdir():
        path.unlink()
    (folder / NAME).rmdir()
    with pytest.raises(LeaseLost, match="nobody has it"):
        lease.confirm()
    lease.release()


def test_no_room_for_a_ticket(folder: Path) -> None:
    claims = quiet(folder)
    full = nth(0, failing(errno.ENOSPC), ("write", "fsync"))
    with pytest.raises(CannotWrite, match="No space left"), watched(full):
        claims.take(NAME)
    lease = taken(claims)
    with pytest.raises(CannotWrite), watched(full):
        lease.confirm()
    lease.check()  # not lost
    with watched(nth(0, failing(errno.ENOSPC), ("write", "link", "mkdir"))):
        lease.pulse()  # a heartbeat and a release take no room
        lease.release()
    taken(claims)


def test_a_forked_copy_does_not_hold_the_lease(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lease = taken(quiet(folder))
    with monkeypatch.context() as child:
        child.setattr(os, "getpid", lambda: 1)
        with pytest.raises(LeaseLost):
            lease.check()
        lease.release()
    assert quiet(folder).take(NAME) is None


@pytest.mark.parametrize(("beat", "stale"), [(0, 10), (10, 29), (-1, 1), (1, float("nan"))])
def test_periods_must_make_sense(folder: Path, beat: float, stale: float) -> None:
    with pytest.raises(BadInput, match=r"(beat|stale)="):
        Claims(folder, beat=beat, stale=stale)
