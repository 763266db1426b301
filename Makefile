# SPDX-License-Identifier: MIT
# The doors of the project. CMake and Ninja do the work; see CMakePresets.json for other builds.
BUILD ?= build
PREFIX ?= /usr/local
DESTDIR ?=
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
MINUTES ?= 5
CMAKE_FLAGS ?=

# Tests wait as much as they compute.
CTEST = tools/run-tests $(BUILD) -j$(shell expr $(JOBS) \* 2)

all: configure
	@cmake --build $(BUILD) -j$(JOBS)

configure:
	@cmake -S . -B $(BUILD) -G Ninja -DCMAKE_BUILD_TYPE=Release $(CMAKE_FLAGS) --log-level=NOTICE

deps-build:
	@tools/install-deps build

deps-test:
	@tools/install-deps build test

run: deps-build
	@$(MAKE) --no-print-directory all
	@echo; echo "== $(BUILD)/heapwise run -o $(BUILD)/logstat.hwt -- $(BUILD)/examples/logstat"
	@$(BUILD)/heapwise run -o $(BUILD)/logstat.hwt -- $(BUILD)/examples/logstat
	@echo; echo "== $(BUILD)/heapwise report $(BUILD)/logstat.hwt"
	@$(BUILD)/heapwise report $(BUILD)/logstat.hwt

# On Debian and Ubuntu install-deps installs everything or fails: nothing may be left out there.
test test-full: export HEAPWISE_ALL_PARTS = $(shell command -v apt-get >/dev/null && command -v dpkg-query >/dev/null && echo 1)

test: deps-test configure
	@cmake --build $(BUILD) -j$(JOBS) --target all tests
	@$(CTEST) -LE full

test-full: deps-test configure
	@tools/install-deps full deb site
	@cmake --build $(BUILD) -j$(JOBS) --target all tests tests_long
	@$(CTEST)
	@$(MAKE) --no-print-directory test-machine

# In an emulated machine of the other CPU, two hours; REST=1: only what has not passed there yet; MACHINE_FLAGS: other options for ctest.
# Left out are units that run under qemu-user in `make test` (both -LE must match), the same pools at other levels, what only reads traces,
# what is about the web page, and tests by the clock, for which it is too slow.
MACHINE_FLAGS ?= -R "^(run|compat|stacks|unit)[.]" -LE "^(full|unit)$$" -LE "^(full|emulated)$$" \
	-E "^run[.]((watch-(known|leaks|live|sets|burst|sweep)|brief|security-claims)$$|pools_O|serve-|compare-|check-|export-|fleet-|excessive-)"
test-machine: deps-test configure
	@tools/install-deps machine
	@cmake --build $(BUILD) -j$(JOBS) --target cross cross-long
	@tools/test-machine $(BUILD) $(if $(REST),--rest) $(MACHINE_FLAGS)

# The whole suite in roots of three Debians, each from a clone, and in the second one for the other CPU as well: a day.
test-distros: deps-test
	@status=0; for suite in bookworm trixie sid; do \
		echo "== Debian $$suite"; tools/test-distro $$suite --fresh 'make test CMAKE_FLAGS=-DHEAPWISE_WERROR=ON' || status=1; \
	done; exit $$status
	@tools/test-distro trixie --shell 'make test-machine'

bench: deps-build
	@tools/install-deps bench
	@$(MAKE) --no-print-directory all
	@bench/run --heapwise $(BUILD)/heapwise $(BENCH_FLAGS)

bench-cases: deps-build
	@tools/install-deps cases
	@$(MAKE) --no-print-directory all
	@for case in memcached leveldb protobuf bamtools; do \
		bench/cases/$$case --heapwise $(BUILD)/heapwise $(CASE_FLAGS) || exit; \
	done

bench-access: deps-build
	@tools/install-deps bench
	@$(MAKE) --no-print-directory all
	@bench/run-access --heapwise $(BUILD)/heapwise $(BENCH_FLAGS)

bench-query: deps-build
	@$(MAKE) --no-print-directory all
	@cmake --build $(BUILD) -j$(JOBS) --target index_open
	@bench/run-query --build $(BUILD) $(BENCH_FLAGS)

fuzz:
	@tools/install-deps build fuzz
	@tools/fuzz $(BUILD)/fuzz $(MINUTES)

# After a change of web/src: what is built is committed, so that others need no Node.
web:
	@cd web && npm ci --ignore-scripts --no-progress && npm run --silent check && npm run --silent build

# After a change of commands or options: committed, because a cross build cannot run heapwise.
completions: configure
	@cmake --build $(BUILD) -j$(JOBS) --target heapwise
	@$(BUILD)/heapwise __complete bash >completions/bash/heapwise
	@$(BUILD)/heapwise __complete zsh >completions/zsh/_heapwise
	@$(BUILD)/heapwise __complete fish >completions/fish/heapwise.fish

