"""Read a file of any format; write a model in the format that the file's name says."""

from __future__ import annotations

import os
import re
from pathlib import Path

from clew.machines.formats.cassandra import parse_pomdp, pomdp_text
from clew.machines.formats.clewjson import Model, clew_json, parse_clew_json
from clew.machines.formats.rmtext import machine_text, parse_machine
from clew.machines.formats.text import LIMITS, Limits, ParseError, place_at
from clew.machines.model.pomdp import Pomdp
from clew.machines.model.reward_machine import RewardMachine
from clew.validate import BadInput, listing

EXTENSIONS = {".pomdp": "pomdp", ".json": "json", ".txt": "machine", ".rm": "machine"}
_COMMENTS = re.compile(r"(?:\s+|#[^\r\n]*)*+")


def read(path: str | os.PathLike[str], limits: Limits = LIMITS) -> Model:
    """Read a model from a file; a mistake in it raises `ParseError` with its line and column."""
    file = Path(path)
    try:
        limits.of_file(file.name, file.stat().st_size)
        with file.open("rb") as stream:
            data = stream.read(limits.file_bytes + 1)
    except OSError as error:
        raise BadInput(f"{str(path)!r} cannot be read: {error.strerror}") from None
    limits.of_file(file.name, len(data))
    return parse(data, file.name, limits)


def parse(data: bytes, name: str = "", limits: Limits = LIMITS) -> Model:
    """Read a model from the content of a file called `name`."""
    # Latin-1 never fails: whatever is no ASCII may stand in comments only, and is pointed at.
    text = data.removeprefix(b"\xef\xbb\xbf").decode("latin-1")
    kind = _recognise(text, name)
    title = Path(name).stem or "POMDP"
    if kind == "json":
        return parse_clew_json(_utf8(data), limits)
    if kind == "machine":
        return parse_machine(_utf8(data), title, limits)
    return parse_pomdp(text, title, limits)


def write(model: Model, path: str | os.PathLike[str]) -> None:
    """Write a model, in the format that the extension of `path` names."""
    file = Path(path)
    kind = EXTENSIONS.get(file.suffix.lower())
    if kind == "json":
        text = clew_json(model)
    elif kind == "pomdp" and isinstance(model, Pomdp):
        text = pomdp_text(model)
    elif kind == "machine" and isinstance(model, RewardMachine):
        text = machine_text(model)
    else:
        valid = [".json", ".POMDP"] if isinstance(model, Pomdp) else [".json"]
        valid = [".json", ".txt"] if isinstance(model, RewardMachine) else valid
        raise BadInput(
            f"{file.name!r} is no name for a {type(model).__name__}; it has to end with "
            f"{listing(valid)}"
        )
    file.write_text(text, encoding="utf-8")


def _recognise(text: str, name: str) -> str:
    """The format, by the first character that says something, or else by the extension."""
    blank = _COMMENTS.match(text)
    at = blank.end() if blank else 0
    first = text[at : at + 1]
    if first in ("{", "["):
        return "json"
    if first.isascii() and (first.isdigit() or first == "-"):
        return "machine"
    if first.isascii() and first.isalpha():
        return "pomdp"
    known = EXTENSIONS.get(Path(name).suffix.lower())
    if known is None:
        wanted = "a .POMDP file, a reward machine of Toro Icarte's format, or our own JSON"
        raise ParseError("no format begins like this", place_at(text, at), first, wanted)
    return known


def _utf8(data: bytes) -> str:
    try:
        return data.removeprefix(b"\xef\xbb\xbf").decode("utf-8")
    except UnicodeDecodeError as error:
        place = place_at(data.decode("latin-1"), error.start)
        found = repr(data[error.start : error.start + 1])
        raise ParseError("this is no text in UTF-8", place, found, "UTF-8") from None
