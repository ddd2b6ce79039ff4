# Everything lives in .venv and build/; no set-up comes before any of these commands.

VENV := .venv
BIN := $(VENV)/bin
# The first Python that is new enough; override with `make test PYTHON=python3.12`.
PYTHON ?= $(shell for python in python3 python3.13 python3.12 python3.11; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2> /dev/null \
	&& { echo $$python; break; }; done)
# Which one tests the least versions.
OLDEST_PYTHON ?= $(shell for python in python3.11 python3.12 python3.13; do \
	$$python -c '' 2> /dev/null && { echo $$python; exit; }; done; echo $(PYTHON))
# Quiet about what works; warnings and errors stay visible.
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check
LOWEST_PIP := build/lowest/bin/python -m pip --quiet --disable-pip-version-check
# Tools that the build and the tests start by name are those of the virtual environment.
export PATH := $(CURDIR)/$(BIN):$(PATH)

# Directories too, so that a deleted file counts as a change.
SOURCES := $(shell find src \( -name '__pycache__' -o -name '*.so' \) -prune -o -print)
CPP := $(shell find src/engine benchmarks $(wildcard tests/engine) -name '*.hpp' -o -name '*.cpp')

# Scripts that draw the pictures of the user guide, one per page.
GALLERY := $(filter-out examples/_gallery.py examples/demo.py examples/quickstart.py,$(wildcard examples/*.py))

# Requirements that pyproject.toml lists under some names. The shell asks, not make: make expands a
# whole recipe before its first line has made the environment.
requirements = $$($(BIN)/python tools/requirements.py $(1))

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
# Two installations into one environment must not run at once.
.NOTPARALLEL:
.PHONY: help demo test quick pytest test-lowest lint format bench bench-full instructions accuracy coverage
.PHONY: paper docs images screenshots engine-test engine-test-thread engine-test-clang coverage-gate mutation
.PHONY: fuzz faults clean

help: ## list the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-19s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(VENV)/.package $(VENV)/.extra-demo ## fit a data set that ships with the package, print quantiles, write demo.png
	@$(BIN)/python examples/demo.py

test: ## run the whole test suite: pytest, then the engine's tests under sanitizers
	@$(MAKE) --no-print-directory pytest
	@$(MAKE) --no-print-directory engine-test

# Processes that run the Python tests. WORKERS=0 is none but pytest itself: for a debugger. A class, or
# a module's functions, stay in one process with what they share; in their order, as those at the end
# are short.
WORKERS ?= 2
PYTEST := python -m pytest -n $(WORKERS) --dist loadscope --no-loadscope-reorder
pytest: $(VENV)/.package $(VENV)/.extra-test ## run the Python tests alone; ARGS="-k solve" chooses among them
	$(BIN)/$(PYTEST) $(ARGS)

quick: $(VENV)/.package $(VENV)/.extra-test ## run the Python tests without those that take long
	$(BIN)/$(PYTEST) -m "not slow" $(ARGS)

# What a user of an old environment meets first.
LOWEST_TESTS := tests/test_forest.py tests/test_estimator_checks.py tests/metrics tests/data
test-lowest: build/lowest/.created $(VENV)/.package ## run some tests with the least versions that pyproject.toml allows
	@$(LOWEST_PIP) install --no-deps --force-reinstall build/wheel/*.whl 2> /dev/null \
		|| $(LOWEST_PIP) install --no-deps --force-reinstall .
	build/lowest/bin/$(PYTEST) -m "not slow" $(LOWEST_TESTS) $(ARGS)

lint: $(VENV)/.extra-lint ## check style and types of Python and C++
	@failed=0; \
	for step in "ruff check ." "ruff format --check ." mypy "clang-format --dry-run -Werror $(CPP)"; do \
		echo "$${step%% src/*}"; $$step || failed=1; \
	done; exit $$failed

format: $(VENV)/.extra-lint ## rewrite Python and C++ in the house style
	ruff check --fix --exit-zero --quiet .
	ruff format .
	clang-format -i $(CPP)

bench: $(VENV)/.package $(VENV)/.extra-bench ## measure speed and memory beside the neighbours; writes docs/benchmarks.md (an hour)
	$(BIN)/python benchmarks/run.py $(ARGS)

bench-full: $(VENV)/.package $(VENV)/.extra-bench ## the same with slow neighbours whole and as far as they go (hours), and the command line
	$(BIN)/python benchmarks/run.py --scale full $(ARGS)
	$(BIN)/python benchmarks/command_line.py

instructions: $(VENV)/.package ## compare instruction counts of the engine's main loops with the stored ones (needs valgrind)
	@$(BIN)/python benchmarks/instructions.py $(ARGS)

accuracy: $(VENV)/.package $(VENV)/.extra-bench ## measure accuracy on ten models beside the oracles, and the choice of leaf sizes (an hour)
	$(BIN)/python benchmarks/near_oracle.py $(ARGS)
	$(BIN)/python benchmarks/leaf_size.py $(ARGS)

coverage: $(VENV)/.package $(VENV)/.extra-bench $(VENV)/.extra-demo ## measure coverage and width of intervals and bounds; writes docs/coverage.md (half an hour)
	$(BIN)/python benchmarks/interval_coverage.py --markdown docs/coverage.md $(ARGS)

paper: $(VENV)/.package $(VENV)/.extra-paper ## rerun every experiment of the paper at its full size (hours); ARGS="--quick" takes minutes
	$(BIN)/cqrf paper run all --out paper $(ARGS)

docs: $(VENV)/.package $(VENV)/.extra-docs ## build the documentation into build/docs; warnings are errors
	$(BIN)/python -m sphinx -q -W --keep-going -b html docs build/docs

images: $(VENV)/.package $(VENV)/.extra-docs ## run the gallery in examples/, which draws the pictures of the user guide
	@set -e; for script in $(GALLERY); do echo $$script; $(BIN)/python $$script; done

screenshots: $(VENV)/.package $(VENV)/.extra-test ## draw the pictures of the pages in docs/images anew; needs Chromium
	$(BIN)/python docs/screenshots.py

engine-test: $(VENV)/.created ## run the engine's own tests under AddressSanitizer and UBSan
	$(call engine_test,address,address$(COMMA)undefined)

engine-test-thread: $(VENV)/.created ## run the engine's own tests under ThreadSanitizer
	$(call engine_test,thread,thread)

# The tests of the extension that say most of its numbers: those of its loops, and stored answers.
CLANG_TESTS := tests/growing/test_engine_growing.py tests/test_engine_simd.py tests/storage/test_files.py \
	tests/model/test_restricted_means.py
engine-test-clang: $(VENV)/.package $(VENV)/.extra-test ## build engine and extension with clang++, and run the engine's tests and some of Python's
	@echo "building with clang++"
	@CXX=clang++ cmake -S . -B build/clang -G Ninja -DCMAKE_MAKE_PROGRAM=$(CURDIR)/$(BIN)/ninja \
		-DCMAKE_BUILD_TYPE=Release -DCQRF_WERROR=ON -DCQRF_ENGINE_TESTS=ON \
		-DPython_EXECUTABLE=$(CURDIR)/$(BIN)/python \
		-Dnanobind_DIR=$$($(BIN)/python -m nanobind --cmake_dir) > /dev/null
	@cmake --build build/clang -- --quiet
	@ctest --test-dir build/clang --parallel 2 --output-on-failure --no-tests=error
	@rm -rf build/clang/package && mkdir build/clang/package && cp -r src/cqrf build/clang/package
	@cmake --install build/clang --prefix build/clang/package > /dev/null
	@PYTHONPATH=build/clang/package $(BIN)/$(PYTEST) $(CLANG_TESTS)

# The tests that cover what pyproject.toml lists under tool.coverage; those that repeat are left out.
COVERING := tests/solving/test_curves.py tests/solving/test_solve.py tests/storage tests/growing/test_trees.py \
	tests/faults/test_model_files.py tests/faults/test_interrupted_save.py
coverage-gate: $(VENV)/.package $(VENV)/.extra-test $(VENV)/.extra-coverage-gate ## fail unless every branch of the file, curve and solver modules is tested
	@$(BIN)/coverage run -m pytest $(COVERING) \
		-m "not slow" -k "not flipped and not truncation and not kill and not joblib"
	@$(BIN)/coverage report
	@$(BIN)/python tools/engine_coverage.py

mutation: $(VENV)/.created ## change the solver token by token: do its tests notice (minutes)
	@$(BIN)/python tools/mutation.py $(ARGS)

fuzz: $(VENV)/.package $(VENV)/.extra-fuzz ## fuzz the loader of model files for ten minutes; ARGS go to libFuzzer
	@$(BIN)/python tools/fuzz.py -max_total_time=600 -print_final_stats=1 $(ARGS)

faults: $(VENV)/.package $(VENV)/.extra-test ## the memory limits of tests/faults, two hundred per task instead of eight
	CQRF_MEMORY_LIMITS=200 $(BIN)/python -m pytest tests/faults/test_memory.py --timeout=3600 $(ARGS)

clean: ## remove everything that these commands create
	rm -rf $(VENV) build dist demo.png paper .hypothesis .mypy_cache .pytest_cache .ruff_cache
	rm -rf benchmarks/results benchmarks/.cache docs/api
	find src tests examples benchmarks -name __pycache__ -prune -exec rm -rf {} +

# $(1) names the build directory, $(2) the sanitizers. By default UBSan only prints what it finds.
# ThreadSanitizer cannot map its shadow memory where addresses are randomised too widely.
COMMA := ,
define engine_test
	@echo "building the engine's tests with -fsanitize=$(2)"
	@cmake -S . -B build/engine-$(1) -G Ninja -DCMAKE_MAKE_PROGRAM=$(CURDIR)/$(BIN)/ninja \
		-DCMAKE_BUILD_TYPE=Debug -DCQRF_WERROR=ON \
		-DCQRF_PYTHON=OFF -DCQRF_ENGINE_TESTS=ON -DCQRF_SANITIZE=$(2) > /dev/null
	@cmake --build build/engine-$(1) -- --quiet
	@fixed=$$(setarch -R true 2> /dev/null && echo "setarch -R" || true); \
	UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 TSAN_OPTIONS=halt_on_error=1 \
		$$fixed ctest --test-dir build/engine-$(1) --parallel 2 --output-on-failure --no-tests=error
endef

# Stamps: one per step, so that nothing is installed twice while its inputs stay the same.

# The build tools are installed here and not in an isolated environment, so that a changed source
# recompiles alone. What the build makes refers to this environment, and goes when it goes.
$(VENV)/.created: pyproject.toml
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed; set PYTHON" >&2; exit 1; }
	@echo "creating $(VENV) with $$($(PYTHON) --version)"
	@rm -rf $(VENV) build/package
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) install cmake ninja $(call requirements,build)
	@touch $@

# Installed as users install it, not in editable mode: tests see what users get. pip leaves a wheel
# alone whose version is installed, so it is told not to. The main loops that `make instructions`
# counts are built in the same place, of the same objects.
$(VENV)/.package: $(VENV)/.created CMakeLists.txt $(SOURCES)
	@echo "building and installing cqrf"
	@rm -rf build/wheel
	@$(PIP) wheel --no-deps --no-build-isolation --wheel-dir build/wheel \
		--config-settings=build-dir=build/package --config-settings=build.targets=_engine \
		--config-settings=cmake.define.CQRF_ENGINE_TESTS=ON .
	@$(PIP) install $(call requirements,run)
	@$(PIP) install --no-deps --force-reinstall build/wheel/*.whl
	@touch $@

# Extras and dependency groups, by what they are for.
$(VENV)/.extra-demo: LISTS := plot frames
$(VENV)/.extra-test: LISTS := plot frames cli report paper test
$(VENV)/.extra-bench: LISTS := plot cli bench
$(VENV)/.extra-coverage-gate: LISTS := coverage
$(VENV)/.extra-fuzz: LISTS := fuzz
$(VENV)/.extra-paper: LISTS := paper
$(VENV)/.extra-docs: LISTS := plot frames report docs
# mypy reads the types of the packages that cqrf imports.
$(VENV)/.extra-lint: LISTS := run cli report lint
$(VENV)/.extra-%: $(VENV)/.created
	@echo "installing what $* needs"
	@$(PIP) install $(call requirements,$(LISTS))
	@touch $@

# The oldest Python there is, and the least versions of what users have; lifelines and polars, with
# which only tests compare, of an age that suits them.
build/lowest/.created: pyproject.toml
	@echo "creating build/lowest with $$($(OLDEST_PYTHON) --version)"
	@rm -rf build/lowest
	@$(OLDEST_PYTHON) -m venv build/lowest
	@$(LOWEST_PIP) install $$(build/lowest/bin/python tools/requirements.py --lowest run plot frames cli report) \
		$$(build/lowest/bin/python tools/requirements.py test) lifelines "polars<1.40"
	@touch $@
