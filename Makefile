# SPDX-License-Identifier: MIT OR Apache-2.0
# The short list of commands over the one build description (CMakeLists.txt, CMakePresets.json); see `make help`.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help build run check test test-long test-kernels mutants-sample test-all bench torture explore mutants
.PHONY: tidy deb abi install install-tools uninstall clean

PREFIX ?= /usr/local
# Shell code for the absolute path of PREFIX; $(abspath) would split a path at its spaces.
prefix = "$$(realpath -ms -- "$(PREFIX)")"
ARGS ?=
RTRCU := build/program/lab/rtrcu
MUTATED := gp reader section callback parked work turn serve driver

help: ## list the commands
	@echo "usage: make COMMAND [ARGS='...']"
	@awk -F':.*## ' '/^[a-z-]+:.*## / {printf "  %-14s %s\n", $$1, $$2}' Makefile

build: ## build the library and the rtrcu program, in build/program
	@tools/setup library program
	@tools/build program

run: build ## the main job: what reclamation does to a deadline, policy by policy (about a minute)
	@tools/setup run
	@mkdir -p out
	$(RTRCU) latency $(ARGS)

check: ## the unit tests of one room, in seconds: make check ROOM=gp [TEST='Gp.*']; without ROOM, of all rooms
	@tools/setup library program check
	@tools/check "$(ROOM)" "$(TEST)"

test: ## build and run the tests with all checks enabled (other variants: ARGS="release asan tsan aarch64")
	@tools/setup library program check test tidy
	@tools/test $(ARGS)

test-long: ## after `make test`: the longer tests
	@tools/setup library program check test tidy drawn platforms
	@tools/test --long debug
	@tools/test --core release tsan
	@$(MAKE) --no-print-directory mutants-sample
	@tools/mutants --named --sample 4

mutants-sample: ## 30 seconds of seeded faults against the unit tests
	@tools/mutants --room $(MUTATED) --sample 24 --seconds 30 --only 'unit_*' --least 65 --fresh

test-all: ## before a release, an hour or more: the other variants whole, every named fault, a sample for every check
	@tools/setup library program check test tidy aarch64
	@tools/test --all release tsan aarch64
	@tools/mutants --named
	@tools/mutants --sample 40 --seconds 900 --least 75 --fresh

test-kernels: ## the kernels of Debian 12 and 13, also -rt, in qemu: up to 40 minutes each; one with ARGS=12-rt
	@tools/setup library program check kernels
	@tools/test-kernels $(ARGS)

bench: ## side-by-side benchmarks against the peers, in short with ARGS=--quick; without ARGS also out/scale.html
	@tools/setup library program bench check
	@tools/build release rtrcu-bench rtrcu-lines
	@mkdir -p out
ifneq ($(filter-out --quick,$(ARGS)),)
	build/release/bench/rtrcu-bench $(ARGS)
else
	build/release/bench/lines/rtrcu-lines $(ARGS) --json out/lines.json
	build/release/bench/rtrcu-bench $(ARGS) --json out/bench.json; bars=$$?; \
	python3 bench/report/scale_html.py out/bench.json out/lines.json out/scale.html || [ $$? -eq 3 ] && exit $$bars
endif

torture: ## about 10 minutes: every scenario, then the mutants, which must all be caught; with ARGS only scenarios
ifneq ($(ARGS),)
	@$(MAKE) --no-print-directory build
	$(RTRCU) torture $(ARGS)
else
	@tools/setup library program bench check
	@tools/build release
	build/release/lab/rtrcu torture --seconds 12
	@cd build/release && ctest -j $$(nproc) --no-label-summary -R '^torture_(mutant_|matrix)' --output-on-failure
	@python3 test/torture/matrix.py test/torture/mutants build/release/test/torture/matrix
endif

explore: ## many interleavings of small scenarios, over the library's own source
	@tools/setup library program check
	@tools/build debug rtrcu-explore
	build/debug/test/explore/rtrcu-explore $(ARGS)

mutants: ## seed faults into the library and print those that no test notices (ARGS="--room gp --sample 50")
ifeq ($(filter --list,$(ARGS)),)
	@tools/setup library program check test aarch64
	@tools/test -R '^explore-build$$' debug
endif
	@tools/mutants $(ARGS)

tidy: ## check the rules of docs/style.md
	@tools/setup tidy
	@tools/tidy $(ARGS)

deb: ## Debian packages of the last commit, in build/deb, checked by lintian
	@tools/setup library program deb
	@tools/deb

abi: ## compare the interface of the shared library with that of the last release, or of REF=COMMIT
	@tools/setup library abi
	@tools/abi $(REF)

install: ## build and install the library, its checked form, headers and manual pages under PREFIX
	@tools/setup library
	@tools/build library
	@cmake --install build/library --prefix $(prefix) >build/install.log || { cat build/install.log; exit 1; }
	@awk 1 build/library/install_manifest*.txt >>build/installed
	@tools/after-install $(prefix) "$(DESTDIR)"

install-tools: build ## build and install the rtrcu program and its manual page under PREFIX
	@cmake --install build/program --component tools --prefix $(prefix) >build/install.log || \
	    { cat build/install.log; exit 1; }
	@awk 1 build/program/install_manifest*.txt >>build/installed
	@echo "installed under $(DESTDIR)"$(prefix)": bin/rtrcu"

uninstall: ## remove what `make install` and `make install-tools` of this checkout put under PREFIX
	@tools/uninstall $(prefix) "$(DESTDIR)"

clean: ## remove what was built
	rm -rf build out
