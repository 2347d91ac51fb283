// SPDX-License-Identifier: BSD-3-Clause
// stream STEPS: an application in C++ that knows nothing of SCR: reads its
// checkpoint ckpt.RANK.0 by an fstream, and writes STEPS more.
#include <mpi.h>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>

int
main(int argc, char **argv)
{
	int rank = 0, step = 0, end = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	const std::string name = "ckpt." + std::to_string(rank) + ".0";
	std::string word;
	{
		std::ifstream in(name, std::ios::binary);
		if (in && !(in >> word >> step && word == "step"))
			MPI_Abort(MPI_COMM_WORLD, 9);
	}
	if (rank == 0)
		std::cout << (step > 0 ? "restart " + std::to_string(step)
				       : "none")
			  << std::endl;
	for (end = step + std::atoi(argv[1]); step < end;) {
		step++;
		std::ofstream out(name, std::ios::binary | std::ios::trunc);
		out << "step " << step << "\n" << std::string(100000, 'x');
		out.close();
		if (!out)
			MPI_Abort(MPI_COMM_WORLD, 9);
		if (rank == 0)
			std::cout << "wrote " << step << std::endl;
	}
	MPI_Finalize();
	if (rank == 0)
		std::cout << "end" << std::endl;
	return 0;
}
