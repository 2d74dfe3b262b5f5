# sparsegrad: one non-recursive Makefile. `make help` lists the targets.
MODE        ?= release
WITH_MPI    ?= auto
WITH_OPENMP ?= 1
WITH_TORCH  ?= auto
WITH_CUDA   ?= auto
DEPS        ?= install
PREFIX      ?= /usr/local
# One place says which version this is, for programs, library and headers.
empty       :=
VERSION     := $(subst $(empty) ,.,$(strip $(foreach part,MAJOR MINOR PATCH,$(shell sed -n 's/^#define SPARSEGRAD_$(part) //p' lib/method/sparsegrad.h))))

CC          ?= cc
ifeq ($(origin CC),default)
CC          := gcc
endif
CXX         ?= g++
NVCC        ?= $(firstword $(shell command -v nvcc 2>/dev/null) $(wildcard /usr/local/cuda/bin/nvcc))
NVCC_GENCODE ?= -gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=sm_90 -gencode arch=compute_90,code=compute_90
WERROR      ?= 0

B           := build/$(MODE)
ifneq ($(filter-out release debug asan tsan,$(MODE)),)
$(error MODE=$(MODE) is not one of release, debug, asan, tsan)
endif
opt_release := -O3 -g
opt_debug   := -O0 -g3
# A variable that nobody sets holds a pattern, so that such runs differ in their bytes from those of other builds.
opt_asan    := -O1 -g1 -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer -ftrivial-auto-var-init=pattern
opt_tsan    := -O1 -g -fsanitize=thread
# Asserts are on in every mode but release; TRACE=1, 2 or 3 lets one watch a run in any (lib/core/sg_debug.h).
TRACE       ?=
checks      := $(if $(filter-out release,$(MODE)),-DSG_ASSERTS=1) $(if $(TRACE),-DSG_TRACE_LEVEL=$(TRACE))

warn        := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wconversion \
               -Wno-missing-field-initializers
ifneq ($(WERROR),0)
warn        += -Werror
endif
CFLAGS      ?=
LDFLAGS     ?=

openmp      := $(if $(filter 0,$(WITH_OPENMP)),-Wno-unknown-pragmas -Wno-unused-parameter -Wno-unused-variable,-fopenmp)
include_dirs := $(sort $(wildcard lib/*/)) kernels
cflags      := -std=c11 -D_GNU_SOURCE -DSPARSEGRAD_UNSTABLE -ffp-contract=off -fPIC $(openmp) $(warn) $(opt_$(MODE)) $(checks) \
               $(addprefix -I,$(include_dirs:/=)) -I$(B) $(CFLAGS)
ldflags     := $(openmp) $(opt_$(MODE)) $(LDFLAGS)

# Features: auto takes what is there, 1 makes absence an error, 0 leaves it out.
have_mpi    := $(if $(shell command -v mpicc 2>/dev/null),1,0)
TORCH_DIR   ?= /usr
comma       := ,
have_torch  := $(if $(and $(wildcard $(TORCH_DIR)/include/ATen/ATen.h),$(shell command -v $(CXX) 2>/dev/null)),1,0)
have_cuda   := $(if $(NVCC),1,0)
choose       = $(if $(filter auto,$(1)),$(2),$(1))
mpi         := $(call choose,$(WITH_MPI),$(have_mpi))
torch       := $(call choose,$(WITH_TORCH),$(have_torch))
cuda        := $(call choose,$(WITH_CUDA),$(have_cuda))
ifeq ($(mpi)$(have_mpi),10)
$(error WITH_MPI=1 but mpicc was not found: apt-get install libopenmpi-dev openmpi-bin, or use WITH_MPI=0)
endif
ifeq ($(torch)$(have_torch),10)
$(error WITH_TORCH=1 but $(TORCH_DIR)/include/ATen/ATen.h or $(CXX) was not found: apt-get install libtorch-dev libopenblas0-pthread g++, or set TORCH_DIR=)
endif
ifeq ($(cuda)$(have_cuda),10)
$(error WITH_CUDA=1 but nvcc was not found: install the CUDA toolkit, name its compiler with NVCC=, or use WITH_CUDA=0)
endif
ifeq ($(mpi),1)
mpi_cflags  := -DSG_WITH_MPI=1 $(shell mpicc --showme:compile)
mpi_libs    := $(shell mpicc --showme:link)
endif

ifeq ($(cuda),1)
# The runtime is linked statically and looks for the driver when it is first asked: programs start without either.
cuda_dir    := $(patsubst %/bin/,%,$(dir $(realpath $(shell command -v $(NVCC)))))
cuda_libs   := $(addprefix -L,$(wildcard $(addprefix $(cuda_dir)/,lib64 lib targets/x86_64-linux/lib))) -lcudart_static -lpthread -ldl -lrt
nvcc_flags  := -ccbin $(lastword $(filter-out -%,$(CXX))) -std=c++17 -DSPARSEGRAD_UNSTABLE -O3 --fmad=false -lineinfo $(NVCC_GENCODE) $(checks) -Xcompiler -fPIC,-fvisibility=hidden,-Wall,-Wextra,-ffp-contract=off,-fno-exceptions,-fno-rtti,-fno-threadsafe-statics
endif

# Builds take all cores where -j says nothing else. Figures and benchmarks run one after another.
JOBS        ?= $(shell nproc)
ifeq ($(MAKELEVEL)$(strip $(filter-out all unit check install build-tests fuzz,$(MAKECMDGOALS))),0)
MAKEFLAGS   += -j$(JOBS)
endif

# Sources: the library proper (installed) and the engine (linked into the programs).
isas        := c $(if $(filter x86_64%,$(shell $(CC) -dumpmachine)),avx2 avx512)
isa_src     := $(sort $(wildcard kernels/cpu/*_isa.c))
core_src    := $(sort $(wildcard lib/core/*.c lib/wire/*.c lib/method/*.c) $(filter-out $(isa_src),$(wildcard kernels/cpu/*.c)) \
               $(if $(filter 1,$(cuda)),,kernels/cuda/no_cuda.c))
torch_tasks := cnn lm gpt ncf # lib/task/NAME*.c, their tests and recipes are only where libtorch is on
torch_task  := $(wildcard $(torch_tasks:%=lib/task/%*.c)) lib/task/tasks_torch.c
engine_src  := $(sort $(filter-out lib/core/% lib/wire/% lib/method/% lib/examples/% $(torch_task),$(wildcard lib/*/*.c)))
programs    := $(sort $(subst _,-,$(basename $(notdir $(wildcard cmd/sparse*.c)))))
torch_tests := $(sort $(wildcard $(patsubst %,tests/unit/test_%*.c,tensor $(torch_tasks))))
test_src    := $(filter-out $(if $(filter 1,$(torch)),,$(torch_tests)),$(sort $(wildcard tests/unit/test_*.c)))
fuzz_src    := $(sort $(wildcard tests/fuzz/fuzz_*.c))
unit_tests  := $(test_src:tests/unit/%.c=$(B)/tests/%)
isa_obj     := $(foreach i,$(isas),$(isa_src:%.c=$(B)/%.$(i).o))
cuda_src    := $(sort $(wildcard kernels/cuda/*.cu))
cuda_obj    := $(if $(filter 1,$(cuda)),$(cuda_src:%.cu=$(B)/%.o))
core_obj    := $(core_src:%.c=$(B)/%.o) $(isa_obj) $(cuda_obj)
engine_obj  := $(patsubst %,$(B)/%.o,$(basename $(if $(filter 1,$(cuda)),$(filter-out %_no_cuda.c,$(engine_src)) $(wildcard lib/*/*.cu),$(engine_src))))
libs        := -lcjson -lyaml -lm -ldl $(cuda_libs)
# Shared objects are looked for beside the programs first, so that a folder can take libyaml and libcjson along.
beside      := -Wl,-rpath,'$$ORIGIN/../lib/sparsegrad'
# The CUDA kernels' tests: on a device where there is a compiler for it, and emulated where there is one for C++. Sanitizers
# find as much with 64 threads a block as with 512, in a third of the time. gpu_wide: those that are emulated with 512, too.
gpu_torch   := $(basename $(notdir $(wildcard $(torch_tasks:%=tests/gpu/test_%*.c))))
gpu_names   := test_kernels test_sums test_vectors test_products $(filter-out $(if $(filter 1,$(torch)),,$(gpu_torch)),$(basename $(notdir $(wildcard tests/gpu/test_*.c))))
gpu_wide    := test_kernels test_sums test_products
gpu_small   := $(patsubst %,$(B)/gpu/%_64,$(filter-out $(gpu_torch),$(gpu_names)))
gpu_tests   := $(if $(filter 1,$(cuda)),$(gpu_names:%=$(B)/gpu/%) $(gpu_small))
unit_tests  += $(if $(shell command -v $(CXX) 2>/dev/null),$(patsubst %,$(B)/tests/%_emulated,$(gpu_names) $(if $(filter release debug,$(MODE)),$(gpu_wide:%=%_512))))

