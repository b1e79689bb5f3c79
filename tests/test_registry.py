"""What can be listed without an import is what is there once it is imported."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from clew import registry, source
from clew.bonuses.registry import bonuses
from clew.envs.pricelist import PriceList, plain_prices, price_list
from clew.envs.registry import environments
from clew.memory.registry import GIVEN, architectures
from clew.outline import REQUIRED, Option, Outline, outline_of, read_outline
from clew.registry import Registry
from clew.validate import BadInput

ALL = [
    pytest.param(room, name, id=name)
    for room in (environments, architectures, bonuses)
    for name in room.names()
]


@pytest.mark.parametrize(("room", "name"), ALL)
def test_the_source_says_what_the_object_says(room: Registry[object], name: str) -> None:
    entry = room[name]
    read, made = read_outline(entry.identity), outline_of(entry.factory())
    assert read.about == made.about == source.first_paragraph(inspect.getdoc(entry.factory()))
    assert read.description == made.description
    assert [option[::2] for option in read.options] == [option[::2] for option in made.options]
    assert [option.about for option in read.options] == [option.about for option in made.options]
    free = {option.name for option in entry.outline().options}
    assert free == {option.name for option in read.options} - set(entry.preset)
    assert 10 < len(read.about) < 64, "one line for a list"


@pytest.mark.parametrize(("room", "name"), ALL)
def test_every_option_says_what_it_means(room: Registry[object], name: str) -> None:
    options = [each for each in room[name].outline().options if each.name not in GIVEN]
    assert all(option.type and 6 < len(option.about) < 200 for option in options)
    assert all(option.default is not REQUIRED for option in options)


def test_names_cost_no_import_of_jax() -> None:
    code = (
        "import sys; from clew import bonuses, envs, memory; "
        "assert 'GRU' in memory.names() and 'e3b' in bonuses.names() and envs.names(); "
        "assert 'jax' not in sys.modules; memory.Architecture; assert 'jax' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("name", ["bonuses", "envs", "learner", "memory", "suite"])
def test_packages_that_import_on_use(name: str) -> None:
    package = importlib.import_module(f"clew.{name}")
    late = source.type_checking_imports(package.__name__)
    assert late.keys() <= set(package.__all__)
    assert not late.keys() & {each.name for each in pkgutil.iter_modules(package.__path__)}
    assert all(getattr(package, public) is not None for public in package.__all__)
    assert not hasattr(package, "nothing")


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package with a registry of its own."""
    folder = tmp_path / "passing" / "files"
    folder.mkdir(parents=True)
    (tmp_path / "passing" / "__init__.py").write_text(
        "from clew.registry import Registry\n"
        "things = Registry('thing', 'passing.files')\n"
        "register = things.register\n"
    )
    (folder / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    yield folder
    for name in [name for name in sys.modules if name.split(".")[0] == "passing"]:
        del sys.modules[name]
    source.syntax.cache_clear()


PLAIN = '''
from passing import register

@register("one", size=1)
@register("two", size=2)
def thing(size: int, colour: str = "red"):
    """A thing
    of a size.

    More about it.

    Args:
        size: How large.
        colour: What is seen of it,
            in a word.
    """
    return size, colour
'''


def test_a_file_is_read_and_imported_when_used(package: Path) -> None:
    (package / "plain.py").write_text(PLAIN)
    (package / "helper.py").write_text("raise RuntimeError('nobody needs me')")
    from passing import things  # pyright: ignore[reportMissingImports]

    assert things.names() == ("one", "two")
    colour = Option("colour", "str", "red", "What is seen of it, in a word.")
    wanted = Outline("A thing of a size.", "More about it.", (colour,))
    assert things["one"].outline() == wanted
    assert "passing.files.plain" not in sys.modules
    assert things.make("two") == (2, "red")
    assert things["one"].outline() == wanted
    with pytest.raises(BadInput, match=r"size=3 contradicts the name 'one'.* choose .*'two'"):
        things.make("one", size=3)


def test_what_cannot_be_read_is_imported(package: Path) -> None:
    name = "NAME = 'computed'\n"
    (package / "plain.py").write_text(name + PLAIN.replace('"one", size=1', "NAME, size=len(NAME)"))
    (package / "folder").mkdir()
    (package / "folder" / "__init__.py").write_text(
        "from passing import things\nthings.add('late', 'nowhere:Thing', size=2)\n"
    )
    from passing import things  # pyright: ignore[reportMissingImports]

    assert things.names() == ("computed", "late", "two")
    assert things.make("computed") == (8, "red")


def test_two_files_may_not_share_a_name(package: Path) -> None:
    (package / "plain.py").write_text(PLAIN)
    (package / "again.py").write_text(PLAIN)
    from passing import things  # pyright: ignore[reportMissingImports]

    with pytest.raises(BadInput, match="thing 'one' is registered twice"):
        things.names()
    assert registry.Entry("x", "module:attribute").identity == "module:attribute"


@pytest.mark.parametrize("name", environments.names())
def test_prices_and_events_are_read_off_the_source(name: str) -> None:
    world = environments.make(name)
    read = as_read(name)
    assert {n: dict(paid) for n, paid in world.reward_variants().items()} == read.rewards
    assert tuple(read.events) == world.event_names
    assert all(read.events.values())
    assert price_list(name) == read


def as_read(name: str) -> PriceList:
    """As if the world were not imported."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(registry.Entry, "imported", False)
        return price_list(name)


@pytest.mark.parametrize("prices", ["prices_of", "lambda world: table[world.size]", "lambda: {}"])
def test_prices_that_are_no_plain_expression_are_left_out(prices: str) -> None:
    (function,) = ast.parse(prices).body
    assert isinstance(function, ast.Expr)
    world = source.StandIn("clew.envs.worlds.tiny_reproduce.world:TinyReproduce", {"k": 4})
    assert plain_prices(function.value, world) == {}
    assert world.horizon == 7
    with pytest.raises(AttributeError, match="nothing"):
        _ = world.nothing
