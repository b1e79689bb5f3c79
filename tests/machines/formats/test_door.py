"""`read` and `parse` recognise the format, and refuse files that are too large."""

from __future__ import annotations

from pathlib import Path

import pytest

from clew.machines import Pomdp, RewardMachine
from clew.machines.formats import Limits, ParseError, clew_json, parse, read, write
from clew.validate import BadInput
from tests.machines.formats.test_bad_pomdp import GOOD

MACHINE = RewardMachine.build([("0", ["a"], "1", 1)], terminal=["1"], name="file")
RM_TEXT = "0\n[1]\n(0,1,'a',ConstantRewardFunction(1))\n(0,0,'!a',ConstantRewardFunction(0))\n"


@pytest.mark.parametrize("name", ["file", "file.txt", "file.POMDP", "file.json", "file.dat"])
def test_content_decides(tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    for text, kind in ((GOOD, Pomdp), ("# hm\n" + GOOD, Pomdp), (RM_TEXT, RewardMachine)):
        file.write_text(text)
        assert isinstance(read(file), kind)
    file.write_text(clew_json(MACHINE))
    assert read(str(file)) == MACHINE


def test_the_name_of_the_file_names_the_model(tmp_path: Path) -> None:
    file = tmp_path / "tiger.95.POMDP"
    file.write_text(GOOD)
    model = read(file)
    assert isinstance(model, Pomdp)
    assert model.name == "tiger.95"


def test_byte_order_marks_and_old_encodings() -> None:
    assert parse(b"\xef\xbb\xbf" + GOOD.encode()) == parse(GOOD.encode())
    assert parse("# Möbius\n".encode("latin-1") + GOOD.encode()) == parse(GOOD.encode())
    with pytest.raises(ParseError) as caught:
        parse(GOOD.replace("states: a", "states: ä").encode())
    assert (caught.value.line, caught.value.column) == (3, 9)


@pytest.mark.parametrize(
    ("data", "line", "column"),
    [(b"", 1, 1), (b"\n  \n ?", 3, 2), (b'{"a":\n "\xff"}', 2, 3), (b"\x00" * 9, 1, 1)],
)
def test_what_is_no_model(data: bytes, line: int, column: int) -> None:
    with pytest.raises(ParseError) as caught:
        parse(data)
    assert (caught.value.line, caught.value.column) == (line, column)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    for path in (tmp_path / "missing.POMDP", tmp_path):
        with pytest.raises(BadInput, match="cannot be read"):
            read(path)


def test_large_files_are_refused_with_their_size(tmp_path: Path) -> None:
    file = tmp_path / "large.POMDP"
    file.write_text(GOOD + "#" * 2_000)
    with pytest.raises(BadInput, match=r"large\.POMDP has 2,\d\d\d bytes; at most 1,000 are read"):
        read(file, Limits(file_bytes=1_000))


def test_a_format_that_cannot_hold_the_model_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"'\.json' or '\.txt'"):
        write(MACHINE, tmp_path / "machine.POMDP")
    with pytest.raises(BadInput, match=r"'\.json' or '\.POMDP'"):
        write(parse(GOOD.encode()), tmp_path / "pomdp.txt")
