! SPDX-License-Identifier: BSD-3-Clause
!
! steps.f STEPS [DIE] - in fixed form, with INCLUDE: restart from the newest
! checkpoint, verify every number of it, and write STEPS more.  In the step
! DIE the last rank kills itself before it writes.
!
! Rank 0 prints "restart NAME" or "none", and "complete STEP IERROR".
      PROGRAM STEPS
      USE, INTRINSIC :: ISO_C_BINDING, ONLY : C_INT
      IMPLICIT NONE
      INCLUDE 'mpif.h'
      INCLUDE 'scrf.h'
      INTEGER N
      PARAMETER (N=1000)
      INTERFACE
        INTEGER(C_INT) FUNCTION RAISE(SIG) BIND(C)
          IMPORT :: C_INT
          INTEGER(C_INT), VALUE :: SIG
        END FUNCTION
      END INTERFACE
      CHARACTER*(SCR_MAX_FILENAME) NAME, FILE, PATH
      CHARACTER*32 ARG
      INTEGER IERR, BAD, RANK, RANKS, STEP, LAST, DIE, HAVE, VALID, I
      INTEGER DATA(N)

      CALL GET_COMMAND_ARGUMENT(1, ARG)
      READ (ARG, *) LAST
      DIE = 0
      CALL GET_COMMAND_ARGUMENT(2, ARG)
      IF (ARG .NE. ' ') READ (ARG, *) DIE
      CALL MPI_INIT(IERR)
      CALL MPI_COMM_RANK(MPI_COMM_WORLD, RANK, IERR)
      CALL MPI_COMM_SIZE(MPI_COMM_WORLD, RANKS, IERR)
      CALL SCR_INIT(IERR)
      IF (IERR .NE. SCR_SUCCESS) CALL MPI_ABORT(MPI_COMM_WORLD, 1, IERR)

      STEP = 0
      HAVE = 7
   10 CALL SCR_HAVE_RESTART(HAVE, NAME, IERR)
      IF (IERR .NE. SCR_SUCCESS) CALL MPI_ABORT(MPI_COMM_WORLD, 1, IERR)
      IF (HAVE .EQ. 1) THEN
        CALL SCR_START_RESTART(NAME, IERR)
        READ (NAME(6:), *) STEP
        WRITE (FILE, '(A,A,I0)') TRIM(NAME), '/rank ', RANK
        CALL SCR_ROUTE_FILE(FILE, PATH, BAD)
        IF (BAD .EQ. 0) OPEN (UNIT=20, FILE=PATH, FORM='UNFORMATTED',
     &    ACTION='READ', IOSTAT=BAD)
        IF (BAD .EQ. 0) READ (20, IOSTAT=BAD) DATA
        CLOSE (20)
        DO 20 I = 1, N
          IF (DATA(I) .NE. STEP * 10000 + RANK * 1000 + I) BAD = 1
   20   CONTINUE
        VALID = 1
        IF (BAD .NE. 0) VALID = 0
        CALL SCR_COMPLETE_RESTART(VALID, IERR)
        IF (IERR .NE. SCR_SUCCESS) GOTO 10
        IF (RANK .EQ. 0) PRINT '(A,A)', 'restart ', TRIM(NAME)
      ELSE
        IF (RANK .EQ. 0) PRINT '(A)', 'none'
      END IF
      FLUSH (6)

      DO 40 STEP = STEP + 1, STEP + LAST
        WRITE (NAME, '(A,I0)') 'ckpt.', STEP
        CALL SCR_START_OUTPUT(NAME, SCR_FLAG_CHECKPOINT, IERR)
!       A name with a blank in it.
        WRITE (FILE, '(A,A,I0)') TRIM(NAME), '/rank ', RANK
        CALL SCR_ROUTE_FILE(FILE, PATH, BAD)
        CALL MPI_BARRIER(MPI_COMM_WORLD, IERR)
        IF (STEP .EQ. DIE .AND. RANK .EQ. RANKS - 1) IERR = RAISE(9)
        DO 30 I = 1, N
          DATA(I) = STEP * 10000 + RANK * 1000 + I
   30   CONTINUE
        IF (BAD .EQ. 0) OPEN (UNIT=20, FILE=PATH, FORM='UNFORMATTED',
     &    ACTION='WRITE', IOSTAT=BAD)
        IF (BAD .EQ. 0) WRITE (20, IOSTAT=BAD) DATA
        CLOSE (20)
        VALID = 1
        IF (BAD .NE. 0) VALID = 0
        CALL SCR_COMPLETE_OUTPUT(VALID, IERR)
        IF (RANK .EQ. 0) PRINT '(A,I0,A,I0)', 'complete ', STEP, ' ',
     &    IERR
        FLUSH (6)
   40 CONTINUE
      CALL SCR_FINALIZE(IERR)
      CALL MPI_FINALIZE(IERR)
      END
