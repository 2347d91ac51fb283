/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * crew_transfer.h - large transfers (transfer.h), carried out by the nodes of a
 * crew (crew.h): packing, unpacking, repacking and checking containers.
 *
 * The string of bytes is cut into pieces.  For each node a section of a list,
 * which lies beside the metadata of the dataset, says what to read and where to
 * write it, so that a node looks at no other file.  The caller has made the
 * temporary files that are written, and alone gives them their names; it adds
 * up the checksums that the nodes answer.  A piece that no node has done is
 * done here, so all errors are found here, too.
 *
 * A node that was given up may still run.  So each round has a list of its own,
 * whose name nobody used before, and what such a node could write to is begun
 * anew when the list is gone.  A node looks for its list after it has opened a
 * file: if the list is there, the file is that of its round.  What others wrote
 * to the same files does not count either: a node that is lost costs as much as
 * all whose pieces share a container with its own.
 *
 * Cost: a section has 48 bytes and a path for each file or segment, an answer 8
 * bytes for each checksum.
 *
 * Only for commands: without memory they end.
 */
#ifndef SITE_CREW_TRANSFER_H
#define SITE_CREW_TRANSFER_H

#include <stdint.h>

#include "transfer/transfer.h"

struct buf;
struct crew;
struct crew_part;
struct error;
struct work;

/* For work.help. */
struct crew_transfer {
	struct transfer_help help; /* .fn is crew_transfer() */
	struct crew *crew;
	const char *program; /* that calls crew_transfer_part() on a node */
	uint64_t jobs;	     /* threads of each; 0: its default */
};

/* For struct transfer_help: carry out a transfer. */
int crew_transfer(struct transfer_help *h, const struct stripe *from,
		  const struct stripe *to, uint64_t len,
		  const struct transfer_options *o, struct error *err);

/*
 * On a node: carry out a section of the list `path`, and append the checksums
 * to `sums`, for crew_transfer_answer().  ERROR_DAMAGED: the list, or a
 * directory that it names, is another one here.
 */
int crew_transfer_part(const char *path, const struct crew_part *part,
		       const struct work *work, struct buf *sums,
		       struct error *err);

#endif /* SITE_CREW_TRANSFER_H */
