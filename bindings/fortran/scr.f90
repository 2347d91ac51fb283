! SPDX-License-Identifier: BSD-3-Clause
!
! scr.f90 - the module scr: interfaces and constants of libscrf, scrf(3).
!
! It has interfaces only, so a program that uses it links libscrf and no object
! of this file.  A compiler that cannot read scr.mod compiles this file first.
module scr
  use, intrinsic :: iso_c_binding, only: c_int
  implicit none
  private :: c_int

  ! The value of ierror after success; any other one is a failure.
  integer(c_int), parameter :: SCR_SUCCESS = 0

  ! Length of the variables for names and paths.
  integer(c_int), parameter :: SCR_MAX_FILENAME = 1024

  ! The purpose of a dataset; checkpoint and output may be added.
  integer(c_int), parameter :: SCR_FLAG_NONE = 0
  integer(c_int), parameter :: SCR_FLAG_CHECKPOINT = 1
  integer(c_int), parameter :: SCR_FLAG_OUTPUT = 2

  interface
    subroutine scr_init(ierror)
      import :: c_int
      integer(c_int), intent(out) :: ierror
    end subroutine scr_init

    subroutine scr_finalize(ierror)
      import :: c_int
      integer(c_int), intent(out) :: ierror
    end subroutine scr_finalize

    ! "KEY" queries: val receives the value.  "KEY=VALUE" sets and "KEY="
    ! unsets a parameter, before scr_init only; val becomes blank.
    subroutine scr_config(config, val, ierror)
      import :: c_int
      character(len=*), intent(in) :: config
      character(len=*), intent(out) :: val
      integer(c_int), intent(out) :: ierror
    end subroutine scr_config

    ! The path at which this rank opens the file `name`; blank after a failure.
    subroutine scr_route_file(name, file, ierror)
      import :: c_int
      character(len=*), intent(in) :: name
      character(len=*), intent(out) :: file
      integer(c_int), intent(out) :: ierror
    end subroutine scr_route_file

    ! name changes only if flag becomes 1.
    subroutine scr_have_restart(flag, name, ierror)
      import :: c_int
      integer(c_int), intent(out) :: flag
      character(len=*), intent(inout) :: name
      integer(c_int), intent(out) :: ierror
    end subroutine scr_have_restart

    subroutine scr_start_restart(name, ierror)
      import :: c_int
      character(len=*), intent(out) :: name
      integer(c_int), intent(out) :: ierror
    end subroutine scr_start_restart

    subroutine scr_complete_restart(valid, ierror)
      import :: c_int
      integer(c_int), intent(in) :: valid
      integer(c_int), intent(out) :: ierror
    end subroutine scr_complete_restart

    ! Ranks of the job that wrote the dataset that is being read.
    subroutine scr_restart_ranks(ranks, ierror)
      import :: c_int
      integer(c_int), intent(out) :: ranks
      integer(c_int), intent(out) :: ierror
    end subroutine scr_restart_ranks

    ! File i (from 0) of the dataset that is being read: its name as for
    ! scr_route_file, and the rank that wrote it.
    subroutine scr_restart_files(i, rank, name, ierror)
      import :: c_int
      integer(c_int), intent(in) :: i
      integer(c_int), intent(out) :: rank
      character(len=*), intent(out) :: name
      integer(c_int), intent(out) :: ierror
    end subroutine scr_restart_files

    subroutine scr_need_checkpoint(flag, ierror)
      import :: c_int
      integer(c_int), intent(out) :: flag
      integer(c_int), intent(out) :: ierror
    end subroutine scr_need_checkpoint

    subroutine scr_start_output(name, flags, ierror)
      import :: c_int
      character(len=*), intent(in) :: name
      integer(c_int), intent(in) :: flags
      integer(c_int), intent(out) :: ierror
    end subroutine scr_start_output

    subroutine scr_complete_output(valid, ierror)
      import :: c_int
      integer(c_int), intent(in) :: valid
      integer(c_int), intent(out) :: ierror
    end subroutine scr_complete_output

    ! Deprecated: scr_start_output has a name for the dataset.
    subroutine scr_start_checkpoint(ierror)
      import :: c_int
      integer(c_int), intent(out) :: ierror
    end subroutine scr_start_checkpoint

    subroutine scr_complete_checkpoint(valid, ierror)
      import :: c_int
      integer(c_int), intent(in) :: valid
      integer(c_int), intent(out) :: ierror
    end subroutine scr_complete_checkpoint

    subroutine scr_current(name, ierror)
      import :: c_int
      character(len=*), intent(in) :: name
      integer(c_int), intent(out) :: ierror
    end subroutine scr_current

    subroutine scr_drop(name, ierror)
      import :: c_int
      character(len=*), intent(in) :: name
      integer(c_int), intent(out) :: ierror
    end subroutine scr_drop

    subroutine scr_delete(name, ierror)
      import :: c_int
      character(len=*), intent(in) :: name
      integer(c_int), intent(out) :: ierror
    end subroutine scr_delete

    subroutine scr_get_version(version, ierror)
      import :: c_int
      character(len=*), intent(out) :: version
      integer(c_int), intent(out) :: ierror
    end subroutine scr_get_version

    subroutine scr_should_exit(flag, ierror)
      import :: c_int
      integer(c_int), intent(out) :: flag
      integer(c_int), intent(out) :: ierror
    end subroutine scr_should_exit
  end interface
end module scr
