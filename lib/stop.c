/* SPDX-License-Identifier: BSD-3-Clause */
#include "stop.h"

#include <errno.h>
#include <pwd.h>
#include <stddef.h>
#include <sys/stat.h>
#include <unistd.h>

#include "error.h"
#include "room.h"
#include "str.h"

bool
stop_say(struct error *err, const char *place, bool barred)
{
	const struct error why = *err;
	const struct passwd *owner = NULL;
	struct stat st;

	if (why.remedy == REMEDY_STOP)
		return true;
	if (room_is_short(&why)) {
		error_as(err, &why, "%s; make room there, then run this again",
			 why.text);
	} else if (why.kind != ERROR_SYSTEM ||
		   (why.errnum != EACCES && why.errnum != EPERM &&
		    why.errnum != EROFS)) {
		return false;
	} else if (why.errnum == EROFS) {
		error_as(err, &why, "%s; run this again when it is writable",
			 why.text);
	} else if (place != NULL && stat(place, &st) == 0 &&
		   st.st_uid != geteuid()) {
		owner = getpwuid(st.st_uid);
		if (owner != NULL)
			error_as(err, &why, "%s; run this as %s, who owns %s",
				 why.text, str_shown(owner->pw_name),
				 str_shown(place));
		else
			error_as(err, &why,
				 "%s; run this as user %lu, who owns %s",
				 why.text, (unsigned long)st.st_uid,
				 str_shown(place));
	} else if (barred) {
		return false;
	} else {
		error_as(err, &why,
			 "%s; change its mode, or that of its directory, then "
			 "run this again",
			 why.text);
	}
	error_remedy(err, REMEDY_STOP);
	return true;
}
