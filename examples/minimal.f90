! SPDX-License-Identifier: BSD-3-Clause
!
! minimal.f90 - minimal.c in Fortran: the least that an application does with
! libscr.  It counts, and a crash does not make it start over.  heat.f90
! explains each call.
program minimal
  use mpi
  use scr
  implicit none

  character(len=SCR_MAX_FILENAME) :: name, file, path
  integer :: rank, have, valid, count, last, unit, bad, ierror

  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call scr_init(ierror)
  if (ierror /= SCR_SUCCESS) call give_up()
  count = 0
  do
    ! Do not start over: a checkpoint may exist.
    call scr_have_restart(have, name, ierror)
    if (ierror /= SCR_SUCCESS) call give_up()
    if (have == 0) exit
    call scr_start_restart(name, ierror)
    write (file, '(2a,i0)') trim(name), '/rank_', rank
    call scr_route_file(file, path, bad)
    if (bad == 0) open (newunit=unit, file=path, status='old', iostat=bad)
    if (bad == 0) then
      read (unit, *, iostat=bad) count
      close (unit)
    end if
    valid = merge(1, 0, bad == 0)
    call scr_complete_restart(valid, ierror)
    if (ierror == SCR_SUCCESS) exit
    count = 0
  end do
  if (rank == 0) print '(a,i0)', 'counting from ', count
  last = count + 3
  do count = count + 1, last
    write (name, '(a,i0)') 'count.', count
    call scr_start_output(name, SCR_FLAG_CHECKPOINT, ierror)
    write (file, '(2a,i0)') trim(name), '/rank_', rank
    call scr_route_file(file, path, bad)
    if (bad == 0) open (newunit=unit, file=path, iostat=bad)
    if (bad == 0) then
      write (unit, '(i0)', iostat=bad) count
      close (unit, iostat=ierror)
      if (ierror /= 0) bad = ierror
    end if
    valid = merge(1, 0, bad == 0)
    call scr_complete_output(valid, ierror)
  end do
  call scr_finalize(ierror)
  call MPI_Finalize(ierror)

contains

  subroutine give_up()
    call MPI_Abort(MPI_COMM_WORLD, 1, ierror)
    stop 1 ! MPI_Abort may return
  end subroutine give_up
end program minimal
