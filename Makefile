# Everything runs in an environment of its own, which the first target that needs it makes.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Tests run on all cores, those of one group (xdist_group) on the same one.
export PYTEST_ADDOPTS ?= -n logical --maxprocesses 8 --dist loadgroup
# C++ files of the core, in folders.
CORE := $(shell find src/core -type f)
BUILD_TOOLS := "scikit-build-core>=0.10" "nanobind>=2.4" "cmake>=3.20" ninja

.PHONY: help build demo reproduce test fuzz test-machines test-oldest test-newest test-aarch64 test-torch sanitize lint format bench docs docs-links wheel-test clean

help: ## print these targets
	@awk -F ':.*## ' '/^[a-z][a-z0-9 -]*:.*## / {printf "%-25s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: $(VENV)/.built ## create .venv and build the core, if anything changed

demo: $(VENV)/.built ## learn on bundled images, restore one, write demo/report.md
	$(BIN)/python examples/demo.py demo

# IMAGES=DIR has the paper's images; REPRODUCE=--quick takes less than a minute.
reproduce: $(VENV)/.built ## the tables and figures of the paper (IMAGES=DIR)
	$(BIN)/python -m reproduction $(if $(IMAGES),--images $(IMAGES)) $(REPRODUCE)

# As many processes as cores have no room for threads of BLAS beside them: tests of dense products
# took thirty times as long with two each.
test test-oldest test-newest: export OPENBLAS_NUM_THREADS ?= 1
test: $(VENV)/.built ## all tests, or TESTS=tests/learning
	$(BIN)/python -m pytest $(TESTS)

# Calls of everything public with good, bad and extreme arguments; from another SEED, others.
COUNT ?= 10000
SEED ?= 0
fuzz: $(VENV)/.built ## random calls of all public functions (COUNT=, SEED=)
	$(BIN)/python -m tests.fuzz $(COUNT) $(SEED)

# The numerical tests as other machines would run them: BLAS, threads, instruction sets, order.
test-machines: $(VENV)/.built ## numerical tests as other machines would run them (MACHINES=)
	SEED=$(SEED) $(BIN)/python -m tests.machines $(MACHINES)

# The tests with the oldest dependencies that are promised, and with the newest Python here.
test-oldest test-newest: test-%: $(VENV)/.built ## the oldest and the newest dependencies
	PYTHON=$(PYTHON) .ci/versions $*

# The core's tests on aarch64 by qemu-user, cross-compiled; too slow for .ci/run.
test-aarch64: ## the tests of the core by qemu (TESTS=)
	PYTHON=$(PYTHON) .ci/aarch64 $(TESTS)

# The tests of fost.torch in an environment of their own with PyTorch.
test-torch: ## the tests of fost.torch, in an environment of their own
	PYTHON=$(PYTHON) .ci/torch

# The core's tests with AddressSanitizer and UndefinedBehaviorSanitizer, and threads with
# ThreadSanitizer; SANITIZERS=address or thread is one of them.
sanitize: $(VENV)/.built ## address, undefined-behaviour and thread sanitizers (SANITIZERS=)
	.ci/sanitize $(SANITIZERS)

lint: $(VENV)/.built ## ruff, mypy, clang-format, rules of the code and of the prose
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/clang-format --dry-run --Werror $(CORE)
	$(BIN)/mypy
	$(BIN)/python tools/house.py --check
	$(BIN)/python tools/prose.py

format: $(VENV)/.built ## apply ruff and clang-format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(CORE)

bench: $(VENV)/.built ## speed against named competitors (ISA=)
	$(BIN)/python -m pip install --quiet --no-build-isolation --editable ".[compare]" || echo "competitors are left out"
	$(BIN)/python -m benchmarks $(if $(ISA),--isa $(ISA))

# The site, in docs/_build/html; a warning is an error.
docs: $(VENV)/.built ## the site, in docs/_build/html
	$(BIN)/python -m pip install --quiet --no-build-isolation --editable ".[docs]"
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html

# Whether the pages that ours point to are there; needs a network.
docs-links: docs ## check the links of the site, which needs a network
	$(BIN)/python -m sphinx -q -b linkcheck docs docs/_build/links

# A source distribution of what git knows and a wheel from it, in an environment without a compiler.
wheel-test: ## packages, in an environment without a compiler
	PYTHON=$(PYTHON) .ci/wheel-test

clean: ## remove everything that was built
	rm -rf $(VENV) build dist demo reproduction/output docs/_build docs/auto_gallery docs/api/generated .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(VENV)/.made:
	$(PYTHON) -c 'import sys; sys.exit("fost needs Python 3.11 or newer, $(PYTHON) is " + sys.version.split()[0]) if sys.version_info < (3, 11) else 0'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet $(BUILD_TOOLS)
	touch $@

# Editable: changes of Python files need no new build; new files and changes of the core do.
$(VENV)/.built: $(VENV)/.made $(VENV)/.files pyproject.toml CMakeLists.txt $(CORE)
	$(BIN)/python -m pip install --quiet --no-build-isolation --editable ".[test,bench]"
	touch $@

$(VENV)/.files: $(VENV)/.made FORCE
	find src/fost -name '*.py' | sort > $@.new
	cmp -s $@.new $@ || cp $@.new $@

FORCE:
