! SPDX-License-Identifier: BSD-3-Clause
! records STEPS: an application in Fortran that knows nothing of SCR: it looks for
! its checkpoint ckpt.RANK.0 by INQUIRE, reads it by OPEN without an ACTION, as old
! programs do, and writes STEPS more.
program records
  use mpi
  implicit none
  integer :: rank, ierr, step, last, steps, i
  logical :: exists
  character(len=64) :: name, word
  real(8) :: x(5000)

  call mpi_init(ierr)
  call mpi_comm_rank(MPI_COMM_WORLD, rank, ierr)
  call get_command_argument(1, word)
  read (word, *) steps
  write (name, '(a,i0,a)') 'ckpt.', rank, '.0'
  step = 0
  inquire (file=name, exist=exists)
  if (exists) then
    open (10, file=name, form='unformatted', status='old')
    read (10) step
    read (10) x
    close (10)
    do i = 1, size(x)
      if (x(i) /= step*1.0d6 + rank*1.0d5 + i) call mpi_abort(MPI_COMM_WORLD, 9, ierr)
    end do
  end if
  if (rank == 0 .and. step > 0) print '(a,i0)', 'restart ', step
  if (rank == 0 .and. step == 0) print '(a)', 'none'
  last = step + steps
  do while (step < last)
    step = step + 1
    do i = 1, size(x)
      x(i) = step*1.0d6 + rank*1.0d5 + i
    end do
    open (10, file=name, form='unformatted')
    write (10) step
    write (10) x
    close (10)
    if (rank == 0) print '(a,i0)', 'wrote ', step
  end do
  call mpi_finalize(ierr)
  if (rank == 0) print '(a)', 'end'
end program records
