# Tests and measurements. tests/README.md says when to run which, and tests/run what belongs to one.
# SPDX-License-Identifier: MIT
torch_tests := $(sort $(wildcard $(patsubst %,tests/unit/test_%*.c,tensor $(torch_tasks))))
test_src    := $(filter-out $(if $(torch),,$(torch_tests)),$(sort $(wildcard tests/unit/test_*.c)))
# The CUDA kernels' tests run on a device, and emulated where C++ is: 64 threads a block, at night gpu_wide with 512.
gpu_torch   := $(basename $(notdir $(sort $(wildcard $(torch_tasks:%=tests/gpu/test_%*.c)))))
gpu_other   := $(filter-out $(gpu_torch),$(basename $(notdir $(sort $(wildcard tests/gpu/test_*.c)))))
gpu_names   := test_kernels test_sums test_vectors test_products $(gpu_other) $(if $(torch),$(gpu_torch))
gpu_wide    := test_kernels test_sums test_products
gpu_small   := $(patsubst %,$(B)/gpu/%_64,$(filter-out $(gpu_torch),$(gpu_names)))
gpu_tests   := $(if $(cuda),$(gpu_names:%=$(B)/gpu/%) $(gpu_small))
emulations  := $(gpu_names:%=%_emulated) $(if $(filter release debug,$(MODE)),$(gpu_wide:%=%_512_emulated))
unit_tests  := $(test_src:tests/unit/%.c=$(B)/tests/%) $(if $(have_cxx),$(emulations:%=$(B)/tests/%))
# What is tried as it is optimized on each push. Sanitizers take minutes for these and try them at night.
optimized   := kernels sums vectors products dense half codes levels wire compressors comm train_records
optimized   := $(filter $(optimized:%=$(B)/tests/test_%) %_emulated,$(filter-out %_512_emulated,$(unit_tests)))
fuzz_bins   := $(patsubst tests/%.c,$(B)/%,$(sort $(wildcard tests/fuzz/fuzz_*.c)))
link_tools  := $(B)/links/report $(if $(mpi),$(B)/links/measure)
# What sparsebench compares kernels with. Sanitizers have nothing to find in it, and take minutes.
rivals      := $(if $(torch),rivals.so) $(if $(cuda),rivals-cuda.so)
rivals      := $(if $(filter release debug,$(MODE)),$(rivals:%=$(built_lib)/sparsegrad/%))
program      = $(CC) $(cflags) $(ldflags) -Itests/unit -Itests/links -Itests/deviations -MMD -MP -MF $@.d -o $@ $< \
               $(filter %.o,$^) $(engine) $(libs) $(mpi_libs)
objects      = $(CC) $(ldflags) -o $@ $(filter %.o,$^) $(engine) $(libs) $(mpi_libs)
$(B)/tests/%: tests/unit/%.c $(engine) $(B)/flags
	$(call on,LD)$(program)
$(B)/%: tests/%.c $(engine) $(B)/flags
	$(call on,LD)$(program)
