# Builds and installs sparsegrad; recipes/figures.mk runs figures, tests/tests.mk tests. `make help` lists targets.
# WITH_MPI, WITH_TORCH, WITH_CUDA take what is there; 0 leaves it out, 1 makes its absence an error. ZOO=0: no lib/zoo.
# SPDX-License-Identifier: MIT
MODE         ?= release
zoo          := $(if $(filter 0,$(ZOO)),,zoo)
PREFIX       ?= /usr/local
TORCH_DIR    ?= /usr
CC           := $(if $(filter default,$(origin CC)),gcc,$(CC))
CXX          ?= g++
NVCC         ?= $(firstword $(shell command -v nvcc 2>/dev/null) $(wildcard /usr/local/cuda/bin/nvcc))
NVCC_GENCODE ?= -gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=sm_90 \
                -gencode arch=compute_90,code=compute_90
VERSION      := $(shell awk '/^#define SPARSEGRAD_[MP]/ { printf dot $$3; dot = "." }' lib/method/sparsegrad.h)
B            := build/$(MODE)
opt_release  := -O3 -g
opt_debug    := -O0 -g3
# A variable that nobody sets holds a pattern, so that such runs differ in their bytes from those of other builds.
opt_asan     := -O1 -g1 -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer \
                -ftrivial-auto-var-init=pattern
opt_tsan     := -O1 -g -fsanitize=thread
opt          := $(or $(opt_$(MODE)),$(error MODE=$(MODE) is not one of release, debug, asan, tsan))
# Asserts are on in every mode but release; TRACE=1, 2 or 3 lets one watch a run in any (lib/core/sg_debug.h).
checks       := $(if $(filter-out release,$(MODE)),-DSG_ASSERTS=1) $(if $(TRACE),-DSG_TRACE_LEVEL=$(TRACE))
warn         := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wconversion \
                -Wno-missing-field-initializers $(if $(filter-out 0,$(WERROR)),-Werror)
