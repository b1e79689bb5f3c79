"""What docs/howto/suites.md shows is what happens."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from clew.suite import read_suite
from clew.validate import BadInput

PAGE = (Path(__file__).parents[2] / "docs" / "howto" / "suites.md").read_text()
(EXAMPLE,) = re.findall(r"^```toml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def test_the_example_is_a_suite(tmp_path: Path) -> None:
    path = tmp_path / "my.toml"
    path.write_text(EXAMPLE, encoding="utf-8")
    suite = read_suite(path)
    assert f"That is {len(suite.runs())} runs." in PAGE
    assert suite.name == "corridor"
    assert suite.share


def test_the_mistake_is_answered_as_shown(tmp_path: Path) -> None:
    path = tmp_path / "my.toml"
    path.write_text(EXAMPLE.replace('"sparse"', '"sprase"'), encoding="utf-8")
    with pytest.raises(BadInput) as error:
        read_suite(path)
    assert f"clew: {error.value}".replace(str(path), "my.toml") in PAGE.splitlines()
