# Everything here needs Python 3.11 or later and make; `make e2e` also needs Node.js 20.19 or later
# and Chromium.
# `make PYTHON=/path/to/python3.12 test` chooses the interpreter.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory --no-builtin-rules

export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_NO_INPUT := 1
# Where it is set, each worker of the tests compiles all of them anew, and each process that they start
# compiles the package: half of what either takes to start.
unexport PYTHONDONTWRITEBYTECODE

VENV := .venv
LOWEST := .venv-lowest
FRAMEWORKS_LOWEST := .venv-frameworks-lowest
FRAMEWORKS_NEWEST := .venv-frameworks-newest
PEERS_VENV := .venv-peers
LANGGRAPH_VENV := .venv-langgraph-server
SITE_VENV := .venv-site
MATRIX_VENVS := .venv-matrix
DOJO_VENV := .venv-dojo
PYTEST_ARGS ?=
# Processes of tests share the files, two for each core (tests/conftest.py says why). More than four
# only wait for the disk and the connections of PostgreSQL. One that dies fails the run, with the name
# of its test.
PARALLEL := -n auto --maxprocesses=4 --dist=loadfile --no-loadscope-reorder --max-worker-restart=0
# A browser, a bridge and a server of Mastra take more than a core: three of each wait for one another.
IN_TWO := -n 2 --dist=loadfile --max-worker-restart=0
BENCH_ARGS ?=
PORT ?= 8787
QUICK ?=
PEERS ?=
STORES ?=
SECONDS ?= 60
REPLICAS ?= 2
LOAD_ARGS ?=
IDS ?=
WHOLE ?=
DOJO ?=
DOJO_ARGS ?=
ORDINARY := --ignore=tests/e2e -m "not soak" $(PARALLEL)
# What needs the group `frameworks`, which wants newer versions than the oldest ones allowed.
FRAMEWORK_TESTS := $(addprefix tests/adapters/,a2a adk agent_framework agno claude dbos langgraph langgraph_server llama_index openai_agents pydantic_ai strands temporal test_a2ui.py test_application_words.py test_calls_by_code.py test_changed_calls.py test_earlier_notes.py test_endings.py test_file_handles.py test_forwarded_props.py test_frontend_errors.py test_frontend_results.py test_needs_input.py test_provider_clients.py test_questions_about_calls.py test_redactions.py test_refused_files.py test_repeated_call_ids.py test_signed_thoughts.py test_tool_events.py test_ways_to_ask.py) \
	$(addprefix tests/engine/run/test_refused_,messages.py request.py) tests/servers/model/test_anthropic.py \
	$(addprefix tests/docs/test_,adk.py agent_framework.py agno.py claude.py dbos.py frameworks.py langgraph.py langgraph_server.py llama_index.py openai_agents.py pydantic_ai.py strands.py temporal.py) \
	tests/a2a/test_official_client.py tests/mcp tests/mcp_server tests/http/test_mcp.py $(addprefix tests/docs/test_,mcp.py mcp_server.py) $(addprefix tests/examples/test_,claude_agent.py dbos.py mcp_tools.py)
# Where a dependency does the work: what is pure, what a framework does and what judges other servers
# is the same with the oldest.
LOWEST_TESTS := $(addprefix tests/,agents bridge channels cli client config engine http inbox otel protocol servers shapes stdio stores test_agent_file.py test_frozen.py test_logs.py test_media.py test_readme.py test_tool_gate.py) \
	$(addprefix tests/adapters/,agui mastra nexau superagent webhook test_lost_results.py test_reopening.py)
