"""Checkpoints: the last two, whole, and of this configuration only."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.store import Lease, LeaseLost, PackFolder, Store, read_checkpoint
from clew.validate import BadInput
from tests.store.things import SPOIL, config, finish


def state(step: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(step)
    return {"agent/weight": rng.random((3, 4)), "key": rng.integers(0, 2**32, 2, np.uint32)}


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


@pytest.fixture
def pack(store: Store) -> PackFolder:
    return store.pack([config(seed) for seed in range(3)])


def steps(pack: PackFolder) -> list[int]:
    return [int(path.stem.split("-")[1]) for path in pack.checkpoints.paths()]


def test_what_was_saved_comes_back_bit_for_bit(pack: PackFolder) -> None:
    assert pack.checkpoints.latest() is None
    pack.checkpoints.save(7, state(7))
    found = pack.checkpoints.latest()
    assert found is not None
    assert found.step == 7
    assert found.config == pack.config
    for name, array in state(7).items():
        assert found.arrays[name].dtype == array.dtype
        assert found.arrays[name].tobytes() == array.tobytes()


def test_the_last_two_are_kept(pack: PackFolder) -> None:
    for step in (1, 2, 9, 10, 11):
        pack.checkpoints.save(step, state(step))
    assert steps(pack) == [11, 10]
    pack.checkpoints.clear()
    assert not pack.checkpoints.folder.exists()
    pack.checkpoints.clear()


@pytest.mark.parametrize("spoil", SPOIL)
@settings(max_examples=5)
@given(n=st.integers(0, 10**6))
def test_a_damaged_one_is_quarantined_and_the_one_before_taken(
    tmp_path_factory: pytest.TempPathFactory, spoil: str, n: int
) -> None:
    store = Store(tmp_path_factory.mktemp("store"))
    pack = store.pack([config()])
    for step in (1, 2):
        path = pack.checkpoints.save(step, state(step))
    path.write_bytes(SPOIL[spoil](path.read_bytes(), n))
    found = pack.checkpoints.latest()
    assert found is not None
    assert found.step == 1
    assert [each.path for each in store.incidents] == [f"packs/{pack.name}/{path.name}"]
    assert steps(pack) == [1]
    pack.checkpoints.save(2, state(2))
    assert steps(pack) == [2, 1]


def test_if_both_are_damaged_there_is_none(store: Store, pack: PackFolder) -> None:
    for step in (1, 2):
        pack.checkpoints.save(step, state(step)).write_bytes(b"")
    assert pack.checkpoints.latest() is None
    assert len(store.quarantined()) == 2


def test_a_checkpoint_under_another_number_is_damage(store: Store, pack: PackFolder) -> None:
    path = pack.checkpoints.save(1, state(1))
    path.rename(path.with_name("checkpoint-000000000005.npz"))
    assert pack.checkpoints.latest() is None
    assert store.incidents[0].reason == "is the checkpoint of step 1"


def test_another_configuration_is_refused_with_the_difference(
    store: Store, pack: PackFolder
) -> None:
    other = store.pack([config(0, settings={"gamma": 0.99}), config(1), config(2)])
    path = other.checkpoints.save(4, state(4))
    pack.checkpoints.folder.mkdir(parents=True)
    shutil.copy(path, pack.checkpoints.folder)
    with pytest.raises(BadInput, match="another configuration") as error:
        pack.checkpoints.latest()
    assert "runs[0].settings.gamma is 0.99 and 0.995" in str(error.value)
    assert repr(str(pack.checkpoints.folder / path.name)) in str(error.value)
    # it is sound, and somebody's: it is not quarantined
    assert store.incidents == ()
    assert read_checkpoint(path).step == 4


def test_the_runs_and_their_order_make_the_pack(store: Store) -> None:
    runs = [config(seed) for seed in range(3)]
    names = {store.pack(rows).name for rows in (runs, runs[::-1], runs[:2], [*runs, config(3)])}
    assert len(names) == 4
    assert store.pack(tuple(runs)).name == store.pack(runs).name
    with pytest.raises(BadInput, match="at least one run"):
        store.pack([])


def test_who_lost_the_lease_saves_nothing(pack: PackFolder) -> None:
    class Lost(Lease):
        def __init__(self) -> None:
            """Nothing is held."""

        def check(self) -> None:
            raise LeaseLost("gone")

        confirm = check

    with pytest.raises(LeaseLost):
        pack.checkpoints.save(1, state(1), Lost())
    assert pack.checkpoints.paths() == []


@pytest.mark.parametrize("step", [-1, 1.5, True, 10**12])
def test_steps_are_whole_numbers(pack: PackFolder, step: int) -> None:
    with pytest.raises(BadInput, match="step="):
        pack.checkpoints.save(step, state(1))


def test_a_finished_pack_keeps_no_checkpoints(store: Store) -> None:
    """Whoever was killed between the last result and clearing up left one."""
    pack = store.pack([config(seed) for seed in range(2)])
    finish(store, 0)
    pack.checkpoints.save(1, state(1))
    assert not pack.finished()
    assert steps(pack) == [1]
    finish(store, 1)
    assert Store(store.root, read_only=True).pack([config(0), config(1)]).finished()
    assert steps(pack) == [1]
    assert pack.finished()
    assert not pack.checkpoints.folder.exists()


def test_sweeping_a_pack(pack: PackFolder) -> None:
    pack.checkpoints.save(1, state(1))
    pack.runs[1].begin()
    for folder in (pack.checkpoints.folder, pack.runs[1].path):
        (folder / f".tmp-{pack.name[-8:]}-0123-x").write_bytes(b"half")
        (folder / ".tmp-0123-x").write_bytes(b"of somebody else")
    assert pack.sweep() == 2
    assert pack.sweep() == 0
    pack.checkpoints.clear()
    assert not pack.checkpoints.folder.exists()
    pack.checkpoints.save(1, state(1))
    assert steps(pack) == [1]
