"""What a newcomer gets wrong, each answered by one sentence with a way out, and exit code 2."""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from clew.store.documents import Header, write_document
from tests.cli.called import called

BLOCK = """
[[block]]
environment = "TinyReproduce"
rewards = ["dense"]
architectures = ["GRU"]
steps = 100_000
"""
HEADER = "environment,agent,bonus,seed,score\n"
FILES = {
    "file": "",
    "other/notes.txt": "no store",
    "good.toml": BLOCK,
    "syntax.toml": 'name = "x\n',
    "twice.toml": f"{BLOCK}steps = 5\n",
    "latin.toml": b'name = "caf\xe9"\n',
    "empty.toml": "",
    "bracket.toml": BLOCK.replace("[[block]]", "[block]"),
    "blocks.toml": BLOCK.replace("block", "blocks"),
    "lacking.toml": '[[block]]\nenvironment = "TinyReproduce"\n',
    "world.toml": BLOCK.replace("TinyReproduce", "TinyReproduse"),
    "reward.toml": BLOCK.replace("dense", "dence"),
    "memory.toml": BLOCK.replace("GRU", "gruu"),
    "bonus.toml": f'{BLOCK}bonuses = ["e3bb"]\n',
    "field.toml": f"{BLOCK}sedes = 5\n",
    "option.toml": f"{BLOCK}environment_options = {{q = 5}}\n",
    "value.toml": f'{BLOCK}environment_options = {{k = "five"}}\n',
    "text.toml": BLOCK.replace("100_000", '"many"'),
    "scalar.toml": BLOCK.replace('["GRU"]', '"GRU"'),
    "knob.toml": f"{BLOCK}knobs = {{lr = 1e-3}}\n",
    "rate.toml": f"{BLOCK}knobs = {{learning_rate = -1}}\n",
    "setting.toml": f"{BLOCK}settings = {{envs = 0}}\n",
    "whole.toml": BLOCK.replace("100_000", "1e6"),
    "plural.toml": f'{BLOCK}bonus = "e3b"\n',
    "again.toml": BLOCK.replace('"GRU"', '"GRU", "GRU"'),
    "none.toml": BLOCK.replace('"GRU"', ""),
    "maze.py": "import gymnasium\nnumber = 5\n\n\nclass endless(gymnasium.Env):\n"
    "    observation_space = action_space = gymnasium.spaces.Discrete(2)\n",
    "many.toml": f"{BLOCK}seeds = 100_000\n",
    "module.toml": f'modules = ["not_there"]\n{BLOCK}',
    "broken.py": "import not_there\n",
    "no_baseline.csv": f"{HEADER}maze,GRU,e3b,0,0.5\n",
    "no_score.csv": "environment,agent,bonus,seed\nmaze,GRU,none,0\n",
    "one_arm.csv": "environment,agent,seed,score\nmaze,GRU,0,0.5\n",
    "nan.csv": f"{HEADER}maze,GRU,none,0,0.5\nmaze,GRU,e3b,0,nan\n",
    "words.csv": f"{HEADER}maze,GRU,none,0,good\n",
    "large.csv": f"{HEADER}maze,GRU,none,0,250\n",
    "same_seed.csv": f"{HEADER}maze,GRU,none,0,0.1\nmaze,GRU,none,0,0.2\n",
    "semicolons.csv": "environment;agent;bonus;seed;score\nmaze;GRU;none;0;0,5\n",
    "short.csv": f"{HEADER}maze,GRU,none,0,0.1\nmaze,GRU,none,1\n",
    "nothing.csv": "",
    "header.csv": HEADER,
    "binary.csv": bytes(range(256)),
    "sheet.xlsx": b"PK",
    "lines.jsonl": "{no\n",
    "good.csv": f"{HEADER}maze,GRU,none,0,0.1\nmaze,GRU,e3b,0,0.3\n",
}
TRAIN = "train TinyReproduce --reward dense --architecture GRU --steps 100000"

