"""`clew list`: everything that can be named, what it is, and its options."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from clew import bonuses, envs, memory
from clew.cli.commands.list import list_
from clew.cli.listing import NAMED, listed
from clew.cli.listing_text import price_words, type_words, value_text
from clew.suite import names
from tests.cli.called import called

EVERY_NAME = [it.name for it in listed()]
KINDS = (*NAMED, "rewards", "knobs", "settings")


@pytest.fixture(autouse=True)
def eighty_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def test_the_overview_names_and_describes_everything() -> None:
    done = called("list")
    lines = done.out.splitlines()
    for room in (envs.names(), memory.names(), bonuses.names(), names()):
        for name in room:
            (line,) = [each for each in lines if each.split()[:1] == [name]]
            assert len(line.split()) > 3, "a name alone says nothing"
    assert max(map(len, lines)) <= 80
    assert lines.index("environments") < lines.index("architectures: the agent's memory")
    assert re.search(r"MiniGrid-MemoryS9 +the same with size=9", done.out)


@pytest.mark.parametrize("name", [*EVERY_NAME, *KINDS, "sparse", "native"])
def test_every_page_fits_and_its_examples_can_be_typed(name: str) -> None:
    done = called("list", name)
    assert done.code == 0
    assert max(map(len, done.out.splitlines())) <= 80
    _, _, examples = done.out.replace("\\\n", " ").partition("\nexamples\n")
    for example in examples.splitlines():
        _, *words = shlex.split(example)
        asked = called(*words, "--help")
        assert asked.code == 0, (example, asked)
    assert bool(examples) == (name not in KINDS)


def test_examples_name_the_modules_that_were_named(tmp_path: Path) -> None:
    file = tmp_path / "module of mine" / "named_in_list.py"
    file.parent.mkdir()
    file.touch()
    for name in ("TinyReproduce", "GRU", "e3b", "dense"):
        told = called("list", name, "--module", str(file)).out.replace("\\\n", " ")
        _, _, examples = told.partition("\nexamples\n")
        for example in examples.splitlines():
            assert shlex.split(example)[-2:] == ["--module", str(file)]


def test_one_thing_with_its_options_and_prices() -> None:
    told = " ".join(called("list", "MysteryPath-Grid").out.split())
    assert "MysteryPath-Grid: an environment" in told
    assert "penalty +1 for goal, −0.008 for fall" in told
    assert "actions (egocentric or cardinal, default egocentric) The package turns" in told
    assert "origin_sides (list of whole numbers, default [0, 1, 2, 3])" in told
    assert "max_steps (whole number, default 128) Steps in an episode." in told
    assert "returned it is put back on the origin, in the step after a fall" in told
    told = " ".join(called("list", "MiniGrid-MemoryS9").out.split())
    assert "MiniGrid-MemoryS9: an environment (size=9)" in told
    assert "size (whole" not in told


def test_for_a_script() -> None:
    everything = json.loads(called("list", "--json").out)
    assert everything.keys() == {*NAMED, "knobs", "settings"}
    tiny = everything["environments"]["TinyReproduce"]
    assert tiny["rewards"] == {"dense": {"correct": 0.1}, "sparse": {"total": 0.1}}
    assert tiny["options"][0] == {
        "name": "k", "type": "int", "default": 10, "about": "Length of the sequence.",
    }  # fmt: skip
    assert everything["environments"]["MiniGrid-MemoryS9"]["stands_for"] == {"size": 9}
    assert "1,800 runs" in everything["suites"]["paper"]["about"]
    assert {option["name"] for option in everything["knobs"]} >= {"gamma", "bonus_coef"}
    only = json.loads(called("list", "RetNet", "--json").out)
    assert only == {"architectures": {"RetNet": everything["architectures"]["RetNet"]}}
    assert list(json.loads(called("list", "settings", "--json").out)) == ["settings"]
    assert (
        "MysteryPath-Grid" not in json.loads(called("list", "native", "--json").out)["environments"]
    )


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("gru", "GRU"), ("MysteryPath", "MysteryPath-Grid"), ("enviroments", "environments"),
     ("sprase", "sparse"), ("papre", "paper")],
)  # fmt: skip
def test_a_misspelt_name_is_answered_with_the_nearest(typed: str, meant: str) -> None:
    done = called("list", typed)
    assert (done.code, done.out) == (2, "")
    assert f"there is no {typed!r} to list (did you mean {meant!r}?)" in done.err


def test_a_name_with_brackets_is_printed_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    list_("MysteryPath-Grid")
    assert "[0, 1, 2, 3]" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("written", "words"),
    [("int", "whole number"), ("", ""), ("float | None", "number or none"),
     ("int | str", "whole number or str"),
     ("typing.Literal['a', 'b']", "a or b"), ("tuple[float, ...]", "list of numbers"),
     ("PRNGKeyArray", "PRNGKeyArray")],
)  # fmt: skip
def test_types_in_words(written: str, words: str) -> None:
    assert type_words(written) == words


def test_values_and_prices_in_words() -> None:
    assert [value_text(v) for v in (None, True, 0.0001, "x", (1, 2))] == [
        "none", "true", "0.0001", "x", "[1, 2]",
    ]  # fmt: skip
    assert price_words({"goal": 1.0, "fall": -1 / 128}) == "+1 for goal, −0.00781 for fall"
    assert price_words({}) == "depends on the environment's options"
