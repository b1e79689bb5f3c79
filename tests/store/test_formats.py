"""Files with checksums: what was written comes back, and nothing else ever does."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from clew.store import Damaged
from clew.store.arrays import _fill, read_any, read_arrays, verify_arrays, write_arrays
from clew.store.documents import (
    HEX,
    ChecksumWriter,
    Header,
    document,
    read_document,
    write_document,
)
from clew.validate import BadInput
from tests.store.things import PLAIN, SPOIL, flip

HEADER = Header("curve", "ab" * 32)
DTYPES = npst.boolean_dtypes() | npst.integer_dtypes() | npst.floating_dtypes()
ARRAYS = st.dictionaries(
    st.text(st.characters(categories=["L", "N"], include_characters="/._- ["), min_size=1),
    DTYPES.flatmap(lambda d: npst.arrays(d, npst.array_shapes(min_dims=0, min_side=0, max_side=4))),
    max_size=4,
)
SMALL = {"success": np.arange(3, dtype=np.float32), "n/x": np.int32(7) * np.ones((), np.int32)}


def array_file(arrays: Any, about: Any = None) -> bytes:
    file = io.BytesIO()
    _fill(file, HEADER, arrays, about)
    return file.getvalue()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "file"


@given(data=PLAIN)
def test_documents_come_back(tmp_path_factory: Any, data: Any) -> None:
    path = tmp_path_factory.mktemp("d") / "d.json"
    write_document(path, HEADER, data)
    assert read_document(path, HEADER) == data
    assert path.read_bytes() == document(HEADER, data)
    assert json.loads(path.read_bytes())["data"] == data  # any reader of JSON will do


@given(arrays=ARRAYS, about=PLAIN)
def test_arrays_come_back(tmp_path_factory: Any, arrays: Any, about: Any) -> None:
    path = tmp_path_factory.mktemp("a") / "a.npz"
    digest = write_arrays(path, HEADER, arrays, about)
    found = read_any(path)
    assert (found.header, found.about) == (HEADER, about)
    assert found.arrays.keys() == arrays.keys()
    for name, array in arrays.items():
        back = found.arrays[name]
        assert (back.dtype, back.shape, back.tobytes()) == (
            array.dtype, array.shape, array.tobytes(),
        )  # fmt: skip
    some = set(list(arrays)[::2])
    assert read_arrays(path, HEADER, some).keys() == some
    assert verify_arrays(path, HEADER) == digest
    assert path.read_bytes().decode("latin-1").endswith(digest)


def test_the_same_arrays_are_the_same_bytes_in_any_layout_and_order(path: Path) -> None:
    a, b = np.arange(12.0).reshape(3, 4), np.float32(2) * np.ones(())
    write_arrays(path, HEADER, {"a": a, "b": b})
    first = path.read_bytes()
    write_arrays(path, HEADER, {"b": b, "a": np.asfortranarray(a)})
    assert path.read_bytes() == first == array_file({"a": a, "b": b})
    write_arrays(path, HEADER, {"a": a[::-1][::-1], "b": b + 0})
    assert path.read_bytes() == first


def test_numpy_reads_them_without_us(path: Path) -> None:
    write_arrays(path, HEADER, SMALL)
    with np.load(path, allow_pickle=False) as found:
        assert sorted(found) == ["n/x", "success"]
        np.testing.assert_array_equal(found["success"], SMALL["success"])


def test_names_that_numpy_confuses_are_kept_apart(path: Path) -> None:
    arrays = {"a": np.zeros(1), "a.npy": np.ones(1), "about.json": np.full(1, 2.0)}
    write_arrays(path, HEADER, arrays)
    found = read_arrays(path, HEADER)
    assert {name: float(value[0]) for name, value in found.items()} == {
        "a": 0, "a.npy": 1, "about.json": 2,
    }  # fmt: skip


KINDS = {"document": (document(HEADER, {"x": [1, 0.5], "é": None}), read_document),
         "arrays": (array_file(SMALL), read_arrays)}  # fmt: skip
each = pytest.mark.parametrize("kind", KINDS)


@each
def test_every_flipped_byte_is_found(path: Path, kind: str) -> None:
    content, read = KINDS[kind]
    for byte in range(len(content)):
        path.write_bytes(flip(content, 8 * byte + byte % 8))
        with pytest.raises(Damaged):
            read(path, HEADER)


@each
def test_every_length_is_found(path: Path, kind: str) -> None:
    content, read = KINDS[kind]
    path.write_bytes(content)
    read(path, HEADER)
    for length in range(len(content)):
        path.write_bytes(content[:length])
        with pytest.raises(Damaged, match="empty" if length == 0 else "cut short|checksum"):
            read(path, HEADER)


@each
@pytest.mark.parametrize("spoil", SPOIL)
@given(n=st.integers(0, 10**6))
def test_spoilt_files_are_found(tmp_path_factory: Any, kind: str, spoil: str, n: int) -> None:
    content, read = KINDS[kind]
    path = tmp_path_factory.mktemp("s") / "file"
    path.write_bytes(SPOIL[spoil](content, n))
    with pytest.raises(Damaged):
        read(path, HEADER)


@each
def test_a_sound_file_out_of_place_is_found(path: Path, kind: str) -> None:
    content, read = KINDS[kind]
    path.write_bytes(content)
    with pytest.raises(Damaged, match="is a 'curve' file and should be a 'result'"):
        read(path, Header("result", HEADER.of))
    with pytest.raises(Damaged, match="belongs to abababababab, not to cdcdcdcdcdcd"):
        read(path, Header("curve", "cd" * 32))


def test_one_kind_is_not_the_other(path: Path) -> None:
    path.write_bytes(KINDS["document"][0])
    with pytest.raises(Damaged):
        read_arrays(path, HEADER)
    path.write_bytes(KINDS["arrays"][0])
    with pytest.raises(Damaged):
        read_document(path, HEADER)


def test_folders_and_missing_files(tmp_path: Path) -> None:
    with pytest.raises(Damaged, match="is a folder"):
        read_document(tmp_path, HEADER)
    with pytest.raises(FileNotFoundError):
        read_document(tmp_path / "none", HEADER)


@pytest.mark.parametrize(
    "array", [np.array([{}], object), np.zeros(2, ml_dtypes.bfloat16), np.zeros(1, "f4,i4")]
)
def test_arrays_that_numpys_format_would_change_are_refused(path: Path, array: Any) -> None:
    with pytest.raises(BadInput, match="array 'x' has the type"):
        write_arrays(path, HEADER, {"x": array})
    assert not path.exists()


@pytest.mark.parametrize("name", ["", "a\0b", "a\\b", "\n", "x" * 2000])
def test_odd_array_names_are_refused(path: Path, name: str) -> None:
    with pytest.raises(BadInput, match="array name"):
        write_arrays(path, HEADER, {name: np.zeros(1)})


@given(st.lists(st.binary(max_size=200)))
def test_a_seal_does_not_depend_on_how_the_bytes_arrive(pieces: list[bytes]) -> None:
    whole = b"".join(pieces) + b"0" * HEX
    results = []
    for parts in (pieces, [whole[:-HEX]]):
        file = io.BytesIO()
        writer = ChecksumWriter(file)
        for part in [*parts, b"0" * HEX]:
            writer.write(part)
        results.append((writer.close(), file.getvalue()))
    assert results[0] == results[1]
    assert results[0][1][:-HEX] == whole[:-HEX]
