! SPDX-License-Identifier: BSD-3-Clause
!
! scrf.h - constants of libscrf, for INCLUDE 'scrf.h' in fixed and in free
! form: scrf(3).  The module scr has them, too, with interfaces.

! The value of ierror after success; any other one is a failure.
      INTEGER SCR_SUCCESS
      PARAMETER (SCR_SUCCESS=0)

! Length of the variables for names and paths.
      INTEGER SCR_MAX_FILENAME
      PARAMETER (SCR_MAX_FILENAME=1024)

! The purpose of a dataset; checkpoint and output may be added.
      INTEGER SCR_FLAG_NONE
      PARAMETER (SCR_FLAG_NONE=0)
      INTEGER SCR_FLAG_CHECKPOINT
      PARAMETER (SCR_FLAG_CHECKPOINT=1)
      INTEGER SCR_FLAG_OUTPUT
      PARAMETER (SCR_FLAG_OUTPUT=2)
