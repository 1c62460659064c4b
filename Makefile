# Everything from nothing but Python >= 3.11 and make: each target makes .venv when it is missing.
# PYTHON picks the interpreter: `make test PYTHON=python3.12`.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
DEMO   := demo
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile

# Modules are compiled once, not by each of the hundreds of processes that tests and cases start.
export PYTHONDONTWRITEBYTECODE =

# A stamp is redone when what is installed changes: the dependencies, or the package itself.
SOURCES := $(shell find src -name '*.py' -o -name '*.yaml' 2>/dev/null)

.PHONY: demo test validate notebooks lint format docs clean help
.DELETE_ON_ERROR:

help:
	@echo "make demo     install, run scenarios/quickstart.yaml, draw its figures into $(DEMO)/"
	@echo "make test     install, run the fast test-suite"
	@echo "make validate the quick form of all validation cases"
	@echo "make notebooks every cell of docs/notebooks"
	@echo "make lint     ruff and mypy"
	@echo "make docs     build the documentation into site/"
	@echo "make clean    remove what these made"

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	    || { echo "seismo needs Python >= 3.11; $(PYTHON) is $$($(PYTHON) -V 2>&1). Name another: make PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null \
	    || { echo "$(PYTHON) cannot make virtual environments (no ensurepip). On Debian or Ubuntu: sudo apt install python3-venv" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

# A copy is installed only where the sources are not already installed in place (the targets below).
$(VENV)/installed: $(BIN)/python pyproject.toml $(SOURCES)
	@test -e $(VENV)/in-place || { echo "Installing seismo into $(VENV)"; $(INSTALL) .; }
	@touch $@

# Tests, linters and the site use the sources in place, so that an edit needs no new install.
$(VENV)/installed-test: $(BIN)/python pyproject.toml
	@echo "Installing seismo[test] into $(VENV)"
	@$(INSTALL) --editable '.[test]'
	@touch $(VENV)/in-place $@

# It has what tests and the site need.
$(VENV)/installed-dev: $(BIN)/python pyproject.toml
	@echo "Installing seismo[dev] into $(VENV)"
	@$(INSTALL) --editable '.[dev]'
	@touch $(VENV)/in-place $(VENV)/installed-test $(VENV)/installed-docs $@

$(VENV)/installed-docs: $(BIN)/python pyproject.toml
	@echo "Installing seismo[docs] into $(VENV)"
	@$(INSTALL) --editable '.[docs]'
	@touch $(VENV)/in-place $@

demo: $(VENV)/installed
	@mkdir -p $(DEMO)
	$(BIN)/seismo run scenarios/quickstart.yaml --output $(DEMO)/quickstart.h5
	$(BIN)/seismo plot $(DEMO)/quickstart.h5
	@echo "The results are in $(CURDIR)/$(DEMO)/quickstart.h5; its figures:"
	@find $(CURDIR)/$(DEMO) -name '*.png' -o -name '*.gif' -o -name '*.mp4' | sort

# Files of tests side by side; what they start has several threads and ranks of its own.
test: $(VENV)/installed-test
	$(BIN)/python -m pytest -n auto --maxprocesses 4 --dist loadfile --no-loadscope-reorder

# Two cases side by side, each on half of the cores.
validate: $(VENV)/installed-test
	$(BIN)/python validation/run.py --quick --jobs 2

# Every cell of docs/notebooks.
notebooks: $(VENV)/installed-test
	$(BIN)/python -m pytest -n 2 -m slow tests/repository/test_notebooks.py

lint: $(VENV)/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/installed-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(VENV)/installed-docs
	$(BIN)/mkdocs build --strict

clean:
	rm -rf $(VENV) $(DEMO) site build src/*.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
