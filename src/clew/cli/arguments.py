"""How arguments are written and shown: a word for each that stands alone, and no `None` to type."""

from __future__ import annotations

import types
import typing
from pathlib import Path
from typing import Annotated, Any

from tyro.conf import arg
from tyro.constructors import ConstructorRegistry, PrimitiveConstructorSpec, PrimitiveTypeInfo

SuiteName = Annotated[str, arg(metavar="SUITE")]
RunName = Annotated[str, arg(metavar="RUN")]
WorldName = Annotated[str, arg(metavar="ENVIRONMENT")]
StorePath = Annotated[Path, arg(metavar="[STORE]")]
SourcePath = Annotated[Path, arg(metavar="FROM")]
IntoPath = Annotated[Path, arg(metavar="INTO")]
Subject = Annotated[str, arg(metavar="NAME")]

registry = ConstructorRegistry()
"""For tyro: what may be left out is left out, not given as `None`."""


@registry.primitive_rule
def _optional(info: PrimitiveTypeInfo) -> PrimitiveConstructorSpec[Any] | None:
    inner = [each for each in typing.get_args(info.type) if each is not types.NoneType]
    if info.type_origin not in (typing.Union, types.UnionType) or len(inner) != 1:
        return None
    (kind,) = inner
    if kind not in (int, str, Path):
        return None
    return PrimitiveConstructorSpec(
        nargs=1,
        metavar=kind.__name__.upper(),
        instance_from_str=lambda given: kind(given[0]),
        is_instance=lambda value: value is None or isinstance(value, kind),
        str_from_instance=lambda value: ["none" if value is None else str(value)],
    )
