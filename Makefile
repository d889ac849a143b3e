# SPDX-License-Identifier: Apache-2.0
# A small face for meson and ninja, which do the work. `make help` lists the targets.
#   BUILD=dir     where everything goes (default build)
#   CC, PREFIX    compiler and prefix, when BUILD is made for the first time
#   FUZZ_SECONDS  per fuzz target: 60 for make fuzz, 20 in make check-all
BUILD ?= build
PREFIX ?= /usr/local
PROGRAMS = elastane elastaned elastane-shim
GATE = tools/gate.py --build $(BUILD)

all: $(BUILD)/build.ninja
	ninja -C $(BUILD)
	@for p in $(PROGRAMS); do \
		if [ -e $(BUILD)/src/prog/$$p ]; then ln -sfn src/prog/$$p $(BUILD)/$$p; fi; \
	done

$(BUILD)/build.ninja:
	meson setup --prefix=$(PREFIX) $(BUILD)

setup:
	script/setup

# Three real training jobs share this machine's devices; script/demo says how.
demo: setup
	@test -x script/demo || \
		{ echo 'make demo: script/demo is not in this tree yet (README, "State")' >&2; exit 1; }
	$(MAKE) all
	BUILD=$(BUILD) script/demo

check: setup
	$(GATE) check

check-all: setup
	$(GATE) check-all

check-layers:
	tools/check_layers.py

bench: setup
	test -e $(BUILD)/bench/build.ninja || \
		meson setup --buildtype=release -Db_ndebug=false $(BUILD)/bench
	ninja -C $(BUILD)/bench
	tools/bench.py $(BUILD)/bench $(BUILD)/bench.json

fuzz: setup
	FUZZ_SECONDS=$${FUZZ_SECONDS:-60} $(GATE) fuzz

format:
	tools/format.sh

install: all
	meson install -C $(BUILD)

clean:
	rm -rf $(BUILD)

help:
	@echo 'make             build $(BUILD)/elastane, elastaned and elastane-shim'
	@echo 'make demo        real training jobs share this machine, at most 4 minutes'
	@echo 'make check       format, layers, purity, all tests under ASan and UBSan (10 min)'
	@echo 'make check-all   both compilers, digests, TSan, clang-tidy, fuzzing (40 min)'
	@echo 'make bench       all benchmarks; figures in $(BUILD)/bench.json'
	@echo 'make fuzz        each fuzz target for FUZZ_SECONDS (60)'
	@echo 'make format      clang-format-14 over the tree'
	@echo 'make install     to PREFIX (/usr/local), under DESTDIR when it is set'
	@echo 'make clean       remove $(BUILD)'
	@echo 'make setup       install missing Debian packages (make check does it too)'

.PHONY: all setup demo check check-all check-layers bench fuzz format install clean help
