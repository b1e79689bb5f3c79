"""Suites as small TOML files. Errors name the file, the block, the field and the value."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from clew.loading import load, read_toml
from clew.plugins import use_modules
from clew.store.canonical import plain
from clew.suite.suite import Block, Suite
from clew.validate import BadInput

Table = Mapping[str, Any]


@dataclasses.dataclass(frozen=True, kw_only=True)
class SuiteFile:
    """What a file may declare."""

    name: str = ""
    """That of the file, if not given."""
    about: str = ""
    share: bool = False
    modules: list[str] = dataclasses.field(default_factory=list)
    """Of the user's own, installed or beside the file; they register what the blocks name."""
    knobs: Table = dataclasses.field(default_factory=dict)
    """Of all blocks that do not say otherwise."""
    settings: Table = dataclasses.field(default_factory=dict)
    """Of all blocks that do not say otherwise."""
    block: list[object]


def read_suite(path: Path) -> Suite:
    """The suite that a file declares, validated whole."""
    declared = read_toml(path)
    try:
        return parse_suite(declared, path.stem, path.parent)
    except BadInput as error:
        raise BadInput(f"{path}: {error}") from None


def parse_suite(declared: Table, name: str, folder: Path = Path()) -> Suite:
    """The suite that a mapping declares: [[block]] tables, and what all of them share."""
    if not declared.get("block") and "blocks" not in declared:
        raise BadInput("block is missing; a suite has at least one [[block]] table")
    if isinstance(declared.get("block"), Mapping):
        raise BadInput("[block] is not valid; write [[block]], with two brackets")
    file = load(declared, SuiteFile, "the suite")
    use_modules([*file.modules, *_beside(file, folder)], folder)
    return Suite(
        name=file.name or name,
        about=file.about,
        share=file.share,
        blocks=[_block(number, block, file) for number, block in enumerate(file.block, 1)],
    )


def _beside(file: SuiteFile, folder: Path) -> list[str]:
    """Modules of environments and wrappers that lie beside the suite, and not in this folder."""
    if folder.absolute() == Path.cwd():
        return []
    targets = []
    for block in (each for each in file.block if isinstance(each, Mapping)):
        options = block.get("environment_options")
        wrappers = options.get("wrappers") if isinstance(options, Mapping) else None
        targets += [block.get("environment"), *(wrappers if isinstance(wrappers, list) else [])]
    modules = dict.fromkeys(str(each).partition(":")[0] for each in targets if ":" in str(each))
    return [name for name in modules if (folder / f"{name}.py").is_file()]


def _block(number: int, declared: object, file: SuiteFile) -> Block:
    try:
        plain([file.knobs, file.settings, declared], "block")  # no dates, no infinities
        block = load(declared, Block, "block")
        block = dataclasses.replace(
            block,
            knobs={**file.knobs, **block.knobs},
            settings={**file.settings, **block.settings},
        )
        for run in block.samples():
            run.program()
            plain(run.config)
        return block
    except BadInput as error:
        raise BadInput(f"block {number}: {error}") from None
