# SPDX-License-Identifier: MIT OR Apache-2.0
# The short list of commands over the one build description (CMakeLists.txt, CMakePresets.json); see `make help`.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help build run test test-long bench torture explore mutants tidy install clean

PREFIX ?= /usr/local
ARGS ?=
TREE := build/release
RTRCU := $(TREE)/lab/rtrcu

help: ## list the commands
	@echo "usage: make COMMAND [ARGS='...']"
	@awk -F':.*## ' '/^[a-z]+:.*## / {printf "  %-10s %s\n", $$1, $$2}' Makefile

# Quiet while nothing changes: ninja decides what to do, the log holds the rest.
build: ## build everything for this machine, in build/release
	@tools/setup build test
	@mkdir -p build
	@test -f $(TREE)/build.ninja || cmake --preset release >build/release.log 2>&1 || { cat build/release.log; exit 1; }
	@cmake --build --preset release $(if $(TARGETS),--target $(TARGETS))

run: TARGETS := rtrcu_program
bench: TARGETS := rtrcu-bench
explore: TARGETS := rtrcu-explore

run: build ## the main job: what reclamation does to a deadline, policy by policy (about a minute)
	@tools/setup run
	@mkdir -p out
	$(RTRCU) latency $(ARGS)

test: ## build and run the tests with every check on (others: ARGS="release asan tsan aarch64")
	@tools/setup build run test
	@tools/test $(ARGS)

test-long: ## behind `make test`: the other variants, and faults seeded into the library, which the tests must notice
	@tools/setup build run test
	@tools/test release tsan
	@tools/mutants --table
	@tools/mutants --sample 40 --seconds 150 --least 85 --fresh

bench: build ## side-by-side benchmarks against the peers
	@mkdir -p out
	$(TREE)/bench/rtrcu-bench $(ARGS)

torture: build ## about 10 minutes: every torture scenario, then the broken twins, which must all be caught
	$(RTRCU) torture $(or $(ARGS),--seconds 12)
	@cd $(TREE) && ctest -j $$(nproc) --no-label-summary -R '^torture_(twin_|matrix)' --output-on-failure
	@python3 test/torture/matrix.py test/torture/twins $(TREE)/test/torture/matrix

explore: build ## many interleavings of small scenarios, over the library's own source
	$(TREE)/test/explore/rtrcu-explore $(ARGS)

mutants: ## seed faults into the library and print those that no test notices (ARGS="--room gp --sample 50")
	@tools/setup build test
	@tools/test -R '^explore-build$$' debug
	@tools/mutants $(ARGS)

tidy: ## check the house rules of docs/style.md
	@tools/setup test
	@tools/tidy $(ARGS)

install: build ## install the library, its headers and the rtrcu program under PREFIX
	@cmake --preset release -DCMAKE_INSTALL_PREFIX=$(abspath $(PREFIX)) >build/release.log
	@cmake --build --preset release
	@cmake --install $(TREE)

clean: ## remove what was built
	rm -rf build out
