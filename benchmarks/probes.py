"""How long do all probes of the `probe` suite take, once the states are recorded?

For example `python benchmarks/probes.py --folder /scratch`. The data are synthetic and as large as
they get: 36 runs, 200 episodes of each, all as long as the task allows. Of MysteryPath's 128 steps
each of the four questions is asked at 64 (a random walk is asked at 57 to 70), of MemoryS13's 845
the one question at all. States are as large as the suite's memories (GRU 128 numbers, LSTM 256,
GatedDeltaNet 64 × 64 and 128), in the precision of a recording, on disk, memory-mapped. Runs of
one task and architecture, and their questions, read one file; their labels are their own.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from pathlib import Path

import numpy as np

from clew.probes.fitting import Dataset, measure
from clew.probes.fitting.parallel import single_threaded_xla
from clew.probes.replay import WIDE

TASKS = {"MysteryPath/sparse": (64, 4), "MysteryPath/aligned": (64, 4), "MemoryS13": (845, 1)}
"""Steps of an episode at which a question is asked, and questions."""
STATES = {"GRU": 128, "LSTM": 256, "GatedDeltaNet": 64 * 64 + 128}
OBSERVATION = 128
RUNS = 4
"""Of a task and an architecture: with and without a bonus, two seeds."""


def states(path: Path, episode: np.ndarray, cues: np.ndarray, size: int, seed: int) -> np.ndarray:
    """A memory of 48 directions and noise; one direction for each cue remembers it a little."""
    rng = np.random.default_rng(seed)
    kind = np.float16 if size > WIDE else np.float32
    mixing = rng.standard_normal((48, size), np.float32) / 7
    grain = rng.standard_normal((4096, size), np.float32) / 10
    out = np.memmap(path, kind, "w+", shape=(len(episode), size))
    for start in range(0, len(episode), 4096):
        rows = slice(start, start + 4096)
        latent = rng.standard_normal((len(episode[rows]), 48), np.float32)
        latent[:, : cues.shape[1]] += 0.7 * cues[rows]
        np.tanh(latent @ mixing + grain[: len(latent)], out=out[rows], casting="same_kind")
    out.flush()
    return np.memmap(path, kind, "r", shape=out.shape)


def suite(folder: Path, episodes: int, longest: int) -> list[Dataset]:
    """A dataset for each question to each of 36 runs."""
    made = []
    for number, (task, (steps, questions)) in enumerate(TASKS.items()):
        steps = min(steps, longest)
        episode = np.repeat(np.arange(episodes, dtype=np.int32), steps)
        since = np.tile(np.arange(steps, dtype=np.int32), episodes)
        rng = np.random.default_rng(number)
        asked = RUNS * questions
        once = rng.integers(0, 2, (episodes, asked))[episode]
        cues = once if task == "MemoryS13" else rng.integers(0, 2, (len(episode), asked))
        for architecture, size in STATES.items():
            sizes = {"memory": size, "untrained": size, "observation": OBSERVATION}
            features = {
                name: states(folder / f"{number}-{architecture}-{name}", episode, cues, width, i)
                for i, (name, width) in enumerate(sizes.items())
            }
            made += [Dataset(cue.astype(np.uint8), episode, since, features) for cue in cues.T]
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, help="where the states go; they need 6 GB")
    parser.add_argument("--episodes", type=int, default=200)
    parser.add_argument("--longest", type=int, default=845, help="cuts episodes short")
    args = parser.parse_args()
    single_threaded_xla()
    if args.folder:
        args.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        datasets = suite(Path(folder), args.episodes, args.longest)
        began, busy = time.perf_counter(), time.process_time()

        def report(done: int, total: int) -> None:
            wall, cpu = time.perf_counter() - began, time.process_time() - busy
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
            spent = f"{wall:.0f} s, {cpu:.0f} s of processor, peak {peak:.2f} GB"
            if done % 30 == 0 or done == total:
                print(f"{done} of {total}: {spent}", flush=True)

        found = measure(datasets, seed=0, progress=report)
    aucs = [each.probes["memory"].linear for each in found if each.evaluable]
    print(f"AUC of {len(aucs)} questions to memories: {min(aucs):.3f} to {max(aucs):.3f}")
    left = sum(probe.unconverged for each in found for probe in each.probes.values())
    print(f"{left} fits did not converge")


if __name__ == "__main__":
    main()
