"""Suites as small TOML files, in the words of the code. Errors name file, field and value."""

from __future__ import annotations

import dataclasses
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from clew.store.canonical import plain
from clew.suite.suite import Block, Suite
from clew.validate import BadInput, known_names

SHARED = ("knobs", "settings")


def read_suite(path: Path) -> Suite:
    """The suite that a file declares, validated whole."""
    try:
        declared = tomllib.loads(path.read_text(encoding="utf-8"))
    except RecursionError:
        raise BadInput(f"{path}: it is nested too deep") from None
    except ValueError as error:
        # not TOML, not UTF-8, or a number of thousands of digits
        raise BadInput(f"{path}: {error}") from None
    try:
        return parse_suite(declared, path.stem)
    except BadInput as error:
        raise BadInput(f"{path}: {error}") from None


def parse_suite(declared: Mapping[str, Any], name: str) -> Suite:
    """The suite that a mapping declares: [[block]] tables, and what all of them share."""
    known_names("field", declared, ("name", "about", "share", "block", *SHARED))
    blocks = declared.get("block", [])
    if not isinstance(blocks, list) or not blocks:
        raise BadInput("block is missing; a suite has at least one [[block]] table")
    shared = {field: dict(_table(field, declared.get(field, {}))) for field in SHARED}
    return Suite(
        name=_kind("name", declared.get("name", name), str),
        about=_kind("about", declared.get("about", ""), str),
        share=_kind("share", declared.get("share", False), bool),
        blocks=[_block(number, block, shared) for number, block in enumerate(blocks, 1)],
    )


def _block(number: int, declared: Any, shared: Mapping[str, Mapping[str, Any]]) -> Block:
    where = f"block {number}"
    try:
        declared = dict(_table("block", declared))
        for name, value in {**shared, **declared}.items():
            plain(value, name)  # no dates, no infinities
        fields = {field.name: field for field in dataclasses.fields(Block)}
        known_names("field", declared, tuple(fields))
        for name, field in fields.items():
            needed = (
                field.default is dataclasses.MISSING
                and field.default_factory is dataclasses.MISSING
            )
            if needed and name not in declared:
                raise BadInput(f"{name} is missing")
        for name in ("environment_options", "architecture_options", "bonus_options"):
            _table(name, declared.get(name, {}))
        for name in ("architecture_options", "bonus_options"):
            for key, value in declared.get(name, {}).items():
                _table(f"{name}.{key}", value)
        for name in SHARED:
            declared[name] = {**shared[name], **_table(name, declared.get(name, {}))}
        block = Block(**declared)
        for run in block.runs():
            run.program()
            plain(run.config)
        return block
    except BadInput as error:
        raise BadInput(f"{where}: {error}") from None


def _table(field: str, value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise BadInput(f"{field}={value!r} is not valid; it must be a table")
    return value


def _kind(field: str, value: Any, kind: type) -> Any:
    if type(value) is not kind:
        words = {str: "text", bool: "true or false"}[kind]
        raise BadInput(f"{field}={value!r} is not valid; it must be {words}")
    return value
