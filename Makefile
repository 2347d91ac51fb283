# SPDX-License-Identifier: BSD-3-Clause
# The only makefile.  `make help` lists the targets.
#
# Settings, on the command line or in the environment:
#   PREFIX=/usr/local  directory of `make install`, below DESTDIR
#   LIBDIR=PREFIX/lib INCLUDEDIR=PREFIX/include  libscr, its headers
#   BINDIR=PREFIX/bin MANDIR=PREFIX/share/man DOCDIR=PREFIX/share/doc/scrkit
#   SYSCONFDIR=PREFIX/etc  directory of scr.conf; /etc if PREFIX is /usr
#   PROGRAM_PREFIX=sk-  names of commands, pages and completions begin so, for
#                      an installation beside LLNL's; the programs are in
#                      LIBEXECDIR=PREFIX/libexec/scrkit then
#   MPICC=mpicc        libscr uses its MPI; if there is no such program, mpich or
#                      ompi-c of pkg-config.  MPI_CFLAGS, MPI_LIBS override both
#   CC CFLAGS LDFLAGS  as usual; a change rebuilds all objects
#   FC=mpifort         compiles the Fortran module scr; without one it is left out
#   SAN=LIST           build with these sanitizers, in a separate tree:
#                      SAN=address,undefined -> build/address-undefined
#   COV=1              build for line coverage -> build/coverage
#   STATIC=0           link jansson and zlib as shared libraries even if
#                      static ones are installed (costs 0.1 ms at each start)
#   SQLITE=            without `scr_env log --db`, as where there is no libsqlite3
#   ONLY=PATTERN       `make check`: only test files whose path contains it
#   QUICK=1            `make check`: as `make quick`
#   SLOW=1             `make check`: the long cases too (kills at 200 random
#                      moments, every failing operation of every dataset)
#   FUZZ_SECONDS=600   `make fuzz`: time for each fuzzer
#   V=1                show commands

VERSION := 0.1.0

comma   := ,
PREFIX  ?= /usr/local
LIBDIR  ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
BINDIR  ?= $(PREFIX)/bin
LIBEXECDIR ?= $(PREFIX)/libexec/scrkit
MANDIR  ?= $(PREFIX)/share/man
DOCDIR  ?= $(PREFIX)/share/doc/scrkit
SYSCONFDIR ?= $(if $(filter /usr,$(PREFIX)),/etc,$(PREFIX)/etc)
# Sanitizers: compiling takes four times as long with -O2, twice with -O1, the tests a
# tenth longer with neither; traces need lines only.
CFLAGS  ?= $(if $(COV),-O0 -g,$(if $(SAN),-O0 -g1,-O2 -g))
STATIC  ?= $(if $(SAN),,1)
FUZZ_SECONDS ?= 600
O := build/$(if $(COV),coverage,$(if $(SAN),$(subst $(comma),-,$(SAN)),plain))
Q := $(if $(V),,@)
NPROC := $(shell nproc 2>/dev/null || echo 1)
# -j for a sub-make, unless this make has a job server.
JOBS   = $(if $(findstring jobserver,$(MAKEFLAGS)),,-j$(NPROC))

# -l:libX.a if the compiler finds a static libX, else -lX: loading two more
# shared libraries takes longer than most commands run.  libarchive and its nine
# dependencies take 3 ms; --as-needed drops them from the commands that do not
# call archive/ark.
lib = -l$(if $(and $(filter 1,$(STATIC)),$(findstring /,$(shell \
	$(CC) -print-file-name=lib$1.a 2>/dev/null))),:lib$1.a,$1)

# libscr does not link it.
SQLITE ?= $(shell pkg-config --exists sqlite3 2>/dev/null && echo 1)

cppflags := $(CPPFLAGS) -iquote lib -D_GNU_SOURCE -DSCRKIT_VERSION='"$(VERSION)"' \
	$(if $(SQLITE),-DSCRKIT_SQLITE)
warnings := -Wall -Wextra -Wshadow -Wvla -Wmissing-prototypes -Wwrite-strings
cflags   := $(CFLAGS) -std=c11 -pthread $(warnings)
sanitize := $(if $(SAN),-fsanitize=$(SAN) -fno-sanitize-recover=all \
	-fno-omit-frame-pointer)$(if $(COV),--coverage -fprofile-update=atomic)
ldflags  := $(LDFLAGS) -Wl,--as-needed -Wl,-z,relro -Wl,-z,now
# Objects go into programs and into libscr.so, which exports SCR_* only.
pic      := -fPIC -fvisibility=hidden
# MPI, for libscr.  The compilers of MPICH, of its relatives and of Open MPI
# print with -show the command that they would run.  scr.pc passes these flags on
# to users, so those with which MPI itself was built are left out; a run path stays.
MPICC    ?= mpicc
mpi_show := $(shell $(MPICC) -show 2>/dev/null | sed 's/-Xlinker /-Wl,/g; s/"//g')
mpi_pc   := $(if $(mpi_show),,$(firstword $(foreach p,mpich ompi-c,$(shell \
	pkg-config --exists $p 2>/dev/null && echo $p))))
