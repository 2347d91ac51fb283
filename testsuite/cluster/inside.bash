# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# inside.bash - the part of bed.sh that runs inside the outer namespaces of a
# test bed.  Files:
#
#     $ns/pid/NODE     the process number of the node's init, while it is up
#     $ns/go/NODE      FIFOs between a starting node and its starter
#     $ns/common       files that all nodes see
#     $ns/pfs          their /pfs
#     $ns/faults/NODE  a line for each command that heals one of its faults
#     $ns/binds        the input of `bind`

: "${ns:?}" "${bed:?}" # set by bed.sh

system_path=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
# Not visible outside the bed.
net=10.77.0

address() {
	case $1 in
	login) echo "$net.200" ;;
	node*) echo "$net.${1#node}" ;;
	*) return 1 ;;
	esac
}

# The names of a bed of $1 nodes.
node_names() {
	local i

	echo login
	for ((i = 1; i <= $1; i++)); do
		echo "node$i"
	done
}

all_names() {
	node_names "$(cat "$ns/count")"
}

is_up() {
	[ -s "$ns/pid/$1" ]
}

known() {
	[ -n "$1" ] || die "which node?"
	all_names | grep -qxF -- "$1" || die "there is no node $1"
}

# Fail, with a message, if node $1 is not up.
need_up() {
	known "$1"
	is_up "$1" || die "$1 is down"
}

# --- The outer init ------------------------------------------------------------------

# Process 1 of the outer namespaces; $2 is the `up` that is waiting.
outer() {
	local count=$1 parent=$2 self end parent_start tie_start='' name

	# /proc is still that of the machine, and so are the process numbers in
	# it.
	read -r self _ </proc/self/stat
	parent_start=$(started "$parent")
	[ -z "$BED_TIE" ] || tie_start=$(started "$BED_TIE")
	mount -t tmpfs -o mode=755,size=64m bed "$ns" || exit 1
	mkdir -p "$ns"/{hostproc,pid,go,common,pfs,faults}
	mount -t tmpfs -o "mode=1777,size=$BED_PFS" pfs "$ns/pfs" || exit 1
	mount --bind /proc "$ns/hostproc" && mount -t proc proc /proc || exit 1
	echo "$self $(started "$self" "$ns/hostproc")" >"$BED_DIR/outer.new"
	mv "$BED_DIR/outer.new" "$BED_DIR/outer"
	wanted
	exec 4<>"$BED_DIR/ready"
	hostname switch
	ip link set lo up
	no_ipv6
	ip link add br0 type bridge stp_state 0 forward_delay 0 \
		mcast_snooping 0 && ip link set br0 up || exit 1
	echo "$count" >"$ns/count"
	: >"$ns/binds"
	common "$count" || exit 1
	wanted
	for name in $(node_names "$count"); do
		start_node "$name" 4>&- &
	done
	wait
	for name in $(node_names "$count"); do
		is_up "$name" || { echo "$name failed" >&4 && exit 1; }
	done
	echo ok >&4
	exec 4>&-
	end=$((SECONDS + BED_LIFE))
	while ((SECONDS < end)); do
		# bash reaps orphans only while it waits for a child.
		sleep 1 &
		wait $!
		wanted
	done
	exit 0
}

# End the bed if its owner is gone or its time is over.
wanted() {
	# Before the bed is complete, `up` must be alive, too.
	[ -e "$BED_DIR/committed" ] || same_process "$parent" "$parent_start" ||
		exit 0
	[ -z "$BED_TIE" ] || same_process "$BED_TIE" "$tie_start" || exit 0
}

same_process() {
	[ -n "$2" ] && [ "$(started "$1" "$ns/hostproc")" = "$2" ]
}

no_ipv6() {
	echo 1 >/proc/sys/net/ipv6/conf/all/disable_ipv6
	echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6
} 2>/dev/null

