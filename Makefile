# Elastane: see README.md. Meson and ninja do the work.
BUILD ?= build

all: $(BUILD)/build.ninja
	ninja -C $(BUILD)

$(BUILD)/build.ninja:
	meson setup $(BUILD)

check: all
	meson test -C $(BUILD)

.PHONY: all check
