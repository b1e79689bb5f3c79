"""Later versions find the runs of earlier ones: new settings, and defaults that change."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import clew.suite.schema as schema
from clew.learner import Knobs, Settings
from clew.store import Store, require
from clew.store.columns import COLUMNS, SCHEMA, Column
from clew.store.documents import Header, read_any, write_document
from clew.suite import RunSpec, from_config, read_suite
from clew.suite.schema import FIRST, KINDS, REGISTRIES
from clew.validate import BadInput
from tests.suite.declared import tiny

GOLDEN = Path(__file__).parents[1] / "golden"


@dataclasses.dataclass(frozen=True, kw_only=True)
class MoreSettings(Settings):
    warmup: int = 3
    """A setting of some later version."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class MoreKnobs(Knobs):
    noise: float = 0.5


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> None:
    """A later version of Clew, with a setting, a knob and an option that today's does not have."""
    for module in ("spec", "suite"):
        monkeypatch.setattr(f"clew.suite.{module}.Settings", MoreSettings)
        monkeypatch.setattr(f"clew.suite.{module}.Knobs", MoreKnobs)
    depth = inspect.Parameter("depth", inspect.Parameter.KEYWORD_ONLY, default=2, annotation="int")
    parameters = schema._parameters

    def with_depth(kind: Any, name: str) -> Any:
        return {**parameters(kind, name), **({"depth": depth} if name == "e3b" else {})}

    monkeypatch.setattr(schema, "_parameters", with_depth)


def stored_runs() -> Iterator[tuple[str, RunSpec]]:
    for name in ("store-1", "store-1-longer"):
        for run in read_suite(GOLDEN / f"{name}.toml").runs():
            yield name, run


@pytest.mark.usefixtures("later")
def test_a_new_setting_does_not_hide_the_runs_of_before() -> None:
    store = Store(GOLDEN / "store-1", read_only=True)
    for name, run in stored_runs():
        assert isinstance(run.settings, MoreSettings)
        assert isinstance(run.knobs, MoreKnobs)
        status = store.run(run.config).find(deep=False).status
        assert status == ("finished" if name == "store-1" else "begun")
        assert from_config(json.loads(json.dumps(run.config))) == run


@pytest.mark.usefixtures("later")
def test_another_value_of_a_new_setting_is_another_run() -> None:
    run = next(run for _, run in stored_runs() if run.bonus == "e3b")
    changes: list[dict[str, Any]] = [
        {"settings": dataclasses.replace(run.settings, warmup=4)},
        {"knobs": dataclasses.replace(run.knobs, noise=0.25)},
        {"bonus_options": (*run.bonus_options, ("depth", 1))},
    ]
    others = [dataclasses.replace(run, **change) for change in changes]
    assert len({run.identity, *(other.identity for other in others)}) == 4
    for other in others:
        assert from_config(json.loads(json.dumps(other.config))) == other


@pytest.mark.usefixtures("later")
def test_a_default_that_changes_makes_another_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """And a run without the field has the default that it was introduced with."""
    run = next(run for _, run in stored_runs() if run.bonus == "e3b")
    old = run.config
    first = copy.deepcopy(FIRST)
    first["settings"]["2"] = {"warmup": 1}
    first["knobs"]["2"] = {"noise": 0.125}
    first["bonus"]["e3b"]["ridge"] = 0.25
    monkeypatch.setattr(schema, "FIRST", first)
    now = run.config
    assert now["settings"]["warmup"] == 3
    assert now["knobs"]["noise"] == 0.5
    assert now["bonus_options"]["ridge"] == 1.0
    before = from_config(old)
    assert isinstance(before.settings, MoreSettings)
    assert isinstance(before.knobs, MoreKnobs)
    assert (before.settings.warmup, before.knobs.noise) == (1, 0.125)
    assert dict(before.bonus_options)["ridge"] == 0.25
    assert before.config == old
    assert before.program().bonus.ridge == 0.25  # type: ignore[attr-defined]
    for config in (now, old):
        assert from_config(json.loads(json.dumps(config))).config == config


def test_every_setting_and_option_has_its_first_default_on_record() -> None:
    """If this fails, put what is new into `schema.json`; a setting under a new version."""
    missing: dict[str, Any] = {}
    for part, kind in (("knobs", Knobs), ("settings", Settings)):
        known = {name for fields in FIRST[part].values() for name in fields}
        missing |= {f.name: f.default for f in dataclasses.fields(kind) if f.name not in known}
        assert max(map(int, FIRST[part])) <= SCHEMA
    for kind in KINDS:
        for name in REGISTRIES[kind].names():
            if not REGISTRIES[kind][name].identity.startswith("clew."):
                continue  # another test's
            for option, parameter in schema._parameters(kind, name).items():
                if option not in FIRST[kind].get(name, {}):
                    missing[f"{kind} {name}: {option}"] = parameter.default
    assert not missing


def test_a_setting_is_never_taken_away() -> None:
    for part, kind in (("knobs", Knobs), ("settings", Settings)):
        known = {name for fields in FIRST[part].values() for name in fields}
        assert known <= {field.name for field in dataclasses.fields(kind)}


def test_all_columns_are_written(finished: Path) -> None:
    """And none that is not declared."""
    store = Store(finished, read_only=True)
    run = store.run(tiny().runs()[0].config)
    found = {"result": run.result(), "curve": run.curve(), "diagnostics": run.diagnostics()}
    for part, columns in COLUMNS.items():
        assert sorted(found[part]) == sorted(column.name for column in columns)
    header, _ = read_any(run.path / "config.json")
    assert header.schema == SCHEMA


def test_the_page_lists_all_columns() -> None:
    page = (GOLDEN.parents[1] / "docs" / "reference" / "store.md").read_text(encoding="utf-8")
    for part, columns in COLUMNS.items():
        for column in columns:
            assert f"| `{column.name}` | {column.meaning} |" in page, part


def test_a_column_of_a_later_version_may_be_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(COLUMNS, "curve", (Column("steps", "…"), Column("new", "…", since=2)))
    found = {"steps": 1}
    assert require("run", "curve", found, ("steps", "new"), schema=1) == found
    with pytest.raises(BadInput, match="the curve of run some-run has no 'new'"):
        require("some-run", "curve", found, ("steps", "new"), schema=2)


def test_a_document_of_before_is_of_version_1(tmp_path: Path) -> None:
    for path in (GOLDEN / "store-1").rglob("*.json"):
        assert b'"schema"' not in path.read_bytes()
        assert read_any(path)[0].schema == 1
    write_document(tmp_path / "x.json", Header("curve", "ab", SCHEMA), {})
    assert read_any(tmp_path / "x.json")[0].schema == SCHEMA > 1