# The pictures of README and docs, anew; SHOTS=DIR: of every view in both themes.
SHOTS ?=
screenshots: deps-test configure
	@cmake --build $(BUILD) -j$(JOBS) --target all target_bursts target_entries target_excessive target_steady target_threads
	@HEAPWISE=$(CURDIR)/$(BUILD)/heapwise HEAPWISE_TARGETS=$(CURDIR)/$(BUILD)/tests/targets HEAPWISE_SOURCE_DIR=$(CURDIR) \
		HEAPWISE_BUILD_DIR=$(CURDIR)/$(BUILD) HEAPWISE_EXAMPLES=$(CURDIR)/$(BUILD)/examples \
		tests/web/web.sh run tests/web/shots.mjs $(if $(SHOTS),$(SHOTS),docs/images docs)

# After a change of how the page looks, and a look at it.
goldens: deps-test configure
	@cmake --build $(BUILD) -j$(JOBS)
	@HEAPWISE=$(CURDIR)/$(BUILD)/heapwise HEAPWISE_TARGETS=$(CURDIR)/$(BUILD)/tests/targets HEAPWISE_SOURCE_DIR=$(CURDIR) \
		HEAPWISE_BUILD_DIR=$(CURDIR)/$(BUILD) HEAPWISE_WEB_GOLDENS=make tests/web/web.sh page tests/web/goldens.test.mjs

bench-web: deps-test
	@$(MAKE) --no-print-directory all
	@bench/run-web --build $(BUILD) $(BENCH_FLAGS)

# The documentation as a web site: $(BUILD)/site/index.html.
site:
	@tools/install-deps site
	@tools/make-site $(BUILD)

install: all
	@DESTDIR="$(DESTDIR)" cmake --install $(BUILD) --prefix "$(PREFIX)"

# heapwise_VERSION_ARCH.deb and heapwise-VERSION.tar.xz, of what is committed.
deb:
	@tools/install-deps build deb
	@tools/make-deb $(BUILD)/deb

# heapwise-VERSION-CPU.tar.xz, which runs anywhere; CPU: x86_64 or aarch64, and this machine's by default.
CPU ?= $(shell uname -m)
tarball:
	@tools/make-tarball $(BUILD)/tarball $(CPU)

dist:
	@tools/dist $(BUILD)/dist

clean:
	@rm -rf $(BUILD)

help:
	@echo 'make            build $(BUILD)/heapwise and $(BUILD)/libheapwise.so'
	@echo 'make run        build, record the bundled example program, print its report'
	@echo 'make test       build and run all tests (20 minutes on 2 cores)'
	@echo 'make test-full  the same with the long tests'
	@echo 'make test-machine  most tests in an emulated machine of the other CPU'
	@echo 'make test-distros  all tests in roots of Debian 12, 13 and unstable'
	@echo 'make bench      compare with heaptrack (BENCH_FLAGS=--quick)'
	@echo 'make bench-cases record the accesses of the programs in docs/CASE-STUDIES.md (CASE_FLAGS=--rounds=3)'
	@echo 'make bench-access  what recording accesses costs, compared with DHAT'
	@echo 'make bench-query   how fast large traces open and answer (BENCH_FLAGS=--large for 100 million chunks)'
	@echo 'make bench-web     how fast the web page shows a large trace'
	@echo 'make screenshots   the pictures of README and docs, made anew'
	@echo 'make completions   the completions of the shells, from the options of the commands'
	@echo 'make goldens       the pictures with which the tests compare the page'
	@echo 'make fuzz       fuzz the parsers (MINUTES=$(MINUTES))'
	@echo 'make site       the documentation as a web site, $(BUILD)/site/index.html'
	@echo 'make install    PREFIX=$(PREFIX) DESTDIR='
	@echo 'make deb        a Debian package, $(BUILD)/deb/heapwise_*.deb'
	@echo 'make tarball    $(BUILD)/tarball/heapwise-VERSION-CPU.tar.xz, which runs on any machine (CPU=aarch64; needs root)'
	@echo 'make dist       the sources as $(BUILD)/dist/heapwise-VERSION.tar.xz'
	@echo 'make clean      remove $(BUILD)'
	@echo
	@echo 'run, test, bench, deb and fuzz install missing Debian or Ubuntu packages first.'

.PHONY: all web completions configure deps-build deps-test run test test-full test-machine test-distros bench bench-access bench-cases bench-query bench-web screenshots goldens fuzz site install deb tarball dist clean help
