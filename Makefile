# Two commands are all a newcomer needs: `make demo` and `make test`.
# Each builds the environment it runs in; nothing has to be installed first but Python 3.11 or newer.

PYTHON ?= python3
VENV   ?= .venv
BIN     = $(VENV)/bin
PIP     = $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

LOWEST  = tests/store tests/suite tests/cli tests/analysis/test_from_store.py tests/learner/test_golden_training.py \
	tests/memory tests/bonuses tests/test_cli.py

.PHONY: demo test fast test-slow test-lowest test-clusters test-wheel test-packages licences docs lint parity golden bench-envs bench-memory bench-peers bench-gymnasium clean help

help: ## list the targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 14

demo: $(VENV)/ready ## train a small study on this machine; table, figure and report go to out/
	$(BIN)/clew demo --out out

test: $(VENV)/ready ## lint, type-check, run the fast tests, side by side (what CI runs)
	@$(MAKE) --no-print-directory --jobs 2 lint fast

fast: $(VENV)/ready
	$(BIN)/python -m pytest -n 2

test-slow: $(VENV)/ready ## train small agents; brute force, fuzzing, kills: what takes minutes
	XLA_FLAGS= $(BIN)/python -m pytest -n 2 --dist load -m slow

test-lowest: .venv-lowest/ready ## a part of the tests with the lowest versions that pyproject.toml allows
	.venv-lowest/bin/python -m pytest -n 2 $(LOWEST)

test-wheel: $(VENV)/ready ## the wheel in clean environments of CLEW_PYTHONS="python3.11 python3.13", with packages from PyPI
	$(BIN)/python -m pytest -m slow tests/test_wheel.py

test-packages: .venv-originals/ready ## agents learn in MiniGrid, POPGym and an Atari game
	XLA_FLAGS= .venv-originals/bin/python -m pytest -m packages --durations=0

docs: $(VENV)/ready ## the documentation as a site, out/site/index.html; broken links fail
	$(BIN)/python benchmarks/cli_reference.py > docs/reference/cli.md
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

licences: $(VENV)/ready ## list the licences of what is installed with Clew, in docs/licences.md
	$(BIN)/python benchmarks/licences.py > docs/licences.md

test-clusters: .venv-clusters/ready ## workers on a real Ray and a real SLURM (apt-get install slurmctld slurmd munge), killed
	.venv-clusters/bin/python -m pytest -m clusters --durations=0

lint: $(VENV)/ready ## ruff and pyright
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright --pythonpath $(BIN)/python

parity: .venv-originals/ready ## compare the worlds with the original packages, live, 1,000 episodes each
	.venv-originals/bin/python -m pytest -n 2 -m originals

golden: .venv-originals/ready ## record the originals' traces that `make test` replays
	.venv-originals/bin/python -m tests.oracles.record_golden

bench-envs: .venv-originals/ready ## environment steps per second, against the originals, in one run
	.venv-originals/bin/python benchmarks/envs.py

bench-memory: $(VENV)/ready ## memories: unroll against a loop over step, alone and packed
	$(BIN)/python benchmarks/memory.py

bench-peers: .venv-peers/ready ## full training beside sb3-contrib's RecurrentPPO and two JAX trainers, in one run
	.venv-peers/bin/python benchmarks/peers.py

bench-gymnasium: .venv-peers/ready ## the same in Gymnasium environments, which both step on the host
	.venv-peers/bin/python benchmarks/gymnasium_peers.py

clean: ## remove what the targets above made
	rm -rf .venv .venv-originals .venv-lowest .venv-clusters .venv-peers out .pytest_cache .ruff_cache .hypothesis

$(VENV)/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(PIP) --editable '.[dev]'
	@touch $@

# memory-gym goes in last and without its dependencies: its pins exclude minigrid's.
.venv-originals/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv-originals
	.venv-originals/bin/python -m pip install --quiet --disable-pip-version-check \
		--constraint constraints.txt --editable '.[dev,originals]'
	.venv-originals/bin/python -m pip install --quiet --disable-pip-version-check --no-deps memory-gym==1.0.2
	@touch $@

.venv-lowest/ready: pyproject.toml constraints-lowest.txt
	$(PYTHON) -m venv .venv-lowest
	.venv-lowest/bin/python -m pip install --quiet --disable-pip-version-check \
		--constraint constraints-lowest.txt --editable '.[gym,report]' beartype hatchling hypothesis pytest pytest-xdist ruff
	@touch $@

.venv-clusters/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv-clusters
	.venv-clusters/bin/python -m pip install --quiet --disable-pip-version-check \
		--constraint constraints.txt --editable '.[dev,ray,slurm]'
	@touch $@

.venv-peers/ready: pyproject.toml constraints.txt benchmarks/peers.txt
	$(PYTHON) -m venv .venv-peers
	.venv-peers/bin/python -m pip install --quiet --disable-pip-version-check \
		--constraint constraints.txt --editable . --requirement benchmarks/peers.txt
	@touch $@
