"""Files of arrays: `.npz` that numpy reads, without pickle, the same bytes for the same arrays.

The header is the comment at the end of the zip file.
"""

from __future__ import annotations

import contextlib
import functools
import io
import json
import math
import os
import re
import struct
import zipfile
from collections.abc import Callable, Container, Iterator, Mapping
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np

from clew.store import atomic
from clew.store.canonical import JsonObject, canonical
from clew.store.documents import HEX, ChecksumWriter, Header, reading, verify
from clew.store.errors import Damaged
from clew.validate import BadInput

Arrays = Mapping[str, np.ndarray]
ABOUT = "about.json"
_KINDS = "biufcSU"
_COMMENT = re.compile(rb"clew arrays 1 role=([a-z-]+) of=([0-9a-f]+) sha256=[0-9a-f]{64}")
_PART = 1 << 20
"""Bytes that are read at a time: an array is in memory once."""
_EPOCH = (1980, 1, 1, 0, 0, 0)
_MADE_UP = (
    ValueError, EOFError, LookupError, TypeError, ArithmeticError, RuntimeError, MemoryError,
    struct.error, zipfile.BadZipFile,
)  # fmt: skip
_READ_HEADER = {
    (1, 0): (2, np.lib.format.read_array_header_1_0),
    (2, 0): (4, np.lib.format.read_array_header_2_0),
}
"""By version of numpy's format: bytes that say how long the header is, and what reads it."""


class ArrayFile(NamedTuple):
    """What an array file holds."""

    header: Header
    arrays: dict[str, np.ndarray]
    about: JsonObject | None
    """Plain data that were written beside the arrays."""


def write_arrays(
    path: Path, header: Header, arrays: Arrays, about: JsonObject | None = None
) -> str:
    """Write named arrays, and return the file's digest."""
    fill, digest = filling(header, arrays, about), []
    atomic.write(path, lambda file: digest.append(fill(file)))
    return digest[0]


def filling(
    header: Header, arrays: Arrays, about: JsonObject | None = None
) -> Callable[[IO[bytes]], str]:
    """What fills a file with named arrays, and returns its digest."""
    checked = _checked(arrays)
    return lambda file: _fill(file, header, checked, about)


def read_arrays(
    path: Path, header: Header, names: Container[str] | None = None
) -> dict[str, np.ndarray]:
    """The arrays, or those of `names`, if the file is sound and is what it should be."""
    found = read_any(path, names)
    header.expect(path, found.header)
    return found.arrays


def verify_arrays(path: Path, header: Header) -> str:
    """The digest of a file that is sound and is what it should be; its arrays are not loaded."""
    with reading(path) as file:
        digest = verify(path, file)
        with _unzipped(path, file) as archive:
            header.expect(path, _header(path, archive))
            with _explained(path):
                _check(archive, os.fstat(file.fileno()).st_size)
    return digest


def read_any(path: Path, names: Container[str] | None = None) -> ArrayFile:
    """Whatever a sound file holds; of its arrays, those of `names` if any are given."""
    with reading(path) as file:
        verify(path, file)
        with _unzipped(path, file) as archive:
            header = _header(path, archive)
            with _explained(path):
                arrays = dict(_arrays(archive, os.fstat(file.fileno()).st_size, names))
                about = json.loads(archive.read(ABOUT)) if ABOUT in archive.namelist() else None
                return ArrayFile(header, arrays, about)


def read_about(path: Path) -> JsonObject:
    """The plain data beside the arrays. They are not loaded, and the checksum is not verified."""
    with reading(path) as file, _unzipped(path, file) as archive, _explained(path):
        _check(archive, os.fstat(file.fileno()).st_size)
        return json.loads(archive.read(ABOUT))


def read_shapes(path: Path) -> dict[str, tuple[tuple[int, ...], np.dtype]]:
    """Shape and type of every array. They are not loaded, and the checksum is not verified."""
    with reading(path) as file, _unzipped(path, file) as archive, _explained(path):
        return _check(archive, os.fstat(file.fileno()).st_size)


