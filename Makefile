# The front door: `make`, `make run`, `make test`. Each installs what is missing, fetches, builds, and goes on; a second call
# does nothing that is done. `make help` lists the rest.
JOBS ?= $(shell nproc)
BUILD := build/release

.PHONY: all help deps build run test-deps test asan asan-core tsan clang-deps clang fuzz bench crash soak oracle format clean
all: build

help:
	@sed -n 's/^## //p' Makefile

## make            build build/release/hornbeam and everything beside it
## make run        the demo: a year of flights through Pub/Sub, a pipeline and BigQuery
## make test       build, then run every test but the long ones
## make asan       build with AddressSanitizer and UBSan, then run the unit tests
## make asan-core  the same for base, model, engine and SDK alone, which is what CI has time for
## make tsan       as asan, with ThreadSanitizer
## make clang      build with clang and its thread-safety analysis
## make fuzz       build the fuzzers with clang, ASan and UBSan, and run each for FUZZ_SECONDS (60)
## make bench INPUT=FILE   benchmarks/orders beside the bare loop, on a file of events
## make crash      the long crash tests: kill everything at random moments, then count
## make soak       an hour, or SECONDS=, of a job with everything in it that is killed again and again
## make oracle     10,000 random pipelines on the engine and on a naive reference runner (SEEDS=, FIRST=)
## make format     clang-format on all of our C++
## make clean      remove the builds, but not what was fetched

deps:
	@tools/bootstrap
	@tools/fetch_deps

test-deps:
	@tools/bootstrap tools/packages-test.txt
	@tools/fetch_deps

# $(call configure,PRESET): once; from then on ninja itself knows when to configure again.
configure = @[ -f build/$(1)/build.ninja ] || { echo "hornbeam: configuring build/$(1)"; \
  cmake --preset $(1) >build/$(1).log 2>&1 || { cat build/$(1).log; exit 1; }; }

# $(call compile,PRESET): with ninja's own progress the first time, quietly when there is little or nothing to do.
compile = @if [ -f build/$(1)/.built ]; then ninja -C build/$(1) -j $(JOBS) --quiet; \
  else ninja -C build/$(1) -j $(JOBS) && touch build/$(1)/.built; fi

build: deps
	$(call configure,release)
	$(call compile,release)

run: build
	@$(BUILD)/hornbeam demo

test: test-deps build
	@ctest --test-dir $(BUILD) --output-on-failure -j $(JOBS) -LE 'crash|soak'

asan: test-deps
	$(call configure,asan)
	$(call compile,asan)
	@ctest --test-dir build/asan --output-on-failure -j $(JOBS) -L unit

CORE_TESTS := base_test model_test engine_test sdk_test

asan-core: test-deps
	$(call configure,asan)
	@ninja -C build/asan -j $(JOBS) $(CORE_TESTS)
	@ctest --test-dir build/asan --output-on-failure -j $(JOBS) -R '^(base_test|model_test|engine_test|sdk_test)$$'

tsan: test-deps
	$(call configure,tsan)
	$(call compile,tsan)
	@ctest --test-dir build/tsan --output-on-failure -j $(JOBS) -L unit

clang-deps:
	@tools/bootstrap tools/packages-clang.txt
	@tools/fetch_deps

clang: clang-deps
	$(call configure,clang)
	$(call compile,clang)

FUZZ_SECONDS ?= 60

fuzz: clang-deps
	$(call configure,fuzz)
	@ninja -C build/fuzz -j $(JOBS) fuzzers
	@tools/run_fuzzers build/fuzz $(FUZZ_SECONDS)

bench: build
	@[ -n "$(INPUT)" ] || { echo "hornbeam: name the events: make bench INPUT=FILE, one JSON object with id, store, amount, ts a line" >&2; exit 1; }
	@$(BUILD)/benchmarks/bare_loop --input "$(INPUT)" --json
	@$(BUILD)/benchmarks/orders --input "$(INPUT)" --workers 2 --json

crash: test-deps build
	@ctest --test-dir $(BUILD) --output-on-failure -L crash

SECONDS ?= 3600

soak: deps
	$(call configure,release)
	@ninja -C $(BUILD) -j $(JOBS) --quiet soak
	@$(BUILD)/tests/soak/soak --seconds $(SECONDS)

SEEDS ?= 10000
FIRST ?= 1

oracle: deps
	$(call configure,release)
	@ninja -C $(BUILD) -j $(JOBS) --quiet oracle
	@$(BUILD)/tests/oracle/oracle --seeds $(SEEDS) --first $(FIRST)

format:
	@command -v clang-format >/dev/null || { echo "hornbeam: clang-format is not installed: apt-get install clang-format" >&2; exit 1; }
	@git ls-files '*.h' '*.cc' | xargs clang-format -i

clean:
	@rm -rf build/release build/dev build/asan build/tsan build/clang build/fuzz build/*.log
