"""A reader of event files that shares no code with the writer."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any


def fields(data: bytes) -> Iterator[tuple[int, Any]]:
    """The fields of a message."""
    at = 0

    def whole() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        key = whole()
        size = {0: 0, 1: 8, 5: 4}.get(key & 7)
        if key & 7 == 0:
            yield key >> 3, whole()
            continue
        size = whole() if size is None else size
        yield key >> 3, data[at : at + size]
        at += size


def events(content: bytes) -> list[tuple[int, dict[str, float]]]:
    """Steps and scalars, in the order of the file."""
    found, at = [], 0
    while at < len(content):
        (length,) = struct.unpack_from("<Q", content, at)
        event = dict(fields(content[at + 12 : at + 12 + length]))
        at += length + 16
        if 3 in event:
            assert event[3] == b"brain.Event:2"
            continue
        values = [dict(fields(value)) for _, value in fields(event[5])]
        scalars = {v[1].decode(): struct.unpack("<f", v[2])[0] for v in values}
        found.append((event.get(2, 0), scalars))
    return found
