# The front door: `make`, `make run`, `make test`. Each installs what is missing, fetches, builds, and goes on.
# `make help` lists the rest.
JOBS ?= $(shell nproc)
BUILD := build/release

.PHONY: all deps build run test help
all: build

help:
	@sed -n 's/^## //p' Makefile

## make            build build/release/hornbeam and everything beside it
## make run        run the demo: a year of flights through Pub/Sub, a pipeline and BigQuery
## make test       build, then run every test that is not a soak
deps:
	@tools/bootstrap
	@tools/fetch_deps

build: deps
	@cmake --preset release -G Ninja >$(or $(TMPDIR),/tmp)/hornbeam-configure.log 2>&1 || { cat $(or $(TMPDIR),/tmp)/hornbeam-configure.log; exit 1; }
	@cmake --build --preset release -j $(JOBS)
