! SPDX-License-Identifier: BSD-3-Clause
!
! calls.f90 CALL[=ARG]... - make these calls of the module scr on all ranks, in
! this order, as app_calls does in C.  CALL is the name of a routine without
! scr_.  ARG is its argument: a name, a number.  Three more set up the next
! calls:
!
!   room=N   length of the variable for the result (SCR_MAX_FILENAME)
!   pad=N    blanks behind each name that is passed (0)
!   write    write a line into the file that was routed last
!
! Rank 0 prints "CALL -> IERROR [FLAG] <TEXT>": the flag or number that was
! returned, if there is one, and the text of the variable without trailing
! blanks.  Before each call the flag is 7, and the variable and what is behind it
! are full of '#': "OVERFLOW" is printed if that has changed.
program calls
  use scr
  implicit none
  include 'mpif.h'

  integer, parameter :: LONG = 5000
  character(len=LONG) :: all, word, arg, text
  integer :: i, n, at, room, pad, rank, flag, ierror, unit
  character(len=SCR_MAX_FILENAME) :: path

  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  room = SCR_MAX_FILENAME
  pad = 0
  path = ' '
  do i = 1, command_argument_count()
    call get_command_argument(i, all, n)
    at = index(all(:n), '=')
    if (at == 0) at = n + 1
    word = all(:at - 1)
    arg = ' '
    if (at < n) arg = all(at + 1:n)
    n = max(n - at, 0)
    text = repeat('#', LONG)
    flag = 7
    ierror = 77
    call make(n + pad)
  end do
  call MPI_Finalize(ierror)

contains

  ! Make the call `word`; `len` is the length of its argument.
  subroutine make(len)
    integer, intent(in) :: len

    select case (word)
    case ('room')
      read (arg, *) room
      return
    case ('pad')
      read (arg, *) pad
      return
    case ('write')
      open (newunit=unit, file=path, action='write')
      write (unit, '(a,i0)') 'written by ', rank
      close (unit)
      return
    case ('init')
      call scr_init(ierror)
    case ('finalize')
      call scr_finalize(ierror)
    case ('get_version')
      call scr_get_version(text(:room), ierror)
    case ('config')
      call scr_config(arg(:len), text(:room), ierror)
    case ('route_file')
      call scr_route_file(arg(:len), text(:room), ierror)
      path = text(:room)
    case ('have_restart')
      call scr_have_restart(flag, text(:room), ierror)
    case ('start_restart')
      call scr_start_restart(text(:room), ierror)
    case ('complete_restart')
      call scr_complete_restart(number(), ierror)
    case ('restart_ranks')
      call scr_restart_ranks(flag, ierror)
    case ('restart_files')
      call scr_restart_files(number(), flag, text(:room), ierror)
    case ('need_checkpoint')
      call scr_need_checkpoint(flag, ierror)
    case ('should_exit')
      call scr_should_exit(flag, ierror)
    case ('start_output')
      call scr_start_output(arg(:len), SCR_FLAG_OUTPUT, ierror)
    case ('checkpoint')
      call scr_start_output(arg(:len), SCR_FLAG_CHECKPOINT, ierror)
    case ('complete_output')
      call scr_complete_output(number(), ierror)
    case ('start_checkpoint')
      call scr_start_checkpoint(ierror)
    case ('complete_checkpoint')
      call scr_complete_checkpoint(number(), ierror)
    case ('current')
      call scr_current(arg(:len), ierror)
    case ('drop')
      call scr_drop(arg(:len), ierror)
    case ('delete')
      call scr_delete(arg(:len), ierror)
    case default
      print '(2a)', 'no such call: ', trim(word)
      call MPI_Abort(MPI_COMM_WORLD, 99, ierror)
    end select
    if (rank == 0) call report()
  end subroutine make

  ! The argument as a number; 1 without one.
  integer function number()
    number = 1
    if (arg /= ' ') read (arg, *) number
  end function number

  subroutine report()
    character(len=16) :: result, flags

    write (result, '(i0)') ierror
    flags = ' '
    if (flag /= 7) write (flags, '(1x,i0)') flag
    if (text(:room) == repeat('#', room)) then
      print '(4a)', trim(all), ' -> ', trim(result), trim(flags)
    else
      print '(7a)', trim(all), ' -> ', trim(result), trim(flags), ' <', &
          trim(text(:room)), '>'
    end if
    if (text(room + 1:) /= repeat('#', LONG - room)) print '(a)', 'OVERFLOW'
    flush (6)
  end subroutine report
end program calls
