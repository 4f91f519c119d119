# Every target sets up what it needs and does nothing that is done already. `make help` lists them.
SHELL := /bin/sh
CARGO ?= cargo
GUEST := wasi-tools/cargo.sh
# Where the binary and the tests find the tools image that `make image` packs.
export SANDBAR_IMAGE ?= $(CURDIR)/out/image

.DEFAULT_GOAL := help
.PHONY: help toolchain host image build dist run test lint bench clean

help: ## list the targets
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

toolchain: ## make Rust and C guests buildable (see wasi-tools/toolchain.sh)
	@wasi-tools/toolchain.sh

# Always the whole workspace: a single package would be built with other features of its dependencies, wasmtime with it.
host: ## build everything that runs on this machine
	@$(CARGO) build --workspace --all-targets

image: toolchain host ## build the guest programs and pack them into out/image
	@target/debug/sandbar-artifacts pack

build: host image ## build the binary and the image it runs

dist: image ## build the release binary with the tools image inside
	SANDBAR_EMBEDDED_IMAGE=$(CURDIR)/out/image.tar $(CARGO) build --release --package sandbar-mcp --features sandbar/default-image

run: build ## an agent's job in a sandbox, shown step by step
	@target/debug/sandbar demo

test: image ## everything that must pass: formatting, lints, tests, doc tests
	$(CARGO) fmt --check
	$(CARGO) fmt --check --manifest-path wasi-tools/Cargo.toml
	$(CARGO) clippy --workspace --all-targets -- --deny warnings
	$(GUEST) clippy --release -- --deny warnings
	$(CARGO) test --workspace

lint: test ## also licences, advisories and duplicate crates
	@command -v cargo-deny >/dev/null || $(CARGO) install --locked cargo-deny
	$(CARGO) deny check
	$(CARGO) deny --manifest-path wasi-tools/Cargo.toml check

bench: image ## the benchmarks, each beside its native twin
	$(CARGO) bench --workspace

clean: ## remove everything that was built
	$(CARGO) clean
	rm -rf out wasi-tools/target