mpi_cflags := $(strip $(filter -I% -D%,$(mpi_show) \
	$(if $(mpi_pc),$(shell pkg-config --cflags $(mpi_pc)))))
mpi_libs := $(strip $(filter -L% -l% -pthread -Wl$(comma)-rpath% -Wl$(comma)/% /%, \
	$(wordlist 2,999,$(mpi_show)) \
	$(if $(mpi_pc),$(shell pkg-config --libs $(mpi_pc)))))
MPI_CFLAGS ?= $(mpi_cflags)
MPI_LIBS ?= $(mpi_libs)
# What libscr calls of the others, always as shared libraries.
SCR_LIBS := $(strip $(LDLIBS) -lisal -ljansson -lz -linih -lhwloc -lm -ldl -pthread)
ldlibs   := $(LDLIBS) -lisal $(call lib,jansson) $(call lib,z) $(call lib,inih) -lcrypto \
	-larchive -lhwloc $(call lib,m) $(if $(SQLITE),$(call lib,sqlite3) -lm -ldl)

# For --version: "isa-l 2.30.0, jansson 2.14, ...".
libraries := $(shell set -- $$(pkg-config --modversion libisal jansson zlib inih \
	libcrypto libarchive 2>/dev/null); printf 'isa-l %s, jansson %s, zlib %s, \
	inih %s, OpenSSL %s, libarchive %s' "$$@" | tr -s '\t ' ' ')

# Sources.  Every file in cmd and testsuite/bench, and each
# testsuite/gen/gen_*.c, is one program.  The other files in testsuite/gen, and
# testsuite/bench/common*.c, are linked into the programs beside them.  cmd/env
# and cmd/fti have the verbs of scr_env and scr_fti, cmd/store those of scr_store,
# cmd/index and cmd/rebuild some of scr_index and scr_rebuild.
obj   = $(patsubst %.c,$O/%.o,$1)
SCR   := $(call obj,$(wildcard lib/scr/*.c lib/team/*.c))
PRELOAD := $(call obj,$(wildcard lib/preload/*.c))
LIB   := $(filter-out $(SCR) $(PRELOAD),$(call obj,$(wildcard lib/*.c lib/*/*.c))) \
	$O/lib/report/page_data.o
