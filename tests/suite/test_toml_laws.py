"""Whatever is declared, the answer is a suite or a sentence."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from clew.store import canonical
from clew.suite import Suite, from_config, read_suite
from clew.suite.toml import parse_suite
from clew.validate import BadInput
from tests.suite.declared import as_toml, rich

WORDS = st.sampled_from(
    ["GRU", "none", "e3b", "dense", "sparse", "view", "heads", "width", "TinyReproduce", "mlp", ""]
)
# Whole numbers are small or far too large: settings in between ask for real work to list divisors.
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-3, 70)
    | st.sampled_from([2**31, 2**63, 2**64, -(2**63) - 1, 10**400])
    | st.floats()
    | WORDS
    | st.text(max_size=3)
    | st.dates()
)
ANYTHING = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=2),
    max_leaves=4,
)
# the divisors of these would be listed one by one
SLOW = {"envs", "steps", "chunk", "chunks_per_batch"}


def places(data: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where something stands in nested data."""
    found = [path] if path else []
    if isinstance(data, dict):
        for key, inner in data.items():
            found += places(inner, (*path, key))
    if isinstance(data, list):
        for i, inner in enumerate(data):
            found += places(inner, (*path, i))
    return found


@st.composite
def mutated(draw: st.DrawFn) -> dict[str, Any]:
    whole = rich()
    for _ in range(draw(st.integers(1, 3))):
        path = draw(st.sampled_from(places(whole)))
        at: Any = whole
        for key in path[:-1]:
            at = at[key]
        what = draw(st.sampled_from(["replace", "remove", "add"]))
        if what == "remove":
            del at[path[-1]]
        elif what == "add" and isinstance(at, dict):
            at[draw(WORDS)] = draw(ANYTHING)
        else:
            small = "settings" in path and SLOW & {str(key) for key in path}
            at[path[-1]] = draw(st.integers(-2, 64) if small else ANYTHING)
    return whole


@given(mutated())
@settings(max_examples=40)
def test_a_mutated_declaration_is_a_suite_or_a_sentence(data: dict[str, Any]) -> None:
    with contextlib.suppress(BadInput):
        assert isinstance(parse_suite(data, "mutated"), Suite)


@given(mutated())
@settings(max_examples=15, suppress_health_check=[HealthCheck.filter_too_much])
def test_what_a_mutated_declaration_declares_comes_back(data: dict[str, Any]) -> None:
    suite = None
    with contextlib.suppress(BadInput):
        suite = parse_suite(data, "mutated")
    assume(suite is not None)
    assert suite is not None
    runs = suite.runs()
    assert runs
    for run in runs[:5]:
        assert from_config(run.config) == run
        assert canonical(from_config(run.config).config) == canonical(run.config)


@given(st.text(max_size=40) | st.binary(max_size=40))
def test_any_file_is_a_suite_or_a_sentence(tmp_path_factory: Any, written: str | bytes) -> None:
    path = tmp_path_factory.mktemp("any") / "any.toml"
    path.write_bytes(written if isinstance(written, bytes) else written.encode())
    with pytest.raises(BadInput, match=r"any\.toml(: | is not )"):
        read_suite(path)


@given(seeds=st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=4, unique=True),
       rates=st.lists(st.floats(1e-9, 1.0), min_size=1, max_size=3, unique=True),
       about=st.text(st.characters(exclude_categories=["Cs"]), max_size=20))  # fmt: skip
@settings(max_examples=15)
def test_a_valid_file_goes_round(
    tmp_path_factory: Any, seeds: list[int], rates: list[float], about: str
) -> None:
    data = {**rich(), "about": about}
    data["block"][0] |= {"seeds": seeds, "knobs": {"learning_rate": rates}}
    path = tmp_path_factory.mktemp("round") / "round.toml"
    path.write_text(as_toml(data), encoding="utf-8")
    suite = read_suite(path)
    assert suite.about == about
    assert suite.runs() == parse_suite(data, "").runs()
    assert {run.seed for run in suite.runs()[:-2]} == set(seeds)
    assert {run.knobs.learning_rate for run in suite.runs()[:-2]} == set(rates)