NODE_FOLDERS := tests/e2e tests/e2e/a2a tests/e2e/acp-agents tests/e2e/mcp tests/e2e/mcp-servers tests/e2e/releases tests/e2e/tdesign examples/assistant-ui tests/servers/mastra examples/cards examples/copilotkit examples/tanstack-ai
FRONTEND_FOLDERS := tests/e2e tests/e2e/tdesign examples/assistant-ui examples/copilotkit examples/tanstack-ai
E2E_PEERS := ag2 agent_framework agno strands
E2E_TESTS := $(wildcard tests/e2e/test_*.py)
TYPED := $(wildcard .ci/*.py agui_bridge adapters docs tests examples benchmarks loadtest matrix)

# A version manager may offer a name that it then cannot run, so each candidate is asked.
find_python = for python in $(or $(PYTHON),python3.13 python3.12 python3.11 python3 python); do \
	"$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && break; \
	python=; \
	done; \
	if [ -z "$$python" ]; then \
	echo 'agui-bridge needs Python 3.11 or later, and none was found$(if $(PYTHON), under PYTHON=$(PYTHON)).' >&2; \
	echo 'Install one, or name it: make PYTHON=/path/to/python3.12 $(MAKECMDGOALS)' >&2; \
	exit 1; \
	fi

.PHONY: help demo test soak lint types format docs site schemas coverage e2e e2e-lowest frontends pictures lowest frameworks-lowest frameworks-newest bench load matrix dojo seeded clean

help: ## List what can be made
	@echo 'agui-bridge: make TARGET'
	@sed -nE 's/^([a-z0-9-]+):.*## (.*)/  \1\t\2/p' $(MAKEFILE_LIST) | expand -t 21

demo: $(VENV)/.installed ## Run the demo, which needs no model and no key (PORT=9000)
	@$(VENV)/bin/python -m examples.demo --port $(PORT)

test: $(VENV)/.installed-dev ## Run the tests, without make soak's and the end-to-end ones (PYTEST_ARGS='-k name')
	@$(VENV)/bin/python -m pytest $(ORDINARY) $(PYTEST_ARGS)

soak: $(VENV)/.installed-dev ## Run the tests that are slow by nature: faults, kills, races, long schedules, other processes
	@$(VENV)/bin/python -m pytest --ignore=tests/e2e -m soak $(PARALLEL) $(PYTEST_ARGS)

lint: $(VENV)/.installed-dev ## Check style, formatting and types
	@$(VENV)/bin/ruff check --quiet .
	@$(VENV)/bin/ruff format --quiet --check .
	@$(VENV)/bin/mypy --no-error-summary $(TYPED)
	@echo 'lint: no complaints'

types: $(VENV)/.installed-dev ## Count the names that have a type, as users' checkers see them (98 % at least)
	@$(VENV)/bin/python .ci/type_completeness.py

format: $(VENV)/.installed-dev ## Format the code and sort the imports
	@$(VENV)/bin/ruff check --quiet --fix-only .
	@$(VENV)/bin/ruff format --quiet .

docs: $(VENV)/.installed-dev ## Write the pages and the picture that are made from the code
	@$(VENV)/bin/python -m docs.generators

site: $(VENV)/.installed-dev $(SITE_VENV)/.installed ## Build the documentation site into site/, and see that no link is dead and no page lost
	@$(VENV)/bin/python -m docs.site
	@$(SITE_VENV)/bin/zensical build --clean --strict -f build/site/zensical.toml > build/site/log 2>&1 \
		|| { cat build/site/log >&2; exit 1; }
	@rm -rf site && mv build/site/site site
	@$(VENV)/bin/python -m docs.site --built site

schemas: $(VENV)/.installed ## Write schemas/ anew from the code
	@$(VENV)/bin/python -m agui_bridge.documents schemas

coverage: $(VENV)/.installed-dev ## Run the tests and report the branches that none of them takes
	@$(VENV)/bin/python -m pytest --ignore=tests/e2e --cov --cov-report=term $(PYTEST_ARGS)

ifeq ($(E2E_TESTS),)
e2e:
	@echo 'e2e: no end-to-end tests yet'
else
e2e: $(VENV)/.installed-dev ## Run real clients, a browser, and real LangGraph, Mastra, pydantic-ai, AG2, agno and Strands servers against the bridge
	@if command -v npm >/dev/null; then \
		$(MAKE) -j4 $(addsuffix /node_modules/.installed,$(NODE_FOLDERS)) $(PEERS_VENV)/.installed \
			$(LANGGRAPH_VENV)/.installed $(E2E_PEERS:%=$(MATRIX_VENVS)/%/.installed); \
		$(VENV)/bin/python -m pytest tests/e2e $(IN_TWO) $(PYTEST_ARGS); \
	elif [ -n "$${CI:-}" ]; then \
		echo 'e2e: failed: npm is not installed, and CI must run these tests' >&2; exit 1; \
	else \
		echo 'e2e: skipped: npm is not installed (get Node.js 20 or later to run these tests)'; \
	fi
endif

# Those of the terminal are among the quick tests.
frontends: $(VENV)/.installed-dev ## Run the tests that show what each client can do, and write docs/frontends.md
	@$(MAKE) $(addsuffix /node_modules/.installed,$(FRONTEND_FOLDERS)) $(MATRIX_VENVS)/agent_framework/.installed
	@$(VENV)/bin/python -m pytest -p tests.frontends -m feature tests/e2e tests/cli $(PYTEST_ARGS)

MASTRA_LOWEST := tests/servers/mastra/lowest
MASTRA_TESTS := $(addprefix tests/e2e/test_mastra,.py _application.py _depth.py _durable.py _guards.py _options.py _restarts.py _stop.py _workflows.py)

e2e-lowest: $(VENV)/.installed-dev tests/e2e/node_modules/.installed $(MASTRA_LOWEST)/node_modules/.installed ## Run the tests with Mastra on the lowest version that is supported
	@MASTRA_PACKAGES=$(MASTRA_LOWEST) $(VENV)/bin/python -m pytest $(MASTRA_TESTS) $(IN_TWO) $(PYTEST_ARGS)

PICTURE_TESTS := $(addprefix tests/e2e/browser/test_,assistant_ui.py demo.py inbox.py tanstack_ai.py)

pictures: $(VENV)/.installed-dev ## Take the pictures of pages and of the terminal that docs/ shows anew, and the one that moves (needs Chromium)
	@$(MAKE) $(addsuffix /node_modules/.installed,$(FRONTEND_FOLDERS))
	@rm -rf artefacts/pictures
	@$(VENV)/bin/python -m pytest -q $(PICTURE_TESTS) -k 'test_demo or test_pictures or form or fits'
	@cp artefacts/pictures/* docs/images/
	@$(VENV)/bin/python -m docs.generators.terminal

lowest: $(LOWEST)/.installed-dev ## Run the quick tests that need a dependency with the oldest ones allowed
	@$(LOWEST)/bin/python -m pytest $(LOWEST_TESTS) $(addprefix --ignore=,$(FRAMEWORK_TESTS)) -m 'not soak' -W default $(PARALLEL) $(PYTEST_ARGS)

frameworks-lowest: $(FRAMEWORKS_LOWEST)/.installed ## Run the quick tests of the frameworks' adapters with the oldest version of each
	@$(FRAMEWORKS_LOWEST)/bin/python -m pytest $(FRAMEWORK_TESTS) -m 'not soak' -W default $(PARALLEL) $(PYTEST_ARGS)

# Anew each time: there is no file whose change tells of a release.
frameworks-newest: ## Run the same tests with the newest version of each, beyond the bounds of pyproject.toml too
	@$(find_python); echo "Setting up $(FRAMEWORKS_NEWEST) with $$($$python --version) and the newest frameworks"; \
	rm -rf $(FRAMEWORKS_NEWEST); "$$python" -m venv $(FRAMEWORKS_NEWEST)
	@$(FRAMEWORKS_NEWEST)/bin/python -m pip install -qq -U pip
	@sed 's/==/>=/' constraints-frameworks-lowest.txt > $(FRAMEWORKS_NEWEST)/lowest.txt
	@$(FRAMEWORKS_NEWEST)/bin/python -m pip install -qq -c $(FRAMEWORKS_NEWEST)/lowest.txt -e '.[all]' --group test --group frameworks
	@$(FRAMEWORKS_NEWEST)/bin/python -m pytest $(FRAMEWORK_TESTS) -W default $(PARALLEL) $(PYTEST_ARGS)

bench: $(VENV)/.installed-dev $(if $(PEERS),$(PEERS_VENV)/.installed) ## Measure the budget (QUICK=1, PEERS=1, STORES=1, BENCH_ARGS='--only encode')
	@$(VENV)/bin/python -m benchmarks $(if $(QUICK),--quick) $(if $(PEERS),--peers) $(if $(STORES),--stores) $(BENCH_ARGS)

load: $(VENV)/.installed-dev ## Press replicas on each store and count, then attack one (SECONDS=60, REPLICAS=2, STORES='sqlite redis')
	@$(VENV)/bin/python -m loadtest --seconds $(SECONDS) --replicas $(REPLICAS) $(if $(STORES),--stores $(STORES)) $(LOAD_ARGS)

# A peer is called as its package, with dashes or underscores.
MATRIX_PEERS = $(if $(PEERS),$(subst -,_,$(PEERS)),$(basename $(notdir $(wildcard tests/servers/peers/*.txt))))

matrix: $(VENV)/.installed-dev ## Judge public producers of AG-UI alone and behind the bridge (PEERS='agno strands')
	@$(MAKE) $(MATRIX_PEERS:%=$(MATRIX_VENVS)/%/.installed)
	@$(VENV)/bin/python -m matrix $(MATRIX_PEERS)

# The folder is looked at before anything is installed for it.
dojo: $(VENV)/.installed ## Run AG-UI's own dojo behind the bridge (DOJO=FOLDER, a checkout; DOJO_ARGS='adk --official', --compare)
	@$(VENV)/bin/python -m tests.dojo.checkout $(DOJO)
	@$(MAKE) $(DOJO_VENV)/.installed
	@$(DOJO_VENV)/bin/python -m tests.dojo $(DOJO) $(DOJO_ARGS)

seeded: $(VENV)/.installed-dev ## Break the code in 50 ways, one at a time, and see that the tests notice (IDS=, WHOLE=1)
	@$(VENV)/bin/python -m tests.seeded $(IDS) $(if $(WHOLE),--whole='$(ORDINARY)')

clean: ## Remove the environments, caches and builds
	@rm -rf $(VENV) $(LOWEST) $(FRAMEWORKS_LOWEST) $(PEERS_VENV) $(LANGGRAPH_VENV) $(SITE_VENV) $(MATRIX_VENVS) $(DOJO_VENV) build dist site htmlcov .coverage .coverage.* \
		.hypothesis .mypy_cache .pytest_cache .ruff_cache artefacts examples/assistant-ui/dist examples/cards/dist examples/copilotkit/dist examples/tanstack-ai/dist tests/e2e/tdesign/dist \
		$(addsuffix /node_modules,$(NODE_FOLDERS))
	@find agui_bridge adapters tests examples benchmarks loadtest matrix -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true

# The environments. A stamp is written last, so that an install that was broken off starts over.

$(VENV)/.installed: pyproject.toml constraints.txt
	@$(find_python); echo "Setting up $(VENV) with $$($$python --version)"; \
	[ -x $(VENV)/bin/python ] || { rm -rf $(VENV); "$$python" -m venv $(VENV); }
	@$(VENV)/bin/python -m pip install -qq -c constraints.txt -e '.[playground,inbox]'
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	@echo 'Installing what the tests and checks need'
	@$(VENV)/bin/python -m pip install -qq -c constraints.txt pip
	@$(VENV)/bin/python -m pip install -qq -c constraints.txt -e '.[all]' --group dev
	@touch $@

$(LOWEST)/.installed-dev: pyproject.toml constraints-lowest.txt
	@$(find_python); echo "Setting up $(LOWEST) with $$($$python --version) and the oldest dependencies"; \
	rm -rf $(LOWEST); "$$python" -m venv $(LOWEST)
	@$(LOWEST)/bin/python -m pip install -qq -c constraints-lowest.txt pip
	@$(LOWEST)/bin/python -m pip install -qq -c constraints-lowest.txt -e '.[all]' --group test
	@touch $@

$(FRAMEWORKS_LOWEST)/.installed: pyproject.toml constraints-frameworks-lowest.txt
	@$(find_python); echo "Setting up $(FRAMEWORKS_LOWEST) with $$($$python --version) and the oldest frameworks"; \
	rm -rf $(FRAMEWORKS_LOWEST); "$$python" -m venv $(FRAMEWORKS_LOWEST)
	@$(FRAMEWORKS_LOWEST)/bin/python -m pip install -qq -U pip
	@$(FRAMEWORKS_LOWEST)/bin/python -m pip install -qq -c constraints-frameworks-lowest.txt -e '.[all]' --group test --group frameworks --group frameworks-openai-2
	@touch $@

$(PEERS_VENV)/.installed: benchmarks/peers.txt
	@$(find_python); echo "Setting up $(PEERS_VENV) with $$($$python --version) and what is compared"; \
	rm -rf $(PEERS_VENV); "$$python" -m venv $(PEERS_VENV)
	@$(PEERS_VENV)/bin/python -m pip install -qq -r benchmarks/peers.txt
	@touch $@

# It wants older versions of protobuf and jsonschema-rs than the tests have.
$(LANGGRAPH_VENV)/.installed: tests/servers/langgraph_server/requirements.txt
	@$(find_python); echo "Setting up $(LANGGRAPH_VENV) with $$($$python --version) and LangGraph's server"; \
	rm -rf $(LANGGRAPH_VENV); "$$python" -m venv $(LANGGRAPH_VENV)
	@$(LANGGRAPH_VENV)/bin/python -m pip install -qq -r $<
	@touch $@

$(SITE_VENV)/.installed: docs/site/requirements.txt
	@$(find_python); echo "Setting up $(SITE_VENV) with $$($$python --version) and what builds the site"; \
	rm -rf $(SITE_VENV); "$$python" -m venv $(SITE_VENV)
	@$(SITE_VENV)/bin/python -m pip install -qq -r $<
	@touch $@

$(DOJO_VENV)/.installed: tests/dojo/requirements.txt pyproject.toml constraints.txt
	@$(find_python); echo "Setting up $(DOJO_VENV) with $$($$python --version) and the frameworks' own servers"; \
	rm -rf $(DOJO_VENV); "$$python" -m venv $(DOJO_VENV)
	@$(DOJO_VENV)/bin/python -m pip install -qq -c constraints.txt pip
	@$(DOJO_VENV)/bin/python -m pip install -qq -c constraints.txt -e '.[all]' --group frameworks
	@$(DOJO_VENV)/bin/python -m pip install -qq --no-deps -r tests/dojo/requirements.txt
	@touch $@

$(MATRIX_VENVS)/%/.installed: tests/servers/peers/%.txt
	@$(find_python); echo "Setting up $(@D) with $$($$python --version)"; \
	rm -rf $(@D); "$$python" -m venv $(@D)
	@$(@D)/bin/python -m pip install -qq -r $<
	@touch $@

tests/e2e/node_modules/.installed: tests/e2e/package.json tests/e2e/package-lock.json
	@echo 'Installing the clients that the end-to-end tests drive'
	@npm ci --prefix tests/e2e --silent
	@touch $@

tests/e2e/a2a/node_modules/.installed: tests/e2e/a2a/package.json tests/e2e/a2a/package-lock.json
	@echo "Installing A2A's own client"
	@npm ci --prefix tests/e2e/a2a --silent
	@touch $@

tests/e2e/acp-agents/node_modules/.installed: tests/e2e/acp-agents/package.json tests/e2e/acp-agents/package-lock.json
	@echo 'Installing Codex and Gemini CLI'
	@npm ci --prefix tests/e2e/acp-agents --silent
	@touch $@

tests/e2e/mcp/node_modules/.installed: tests/e2e/mcp/package.json tests/e2e/mcp/package-lock.json
	@echo "Installing MCP's own clients"
	@npm ci --prefix tests/e2e/mcp --silent
	@touch $@

tests/e2e/mcp-servers/node_modules/.installed: tests/e2e/mcp-servers/package.json tests/e2e/mcp-servers/package-lock.json
	@echo 'Installing public MCP servers'
	@npm ci --prefix tests/e2e/mcp-servers --silent
	@touch $@

tests/e2e/releases/node_modules/.installed: tests/e2e/releases/package.json tests/e2e/releases/package-lock.json
	@echo 'Installing the clients from before 1.0'
	@npm ci --prefix tests/e2e/releases --silent
	@touch $@

tests/e2e/tdesign/node_modules/.installed: tests/e2e/tdesign/package.json tests/e2e/tdesign/package-lock.json
	@echo 'Installing TDesign and the rest of its page'
	@npm ci --prefix tests/e2e/tdesign --silent
	@touch $@

examples/assistant-ui/node_modules/.installed: examples/assistant-ui/package.json examples/assistant-ui/package-lock.json
	@echo 'Installing assistant-ui and the rest of its page'
	@npm ci --prefix examples/assistant-ui --silent
	@touch $@

examples/tanstack-ai/node_modules/.installed: examples/tanstack-ai/package.json examples/tanstack-ai/package-lock.json
	@echo 'Installing TanStack AI and the rest of its page'
	@npm ci --prefix examples/tanstack-ai --silent
	@touch $@

tests/servers/mastra/node_modules/.installed: tests/servers/mastra/package.json tests/servers/mastra/package-lock.json
	@echo 'Installing the Mastra server that the end-to-end tests talk to'
	@npm ci --prefix tests/servers/mastra --silent
	@touch $@

$(MASTRA_LOWEST)/node_modules/.installed: $(MASTRA_LOWEST)/package.json $(MASTRA_LOWEST)/package-lock.json
	@echo 'Installing the lowest version of Mastra'
	@npm ci --prefix $(MASTRA_LOWEST) --silent
	@touch $@

examples/copilotkit/node_modules/.installed: examples/copilotkit/package.json examples/copilotkit/package-lock.json
	@echo 'Installing CopilotKit and the rest of its page'
	@npm ci --prefix examples/copilotkit --silent
	@touch $@

examples/cards/node_modules/.installed: examples/cards/package.json examples/cards/package-lock.json
	@echo 'Installing what the cards are built with'
	@npm ci --prefix examples/cards --silent
	@touch $@
