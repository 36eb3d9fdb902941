# The front door of pg_turbine: `make demo`, `make test`. CMake does the building.

BUILD      ?= build
JOBS       ?= 2
BUILD_TYPE ?= RelWithDebInfo
PYTHON     ?= python3
DEMO_ARGS  ?=
BENCH_ARGS ?=
CHECK_ARGS ?=
LINT_ARGS  ?=
LOCALE     ?=
PG         ?=

# The locale of the clusters of tests and benchmarks: C.UTF-8, as a new cluster has it, or
# LOCALE: `make test LOCALE=C`, `make bench LOCALE=C`.
ifneq ($(LOCALE),)
export TURBINE_LOCALE := $(LOCALE)
endif

export TURBINE_BUILD := $(abspath $(BUILD))

# Root file systems of other Debian releases; a folder that several checkouts may share.
TURBINE_ROOTS ?= $(TURBINE_BUILD)/roots
export TURBINE_ROOTS

# `make build PG=17`, `make test PG=17`, `make test-sql PG=17`: the module for that version of PostgreSQL, too,
# and servers of that version. Versions that were built once are built again by each `make build`.
ifneq ($(PG),)
export TURBINE_PG := $(PG)
endif
PG_BUILT = $(wildcard $(abspath $(BUILD))/pg[0-9]*/pg_turbine.so)
# `make test` runs short forms of its suites against these versions, too: VERSIONS="16 17 18" makes their root file
# systems, which takes ten minutes each; those that are there are used.
VERSIONS ?=
ROOTS_MADE = $(patsubst $(TURBINE_ROOTS)/%/complete,%,$(wildcard $(TURBINE_ROOTS)/1[678]/complete))
PG_VERSIONS = $(sort $(PG) $(VERSIONS) $(if $(filter test,$(MAKECMDGOALS)),$(ROOTS_MADE)) \
  $(patsubst $(abspath $(BUILD))/pg%/pg_turbine.so,%,$(PG_BUILT)))

empty :=
space := $(empty) $(empty)

.PHONY: all deps roots configure build demo test test-unit test-versions test-nightly test-sanitize check-layers
.PHONY: check-format check-glossary format lint bench
.PHONY: bench-foundation bench-sessions bench-updates bench-overhead bench-instructions
.PHONY: never-slower bench-logistic-regression bench-learning learning-packages bench-fresh-rows bench-pinned
.PHONY: bench-fact-pairs bench-cold-scans whole-plans
.PHONY: python-packages python-wheel bench-exports bench-results bench-files
.PHONY: cuda-compiler gpu-bundle install uninstall deb rpm neighbour-packages packaging-packages clean

all: build

deps:
	@tools/install_deps.sh

# Makes what is missing of the root file systems.
roots: deps
	@if [ -n "$(PG_VERSIONS)" ]; then $(PYTHON) tools/debian_root.py $(PG_VERSIONS); fi

configure: roots
	@cmake -G Ninja -S . -B $(BUILD) -DCMAKE_BUILD_TYPE=$(BUILD_TYPE) -DTURBINE_ROOTS=$(TURBINE_ROOTS) \
	  "-DTURBINE_PG_VERSIONS=$(subst $(space),;,$(PG_VERSIONS))" >$(BUILD).log 2>&1 || (cat $(BUILD).log; exit 1)

build: configure
	@cmake --build $(BUILD) -j $(JOBS)

# Builds the programs that it runs, starts a private server, runs the same queries with and without
# acceleration, and compares answers and times. DEMO_ARGS="--rows 50000000 --sf 10".
demo: configure
	@cmake --build $(BUILD) -j $(JOBS) --target demo_programs
	@$(PYTHON) tools/demo.py $(DEMO_ARGS)

# Everything a merge needs, in the default collation of a new cluster and, what depends on
# it, in C besides. The last line sums up: N passed, N failed.
test: build python-packages cuda-compiler neighbour-packages
	@$(PYTHON) test/run_all.py

