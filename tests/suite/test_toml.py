"""Suites as TOML: mistakes are sentences with file, block, field, value and what would be valid."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from clew import plugins
from clew.cli.commands.run import run
from clew.suite import find_suite, read_suite
from clew.suite.toml import parse_suite
from clew.validate import BadInput
from tests.suite.declared import PERIOD, as_toml, declared, rich, tiny

# what is changed in the only block, and what the sentence must say
IN_THE_BLOCK: list[tuple[dict[str, Any], str]] = [
    ({"enviroment": "x"}, r"unknown field of block 'enviroment'.*did you mean 'environment'"),
    ({"environment": "TinyReprduce"}, r"'TinyReprduce'.*did you mean 'TinyReproduce'"),
    ({"environment": 5}, r"environment=5 is not valid; it must be text"),
    ({"rewards": ["dence"]}, r"rewards='dence'.*'dense'.*did you mean 'dense'"),
    ({"rewards": "dense"}, r"rewards='dense'.*must be a list"),
    ({"rewards": []}, r"rewards=\[\].*at least one"),
    ({"rewards": ["dense", "dense"]}, r"rewards=\['dense', 'dense'\].*twice"),
    ({"rewards": [["dense"]]}, r"rewards\[0\]=\['dense'\].*text"),
    ({"rewards": [{"goal": 1}]}, r"rewards\[0\]=\{'goal': 1\}.*text"),
    ({"architectures": ["GRUU"]}, r"architectures='GRUU'.*'LSTM'.*did you mean 'GRU'"),
    ({"bonuses": ["e3c"]}, r"bonuses='e3c'.*'noveld'.*did you mean 'e3b'"),
    ({"bonuses": [3]}, r"bonuses\[0\]=3.*text"),
    ({"seeds": 0}, r"seeds=0.*from 1"),
    ({"seeds": 1.5}, r"seeds=1\.5.*whole number"),
    ({"seeds": True}, r"seeds=True.*whole number"),
    ({"seeds": "all"}, r"seeds='all'.*whole number"),
    ({"seeds": {}}, r"seeds=\{\}.*whole number"),
    ({"seeds": []}, r"seeds=\[\].*at least one"),
    ({"seeds": [1, 1]}, r"seeds=\[1, 1\].*twice"),
    ({"seeds": [-1]}, r"seeds=-1.*from 0 to 4294967295"),
    ({"seeds": 10**12}, r"seeds=1000000000000.*from 1 to"),
    ({"steps": PERIOD - 1}, rf"steps={PERIOD - 1}.*at least {PERIOD}.*period"),
    ({"steps": 2**31}, r"steps=2147483648.*to 2147483647"),
    ({"steps": 1e4}, r"steps=10000\.0.*whole number"),
    ({"steps": "10M"}, r"steps='10M'.*whole number"),
    ({"environment_options": {"kk": 2}}, r"unknown option of TinyReproduce 'kk'.*'k'"),
    ({"environment_options": {"k": 0}}, r"k=0 is not valid"),
    ({"environment_options": {"k": 2.0}}, r"k=2\.0 is not valid"),
    ({"environment_options": {"k": [2]}}, r"k=\(2,\) is not valid|k=\[2\] is not valid"),
    ({"environment_options": {"k": {"of": 2}}}, r"k=\{'of': 2\} is not valid"),
    ({"environment_options": {"k": [[2]]}}, r"k=\[\[2\]\] is not valid"),
    ({"environment_options": 3}, r"environment_options=3.*must be a table"),
    ({"architecture_options": {"GRU": {}}}, r"'GRU'; choose 'Memoryless'"),
    ({"architecture_options": {"Memoryless": 1}}, r"architecture_options\.Memoryless=1.*table"),
    ({"architecture_options": {"Memoryless": {"width": 3}}}, r"option of Memoryless 'width'"),
    ({"architecture_options": {"Memoryless": {"key": 3}}}, r"option of Memoryless 'key'"),
    (
        {"architectures": ["RetNet"], "architecture_options": {"RetNet": {"heads": 3}}},
        r"heads=3.*divide",
    ),
    (
        {"architectures": ["RetNet"], "architecture_options": {"RetNet": {"full_block": "yes"}}},
        r"full_block='yes'.*False or True",
    ),
    ({"bonus_options": {"e3b": {}}}, r"'e3b'; choose 'none'"),
    ({"bonus_options": {"none": {"ridge": 1}}}, r"option of none 'ridge'"),
    ({"bonus_options": {"none": {"clip": -1}}}, r"clip=-1.*above 0"),
    ({"bonuses": ["e3b"], "bonus_options": {"e3b": {"ridge": 0}}}, r"ridge=0.*above 0"),
    ({"bonuses": ["e3b"], "bonus_options": {"e3b": {"ridge": "x"}}}, r"ridge='x'.*number"),
    ({"bonuses": ["e3b"], "bonus_options": {"e3b": {"ridge": True}}}, r"ridge=True.*number"),
    ({"knobs": {"lerning_rate": 1}}, r"knob 'lerning_rate'.*did you mean 'learning_rate'"),
    ({"knobs": {"learning_rate": 0}}, r"learning_rate=0.*above 0"),
    ({"knobs": {"learning_rate": "high"}}, r"learning_rate='high'.*number"),
    ({"knobs": {"learning_rate": True}}, r"learning_rate=True.*number"),
    ({"knobs": {"learning_rate": []}}, r"learning_rate=\[\].*at least one"),
    ({"knobs": {"learning_rate": [1e-3, 1e-3]}}, r"learning_rate=\[0\.001, 0\.001\].*twice"),
    ({"knobs": {"learning_rate": 10**400}}, r"learning_rate=.*64 bits"),
    ({"knobs": {"gamma": 1.5}}, r"gamma=1\.5.*from 0 to 1"),
    ({"knobs": {"gamma": float("nan")}}, r"gamma=nan.*finite"),
    ({"knobs": {"entropy": float("inf")}}, r"entropy=inf.*finite"),
    ({"knobs": 7}, r"knobs=7.*must be a table"),
    ({"settings": {"chunks": 3}}, r"setting 'chunks'.*'chunk'"),
    ({"settings": {"chunk": 5}}, r"chunk=5.*divide steps=16"),
    ({"settings": {"chunk": 32}}, r"chunk=32.*longer than a rollout"),
    ({"settings": {"chunks_per_batch": 3}}, r"chunks_per_batch=3.*divide.*choose 1, 2, 4 or 8"),
    ({"settings": {"envs": 0}}, r"envs=0.*from 1 to"),
    ({"settings": {"encoder_hidden": 2**31}}, r"encoder_hidden=2147483648.*to 2147483647"),
    ({"settings": {"clip": True}}, r"clip=True.*number"),
    ({"settings": {"shared": 1}}, r"shared=1.*False or True"),
    ({"settings": {"encoder": "cnn"}}, r"encoder='cnn'"),
    ({"settings": {"epochs": []}}, r"epochs=\[\].*at least one"),
]
WHOLE: list[tuple[dict[str, Any], str]] = [
    ({"blocks": []}, r"unknown field of the suite 'blocks'.*did you mean 'block'"),
    ({"block": []}, r"block is missing.*\[\[block\]\]"),
    ({"block": {}}, r"block is missing.*\[\[block\]\]"),
    ({"block": [3]}, r"block 1: block=3.*table"),
    ({"name": 3}, r"name=3.*text"),
    ({"share": "no"}, r"share='no'.*true or false"),
    ({"knobs": []}, r"knobs=\[\].*table"),
    ({"settings": {"encoder_width": -1}}, r"block 1: encoder_width=-1.*from 1 to"),
]


@pytest.mark.parametrize(("change", "said"), IN_THE_BLOCK, ids=str)
def test_a_mistake_in_a_block(change: dict[str, Any], said: str) -> None:
    with pytest.raises(BadInput, match=f"^block 1: .*(?:{said})"):
        tiny(**change)


@pytest.mark.parametrize(("change", "said"), WHOLE, ids=str)
def test_a_mistake_in_the_whole(change: dict[str, Any], said: str) -> None:
    with pytest.raises(BadInput, match=said):
        parse_suite({**declared(), **change}, "tiny")


@pytest.mark.parametrize("field", ["environment", "rewards", "architectures", "steps"])
def test_a_missing_field(field: str) -> None:
    whole = rich()
    del whole["block"][1][field]
    with pytest.raises(BadInput, match=f"^block 2: {field} is missing"):
        parse_suite(whole, "tiny")


@pytest.mark.parametrize(
    ("written", "said"),
    [
        (b"name = 'x'\nsteps = \n", r"mine\.toml is not valid TOML: .*line 2"),
        (b"a = 1\na = 2\n", r"mine\.toml is not valid TOML: .*line 2"),
        (b"name = '\xff'", r"mine\.toml .*UTF-8"),
        (b"a = " + b"[" * 5000, r"mine\.toml: it is nested too deep"),
        (b"a = " + b"9" * 5000, r"mine\.toml "),
        (b"", r"mine\.toml: block is missing"),
        (b"[[block]]\nsteps = 1979-05-27\n", r"mine\.toml: block 1: .*steps"),
    ],
)
def test_a_file_that_is_no_suite(tmp_path: Path, written: bytes, said: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_bytes(written)
    with pytest.raises(BadInput, match=said):
        find_suite(str(path))


def test_a_file_gives_the_runs_of_its_data(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(as_toml(rich()), encoding="utf-8")
    suite = read_suite(path)
    assert (suite.name, suite.about, suite.share) == ("rich", "everything", True)
    assert suite.runs() == parse_suite(rich(), "other").runs()
    # settings × (architectures × bonuses × rewards) × rates × seeds, and the second block
    assert len(suite.runs()) == 2 * (2 * 3 * 2) * 2 * 2 + 2
    assert {run.knobs.entropy for run in suite.runs()} == {0.01}
    path.write_text(as_toml(declared()), encoding="utf-8")
    assert read_suite(path).name == "mine"


def test_a_list_may_be_an_options_value() -> None:
    given = {"environment": "MysteryPath-Grid", "environment_options": {"origin_sides": [0, 2]}}
    runs = tiny(**given, rewards=["sparse"]).runs()
    assert runs[0].config["environment_options"] == {"origin_sides": (0, 2)}
    assert json.dumps(runs[0].config)


def test_nothing_is_written_for_a_mistake(tmp_path: Path) -> None:
    mistakes: list[dict[str, Any]] = [
        {"pack_size": 0}, {"pack_size": -1}, {"time_limit": "soon"}, {"checkpoint_every": "1 h"},
        {"workers": 0}, {"workers": -2}, {"gpus": 1}, {"partition": "day"},
    ]  # fmt: skip
    for mistake in mistakes:
        with pytest.raises(BadInput, match=next(iter(mistake))):
            run("demo", tmp_path / "store", **mistake)
    assert not list(tmp_path.iterdir())


def test_an_environment_is_found_beside_its_suite(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From whatever folder the command is given, and by its workers too."""
    with monkeypatch.context() as patch:
        patch.setattr(plugins, "_in_use", {})
        patch.setattr(sys, "path", [*sys.path])
        name = "lies_beside_its_suite"
        (tmp_path / f"{name}.py").write_text(
            "import gymnasium\n\ndef make():\n    return gymnasium.make('CartPole-v1')\n"
        )
        block = {"environment": f"{name}:make", "rewards": ["native"], "architectures": ["GRU"]}
        mine = {"block": [{**block, "bonuses": ["none"], "seeds": 1, "steps": 10**6}]}
        suite = parse_suite(mine, "mine", tmp_path)
        assert suite.runs()[0].env.horizon == 500
        assert plugins.modules_in_use() == ((name, str(tmp_path)),)
        patch.setattr(plugins, "_in_use", {})
        patch.chdir(tmp_path)
        parse_suite(mine, "mine", tmp_path)
        assert plugins.modules_in_use() == ()  # this folder is searched anyway
