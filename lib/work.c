/* SPDX-License-Identifier: BSD-3-Clause */
#include "work.h"

#include <stdarg.h>
#include <stdio.h>

#include "error.h"

bool
work_stopped(const struct work *w)
{
	return w->stop != NULL && w->stop();
}

void
work_say(const struct work *w, const char *fmt, ...)
{
	char text[ERROR_TEXT_MAX + 256];
	va_list ap;

	if (w->log == NULL)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	w->log(w->log_arg, text);
}