# The same against the versions of PostgreSQL that this machine does not have, each in the root file system of a Debian
# release: all suites that start a server, and short forms of them for 16. An hour for a version.
test-versions:
	@for version in $(or $(VERSIONS),16 17 18); do $(MAKE) test PG=$$version || exit 1; done

test-unit: build
	@$(PYTHON) test/run_all.py layers unit

# One suite by its name in test/run_all.py, the one list of them.
.SECONDEXPANSION:
test-%: build python-packages cuda-compiler $$(NEEDS_$$*)
	@$(PYTHON) test/run_all.py $*

# Further packages of Debian's.
NEEDS_neighbours := neighbour-packages
NEEDS_geometry := neighbour-packages
NEEDS_gpu-geometry := neighbour-packages
NEEDS_geometry-pairs := neighbour-packages
NEEDS_gpu-geometry-pairs := neighbour-packages
NEEDS_spatial-joins := neighbour-packages
NEEDS_shape-joins := neighbour-packages
NEEDS_gpu-shape-joins := neighbour-packages
NEEDS_geo-files := neighbour-packages
NEEDS_packages := packaging-packages

# The long forms: hours rather than minutes.
test-nightly: build python-packages learning-packages cuda-compiler neighbour-packages
	@$(PYTHON) test/run_all.py --nightly
	@$(MAKE) test-versions

# Engine, device library and their unit tests under ASAN and UBSAN; then a service
# built so against backends that misbehave.
test-sanitize: build
	@$(PYTHON) test/run_all.py sanitize sanitize-protocol

check-layers:
	@$(PYTHON) tools/check_layers.py $(CHECK_ARGS)

# Retired words of the glossary.
check-glossary:
	@$(PYTHON) tools/check_glossary.py $(CHECK_ARGS)

# How files look: .editorconfig, .clang-format and src/pg/.clang-format.
check-format: deps
	@$(PYTHON) tools/check_format.py

# Linters: ruff, shellcheck, and clang-tidy for C and C++ that differ from a commit.
# LINT_ARGS="--since main", "--all" (hours on two cores), or paths.
lint: deps python-packages
	@$(PYTHON) tools/check_lint.py --tidy $(LINT_ARGS)

format: deps
	@$(PYTHON) tools/check_format.py --write

# SSB, TPC-H and a web log against PostgreSQL and DuckDB: `make bench`, `make bench Q=q2_1`,
# `make bench BENCH_ARGS="--suite weblog --sf 10 --runs 3"`.
bench: build python-packages
	@$(BUILD)/python/bin/python bench/reports.py $(if $(Q),--query $(Q)) $(BENCH_ARGS)

# What 1, 4, 8 and 32 sessions get done together.
bench-sessions: build
	@$(PYTHON) bench/sessions.py $(BENCH_ARGS)

# pg2arrow, to_arrow and to_parquet beside COPY of psql and of DuckDB.
bench-exports: build python-packages
	@$(BUILD)/python/bin/python bench/exports.py $(BENCH_ARGS)

# Rows that become columns of this process, beside psycopg, pyarrow and DuckDB.
bench-results: build python-packages
	@$(BUILD)/python/bin/python bench/results.py $(BENCH_ARGS)

# The Star Schema Benchmark over Arrow and Parquet files, beside DuckDB over the same files.
bench-files: build python-packages
	@$(BUILD)/python/bin/python bench/files.py $(BENCH_ARGS)

# A query of a cached table while another session updates it.
# Trainings of models beside scikit-learn: `make bench-learning`,
# `make bench-learning BENCH_ARGS="--rows 40000000 --kmeans-rows 10000000 --device gpu --pin"`.
bench-learning: build learning-packages
	@$(BUILD)/python/bin/python bench/learning.py $(BENCH_ARGS)

bench-updates: build
	@$(PYTHON) bench/updates.py $(BENCH_ARGS)

