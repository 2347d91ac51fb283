! SPDX-License-Identifier: BSD-3-Clause
!
! heat.f90 [STEPS [MILLISECONDS]] - heat.c in Fortran: an MPI application that
! uses libscr for all that it writes.  It computes how heat spreads in a rod.
! Each rank has a piece of the rod.
!
!   mpifort heat.f90 -o heat $(pkg-config --cflags --libs scrf)
!   mpiexec -n 4 ./heat
!
! Its files are those of heat.c: each of the two restarts from the other's
! checkpoints.  heat.c says what libscr asks of an application.
program heat
  use, intrinsic :: iso_c_binding, only: c_int
  use, intrinsic :: iso_fortran_env, only: output_unit, real64
  use mpi
  use scr
  implicit none

  interface
    integer(c_int) function usleep(microseconds) bind(c)
      import :: c_int
      integer(c_int), value :: microseconds
    end function usleep
  end interface

  integer, parameter :: CELLS = 10000 ! of a rank
  integer :: rank, ranks, step ! step: steps that are computed
  ! Temperatures; the first and the last cell belong to the neighbours.
  real(real64) :: now(0:CELLS + 1), next(0:CELLS + 1)

  integer :: steps, milliseconds, flag, stopping, ierror
  character(len=64) :: name, val

  steps = argument(1, 50)
  milliseconds = argument(2, 0)
  call MPI_Init(ierror)
  ! Files go to the cache of the node first, and each tenth step is a
  ! checkpoint.  The environment can change both: config.c.
  call scr_config('SCR_CACHE_BYPASS=0', val, ierror)
  call scr_config('SCR_CACHE_SIZE=2', val, ierror) ! output replaces no checkpoint
  call scr_config('SCR_CHECKPOINT_INTERVAL=10', val, ierror)
  call scr_init(ierror)
  ! A checkpoint may exist, and without libscr nobody reads it.
  if (ierror /= SCR_SUCCESS) call give_up()
  call start()
  call restart()
  stopping = 0
  do while (step < steps .and. stopping == 0)
    call compute()
    ! libscr knows how often checkpoints are worth their cost.
    call scr_need_checkpoint(flag, ierror)
    if (flag == 0) cycle
    write (name, '(a,i0)') 'ckpt.', step
    call dataset(name, SCR_FLAG_CHECKPOINT)
    ! After a checkpoint is the time to stop: when scr_halt asks for it, or
    ! the time of the job runs out.
    call scr_should_exit(stopping, ierror)
  end do
  if (step >= steps) then
    call dataset('result', SCR_FLAG_OUTPUT)
  else
    write (name, '(a,i0)') 'stops after step ', step
    call say(name)
  end if
  ! Copies the last checkpoint to the prefix.
  call scr_finalize(ierror)
  call MPI_Finalize(ierror)

