! SPDX-License-Identifier: BSD-3-Clause
!
! growth.f90 STEPS EVERY - in free form, with INCLUDE: a checkpoint in each step,
! and a hundred calls of each local routine that has texts, so that a few bytes a
! call would be seen.  Every EVERY steps rank 0 prints "usage STEP KIB", the
! largest resident memory of all ranks.
program growth
  implicit none
  include 'mpif.h'
  include 'scrf.h'

  character(len=SCR_MAX_FILENAME) :: name, file, path, val
  character(len=32) :: arg
  integer :: steps, every, step, i, rank, flag, ierror, failures, unit

  call get_command_argument(1, arg)
  read (arg, *) steps
  call get_command_argument(2, arg)
  read (arg, *) every
  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  failures = 0
  call count(0, ierror)
  call scr_init(ierror)
  call count(ierror, SCR_SUCCESS)
  do step = 1, steps
    do i = 1, 100
      call scr_config('SCR_FLUSH', val, ierror)
      call count(ierror, SCR_SUCCESS)
      call scr_config('SCR_NO_SUCH_PARAMETER', val, ierror)
      if (ierror == SCR_SUCCESS) failures = failures + 1
      call scr_get_version(val, ierror)
      call count(ierror, SCR_SUCCESS)
      call scr_route_file(val, path, ierror)
      call count(ierror, SCR_SUCCESS)
      call scr_route_file(' ', path, ierror)
      if (ierror == SCR_SUCCESS) failures = failures + 1
    end do
    call scr_have_restart(flag, name, ierror)
    call count(ierror, SCR_SUCCESS)
    call scr_need_checkpoint(flag, ierror)
    call count(ierror, SCR_SUCCESS)
    write (name, '(a,i0)') 'ckpt.', step
    call scr_start_output(name, SCR_FLAG_CHECKPOINT, ierror)
    call count(ierror, SCR_SUCCESS)
    write (file, '(2a,i0)') trim(name), '/rank_', rank
    call scr_route_file(file, path, ierror)
    call count(ierror, SCR_SUCCESS)
    open (newunit=unit, file=path)
    write (unit, '(i0)') step
    close (unit)
    call scr_complete_output(1, ierror)
    call count(ierror, SCR_SUCCESS)
    call scr_should_exit(flag, ierror)
    call count(ierror, SCR_SUCCESS)
    if (mod(step, every) == 0) call usage()
  end do
  call scr_finalize(ierror)
  if (rank == 0) print '(a,i0)', 'failures ', failures
  call MPI_Finalize(ierror)

contains

  subroutine count(is, expected)
    integer, intent(in) :: is, expected

    if (is /= expected) failures = failures + 1
  end subroutine count

  subroutine usage()
    integer :: pages, resident, most

    open (newunit=unit, file='/proc/self/statm', action='read')
    read (unit, *) pages, resident
    close (unit)
    call MPI_Reduce(resident, most, 1, MPI_INTEGER, MPI_MAX, 0, &
        MPI_COMM_WORLD, ierror)
    if (rank == 0) print '(a,i0,1x,i0)', 'usage ', step, most * 4
    flush (6)
  end subroutine usage
end program growth
