# make demo   the whole job on the embedded model       make test      the quick tests
# make check  lint, format, types                       make test-all  the long ones too
# make bench  speed, as ratios side by side             make clean

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin

# A torch that is installed already always serves. Without one, this one is taken; where the index's build of it
# is not the CPU's, point pip at one that is (PIP_EXTRA_INDEX_URL) or name another: make demo TORCH=torch==2.9.0
TORCH  ?= torch==2.13.0
HAVE_TORCH := $(shell $(PYTHON) -c "import importlib.util as u; print(1 if u.find_spec('torch') else '')")
SHARED := $(if $(HAVE_TORCH),--system-site-packages)
# 0.29 of Typer needs pydantic and starts three times slower
PINS   := $(if $(HAVE_TORCH),,"$(TORCH)") "typer<0.29"
# the real torch_npu, for the tests of the NPU's path without an NPU
NPU    ?= $(if $(HAVE_TORCH),,torch_npu==2.13.0)

.PHONY: demo test test-all check style bench clean

demo: $(VENV)/.demo
	-$(BIN)/npukit env --offline
	$(BIN)/npukit run tiny-minicpm-v

test: $(VENV)/.dev
	$(BIN)/python -m pytest -m "not slow"

test-all: $(VENV)/.dev
	$(BIN)/python -m pytest

check: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

style: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.dev
	$(BIN)/python -m tests.benchmarks $(ONLY)

clean:
	rm -rf $(VENV) build dist report .pytest_cache .ruff_cache .mypy_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/.venv:
	$(PYTHON) -m venv $(SHARED) $(VENV)
	touch $@

$(VENV)/.demo: $(VENV)/.venv pyproject.toml
	$(BIN)/python -m pip install --quiet $(PINS) -e .
	touch $@

$(VENV)/.dev: $(VENV)/.demo
	$(BIN)/python -m pip install --quiet $(PINS) -e ".[dev]"
	$(if $(NPU),$(BIN)/python -m pip install --quiet --no-deps --upgrade --target $(VENV)/torch_npu $(NPU))
	touch $@
