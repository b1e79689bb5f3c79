"""A store from anywhere: its checksums may be right and what it says made up."""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clew.store import Damaged, Store, merge, read_checkpoint, scan
from clew.store import arrays as array_files
from clew.store.columns import SCHEMA
from clew.store.documents import HEX, ChecksumWriter, Header, document, read_any
from clew.store.state import CONFIG, CURVE, FAILURE, PROVENANCE, RESULT
from tests.store.things import config, contents, finish


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Two runs; the first is to be spoilt."""
    made = Store(tmp_path / "store")
    finish(made, 0)
    finish(made, 1)
    return made


def sealed(header: Header, text: str) -> bytes:
    """A document with a sound checksum around any text."""
    import hashlib

    whole = document(header, {}).decode()
    body = whole.partition('"data": ')[0] + f'"data": {text},\n"sha256": "'
    return body.encode() + hashlib.sha256(body.encode()).hexdigest().encode() + b'"\n}\n'


def replaced(store: Store, name: str, change: Callable[[Any], Any]) -> Path:
    """Let a document of the first run say something else, well sealed."""
    run = store.run(config(0))
    data = json.loads((run.path / name).read_text())["data"]
    path = run.path / name
    path.write_bytes(sealed(Header(path.stem, run.identity), json.dumps(change(data))))
    return path


def only_that_run_is_damaged(store: Store, file: Path) -> None:
    first, second = scan(Store(store.root, read_only=True), deep=True)
    if first.name != file.parent.name:
        first, second = second, first
    assert (first.status, second.status) == ("damaged", "finished"), first.reason
    assert file.name in first.reason
    copy = Store(store.root.parent / "copy")
    merged = merge(copy, Store(store.root, read_only=True))
    assert (len(merged.copied), len(merged.damaged)) == (1, 1)
    assert file.parent.name in merged.damaged[0]


def without(field: str) -> Callable[[Any], Any]:
    return lambda data: {name: value for name, value in data.items() if name != field}


CHANGES: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "no status": (RESULT, without("status")),
    "no files": (RESULT, without("files")),
    "no result": (RESULT, without("result")),
    "a result that failed": (RESULT, lambda data: {**data, "status": "failed"}),
    "a list": (RESULT, lambda data: []),
    "a number": (RESULT, lambda data: 3),
    "no curve": (RESULT, lambda data: {**data, "files": {}}),
    "a file elsewhere": (RESULT, lambda data: {**data, "files": {"../../secret": "0" * 64}}),
    "a file that is a list": (RESULT, lambda data: {**data, "files": {CURVE: []}}),
    "a checksum that is a path": (
        RESULT,
        lambda data: {**data, "files": dict.fromkeys(data["files"], "/../../x")},
    ),
    "a configuration that is a list": (CONFIG, lambda data: [data]),
    "not a number": (RESULT, lambda data: {**data, "result": {"tail_mean": float("nan")}}),
}


@pytest.mark.parametrize("what", CHANGES)
def test_missing_and_odd_fields(store: Store, what: str) -> None:
    only_that_run_is_damaged(store, replaced(store, *CHANGES[what]))


def test_deep_json(store: Store) -> None:
    run = store.run(config(0))
    deep = "[" * 100_000 + "]" * 100_000
    (run.path / RESULT).write_bytes(sealed(Header("result", run.identity), deep))
    only_that_run_is_damaged(store, run.path / RESULT)


def test_a_deep_configuration(store: Store) -> None:
    run = store.run(config(0))
    deep = '{"a": ' * 40 + "1" + "}" * 40
    (run.path / CONFIG).write_bytes(sealed(Header("config", run.identity), deep))
    only_that_run_is_damaged(store, run.path / CONFIG)


def test_provenance_that_is_no_table(store: Store) -> None:
    replaced(store, PROVENANCE, lambda data: [1])
    with pytest.raises(Damaged, match=r"provenance\.json"):
        store.run(config(0)).provenance()


def test_a_schema_from_the_future_is_left_for_who_can_read_it(store: Store) -> None:
    run = store.run(config(0))
    path, data = run.path / RESULT, json.loads((run.path / RESULT).read_text())["data"]
    path.write_bytes(document(Header("result", run.identity, SCHEMA + 1), data))
    only_that_run_is_damaged(store, path)
    before = contents(store.root)
    assert not run.finished()
    assert "later version of Clew" in run.find().reason
    assert contents(store.root) == before


def test_a_pipe_in_place_of_a_file(store: Store) -> None:
    run = store.run(config(0))
    (run.path / RESULT).unlink()
    os.mkfifo(run.path / RESULT)
    only_that_run_is_damaged(store, run.path / RESULT)


def test_a_document_that_never_ends(tmp_path: Path) -> None:
    path = tmp_path / "long.json"
    with open(path, "wb") as file:
        file.truncate(1 << 40)  # it takes no room, and would take an hour to read
    with pytest.raises(Damaged, match="longer than any document"):
        read_any(path)


def npy(shape: str, descr: str = "<f4", data: bytes = b"\0" * 8) -> bytes:
    text = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    text = text.ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + data


def archive(
    path: Path, members: Iterator[tuple[str, bytes]], method: int, role: str, of: str
) -> None:
    with open(path, "wb") as file:
        writer = ChecksumWriter(file)
        with zipfile.ZipFile(writer, "w", method) as whole:  # type: ignore[arg-type]
            for name, content in members:
                whole.writestr(name, content)
            whole.comment = f"clew arrays 1 role={role} of={of} sha256=".encode() + b"0" * HEX
        writer.close()


def overlapping(copies: int, length: int) -> bytes:
    """One stored member that the directory names many times over."""
    inside = io.BytesIO()
    with zipfile.ZipFile(inside, "w") as whole:
        whole.writestr("a.npy", npy("(1000,)", data=bytes(length)))
    data = inside.getvalue()
    at = data.rindex(b"PK\x01\x02")
    end = data.rindex(b"PK\x05\x06")
    entry = data[at:end]
    tail = bytearray(data[end:])
    tail[8:12] = copies.to_bytes(2, "little") * 2
    tail[12:16] = (copies * len(entry)).to_bytes(4, "little")
    return data[:at] + entry * copies + bytes(tail)


MADE_UP: dict[str, list[tuple[str, bytes]]] = {
    "a huge shape": [("a.npy", npy("(1000000000000,)"))],
    "a huge shape of nothing": [("a.npy", npy("(0, 10000000000000000000000)", data=b""))],
    "a negative shape": [("a.npy", npy("(-2,)"))],
    "objects": [("a.npy", npy("(1,)", "|O"))],
    "no array": [("a.npy", b"hello")],
    "brackets": [("a.npy", npy("(" * 90 + ")" * 90))],
    "about what is deep": [("about.json", b"[" * 100_000 + b"]" * 100_000)],
}


@pytest.mark.parametrize("what", MADE_UP)
def test_arrays_that_are_made_up(tmp_path: Path, what: str) -> None:
    path = tmp_path / "x.npz"
    archive(path, iter(MADE_UP[what]), zipfile.ZIP_STORED, "curve", "00")
    with pytest.raises(Damaged, match=r"x\.npz"):
        array_files.read_any(path)


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_compressed_bomb(store: Store, method: int) -> None:
    """A hundred megabytes in some kilobytes: nobody here compresses."""
    run = store.run(config(0))
    zeros = bytes(100 << 20)
    members = iter([("a.npy", npy("(26214400,)", data=zeros))])
    archive(run.path / CURVE, members, method, "curve", run.identity)
    with pytest.raises(Damaged, match="compressed"):
        array_files.read_any(run.path / CURVE)
    only_that_run_is_damaged(store, run.path / CURVE)


def test_members_that_overlap(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    body = overlapping(10_000, 4000)
    end = body.rindex(b"PK\x05\x06")
    comment = b"clew arrays 1 role=curve of=00 sha256=" + b"0" * HEX
    whole = body[: end + 20] + len(comment).to_bytes(2, "little") + comment
    with open(path, "wb") as file:
        writer = ChecksumWriter(file)
        writer.write(whole)
        writer.close()
    with pytest.raises(Damaged, match="longer than the whole"):
        array_files.read_any(path)


@pytest.mark.parametrize(
    "about", [None, {}, [], {"step": "1", "config": {}}, {"step": 1, "config": []}]
)
def test_checkpoints_that_say_nothing(tmp_path: Path, about: Any) -> None:
    path = tmp_path / "checkpoint-000000000001.npz"
    array_files.write_arrays(path, Header("checkpoint", "00"), {"x": np.zeros(1)}, about)
    with pytest.raises(Damaged, match="what it is a checkpoint of"):
        read_checkpoint(path)


@pytest.mark.parametrize("runs", [None, [], [3], {}])
def test_a_foreign_pack_does_not_stop_a_merge(store: Store, runs: Any) -> None:
    pack = store.pack([config(0)])
    folder = store.packs_folder / pack.name
    about = {"step": 1, "config": {"runs": runs}}
    path = folder / "checkpoint-000000000001.npz"
    array_files.write_arrays(path, Header("checkpoint", "00"), {"x": np.zeros(1)}, about)
    merged = merge(Store(store.root.parent / "copy"), Store(store.root, read_only=True))
    assert len(merged.copied) == 2
    assert "does not say of which runs" in merged.damaged[0]


def test_a_failure_without_a_reason(store: Store) -> None:
    run = store.run(config(2))
    run.write_failed("why", provenance={})
    data = json.loads((run.path / FAILURE).read_text())["data"]
    del data["reason"]
    text = json.dumps(data)
    (run.path / FAILURE).write_bytes(sealed(Header("failure", run.identity), text))
    assert run.find().status == "begun"
    assert len(store.incidents) == 1
