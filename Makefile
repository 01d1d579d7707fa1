# Every target makes its own environment; nothing is installed twice.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SITE := .venv-site
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
GROUND := pyproject.toml constraints.txt
JOBS ?= 2
# Two workers with one thread each: oversubscribed OpenMP is many times slower.
ONE_THREAD := OMP_NUM_THREADS=1 MKL_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1

.PHONY: install demo test test-long lint bench docs site dist clean

install: $(VENV)/.installed

demo: $(VENV)/.demo
	$(BIN)/wassermix demo

test: $(VENV)/.dev
	$(ONE_THREAD) $(BIN)/python -m pytest -n $(JOBS) --dist worksteal

# Checks that take many minutes, such as ten epochs of MNIST against published certificates.
test-long: $(VENV)/.dev
	$(BIN)/python -m pytest -m long

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/.bench
	$(BIN)/python -m benchmarks

# The pages and pictures of docs/, from the files under results/.
docs: $(VENV)/.installed
	$(BIN)/python docs/make.py

# The web site into site/: pages, gallery and API reference; its tools need no torch.
site: $(SITE)/.installed
	NO_MKDOCS_2_WARNING=1 $(SITE)/bin/mkdocs build --strict

# Wheel and sdist into dist/, checked and used in an empty environment.
dist:
	PYTHON=$(PYTHON) .ci/dist

clean:
	rm -rf $(VENV) $(SITE) site build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis src/*.egg-info demo-run
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# torch first and alone: a looser request by another package would take another build of it.
$(VENV)/.torch:
	$(PYTHON) -m venv $(VENV)
	$(PIP) torch
	touch $@

$(VENV)/.installed: $(VENV)/.torch $(GROUND)
	$(PIP) -e .
	touch $@

$(VENV)/.demo: $(VENV)/.installed
	$(PIP) -e '.[demo]'
	touch $@

$(VENV)/.dev: $(VENV)/.installed
	$(PIP) -e '.[dev]'
	touch $@

$(VENV)/.bench: $(VENV)/.dev
	$(PIP) -e '.[dev,bench]'
	touch $@

$(SITE)/.installed: constraints.txt
	$(PYTHON) -m venv $(SITE)
	$(SITE)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt mkdocs-material 'mkdocstrings[python]'
	touch $@