bench-fresh-rows: build
	@$(PYTHON) bench/fresh_rows.py $(BENCH_ARGS)

# Scans of tables larger than memory, beside a plain read of their files: `make bench-cold-scans`,
# `make bench-cold-scans BENCH_ARGS="--memory 768 --mb 2304 --ssb-sf 4"`.
bench-cold-scans: build
	@$(PYTHON) bench/cold_scans.py $(BENCH_ARGS)

# Tables of gstore_fdw beside ordinary ones.
bench-pinned: build
	@$(PYTHON) bench/pinned.py $(BENCH_ARGS)

# Two fact tables joined many to many, with dimensions that filter either.
bench-fact-pairs: build
	@$(PYTHON) bench/fact_pairs.py $(BENCH_ARGS)

# A model of 40 million rows by a function of LANGUAGE plcuda; wants a GPU.
bench-logistic-regression: build cuda-compiler
	@$(PYTHON) bench/logistic_regression.py $(BENCH_ARGS)

# Scans and aggregation, vacuumed and never vacuumed.
bench-foundation: build
	@$(PYTHON) bench/foundation.py $(BENCH_ARGS)

# Hundreds of queries at default costs against PostgreSQL's own plans; fails if one became slower.
never-slower: build python-packages
	@$(BUILD)/python/bin/python bench/never_slower.py $(BENCH_ARGS)

# Queries with a part that devices lack, beside PostgreSQL with workers.
whole-plans: build
	@$(PYTHON) bench/whole_plans.py $(BENCH_ARGS)

# Queries that stay with PostgreSQL, and pgbench -S: with pg_turbine, with it off,
# and without it. Fails beyond 2 %; wants an otherwise idle machine.
bench-overhead: build
	@$(PYTHON) bench/overhead.py $(BENCH_ARGS)

# The same queries, counted in instructions by valgrind: for machines that are not idle.
bench-instructions: build
	@$(PYTHON) bench/instructions.py $(BENCH_ARGS)

# Generators and peers from PyPI, in a folder of their own.
python-packages: deps
	@tools/install_python_packages.sh $(BUILD)/python

# Besides, what trainings are compared with; large, so neither tests nor other benchmarks take it.
learning-packages: deps
	@tools/install_python_packages.sh $(BUILD)/python scikit-learn==1.9.1

# nvcc from PyPI, for functions of LANGUAGE plcuda.
cuda-compiler:
	@packaging/install_cuda_compiler.sh $(BUILD)/cuda
ifeq ($(PG),18)
	@TURBINE_GLIBC=2.43 packaging/install_cuda_compiler.sh $(BUILD)/cuda-13.5
endif

# The Python package as a wheel, in $(BUILD)/wheel. It has no compiled part: one wheel fits every machine.
python-wheel: python-packages
	@$(BUILD)/python/bin/pip wheel --quiet --disable-pip-version-check --no-deps -w $(BUILD)/wheel ./python
	@ls $(BUILD)/wheel/pg_turbine-*.whl

# What a GPU machine without compilers or network needs.
gpu-bundle: build
	@packaging/make_bundle.sh

# Both take DESTDIR.
install: build
	@cmake --install $(BUILD)

uninstall:
	@packaging/uninstall.sh

# A package of Debian's for the installed PostgreSQL, or for another one: `make deb PG=17`. In $(BUILD)/deb.
deb: configure packaging-packages
	@packaging/make_deb.sh $(if $(PG),-p $(PG))

# The same for distributions with rpm, in $(BUILD)/rpm.
rpm: configure packaging-packages
	@packaging/make_rpm.sh $(if $(PG),-p $(PG))

# The extensions that test/neighbours.py loads.
neighbour-packages: deps
	@tools/install_deps.sh neighbours

# What makes packages, and root file systems to try them in.
packaging-packages: deps
	@tools/install_deps.sh packages

clean:
	@rm -rf $(BUILD) $(BUILD).log build-sanitize gpu-bundle
