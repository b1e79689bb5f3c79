"""What packages and users' modules offer: found without an import, and never a reason to fail."""

from __future__ import annotations

import dataclasses
import pickle
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clew import plugins, source
from clew.cli import split_modules
from clew.plugins import UserModule, modules_in_use, use_again, use_modules
from clew.registry import Registry
from clew.store import Store
from clew.suite import Stop
from clew.suite.launchers import WorkerConfig, run_worker
from clew.validate import BadInput
from tests.cli.called import called
from tests.suite.declared import tiny

GROUP = "clew.things"
THING = '''
    """A module that must not be imported for a list."""
    import sys
    from somewhere_made_up import register

    @register("small", size=1)
    class Thing:
        """A thing of a size.

        Args:
            size: How large.
        """

        def __init__(self, size: int = 3):
            self.size = size
'''


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that packages are installed into; what was imported from it is forgotten."""
    before = set(sys.modules)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(plugins, "_in_use", {})
    yield tmp_path
    for name in set(sys.modules) - before:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]
    source.syntax.cache_clear()


def install(site: Path, name: str, points: dict[str, str], group: str = GROUP) -> None:
    """As pip would leave it."""
    folder = site / f"{name.replace('-', '_')}-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    lines = [f"{point} = {target}" for point, target in points.items()]
    (folder / "entry_points.txt").write_text("\n".join([f"[{group}]", *lines, ""]))


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(textwrap.dedent(text))
    return path


def things() -> Registry[Any]:
    return Registry("thing", None, GROUP)


def test_an_offer_is_read_and_not_imported(site: Path) -> None:
    write(site / "pack" / "__init__.py", "from .inner import Thing as Again\nraise RuntimeError")
    write(site / "pack" / "inner.py", THING)
    install(site, "a-pack", {"small": "pack.inner:Thing", "other": "pack:Again"})
    found = things()
    assert found.names() == ("other", "small")
    assert found["small"].outline().about == "A thing of a size."
    assert found["small"].outline().options == ()
    assert found["small"].preset == {"size": 1}
    assert found["other"].identity == "pack.inner:Thing"
    assert [option.about for option in found["other"].outline().options] == ["How large."]
    assert {found[name].origin for name in found.names()} == {"a-pack 1.0"}
    assert not [name for name in sys.modules if name.split(".")[0] == "pack"]


def test_it_is_imported_when_it_is_used(site: Path) -> None:
    found = things()
    sys.modules["somewhere_made_up"] = type(sys)("somewhere_made_up")
    sys.modules["somewhere_made_up"].register = found.register  # type: ignore[attr-defined]
    try:
        write(site / "pack" / "__init__.py", "from .inner import Thing")
        write(site / "pack" / "inner.py", THING)
        install(site, "a-pack", {"small": "pack:Thing"})
        assert found.make("small").size == 1
    finally:
        del sys.modules["somewhere_made_up"]
    assert found["small"].package == "a-pack 1.0"
    with pytest.raises(BadInput, match=r"'small' is registered twice, by a-pack 1\.0 and"):
        found.add("small", test_it_is_imported_when_it_is_used)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("import no_such_module", r"\(ModuleNotFoundError: No module named 'no_such_module'\)"),
        ("raise ValueError", r"\(ValueError\)"),
        ("raise ValueError('one\\ntwo')", r"\(ValueError: one\)"),
        ("import sys; sys.exit(3)", r"\(SystemExit: 3\)"),
        ("def broken(", r"\(SyntaxError: "),
        (None, r"\(ModuleNotFoundError: No module named 'bad'\)"),
    ],
)
def test_a_plugin_that_fails_is_one_sentence_with_its_name(
    site: Path, text: str | None, why: str
) -> None:
    if text is not None:
        write(site / "bad.py", text)
    write(site / "good.py", "def thing():\n    'Good.'\n    return 3")
    install(site, "a-pack", {"it": "bad:Thing"})
    install(site, "b-pack", {"good": "good:thing"})
    found = things()
    assert found.names() == ("good", "it")
    assert found["it"].outline().about == "Of a-pack 1.0, whose source cannot be read."
    assert found.make("good") == 3
    sentence = f"^the plugin a-pack 1.0, which offers 'it', cannot be imported {why}"
    with pytest.raises(BadInput, match=sentence):
        found.make("it")


def test_what_is_not_there(site: Path) -> None:
    write(site / "good.py", "")
    install(site, "a-pack", {"it": "good:thing", "all": "good"})
    found = things()
    assert found.names() == ("it",)
    assert found.problems == [
        "a-pack 1.0: its entry point 'all' must be module:attribute, and is 'good'"
    ]
    with pytest.raises(BadInput, match="'it', has no 'thing' in its module 'good'"):
        found.make("it")


def test_a_plugin_takes_nobodys_name(site: Path) -> None:
    write(site / "good.py", "def thing(): return 3\ndef other(): return 4")
    install(site, "a-pack", {"ours": "good:thing", "both": "good:thing"})
    install(site, "b-pack", {"both": "good:other", "free": "good:other"})
    found = things()
    found.add("ours", things)
    assert found.names() == ("both", "free", "ours")
    assert found["ours"].factory() is things
    (problem,) = found.problems
    assert problem.startswith("a-pack 1.0: its thing 'ours' is left out, as tests.test_plugins:")
    assert found.make("free") == 4
    twice = "thing 'both' is offered by a-pack 1.0 and by b-pack 1.0; uninstall one of them"
    assert found["both"].outline().about == twice
    with pytest.raises(BadInput, match=twice):
        found.make("both")


def test_a_broken_plugin_breaks_no_command(site: Path) -> None:
    """In a process of its own, which imports no jax for a list."""
    write(site / "bad.py", "def broken(")
    for kind in ("worlds", "memories", "bonuses", "suites", "latents"):
        install(site, f"bad-{kind}", {f"of-{kind}": "bad:Thing", "odd": "bad"}, f"clew.{kind}")
    code = """
        import sys
        from clew.cli import main
        main(["list"])
        assert "jax" not in sys.modules
        from clew import envs
        envs.make("TinyReproduce")
        main(["classify", "of-worlds"])
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env={"PYTHONPATH": f"{site}:{Path(plugins.__file__).parents[1]}", "JAX_PLATFORMS": "cpu"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2, done.stderr
    assert "of-latents" in done.stdout
    assert "bad-bonuses 1.0: its entry point 'odd' must be module:attribute" in done.stdout
    assert done.stderr.startswith(
        "clew: the plugin bad-worlds 1.0, which offers 'of-worlds', cannot be imported (SyntaxError"
    )
    assert len(done.stderr.splitlines()) == 1


def test_modules_beside_a_suite(site: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("beside")
    write(folder / "helper_of_mine.py", "VALUE = 3")
    write(folder / "thing_of_mine.py", "import helper_of_mine")
    write(folder / "pack_of_mine" / "worlds.py", "")
    use_modules(["thing_of_mine", "pack_of_mine.worlds"], folder)
    assert sys.modules["helper_of_mine"].VALUE == 3
    use_modules(
        ["beside/other_of_mine.py"], write(folder / "beside" / "other_of_mine.py", "").parents[1]
    )
    assert modules_in_use() == (
        UserModule("thing_of_mine", str(folder)),
        UserModule("pack_of_mine.worlds", str(folder)),
        UserModule("other_of_mine", str(folder / "beside")),
    )
    for name in ("thing_of_mine", "helper_of_mine", "pack_of_mine.worlds", "pack_of_mine"):
        del sys.modules[name]
    use_again(modules_in_use())
    assert "helper_of_mine" in sys.modules


def test_a_worker_imports_them_first(site: Path, tmp_path: Path) -> None:
    write(tmp_path / "mine_too.py", "")
    use_modules(["mine_too"], tmp_path)
    config = WorkerConfig(suite=tiny(), store=tmp_path / "store")
    sent: WorkerConfig = pickle.loads(pickle.dumps(config))
    assert sent.modules == (UserModule("mine_too", str(tmp_path)),)
    gone = dataclasses.replace(sent, modules=(UserModule("is_not_there", "/nowhere"),))
    why = r"the module 'is_not_there' \(installed, or in /nowhere\) cannot be imported"
    with pytest.raises(BadInput, match=why):
        run_worker(gone, Stop())
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize("name", ["", "a b", "../x", "x;y", "é", "a..b", "a-b.py"])
def test_names_that_are_no_modules(site: Path, name: str) -> None:
    with pytest.raises(BadInput, match="is not valid; it must be the name of a module"):
        use_modules([name], site)


@pytest.mark.parametrize("taken", ["json", "sys", "clew"])
def test_a_module_that_another_one_hides(site: Path, taken: str) -> None:
    """It is said, and not passed over: somebody else's code would be used."""
    write(site / f"{taken}.py", "")
    with pytest.raises(BadInput, match=f"the module '{taken}' in .* is hidden by another"):
        use_modules([taken], site)


def test_the_flag() -> None:
    assert split_modules(["list", "--module", "a", "x", "--module=b"]) == (
        ["list", "x"],
        ["a", "b"],
    )
    assert split_modules(["--module"]) == ([], [""])
    done = called("list", "--module", "no_such.module")
    assert done.code == 2
    assert done.err.startswith("clew: the module 'no_such.module' (installed, or in ")
    assert "did you mean '--module'" in called("list", "--modules", "x").err


def test_a_suite_names_modules(site: Path) -> None:
    suite = write(site / "mine.toml", "modules = ['not_there']\n[[block]]\nenvironment = 'Mine'")
    done = called("run", str(suite), "--dry-run")
    assert done.err.startswith(f"clew: {suite}: the module 'not_there' (installed, or in {site}) ")
    suite.write_text("modules = 'not_there'\n[[block]]\n")
    assert "modules='not_there' is not valid; it must be a list" in called("run", str(suite)).err


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("os:system", {"command": "touch owned"}, "calls 'os:system', .*: --module os$"),
        ("gymnasium:evil:X-v0", {}, "calls 'gymnasium:evil:X-v0', .*: --module evil$"),
        ("gymnasium:X-v0", {"wrappers": ["evil.a:f"]}, "calls 'evil.a:f', .*: --module evil.a$"),
        ("Mine", {}, r"no environment 'Mine' here, .* it is from evil 1\.0: install"),
    ],
)
def test_nothing_that_a_store_names_is_imported(
    site: Path, monkeypatch: pytest.MonkeyPatch, name: str, options: dict[str, Any], said: str
) -> None:
    """A store may come from anybody: to look at it must not run what it says."""
    write(site / "evil.py", "open('owned', 'w').close()")
    write(site / "evil" / "a.py", "open('owned', 'w').close()")
    monkeypatch.chdir(site)
    config = {**tiny().runs()[0].config, "environment": name, "environment_options": options}
    run = Store(site / "store").run(config)
    numbers = np.arange(3.0)
    run.write_finished(
        {"tail_mean": 1.0, "final_success": 1.0, "first_success": 1, "steps": 9},
        curve={"steps": numbers, "success": numbers},
        diagnostics={},
        agent={"weight": numbers},
        provenance={"from": {"environment": "evil 1.0"}, "modules": ["evil"]},
    )
    for words in (["status"], ["report", "--proof-seconds", "30"]):
        called(words[0], "store", *words[1:])
    done = called("show", run.name, "--store", "store")
    assert done.code == 2
    assert re.search(said, done.err.strip()), done.err
    assert not (site / "owned").exists()
    assert "evil" not in sys.modules