def _fill(file: IO[bytes], header: Header, arrays: Arrays, about: JsonObject | None) -> str:
    writer = ChecksumWriter(file)
    with zipfile.ZipFile(writer, "w", zipfile.ZIP_STORED) as archive:  # type: ignore[arg-type]
        if about is not None:
            with archive.open(_member(ABOUT), "w") as member:
                member.write(canonical(about).encode())
        for name in sorted(arrays):
            with archive.open(_member(f"{name}.npy"), "w", force_zip64=True) as member:
                np.lib.format.write_array(member, arrays[name], allow_pickle=False)
        label = f"clew arrays 1 role={header.role} of={header.of} sha256="
        archive.comment = label.encode() + b"0" * HEX
    return writer.close()


def _member(name: str) -> zipfile.ZipInfo:
    """No time, owner or system: they are not part of what is stored."""
    info = zipfile.ZipInfo(name, _EPOCH)
    info.create_system, info.external_attr = 3, 0o644 << 16
    return info


@contextlib.contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Whatever zip and numpy say of bytes that somebody made up is damage."""
    try:
        yield
    except _MADE_UP as error:
        raise Damaged(path, f"holds something else than arrays ({error!r})") from None


def _check(archive: zipfile.ZipFile, size: int) -> dict[str, tuple[tuple[int, ...], np.dtype]]:
    """The shapes; reading takes no more memory than the file is long."""
    return {name: (shape, dtype) for name, shape, dtype, _, _ in _opened(archive, size)}


def _arrays(
    archive: zipfile.ZipFile, size: int, names: Container[str] | None
) -> Iterator[tuple[str, np.ndarray]]:
    for name, shape, dtype, fortran, member in _opened(archive, size, names):
        array = np.empty(shape, dtype, "F" if fortran else "C")
        rest = array.ravel("K").view(np.uint8).data if array.nbytes else memoryview(b"")
        while part := member.read(min(len(rest), _PART)):
            rest[: len(part)] = part
            rest = rest[len(part) :]
        yield name, array


def _opened(
    archive: zipfile.ZipFile, size: int, names: Container[str] | None = None
) -> Iterator[tuple[str, tuple[int, ...], np.dtype, bool, IO[bytes]]]:
    """Each array's name, shape, type and order, and its file, of which the values are left to read.

    By then it is certain that they are as long as the shape says, and no longer than the whole.
    """
    infos = archive.infolist()
    if any(info.compress_type != zipfile.ZIP_STORED for info in infos):
        raise ValueError("it is compressed")
    if sum(info.file_size for info in infos) > size:
        raise ValueError("its parts are longer than the whole")
    for info in infos:
        name = info.filename.removesuffix(".npy")
        if info.filename == ABOUT or (names is not None and name not in names):
            continue
        with archive.open(info) as member:
            version = np.lib.format.read_magic(member)
            length = member.read(_READ_HEADER[version][0])
            header = length + member.read(int.from_bytes(length, "little"))
            shape, fortran, dtype = _array_header(version, header)
            if dtype.kind not in _KINDS:
                raise ValueError(f"{info.filename} is of type {dtype}")
            if math.prod(shape) * dtype.itemsize != info.file_size - member.tell():
                raise ValueError(f"{info.filename} is not as long as its shape {shape} says")
            yield name, shape, dtype, fortran, member


@functools.lru_cache(maxsize=256)  # the arrays of many runs have few shapes
def _array_header(
    version: tuple[int, int], header: bytes
) -> tuple[tuple[int, ...], bool, np.dtype]:
    return _READ_HEADER[version][1](io.BytesIO(header))


def _unzipped(path: Path, file: IO[bytes]) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(file)
    except _MADE_UP as error:
        raise Damaged(path, f"is not a file of arrays ({error})") from None


def _header(path: Path, archive: zipfile.ZipFile) -> Header:
    found = _COMMENT.fullmatch(archive.comment)
    if found is None:
        raise Damaged(path, "is not a file of arrays of a store")
    return Header(found[1].decode(), found[2].decode())


def _checked(arrays: Arrays) -> dict[str, np.ndarray]:
    """C order, so that layout in memory does not show in the bytes."""
    checked = {name: np.array(value, order="C", copy=None) for name, value in arrays.items()}
    for name, array in checked.items():
        if not name.isprintable() or not name or "\\" in name or len(name.encode()) > 1000:
            raise BadInput(f"array name {name!r} is not valid; it must be short printable text")
        # bfloat16 and its like have kind 'V', and numpy's format forgets which they were
        if array.dtype.kind not in _KINDS:
            raise BadInput(
                f"array {name!r} has the type {array.dtype}, which .npz files cannot hold; "
                f"give numbers, or its bits as whole numbers"
            )
    return checked
