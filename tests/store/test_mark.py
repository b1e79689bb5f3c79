"""The store's mark: a store that lost it is still one, and one that is gone is not made again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from clew.store import Store
from clew.store.store import MARK
from clew.validate import BadInput
from tests.store.things import config, contents, finish

EXTRA = ("report.html", "proofs.json", "logs/workers/a.jsonl", "tensorboard/x", "notes.txt")


@pytest.mark.parametrize("extra", EXTRA)
def test_a_store_that_lost_its_mark_heals_whatever_else_lies_in_it(
    tmp_path: Path, extra: str
) -> None:
    run = finish(Store(tmp_path))
    before = contents(tmp_path)
    (tmp_path / MARK).unlink()
    (tmp_path / extra).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / extra).write_text("whatever")
    assert Store(tmp_path, read_only=True).run(config()).finished()
    assert not (tmp_path / MARK).exists()
    assert Store(tmp_path).run(config()).finished()
    assert {name: contents(tmp_path)[name] for name in before} == before
    assert run.finished()


def test_a_folder_of_another_program_does_not_become_a_store(tmp_path: Path) -> None:
    """TensorBoard's folder is called runs, too."""
    (tmp_path / "runs" / "mine-00000000").mkdir(parents=True)
    (tmp_path / "runs" / "mine-00000000" / "config.json").write_text('{"role": "config"}')
    (tmp_path / "train.py").write_text("")
    for read_only in (False, True):
        with pytest.raises(BadInput, match="is not a store"):
            Store(tmp_path, read_only=read_only)
    assert not (tmp_path / MARK).exists()


@pytest.mark.parametrize("data", [[], {}, 3, None], ids=str)
def test_a_mark_that_says_nothing_is_damaged(tmp_path: Path, data: object) -> None:
    from clew.store.documents import Header, write_document

    finish(Store(tmp_path))
    write_document(tmp_path / MARK, Header("store", "store"), data)
    assert Store(tmp_path).run(config()).finished()


def test_a_dangling_plan_is_as_if_it_had_not_been_written(tmp_path: Path) -> None:
    store = Store(tmp_path)
    assert store.propose("plan-a", 1, {"pack_size": 3})
    (tmp_path / "plans" / "plan-a-r2.json").symlink_to(tmp_path / "nowhere")
    assert Store(tmp_path, read_only=True).plan("plan-a") == (1, {"pack_size": 3})
    assert store.plan("plan-a") == (1, {"pack_size": 3})
    assert store.propose("plan-a", 2, {"pack_size": 2})
    assert store.plan("plan-a") == (2, {"pack_size": 2})


def test_a_store_that_is_gone_is_said(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    store.require_present()
    store.pack([config()]).checkpoints.save(1, {"x": np.zeros(1)})
    (tmp_path / "store").rename(tmp_path / "moved")
    with pytest.raises(BadInput, match="was deleted or moved while it was in use"):
        store.require_present()