$(B)/links/%: private cflags += $(mpi_cflags)
$(B)/deviations: $(patsubst %.c,$(B)/%.o,$(wildcard tests/deviations/*.c)) $(engine)
	$(call on,LD)$(objects)
$(B)/tests/test_deviations: $(patsubst %.c,$(B)/%.o,$(filter-out %_print.c,$(wildcard tests/deviations/*.c)))
$(B)/bench/training_libtorch: tests/bench/training_libtorch.cpp
	$(call on,CXX)$(CXX) $(torch_cxx) -fopenmp -o $@ $< $(torch_libs)
%/lib/sparsegrad/rivals.so: tests/bench/rivals.cpp lib/bench/bench_rival.h $(B)/flags
	$(call on,CXX)$(CXX) $(torch_cxx) -O3 -shared -Ilib/bench -o $@ $< $(torch_libs)
%/lib/sparsegrad/rivals-cuda.so: $(addprefix $(B)/tests/gpu/,kernel_times.o rivals_cuda.o)
	$(call on,NVCC)$(NVCC) $(nvcc_flags) -shared -cudart static -o $@ $^
# The emulation: the same sources as C++, with 64 threads a block, so that small vectors have many, or with 512.
emulate     := -std=c++17 -DSPARSEGRAD_UNSTABLE -fPIC -O2 -g -ffp-contract=off -Wall -Wextra -Wno-unknown-pragmas \
               $(checks) $(filter -fsanitize%,$(opt)) -Itests/emulation $(includes)
emulated     = $(patsubst %.cu,$(B)/emulation/$(1)/%.o,$(notdir $(cuda_src)) cuda_host_table.cu)
vpath %.cu kernels/cuda tests/gpu
emulation     = $(call on,CXX)$(CXX) -x c++ $(emulate) -DSG_CUDA_THREADS=$(1) -MMD -MP -c -o $@ $<
$(foreach t,64 512,$(eval $(B)/emulation/$(t)/%.o: %.cu $(B)/flags ; $$(call emulation,$(t))))
# The kernels that the hook for PyTorch calls, for tensors of the CPU: tests/cli/ddp_device.py.
$(B)/emulation/libsparsegrad_emulated.so: $(patsubst %,$(B)/emulation/64/cuda_%.o,select topk sums workspace)
	$(call on,LD)$(CXX) -shared $(filter -fsanitize%,$(opt)) -o $@ $^
$(B)/gpu/64/%.o: kernels/cuda/%.cu $(B)/flags
	$(call on,NVCC)$(NVCC) $(nvcc_flags) -DSG_CUDA_THREADS=64 $(includes) -MMD -MP -c -o $@ $<
vpath test_%.c tests/gpu tests/unit
$(gpu_names:%=$(B)/gpu/%.o): $(B)/gpu/%.o: %.c $(B)/flags
	$(call on,CC)$(CC) $(cflags) -DSG_TEST_CUDA -Itests/unit -Itests/gpu -MMD -MP -c -o $@ $<
# Tests of libtorch's tasks have them linked in. --wrap lets them say so, and put tensors beside emulated vectors.
torch_gpu   := $(gpu_torch:%=$(B)/tests/%_emulated) $(gpu_torch:%=$(B)/gpu/%)
$(torch_gpu): private ldflags += -Wl,--wrap=sg_task_load,--wrap=sg_scope_open,--wrap=sg_scope_use_graph
$(torch_gpu) $(torch_tests:tests/unit/%.c=$(B)/tests/%): private libs := $(torch_libs) -lstdc++ $(libs)
$(torch_gpu) $(torch_tests:tests/unit/%.c=$(B)/tests/%): $(torch_obj)
$(gpu_names:%=$(B)/tests/%_emulated): $(B)/tests/%_emulated: $(B)/gpu/%.o $(call emulated,64) $(engine)
$(gpu_wide:%=$(B)/tests/%_512_emulated): $(B)/tests/%_512_emulated: $(B)/gpu/%.o $(call emulated,512) $(engine)
%_emulated:
	$(call on,LD)$(CC) $(ldflags) -o $@ $(filter %.o,$^) $(engine) -lstdc++ $(libs) $(mpi_libs)
gpu_64      := $(cuda_src:kernels/cuda/%.cu=$(B)/gpu/64/%.o)
$(gpu_small): $(B)/gpu/%_64: $(B)/gpu/%.o $(B)/tests/gpu/cuda_host_table.o $(gpu_64) $(engine)
	$(call on,LD)$(objects)
$(gpu_names:%=$(B)/gpu/%): $(B)/gpu/%: $(B)/gpu/%.o $(B)/tests/gpu/cuda_host_table.o $(engine)
	$(call on,LD)$(objects)
# ---- tests
unit: $(unit_tests) ## unit tests of this MODE
	prove $(unit_tests)
installed   := $(built) $(B)/deviations # what tests look at that run beside each other
build-tests: all $(rivals) $(unit_tests) $(gpu_tests) $(fuzz_bins) $(installed) $(link_tools)
check: all $(rivals) $(unit_tests) $(installed) $(link_tools) ## after each change: unit tests, what programs are for
	@sh tests/run quick
parallel     = --no-print-directory -j$(JOBS)
test: ## all of CI's tests; installs what they need
	@$(need) test
	@$(MAKE) $(parallel) all $(optimized) $(installed) $(link_tools) \
	  $(if $(wildcard /dev/nvidia0),$(gpu_tests),$(filter-out $(gpu_small),$(gpu_tests)))
	@sh tests/run all
optimized: # prints the names
	@echo $(notdir $(optimized))
units: all $(unit_tests) # programs and unit tests of a build that the nightly level adds
sanitized: all $(filter-out %_emulated,$(unit_tests)) $(fuzz_bins) # what sanitizers try on each push
nightly: ## those, the slow ones, other compilers and builds, ThreadSanitizer, faults: an hour
	@$(need) test valgrind
	@$(MAKE) $(parallel) build-tests
	@! command -v clang >/dev/null || $(MAKE) $(parallel) fuzz
	@sh tests/run nightly
least       := WITH_TORCH=0 WITH_CUDA=0 MODE=debug WERROR=1 syntax-only
syntax: ## compile all sources with clang, and what MPI changes without it; nothing is linked
	@$(MAKE) --no-print-directory CC=clang $(least)
	@$(MAKE) --no-print-directory WITH_MPI=0 $(least) SYNTAX="$$(grep -rl SG_WITH_ lib cmd kernels --include='*.c')"
SYNTAX      := $(core_src) $(engine_src) $(wildcard cmd/*.c) $(isa_src)
syntax-only: $(B)/flags $(B)/version.h $(B)/page_files.h $(B)/plugin_server.h
	@printf '%s\n' $(filter-out $(isa_src),$(SYNTAX)) | xargs -P $(JOBS) -n 40 $(CC) $(cflags) -fsyntax-only
	@$(if $(filter $(isa_src),$(SYNTAX)),$(foreach i,$(isas), \
	    $(CC) $(cflags) $(call isa_flags,$(i)) -fsyntax-only $(isa_src) &&) true)
torture: ## kills, faults and hostile input for an hour (TORTURE=minutes SEED=number)
	@$(need) test valgrind
	@$(MAKE) $(parallel) all && $(MAKE) $(parallel) MODE=asan all
	@! command -v clang >/dev/null || $(MAKE) $(parallel) fuzz
	@tests/torture/run --minutes $(or $(TORTURE),60) $(if $(SEED),--seed $(SEED))
fuzz: ## build the libFuzzer harnesses (clang), in a tree of their own
	@$(MAKE) --no-print-directory MODE=asan B=build/fuzz bin=build/fuzz/bin CC=clang WITH_CUDA=0 WITH_TORCH=0 WITH_MPI=0 \
	  CFLAGS=-fsanitize=fuzzer-no-link LDFLAGS=-fsanitize=fuzzer $(fuzz_bins:$(B)/%=build/fuzz/%)
fuzz-merge: fuzz ## keep what the fuzzers found and the corpora lack, in the tree
	@python3 tests/torture/fuzz.py merge
bare: ## make fig1 and make test in a bare Debian root (root, debootstrap, SUITE=bookworm or trixie)
	@tests/bare
check-gpu: $(gpu_tests) ## tests of the CUDA kernels, and of training with them, on this machine's GPU
	@$(if $(cuda),SG_REQUIRE_GPU=1 prove -v $(gpu_tests),echo "built without CUDA (no nvcc, or WITH_CUDA=0)" >&2; exit 1)
lint: all $(installed) ## formatting, the tree, documents, man pages; all sources with clang
	@$(need) test clang-format
	@sh tests/run lint
	@clang-format --dry-run -Werror $(shell find cmd lib kernels tests -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh')
golden: all ## renew what the programs are to print: transcripts of mistakes, text formats of figures
	@sh tests/golden/plot/update
	@for f in tests/golden/cli/*.txt; do tests/golden/cli/transcript $$f > $$f.new && mv $$f.new $$f; done
reference: all ## regenerate recipes/REFERENCE.md, recipes/recipe.schema.json and results/SCHEMA.md
	$(bin)/sparsetrain --help-recipe > recipes/REFERENCE.md.new && mv recipes/REFERENCE.md.new recipes/REFERENCE.md
	$(bin)/sparsetrain --help-recipe=json-schema > build/recipe.schema.json && mv build/recipe.schema.json recipes
	awk -f lib/result/schema.awk lib/result/sg_frame.h lib/result/sg_document.h > results/SCHEMA.md
deviations: $(B)/deviations ## regenerate results/DEVIATIONS.md
	$(B)/deviations > results/DEVIATIONS.md.new && mv results/DEVIATIONS.md.new results/DEVIATIONS.md
compdb: ## compile_commands.json for editors
	bear --output build/compile_commands.json -- $(MAKE) -B all
# ---- measurements
rivals: $(rivals) ## what times kernels on a GPU, and what they are compared with: libtorch, std::nth_element, CUB
kernel-resources: ## registers, spills and shared memory of every CUDA kernel
	@$(if $(cuda),,echo "needs nvcc" >&2; exit 1;) \
	  sh tests/bench/resources $(NVCC) $(nvcc_flags) $(includes) -- $(cuda_src)
bench: all rivals ## time Figure 1 and the kernels behind it, as ratios to limits measured in the same run
	@sh tests/bench/figure1 $(bin)
bench-cnn bench-gpt bench-lm bench-ncf: bench-%: all $(B)/bench/training_libtorch ## time training beside libtorch alone
	@sh tests/bench/training $* $(bin) $(B)/bench/training_libtorch
bench-network: all ## time the model of networks, a long run on 4096 workers; count set-ups in which compression pays
	@sh tests/bench/network $(bin) && sh tests/bench/sweep $(bin)
bench-compressors: all ## time a worker's step of every compressor
	@mkdir -p build/bench
	$(bin)/sparsebench recipes/kernels.yaml --table --quiet --force -o build/bench/compressors.json \
	  --set 'operations=[]' --set 'threads=[2]' $(ARGS)
bench-estimators: all ## exact Top-k, thresholds and their estimators on recorded gradients
	@sh tests/bench/estimators $(bin)
bench-replay: $(B)/bench/replay ## reading recorded gradients, beside reading the file and `e += g`
	@mkdir -p build/bench && $(B)/bench/replay build/bench
link-tools: all $(link_tools) # what these measurements need
links: ## steps on real links, shaped in namespaces of this machine, beside the network model; root, 6 quiet minutes
	@$(need) build mpi torch && { $(need) iproute2 util-linux || true; } # the run says what it lacks
	@$(MAKE) --no-print-directory link-tools
	@tests/links/run $(bin) $(B)/links results/links.json || [ $$? = 77 ]
bench-hooks: link-tools ## steps of DistributedDataParallel on such links (HOOKS=a Python with PyTorch; root)
	@HOOKS=$(or $(HOOKS),python3) RANKS="$(or $(RANKS),2 4)" tests/links/run $(bin) $(B)/links results/ddp-hooks.json
bench-buckets: link-tools ## steps of a network in BUCKETS on such links, beside whole messages; root
	@BUCKETS="$(or $(BUCKETS),150kB)" RANKS="$(or $(RANKS),2 4)" METHODS="$(or $(METHODS),SGD Top-k)" \
	  tests/links/run $(bin) $(B)/links results/buckets.json || [ $$? = 77 ]
