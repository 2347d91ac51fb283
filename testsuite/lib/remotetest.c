/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdatomic.h>

#include "clock.h"
#include "remotetest.h"

static const char remote_stub[] =
	"#!/bin/sh\n"
	"me=${0##*/}\n"
	"echo \"$me\" \"$@\" >>\"$STUB_LOG\"\n"
	"case $me in\n"
	"ssh)\n"
	"	while :; do\n"
	"		case $1 in\n"
	"		--) shift; break ;;\n"
	"		-*) shift ;;\n"
	"		*) break ;;\n"
	"		esac\n"
	"	done\n"
	"	NODE=$1; shift\n"
	"	run() { ${LOGIN:-/bin/sh} -c \"$*\"; } ;;\n"
	"srun)\n"
	"	while :; do\n"
	"		case $1 in\n"
	"		--nodelist=*) NODE=${1#*=} ;;\n"
	"		--overlap)\n"
	"			[ -z \"$OLD_SRUN\" ] || {\n"
	"				echo \"srun: unrecognized option '--overlap'\"\n"
	"				echo 'Try \"srun --help\"'\n"
	"				exit 1\n"
	"			} >&2 ;;\n"
	"		--*) ;;\n"
	"		*) break ;;\n"
	"		esac\n"
	"		shift\n"
	"	done\n"
	"	run() { \"$@\"; } ;;\n"
	"flux)\n"
	"	[ \"$1\" != getattr ] || { echo 'head,b[1-2],c'; exit 0; }\n"
	"	[ \"$1 $2 $3\" = 'exec --noinput --rank' ] || exit 9\n"
	"	NODE=rank$4; shift 4\n"
	"	run() { \"$@\"; } ;;\n"
	"mpiexec)\n"
	"	[ \"$1 $2 $3\" = '-n 1 -host' ] || exit 9\n"
	"	NODE=$4; shift 4\n"
	"	run() { \"$@\"; } ;;\n"
	"esac\n"
	"export NODE\n"
	"case $NODE-$me in\n"
	"nosrun*-srun) echo 'srun: error: Requested nodes are busy' >&2; exit 1 ;;\n"
	"mix*-ssh) echo 'Permission denied (publickey).' >&2; exit 255 ;;\n"
	"mix*) exec sleep 20 ;;\n"
	"shy*)\n"
	"	mkdir \"$STUB_LOG.$NODE\" 2>/dev/null && {\n"
	"		echo 'Connection reset by peer' >&2; exit 255; } ;;\n"
	"fade*)\n"
	"	mkdir \"$STUB_LOG.$NODE\" 2>/dev/null && {\n"
	"		echo 'Connection timed out during banner exchange' >&2\n"
	"		exit 255; } ;;\n"
	"greet*) echo Welcome; exec sleep 20 ;;\n"
	"flood*) exec yes ;;\n"
	"shout*) exec yes >&2 ;;\n"
	"esac\n"
	"case $NODE in\n"
	"dead*) trap '' TERM HUP INT; while :; do sleep 20; done ;;\n"
	"mute*) exec sleep 20 ;;\n"
	"refuse*)\n"
	"	echo 'hello from the firewall' >&2\n"
	"	printf 'ssh: connect to host %s port 22: "
	"Connection refused\\r\\n' \"$NODE\" >&2\n"
	"	exit 255 ;;\n"
	"late* | fade*)\n"
	"	echo \"ssh: connect to host $NODE port 22: "
	"Connection timed out\" >&2\n"
	"	exit 255 ;;\n"
	"nologin*) echo 'This account is not available.'; exit 1 ;;\n"
	"chatty*) echo 'Welcome!'; printf 'no newline'; echo hm >&2 ;;\n"
	"broken*)\n"
	"	run \"$@\" 2>/dev/null\n"
	"	echo \"Connection to $NODE closed by remote host.\" >&2\n"
	"	exit 255 ;;\n"
	"linger*) run \"$@\"; exec sleep 20 ;;\n"
	"esac\n"
	"run \"$@\"\n";

char remote_root[128];

/* All runs so far, also those of several threads. */
static struct scene_run runs[256];
static atomic_size_t nruns;

void
remote_setup(void)
{
	static const char *const names[] = { "ssh", "srun", "flux", "mpiexec" };
	const char *path = getenv("PATH");

	scratch_dir(remote_root, sizeof(remote_root));
	for (size_t i = 0; i < 4; i++) {
		const char *to = fmt("%s/bin/%s", remote_root, names[i]);

		write_text(to, remote_stub);
		must(chmod(to, 0755) == 0);
	}
	setenv("PATH",
	       fmt("%s/first:%s/bin:%s", remote_root, remote_root,
		   path ? path : "/usr/bin:/bin"),
	       1);
	setenv("STUB_LOG", fmt("%s/log", remote_root), 1);
	write_text(getenv("STUB_LOG"), "");
}

void
remote_play(const char *name, const char *script)
{
	const char *to = fmt("%s/first/%s", remote_root, name);

	write_text(to, script);
	must(chmod(to, 0755) == 0);
}

void
remote_play_no_more(const char *name)
{
	must(unlink(fmt("%s/first/%s", remote_root, name)) == 0);
}

bool
have_pdsh(void)
{
	static const char *const places[] = { "/usr/bin/pdsh",
					      "/usr/local/bin/pdsh" };

	return access(places[0], X_OK) == 0 || access(places[1], X_OK) == 0;
}

int
run_on(struct scene_run *s, const char *nodes, const char *const *argv)
{
	double from = clock_seconds();
	size_t at = 0;
	int rc = -1;

	s->nodes = (struct hostlist)HOSTLIST_INIT;
	must(hostlist_add(&s->nodes, nodes, NULL) == 0);
	s->r = mem_calloc(s->nodes.count + 1, sizeof(*s->r));
	must(s->r != NULL);
	error_clear(&s->err);
	rc = remote_run(&s->nodes, argv, &s->o, s->r, &s->err);
	s->seconds = clock_seconds() - from;
	at = nruns++;
	must(at < COUNT(runs));
	runs[at] = *s;
	return rc;
}

int
run_line(struct scene_run *s, const char *nodes, const char *line)
{
	const char *const argv[] = { "/bin/sh", "-c", line, NULL };

	return run_on(s, nodes, argv);
}

const char *
out_of(const struct remote_result *r)
{
	return r->out.len > 0 ? r->out.data : "";
}

const char *
err_of(const struct remote_result *r)
{
	return r->err.len > 0 ? r->err.data : "";
}

bool
came(const struct remote_result *r, enum remote_state state, int status,
     const char *words)
{
	bool good = r->state == state && r->status == status &&
		    (words == NULL
			     ? r->why == NULL
			     : r->why != NULL && strstr(r->why, words) != NULL);

	if (!good)
		printf("# state %d, status %d, %s\n# out: %.200s\n# err: %.200s\n",
		       (int)r->state, r->status,
		       r->why != NULL ? r->why : "(no reason)", out_of(r),
		       err_of(r));
	return good;
}
