# Everything starts from a bare python3 (>= 3.11): each target sets up its own virtual environment first.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
OUT    ?= out
# Two workers, each with whole files: what a file compiles is compiled once.
PYTEST ?= -n 2 --dist loadfile

.PHONY: demo gallery test test-all test-oldest lint bench docs clean

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "heliotrope needs Python 3.11 or newer, found " + sys.version)'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@

demo: $(READY)  ## a quick benchmark of plants, gridworlds and sensors: a table, and a page to look at
	$(BIN)/heliotrope bench demo --out $(OUT)/demo

gallery: $(READY)  ## random, stay, oracle and planner on every task: tables, animations, contact sheets
	$(BIN)/heliotrope gallery --out $(OUT)/gallery

lint: $(READY)
	$(BIN)/ruff check src tests benchmarks scripts
	$(BIN)/ruff format --check src tests benchmarks scripts
	$(BIN)/mypy

test: lint  ## lint, types and the quick tests
	$(BIN)/pytest $(PYTEST)

test-all: lint  ## the slow tests too
	$(BIN)/pytest $(PYTEST) -m 'slow or not slow'

test-oldest:  ## the contracts on the oldest supported versions (needs Python 3.11)
	$(PYTHON) -m venv .venv-oldest
	.venv-oldest/bin/python -m pip install --quiet 'gymnasium==1.2.0' 'numpy==1.26.0' 'numba==0.68.0' 'pytest>=8' 'hypothesis>=6.100' 'pygame>=2.5' 'pillow>=10.1' --editable .
	.venv-oldest/bin/python -m pytest tests/engine tests/contracts

bench: $(READY)  ## throughput as ratios within one run: a table and $(OUT)/throughput.json
	$(BIN)/python benchmarks/throughput.py --json $(OUT)/throughput.json
	$(BIN)/python benchmarks/sensors.py

docs: $(READY)  ## regenerate the tables and pictures that README and docs show
	$(BIN)/python scripts/make_tables.py
	$(BIN)/python scripts/make_sensor_pictures.py

clean:
	rm -rf $(VENV) $(OUT) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