# Files that all nodes see, as a lower layer of their root.
common() {
	local dir=$ns/common name

	umask 022
	mkdir -p "$dir"/{etc/ssh,etc/slurm,etc/munge,home,ssd,pfs,run} \
		"$dir"/var/{spool/slurmd,spool/slurmctld,log/slurm}
	chmod 700 "$dir/home"
	echo "127.0.0.1 localhost" >"$dir/etc/hosts"
	for name in $(node_names "$1"); do
		echo "$(address "$name") $name"
	done >>"$dir/etc/hosts"
	echo "hosts: files" >"$dir/etc/nsswitch.conf"
	grep -v '^hosts:' /etc/nsswitch.conf >>"$dir/etc/nsswitch.conf"
	: >"$dir/etc/resolv.conf"
	: >"$dir/etc/ld.so.preload"
	ssh_files "$dir" && slurm_files "$dir" "$1"
}

# A plain sshd with the fastest key exchange, and a user configuration that asks
# no questions.  No time limits and no keepalive: callers of ssh must set their
# own.
ssh_files() {
	mkdir "$1/home/.ssh" && chmod 700 "$1/home/.ssh"
	ssh-keygen -q -t ed25519 -N '' -C bed -f "$1/home/.ssh/id_ed25519" &&
		ssh-keygen -q -t ed25519 -N '' -C bed -f "$1/etc/ssh/bed_key" ||
		return 1
	cp "$1/home/.ssh/id_ed25519.pub" "$1/home/.ssh/authorized_keys"
	cat >"$1/home/.ssh/config" <<-END
		Host *
		  StrictHostKeyChecking no
		  UserKnownHostsFile /dev/null
		  GlobalKnownHostsFile /dev/null
		  LogLevel ERROR
		  GSSAPIAuthentication no
	END
	cat >"$1/etc/ssh/bed_sshd_config" <<-END
		Port 22
		HostKey /etc/ssh/bed_key
		PermitRootLogin prohibit-password
		PasswordAuthentication no
		KbdInteractiveAuthentication no
		UsePAM no
		KexAlgorithms curve25519-sha256
		UseDNS no
		StrictModes no
		PrintMotd no
		PrintLastLog no
		MaxStartups 200
		MaxSessions 100
		PidFile /run/sshd.pid
		Subsystem sftp internal-sftp
		SetEnv PATH=${BED_PATH:+$BED_PATH:}$system_path
	END
}

# --- Nodes -----------------------------------------------------------------------------

start_node() {
	local name=$1 go=$ns/go/$1 pid line='' hex

	rm -f "$ns/pid/$name" "$go" "$go.r"
	mkfifo "$go" "$go.r" || return 1
	exec 5<>"$go" 6<>"$go.r"
	setsid unshare --fork --kill-child --pid --mount --net --ipc --uts \
		bash "$bed" __node "$name" </dev/null >>"$BED_DIR/log/$name" 2>&1 \
		5>&- 6>&- &
	read -r -t 20 -u 6 pid ||
		{ echo "$name: no answer" >&2 && return 1; }
	ip link del "v-$name" 2>/dev/null
	hex=$(address "$name")
	printf -v hex '02:77:00:00:00:%02x' "${hex##*.}"
	ip link add "v-$name" master br0 type veth peer name eth0 \
		address "$hex" netns "$pid" && ip link set "v-$name" up || return 1
	echo go >&5
	read -r -t 30 -u 6 line
	exec 5>&- 6>&-
	[ "$line" = ready ] ||
		{ echo "$name: not ready: $line" >&2 && return 1; }
	echo "$pid" >"$ns/pid/$name"
}

# Process 1 of a node.
node() {
	local name=$1 self answer

	exec 5<>"$ns/go/$name" 6<>"$ns/go/$name.r"
	# /proc is that of the outer namespace, and so is the process number.
	read -r self _ </proc/self/stat
	echo "$self" >&6
	node_root "$name" || exit 1
	exec 3>&-
	# The starter has connected the network.
	read -r -t 20 -u 5 answer || exit 1
	: "$answer"
	no_ipv6
	ip link set lo up && ip link set eth0 up &&
		ip addr add "$(address "$name")/24" dev eth0 noprefixroute || exit 1
	# Otherwise each ssh connection waits twice for 40 ms for an
	# acknowledgement.
	ip route add "$net.0/24" dev eth0 quickack 1 || exit 1
	export HOME=/root USER=root LOGNAME=root SHELL=/bin/bash LANG=C.UTF-8
	export PATH=${BED_PATH:+$BED_PATH:}$system_path
	/usr/sbin/sshd -f /etc/ssh/bed_sshd_config || exit 1
	echo ready >&6
	exec 5>&- 6>&-
	while :; do
		sleep 86400 &
		wait
	done
}

