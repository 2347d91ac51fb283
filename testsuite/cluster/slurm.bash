# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# slurm.bash - the part of bed.sh that runs munge and SLURM.  slurmctld runs on
# login, slurmd on the nodes, all as root; munged runs as munge, with a new key
# for each bed.

: "${ns:?}" # set by bed.sh

check_slurm() {
	local tool

	for tool in slurmctld slurmd munged srun; do
		PATH=$PATH:/usr/sbin command -v "$tool" >/dev/null ||
			{ echo "no $tool here" && return 1; }
	done
	id munge >/dev/null 2>&1 || { echo "no user munge here" && return 1; }
}

# slurm_files DIR COUNT: write the configuration below DIR.
slurm_files() {
	check_slurm >/dev/null || return 0
	dd if=/dev/urandom of="$1/etc/munge/munge.key" bs=128 count=1 status=none
	chown -R munge: "$1/etc/munge"
	chmod 700 "$1/etc/munge"
	chmod 400 "$1/etc/munge/munge.key"
	slurm_conf "$2" >"$1/etc/slurm/slurm.conf"
	# slurmd loads a control group plugin even if it is not used.  Version
	# 1, named explicitly, works without a mount.
	echo CgroupPlugin=cgroup/v1 >"$1/etc/slurm/cgroup.conf"
}

slurm_conf() {
	cat <<-END
		ClusterName=bed
		SlurmctldHost=login($(address login))
		SlurmUser=root
		SlurmdUser=root
		AuthType=auth/munge
		CredType=cred/munge
		StateSaveLocation=/var/spool/slurmctld
		SlurmdSpoolDir=/var/spool/slurmd
		SlurmctldPidFile=/run/slurmctld.pid
		SlurmdPidFile=/run/slurmd.pid
		SlurmctldLogFile=/var/log/slurm/slurmctld.log
		SlurmdLogFile=/var/log/slurm/slurmd.log
		ProctrackType=proctrack/linuxproc
		TaskPlugin=task/none
		JobAcctGatherType=jobacct_gather/none
		AccountingStorageType=accounting_storage/none
		SwitchType=switch/none
		MpiDefault=pmi2
		SelectType=select/cons_tres
		SelectTypeParameters=CR_CPU
		SchedulerType=sched/backfill
		SchedulerParameters=sched_interval=1,bf_interval=1,sched_min_interval=10000
		SlurmdParameters=config_overrides
		ReturnToService=2
		SlurmdTimeout=10
		SlurmctldTimeout=10
		MessageTimeout=5
		TCPTimeout=2
		KillWait=2
		InactiveLimit=0
		WaitTime=0
		MinJobAge=3600
		UnkillableStepTimeout=10
		ResumeTimeout=10
		NodeName=node[1-$1] CPUs=4 RealMemory=1000 State=UNKNOWN
		PartitionName=batch Nodes=node[1-$1] Default=YES MaxTime=INFINITE State=UP OverSubscribe=NO
	END
}

# Start the daemons that do not run yet on node $1.
slurm_start() {
	local daemon=slurmd

	[ "$1" != login ] || daemon=slurmctld
	# shellcheck disable=SC2016 # for the shell there
	on_node "$1" sh -c '
		mkdir -p /var/log/munge /var/lib/munge
		chown munge: /var/log/munge /var/lib/munge
		[ -S /run/munge/munge.socket.2 ] ||
			runuser -u munge -- /usr/sbin/munged || exit 1
		kill -0 "$(cat "/run/$1.pid" 2>/dev/null)" 2>/dev/null ||
			"/usr/sbin/$1"' - "$daemon" </dev/null
}

# Does slurmctld see every running node as idle or busy with a job?
slurm_ready() {
	local list node state

	list=$(on_node login timeout 5 sinfo -h -N -o '%n %t' 2>/dev/null) &&
		[ -n "$list" ] || return 1
	while read -r node state; do
		is_up "$node" || continue
		case $state in idle | mix | alloc) ;; *) return 1 ;; esac
	done <<<"$list"
}

do_slurm_up() {
	local name reason i pids=()

	reason=$(check_slurm) || die "$reason"
	for name in $(all_names); do
		is_up "$name" || continue
		slurm_start "$name" &
		pids+=($!)
	done
	wait "${pids[@]}"
	: >"$ns/slurm"
	for ((i = 0; i < 150; i++)); do
		slurm_ready && return
		sleep 0.1
	done
	on_node login sinfo -N -l >&2
	die "SLURM does not see all nodes"
}
