"""Sealed JSON: readable by anything, with its checksum as the last field."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from clew.store import atomic
from clew.store.canonical import plain
from clew.store.errors import Damaged
from clew.store.seal import Seal, reading, verify

_TAIL = b'"\n}\n'


def write_document(path: Path, seal: Seal, data: Any, *, overwrite: bool = True) -> None:
    """Write plain data."""
    content = document(seal, data)
    atomic.write(path, lambda file: file.write(content), overwrite=overwrite)


def read_document(path: Path, seal: Seal) -> Any:
    """The data, if the file is sound and is what it should be."""
    found, data = read_any(path)
    seal.expect(path, found)
    return data


def read_any(path: Path) -> tuple[Seal, Any]:
    """What a sound document is, and its data."""
    with reading(path) as file:
        verify(path, file, _TAIL)
        file.seek(0)
        text = file.read()
    try:
        whole = json.loads(text)
        return Seal(whole["role"], whole["of"]), whole["data"]
    except (ValueError, KeyError, TypeError) as error:
        raise Damaged(path, f"is not a document of a store ({error!r})") from None


def document(seal: Seal, data: Any) -> bytes:
    """The bytes of a document: the same data are the same bytes."""
    text = json.dumps(plain(data, seal.role), indent=1, sort_keys=True, ensure_ascii=False)
    head = f'{{\n"role": {json.dumps(seal.role)},\n"of": {json.dumps(seal.of)},\n"data": '
    body = f'{head}{text},\n"sha256": "'.encode()
    return body + hashlib.sha256(body).hexdigest().encode() + _TAIL
