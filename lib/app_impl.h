/* SPDX-License-Identifier: BSD-3-Clause */
/* app_impl.h - shared by app.c and app_answer.c. */
#ifndef APP_IMPL_H
#define APP_IMPL_H

#include "app.h"

#ifndef SCRKIT_VERSION
#define SCRKIT_VERSION "unknown"
#endif

/* Names and versions of the libraries, for bug reports. */
#ifndef SCRKIT_LIBRARIES
#define SCRKIT_LIBRARIES "unknown libraries"
#endif

/* From now on collect what app_answer() gets; `command` and `verb` (may be
 * NULL) name who answers. */
void app_answer_start(const char *command, const char *verb);

/* Add a message that was printed on stderr. */
void app_answer_message(enum app_level level, const char *text);

/* Print the answer, if one was started, once.  Returns an exit status. */
int app_answer_print(int status);

#endif /* APP_IMPL_H */