# The file systems of a node: the machine's root below a private layer, so that
# changes stay inside the node; storage that is lost with the node; /pfs and the
# shared directories.
node_root() {
	local base=$ns/node.$1 root=$ns/node.$1/root uuid

	mkdir -p "$base" &&
		mount -t tmpfs -o mode=755,size=256m root "$base" &&
		mkdir "$base/up" "$base/work" "$root" &&
		mount -t overlay -o "lowerdir=$ns/common:/,upperdir=$base/up,workdir=$base/work" \
			root "$root" &&
		mount -t proc proc "$root/proc" &&
		mount -t sysfs sysfs "$root/sys" &&
		mount --rbind /dev "$root/dev" &&
		mount -t devpts -o newinstance,mode=620,ptmxmode=666,gid=5 devpts \
			"$root/dev/pts" &&
		mount -t tmpfs -o "mode=1777,size=512m" shm "$root/dev/shm" &&
		mount -t tmpfs -o mode=755,size=16m run "$root/run" &&
		mount -t tmpfs -o mode=1777,size=64m tmp "$root/tmp" &&
		mount -t tmpfs -o mode=700,size=16m home "$root/root" &&
		cp -a "$ns/common/home/." "$root/root" &&
		mount -t tmpfs -o "mode=1777,size=$BED_SSD" ssd "$root/ssd" &&
		mount --bind "$ns/pfs" "$root/pfs" || return 1
	[ ! -e "$root/dev/pts/ptmx" ] ||
		mount --bind "$root/dev/pts/ptmx" "$root/dev/ptmx" 2>/dev/null
	share "$root" "$BED_SHARE" ro && share "$root" "$BED_WRITE" rw || return 1
	mkdir -p "$root/run/sshd" "$root/run/lock" "$root/run/munge"
	! id munge >/dev/null 2>&1 || chown munge: "$root/run/munge"
	hostname "$1" && echo "$1" >"$root/etc/hostname"
	# Some libraries identify a machine by these.
	read -r uuid <"$root/proc/sys/kernel/random/uuid"
	echo "$uuid" >"$base/boot_id"
	echo "${uuid//-/}" >"$root/etc/machine-id"
	mount --bind "$base/boot_id" "$root/proc/sys/kernel/random/boot_id"
	mkdir -p "$root/.old" && cd "$root" && pivot_root . .old && cd / &&
		umount -l /.old
}

# share ROOT DIRS ro|rw: bind directories of the machine at the same path.
share() {
	local dir dirs

	IFS=: read -ra dirs <<<"$2"
	for dir in ${dirs[@]+"${dirs[@]}"}; do
		[ -d "$dir" ] || continue
		mkdir -p "$1$dir" && mount --bind "$dir" "$1$dir" &&
			mount -o "remount,bind,$3" "$1$dir" || return 1
	done
}

# on_node NODE CMD...: run a command on a node, from the outer namespaces.
on_node() {
	local pid

	is_up "$1" || die "$1 is down"
	read -r pid <"$ns/pid/$1"
	shift
	nsenter -t "$pid" -a -- env -i HOME=/root USER=root LOGNAME=root \
		SHELL=/bin/bash LANG=C.UTF-8 TERM="${TERM:-dumb}" \
		PATH="${BED_PATH:+$BED_PATH:}$system_path" "$@"
}

# exec NODE DIR CMD...: run a command in DIR, if the node has it.
do_exec() {
	local name=$1

	known "$name"
	shift
	# shellcheck disable=SC2016 # for the shell there
	on_node "$name" sh -c 'cd "$0" 2>/dev/null || cd; exec "$@"' "$@"
}

do_status() {
	local name

	for name in $(all_names); do
		printf '%s %s%s\n' "$name" "$(is_up "$name" && echo up || echo down)" \
			"$(sed 's/^/, to be healed by: /' "$ns/faults/$name" 2>/dev/null |
				tr -d '\n')"
	done
}

do_bind() {
	local name source target

	while IFS=$'\t' read -r name source target; do
		need_up "$name"
		[ -n "$target" ] || die "bind: NODE TAB SOURCE TAB TARGET"
		bind_one "$name" "$source" "$target" || exit 1
		printf '%s\t%s\t%s\n' "$name" "$source" "$target" >>"$ns/binds"
	done
}

# Make node $1 and the others forget what they know of each other's address.  The
# kernel remembers for some seconds that an address did not answer, and a look-up
# that is under way fails whoever waits for it.
reachable() {
	local name pid address

	address=$(address "$1")
	for name in $(all_names); do
		is_up "$name" || continue
		read -r pid <"$ns/pid/$name"
		if [ "$name" = "$1" ]; then
			nsenter -t "$pid" -n ip neigh flush dev eth0
		else
			nsenter -t "$pid" -n ip neigh flush to "$address"
		fi
	done
}

bind_one() {
	# shellcheck disable=SC2016 # for the shell there
	on_node "$1" sh -c \
		'mkdir -p "$1" "$2" && mount --bind "$1" "$2"' - "$2" "$3" </dev/null
}

# --- Faults ------------------------------------------------------------------------------

# fault NODE COMMAND...: record the command that heals a fault.
fault() {
	local name=$1

	shift
	grep -qxF -- "$*" "$ns/faults/$name" 2>/dev/null ||
		echo "$*" >>"$ns/faults/$name"
}

# healed NODE COMMAND...: remove the record.
healed() {
	local file=$ns/faults/$1

	shift
	[ -e "$file" ] || return 0
	grep -vxF -- "$*" "$file" >"$file.new"
	mv "$file.new" "$file"
	[ -s "$file" ] || rm "$file"
}

do_kill() {
	local name=$1 pid i

	need_up "$name"
	read -r pid <"$ns/pid/$name"
	[ -n "${soft-}" ] || ip link del "v-$name"
	kill -KILL "$pid"
	for ((i = 0; i < 500; i++)); do
		[ -d "/proc/$pid" ] || break
		sleep 0.01
	done
	rm -f "$ns/pid/$name" "$ns/faults/$name"
	[ -z "${soft-}" ] || ip link del "v-$name" 2>/dev/null
	fault "$name" revive
}

do_kill_soft() {
	soft=1 do_kill "$1"
}

do_revive() {
	local name=$1 node source target

	known "$name"
	! is_up "$name" || die "$name is up"
	start_node "$name" || exit 1
	reachable "$name"
	while IFS=$'\t' read -r node source target; do
		[ "$node" = "$name" ] || continue
		bind_one "$name" "$source" "$target" || exit 1
	done <"$ns/binds"
	healed "$name" revive
	[ ! -e "$ns/slurm" ] || do_slurm_up
}

# All processes except process 1 and the sender of the signal.
do_freeze() {
	need_up "$1"
	on_node "$1" kill -STOP -1
	fault "$1" thaw
}

do_thaw() {
	need_up "$1"
	on_node "$1" kill -CONT -1
	healed "$1" thaw
}

do_unplug() {
	need_up "$1"
	ip link set "v-$1" down
	fault "$1" plug
}

do_plug() {
	need_up "$1"
	ip link set "v-$1" up
	reachable "$1"
	healed "$1" plug
}

do_refuse() {
	need_up "$1"
	# shellcheck disable=SC2016 # for the shell there
	on_node "$1" sh -c 'kill "$(cat /run/sshd.pid)"
		while kill -0 "$(cat /run/sshd.pid 2>/dev/null)"; do
			sleep 0.01
		done' 2>/dev/null
	fault "$1" accept
}

do_accept() {
	need_up "$1"
	on_node "$1" /usr/sbin/sshd -f /etc/ssh/bed_sshd_config
	healed "$1" accept
}

# Shrink the tmpfs to its contents: full, but without using memory.
do_fill() {
	local dir=${2:-/ssd}

	need_up "$1"
	# shellcheck disable=SC2016 # for the shell there
	on_node "$1" sh -c '
		size=$(findmnt -no OPTIONS -T "$1" | tr , "\n" | grep ^size=) &&
		mkdir -p /run/bed &&
		[ -e "/run/bed/$2" ] || echo "$size" >"/run/bed/$2"
		echo full >"$1/.bed-full" &&
		mount -o "remount,size=$(df -k --output=used "$1" | tail -n 1 |
			tr -d " ")k" "$1"' - "$dir" "${dir//\//-}" || exit 1
	fault "$1" drain "$dir"
}

do_drain() {
	local dir=${2:-/ssd}

	need_up "$1"
	# shellcheck disable=SC2016 # for the shell there
	on_node "$1" sh -c '
		mount -o "remount,$(cat "/run/bed/$2")" "$1" &&
		rm -f "$1/.bed-full" "/run/bed/$2"' - "$dir" "${dir//\//-}" ||
		exit 1
	healed "$1" drain "$dir"
}

# Remount the file system everywhere it is mounted; if all nodes share it, only
# this node's mount.
remount() {
	local bind=

	[[ $2 != /pfs* ]] || bind=bind,
	on_node "$1" mount -o "remount,$bind$3" "$2" || exit 1
}

do_readonly() {
	need_up "$1"
	remount "$1" "${2:-/ssd}" ro
	fault "$1" writable "${2:-/ssd}"
}

do_writable() {
	need_up "$1"
	remount "$1" "${2:-/ssd}" rw
	healed "$1" writable "${2:-/ssd}"
}

# preload NODE LIBRARY TEXT: preload LIBRARY.so into all new processes of the node;
# /etc/LIBRARY has the text.
preload() {
	[ -e "$BED_PRELOAD/$2.so" ] ||
		die "no $2.so in BED_PRELOAD ($BED_PRELOAD)"
	# A library in use must not be rewritten in place.
	# shellcheck disable=SC2016 # for the shell there
	on_node "$1" sh -c '
		so=/usr/lib/$1.so
		echo "$2" >"/etc/$1" && cat >"$so.new" && mv "$so.new" "$so" ||
			exit 1
		grep -qxF "$so" /etc/ld.so.preload ||
			echo "$so" >>/etc/ld.so.preload' - "$2" "$3" \
		<"$BED_PRELOAD/$2.so" || exit 1
}

# unload NODE LIBRARY
unload() {
	# shellcheck disable=SC2016 # for the shell there
	on_node "$1" sh -c 'sed -i "\\,/$1\.so$,d" /etc/ld.so.preload
		rm -f "/etc/$1"' - "$2"
}

do_slow() {
	need_up "$1"
	preload "$1" slowdisk "${3:-/ssd} ${2?}"
	fault "$1" fast
}

do_fast() {
	need_up "$1"
	unload "$1" slowdisk
	healed "$1" fast
}

do_skew() {
	need_up "$1"
	preload "$1" skew "${2?}"
	fault "$1" unskew
}

do_unskew() {
	need_up "$1"
	unload "$1" skew
	healed "$1" unskew
}

do_heal() {
	local name command argument

	for name in $(all_names); do
		[ -e "$ns/faults/$name" ] || continue
		cp "$ns/faults/$name" "$ns/faults/.now"
		while read -r command argument; do
			"do_$command" "$name" ${argument:+"$argument"} </dev/null
		done <"$ns/faults/.now"
	done
}

do_wipe() {
	local name node target targets

	do_heal
	for name in $(all_names); do
		targets=()
		while IFS=$'\t' read -r node _ target; do
			# Last mount first, because it may be inside an earlier
			# one.
			[ "$node" != "$name" ] || targets=("$target" "${targets[@]}")
		done <"$ns/binds"
		# shellcheck disable=SC2016 # for the shell there
		on_node "$name" sh -c '
			for i; do umount "$i"; done
			find /ssd /dev/shm -mindepth 1 -delete
			# Keep the shared directories mounted here.
			find /tmp -xdev -mindepth 1 -delete 2>/dev/null
			:' - ${targets[@]+"${targets[@]}"}
	done
	: >"$ns/binds"
	find "$ns/pfs" -mindepth 1 -delete
}