MISTAKES = {
    # words and flags
    "lst": r"there is no command 'lst' \(did you mean 'list'\?\); `clew --help` lists them",
    "Run demo": "there is no command 'Run' .*did you mean 'run'",
    "--verison": "there is no command '--verison' .*did you mean '--version'",
    "help rnu": "there is no command 'rnu' .*did you mean 'run'",
    "run": "clew run needs SUITE; see `clew run --help`",
    "bench": "clew bench needs {train}; see",
    "train TinyReproduce --reward sparse": "clew train needs --architecture and --steps",
    "train": "clew train needs ENVIRONMENT, --reward, --architecture and --steps; see",
    "merge here": "clew merge needs INTO; see `clew merge --help`",
    "run demo --stor x": r"clew run has no flag '--stor' \(did you mean '--store'\?\); `clew run",
    "run demo -store x": "clew run has no flag '-store' .*did you mean '--store'",
    f"{TRAIN} --knobs.gama 1": "clew train has no flag '--knobs.gama' .*did you mean '--knobs.gam",
    f"{TRAIN} --device gpu": "clew train has no flag '--device': jax takes a GPU if it finds one",
    "run demo extra": "clew run does not know what to do with 'extra'; see",
    "classify TMaze length=5": ".* know what to do with 'length=5'; options follow --options; see",
    f"{TRAIN} k=5": ".*; options follow --environment-options or --architecture-options or --",
    "run demo --pack-size": "--pack-size needs a value; see",
    "run demo --on mars": "--on='mars' is not valid; choose 'local', 'slurm' or 'ray'",
    "run demo --sbatch account": "--sbatch needs pairs, NAME VALUE; see",
    # numbers
    f"{TRAIN} --steps abc": "--steps: 'abc' is not a whole number such as 1000",
    f"{TRAIN} --steps 1,000": "--steps: '1,000' is not a whole number such as 1000",
    f"{TRAIN} --steps 1.5e0": "--steps: '1.5e0' is not a whole number",
    f"{TRAIN} --steps 1e999": "--steps: '1e999' is not a whole number",
    f"{TRAIN} --steps -5": "steps=-5 is not valid; it must be a whole number of at least 1",
    f"{TRAIN} --steps 1": "steps=1 is not valid; it must be at least 81920",
    f"{TRAIN} --steps 99999999999": "steps=99999999999 is not valid; it must be .* to 2147483647",
    f"{TRAIN} --seeds 0": "seeds=0 is not valid; it must be a whole number from 1",
    f"{TRAIN} --knobs.gamma 2": "knobs: gamma=2.0 is not valid; it must be from 0 to 1",
    f"{TRAIN} --settings.chunk 60": "settings: chunk=60 is not valid; it must divide",
    "demo --workers two": "--workers: 'two' is not a whole number",
    "demo --workers 0": "workers=0 is not valid; it must be a whole number of at least 1",
    "run good.toml --pack-size 0": "pack_size=0 is not valid; it must be",
    "run good.toml --time-limit soon": "time_limit='soon' is not valid; write 90s",
    "report good.csv --margin big": "--margin: 'big' is not a number such as 0.5",
    "report good.csv --margin -1": "margin=-1.0 is not valid; it must be between 0 and 1",
    "bench train --chunk 60": "chunk=60 is not valid; it must divide",
    # names
    "train TinyReproduse --reward dense --architecture GRU --steps 100000":
        "unknown environment 'TinyReproduse'; .*did you mean 'TinyReproduce'",
    "train gymnasium:CartPole-v9 --reward native --architecture GRU --steps 100000":
        "Gymnasium has no environment 'CartPole-v9' .*did you mean 'CartPole-v1'",
    "train gymnasium:No-v0 --reward native --architecture GRU --steps 100000":
        "Gymnasium has no environment 'No-v0' .*write gymnasium:PACKAGE:No-v0",
    "train CartPole-v1 --reward native --architecture GRU --steps 100000":
        "unknown environment 'CartPole-v1'; .*; one .* is written gymnasium:CartPole-v1, one",
    "train my_maze --reward native --architecture GRU --steps 100000":
        "unknown environment 'my_maze'; .* gymnasium:ID, one of yours module:function",
    "train gymnasium: --reward native --architecture GRU --steps 100000":
        "'gymnasium:' names no environment; write gymnasium:CartPole-v1",
    "train gymnasium:CartPole-v1 --reward native --architecture GRU --steps 100000"
    " --environment-options size=5":
        "gymnasium:CartPole-v1 cannot be made .*'size'.*; environment_options are its arguments",
    "train maze.py:make --reward native --architecture GRU --steps 100000":
        r"'maze.py:make' cannot be imported .*; write maze:make, with a module",
    "train maze:number --reward native --architecture GRU --steps 100000":
        "'maze:number' is not a function; name one that makes a gymnasium.Env",
    "train gymnasium:Pendulum-v1 --reward native --architecture GRU --steps 100000":
        "actions of gymnasium:Pendulum-v1 are Box.*; .*so wrap the environment",
    "train maze:endless --reward native --architecture GRU --steps 100000":
        "maze:endless has no time limit, .*; state one with the option max_episode_steps",
    "train not_there:make --reward native --architecture GRU --steps 100000":
        "'not_there:make' cannot be imported .*; write module:function",
    f"{TRAIN} --reward dence": "rewards='dence' is not valid; choose .*did you mean 'dense'",
    f"{TRAIN} --architecture gruu": "architectures='gruu' is not valid; .*did you mean 'GRU'",
    f"{TRAIN} --bonus E3B": "bonuses='E3B' is not valid; choose .*did you mean 'e3b'",
    f"{TRAIN} --environment-options k=two": "k='two' is not valid; it must be a whole number",
    f"{TRAIN} --environment-options k": "environment_options='k' is not valid; write name=value",
    "bench train --architectures GRUU": "unknown architecture 'GRUU'; .*did you mean 'GRU'",
    "list worlds": r"there is no 'worlds' to list \(did you mean 'environments'\?\); `clew list`",
    "list memory": r"there is no 'memory' to list \(did you mean 'architectures'\?\); `clew list`",
    "list GRUU": r"there is no 'GRUU' to list \(did you mean 'GRU'\?\); `clew list` shows all",
    "classify TinyReproduse": "'TinyReproduse' is neither a file nor .*did you mean 'TinyRepro",
    "classify file": "file, line 1, column 1: .*; expected a .POMDP file",
    "classify good.toml": "good.toml, line 2, column 3: this is no JSON: .*; found",
    "classify CartPole-v1": "'CartPole-v1' is neither a file nor a name; .*, or gymnasium:ID",
    "new wrld x": "kind='wrld' is not valid; choose 'world', 'memory', 'bonus' or 'suite'",
    "new world é": "name='é' is not valid; write a letter, then",
    "new world class": "name='class' would need a module 'class', .*; choose another name",
    "new bonus e3b": "there is a bonus 'e3b' already; choose another name",
    "new suite good": "'good.toml' is there already, .*; choose another name",
    # suites
    "run nothing": r"suite='nothing' is not valid; choose 'demo'.*or the path of a \.toml file",
    "run Demo": "suite='Demo' is not valid; .*did you mean 'demo'",
    "run good": r"suite='good' is not valid; .*did you mean 'good.toml'",
    "run good.csv": "'good.csv' is not a suite, which is a .toml file; .*`clew report FILE` reads",
    "run whole.toml": "whole.toml: block 1: steps=1000000.0 is not valid; it .*: write 1000000",
    "run plural.toml": "plural.toml: block 1: .*'bonus'; .*did you mean 'bonuses'",
    "run again.toml": "again.toml: block 1: architectures=.* is not valid; it has an entry twice",
    "run none.toml": r"none.toml: block 1: architectures=\[\] .*; it must have at least one",
    "run good.toml --seeds 3": "clew run has no flag '--seeds'; `clew run --help` lists them",
    "run absent.toml": r"'absent.toml' is not a file; name a \.toml file, or 'demo'",
    "run other": r"'other' is not a file; name a \.toml file",
    "run syntax.toml": r"syntax.toml is not valid TOML: .*line 1, column 10\); mend that line",
    "run twice.toml": "twice.toml is not valid TOML: .*line 7",
    "run latin.toml": "latin.toml is not UTF-8 text; save it again as UTF-8",
    "run empty.toml": r"empty.toml: block is missing; a suite has at least one \[\[block\]\]",
    "run bracket.toml": r"bracket.toml: \[block\] is not valid; write \[\[block\]\]",
    "run blocks.toml": "blocks.toml: unknown field of the suite 'blocks'; .*did you mean 'block'",
    "run lacking.toml": "lacking.toml: block 1: rewards is missing; needed are environment, rew",
    "run world.toml": "world.toml: block 1: .*'TinyReproduse'; .*did you mean 'TinyReproduce'",
    "run reward.toml": "reward.toml: block 1: rewards='dence' is not valid; .*mean 'dense'",
    "run memory.toml": "memory.toml: block 1: architectures='gruu' .*did you mean 'GRU'",
    "run bonus.toml": "bonus.toml: block 1: bonuses='e3bb' .*did you mean 'e3b'",
    "run field.toml": "field.toml: block 1: unknown field of block 'sedes'; .*mean 'seeds'",
    "run option.toml": "option.toml: block 1: unknown option of TinyReproduce 'q'; choose 'k'",
    "run value.toml": "value.toml: block 1: k='five' is not valid; it must be a whole number",
    "run text.toml": "text.toml: block 1: steps='many' is not valid; it must be a whole number",
    "run scalar.toml": "scalar.toml: block 1: architectures='GRU' is not valid; it must be a list",
    "run knob.toml": "knob.toml: block 1: unknown knob 'lr'; choose .*'learning_rate'",
    "run rate.toml": "rate.toml: block 1: learning_rate=-1 is not valid; it must be above 0",
    "run setting.toml": "setting.toml: block 1: envs=0 is not valid; it must be",
    "run many.toml": "many has 300,000 runs, .*; for more than 20,000 runs add --yes",
    "run module.toml": "module.toml: the module 'not_there' .* cannot be imported .*; `python -c",
    "run good.toml --module broken.py": "the module 'broken' .*No module named 'not_there'.*shows",
    "run good.toml --module absent.py": "there is no module 'absent.py': .*; check the path",
    "run good.toml --module": "module='' is not valid; it must be the name of a module",
    "run good.toml --partition x": "partition='x' has no effect with --on local; it is for",
    "run good.toml --on slurm --gpus 3": "gpus=3 is not valid; it must be .* from 0 to 1",
    # stores
    "status": "'results' does not exist; name the folder of a store",
    "status absent": "'absent' does not exist; name the folder of a store",
    "status file": "'file' is not a folder; name the folder of a store",
    "status other": "'other' is not a store .*; name the folder that `clew run`, `clew train`",
    "status out": "'out' is not a store .*; did you mean 'out/demo'",
    "status old": "'old' is a store of layout 0, and this .* reads layout 1; use the version that",
    "show x": "'results' does not exist; name the folder of a store",
    "show x --store out/demo": "there is no run 'x' in 'out/demo', which is empty; `clew run`",
    "show x --gif play.mp4": "--gif: 'play.mp4' does not end in .gif; name such a file",
    "show x --episodes -1": "episodes=-1 is not valid; it must be a whole number of at least 0",
    "report out/demo": "'out/demo' holds no runs yet, .*; `clew run` or `clew train` makes some",
    "merge absent here": "'absent' does not exist; name the folder of a store",
    "merge out/demo out/demo": "'out/demo' and 'out/demo' are the same store; name two",
    "probe demo --store absent": "store='absent' does not exist; name .*, or train: clew run demo",
    "run good.toml --store file": "'.*file' is not a folder; name the folder of a store",
    "run good.toml --store other": "'.*other' is not a store .*, or a new or empty one",
    "run good.toml --store /proc/x": "'/proc/x.*' cannot be written .*; ",
    "demo --out file": "'.*file/demo/.*' cannot be read .*; name another folder",
    # tables
    "report absent.csv": "'absent.csv' does not exist; name a file of results or a store's folder",
    "report no_baseline.csv": "'no_baseline.csv': no run is without a bonus, .*; say with --basel",
    "report no_score.csv": "'no_score.csv' .*score.*; ",
    "report one_arm.csv": r"'one_arm.csv' has one agent \(GRU\) and no bonus, .*; add its runs",
    "report nan.csv": "'nan.csv', row 3: maze / native / GRU / e3b, seed 0 has no score; if",
    "report words.csv": "'words.csv', row 2: score='good' is no number; write one",
    "report large.csv": "'large.csv', row 2: score=250 is not from 0 to 1; .*--score-range",
    "report same_seed.csv": "'same_seed.csv', row 3: .* is there twice; give every run a seed",
    "report nothing.csv": "'nothing.csv' is empty; a first line with the columns' names",
    "report header.csv": "'header.csv' has no rows below its header; add one a run",
    "report binary.csv": "'binary.csv' is not UTF-8 text; save it again as 'CSV UTF-8'",
    "report sheet.xlsx": r"'sheet.xlsx' is no \.csv, .*; save the results as one",
    "report lines.jsonl": "'lines.jsonl', line 1 is no JSON object; one a line is expected",
    "report good.csv --score-range 5 1": "--score-range '5 1' is not valid; write LOW HIGH",
    "report good.csv --against papre": "against='papre' is not valid; give 'paper'",
    "report good.csv --out page.pdf": "--out: 'page.pdf' does not end in .html; name such a file",
    "report papers": r"'papers' does not exist \(did you mean 'paper'\?\); name a store",
    "report semicolons.csv": "'semicolons.csv' is separated by semicolons, .*; save it with commas",
    "report short.csv": "'short.csv', line 3: 4 cells, but the header has 5; put cells",
    "report good.toml": r"'good.toml' is no \.csv, .*; save the results as one",
    "report good.csv --out other": "'other' cannot be written .*; it is a folder: name a file",
    "report good.csv --out file/x.html": "'file' cannot be .*; a file is where a folder should",
    "report good.csv --json good.csv": "--json: 'good.csv' does not end in .json; name",
    "report out/demo --baseline none": "--baseline is for a file of results, .*; name the file",
    "export good.csv": "clew export needs --out; see",
}  # fmt: skip
EXTRAS = {"run good.toml --on ray": "ray", "run good.toml --on slurm": "submitit"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("mistakes")
    for name, text in FILES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(text.encode() if isinstance(text, str) else text)
    for name, layout in {"old": 0, "out/demo": 1}.items():
        (folder / name).mkdir(parents=True)
        write_document(
            folder / name / "clew-store.json", Header("store", "store"), {"layout": layout}
        )
    return folder


@pytest.mark.parametrize("words", [*MISTAKES, *EXTRAS])
def test_a_mistake_is_one_sentence_with_a_way_out(
    words: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if words in EXTRAS and importlib.util.find_spec(EXTRAS[words]):
        pytest.skip("the extra is installed")
    monkeypatch.chdir(folder)
    before = sorted(folder.rglob("*"))
    done = called(*shlex.split(words))
    said = MISTAKES.get(words) or f"on=.* needs {EXTRAS.get(words)}, which is not inst.*pip install"
    assert done.code == 2
    assert re.match(f"clew: {said}", done.err), done.err
    assert done.err.count("\n") == 1
    assert re.search(r"; |did you mean|: jax takes|such as|pip install", done.err), "no way out"
    assert done.out.strip() == "" or words.startswith("demo --out")  # having said what for
    assert [path for path in sorted(folder.rglob("*")) if "__pycache__" not in str(path)] == before


@pytest.mark.parametrize(
    ("meant", "typed"),
    [("--help", "help"), ("run --help", "help run"), ("--version", "-V"), ("--version", "version")],
)
def test_other_ways_to_ask(meant: str, typed: str) -> None:
    assert called(*typed.split()) == called(*meant.split())
    assert called(*typed.split()).code == 0


def test_a_large_number_may_have_an_exponent(tmp_path: Path) -> None:
    store = ("--store", str(tmp_path / "new"), "--dry-run")
    assert called(*shlex.split(TRAIN), *store) == called(
        *shlex.split(TRAIN), "--steps", "1e5", *store
    )


@pytest.mark.skipif(
    importlib.util.find_spec("jax_plugins") is not None, reason="there may be such a device"
)
@pytest.mark.parametrize("words", ["bench train", "--version"])
def test_a_device_that_is_not_there(words: str) -> None:
    command = [sys.executable, "-m", "clew", *words.split()]
    env = {**os.environ, "JAX_PLATFORMS": "cuda"}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    if words == "--version":
        assert done.returncode == 0
        assert "devices: jax finds none" in done.stdout
    else:
        assert done.returncode == 2
        assert re.fullmatch(
            "clew: JAX_PLATFORMS='cuda' names a device .*; unset it, .*\n", done.stderr
        )