VERBS := $(wildcard cmd/env/*.c)
CMDS  := $(patsubst cmd/%.c,$O/bin/%,$(wildcard cmd/*.c))
UNIT  := $(patsubst testsuite/unit/%.c,$O/test/%,$(wildcard testsuite/unit/t_*.c))
# One program, which runs the target that its name ends with.
FUZZ  := $(notdir $(wildcard testsuite/data/corpus/*))
REPLAY := $(FUZZ:%=$O/fuzz/replay_%)
# Names of gen_meta.py.
GENPY := $(addprefix $O/gen/gen_,craft meta halt_update)
GENS  := $O/gen/gen_dataset $(GENPY)
GENLIB := $(call obj,$(filter-out testsuite/gen/gen_%,$(wildcard testsuite/gen/*.c)))
TESTLIB := $(call obj,$(wildcard testsuite/lib/*.c))
BENCHLIB := $(call obj,$(wildcard testsuite/bench/common*.c))
BENCH := $(patsubst testsuite/bench/%.c,$O/bench/%,$(filter-out \
	testsuite/bench/common%,$(wildcard testsuite/bench/*.c)))
SHIM  := $(patsubst testsuite/shim/%.c,$O/%.so,$(filter-out \
	%/without.c,$(wildcard testsuite/shim/*.c))) $O/without \
	$(patsubst testsuite/cluster/%.c,$O/%.so,$(wildcard testsuite/cluster/*.c))

# What the tests of stores run; calls_*.c are parts of one.
STORES := $(patsubst testsuite/store/%.c,$O/store/%,$(filter-out \
	testsuite/store/calls_%,$(wildcard testsuite/store/*.c)))

# Each file in testsuite/mpi is an MPI program; app_*.c are applications, which
# share shared.c.
MPIS  := $(if $(MPI_LIBS),$(patsubst testsuite/mpi/%.c,$O/mpi/%,$(filter-out \
	%/shared.c,$(wildcard testsuite/mpi/*.c))))
# Programs that know nothing of libscr, for the tests of libscr_preload.so.
PLAIN := $(if $(MPI_LIBS),$(patsubst testsuite/interpose/%.c,$O/interpose/%,$(wildcard \
	testsuite/interpose/*.c)))
LIBSCR := $(if $(MPI_LIBS),$O/libscr.so $O/libscr.a $O/libscrf.so $O/libscrf.a \
	$O/fortran/module)
# For the module scr; make's own FC is not one that somebody chose.
fortran := $(if $(filter undefined default,$(origin FC)),$(firstword $(foreach \
	c,mpifort gfortran,$(shell command -v $c))),$(FC))
# The version of the interface, from scr.h: "v3.1.0".
SCR_VERSION := $(shell sed -n 's/^.define SCR_VERSION "v\(.*\)"$$/\1/p' lib/scr/scr.h)
SONAME := libscr.so.$(firstword $(subst ., ,$(SCR_VERSION)))
SONAMEF := $(SONAME:libscr%=libscrf%)

# What is missing is said before the compiler fails: it may be somewhere else.
all: ## build the commands and, if there is an MPI, libscr: build/plain/bin,
all: ## build/plain/libscr.so
	@scripts/deps.sh build || echo "going on with what there is"
	@$(MAKE) --no-print-directory $(JOBS) programs
programs: $(CMDS) $O/libscr_preload.so $O/links $(or $(LIBSCR),no-mpi)
no-mpi:
	@echo "libscr is left out: no MPI found; set MPICC, or MPI_CFLAGS and MPI_LIBS"
tests: programs $(UNIT) $(MPIS) $(REPLAY) $(GENS) $(SHIM) $(STORES) $(PLAIN) ## build the test programs too

# --- Rules ---------------------------------------------------------------

link = $Qmkdir -p $(@D) && echo "  LD  $@" && \
	$(CC) $(cflags) $(sanitize) $(ldflags) -o $@ $(filter %.o,$^) \
	$(filter %.a,$^) $(ldlibs)

$O/bin/scr_env: $(call obj,$(VERBS))
$O/bin/scr_index: $(call obj,$(wildcard cmd/index/*.c))
$O/bin/scr_fti: $(call obj,$(wildcard cmd/fti/*.c))
$O/bin/scr_store: $(call obj,$(wildcard cmd/store/*.c))
$O/bin/scr_rebuild: $(call obj,$(wildcard cmd/rebuild/*.c))
$O/bin/%: $O/cmd/%.o $O/libcore.a
	$(link)
# LLNL's names for verbs of scr_env, which looks at the name it is called by.
LINKS := $(addprefix scr_,check_node ckpt_interval crc32 flush_file hostlist \
	list_dir list_down_nodes log_event log_transfer nodes_file \
	retries_halt should_exit)
# Names of scr_run, with the launcher in them.
RUN_LINKS := $(addprefix scr_,srun mpirun mpiexec jsrun lrun aprun flux)
$O/links: $O/bin/scr_env Makefile
	$Qfor n in $(LINKS); do ln -sf scr_env $O/bin/$$n || exit 1; done
	$Qfor n in $(RUN_LINKS); do ln -sf scr_run $O/bin/$$n || exit 1; done
	$Qln -sf scr_postrun $O/bin/scr_poststage
	$Qtouch $@
$O/test/%: $O/testsuite/unit/%.o $O/libtest.a $O/scr.a $O/libcore.a
	$(link) -lhwloc $(MPI_LIBS) -ldl
$(filter $O/mpi/app_%,$(MPIS)): $O/testsuite/mpi/shared.o
$O/mpi/app_%: $O/testsuite/mpi/app_%.o $O/libscr.so
	@mkdir -p $(@D); echo "  LD  $@"
	$Q$(CC) $(cflags) $(sanitize) $(ldflags) -Wl,-rpath,'$$ORIGIN/..' -o $@ \
		$^ $(MPI_LIBS) -ldl
$O/mpi/%: $O/testsuite/mpi/%.o $O/scr.a $O/libtest.a $O/libcore.a
	$(link) -lhwloc $(MPI_LIBS) -ldl
$O/interpose/%: $O/testsuite/interpose/%.o
	@mkdir -p $(@D); echo "  LD  $@"
	$Q$(CC) $(cflags) $(sanitize) $(ldflags) -o $@ $^ $(MPI_LIBS)
$(GENPY): testsuite/gen/gen_meta.py
	$Qmkdir -p $(@D) && ln -sf "$(CURDIR)/$<" $@
$O/gen/%: $O/testsuite/gen/%.o $(GENLIB) $O/libtest.a $O/libcore.a
	$(link)
$O/store/calls: $(call obj,$(wildcard testsuite/store/calls_*.c))
$O/store/%: $O/testsuite/store/%.o $O/libcore.a
	$(link) -ldl -lrt
$O/bench/%: $O/testsuite/bench/%.o $(BENCHLIB) $O/libcore.a
	$(link)
$O/fuzz/replay: $(call obj,$(wildcard testsuite/fuzz/*.c)) $O/libtest.a $O/libcore.a
	$(link)
$O/fuzz/fuzz: $(call obj,$(wildcard testsuite/fuzz/fuzz_*.c)) $O/libtest.a $O/libcore.a
	$(link) -fsanitize=fuzzer
$(REPLAY): $O/fuzz/replay
	$Qln -f $< $@
$(FUZZ:%=$O/fuzz/fuzz_%): $O/fuzz/fuzz
	$Qln -f $< $@
# Preloaded into the commands, sanitized or not, so built without a sanitizer.
$O/%.so: testsuite/shim/%.c testsuite/shim/calls.h testsuite/shim/openat2.h $O/flags
	@mkdir -p $(@D); echo "  LD  $@"
	$Q$(CC) $(cppflags) $(cflags) -fPIC -shared $(ldflags) -o $@ $< -ldl
# A launcher for the commands, sanitized or not.
$O/without: testsuite/shim/without.c $O/flags
	@mkdir -p $(@D); echo "  LD  $@"
	$Q$(CC) $(cppflags) $(cflags) $(ldflags) -o $@ $<
# Preloaded into all programs of a node of the test bed.
$O/%.so: testsuite/cluster/%.c $O/flags
	@mkdir -p $(@D); echo "  LD  $@"
	$Q$(CC) $(cppflags) $(cflags) -fPIC -shared $(ldflags) -o $@ $< -ldl
$O/libcore.a: $(LIB) $O/libcore.list
	$Qrm -f $@ && $(AR) qcs $@ $(LIB)
# For tests of its parts; users get the two below it, with nothing but SCR_*.
$O/scr.a: $(SCR) $O/scr.list
	$Qrm -f $@ && $(AR) qcs $@ $(SCR)
$O/libscr.so: $(SCR) $O/libcore.a lib/scr/libscr.map
	@mkdir -p $(@D); echo "  LD  $@"
	$Q$(CC) $(cflags) $(sanitize) $(ldflags) -shared -Wl,-soname,$(SONAME) \
		-Wl,--version-script=lib/scr/libscr.map -Wl,--gc-sections \
		$(if $(SAN),,-Wl$(comma)-z$(comma)defs) \
		-o $@ $(filter %.o,$^) $O/libcore.a $(SCR_LIBS) $(MPI_LIBS)
	$Qln -sf libscr.so $O/$(SONAME)
# Its users name libscrf alone: the linker and the loader find libscr beside it.
$O/libscrf.so: $O/bindings/fortran/scrf.o $O/libscr.so
	@echo "  LD  $@"
	$Q$(CC) $(cflags) $(sanitize) $(ldflags) -shared -Wl,-soname,$(SONAMEF) \
		-Wl,-rpath,'$$ORIGIN' -o $@ $^ $(MPI_LIBS)
	$Qln -sf libscrf.so $O/$(SONAMEF)
$O/libscrf.a: $O/bindings/fortran/scrf.o
	$Qrm -f $@ && $(AR) qcs $@ $<
$O/bindings/fortran/scrf.o: private cppflags += $(MPI_CFLAGS)
# scr.mod, named as the compiler likes, beside what it says.
$O/fortran/module: bindings/fortran/scr.f90 $O/fortran/compiler
	@echo "  FC  $<"
	$Qcd $(@D) && rm -f *.mod && { $(or $(fortran),false) -c -o scr.o \
		"$(CURDIR)/$<" >module 2>&1 || { rm -f *.mod; echo \
		"no module scr: $(if $(fortran),the Fortran compiler failed: see $@,no \
		Fortran compiler), or set FC"; } }
$O/fortran/compiler: FORCE
	@mkdir -p $(@D); echo $(call quote,$(fortran)) | cmp -s - $@ || \
		echo $(call quote,$(fortran)) >$@
# Into programs of any kind: nothing but libc.
$O/libscr_preload.so: $(PRELOAD) $O/libcore.a
	@mkdir -p $(@D); echo "  LD  $@"
	$Q$(CC) $(cflags) $(sanitize) $(ldflags) -shared -Wl,--gc-sections \
		-Wl,--exclude-libs,ALL -o $@ $(filter %.o,$^) $O/libcore.a -ldl
$O/libscr.a: $(SCR) $O/libcore.a
	@mkdir -p $(@D); echo "  LD  $@"
	$Q$(CC) -r -nostdlib -o $O/libscr.o $(SCR) $O/libcore.a
	$Qobjcopy --wildcard --keep-global-symbol='SCR_*' $O/libscr.o
	$Qrm -f $@ && $(AR) qcs $@ $O/libscr.o
# Shared by tests and generators.
$O/libtest.a: $(TESTLIB) $O/libtest.list
	$Qrm -f $@ && $(AR) qcs $@ $(TESTLIB)
# The path of the system's configuration file depends on PREFIX.
$O/lib/conf.o: private cppflags += -DSCRKIT_SYSCONF='"$(SYSCONFDIR)/scr.conf"'
$O/lib/conf.o: $O/sysconf
$O/sysconf: FORCE
	@mkdir -p $O; echo $(call quote,$(SYSCONFDIR) $(LIBDIR)) | cmp -s - $@ || \
		echo $(call quote,$(SYSCONFDIR) $(LIBDIR)) >$@
# And that of the library to be preloaded on LIBDIR.
$O/cmd/store/run.o: private cppflags += -DSCRKIT_LIBDIR='"$(LIBDIR)"'
$O/cmd/store/run.o: $O/sysconf
# That opens libscr, which is not linked.
$O/lib/preload/mpi.o: private cppflags += -DPRELOAD_LIBSCR='"$(SONAME)"'
$O/lib/preload/mpi.o: lib/scr/scr.h
$O/lib/app.o $O/testsuite/unit/t_app.o: private cppflags += \
	-DSCRKIT_LIBRARIES='"$(libraries)"'
# The unit tests themselves are compiled in a third of the time.
$(UNIT:$O/test/%=$O/testsuite/unit/%.o): private cflags += -O0 -g1
$(SCR): private cppflags += $(MPI_CFLAGS)
$O/lib/team/say.o: private cppflags += -DSCR_VERSION='"v$(SCR_VERSION)"'
$O/lib/team/say.o: lib/scr/scr.h
$O/testsuite/mpi/%.o: private cppflags += $(MPI_CFLAGS)
$O/testsuite/interpose/%.o: private cppflags += $(MPI_CFLAGS)
$O/testsuite/unit/t_levels.o: private cppflags += $(MPI_CFLAGS)
# As with `pkg-config --cflags scr`.
$O/testsuite/mpi/app_%.o: private cppflags += $(MPI_CFLAGS) -iquote lib/scr
# What pages draw themselves with, as report_css and report_js.
$O/lib/report/page_data.c: share/report.css share/report.js Makefile
	$Qmkdir -p $(@D) && for f in css js; do printf 'extern const char report_%s[];\n' $$f; \
		printf 'const char report_%s[] = {\n' $$f; od -An -v -td1 share/report.$$f | \
		sed 's/ *\([-0-9][0-9]*\)/\1,/g'; echo '0 };'; done >$@
$O/lib/report/page_data.o: $O/lib/report/page_data.c $O/flags
	$Q$(CC) $(cppflags) $(cflags) $(pic) $(sanitize) -c -o $@ $<
$O/%.o: %.c $O/flags
	@mkdir -p $(@D); echo "  CC  $<"
	$Q$(CC) $(cppflags) $(if $(filter testsuite/%,$<),-iquote testsuite \
		-iquote testsuite/lib) $(cflags) $(pic) $(sanitize) -MMD -MP -c -o $@ $<

# Both files are rewritten only if they change: new flags rebuild everything, a
# removed source file rebuilds the library.
$O/flags: FORCE
	@mkdir -p $O; printf '%s\n' $(call quote,$(CC) $(cppflags) \
		$(cflags) $(pic) $(sanitize) $(ldflags) "$(libraries)") >$@.new; cmp -s $@.new $@ || cp $@.new $@
$O/libcore.list: files = $(LIB)
$O/libtest.list: files = $(TESTLIB)
$O/scr.list: files = $(SCR)
$O/libcore.list $O/libtest.list $O/scr.list: FORCE
	@mkdir -p $O; printf '%s\n' $(files) >$@.new; \
		cmp -s $@.new $@ || cp $@.new $@
quote = '$(subst ','\'',$1)'

# --- Testing ------------------------------------------------------------

deps: ## install, or name, what building and testing needs
	@scripts/deps.sh build check cluster lint fuzz

# The trees that `make check` tests, and the suites it runs in each.
P := build/plain
S := build/address-undefined
SUITES ?= unit:$P fuzz:$P examples:$P unit:$S fuzz:$S $(if $(SLOW),mpi,tour):$S \
	mpi:$P bats:$P valgrind:$P tour-valgrind:$P $(if $(SLOW),behind:$P)

RUN = testsuite/run.sh $(if $(SLOW),,--quick) $(if $(ONLY),--only '$(ONLY)')

check: ## run the tests: units, fuzz replays, commands, examples; plain,
check: ## with sanitizers and under valgrind
ifdef QUICK
check: quick
else
check:
	@scripts/deps.sh build check
	@$(RUN) --tell $(SUITES); echo "compiling first"
	@$(MAKE) --no-print-directory $(JOBS) SAN= COV= tests
	@$(MAKE) --no-print-directory $(JOBS) SAN=address,undefined COV= tests
	@$(RUN) $(SUITES)
endif

# The tests that testsuite/quick lists, and the programs they need.
quick: ## does it work?  The tests that tell most, two minutes after compiling
	@scripts/deps.sh build quick
	@$(MAKE) --no-print-directory $(JOBS) -s SAN= COV= quick-programs
	@testsuite/run.sh --quick --list testsuite/quick \
		unit:$P fuzz:$P examples:$P mpi:$P bats:$P
quick-programs: programs $(GENS) $(SHIM) $(filter $O/mpi/app_%,$(MPIS)) \
	$(shell sed -n 's,^test/,$O/test/,p;s,^replay_,$O/fuzz/replay_,p' \
		testsuite/quick)

weekly: ## all tests, also those that take long and have never failed, and all
weekly: ## units under valgrind (hours)
	@$(MAKE) --no-print-directory check SLOW=1
	@$(MAKE) --no-print-directory check-cluster SLOW=1

campaign: ## damaged prefixes, whose truth is known: CASES=20000 SEED=1
	@scripts/deps.sh build check
	@$(MAKE) --no-print-directory $(JOBS) programs $(GENS)
	@python3 testsuite/campaign/campaign.py --cases $(or $(CASES),1000) \
		--seed $(or $(SEED),1) --shrink --bin $O/bin --gen $O/gen \
		--expected testsuite/campaign/expected

check-portable: ## build and test for systems unlike this one: Debian 11, musl,
check-portable: ## other processors; what cannot be had is skipped
	@scripts/deps.sh portable || echo "going on with what there is"
	@scripts/portable.sh

check-cluster: ## run the tests on several pretend nodes: sshd, pdsh, MPICH,
check-cluster: ## SLURM (root; installs their packages, starts no daemons)
	@scripts/deps.sh build check cluster
	@$(MAKE) --no-print-directory $(JOBS) SAN= COV= tests
	@$(RUN) cluster:$P

coverage: ## run the tests for line coverage of lib/; fails below 90 %
	@scripts/deps.sh build check
	@$(MAKE) --no-print-directory $(JOBS) SAN= COV=1 tests
	@scripts/coverage.sh build/coverage

bench: ## measure speed against bare reference programs (minutes)
	@scripts/deps.sh build bench
	@$(MAKE) --no-print-directory $(JOBS) SAN= COV= bench-programs
	@testsuite/bench/run.sh build/plain
bench-programs: programs $(GENS) $(BENCH) $(MPIS) $(PLAIN)

fuzz: ## fuzz each decoder for FUZZ_SECONDS (needs clang)
	@scripts/deps.sh build fuzz
	@$(MAKE) --no-print-directory $(JOBS) CC=clang COV= \
		SAN=fuzzer-no-link,address,undefined fuzz-programs
	@scripts/fuzz.sh build/fuzzer-no-link-address-undefined \
		$(FUZZ_SECONDS) $(FUZZ)
fuzz-programs: $(FUZZ:%=$O/fuzz/fuzz_%)

lint: ## format, static analysis, layering, names, man pages, options
	@scripts/deps.sh build lint
	@$(MAKE) --no-print-directory $(JOBS) SAN= COV= programs
	@scripts/lint.sh build/plain

change-requests: ## carry out five typical changes in copies of the tree
	@scripts/deps.sh build change-requests
	@scripts/change_requests.py

html: ## the handbook: README and all pages, build/html/index.html
	@scripts/deps.sh html
	@scripts/html.sh build/html

# The nodes of a job, one of which has died.
picture: programs $O/gen/gen_dataset ## share/rescue.png, the picture in README
	$Qrm -rf build/picture && mkdir -p build/picture
	$Q$O/gen/gen_dataset -q -p build/picture/p --nodes-dir build/picture/n \
		-n 32 -m 4 -t XOR --set-size 4 -f 1 --ckpt -i 5 --lose 2
	$Q$O/bin/scr_inspect -p build/picture/p --html build/picture/x.html 5 >/dev/null || [ $$? = 3 ]
	$Qchromium --headless --no-sandbox --disable-gpu --hide-scrollbars --window-size=900,540 \
		--user-data-dir="$(CURDIR)/build/picture/chromium" \
		--screenshot=share/rescue.png "file://$(CURDIR)/build/picture/x.html"
	$Qrm -rf build/picture; ls -l share/rescue.png

messages: ## list all texts of the program with their places
	@scripts/deps.sh messages
	@scripts/messages.py

ci: ## everything: lint, check, coverage
	@$(MAKE) --no-print-directory lint
	@$(MAKE) --no-print-directory check
	@$(MAKE) --no-print-directory check-cluster
	@$(MAKE) --no-print-directory coverage

demo: ## two nodes are lost, and nothing else: an MPI job on pretend nodes
	@scripts/deps.sh build mpi
	@$(MAKE) --no-print-directory $(JOBS) -s SAN= COV= programs $P/patient.so
	@scripts/demo.sh $P

# --- Installing ---------------------------------------------------------

# bash and fish look for a file named like the command, so there is one file and
# a link to it for each command.
D := $(DESTDIR)$(PREFIX)
DBIN := $(DESTDIR)$(BINDIR)
DMAN := $(DESTDIR)$(MANDIR)
DDOC := $(DESTDIR)$(DOCDIR)
DLIB := $(DESTDIR)$(LIBDIR)
DINC := $(DESTDIR)$(INCLUDEDIR)
SECTIONS := 1 3 5 7
BASHDIR := share/bash-completion/completions
ZSHDIR  := share/zsh/site-functions
FISHDIR := share/fish/vendor_completions.d
# Beside LLNL's commands ours have names of their own: the programs are in a
# directory where they find each other, and the names are links to them.
P_ := $(PROGRAM_PREFIX)
DEXE := $(if $(P_),$(DESTDIR)$(LIBEXECDIR),$(DBIN))
# LLNL's names for what other commands do, as LINKS for scr_env.
INSPECT_LINKS := scr_print kvtree_print
POSTRUN_LINKS := scr_poststage
REBUILD_LINKS := scr_rebuild_xor scr_rebuild_rs scr_rebuild_partner
ALL_LINKS := $(LINKS) $(INSPECT_LINKS) $(POSTRUN_LINKS) $(REBUILD_LINKS) \
	$(RUN_LINKS)
NAMES   := $(notdir $(CMDS)) $(ALL_LINKS)
PAGES1  := $(notdir $(wildcard man/*.1))
# The command whose link $1 is.
of = $(if $(filter $1,$(LINKS)),scr_env,$(if $(filter $1,$(INSPECT_LINKS)),scr_inspect,$(if $(filter $1,$(POSTRUN_LINKS)),scr_postrun,$(if $(filter $1,$(RUN_LINKS)),scr_run,scr_rebuild))))
# Text that names commands, with what stands before their names.
renamed = sed -E 's/(^|[^A-Za-z0-9_-])((scr|kvtree)_[a-z])/\1$(P_)\2/g'
with_prefix = $(if $(P_),$(renamed),cat) "$1" >"$2" && chmod 644 "$2"

install: all $(if $(LIBSCR),install-libscr) ## install commands, libscr, pages,
install: ## completions, examples (DESTDIR, PREFIX and the other directories)
	$Qinstall -d "$(DBIN)" "$(DEXE)" "$(DDOC)/examples" \
		$(SECTIONS:%="$(DMAN)/man%") \
		"$D/$(BASHDIR)" "$D/$(ZSHDIR)" "$D/$(FISHDIR)"
	$Qinstall -m 755 $(CMDS) "$(DEXE)"
	$Qinstall -D -m 755 $O/libscr_preload.so "$(DLIB)/libscr_preload.so"
	$Q$(foreach n,$(ALL_LINKS),ln -sf $(call of,$n) "$(DEXE)/$n" &&) :
	$Q$(if $(P_),for n in $(NAMES); do \
		ln -sf "$(LIBEXECDIR)/$$n" "$(DBIN)/$(P_)$$n" || exit 1; done)
	$Qfor m in man/*.[0-9]; do \
		case $$m in *.1) p='$(P_)';; *) p='';; esac; m=$${m#man/}; \
		$(call with_prefix,man/$$m,$(DMAN)/man$${m##*.}/$$p$$m) || exit 1; \
		done
	$Q$(foreach n,$(ALL_LINKS),ln -sf $(P_)$(call of,$n).1 \
		"$(DMAN)/man1/$(P_)$n.1" &&) :
	$Q$(call with_prefix,share/completions/scrkit.bash,$D/$(BASHDIR)/$(P_)scrkit)
	$Q$(call with_prefix,share/completions/_scrkit,$D/$(ZSHDIR)/_$(P_)scrkit)
	$Q$(call with_prefix,share/completions/scrkit.fish,$D/$(FISHDIR)/$(P_)scrkit.fish)
	$Qfor n in $(NAMES); do ln -sf $(P_)scrkit "$D/$(BASHDIR)/$(P_)$$n" && \
		ln -sf $(P_)scrkit.fish "$D/$(FISHDIR)/$(P_)$$n.fish" || exit 1; done
	$Qinstall -m 644 LICENSE README.md NEWS.md share/scr.conf "$(DDOC)"
	$Qinstall -Dm 644 share/rescue.png "$(DDOC)/share/rescue.png"
	$Qinstall -Dm 644 share/schema/scrkit.json "$D/share/scrkit/json-schema.json"
	$Qfor f in examples/*; do case $$f in *.[ch]|*.f90) m=644;; *) m=755;; esac; \
		install -m $$m "$$f" "$(DDOC)/examples" || exit 1; done

# The files of pkg-config and CMake name directories below the prefix by it, so that
# they move with it.
below = $(subst $(PREFIX)/,$${prefix}/,$1)
filled = sed -e 's|@PREFIX@|$(PREFIX)|g' -e 's|@LIBDIR@|$(LIBDIR)|g' \
	-e 's|@INCLUDEDIR@|$(INCLUDEDIR)|g' -e 's|@VERSION@|$(SCR_VERSION)|g' \
	-e 's|@libdir@|$(call below,$(LIBDIR))|' -e 's|@LIBS@|$(SCR_LIBS)|' \
	-e 's|@includedir@|$(call below,$(INCLUDEDIR))|' \
	-e 's|@MPI_CFLAGS@|$(MPI_CFLAGS)|' -e 's|@MPI_LIBS@|$(MPI_LIBS)|' \
	"$1" >"$2" && chmod 644 "$2"
install-libscr: all
	$Qinstall -d "$(DLIB)/pkgconfig" "$(DLIB)/cmake/scr" "$(DINC)"
	$Qfor f in lib/scr/scr.h bindings/fortran/scrf.h bindings/fortran/scr.f90 \
		$O/fortran/*.mod; do [ ! -e "$$f" ] || \
		install -m 644 "$$f" "$(DINC)" || exit 1; done
	$Qinstall -m 644 $O/libscr.a $O/libscrf.a "$(DLIB)"
	$Qfor n in scr scrf; do f=lib$$n.so; \
		install -m 755 $O/$$f "$(DLIB)/$$f.$(SCR_VERSION)" && \
		ln -sf $$f.$(SCR_VERSION) "$(DLIB)/$$f$(SONAME:libscr.so%=%)" && \
		ln -sf $$f$(SONAME:libscr.so%=%) "$(DLIB)/$$f" || exit 1; done
	$Q$(call filled,lib/scr/scr.pc.in,$(DLIB)/pkgconfig/scr.pc)
	$Q$(call filled,bindings/fortran/scrf.pc.in,$(DLIB)/pkgconfig/scrf.pc)
	$Qfor f in scrConfig scrConfigVersion; do \
		$(call filled,lib/scr/$$f.cmake.in,$(DLIB)/cmake/scr/$$f.cmake) || exit 1; done
	$Qinstall -Dm 644 bindings/python/scr.py "$D/share/scr/python/scr.py"

uninstall: ## remove what install put there
	$Qfor n in $(NAMES); do rm -f "$(DBIN)/$(P_)$$n" "$(DEXE)/$$n" \
		"$D/$(BASHDIR)/$(P_)$$n" "$D/$(FISHDIR)/$(P_)$$n.fish"; done
	$Qrm -f "$D/$(BASHDIR)/$(P_)scrkit" "$D/$(ZSHDIR)/_$(P_)scrkit" \
		"$D/$(FISHDIR)/$(P_)scrkit.fish"
	$Qfor m in $(PAGES1) $(ALL_LINKS:%=%.1); do \
		rm -f "$(DMAN)/man1/$(P_)$$m"; done
	$Qfor m in $(filter-out $(PAGES1),$(notdir $(wildcard man/*.[0-9]))); do \
		rm -f "$(DMAN)/man$${m##*.}/$$m"; done
	$Qfor f in $(notdir $(wildcard examples/*)); do \
		rm -f "$(DDOC)/examples/$$f"; done
	$Qfor f in LICENSE README.md NEWS.md scr.conf share/rescue.png; do \
		rm -f "$(DDOC)/$$f"; done
	$Qrm -f "$D/share/scrkit/json-schema.json"
	$Qrm -f "$D/share/scr/python/scr.py" "$D/share/scr/python/__pycache__"/scr.*.pyc
	$Qrmdir "$D/share/scr/python/__pycache__" "$D/share/scr/python" "$D/share/scr" 2>/dev/null || :
	$Qrmdir "$(DDOC)/examples" "$(DDOC)/share" "$(DDOC)" "$D/share/scrkit" $(if $(P_),"$(DEXE)") 2>/dev/null || :
	$Qfor f in libscr_preload.so pkgconfig/scr.pc pkgconfig/scrf.pc \
		cmake/scr/scrConfig.cmake cmake/scr/scrConfigVersion.cmake \
		$(foreach n,scr scrf,lib$n.a lib$n.so lib$n$(SONAME:libscr%=%) \
		lib$n.so.$(SCR_VERSION)); do rm -f "$(DLIB)/$$f"; done
	$Qrm -f "$(DINC)/scr.h" "$(DINC)/scrf.h" "$(DINC)/scr.f90" "$(DINC)/scr.mod"
	$Qrmdir "$(DLIB)/cmake/scr" 2>/dev/null || :

# --- Packages -----------------------------------------------------------

DISTDIR ?= build/dist
DIST := $(DISTDIR)/scrkit-$(VERSION)
dist: ## build/dist/scrkit-VERSION.tar.gz, which builds without git
	$Qrm -rf $(DISTDIR) && mkdir -p $(DIST)
	$Qscripts/files.sh | xargs -0 cp --parents -a -t $(DIST)
	$Qtar -C $(DISTDIR) --sort=name --owner=0 --group=0 --numeric-owner \
		-czf $(DIST).tar.gz scrkit-$(VERSION)
	$Qrm -rf $(DIST); echo $(DIST).tar.gz

deb: ## build/scrkit_VERSION_ARCH.deb, with shared libraries
	@scripts/deps.sh build mpi deb
	@scripts/package.sh deb $(VERSION)

rpm: ## build/scrkit-VERSION-1.ARCH.rpm, with shared libraries
	@scripts/deps.sh build mpi rpm
	@scripts/package.sh rpm $(VERSION)

clean: ## remove what was built
	$Qrm -rf build/plain build/address-undefined build/coverage \
		build/fuzzer-no-link-address-undefined

distclean: ## remove build/, with what fuzzing found
	$Qrm -rf build

help: ## this list
	@awk -F ': .*## ' '/^[a-z-]+: .*## / { n = $$1; \
		printf "%-14s %s\n", n == last ? "" : n, $$2; last = n }' Makefile
	@echo; sed -n '/^# Settings/,/^$$/s/^# \{0,1\}//p' Makefile

FORCE:
.PHONY: all programs tests deps check campaign quick quick-programs weekly check-cluster change-requests coverage bench bench-programs fuzz fuzz-programs \
	html lint messages picture ci demo dist deb rpm check-portable install install-libscr uninstall no-mpi clean distclean help FORCE
.SECONDARY:
.DELETE_ON_ERROR:
-include $(wildcard $O/*/*.d $O/*/*/*.d)
