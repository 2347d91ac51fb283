# SPDX-License-Identifier: BSD-3-Clause
# A recipe for Spack: copy this directory into packages/ of a repository.
from spack.package import *


class Scrkit(MakefilePackage):
    """Keeps the checkpoints of large MPI jobs safe: node-local storage with
    redundancy across nodes; byte-compatible with LLNL's SCR 3.1."""

    license("BSD-3-Clause")

    version("main", branch="main")

    variant("mpi", default=True, description="Build libscr")
    variant("program_prefix", default="none", values=lambda text: True,
            description="What the names of the commands begin with")
    variant("fortran", default=True, description="Compile the Fortran module")

    depends_on("c", type="build")
    depends_on("fortran", type="build", when="+mpi+fortran")
    depends_on("gmake", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("isa-l@2.30:")
    depends_on("jansson@2.11:")
    depends_on("zlib-api")
    depends_on("inih")
    depends_on("openssl@1.1.1:")
    depends_on("libarchive@3.3:")
    depends_on("sqlite@3:")
    depends_on("mpi", when="+mpi")
    depends_on("hwloc@2:", when="+mpi")

    @property
    def common(self):
        settings = [f"PREFIX={self.prefix}", "STATIC=0"]
        if self.spec.satisfies("+mpi"):
            settings.append(f"MPICC={self.spec['mpi'].mpicc}")
        else:
            settings += ["MPI_CFLAGS=", "MPI_LIBS="]
        begin = self.spec.variants["program_prefix"].value
        if begin != "none":
            settings.append(f"PROGRAM_PREFIX={begin}")
        return settings

    def build(self, spec, prefix):
        make(*self.common)

    def install(self, spec, prefix):
        make("install", *self.common)

    def setup_run_environment(self, env):
        if self.spec.satisfies("+mpi"):
            env.prepend_path("PYTHONPATH", self.prefix.share.scr.python)
