# Two commands do everything on a fresh machine: make demo, make test.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
WORKERS ?= auto
HAND ?= 3 6 9 12
PIP := $(BIN)/python -m pip --disable-pip-version-check
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: help demo test lint types docs bench clean

help:
	@echo "make demo    install, fetch the model once (1.1 GB, verified), solve a Game of 24 by tree search"
	@echo "make test    install, run the whole test suite"
	@echo "make lint    ruff and format rules;  make types   mypy --strict;  make bench   benchmarks"
	@echo "make clean   remove the virtual environment and caches"

$(BIN)/python:
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(0 if v >= (3, 11) else "Branchwise needs Python 3.11 or newer; this is %d.%d (use make PYTHON=/path/to/python3)" % v[:2])'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: $(BIN)/python pyproject.toml constraints.txt
	$(PIP) install -q -c constraints.txt -e '.[local,openvino]'
	@touch $@

$(VENV)/.dev: $(BIN)/python pyproject.toml constraints.txt
	$(PIP) install -q -c constraints.txt -e '.[local,openvino,math,data,bench,ray,server,mcp,dev]'
	@touch $@

demo: $(VENV)/.demo
	$(BIN)/branchwise models pull qwen2.5-coder-1.5b
	@rm -f $(VENV)/demo.jsonl
	$(BIN)/branchwise solve "$(HAND)" --task game24 --model local --parallel 16 --seed 1 --trace $(VENV)/demo.jsonl
	$(BIN)/branchwise show $(VENV)/demo.jsonl

test: $(VENV)/.dev
	@for name in chromium chromium-browser google-chrome chrome; do command -v $$name >/dev/null && exit 0; done; \
	 echo "no Chromium here: the page's tests in a browser will be skipped; to run them: apt-get install chromium"
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder -m "not alone"
	$(BIN)/python -m pytest -m alone

lint: $(VENV)/.dev
	$(BIN)/ruff check src tests benchmarks tools examples

types: $(VENV)/.dev
	$(BIN)/mypy

bench: $(VENV)/.dev
	$(BIN)/python benchmarks/engine.py

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist
