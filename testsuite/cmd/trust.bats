#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2103,SC2086
# What commands that root runs on a user's prefix make and follow: owners, modes,
# links, FIFOs and devices in the places of files.

load helper

meta=p/.scr/scr.dataset.1

setup() { in_no_job && export SCR_USER_NAME=genuser; }

# make OPTION...: make dataset 1 on prefix p, 8 ranks on 4 nodes, and their
# caches.
make() {
	gen -p p --nodes-dir nodes -n 8 -m 4 -f 2 -s 9000,700 --layout both "$@"
	ln -sfn nodes/node0 local
}

# indexed OPTION...: the same without a loss, in the index.
indexed() {
	make --lose "" "$@"
	scr_index -q -p p --build 1
}

# two: dataset 1 has lost a node; dataset 2 is in the index, and packed on another
# prefix.
two() {
	make --lose 1
	cp -a p lossy
	built p 2 -n 8 -m 4 -f 2 -s 9000,700 --lose "" --nodes-dir n2 \
		--name two --layout prefix
	cp -a p packed
	scr_container -q -p packed pack --size 20000 2
}

# What below $1 does not belong to the user 1234 and the group 4321.
foreign() {
	find "$1" \( ! -uid 1234 -o ! -gid 4321 \) -printf '%P %u:%g %M\n'
}

assert_his() {
	local dir

	for dir; do
		[[ -z $(foreign "$dir") ]] ||
			failed "not the user's:" "$(foreign "$dir")"
	done
}

give() {
	chown -R 1234:4321 "$@"
}

@test "root: what is made belongs to the owner of the prefix" {
	gives
	make --lose 1
	mkdir q x
	give p q x
	ends 0 scr_index -p p --build 1
	assert_his p
	scr_container -q -p p pack --size 20000 --with-redundancy 1
	assert_his p
	scr_container -q -p p repack --size 30000 1
	assert_his p
	scr_archive -q -p p export --with-redundancy -o x/ar 1
	scr_container -q -p p extract -C x/files 1
	scr_container -q -p p unpack 1
	scr_container -q -p p pack --layout 1 1
	assert_his p x
	scr_archive -q -p q import x/ar
	scr_halt -q --seconds 10 q
	SCR_LOG_ENABLE=1 SCR_LOG_SYSLOG_ENABLE=0 scr_env log-event -p q -T NOTE -N x
	scr_index -q -p q --current ckpt.1
	assert_his q
	rm -rf p/ckpt.1 p/.scr p/scr.dataset.1
	scr_prerun -q -p p || :
	assert_his p
	scr_copy --cntldir nodes/node0/cntl/genuser/scr.1000 \
		--cachedir nodes/node0/cache/genuser/scr.1000 --id 1 --prefix p \
		>/dev/null
	assert_his p
}

@test "root: a scavenge into a user's prefix; a dataset of SCR 1.1.8 that is added" {
	gives
	one_node
	in_cache
	mkdir -p p/.scr
	rm p/.scr/nodes.scr
	chown 1234:4321 p
	SCR_LOG_ENABLE=1 SCR_LOG_SYSLOG_ENABLE=0 ends 0 scr_postrun "${args[@]}"
	rest=$(foreign p)
	[[ $rest == ".scr "* && $rest != *$'\n'* ]] ||
		failed "not the user's:" "$rest"
	rm -r p
	gives
	cp -R "$(golden containers/seed_example)" p
	chmod -R u+rwX p
	give p
	scr_container -q -p p unpack 1
	scr_index -q -p p --add scr.dataset.1
	[[ -d p/.scr/scr.dataset.1 ]]
	assert_his p
}

# Metadata and files that ask for what root must not give: set-id and sticky bits,
# user and group 12.
ask_for_too_much() {
	indexed --mode 7755 --owner 12 --crc "$@"
	give p nodes
	chown -R 12:12 p/ckpt.1
	find p/ckpt.1 nodes -type f -exec chmod 7755 {} +
	mkdir q
	give q
}

# What is there already has no such bits and owners, only the metadata ask for
# them.
without_bits() {
	give "$1"
	find "$1" -type f -exec chmod a-st {} +
}

# Writers of files, from these or an archive of them.  They write below q, which
# belongs to the user, or into the caches.
write_scavenge() {
	mkdir -p q/.scr/scr.dataset.1
	cp p/.scr/flush.scr p/.scr/nodes.scr q/.scr
	give q
	for node in 0 1 2 3; do
		ln -sfn nodes/node$node local
		scr_copy --cntldir local/cntl/genuser/scr.1000 --id 1 \
			--cachedir local/cache/genuser/scr.1000 --prefix q \
			--moved-from "$PWD/p" >/dev/null
	done
}

write_postrun() {
	cp -a p/.scr q/.scr
	rm -rf q/.scr/scr.dataset.1 q/.scr/index*
	scr_postrun -p q -r local -w "$HOSTNAME" -J 1000 --cachedir local/cache \
		--cntldir local/cntl --moved-from "$PWD/p" >/dev/null
}

# Files, filemaps, redundancy and descriptors of two ranks are lost.
write_rebuild() {
	cp -a p/. q
	without_bits q
	rm q/ckpt.1/rank_[23]_* q/.scr/scr.dataset.1/{filemap_[23],*er.[23].*}
	scr_rebuild -q -p q 1
}

write_build() {
	cp -a p/. q
	without_bits q
	rm q/ckpt.1/rank_[23]_* q/.scr/scr.dataset.1/{filemap_[23],*er.[23].*}
	rm q/.scr/index.scr q/.scr/scr.dataset.1/{summary,rank2file}*
	scr_index -q -p q --build 1
}

write_caches() {
	without_bits nodes
	rm -rf nodes/node1/cache/genuser/scr.1000/scr.dataset.1/{rank_2*,.scr/*er.2.*}
	scr_rebuild -q nodes/node*/cache/genuser/scr.1000/scr.dataset.1
	[[ -e nodes/node1/cache/genuser/scr.1000/scr.dataset.1/rank_2_0.ckpt ]]
	mv nodes q/nodes
}

write_extract() {
	scr_container -q -p p extract -C q 1
}

write_extract_packed() {
	scr_container -q -p p pack --size 20000 1
	scr_container -q -p p extract -C q 1
}

write_unpack() {
	cp -a p/. q
	scr_container -q -p q pack --size 20000 --with-redundancy 1
	give q
	scr_container -q -p q unpack 1
}

write_import() {
	scr_archive -q -p p export --with-redundancy -o ar 1
	scr_archive -q -p q import ar
}

# From an archive that another program made.
write_import_tar() {
	scr_archive -q -p p export --with-redundancy -o ar 1
	mkdir t
	tar -xf ar -C t
	chown -R 12:12 t
	chmod -R 7755 t
	(cd t && find . ! -name 'manifest*' >../list &&
		tar -cf ../ar2 --no-recursion -T ../list \
			./.scr/scr.dataset.1/manifest.sha256)
	tar --numeric-owner -tvf ar2 | grep -q '^-rwsr-sr-t 12/12'
	scr_archive -q -p q import ar2
}

@test "root: set-id bits, sticky bits and owners that are asked for are not given" {
	gives
	for how in scavenge postrun rebuild build caches extract \
		extract_packed unpack import import_tar; do
		rm -rf p q t nodes ar ar2
		if [[ $how == postrun ]]; then
			ask_for_too_much -m 1 -t SINGLE
		elif [[ -e asked ]]; then
			cp -a asked/. .
		else
			ask_for_too_much
			mkdir asked
			cp -a p q nodes asked
		fi
		ln -sfn nodes/node0 local
		write_$how
		bad=$(foreign q; find q -perm /7000 -printf '%P %M\n')
		[[ -z $bad ]] || failed "$how:" "$bad"
		# The other bits are as they were asked for.
		[[ $(find q -name "rank_2_[01].ckpt" -printf '%m ') == "755 755 " ]] ||
			failed "$how: $(find q -name "rank_2_*" -printf '%f %m ')"
	done
}

@test "the log: a link or a FIFO is refused in one line" {
	mkdir -p p/.scr
	export SCR_LOG_ENABLE=1 SCR_LOG_SYSLOG_ENABLE=0
	ln -s "$PWD/canary" p/.scr/log
	ends 1 timeout -k 1 20 scr_env log-event -p p -T NOTE -N x
	assert_stderr_one_line "p/.scr/log" "symbolic link"
	[[ ! -e canary ]]
	rm p/.scr/log
	mkfifo p/.scr/log
	ends 1 timeout -k 1 20 scr_env log-event -p p -T NOTE -N x
	assert_stderr_one_line "p/.scr/log" "not a regular file"
}

# through NAME: dataset 1 of p in the archive NAME.ar, imported to the prefix NAME.
through() {
	scr_archive -q -p p export -o "$1.ar" 1
	mkdir "$1"
	scr_archive -q -p "$1" import "$1.ar"
}

# in_map OLD NEW: change a path in the map of p.
in_map() {
	local part tree

	part=$(echo $meta/rank2file.0.*)
	tree=$(scr_inspect -m tree "$part")
	write_part "$part" <<<"${tree//"$1"/$2}"
}

# add_to_archive FROM TO FILE...: add files of directory extra to an archive, and
# to its manifest.
add_to_archive() {
	local from=$1 to=$2 file

	shift 2
	rm -rf t
	mkdir t
	bsdtar -xf "$from" -C t
	for file; do
		mkdir -p "t/$(dirname "$file")"
		cp "extra/$file" "t/$file"
		(cd t && sha256sum "$file") >>t/.scr/scr.dataset.1/manifest.sha256
	done
	(cd t && { find . -type f ! -name manifest.sha256 -printf '%P\n' |
		LC_ALL=C sort && echo .scr/scr.dataset.1/manifest.sha256; } \
		>../list && bsdtar -cf "../$to" --format pax -T ../list)
}

@test "import: only files that the archive's own rank2file names" {
	command -v bsdtar >/dev/null || skip "bsdtar is not installed"
	indexed
	scr_archive -q -p p export -o ar 1
	mkdir extra
	add_to_archive ar same
	mkdir q
	scr_archive -q -p q import same
	rm -rf q
	for file in .scrconf evil ckpt.1/rank_99.ckpt .scr/app.conf \
		.scr/log other/.scrconf; do
		mkdir -p "extra/${file%/*}" 2>/dev/null || true
		[[ $file == */* ]] || rm -rf "extra/$file"
		echo SCR_DEBUG=1 >"extra/$file"
		add_to_archive ar bad "$file"
		mkdir q
		complains 1 "$file" scr_archive -p q import bad
		[[ -z $(find q -mindepth 1) ]] || failed "left:" "$(find q)"
		rmdir q
	done
}

@test "unpack, extract: a map that names .scrconf or metadata, or one path twice" {
	indexed
	scr_container -q -p p pack --size 20000 1
	cp -a p good
	for bad in .scrconf .scr/app.conf .scr/halt.scr; do
		for how in unpack "extract -C ." "extract -C out"; do
			rm -rf p out
			cp -a good p
			in_map ckpt.1/rank_2_0.ckpt "$bad"
			tree_stat p >before
			cd p
			complains 1 "$bad" scr_container $how 1
			cd ..
			diff before <(tree_stat p)
			[[ ! -e p/out/$bad && ! -e p/$bad ]]
		done
	done
	rm -rf p out
	text="ckpt.1/rank_1_0.ckpt: is a file of rank 1 and of rank 2"
	indexed
	rm -f $meta/filemap_* $meta/*.redset
	scr_container -q -p p pack --size 20000 1
	in_map ckpt.1/rank_2_0.ckpt ckpt.1/rank_1_0.ckpt
	ends 1 scr_index -p p --verify
	[[ $output$stderr == *"$text"* ]] || failed "$text"
	try scr_container -p p verify 1
	((status == 1 || status == 3 || status == 4)) || failed "status"
	[[ $output$stderr == *"$text"* ]] || failed "$text"
	tree_stat p >before
	complains 3 "$text: cannot be unpacked" scr_container -p p unpack 1
	diff before <(tree_stat p)
	unpack=$stderr
	ends 3 scr_container -p p extract -C out 1
	[[ $stderr == "$unpack" ]] || failed "expected" "$unpack"
	[[ ! -d out || -z $(find out -type f) ]]
	# What is not concerned can be had.
	scr_container -q -p p extract -C out 1 ckpt.1/rank_4_0.ckpt
}

@test "a read-only prefix: everything that only reads" {
	privately && return
	indexed
	mkdir ro out
	mount -t tmpfs -o size=20m none ro
	cp -a p/. ro
	cp -a ro packed
	scr_container -q -p packed pack --size 20000 1
	cp -a packed ro/packed
	mount -o remount,bind,ro ro
	for cmd in "scr_archive -p ro export -o ar 1" \
		"scr_archive -p ro/packed export -o ar2 1" \
		"scr_container -p ro/packed extract -C out 1" \
		"scr_container -p ro/packed verify 1" \
		"scr_container -p ro/packed cat 1 ckpt.1/rank_0_0.ckpt" \
		"scr_index -p ro --verify --checksums --deep" \
		"scr_index -p ro" "scr_inspect ro" "scr_inspect -p ro -d 1" \
		"scr_rebuild -p ro -n 1" "scr_halt -l ro"; do
		ends 0 $cmd
	done
	mkdir q
	scr_archive -q -p q import ar
	diff -r p/ckpt.1 q/ckpt.1
}

@test "a prefix of another user: export reads without a lock" {
	become 1234
	indexed
	chmod -R go=rX p .
	mkdir -m 777 out
	ends 0 "${as[@]}" scr_archive -p p export -o out/ar 1
}

# All entries with all times, and of the directories, too.
snapshot() {
	find "$@" -printf '%p %y %m %U %G %s %T@ %C@ %l\n' | sort
}

@test "plans and dry runs change nothing" {
	two
	export SCR_LOG_ENABLE=1 SCR_LOG_SYSLOG_ENABLE=0
	mkdir empty
	while IFS= read -r line; do
		read -ra cmd <<<"${line//HOST/$HOSTNAME}"
		snapshot p lossy packed empty nodes >before
		try "${cmd[@]}"
		((status != 2)) || failed "$line"
		diff before <(snapshot p lossy packed empty nodes) ||
			failed "$line: changed something"
	done <<-'END'
		scr_index -p p --build 1 --dry-run
		scr_index -p lossy --build 1 --dry-run
		scr_index -p p --delete two --dry-run
		scr_index -p p --prune --keep 1 --dry-run
		scr_index -p packed --delete two --dry-run
		scr_index -p p --verify --checksums --deep
		scr_index -p p
		scr_inspect p
		scr_inspect -p p -d 1
		scr_inspect -p packed -d 2 --deep
		scr_rebuild -p p -n 1
		scr_rebuild -p p -n --deep 2
		scr_container -p p pack --dry-run --size 20000 2
		scr_container -p packed repack --dry-run --size 30000 2
		scr_container -p packed unpack --dry-run 2
		scr_container -p packed verify 2
		scr_container -p packed list 2
		scr_halt -n -c 3 p
		scr_halt -n -r p
		scr_halt -l p
		scr_postrun --plan -p empty -r local -w HOST -J 1000 --cachedir local/cache --cntldir local/cntl
		scr_postrun --plan -p lossy -r local -w HOST -J 1000 --cachedir local/cache --cntldir local/cntl
		scr_env interval -p p
		scr_env flush-file -p p --latest
	END
}

# Bytes on disk below $1.
used() {
	du -s --block-size=1 "$1" | cut -f 1
}

@test "sparse files stay sparse" {
	make --lose "" -s 4000000,1
	# 16 files of 4 MB: a page at the start, one in the middle.
	for file in p/ckpt.1/* nodes/*/cache/genuser/scr.1000/scr.dataset.1/*.ckpt; do
		cp --sparse=never "$file" t
		size=$(stat -c %s "$file")
		head -c 4096 t >"$file"
		truncate -s "$size" "$file"
		head -c 10000 t | dd of="$file" bs=4096 seek=400 conv=notrunc \
			status=none
	done
	rm t
	truncate -s 1 hole
	(($(used p/ckpt.1) < 4000000)) || skip "no sparse files here"
	rm -f $meta/*.redset
	scr_rebuild -q -p p --protect xor 1 || scr_index -q -p p --build 1
	scr_index -q -p p --build 1
	scr_rebuild -q -p p --protect xor 1 || :
	(cd p && sha256sum ckpt.1/*) >sums
	check() {
		(cd "$1" && sha256sum --quiet -c "$OLDPWD/sums") ||
			failed "$2: other bytes"
		(($(used "$1/ckpt.1") < 4000000)) ||
			failed "$2: $(used "$1/ckpt.1") bytes on disk"
	}
	through q
	check q import
	cp -a p packed
	scr_container -q -p packed pack --size 10000000 1
	(($(used packed/.scr/scr.dataset.1/.scr) < 4000000)) ||
		failed "pack: $(used packed/.scr/scr.dataset.1/.scr)"
	scr_container -q -p packed extract -C out 1
	check out extract
	scr_container -q -p packed unpack 1
	check packed unpack
	rm p/ckpt.1/rank_1_*.ckpt
	scr_rebuild -q -p p 1
	check p rebuild
}

@test "scr_copy: sparse files stay sparse" {
	one_node
	in_cache -s 4000000
	for file in local/cache/genuser/scr.1000/scr.dataset.1/*.ckpt; do
		size=$(stat -c %s "$file")
		truncate -s 4096 "$file"
		truncate -s "$size" "$file"
	done
	scr_copy --cntldir local/cntl/genuser/scr.1000 \
		--cachedir local/cache/genuser/scr.1000 --id 1 --prefix p \
		>/dev/null
	cmp local/cache/genuser/scr.1000/scr.dataset.1/rank_1.ckpt \
		p/ckpt.1/rank_1.ckpt
	(($(used p/ckpt.1) < 1000000)) || failed "$(used p/ckpt.1) bytes on disk"
}

@test "extract, import: modes and times survive" {
	make --lose ""
	chmod 600 p/ckpt.1/rank_0_0.ckpt
	chmod 755 p/ckpt.1/rank_1_0.ckpt
	chmod 444 p/ckpt.1/rank_2_0.ckpt
	touch -d 2001-02-03T04:05:06.123456789 p/ckpt.1/*
	scr_index -q -p p --build 1
	modes() { (cd "$1" && stat -c '%n %a %y' ckpt.1/*); }
	modes p >before
	scr_container -q -p p extract -C plain 1
	diff before <(modes plain)
	through q
	diff before <(modes q)
	scr_container -q -p p pack --size 20000 1
	scr_container -q -p p extract -C out 1
	diff before <(modes out)
	through q2
	diff before <(modes q2)
	scr_container -q -p p unpack 1
	diff before <(modes p)
}

@test "extract, import: modes and times of directories survive" {
	indexed --name run/a/ckpt.1
	chmod 750 p/run p/run/a
	chmod 2711 p/run/a/ckpt.1
	touch -d 2001-02-03T04:05:06.123456789 p/run/a/ckpt.1
	touch -d 2002-02-03T04:05:06 p/run/a
	touch -d 2003-02-03T04:05:06 p/run
	dirs() { (cd "$1" && find run -type d -printf '%p %m %T@\n' | sort); }
	# Set-id bits are none requested.
	dirs p | sed 's/ 2711 / 711 /' >before
	through q
	scr_container -q -p p extract -C plain 1
	scr_container -q -p p extract -C some 1 run/a/ckpt.1/rank_3_0.ckpt
	for how in plain some q; do
		diff before <(dirs $how) || failed "$how"
	done
	if command -v bsdtar >/dev/null; then
		mkdir tar
		bsdtar -xpf q.ar -C tar
		diff <(dirs p) <(dirs tar) || failed tar
	fi
	# A directory that was there stays as it is, but for its time.
	mkdir q2
	mkdir -m 700 q2/run q2/run/a
	scr_archive -q -p q2 import q.ar
	diff <(sed 's/ [^ ]*$//; s/ 750/ 700/' before | sort) \
		<(dirs q2 | sed 's/ [^ ]*$//')
	diff <(grep ckpt before) <(dirs q2 | grep ckpt)
	# Packing leaves the directories, unpacking gives them their times; from
	# the packed dataset they come with both, after a repack, too.
	dirs p >was
	scr_container -q -p p pack --size 20000 1
	scr_container -q -p p repack --size 30000 1
	scr_container -q -p p extract -C packed 1
	diff before <(dirs packed)
	cp -a p gone
	scr_container -q -p p unpack 1
	diff was <(dirs p)
	# A directory that is gone meanwhile is made as it was.
	rm -r gone/run
	scr_container -q -p gone unpack 1
	diff <(grep ckpt before) <(dirs gone | grep ckpt)
	# The group of a directory that hands it on.
	mkdir s
	chmod 2755 s
	scr_container -q -p p extract -C s 1
	[[ $(stat -c %a s/run/a/ckpt.1) == 2711 ]]
	# A user's own import fails with a directory closed to him: nothing is left.
	chmod 555 p/run/a/ckpt.1
	scr_archive -q -p p export -o ar 1
	chmod 755 p/run/a/ckpt.1
	mkdir -p q3/.scr/index.lock
	as=()
	! may_give || { give q3 && become 1234; }
	ends 1 "${as[@]}" scr_archive -p q3 import ar
	[[ ! -e q3/run ]] || failed "left:" "$(find q3)"
}

@test "a closed pipe is no failure: nothing is said, the verdict stays" {
	two
	# The reader is gone before the first byte, or after the first line.
	while IFS= read -r line; do
		run $line
		want=$status
		for reader in true "head -1"; do
			{
				{ [[ $reader != true ]] || sleep 0.3
				rc=0
				$line 2>err || rc=$?
				echo $rc >rc; } | $reader >/dev/null
			}
			[[ $(<rc) == "$want" ]] ||
				failed "$line | $reader: $(<rc), not $want" "$(<err)"
			! grep -i 'pipe\|cannot write' err || failed "$line | $reader"
		done
	done <<-'END'
		scr_index -p p --verify
		scr_index -p p --verify --json
		scr_index -p p --all
		scr_inspect -p p -d 1 --files
		scr_inspect -p p -d 1 --json
		scr_inspect p
		scr_rebuild -p p -n 1
		scr_container -p packed list 2
		scr_container -p packed verify 2
		scr_container -p packed cat 2 ckpt.1/rank_0_0.ckpt
		scr_env conf -p p
		scr_index --help
	END
}

@test "SIGHUP, SIGQUIT: temporary files are removed; one that is ignored stays so" {
	indexed -s 400000,1
	[[ -e ${SHIM-}/ || -e ${SHIM%/*}/slow.so ]] || skip "no slow shim"
	tree_stat p | grep -v '^\.scr/index' >before
	for sig in TERM HUP QUIT INT; do
		LD_PRELOAD=${SHIM%/*}/slow.so SLOW_PATH=ctr. SLOW_USEC=30000 \
			scr_container -q -p p pack --size 100000 1 2>err &
		pid=$!
		for _ in {1..100}; do
			[[ -z $(find p -name '.scrkit-*.tmp') ]] || break
			sleep 0.02
		done
		[[ -n $(find p -name '.scrkit-*.tmp') ]] || failed "too fast"
		kill -$sig $pid
		status=0
		wait $pid || status=$?
		((status == 1)) || failed "$sig: status $status" "$(<err)"
		diff before <(tree_stat p | grep -v '^\.scr/index') ||
			failed "$sig: left something"
	done
	(
		trap '' HUP
		exec env LD_PRELOAD="${SHIM%/*}/slow.so" SLOW_PATH=ctr. \
			SLOW_USEC=10000 scr_container -q -p p pack \
			--size 400000 1
	) &
	pid=$!
	sleep 0.2
	kill -HUP $pid
	wait $pid
}
