/* SPDX-License-Identifier: BSD-3-Clause */
#include "work.h"

#include <stdarg.h>
#include <stdio.h>

#include "error.h"

const struct work *
work_or_default(const struct work *w)
{
	static const struct work alone = { .par = NULL };

	return w != NULL ? w : &alone;
}

bool
work_stopped(const struct work *w)
{
	return w->stop != NULL && w->stop();
}

static void
tell(void (*to)(void *arg, const char *line), void *arg, const char *fmt,
     va_list ap)
{
	char text[ERROR_TEXT_MAX + 256];

	if (to == NULL)
		return;
	vsnprintf(text, sizeof(text), fmt, ap);
	to(arg, text);
}

void
work_say(const struct work *w, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	tell(w->log, w->log_arg, fmt, ap);
	va_end(ap);
}

void
work_detail(const struct work *w, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	tell(w->detail, w->log_arg, fmt, ap);
	va_end(ap);
}