openmp := $(if $(filter 0,$(WITH_OPENMP)),$(addprefix -Wno-unused-,parameter variable) -Wno-unknown-pragmas,-fopenmp)
includes     := $(addprefix -I,$(patsubst %/,%,$(sort $(wildcard lib/*/))) kernels)
# Nothing that is built names its folder, but for kernels of nvcc, which would split a folder at blanks and commas.
anywhere     := '-ffile-prefix-map=$(CURDIR)=.'
cflags       := -std=c11 -D_GNU_SOURCE -DSPARSEGRAD_UNSTABLE -ffp-contract=off -fPIC $(openmp) $(warn) $(opt) \
                $(checks) $(includes) -I$(B) $(anywhere) $(CFLAGS)
ldflags      := $(openmp) $(opt) $(LDFLAGS)
no_MPI        = mpicc was not found: apt-get install libopenmpi-dev openmpi-bin, or use WITH_MPI=0
no_TORCH      = no libtorch or no $(CXX): apt-get install libtorch-dev libopenblas0-pthread g++, or set TORCH_DIR=
no_CUDA       = nvcc was not found: install the CUDA toolkit, name its compiler with NVCC=, or use WITH_CUDA=0
absent        = $(if $(filter 1,$(WITH_$(1))),$(error WITH_$(1)=1 but $(no_$(1))))
feature       = $(if $(filter 0,$(WITH_$(1))),,$(if $(2),1,$(absent)))
have_cxx     := $(shell command -v $(CXX) 2>/dev/null)
mpi          := $(call feature,MPI,$(shell command -v mpicc 2>/dev/null))
torch        := $(call feature,TORCH,$(and $(wildcard $(TORCH_DIR)/include/ATen/ATen.h),$(have_cxx)))
cuda         := $(call feature,CUDA,$(NVCC))
mpi_cflags   := $(if $(mpi),-DSG_WITH_MPI=1 $(shell mpicc --showme:compile))
mpi_libs     := $(if $(mpi),$(shell mpicc --showme:link))
# The runtime is linked statically and looks for the driver when it is first asked: programs start without either.
cuda_dir     := $(if $(cuda),$(patsubst %/bin/,%,$(dir $(realpath $(shell command -v $(NVCC))))))
cuda_dirs    := $(wildcard $(addprefix $(cuda_dir)/,lib64 lib targets/x86_64-linux/lib))
cuda_libs    := $(if $(cuda_dir),$(addprefix -L,$(cuda_dirs)) -lcudart_static -lpthread -ldl -lrt)
nvcc_host    := -fPIC,-fvisibility=hidden,-Wall,-Wextra,-ffp-contract=off,-fno-exceptions,-fno-rtti
nvcc_flags   := -ccbin $(lastword $(filter-out -%,$(CXX))) -std=c++17 -DSPARSEGRAD_UNSTABLE -O3 --fmad=false -lineinfo \
                $(NVCC_GENCODE) $(checks) -Xcompiler $(nvcc_host),-fno-threadsafe-statics
# Builds take all cores where -j says nothing else. Figures and benchmarks run one after another.
JOBS         ?= $(shell nproc)
MAKEFLAGS    += $(if $(MAKELEVEL:0=)$(filter-out all unit check install build-tests fuzz,$(MAKECMDGOALS)),,-j$(JOBS))
isas         := c $(if $(filter x86_64%,$(shell $(CC) -dumpmachine)),avx2 avx512)
isa_src      := $(sort $(wildcard kernels/cpu/*_isa.c))
core_rooms   := core wire method $(zoo)
core_src     := $(wildcard $(core_rooms:%=lib/%/*.c) kernels/cpu/*.c) $(if $(cuda),,kernels/cuda/no_cuda.c)
core_src     := $(sort $(filter-out $(isa_src),$(core_src)))
# A task whose network libtorch trains has a NAME_net.c: its files, tests and recipes are only where libtorch is on.
torch_tasks  := $(filter-out task,$(patsubst lib/task/%_net.c,%,$(sort $(wildcard lib/task/*_net.c))))
torch_task   := $(wildcard $(torch_tasks:%=lib/task/%*.c)) lib/task/tasks_torch.c
engine_src   := $(sort $(filter-out $(core_rooms:%=lib/%/%) lib/zoo/% lib/examples/% $(torch_task), \
                $(wildcard lib/*/*.c)))
programs     := $(sort $(subst _,-,$(basename $(notdir $(wildcard cmd/sparse*.c)))))
cuda_src     := $(sort $(wildcard kernels/cuda/*.cu))
cuda_obj     := $(if $(cuda),$(cuda_src:%.cu=$(B)/%.o))
core_obj     := $(core_src:%.c=$(B)/%.o) $(foreach i,$(isas),$(isa_src:%.c=$(B)/%.$(i).o)) $(cuda_obj)
engine       := $(B)/libengine.a $(B)/libsparsegrad.a
base_libs    := -lcjson -lyaml -lm -ldl
libs         := $(base_libs) $(cuda_libs)
# Shared objects are looked for beside the programs first, so that a folder can take libyaml and libcjson along.
beside       := -Wl,-rpath,'$$ORIGIN/../lib/sparsegrad'
# Nothing here traps, and with -fno-trapping-math comparisons of floats become vectors; no number changes by it.
isa_avx2     := -mavx2 -mfma -mbmi -mbmi2
isa_avx512   := $(addprefix -mavx512,f vl bw dq) -mfma -mbmi -mbmi2 -mprefer-vector-width=512
isa_flags     = -O3 -fno-trapping-math -DSG_ISA=$(1) $(isa_$(1))
torch_obj    := $(patsubst %,$(B)/%.o,$(basename $(sort $(wildcard lib/tensor/*.cpp) $(torch_task))))
# Newer releases refuse to be compiled as less than C++20, and older ones do not know it.
torch_std    := $(if $(shell grep -ls 202002L $(TORCH_DIR)/include/ATen/ATen.h),c++20,c++17)
torch_other  := $(filter-out /usr,$(TORCH_DIR))
torch_cmake  := $(TORCH_DIR)/share/cmake/Torch/TorchConfig.cmake
# A libtorch for CUDA has graphs, and their header needs those of CUDA. Of a libtorch for CPUs it only lies there.
torch_graphs := $(if $(wildcard $(TORCH_DIR)/lib/libtorch_cuda.so),$(cuda_dir:%=%/include))
torch_cxx    := -std=$(torch_std) -DSPARSEGRAD_UNSTABLE -O2 -g -fPIC -Wall -Wextra -Wmissing-declarations $(checks) \
                $(anywhere) $(filter -fsanitize% -fno-sanitize%,$(opt)) \
                $(shell sed -n 's/.*TORCH_CXX_FLAGS "\(.*\)".*/\1/p' $(torch_cmake) 2>/dev/null) \
                $(torch_other:%=-isystem %/include) -isystem $(TORCH_DIR)/include/torch/csrc/api/include \
                $(torch_graphs:%=-DSG_TORCH_GRAPHS=1) $(addprefix -isystem ,$(filter-out /usr/include,$(torch_graphs)))
# libtorch for CUDA registers itself when it is loaded. Nothing refers to it, so the linker is told to keep it.
torch_cuda   := -Wl,--no-as-needed -ltorch_cuda -lc10_cuda -Wl,--as-needed -Wl,--allow-shlib-undefined
torch_libs   := $(if $(torch_other),-L$(TORCH_DIR)/lib -Xlinker --enable-new-dtags -Xlinker -rpath=$(TORCH_DIR)/lib) \
                -ltorch_cpu -lc10 $(if $(wildcard $(TORCH_DIR)/lib/libtorch_cuda.so),$(torch_cuda))
bin          := $(if $(filter build/release,$(B)),build/bin,$(B)/bin)
built_lib    := $(bin:%/bin=%)/lib
plugins      := $(if $(torch),$(built_lib)/sparsegrad/tasks-torch.so)
# While the major version is 0, a minor one may change the interface: both name the library and version its symbols.
interface    := $(if $(VERSION:0.%=),$(firstword $(subst ., ,$(VERSION))),$(basename $(VERSION)))
soname       := libsparsegrad.so.$(interface)
shared       := $(built_lib)/$(soname)
.SECONDARY .DELETE_ON_ERROR:
all: $(addprefix $(bin)/,$(programs)) $(plugins) $(shared) ## build programs and library, into build/bin and build/lib
	@echo "built $(bin): $(programs); MPI $(call yes,$(mpi)), libtorch $(call yes,$(torch)), CUDA $(call yes,$(cuda))"
yes           = $(if $(1),on,off)
help: ## list the targets that one begins with; ALL=1: all of them
	@sh .ci/help $(ALL)
# What stands before a command: it makes the target's folder and says one line. V=1 shows the command.
on            = $(if $(filter 1,$(V)),mkdir -p $(@D);,@mkdir -p $(@D); echo '  $(1) $@'; )
# What is rewritten only when its content changes, so that a second make does nothing.
renew         = if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi
all_flags    := $(CC) $(cflags) $(call isa_flags,avx512) $(ldflags) $(mpi_cflags) $(mpi_libs) $(NVCC) $(nvcc_flags) \
                $(if $(torch),$(torch_cxx) $(torch_libs)) $(cuda_libs) $(zoo)
$(B)/flags: FORCE
	@mkdir -p $(@D); printf '%s' '$(subst ','\'',$(all_flags))' > $@.new; $(renew)
$(B)/version.h: FORCE
	@mkdir -p $(@D); { printf '#define SG_BUILD_%s "%s"\n' VERSION '$(VERSION)' \
	     COMMIT "$$(git rev-parse --short=10 HEAD 2>/dev/null || echo unknown)" \
	     SOURCES "$$(cat $(all_src) | sha256sum | cut -c1-12)" \
	     COMPILER '$(shell $(CC) --version 2>/dev/null | head -n 1)' \
	     CFLAGS '$(strip -std=c11 -ffp-contract=off $(opt) $(checks) $(CFLAGS))'; \
	   printf '#define SG_BUILD_%s %s\n' MPI $(or $(mpi),0) TORCH $(or $(torch),0) CUDA $(or $(cuda),0) \
	     DIRTY $$(test -n "$$(git status --porcelain -uno 2>/dev/null)" && echo 1 || echo 0) \
	     IDENTITIES "$$(lib/base/identity $(VERSION) $(if $(torch),$(TORCH_DIR)))"; } > $@.new; $(renew)
all_src       = $(sort $(shell find cmd kernels lib -maxdepth 2 -name '*.[ch]' -o -name '*.c[pu]*' -o -name 'page*s'))
identity-parts: # lists which source counts for which task
	@lib/base/identity
# The style and the script of pages in HTML as arrays, without indentation and without lines that are comments.
$(B)/page_files.h: $(wildcard lib/plot/page*.[cj]s*)
	@mkdir -p $(@D); for kind in css js; do echo "static const unsigned char page_$$kind[] = {"; \
	  sed -e 's/^ *//' -e '/^\/\//d' -e '/^$$/d' lib/plot/page*.$$kind | LC_ALL=C od -An -v -tu1 | \
	  sed 's/ *\(-*[0-9][0-9]*\)/\1,/g'; echo '};'; done > $@.new && mv $@.new $@
$(B)/lib/plot/export_html.o: $(B)/page_files.h
$(B)/plugin_server.h: lib/recipe/plugin_server.py
	@mkdir -p $(@D); { echo 'static const char plugin_server[] ='; \
	  sed -e 's/\\/&&/g' -e 's/"/\\"/g' -e 's/.*/    "&\\n"/' $<; echo ';'; } > $@.new && mv $@.new $@
$(B)/lib/recipe/plugin_python.o: $(B)/plugin_server.h
$(B)/lib/comm/%.o: private cflags += $(mpi_cflags)
$(B)/lib/data/dataset_descriptor.o: private cflags += -DSG_DATADIR='"$(PREFIX)/share/sparsegrad"'
$(B)/lib/base/version.o $(B)/lib/app/version_print.o: $(B)/version.h
compile       = $(CC) $(cflags) -MMD -MP -c -o $@ $<
$(B)/%.o: %.c $(B)/flags
	$(call on,CC)$(compile)
$(foreach i,$(isas),$(eval $(B)/%.$(i).o: private cflags += $(call isa_flags,$(i))))
$(foreach i,$(isas),$(eval $(B)/%.$(i).o: %.c $(B)/flags ; $$(call on,CC)$$(compile)))
$(B)/cmd/sparseplot-export.o: cmd/sparseplot_export.c $(B)/flags
	$(call on,CC)$(compile)
$(B)/%.o: %.cu $(B)/flags
	$(call on,NVCC)$(NVCC) $(nvcc_flags) $(includes) -MMD -MP -c -o $@ $<
$(B)/lib/tensor/%.o: lib/tensor/%.cpp $(B)/flags
	$(call on,CXX)$(CXX) $(torch_cxx) $(includes) -MMD -MP -c -o $@ $<
$(B)/libsparsegrad.a: $(core_obj)
$(B)/libengine.a: $(patsubst %,$(B)/%.o,$(basename $(engine_src)))
$(engine): $(B)/flags
	@rm -f $@; ar rcs $@ $(filter %.o,$^)
# A plug-in may call what the installed headers declare: programs that load some have and show all of it, and no more.
$(B)/api.list: $(B)/api.symbols
	@{ echo '{'; sed 's/$$/;/' $<; echo '};'; } > $@
$(bin)/%: $(B)/cmd/%.o $(engine) $(B)/api.list
	$(call on,LD)$(CC) $(ldflags) $(beside) -Wl,--dynamic-list=$(B)/api.list -o $@ $(filter %.o,$^) $(B)/libengine.a \
	  -Wl,--whole-archive $(B)/libsparsegrad.a -Wl,--no-whole-archive $(libs) $(mpi_libs)
$(bin)/sparsebench: $(addprefix $(B)/cmd/bench_,audit.o kernels.o link.o options.o output.o) $(B)/cmd/rank_watch.o
$(bin)/sparsetrain: $(B)/cmd/train_options.o $(B)/cmd/rank_watch.o
$(bin)/sparsebench $(bin)/sparsetune: $(B)/cmd/grid_program.o
$(bin)/sparseplot-export: $(B)/cmd/sparseplot-export.o $(engine)
	$(call on,LD)$(CC) $(ldflags) $(beside) -o $@ $(filter %.o %.a,$^) $(libs) $(mpi_libs)
%/lib/sparsegrad/tasks-torch.so: $(torch_obj) $(engine)
	$(call on,LD)$(CXX) -shared $(ldflags) -Wl,-Bsymbolic -Wl,--exclude-libs,ALL -o $@ $^ $(torch_libs) $(base_libs)
# ---- installation
# Both libraries show only what their headers mark (sg_api.h); build/MODE/libsparsegrad.a, which tests link, keeps all.
api_headers  := $(addprefix lib/core/sg_,api.h optimizer.h parameter.h rng.h stats.h status.h unstable.h) \
                $(addprefix lib/wire/sg_,message.h wire.h) $(addprefix kernels/sg_,cuda.h half.h kernels.h) \
                $(addprefix lib/method/sg_,compressor.h compressor_plugin.h controller.h drive.h feedback.h flat.h) \
                lib/method/sg_method.h lib/method/sparsegrad.h
$(core_obj): private cflags += -fvisibility=hidden
$(if $(zoo),$(B)/lib/method/compressor_table.o $(B)/lib/wire/message.o: private cflags += -DSG_ZOO)
$(B)/api.symbols: $(core_obj)
	@readelf -Ws $^ | awk '$$5 == "GLOBAL" && $$6 == "DEFAULT" && $$7 != "UND" { print $$8 }' | sort -u > $@
$(B)/api.map: $(B)/api.symbols
	@{ echo 'SPARSEGRAD_$(interface) { global:'; sed 's/$$/;/' $<; echo 'local: *; };'; } > $@
build/portable/$(soname): private ldflags += -Wl,--build-id=none -Wl,--strip-debug
build/portable/$(soname): $(B)/lib/method/libsparsegrad/old_symbols.o
$(shared) build/portable/$(soname): $(core_obj) $(B)/api.map
	$(call on,LD)$(CC) -shared -Wl,-soname,$(soname) -Wl,--version-script=$(B)/api.map -Wl,--exclude-libs,ALL $(ldflags) \
	  -o $@ $(filter %.o,$^) -lm $(cuda_libs)
# CUDA's part is an object of its own, so that a program that does not use it need not link CUDA.
$(B)/installed/libsparsegrad.a: $(core_obj) $(B)/api.symbols
	$(call on,LD)rm -f $@ && ld -r -o $(@D)/sparsegrad.o $(filter-out $(cuda_obj),$(core_obj)) && \
	  $(if $(cuda_obj),ld -r -o $(@D)/sparsegrad_cuda.o $(cuda_obj) &&) \
	  for object in $(@D)/sparsegrad.o $(if $(cuda_obj),$(@D)/sparsegrad_cuda.o); do \
	    objcopy --keep-global-symbols=$(B)/api.symbols $$object && ar rcs $@ $$object || exit 1; done
openmp_lib    = $(if $(filter 0,$(WITH_OPENMP)),,-l$(if $(findstring clang,$(shell $(CC) --version)),omp,gomp))
rpath        := -Wl,-rpath,$${libdir}
$(B)/sparsegrad.pc: FORCE
	@printf '%s\n' 'prefix=$(PREFIX)' 'libdir=$${prefix}/lib' 'includedir=$${prefix}/include/sparsegrad' '' \
	  'Name: sparsegrad' 'Description: gradient compressors with error feedback' 'Version: $(VERSION)' \
	  'Cflags: -I$${includedir}' 'Libs: -L$${libdir} $(if $(filter-out /usr,$(PREFIX)),$(rpath) )-lsparsegrad' \
	  'Libs.private: $(openmp_lib) -lm $(cuda_libs)' > $@
$(B)/sparse-recipe.5: $(bin)/sparsetrain
	@{ printf '%s\n' '.TH SPARSE-RECIPE 5 "" "sparsegrad $(VERSION)"' '.SH NAME' '.SH DESCRIPTION' .nf | \
	    sed '2a sparse-recipe \\- recipes of sparsetrain, sparsebench and sparsetune'; \
	  $(bin)/sparsetrain --help-recipe | sed -e 's/\\/\\e/g' -e 's/-/\\-/g' -e "s/^[.']/\\\\\&&/"; } > $@
man_pages    := $(programs:%=$(B)/man/%.1)
$(man_pages): $(B)/man/%.1: cmd/%.man cmd/man.awk $(bin)/%
	@mkdir -p $(@D); $(bin)/$* --help | awk -v version=$(VERSION) -f cmd/man.awk - $< > $@
documents    := LICENSE $(wildcard *.md */README.md */*/README.md $(addsuffix /*.md,cmd kernels lib recipes results) \
                  results/*.svg results/archive/*.svg results/analysis/*.py)
root         := $(DESTDIR)$(PREFIX)
put           = install -D -m 644 -t $(root)/$(1) $(2)
put_paths     = for f in $(2); do install -D -m 644 $$f $(root)/$(1)/$$f || exit; done
built        := $(addprefix $(B)/,installed/libsparsegrad.a sparsegrad.pc sparse-recipe.5) $(man_pages)
install: all $(built) ## install programs, library, headers, recipes and documents (PREFIX, DESTDIR)
	install -D -t $(root)/bin $(addprefix $(bin)/,$(programs))
	$(call put,lib,$(B)/installed/libsparsegrad.a)
	install $(shared) $(root)/lib/libsparsegrad.so.$(VERSION)
	ln -sf libsparsegrad.so.$(VERSION) $(root)/lib/$(soname) && ln -sf $(soname) $(root)/lib/libsparsegrad.so
	$(if $(plugins),install -D -t $(root)/lib/sparsegrad $(plugins))
	$(call put,lib/pkgconfig,$(B)/sparsegrad.pc)
	$(call put,include/sparsegrad,$(api_headers))
	$(call put,share/man/man1,$(man_pages))
	$(call put,share/man/man3,lib/method/sparsegrad.3)
	$(call put,share/man/man5,$(B)/sparse-recipe.5)
	$(call put,share/sparsegrad/python/libsparsegrad,$(wildcard lib/method/libsparsegrad/*.py*))
	$(call put,share/sparsegrad/examples,$(wildcard lib/examples/*))
	$(call put_paths,share/sparsegrad,$(recipes) recipes/recipe.schema.json $(wildcard datasets/*.yaml))
	$(call put_paths,share/doc/sparsegrad,$(documents))
	install -D -t $(root)/share/sparsegrad/datasets datasets/fetch
	sh .ci/completions $(bin) $(root)/share $(programs)
	@printf '%s\n' 'In $(root): programs in bin, libraries in lib, headers in include/sparsegrad, recipes, data sets,' \
	  'examples and Python in share/sparsegrad, documents in share/doc/sparsegrad. For a program in C:' \
	  '  export PKG_CONFIG_PATH=$(PREFIX)/lib/pkgconfig' '  cc first.c -o first $$(pkg-config --cflags --libs sparsegrad)'
# For pip the library has neither OpenMP nor CUDA nor symbols that glibc 2.28 lacks: it needs the C library alone.
portable     := B=build/portable MODE=release WITH_OPENMP=0 WITH_CUDA=0 WITH_MPI=0 WITH_TORCH=0
wheel: ## pack the library with its Python files into build/wheel, for pip install
	@$(MAKE) --no-print-directory $(portable) build/portable/$(soname)
	@mkdir -p build/wheel && rm -f build/wheel/*.whl
	@python3 lib/method/wheel $(VERSION) build/portable/$(soname) build/wheel
clean: ## remove build/
	rm -rf build
include tests/tests.mk recipes/figures.mk
.PHONY: FORCE $(shell sed -n 's/^\([a-z][a-z0-9 -]*\):\([^=].*\)*$$/\1/p' $(MAKEFILE_LIST))
-include $(shell find $(B) -name '*.d' 2>/dev/null)