# What is tried as it is optimized on each push: arithmetic, what ranks run, kernels of whole blocks of threads, and emulated
# kernels and training, whose own pages around the device's memory see what it must not touch; sanitizers, which take minutes
# for them, try them at night.
optimized   := kernels sums vectors products dense half codes levels wire compressors comm train_records \
               $(patsubst test_%,%_emulated,$(gpu_names) $(gpu_wide:%=%_512))
optimized   := $(filter $(optimized:%=$(B)/tests/test_%),$(unit_tests))

# Nothing here traps, and with -fno-trapping-math comparisons of floats become vectors; no number changes by it.
isa_flags_c      := -O3 -fno-trapping-math -DSG_ISA=c
isa_flags_avx2   := -O3 -fno-trapping-math -DSG_ISA=avx2 -mavx2 -mfma -mbmi -mbmi2
isa_flags_avx512 := -O3 -fno-trapping-math -DSG_ISA=avx512 -mavx512f -mavx512vl -mavx512bw -mavx512dq -mfma -mbmi -mbmi2 -mprefer-vector-width=512

# What needs libtorch: shared objects that the programs load when they are asked for it.
torch_src   := $(sort $(wildcard lib/tensor/*.cpp) $(torch_task))
torch_obj   := $(patsubst %,$(B)/%.o,$(basename $(torch_src)))
# Newer releases refuse to be compiled as less than C++20, and older ones do not know it.
torch_std   := $(if $(shell grep -ls 202002L $(TORCH_DIR)/include/ATen/ATen.h),c++20,c++17)
torch_cxx   := -std=$(torch_std) -DSPARSEGRAD_UNSTABLE -O2 -g -fPIC -Wall -Wextra -Wmissing-declarations $(checks) $(filter -fsanitize% -fno-sanitize%,$(opt_$(MODE))) \
               $(shell sed -n 's/.*TORCH_CXX_FLAGS "\(.*\)".*/\1/p' $(TORCH_DIR)/share/cmake/Torch/TorchConfig.cmake 2>/dev/null) \
               $(if $(filter-out /usr,$(TORCH_DIR)),-isystem $(TORCH_DIR)/include) -isystem $(TORCH_DIR)/include/torch/csrc/api/include
# libtorch for CUDA registers itself when it is loaded: nothing refers to it, so the linker is told to keep it. What it needs
# itself is found by its own paths.
torch_cuda  := $(if $(wildcard $(TORCH_DIR)/lib/libtorch_cuda.so),-Wl$(comma)--no-as-needed -ltorch_cuda -lc10_cuda -Wl$(comma)--as-needed)
torch_libs  := $(if $(filter-out /usr,$(TORCH_DIR)),-L$(TORCH_DIR)/lib -Wl$(comma)--enable-new-dtags$(comma)-rpath$(comma)$(TORCH_DIR)/lib) -ltorch_cpu -lc10 \
               $(if $(torch_cuda),$(torch_cuda) -Wl$(comma)--allow-shlib-undefined)

bin         := $(if $(filter build/release,$(B)),build/bin,$(B)/bin)
built_lib   := $(bin:%/bin=%)/lib
plugins     := $(if $(filter 1,$(torch)),$(built_lib)/sparsegrad/tasks-torch.so)
# What sparsebench compares kernels with, where it was built. Sanitizers have nothing to find in it, and take minutes.
rivals      := $(if $(filter release debug,$(MODE)),$(addprefix $(built_lib)/sparsegrad/,$(if $(filter 1,$(torch)),rivals.so) $(if $(filter 1,$(cuda)),rivals-cuda.so)))
# As long as the major version is 0, a minor one may change the interface: both are in the shared library's name, and in
# the version that each of its symbols has.
interface   := $(if $(VERSION:0.%=),$(firstword $(subst ., ,$(VERSION))),$(basename $(VERSION)))
soname      := libsparsegrad.so.$(interface)
shared      := $(built_lib)/$(soname)

.SECONDARY:
.DELETE_ON_ERROR:
.PHONY: all help FORCE check unit cli test clean lint compdb
all: $(addprefix $(bin)/,$(programs)) $(plugins) $(shared) ## build the programs into build/bin, the library into build/lib
	@$(if $(summary_done),,echo "built $(bin): $(programs); MPI $(call yes,$(mpi)), libtorch $(call yes,$(torch)), CUDA $(call yes,$(cuda))")
yes = $(if $(filter 1,$(1)),on,off)

help: ## list the targets
	@sed -n 's/^\([a-z0-9-]*\):.*## \(.*\)/\1|\2/p' $(firstword $(MAKEFILE_LIST)) | sort | while IFS='|' read -r name text; do \
	  echo "$$text" | fold -s -w 54 | sed "1s/^/$$(printf '  %-22s ' "$$name")/; 2,\$$s/^/                         /; s/ *$$//"; done
	@echo 'ARGS="OPTIONS" passes options of sparsebench to a figure:'
	@echo '  make fig1 ARGS="--fresh --set workers=8"'
	@echo 'DEVICE=cuda runs one on a GPU, PIECE=600 for at most so many seconds (the same'
	@echo 'command goes on), BIN=FOLDER with programs from elsewhere, without a build.'

# One line a file; V=1 shows the commands.
run = $(if $(filter 1,$(V)),,@echo '  $(1) $@'; )

# Rewritten only when their content changes, so that a second make does nothing.
define write_if_changed
	@mkdir -p $(@D); printf '%s' $(1) > $@.new; if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi
endef
$(B)/flags: FORCE
	$(call write_if_changed,'$(subst ','\'',$(CC) $(cflags) $(isa_flags_avx512) $(ldflags) $(mpi_cflags) $(mpi_libs) $(if $(filter 1,$(torch)),$(torch_cxx) $(torch_libs)) $(NVCC) $(nvcc_flags) $(cuda_libs))')
# What can change a cell's numbers, so that a change of anything else leaves finished cells as they are: every source of these
# folders is in exactly one part. A new file is common to all tasks until it is named in another part. `make identity-parts`
# lists them.
identity_folders := lib/base lib/comm lib/core lib/data lib/method lib/recipe lib/result lib/task lib/tensor lib/train lib/wire kernels kernels/cpu kernels/cuda
identity_all     := $(sort $(wildcard $(foreach folder,$(identity_folders),$(addprefix $(folder)/,*.c *.h *.cpp *.cu *.cuh))))
identity_logreg  := $(filter lib/data/dataset.c lib/data/libsvm% lib/data/matrix% lib/data/sg_matrix.h lib/task/logreg% lib/task/optimum_cache.c lib/task/sg_logreg.h lib/task/sg_optimum.h,$(identity_all))
identity_cnn     := $(filter lib/data/batches.c lib/data/cifar% lib/data/image% lib/data/sg_images.h lib/task/cnn%,$(identity_all))
identity_lm      := $(filter lib/task/lm%,$(identity_all))
identity_gpt     := $(filter lib/task/gpt%,$(identity_all))
identity_text    := $(filter lib/data/lexicon.c lib/data/sg_tokens.h lib/data/token%,$(identity_all))
identity_ncf     := $(filter lib/data/movielens% lib/data/ratings% lib/data/sg_ratings.h lib/task/ncf%,$(identity_all))
identity_recorded := $(filter lib/data/gradient% lib/data/sg_gradients.h lib/data/npy.c lib/data/safetensors.c lib/task/recorded%,$(identity_all))
identity_torch   := $(filter lib/tensor/% lib/task/task_net.% lib/task/task_layers.%,$(identity_all))
# Apart: what is decided here shows in a cell's key or header (the recipe, the columns), or is how files are read and written.
identity_apart   := $(filter lib/recipe/recipe% lib/recipe/sg_plugins.h lib/result/% \
                    lib/base/cache.c lib/base/cache_folder.c lib/base/clock.c lib/base/file.c lib/base/file_hold.c lib/base/markup.c lib/base/node_read.c lib/base/plugin.c lib/base/sg_cache.h lib/base/sg_clock.h lib/base/sg_file.h lib/base/sg_markup.h lib/base/sg_plugin.h lib/base/sg_table.h lib/base/sg_version.h lib/base/table% lib/base/version.c lib/core/row.c lib/core/sg_row.h \
                    lib/method/flat.c lib/method/method_text.c lib/method/method_bytes.c lib/method/sg_flat.h lib/method/sparsegrad.h lib/method/sg_compressor_plugin.h \
                    lib/data/checksum.% lib/task/sg_task_plugin.h lib/task/task_table.c lib/task/tasks_torch.c,$(identity_all))
identity_parts   := logreg cnn lm gpt text ncf recorded torch apart
identity_common  := $(filter-out $(foreach part,$(identity_parts),$(identity_$(part))),$(identity_all))
torch_version    := $(if $(filter 1,$(torch)),$(shell cat $(TORCH_DIR)/include/torch/csrc/api/include/torch/version.h $(TORCH_DIR)/build-version 2>/dev/null | sha256sum | cut -c1-12),none)
identity_of       = $$({ cat $(sort $(identity_common) $(identity_$(1)) $(if $(filter $(1),$(torch_tasks)),$(identity_torch)) $(if $(filter $(1),lm gpt),$(identity_text))) | LC_ALL=C awk -f lib/base/identity.awk; \
                    echo $(if $(filter $(1),$(torch_tasks)),libtorch $(torch_version)); } | sha256sum | cut -c1-12)
.PHONY: identity-parts
identity-parts:
	@printf '%s\n' $(foreach part,common $(identity_parts),$(addprefix $(part):,$(identity_$(part))))

$(B)/version.h: FORCE
	@mkdir -p $(@D)
	@{ echo '#define SG_BUILD_VERSION "$(VERSION)"'; \
	   echo "#define SG_BUILD_COMMIT \"$$(git rev-parse --short=10 HEAD 2>/dev/null || echo unknown)\""; \
	   echo "#define SG_BUILD_DIRTY $$(test -n "$$(git status --porcelain -uno 2>/dev/null)" && echo 1 || echo 0)"; \
	   echo "#define SG_BUILD_SOURCES \"$$(cat $(sort $(wildcard lib/*/*.[ch] lib/*/*.cpp lib/*/*.cu kernels/*.h kernels/*/*.[ch] kernels/cuda/*.cu* cmd/*.[ch] lib/plot/page*)) | sha256sum | cut -c1-12)\""; \
	   echo "#define SG_BUILD_IDENTITIES $(foreach kind,logreg recorded $(torch_tasks),{\"$(kind)\", \"$(VERSION)+$(call identity_of,$(kind))\"},)"; \
	   echo '#define SG_BUILD_COMPILER "$(shell $(CC) --version 2>/dev/null | head -n 1)"'; \
	   echo '#define SG_BUILD_CFLAGS "$(strip -std=c11 -ffp-contract=off $(opt_$(MODE)) $(checks) $(CFLAGS))"'; \
	   echo '#define SG_BUILD_MPI $(mpi)'; \
	   echo '#define SG_BUILD_TORCH $(torch)'; \
	   echo '#define SG_BUILD_CUDA $(cuda)'; } > $@.new; if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi

# The style and the script of pages in HTML as arrays, without indentation and without lines that are comments.
page_script := lib/plot/page.js
$(B)/page_files.h: lib/plot/page.css $(page_script)
	@mkdir -p $(@D)
	@bytes() { echo "static const unsigned char $$1[] = {"; shift; sed -e 's/^ *//' -e '/^\/\//d' -e '/^$$/d' "$$@" | LC_ALL=C od -An -v -tu1 | sed 's/ *\(-*[0-9][0-9]*\)/\1,/g'; echo '};'; }; \
	  { bytes page_css lib/plot/page.css; bytes page_js $(page_script); } > $@.new && mv $@.new $@
$(B)/lib/plot/export_html.o: $(B)/page_files.h
$(B)/lib/comm/%.o: cflags += $(mpi_cflags)
$(B)/lib/data/dataset_descriptor.o: cflags += -DSG_DATADIR='"$(PREFIX)/share/sparsegrad"'
$(B)/lib/base/version.o $(B)/lib/app/version_print.o: $(B)/version.h
$(B)/%.o: %.c $(B)/flags
	@mkdir -p $(@D)
	$(call run,CC)$(CC) $(cflags) -MMD -MP -c -o $@ $<
define isa_rule
$(B)/%_isa.$(1).o: %_isa.c $(B)/flags
	@mkdir -p $$(@D)
	$$(call run,CC)$$(CC) $$(cflags) $$(isa_flags_$(1)) -MMD -MP -c -o $$@ $$<
endef
$(foreach i,$(isas),$(eval $(call isa_rule,$(i))))

$(B)/%.o: %.cu $(B)/flags
	@mkdir -p $(@D)
	$(call run,NVCC)$(NVCC) $(nvcc_flags) $(addprefix -I,$(include_dirs:/=)) -MMD -MP -c -o $@ $<

$(B)/libsparsegrad.a: $(core_obj) $(B)/flags
	@rm -f $@; ar rcs $@ $(filter %.o,$^)
$(B)/libengine.a: $(engine_obj) $(B)/flags
	@rm -f $@; ar rcs $@ $(filter %.o,$^)
# A plug-in may call what the installed headers declare, so programs that load some have all of it and show it, and nothing
# else.
$(B)/api.list: $(B)/api.symbols
	@{ echo '{'; sed 's/$$/;/' $<; echo '};'; } > $@
$(bin)/%: $(B)/cmd/%.o $(B)/libengine.a $(B)/libsparsegrad.a $(B)/api.list
	@mkdir -p $(@D)
	$(call run,LD)$(CC) $(ldflags) $(beside) -Wl,--dynamic-list=$(B)/api.list -o $@ $(filter %.o,$^) $(B)/libengine.a \
	  -Wl,--whole-archive $(B)/libsparsegrad.a -Wl,--no-whole-archive $(libs) $(mpi_libs)
$(bin)/sparsebench: $(addprefix $(B)/cmd/bench_,audit.o kernels.o link.o options.o output.o)
$(bin)/sparsetrain: $(B)/cmd/train_options.o
$(bin)/sparsebench $(bin)/sparsetune: $(B)/cmd/grid_program.o
$(bin)/sparsebench $(bin)/sparsetrain: $(B)/cmd/rank_watch.o
$(B)/cmd/%.o: cmd/%.c $(B)/flags
	@mkdir -p $(@D)
	$(call run,CC)$(CC) $(cflags) -MMD -MP -c -o $@ $<
$(bin)/sparseplot-export: $(B)/cmd/sparseplot-export.o $(B)/libengine.a $(B)/libsparsegrad.a
	@mkdir -p $(@D)
	$(call run,LD)$(CC) $(ldflags) $(beside) -o $@ $(filter %.o %.a,$^) $(libs) $(mpi_libs)
# A program named sparseplot-export is built from cmd/sparseplot_export.c.
$(B)/cmd/sparseplot-export.o: cmd/sparseplot_export.c $(B)/flags
	@mkdir -p $(@D)
	$(call run,CC)$(CC) $(cflags) -MMD -MP -c -o $@ $<

$(B)/lib/tensor/%.o: lib/tensor/%.cpp $(B)/flags
	@mkdir -p $(@D)
	$(call run,CXX)$(CXX) $(torch_cxx) $(addprefix -I,$(include_dirs:/=)) -MMD -MP -c -o $@ $<
%/lib/sparsegrad/tasks-torch.so: $(torch_obj) $(B)/libengine.a $(B)/libsparsegrad.a
	@mkdir -p $(@D)
	$(call run,LD)$(CXX) -shared $(ldflags) -Wl,-Bsymbolic -Wl,--exclude-libs,ALL -o $@ $^ $(torch_libs) -lcjson -lyaml -lm -ldl
%/lib/sparsegrad/rivals.so: tests/bench/rivals.cpp lib/bench/bench_rival.h $(B)/flags
	@mkdir -p $(@D)
	$(call run,CXX)$(CXX) $(torch_cxx) -O3 -shared -Ilib/bench -o $@ $< $(torch_libs)
%/lib/sparsegrad/rivals-cuda.so: tests/bench/rivals_cuda.cu lib/bench/bench_rival.h $(B)/flags
	@mkdir -p $(@D)
	$(call run,NVCC)$(NVCC) $(nvcc_flags) -shared -cudart static -Ilib/bench -o $@ $<

$(B)/tests/%: tests/unit/%.c $(B)/libengine.a $(B)/libsparsegrad.a $(B)/flags
	@mkdir -p $(@D)
	$(call run,LD)$(CC) $(cflags) $(ldflags) -Itests/unit -Itests/links -Itests/deviations -MMD -MP -MF $@.d -o $@ $< $(filter %.o,$^) $(B)/libengine.a $(B)/libsparsegrad.a $(libs) $(mpi_libs)
$(B)/deviations: $(patsubst %.c,$(B)/%.o,$(wildcard tests/deviations/*.c)) $(B)/libengine.a $(B)/libsparsegrad.a
	@mkdir -p $(@D)
	$(call run,LD)$(CC) $(ldflags) -o $@ $^ $(libs) $(mpi_libs)
released_obj := $(patsubst %.c,$(B)/%.o,$(wildcard tests/deviations/released*.c))
$(B)/tests/test_deviations: $(B)/tests/deviations/deviation_measure.o $(B)/tests/deviations/deviation_table.o $(released_obj)
$(torch_tests:tests/unit/%.c=$(B)/tests/%): $(B)/tests/%: tests/unit/%.c $(torch_obj) $(B)/libengine.a $(B)/libsparsegrad.a $(B)/flags
	@mkdir -p $(@D)
	$(call run,LD)$(CC) $(cflags) $(ldflags) -Itests/unit -MMD -MP -MF $@.d -o $@ $< $(torch_obj) $(B)/libengine.a $(B)/libsparsegrad.a \
	  $(torch_libs) -lstdc++ $(libs) $(mpi_libs)
$(B)/fuzz/%: tests/fuzz/%.c $(B)/libengine.a $(B)/libsparsegrad.a $(B)/flags
	@mkdir -p $(@D)
	$(call run,LD)$(CC) $(cflags) $(ldflags) -MMD -MP -MF $@.d -o $@ $< $(B)/libengine.a $(B)/libsparsegrad.a $(libs) $(mpi_libs)

# The emulation: the same sources as C++, with 64 threads a block, so that small vectors have many, and with 512 as on a device.
emulate     := -std=c++17 -DSPARSEGRAD_UNSTABLE -O2 -g -ffp-contract=off -Wall -Wextra -Wno-unknown-pragmas $(checks) $(filter -fsanitize%,$(opt_$(MODE))) \
               -Itests/emulation $(addprefix -I,$(include_dirs:/=))
emulated     = $(patsubst %.cu,$(B)/emulation/$(1)/%.o,$(notdir $(cuda_src)) cuda_host_table.cu)
vpath %.cu kernels/cuda tests/gpu
define emulation_rule
$(B)/emulation/$(1)/%.o: %.cu $(B)/flags
	@mkdir -p $$(@D)
	$$(call run,CXX)$$(CXX) -x c++ $$(emulate) -DSG_CUDA_THREADS=$(1) -MMD -MP -c -o $$@ $$<
endef
$(foreach threads,64 512,$(eval $(call emulation_rule,$(threads))))
# On a device too, small blocks bring many of them to the grid's barrier.
$(B)/gpu/64/%.o: kernels/cuda/%.cu $(B)/flags
	@mkdir -p $(@D)
	$(call run,NVCC)$(NVCC) $(nvcc_flags) -DSG_CUDA_THREADS=64 $(addprefix -I,$(include_dirs:/=)) -MMD -MP -c -o $@ $<
# The same bodies for all; kernels that are named first take the place of the library's.
vpath test_%.c tests/gpu tests/unit
$(gpu_names:%=$(B)/gpu/%.o): $(B)/gpu/%.o: %.c $(B)/flags
	@mkdir -p $(@D)
	$(call run,CC)$(CC) $(cflags) -DSG_TEST_CUDA -Itests/unit -Itests/gpu -MMD -MP -c -o $@ $<
# Tests of libtorch's tasks have them linked in; --wrap lets them say so, and put tensors beside an emulated GPU's vectors.
$(gpu_torch:%=$(B)/tests/%_emulated) $(gpu_torch:%=$(B)/gpu/%): libs := $(torch_libs) -lstdc++ $(libs)
$(gpu_torch:%=$(B)/tests/%_emulated) $(gpu_torch:%=$(B)/gpu/%): ldflags += -Wl,--wrap=sg_task_load,--wrap=sg_scope_open
$(gpu_torch:%=$(B)/tests/%_emulated) $(gpu_torch:%=$(B)/gpu/%): $(torch_obj)
$(gpu_names:%=$(B)/tests/%_emulated): $(B)/tests/%_emulated: $(B)/gpu/%.o $(call emulated,64) $(B)/libengine.a $(B)/libsparsegrad.a
$(gpu_wide:%=$(B)/tests/%_512_emulated): $(B)/tests/%_512_emulated: $(B)/gpu/%.o $(call emulated,512) $(B)/libengine.a $(B)/libsparsegrad.a
%_emulated:
	@mkdir -p $(@D)
	$(call run,LD)$(CC) $(ldflags) -o $@ $(filter %.o,$^) $(B)/libengine.a $(B)/libsparsegrad.a -lstdc++ $(libs) $(mpi_libs)
$(gpu_small): $(B)/gpu/%_64: $(cuda_src:kernels/cuda/%.cu=$(B)/gpu/64/%.o)
$(gpu_small): $(B)/gpu/%_64: $(B)/gpu/%.o $(B)/tests/gpu/cuda_host_table.o $(B)/libengine.a $(B)/libsparsegrad.a
	$(call run,LD)$(CC) $(ldflags) -o $@ $(filter %.o,$^) $(B)/libengine.a $(B)/libsparsegrad.a $(libs) $(mpi_libs)
$(gpu_names:%=$(B)/gpu/%): $(B)/gpu/%: $(B)/gpu/%.o $(B)/tests/gpu/cuda_host_table.o $(B)/libengine.a $(B)/libsparsegrad.a
	$(call run,LD)$(CC) $(ldflags) -o $@ $(filter %.o,$^) $(B)/libengine.a $(B)/libsparsegrad.a $(libs) $(mpi_libs)

# ---- the library, installed -----------------------------------------------------------------------------------------
# Both libraries show only what their headers mark (sg_api.h): objects hide all else, and the static library is a single
# object whose other names are made local. build/MODE/libsparsegrad.a, which programs and tests link, keeps all names.
api_headers := $(addprefix lib/core/,sg_api.h sg_optimizer.h sg_parameter.h sg_rng.h sg_stats.h sg_status.h sg_unstable.h) \
               $(addprefix lib/wire/,sg_message.h sg_wire.h) \
               $(addprefix lib/method/,sg_compressor.h sg_compressor_plugin.h sg_controller.h sg_drive.h sg_feedback.h sg_flat.h sg_method.h sparsegrad.h) \
               $(addprefix kernels/,sg_cuda.h sg_half.h sg_kernels.h)
$(core_obj): cflags += -fvisibility=hidden
$(B)/api.symbols: $(core_obj)
	@readelf -Ws $^ | awk '$$5 == "GLOBAL" && $$6 == "DEFAULT" && $$7 != "UND" { print $$8 }' | sort -u > $@
$(B)/api.map: $(B)/api.symbols
	@{ echo 'SPARSEGRAD_$(interface) { global:'; sed 's/$$/;/' $<; echo 'local: *; };'; } > $@
$(shared): $(core_obj) $(B)/api.map
	@mkdir -p $(@D)
	$(call run,LD)$(CC) -shared -Wl,-soname,$(soname) -Wl,--version-script=$(B)/api.map -Wl,--exclude-libs,ALL $(ldflags) -o $@ $(core_obj) -lm $(cuda_libs)
# CUDA's part is an object of its own, so that a program that does not use it need not link CUDA.
$(B)/installed/libsparsegrad.a: $(core_obj) $(B)/api.symbols
	@mkdir -p $(@D); rm -f $@
	$(call run,LD)ld -r -o $(@D)/sparsegrad.o $(filter-out $(cuda_obj),$(core_obj)) && \
	  $(if $(cuda_obj),ld -r -o $(@D)/sparsegrad_cuda.o $(cuda_obj) &&) \
	  for object in $(@D)/sparsegrad.o $(if $(cuda_obj),$(@D)/sparsegrad_cuda.o); do \
	    objcopy --keep-global-symbols=$(B)/api.symbols $$object && ar rcs $@ $$object || exit 1; done
# What the shared library needs it finds itself; what is linked with the static one must be said. gcc's OpenMP and clang's
# have names of their own.
openmp_lib   = $(if $(filter-out 0,$(WITH_OPENMP)),-l$(if $(findstring clang,$(shell $(CC) --version)),omp,gomp))
$(B)/sparsegrad.pc: FORCE
	@printf '%s\n' 'prefix=$(PREFIX)' 'libdir=$${prefix}/lib' 'includedir=$${prefix}/include/sparsegrad' '' \
	  'Name: sparsegrad' 'Description: gradient compressors with error feedback' 'Version: $(VERSION)' \
	  'Cflags: -I$${includedir}' 'Libs: -L$${libdir} $(if $(filter-out /usr,$(PREFIX)),-Wl$(comma)-rpath$(comma)$${libdir} )-lsparsegrad' 'Libs.private: $(openmp_lib) -lm $(cuda_libs)' > $@
# sparse-recipe(5): the text of --help-recipe as it stands.
$(B)/sparse-recipe.5: $(bin)/sparsetrain
	@{ printf '.TH SPARSE-RECIPE 5 "" "sparsegrad $(VERSION)"\n.SH NAME\nsparse-recipe \\- recipes of sparsetrain, sparsebench and sparsetune\n.SH DESCRIPTION\n.nf\n'; \
	  $(bin)/sparsetrain --help-recipe | sed -e 's/\\/\\e/g' -e 's/-/\\-/g' -e "s/^[.']/\\\\\&&/"; } > $@
# Man pages: what --help says, with a page of prose each.
man_pages   := $(programs:%=$(B)/man/%.1)
$(man_pages): $(B)/man/%.1: cmd/%.man cmd/man.awk $(bin)/%
	@mkdir -p $(@D)
	@$(bin)/$* --help | awk -v version=$(VERSION) -f cmd/man.awk - $< > $@
# The documents, and the figures that they show, in their folders, so that links between them hold.
documents   := LICENSE README.md CHANGELOG.md CONTRIBUTING.md $(wildcard */README.md */*/README.md cmd/*.md kernels/*.md lib/*.md recipes/*.md results/*.md results/*.svg results/archive/*.svg results/analysis/*.py)
install: all $(B)/installed/libsparsegrad.a $(B)/sparsegrad.pc $(B)/sparse-recipe.5 $(man_pages) ## install programs, man pages, recipes, library and headers (PREFIX, DESTDIR)
	install -d $(addprefix $(DESTDIR)$(PREFIX)/,bin lib/pkgconfig include/sparsegrad share/man/man1 share/man/man3 share/man/man5 share/bash-completion/completions share/sparsegrad/recipes/mini share/sparsegrad/recipes/night share/sparsegrad/datasets share/sparsegrad/python/libsparsegrad share/sparsegrad/examples $(addprefix share/doc/sparsegrad/,$(sort $(dir $(documents)))))
	install -m 755 $(addprefix $(bin)/,$(programs)) $(DESTDIR)$(PREFIX)/bin
	install -m 644 $(B)/installed/libsparsegrad.a $(DESTDIR)$(PREFIX)/lib
	install -m 755 $(shared) $(DESTDIR)$(PREFIX)/lib/libsparsegrad.so.$(VERSION)
	ln -sf libsparsegrad.so.$(VERSION) $(DESTDIR)$(PREFIX)/lib/$(soname)
	$(if $(plugins),install -d $(DESTDIR)$(PREFIX)/lib/sparsegrad && install -m 755 $(plugins) $(DESTDIR)$(PREFIX)/lib/sparsegrad)
	ln -sf $(soname) $(DESTDIR)$(PREFIX)/lib/libsparsegrad.so
	install -m 644 $(B)/sparsegrad.pc $(DESTDIR)$(PREFIX)/lib/pkgconfig
	install -m 644 $(api_headers) $(DESTDIR)$(PREFIX)/include/sparsegrad
	install -m 644 $(man_pages) $(DESTDIR)$(PREFIX)/share/man/man1
	install -m 644 lib/method/sparsegrad.3 $(DESTDIR)$(PREFIX)/share/man/man3
	install -m 644 $(wildcard lib/method/libsparsegrad/*.py*) $(DESTDIR)$(PREFIX)/share/sparsegrad/python/libsparsegrad
	install -m 644 $(wildcard lib/examples/*) $(DESTDIR)$(PREFIX)/share/sparsegrad/examples
	install -m 644 $(B)/sparse-recipe.5 $(DESTDIR)$(PREFIX)/share/man/man5
	for p in $(programs); do \
	  $(bin)/$$p --completion=bash > $(DESTDIR)$(PREFIX)/share/bash-completion/completions/$$p || exit; done
	install -m 644 $(wildcard recipes/*.yaml) $(DESTDIR)$(PREFIX)/share/sparsegrad/recipes
	install -m 644 $(wildcard recipes/mini/*.yaml) $(DESTDIR)$(PREFIX)/share/sparsegrad/recipes/mini
	install -m 644 $(wildcard recipes/night/*.yaml) $(DESTDIR)$(PREFIX)/share/sparsegrad/recipes/night
	for d in $(documents); do install -m 644 $$d $(DESTDIR)$(PREFIX)/share/doc/sparsegrad/$$d || exit; done
	install -m 644 $(wildcard datasets/*.yaml) $(DESTDIR)$(PREFIX)/share/sparsegrad/datasets
	install -m 755 datasets/fetch $(DESTDIR)$(PREFIX)/share/sparsegrad/datasets

# For pip: the library with its Python package. It has neither OpenMP nor CUDA nor symbols that glibc 2.28 lacks, so that
# it needs the C library alone, on all systems of the platform manylinux_2_28.
wheel: ## pack the library with its Python files into build/wheel, for pip install
	@$(MAKE) --no-print-directory MODE=release B=build/portable WITH_OPENMP=0 WITH_CUDA=0 WITH_MPI=0 WITH_TORCH=0 build/portable/$(soname)
	@mkdir -p build/wheel && rm -f build/wheel/*.whl
	@python3 lib/method/wheel $(VERSION) build/portable/$(soname) build/wheel
build/portable/$(soname): $(core_obj) $(B)/lib/method/libsparsegrad/old_symbols.o $(B)/api.map
	$(call run,LD)$(CC) -shared -Wl,-soname,$(soname) -Wl,--version-script=$(B)/api.map -Wl,--build-id=none -Wl,--exclude-libs,ALL $(ldflags) -o $@ $(filter %.o,$^) -lm
	@strip -g $@

# ---- figures --------------------------------------------------------------------------------------------------------
# Each recipe is a target: packages first, then a make that sees them, then the run, the table, the claims and the plot.
# recipes/mini/NAME.yaml, the same shape at laptop size, is the target mini-NAME; recipes/night/NAME.yaml, for hours on two
# cores, is night-NAME. SMOKE=1: 16 steps of every method. ARGS are more options for sparsebench:
# make fig1 ARGS="--fresh --set workers=8". BIN=FOLDER on the command line: the programs there are run, nothing is installed
# or built.
export ARGS
recipes     := $(wildcard recipes/*.yaml recipes/mini/*.yaml recipes/night/*.yaml)
recipe_name  = $(patsubst recipes/%.yaml,%,$(patsubst recipes/night/%,recipes/night-%,$(1:recipes/mini/%=recipes/mini-%)))
figures     := $(sort $(foreach r,$(recipes),$(call recipe_name,$(r))))
torch_figures := $(foreach r,$(shell grep -l $(torch_tasks:%=-e 'kind: %,') $(recipes)),$(call recipe_name,$(r)))
packages_build := gcc libc6-dev libyaml-dev libcjson-dev
packages_torch := libtorch-dev libopenblas0-pthread g++
packages_fetch := curl ca-certificates bzip2 unzip
packages_test  := $(packages_build) librsvg2-bin clang libclang-rt-dev libomp-dev libopenmpi-dev openmpi-bin bats perl git xz-utils bzip2 gzip pkg-config procps iproute2 jq libxml2-utils python3 python3-numpy python3-venv strace chromium slurmctld slurmd slurm-client munge $(packages_fetch) $(packages_torch)
need         = sh .ci/need $(DEPS)
.PHONY: $(figures)
carried     := $(if $(filter command,$(firstword $(origin BIN))),$(BIN))
$(figures):
	@$(if $(carried),,$(need) $(packages_build) $(packages_fetch) $(if $(filter $@,$(torch_figures)),$(packages_torch)))
	@$(if $(carried),,$(MAKE) --no-print-directory all)
	@sh recipes/run $@ $(or $(carried),$(bin)) $(JOBS)
kernels kernels-cuda selection: $(if $(carried),,$(rivals))
fig1: ## the paper's Figure 1: installs what is missing, builds, runs, prints table, verdicts and plot
fig1-madelon: ## Figure 1's experiment on madelon
madelon-gdstar-20: ## full gradients, 20 workers
madelon-gdstar-100: ## full gradients, 100 heterogeneous workers
budget: ## a budget, a constant lambda, Top-k: quality, and distance from Lemma 3's best (1.2 GB of disk for a while)
budget-madelon: ## the same on madelon
compressors: ## beyond the paper: 54 methods at equal bytes on madelon, three minutes
qsgd-madelon: ## beyond the paper: quantization, alone and of Top-k, EF21, momentum correction, madelon, a minute
bursts: ## beyond the paper: what hard-threshold's bursts cost in Figure 1, seconds
mini-bursts: ## the same for Figures 2a and 3 at laptop scale, ten minutes
signs-madelon: ## beyond the paper: one bit an element, votes, ternary and sparse signs, madelon, a minute
one-percent: ## beyond the paper: methods at one hundredth of the bytes (sparsetune --match-bytes finds their numbers), seconds
tournament: ## beyond the paper: sixteen methods at two volumes, each at its own learning rate, madelon, seven minutes
learning-rates: ## beyond the paper: eight methods at six learning rates, madelon, a minute
heterogeneity: ## beyond the paper: error against the heterogeneity of the shards, madelon, a minute
mini-tournament: ## each method of ResNet-8 at its own learning rate, three and a half hours on two cores
mini-tournament-neumf: ## the same for thirteen methods of NeuMF, two hours on two cores
mini-heterogeneity: ## the same for ResNet-8, a quarter of an hour
theory: ## both sides of the paper's Theorems 1 and 4 to 7 on madelon, with measured constants
theory-network: ## both sides of Theorems 1, 6 and 7 on a small network, everything measured, ten minutes on two cores
kernels: ## every kernel against memory, 10 minutes on a quiet machine
kernels-cuda: ## the same on a GPU, beside CUB
selection: ## what it costs to select: hard-threshold, exact Top-k and libtorch's Top-k, with verdicts, 20 minutes or less
smoke: ## the smallest run of everything, seconds
fig2a: ## Figure 2a: ResNet-18 on CIFAR-10, accuracy against density (days of a CPU; see mini-fig2a)
fig2b: ## Figure 2b: LSTM on WikiText-2, perplexity against density (days of a CPU; see mini-fig2b)
fig2c: ## Figure 2c: NeuMF on MovieLens-20M, Hit-Rate@10 against density (days of a CPU; see mini-fig2c)
fig3: ## Figure 3: ResNet-18, Top-k's error builds up
fig3-early: ## the first 1,200 steps of Figure 3 with what explains its error: on a GPU (DEVICE=cuda), 11 min
entire-model: ## layer-wise against entire-model compression
no-error-feedback: ## what error feedback is worth
fig2: $(filter fig2%,$(figures)) ## all of Figure 2
mini-fig2: $(filter mini-fig2%,$(figures)) ## all of Figure 2 at laptop scale
table1: table1-resnet18 table1-senet18 table1-googlenet ## ACCORDION against hard-threshold, three networks, CIFAR-10
table1-cifar100: table1-cifar100-resnet18 table1-cifar100-senet18 table1-cifar100-googlenet ## the same on CIFAR-100
mini-fig2a: ## Figure 2a at laptop scale: ResNet-8 on 16,000 images, half an hour on two cores
mini-fig2b: ## Figure 2b at laptop scale: a small LSTM, trained on the validation text, ten minutes on two cores
mini-fig2b-first: ## that in the setting tried first, a larger LSTM at the paper's rate, in which hard-threshold lost, an hour
mini-fig2c: ## Figure 2c at laptop scale: NeuMF on MovieLens-100K, a quarter of an hour on two cores
mini-fig3: ## Figure 3 at laptop scale, a quarter of an hour
mini-table1: ## Table 1 at laptop scale, a quarter of an hour
mini-table1-cifar100: ## the CIFAR-100 comparison at laptop scale: 10,000 images, a quarter of an hour on two cores
mini-table1-batch256: ## the same with the paper's local batch, which decides the threshold's volume, all of CIFAR-10, 70 minutes
mini-table1-cifar100-batch256: ## and on CIFAR-100, half an hour
mini-table1-senet: ## the same for SENet-18 with an eighth of the channels, 2 workers on half of the images, 25 minutes
mini-table1-senet-first: ## that in the setting tried first, 8 workers, in which hard-threshold lost, 25 minutes
mini-table1-googlenet: ## and for GoogLeNet, 2 workers on a quarter of the images, an hour and a half
federated: ## client sampling: 20, 10 and 4 of 20 workers take part in a step, madelon, seconds
linear-speedup: ## steps to a target with 1 to 64 workers on madelon, three minutes
speedup-rate: ## the rate of the mean squared gradient norm in workers and steps on madelon, five minutes
mini-linear-speedup: ## the same for ResNet-8 with 2 to 32 workers, half an hour
dryden: ## does a fixed threshold degenerate as feedback builds up? madelon, seconds
adaptive-methods: ## Adam with compression in both directions, as the paper's reference 65 has it: madelon, seconds
bit-budget: ## a budget of bits for every vector (vqSGD and others) or for the run: madelon, seconds
variance-reduction: ## the outlook of the conclusion: LSVRG under Top-k and hard-threshold with feedback, madelon, minutes
when-to-communicate: ## local SGD on madelon: fixed intervals, and thresholds on how far the workers came, a minute
blockwise-momentum: ## dist-EF-SGDM on madelon: signs both ways with momentum, a minute
dynamic-quantization: ## levels that change as training goes on (DQ-SGD, AdaQS) against fixed QSGD, madelon, half a minute
mini-feedback-approaches: ## 13 forms of error feedback with Top-k and hard-threshold, ResNet-8, an hour
mini-entire-model: ## the same for entire-model
mini-no-error-feedback: ## and for no-error-feedback
mini-compressors: ## beyond the paper: 59 methods at equal bytes, ResNet-8, four hours on two cores, resumable
mini-why-errors: ## beyond the paper: which error counts, ResNet-8, half an hour
mini-why-threshold: ## beyond the paper: a threshold that follows the noise, ResNet-8, half an hour
mini-why-curvature: ## beyond the paper: does curvature order it, too? ten minutes
why-early: ## beyond the paper: early steps against late ones, and clipped numbers, madelon, a minute
mini-why-early: ## the same for ResNet-8, half an hour
why-freedom: ## beyond the paper: Top-k with the k of hard-threshold over steps and workers, madelon, a minute
mini-why-freedom: ## the same over layers, steps and workers for ResNet-8, 50 min
why-errors-madelon: ## and does the same error order methods on madelon? half a minute
mini-why-adam: ## beyond the paper: why hard-threshold loses under Adam, NeuMF, 15 min
mini-why-adam-resnet8: ## the same with ResNet-8 trained by Adam, half an hour
mini-why-workers: ## beyond the paper: does a lead need many workers, ResNet-8, an hour
mini-why-weighed: ## beyond the paper: residuals weighed by curvature, and a threshold that follows the learning rate, ResNet-8, half an hour
mini-why-weighed-lstm: ## the same for an LSTM on WikiText-2, five minutes
mini-why-rate-lstm: ## the same threshold without a floor, two methods, three minutes
mini-why-cosine: ## the same threshold under a cosine schedule, ResNet-8, fifteen minutes
mini-why-weighed-neumf: ## a threshold that leaves no layer out, NeuMF on MovieLens-100K, five minutes
mini-why-weighed-cifar100: ## the same where its exponent was not chosen, CIFAR-100, ten minutes
mini-why-weighed-gpt: ## and for a small GPT with AdamW, ten minutes
why-weighed-madelon: ## and on madelon, which is one layer, half a minute
mini-why-rates: ## beyond the paper: each at its own learning rate, ResNet-8, an hour
mini-gpt: ## beyond the paper: a small GPT with AdamW, compressed gradients and local steps, 25 min
gpt-30m: ## the same for a GPT of 30 million parameters, on a GPU
gpt-124m: ## and for one of the size of GPT-2 small, on a GPU
gpt-gradients: ## compressors on the published gradients of a very small GPT, seconds
mini-why-errors-lstm: ## beyond the paper: which error counts for an LSTM on WikiText-2, ten minutes
mini-why-errors-neumf: ## and where hard-threshold loses, NeuMF on MovieLens-100K, ten minutes
why-rules: ## beyond the paper: one-class shards under four rules of error feedback, each at three learning rates, madelon, a minute
mini-absolute: ## beyond the paper: thresholds, steps and singular values against relative compressors at equal bytes, an hour
mini-powersgd: ## beyond the paper: PowerSGD, ACCORDION on its rank, QSGD with 4 bits, ResNet-8, ten minutes
night: $(filter night-fig% night-table%,$(figures)) ## Figures 2a and 3 and Table 1 with ResNet-8 on all of CIFAR-10: five hours on two cores, resumable
night-fig2a: ## Figure 2a of the night; the three share their finished cells
night-fig3: ## Figure 3 of the night
night-table1: ## Table 1 of the night
night-why: ## which error counts in a night, five hours on two cores, resumable
.PHONY: fig2 mini-fig2 night table1 table1-cifar100

published   := fig1 fig1-madelon madelon-gdstar-20 madelon-gdstar-100 linear-speedup mini-linear-speedup speedup-rate dryden federated when-to-communicate blockwise-momentum bit-budget adaptive-methods variance-reduction dynamic-quantization mini-fig2a mini-fig2b mini-fig2c mini-fig3 mini-table1 mini-table1-batch256 mini-table1-senet mini-table1-googlenet mini-table1-cifar100 mini-table1-cifar100-batch256 mini-feedback-approaches mini-entire-model mini-no-error-feedback mini-heterogeneity mini-powersgd qsgd-madelon signs-madelon learning-rates tournament mini-tournament mini-tournament-neumf compressors mini-compressors bursts mini-why-errors mini-why-threshold mini-why-curvature mini-why-freedom mini-why-weighed mini-why-weighed-lstm mini-why-rate-lstm mini-why-weighed-neumf mini-why-weighed-cifar100 mini-why-weighed-gpt why-weighed-madelon mini-gpt mini-why-errors-lstm mini-why-errors-neumf why-rules why-freedom why-errors-madelon night-fig2a night-fig3 night-table1
publish: $(published) ## run the published figures and renew results/
	cp $(foreach f,$^,results/local/$(f).json results/local/$(f).svg) results
	@$(MAKE) --no-print-directory sums pages
pages: ## renew what documents quote of the published results, tables and verdicts
	@python3 -B results/analysis/pages.py
sums: ## renew SHA256SUMS of results and results/archive, the checksums of all published numbers
	@for d in results results/archive; do (cd $$d && LC_ALL=C sha256sum -- *.json > SHA256SUMS.new && mv SHA256SUMS.new SHA256SUMS); done
AUDIT_MINUTES ?= 60
AUDIT_SHARE   ?= 0.1
audit: all ## run a tenth of the published cells again and say which bits come back, as many results as took an hour (AUDIT_MINUTES= AUDIT_SHARE= SEED=)
	@mkdir -p build/audit
	@echo "left out: $(words $(wildcard results/archive/*.json)) results of results/archive, whose programs are former ones" >&2
	@$(bin)/sparsebench --audit --share $(AUDIT_SHARE) --time-limit $$((60 * $(AUDIT_MINUTES))) --table --force -o build/audit/audit.json \
	  $(if $(SEED),--seed $(SEED)) $(ARGS) $(or $(RESULTS),$(wildcard $(published:%=results/%.json)))
advise-check: all ## train what --advise recommends from a tenth of a run
	@python3 tests/bench/advise_check.py $(bin) results/local/advise-check results/advise-check.json $(ARGS)

profile             := compressors night-fig2a mini-fig2b mini-fig2c
profile_compressors := compressors mini-compressors
profiles: all ## what methods pay on several tasks, from the published results
	@python3 results/analysis/profile.py --json --cost bits $(profile:%=results/%.json) > results/profile.json
	@python3 results/analysis/profile.py --json --cost bytes-sent $(profile_compressors:%=results/%.json) > results/profile-compressors.json
	@$(bin)/sparseplot-export -q -f results/profile.json -o results/profile.svg

report: all ## all published results as one page, build/report.html
	@$(bin)/sparseplot-export -q -f -o build/report.html --title "Published results of sparsegrad" \
	  $(published:%=results/%.json) results/profile.json results/profile-compressors.json results/mini-fig3-h100.json results/fig3-early.json results/selection.json results/kernels.json results/kernels-cuda.json results/bench-compressors.json
	@echo "wrote build/report.html"

# Programs without debug information, their plug-ins and libraries, recipes and descriptions of data: what recipes/run needs.
carry: all $(rivals) ## pack into build/carry what a machine without packages or compiler needs for the figures (WITH_MPI=0 where it has none)
	@rm -rf build/carry && mkdir -p build/carry/bin build/carry/lib/sparsegrad
	@cp $(addprefix $(bin)/,$(programs)) build/carry/bin
	@cp -L $(plugins) $(rivals) $$(ldd $(bin)/sparsetrain | sed -n 's/^\tlib\(yaml\|cjson\|gomp\).* => \([^ ]*\) .*/\2/p') build/carry/lib/sparsegrad
	@strip -g build/carry/bin/* build/carry/lib/sparsegrad/*
	@cp -r --parents recipes datasets/fetch datasets/*.yaml build/carry
	@echo "packed build/carry, $$(du -sh build/carry | cut -f1): there, sh recipes/run FIGURE bin JOBS"

# ---- tests ----------------------------------------------------------------------------------------------------------
unit: $(unit_tests) ## unit tests of this MODE
	prove $(unit_tests)
fuzz_bins   := $(fuzz_src:tests/fuzz/%.c=$(B)/fuzz/%)
link_tools  := $(B)/links/report $(if $(filter 1,$(mpi)),$(B)/links/measure)
installed   := $(B)/installed/libsparsegrad.a $(B)/sparse-recipe.5 $(man_pages) $(B)/deviations # made before the tests that look at them run beside others
build-tests: all $(rivals) $(unit_tests) $(gpu_tests) $(fuzz_bins) $(installed) $(link_tools)
check: all $(rivals) $(unit_tests) $(installed) $(link_tools) ## after each change: unit tests, then what programs are for
	@sh tests/run quick
test: ## all of CI's tests; installs what they need
	@$(need) $(packages_test)
	@$(MAKE) --no-print-directory -j$(JOBS) all $(optimized) $(gpu_tests) $(installed) $(link_tools)
	@sh tests/run all
optimized:
	@echo $(notdir $(optimized))
units: all $(unit_tests) # programs and unit tests of a build that the nightly level adds
sanitized: all $(filter-out %_emulated,$(unit_tests)) $(fuzz_bins) # what sanitizers try on each push
nightly: ## those, the slow ones, other compilers and builds, ThreadSanitizer, faults: an hour
	@$(need) $(packages_test) valgrind
	@$(MAKE) --no-print-directory -j$(JOBS) build-tests
	@if command -v clang >/dev/null; then $(MAKE) --no-print-directory -j$(JOBS) fuzz; fi
	@sh tests/run nightly
# Another compiler, and a build without what can be left out, without generating code: test runs it, nightly builds both.
syntax: ## compile all sources with clang, and what MPI changes without it; nothing is linked
	@$(MAKE) --no-print-directory CC=clang MODE=debug WITH_TORCH=0 WITH_CUDA=0 WERROR=1 syntax-only
	@$(MAKE) --no-print-directory WITH_MPI=0 WITH_TORCH=0 WITH_CUDA=0 MODE=debug WERROR=1 syntax-only SYNTAX="$$(grep -rl SG_WITH_ lib cmd kernels --include='*.c')"
SYNTAX      := $(core_src) $(engine_src) $(wildcard cmd/*.c) $(isa_src)
syntax-only: $(B)/flags $(B)/version.h $(B)/page_files.h
	@printf '%s\n' $(filter-out $(isa_src),$(SYNTAX)) | xargs -P $(JOBS) -n 40 $(CC) $(cflags) -fsyntax-only
	@$(if $(filter $(isa_src),$(SYNTAX)),$(foreach i,$(isas),$(CC) $(cflags) $(isa_flags_$(i)) -fsyntax-only $(isa_src) &&) true)
TORTURE     ?= 60
torture: ## kills, faults and hostile input for an hour (TORTURE=minutes SEED=number)
	@$(need) $(packages_test) valgrind
	@$(MAKE) --no-print-directory -j$(JOBS) all
	@$(MAKE) --no-print-directory -j$(JOBS) MODE=asan all
	@if command -v clang >/dev/null; then $(MAKE) --no-print-directory -j$(JOBS) fuzz; fi
	@tests/torture/run --minutes $(TORTURE) $(if $(SEED),--seed $(SEED))
# A tree of its own: everything is built for libFuzzer, and only its harnesses are linked with it.
fuzz: ## build the libFuzzer harnesses (clang)
	@$(MAKE) --no-print-directory MODE=asan B=build/fuzz bin=build/fuzz/bin CC=clang WITH_CUDA=0 WITH_TORCH=0 WITH_MPI=0 \
	  CFLAGS=-fsanitize=fuzzer-no-link LDFLAGS=-fsanitize=fuzzer $(fuzz_src:tests/fuzz/%.c=build/fuzz/fuzz/%)
fuzz-merge: fuzz ## keep what the fuzzers found and the corpora lack, in the tree
	@python3 tests/torture/fuzz.py merge
bare: ## make fig1 and make test in a bare Debian 12 root (root, debootstrap)
	@tests/bare
check-gpu: $(gpu_tests) ## tests of the CUDA kernels, and of training with them, on this machine's GPU
	@$(if $(gpu_tests),SG_REQUIRE_GPU=1 prove -v $(gpu_tests),echo "built without CUDA (no nvcc, or WITH_CUDA=0)" >&2; exit 1)
kernel-resources: ## registers, spills and shared memory of every CUDA kernel
	@$(if $(filter 1,$(cuda)),sh tests/bench/resources $(NVCC) $(nvcc_flags) $(addprefix -I,$(include_dirs:/=)) -- $(cuda_src),echo "needs nvcc" >&2; exit 1)
rivals: $(rivals) ## what sparsebench compares kernels with: libtorch, std::nth_element, CUB
bench: all rivals ## time Figure 1 and the kernels behind it, as ratios to limits measured in the same run
	@sh tests/bench/figure1 $(bin)
$(B)/training_libtorch: tests/bench/training_libtorch.cpp
	@mkdir -p $(@D)
	$(call run,CXX)$(CXX) $(torch_cxx) -fopenmp -o $@ $< $(torch_libs)
bench-cnn: ## time training steps of CIFAR networks beside libtorch alone
bench-lm: ## the same of the language model
bench-gpt: ## of a transformer
bench-ncf: ## and of NeuMF
bench-cnn bench-lm bench-gpt bench-ncf: bench-%: all $(B)/training_libtorch
	@sh tests/bench/training $* $(bin) $(B)/training_libtorch
bench-network: all ## time the model of networks, a long run on 4096 workers; count set-ups in which compression pays
	@sh tests/bench/network $(bin)
	@sh tests/bench/sweep $(bin)
bench-compressors: all ## time a worker's step of every compressor
	@mkdir -p build/bench
	$(bin)/sparsebench recipes/kernels.yaml --table --quiet --force -o build/bench/compressors.json --set 'operations=[]' --set 'threads=[2]' $(ARGS)
$(B)/links/%: tests/links/%.c $(B)/libengine.a $(B)/libsparsegrad.a $(B)/flags
	@mkdir -p $(@D)
	$(call run,LD)$(CC) $(cflags) $(ldflags) $(mpi_cflags) -MMD -MP -MF $@.d -o $@ $< $(filter %.o,$^) $(B)/libengine.a $(B)/libsparsegrad.a $(libs) $(mpi_libs)
link-tools: all $(link_tools)
links: ## steps on real links, shaped in namespaces of this machine, beside the network model; root, 6 quiet minutes
	@$(need) $(packages_build) libopenmpi-dev openmpi-bin $(packages_torch)
	@$(need) iproute2 util-linux || true # the run says what it lacks
	@$(MAKE) --no-print-directory link-tools
	@tests/links/run $(bin) $(B)/links results/links.json || [ $$? = 77 ]
bench-hooks: link-tools ## steps of DistributedDataParallel on such links, with hooks (HOOKS=a Python that has PyTorch; root)
	@HOOKS=$(or $(HOOKS),python3) RANKS="$(or $(RANKS),2 4)" tests/links/run $(bin) $(B)/links results/ddp-hooks.json
bench-buckets: link-tools ## steps of a network whose layers are exchanged in buckets (BUCKETS) on such links, beside whole messages; root
	@BUCKETS="$(or $(BUCKETS),150kB)" RANKS="$(or $(RANKS),2 4)" METHODS="$(or $(METHODS),SGD Top-k)" \
	    tests/links/run $(bin) $(B)/links results/buckets.json || [ $$? = 77 ]
bench-estimators: all ## exact Top-k, thresholds and their estimators on recorded gradients
	@sh tests/bench/estimators $(bin)
$(B)/replay: tests/bench/replay.c $(B)/libengine.a $(B)/libsparsegrad.a $(B)/flags
	$(call run,LD)$(CC) $(cflags) $(ldflags) -o $@ $< $(B)/libengine.a $(B)/libsparsegrad.a $(libs) $(mpi_libs)
bench-replay: $(B)/replay ## reading recorded gradients, beside reading the file and `e += g`
	@mkdir -p build/bench
	@$(B)/replay build/bench
reference: all ## regenerate recipes/REFERENCE.md
	$(bin)/sparsetrain --help-recipe > recipes/REFERENCE.md.new && mv recipes/REFERENCE.md.new recipes/REFERENCE.md
deviations: $(B)/deviations ## regenerate results/DEVIATIONS.md
	$(B)/deviations > results/DEVIATIONS.md.new && mv results/DEVIATIONS.md.new results/DEVIATIONS.md
golden: all ## renew what the programs are to print: transcripts of mistakes, text formats of figures
	@sh tests/golden/plot/update
	@for f in tests/golden/cli/*.txt; do tests/golden/cli/transcript $$f > $$f.new && mv $$f.new $$f; done
lint: all $(installed) ## formatting, the tree, documents, man pages; all sources with clang
	@$(need) $(packages_test) clang-format
	@sh tests/run lint
	@clang-format --dry-run -Werror $(shell find cmd lib kernels tests -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh')
compdb: ## compile_commands.json for editors
	bear --output build/compile_commands.json -- $(MAKE) -B all
clean: ## remove build/
	rm -rf build

.PHONY: units golden install wheel publish sums pages audit carry profiles report advise-check build-tests torture fuzz fuzz-merge bare rivals nightly optimized sanitized syntax syntax-only bench bench-cnn bench-lm bench-ncf bench-compressors bench-estimators bench-replay bench-buckets bench-hooks bench-network links link-tools reference deviations check-gpu kernel-resources
-include $(shell find $(B) -name '*.d' 2>/dev/null)
