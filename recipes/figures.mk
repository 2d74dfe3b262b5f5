# Figures and published results. Each recipe is a target; recipes/mini/NAME.yaml is mini-NAME, recipes/night/NAME.yaml
# night-NAME. SMOKE=1: 16 steps of every method. BIN=FOLDER: the programs there, without a build. ARGS: to sparsebench.
# SPDX-License-Identifier: MIT
export ARGS
recipes     := $(wildcard recipes/*.yaml recipes/mini/*.yaml recipes/night/*.yaml)
figure_of    = $(patsubst recipes/%.yaml,%,$(subst recipes/night/,recipes/night-,$(1:recipes/mini/%=recipes/mini-%)))
figures     := $(sort $(call figure_of,$(recipes)))
of_torch    := $(shell grep -l $(torch_tasks:%=-e 'kind: %,') /dev/null $(recipes))
need         = sh .ci/need $(or $(DEPS),install)
carried     := $(if $(filter command,$(firstword $(origin BIN))),$(BIN))
.PHONY: $(figures)
$(figures):
	@$(if $(carried),,$(need) build fetch $(if $(filter $@,$(call figure_of,$(of_torch))),torch))
	@$(if $(carried),,$(MAKE) --no-print-directory all)
	@sh recipes/run $@ $(or $(carried),$(bin)) $(JOBS)
kernels kernels-cuda selection: $(if $(carried),,$(rivals))
fig2: $(filter fig2%,$(figures)) ## all of Figure 2
table1: $(filter-out table1-cifar100%,$(filter table1-%,$(figures))) ## Table 1: ACCORDION against hard-threshold
table1-cifar100: $(filter table1-cifar100-%,$(figures)) ## the same on CIFAR-100
mini-fig2: $(filter mini-fig2%,$(figures)) ## all of Figure 2 at laptop scale
night: $(filter night-fig% night-table%,$(figures)) ## Figures 2a and 3, Table 1: five hours on two cores, resumable
# ---- published results
results     := $(sort $(patsubst %.json,%,$(shell cut -c 67- results/SHA256SUMS)))
measured    := fig3-early kernels kernels-cuda selection # these need a GPU or quiet; others have targets of their own
published   := $(filter-out $(measured),$(filter $(figures),$(results)))
paper_first  = $(filter $(1),$(published)) $(filter-out $(1),$(published))
published   := $(call paper_first,fig% mini-fig% mini-table% night-fig% night-table%)
publish: $(published) ## run the published figures and renew results/
	cp $(foreach f,$^,results/local/$(f).json results/local/$(f).svg) results
	@$(MAKE) --no-print-directory sums pages
pages: ## renew what documents quote of the published results, tables and verdicts
	@python3 -B results/analysis/pages.py
sums: ## renew SHA256SUMS of results and results/archive, the checksums of all published numbers
	@for d in results results/archive; do \
	  (cd $$d && LC_ALL=C sha256sum -- *.json > SHA256SUMS.new && mv SHA256SUMS.new SHA256SUMS); done
audited      = $(or $(RESULTS),$(wildcard $(published:%=results/%.json)))
audit: all ## run a tenth of the published cells again, as many as take an hour (AUDIT_MINUTES= AUDIT_SHARE= SEED=)
	@mkdir -p build/audit
	@echo "left out: $(words $(wildcard results/archive/*.json)) results of results/archive, of former programs" >&2
	@$(bin)/sparsebench --audit --share $(or $(AUDIT_SHARE),0.1) --time-limit $$((60 * $(or $(AUDIT_MINUTES),60))) \
	  --table --force -o build/audit/audit.json $(if $(SEED),--seed $(SEED)) $(ARGS) $(audited)
advise-check: all ## train what --advise recommends from a tenth of a run
	@python3 tests/bench/advise_check.py $(bin) results/local/advise-check results/advise-check.json $(ARGS)
steps: all; @results/analysis/steps $(bin) $(ARGS) ## record gradients and simulate, for results/STEPS.md
profile     := compressors night-fig2a mini-fig2b mini-fig2c
profiles: all ## what methods pay on several tasks, from the published results
	@python3 results/analysis/profile.py --json --cost bits $(profile:%=results/%.json) > results/profile.json
	@python3 results/analysis/profile.py --json --cost bytes-sent results/compressors.json \
	  results/mini-compressors.json > results/profile-compressors.json
	@$(bin)/sparseplot-export -q -f results/profile.json -o results/profile.svg
report: all ## all published results as one page, build/report.html
	@$(bin)/sparseplot-export -q -f -o build/report.html --title "Published results of sparsegrad" \
	  $(addprefix results/,$(addsuffix .json,$(published) \
	    $(filter-out $(published) advise-check buckets correlation ddp-hooks delay links,$(results))))
	@echo "wrote build/report.html"
carry: all $(rivals) ## pack what figures need on a machine without packages (WITH_MPI=0 where it has none)
	@recipes/carry $(bin) $(plugins) $(rivals)