contains

  ! The number in an argument of the command line.
  integer function argument(i, otherwise) result(value)
    integer, intent(in) :: i, otherwise
    character(len=32) :: text
    integer :: bad

    call get_command_argument(i, text)
    read (text, *, iostat=bad) value
    if (bad /= 0) value = otherwise
  end function argument

  subroutine say(text)
    character(len=*), intent(in) :: text

    if (rank /= 0) return
    write (output_unit, '(2a)') 'heat: ', trim(text)
    flush (output_unit)
  end subroutine say

  subroutine give_up()
    call MPI_Abort(MPI_COMM_WORLD, 1, ierror)
    stop 1 ! MPI_Abort may return
  end subroutine give_up

  ! --- The computation, which knows nothing of SCR ---

  subroutine start()
    integer(selected_int_kind(18)) :: cell
    integer :: i

    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
    step = 0
    do i = 1, CELLS
      cell = rank
      cell = cell * CELLS + i
      now(i) = real(mod(mod(cell * cell, 1013_8), 100_8), real64)
    end do
  end subroutine start

  ! Get the neighbours' cells beside ours.  The left end of the rod stays hot,
  ! the right end cold.
  subroutine exchange()
    integer :: left, right

    left = merge(rank - 1, MPI_PROC_NULL, rank > 0)
    right = merge(rank + 1, MPI_PROC_NULL, rank < ranks - 1)
    now(0) = 100
    now(CELLS + 1) = 0
    call MPI_Sendrecv(now(CELLS), 1, MPI_DOUBLE_PRECISION, right, 0, now(0), &
        1, MPI_DOUBLE_PRECISION, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE, &
        ierror)
    call MPI_Sendrecv(now(1), 1, MPI_DOUBLE_PRECISION, left, 0, &
        now(CELLS + 1), 1, MPI_DOUBLE_PRECISION, right, 0, MPI_COMM_WORLD, &
        MPI_STATUS_IGNORE, ierror)
  end subroutine exchange

  subroutine compute()
    integer :: i

    call exchange()
    do i = 1, CELLS
      next(i) = now(i) + 0.25_real64 * (now(i - 1) - 2 * now(i) + now(i + 1))
    end do
    now(1:CELLS) = next(1:CELLS)
    ierror = usleep(milliseconds * 1000)
    step = step + 1
  end subroutine compute

  ! --- Files ---

  ! The file of this rank in dataset `name`, and where libscr has it.  False: it
  ! has not.
  logical function route(name, path)
    character(len=*), intent(in) :: name
    character(len=*), intent(out) :: path
    character(len=SCR_MAX_FILENAME) :: file

    ! Relative to the prefix, which is the working directory unless SCR_PREFIX
    ! is set.  This is where the file goes if it is flushed.
    write (file, '(2a,i0)') trim(name), '/rod.', rank
    call scr_route_file(file, path, ierror)
    route = ierror == SCR_SUCCESS
  end function route

  ! A checkpoint: the step, and the temperatures as they are in memory.  True if
  ! the file is good.
  logical function save(path)
    character(len=*), intent(in) :: path
    integer :: unit, bad(3)

    open (newunit=unit, file=path, access='stream', form='unformatted', &
        action='write', status='replace', iostat=bad(1))
    save = bad(1) == 0
    if (.not. save) return
    write (unit, iostat=bad(1)) step
    write (unit, iostat=bad(2)) now(1:CELLS)
    ! A full disk may be reported by CLOSE only.
    close (unit, iostat=bad(3))
    save = all(bad == 0)
  end function save

  ! The opposite of save().
  logical function load(path)
    character(len=*), intent(in) :: path
    integer :: unit, bad(3)

    open (newunit=unit, file=path, access='stream', form='unformatted', &
        action='read', status='old', iostat=bad(1))
    load = bad(1) == 0
    if (.not. load) return
    read (unit, iostat=bad(1)) step
    read (unit, iostat=bad(2)) now(1:CELLS)
    close (unit, iostat=bad(3))
    load = all(bad == 0)
  end function load

  ! The result, as text.
  logical function print(path)
    character(len=*), intent(in) :: path
    character(len=32) :: text
    integer :: unit, i, bad, closed

    open (newunit=unit, file=path, action='write', status='replace', &
        iostat=bad)
    print = bad == 0
    if (.not. print) return
    do i = 1, CELLS
      write (text, '(f32.6)') now(i)
      write (unit, '(a)', iostat=bad) trim(adjustl(text))
      if (bad /= 0) exit
    end do
    close (unit, iostat=closed)
    print = bad == 0 .and. closed == 0
  end function print

  ! --- SCR ---

  ! Read the newest checkpoint that is whole.  libscr has rebuilt in the caches
  ! what died with a node, or else fetched the checkpoint from the prefix.
  subroutine restart()
    character(len=SCR_MAX_FILENAME) :: name, path
    integer :: have, valid
    logical :: good

    do
      ! A checkpoint may exist, but nobody can read it now.  A job that starts
      ! from the beginning would in time replace it.
      call scr_have_restart(have, name, ierror)
      if (ierror /= SCR_SUCCESS) call give_up()
      if (have == 0) exit
      call scr_start_restart(name, ierror)
      good = route(name, path)
      if (good) good = load(path)
      ! If any rank says 0, no rank gets SCR_SUCCESS, and libscr offers the
      ! checkpoint before this one.
      valid = merge(1, 0, good)
      call scr_complete_restart(valid, ierror)
      if (ierror == SCR_SUCCESS) exit
      call start()
    end do
    if (step > 0) then
      call say('restarts from ' // name)
    else
      call say('starts')
    end if
  end subroutine restart

  ! Write a dataset.  A checkpoint is written to storage of the node, protected
  ! by redundancy on other nodes, and copied to the prefix now and then.  Output
  ! is always copied.
  subroutine dataset(name, flags)
    character(len=*), intent(in) :: name
    integer, intent(in) :: flags
    character(len=SCR_MAX_FILENAME) :: path
    logical :: good

    call scr_start_output(name, flags, ierror)
    if (ierror == SCR_SUCCESS) then
      good = route(name, path)
      if (good .and. flags == SCR_FLAG_CHECKPOINT) then
        good = save(path)
      else if (good) then
        good = print(path)
      end if
      call scr_complete_output(merge(1, 0, good), ierror)
    end if
    ! A failed checkpoint is no reason to stop: a later one may succeed.
    ! Until then the job can restart from an older one only if that was
    ! flushed, or if the caches keep two: SCR_CACHE_SIZE=2.
    if (ierror == SCR_SUCCESS) then
      call say(trim(name) // ' is complete')
    else
      call say(trim(name) // ' failed')
    end if
  end subroutine dataset
end program heat
