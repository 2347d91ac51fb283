#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2016 # scripts of mock commands
# The job around a command: options, settings, and resource managers, with mock
# commands first in PATH, which print what the real ones print.  Its directories:
# t_job.c.

load helper

# act NAME SCRIPT: a mock command; its arguments are recorded.
act() { stub "$1" <<<$'#!/bin/sh\nprintf "%s\\n" "$*" >>'"$PWD/$1.args"$'\n'"$2"; }

# out NAME TEXT: one that prints this text, with escapes.
out() {
	printf %b "$2" >"$1.out"
	act "$1" "cat $PWD/$1.out"
}

called() { grep -qF -- "$2" "$1.args" || failed "$1: $(cat "$1.args")"; }

# asked: each line on stdin in turn: a command of the test, or "VARIABLES|VERB
# [OPTION]...|WANT|WORDS": scr_env in this environment alone prints WANT, with escapes
# ("+N": a time N seconds from now; "!": it fails), and WORDS on stderr ("-": nothing).
asked() {
	local line vars verb want words got more="SCR_CNTL_BASE=$PWD/c SCR_CACHE_BASE=$PWD/c"

	rm -rf stub ./*.args .scrconf
	stub_ssh
	while IFS= read -r -u 7 line; do
		echo "$line"
		[[ $line =~ ^([A-Z_0-9]+=[^\ |]*\ ?)*\| ]] || { eval "$line" && continue; }
		IFS='|' read -r vars verb want words <<<"$line"
		# shellcheck disable=SC2086 # several words
		got=$(env -i PATH="$PWD/stub:$BIN:/usr/bin:/bin" TZ=UTC USER=me \
			SCRKIT_SYSTEM_CONF="$SCRKIT_SYSTEM_CONF" $more $vars scr_env $verb \
			2>said) || got=!
		printf -v want %b "$want"
		if [[ $want == +* ]]; then
			got=$((got - EPOCHSECONDS - want))
			((got <= 0 && got >= -5)) || failed "$got s"
		else
			[[ $got == "$want" ]] || failed "not $want: $got" "$(<said)"
		fi
		case $words in
		-) [[ ! -s said ]] ;;
		*) [[ $(<said) == *"$words"* ]] ;;
		esac || failed "not $words: $(<said)"
	done 7<&0
}

@test "user, id, prefix and end: options, settings, the resource manager" {
	local id

	id=$(env -u SCR_JOB_ID scr_env job-id)
	[[ $id == "${PWD##*/}"-* ]]
	mkdir "run 5" here
	ln -s "run 5" link
	asked <<-END
		more= # no directories are set
		|user -v|me|user: me (USER)
		|cntl-dir|/dev/shm/me/scr.$id|-
		|cache-dir|/dev/shm/me/scr.$id|-
		echo SCR_USER_NAME=file >.scrconf
		|user -v|file|user: file (SCR_USER_NAME from
		SCR_USER_NAME=env|user --user option|option|
		rm .scrconf
		USER= LOGNAME=log|user|log|
		USER=|user|$(id -un)|
		|user --user ../you|!|../you
		SLURM_JOB_ID=42|job-id|42|
		SLURM_JOB_ID=42|cntl-dir|/dev/shm/me/scr.42|
		echo SCR_JOB_ID=j1 >.scrconf
		SLURM_JOB_ID=42|job-id|j1|
		SLURM_JOB_ID=42|job-id --job-id j2|j2|
		|job-id --job-id a/b|!|a/b
		|job-id --job-id=|!|given
		|job-id --conf /not/there|!|/not/there
		rm .scrconf
		echo SCR_JOB_ID=of-run-5 >"run 5/.scrconf"
		cd here
		|user -v|me|prefix: $PWD/here (working directory)
		|job-id -v -p ../link|of-run-5|prefix: $PWD/run 5 (given)
		SCR_PREFIX=$PWD/link|job-id -v|of-run-5|prefix: $PWD/run 5 (SCR_PREFIX
		printf '%s\\n' 'SCR_PREFIX=../run\\ 5' SCR_USER_NAME=u >.scrconf
		mkdir "../run 5/.scr" && echo SCR_JOB_NAME=app >"../run 5/.scr/app.conf"
		|user -v|u|prefix: $PWD/run 5 (SCR_PREFIX from ./.scrconf
		|conf --value SCR_JOB_NAME|app|
		rm .scrconf
		|user -v -p not/../there/|me|prefix: $PWD/here/there (given)
	END
}

@test "nodes and end: options, settings, the resource manager" {
	job="SLURM_JOB_ID=42 SLURM_JOB_NODELIST=s[1-2] SLURM_JOB_END_TIME=1700000000"
	asked <<-END
		$job|nodes -v|s[1-2]|nodes: 2: s[1-2] (slurm)
		$job|nodes -v|s[1-2]|slurm: nodes are those the job began with
		$job|end-time|1700000000|
		echo "SCR_NODELIST=f[1-2],f1" >.scrconf
		$job|nodes|f[1-2]|
		$job SCR_NODELIST=e2,e1|nodes|e[2,1]|
		$job|nodes --nodes x1000c0s0b0n[0-1]|x1000c0s0b0n[0-1]|
		$job|nodes --nodes=a[3-|!|given
		$job|nodes --nodes=,|!|given
		rm .scrconf
		|nodes --resource-manager slurm|!|SCR_NODELIST
		echo SCR_END_TIME=0 >.scrconf # an unknown one is none
		$job|end-time|1700000000|
		echo SCR_END_TIME=1800000000 >.scrconf
		$job|end-time|1800000000|
		echo SCR_END_TIME=-1 >.scrconf
		$job|end-time|-1|
		echo SCR_END_TIME=-2 >.scrconf
		$job|end-time|!|.scrconf
		echo SCR_END_TIME=soon >.scrconf
		$job|end-time|!|.scrconf
		printf "%s\\n" oops "CACHE=/ssd BYTES=2G" "STORE=/ssd GROUP=WORLD" >.scrconf
		$job|job-id|42|.scrconf:1: "oops"
		$job|job-id -v|42|cache directory: /ssd/me/scr.42 (configured, shared by all nodes, at least 2.0 GiB)
	END
}

@test "the manager is found, or named" {
	asked <<-'END'
		|user -v|me|resource manager: none
		|nodes -e|!|SCR_NODELIST
		|end-time|0|-
		|down-nodes --remote ssh --nodes a,b||-
		SLURM_JOB_ID=|user -v|me|resource manager: none
		SLURM_JOBID=7|user -v|me|resource manager: slurm
		SLURM_JOBID=7 SLURM_JOB_ID=8|job-id -v|8|resource manager: slurm
		SLURM_JOB_ID=8 FLUX_URI=local:///run/flux|user -v|me|resource manager: slurm
		FLUX_JOB_ID=f2|user -v|me|resource manager: flux
		act flux "exit 1"
		SLURM_JOB_ID=8 FLUX_URI=local:///run/flux|user -v|me|resource manager: flux
		LSB_JOBID=9|user -v|me|resource manager: lsf
		PBS_JOBID=10.server|user -v|me|resource manager: pbs
		PBS_JOBID=10.server|user -v --resource-manager none|me|resource manager: none
		PBS_JOBID=10.server|user -v --resource-manager SLURM|me|resource manager: slurm
		PBS_JOBID=10.server|user -v --resource-manager SLURM|me|made of the prefix
		PBS_JOBID=10.server|user -v --resource-manager aprun|!|aprun
		|user --resource-manager loadleveler|!|loadleveler
		printf "SCR_RESOURCE_MANAGER%s\n" =lsf _TIMEOUT=1 >.scrconf
		PBS_JOBID=1|user -v|me|resource manager: lsf
		PBS_JOBID=1|user -v --resource-manager auto|me|resource manager: pbs
		SCR_RESOURCE_MANAGER_TIMEOUT=soon|user|!|SCR_RESOURCE_MANAGER_TIMEOUT from environment
	END
}

# job ID NODES LIMIT END: a line of scontrol.
job() {
	printf '%s' "JobId=$1 JobName=run UserId=me(1000) GroupId=me(1000) " \
		"JobState=RUNNING Reason=None RunTime=00:01:00 TimeLimit=$3 " \
		"StartTime=2026-11-21T09:00:00 EndTime=$4 ReqNodeList=(null) " \
		"ExcNodeList=(null) NodeList=$2 BatchHost=node1 NumNodes=3 " \
		"WorkDir=/a b EndTime=x\n"
}

@test "SLURM: nodes and end" {
	in_42="SLURM_JOB_ID=42 SLURM_JOB_NODELIST=node[1-4]"
	all=node1,node2,node3,node4
	asked <<-END
		out scontrol "\$(job 42 node[1-2,4] 01:00:00 2026-11-21T10:00:00)"
		$in_42 SLURM_TIME_FORMAT=relative|nodes -e|node1,node2,node4|-
		called scontrol "--oneliner show job 42"
		$in_42 SLURM_TIME_FORMAT=relative|end-time|1795255200|-
		out scontrol "\$(job 41 a1 1 Unknown; job 42 node08,node09,x1000c0s0b0n[0-1] UNLIMITED Unknown; job 43 c1 1 Unknown)"
		$in_42|nodes -e|node08,node09,x1000c0s0b0n0,x1000c0s0b0n1|-
		$in_42|end-time|-1|-
		out scontrol "JobId=42 HetJobId=42 NodeList=a[1-2]\nJobId=43 HetJobId=42 NodeList=b1\nJobId=44 HetJobId=40 NodeList=c1\n"
		$in_42|nodes -e|a1,a2,b1|-
		out scontrol "\$(job 41 a1 1 2026-11-21T10:00:00)"
		$in_42|nodes -v -e|$all|no record of job 42
		out scontrol "\$(job 42 "(null)" 1:00 NONE)"
		$in_42|nodes -e|$all|
		$in_42|end-time|-1|
		act scontrol "echo sorry; exit 1"
		$in_42|nodes -v -e|$all|scontrol: failed
		$in_42|nodes -v -e|$all|SLURM_JOB_NODELIST
		rm stub/scontrol
		$in_42|nodes -e|$all|
		$in_42|end-time|0|
		$in_42 SLURM_JOB_END_TIME=1800000000|end-time|1800000000|
		SLURM_JOB_ID=42 SLURM_NODELIST=old[1-2]|nodes -e|old1,old2|
		SLURM_JOB_ID=42|nodes -e|!|
		SLURM_JOB_ID=42 SLURM_JOB_NODELIST_HET_GROUP_0=a[1-2] SLURM_JOB_NODELIST_HET_GROUP_1=b1|nodes -e|a1,a2,b1|
		SLURM_JOB_ID=42 SLURM_NODELIST=bad[1-|nodes -e|!|
	END
}

@test "SLURM: nodes that are down; commands that misbehave" {
	down="SLURM_JOB_ID=42|down-nodes --remote ssh --nodes"
	asked <<-END
		$down node[1-4]||
		out sinfo "node1 idle\nnode2 down*\nnode3 drained\nnode4 drained*\nnode5 DOWN\nnode6 fail\nnode7 failing\nnode8 mixed*\nnode9 idle~\nnode10 powered_down\nnode11 allocated\nnode12 downhill\nother down\nnode2 down*\n"
		SINFO_FORMAT=%all $down node12,node[1-11]|node[2,5,9-10]|
		called sinfo --nodes=node[12,1-11]
		out sinfo "node[2-3,07]\n" # ranges of nodes
		$down node[1-4],node07|node[2-3,07]|
		out sinfo "node[2-3] down*\n"
		$down node[1-4]|node[2-3]|
		out sinfo "node[2- down\nnode1 down\n" # nonsense costs its line
		$down node[1-4]|node1|
		act sinfo 'echo node1 down; kill -9 \$\$'
		$down node[1-4]||
		act sinfo "echo node1 down; echo oops >&2"
		$down node[1-4]|node1|
		act sinfo 'read x && echo \$x; echo "node3 down"'
		$down node[1-4]|node3|
		act sinfo 'echo "node2 down \$LC_ALL" | grep -q "down C$" && echo node2 down'
		LC_ALL=xx_XX LANG=xx_XX $down node[1-4]|node2|
		act sinfo 'env | grep -q "^SINFO_" || echo node2 down'
		SINFO_FORMAT=%all $down node[1-4]|node2|
		act sinfo "sleep 60 </dev/null >/dev/null & echo node4 down"
		$down node[1-4]|node4|
		echo junk >stub/sinfo && chmod 644 stub/sinfo
		$down node[1-4]||
	END
}

# A controller that does not answer costs one time-out, here a second.
@test "SLURM hangs: that is told, and what was started is gone" {
	hangs="SCR_RESOURCE_MANAGER_TIMEOUT=1 SLURM_JOB_ID=42 SLURM_JOB_NODELIST=node[1-4]"
	SECONDS=0
	asked <<-END
		act scontrol 'sleep 60 & echo \$! >>pid; sleep 60'
		act sinfo "echo node1 down; exec >&-; sleep 60"
		$hangs|-v -e -n|0\nnode1,node2,node3,node4|scontrol: no answer in time
		$hangs|down-nodes --remote ssh --nodes node[1-4]||
	END
	((SECONDS < 30)) && [[ $(wc -l <pid) -eq 1 ]]
	for _ in {1..100}; do
		[[ $(cat "/proc/$(<pid)/stat" 2>/dev/null || echo ") Z ") != *") Z "* ]] || return 0
		sleep 0.01
	done
	failed "it still runs"
}

@test "LSF: id, nodes and end" {
	asked <<-'END'
		LSB_JOBID=77|job-id|77|-
		LSB_JOBID=77|nodes -e|!|
		LSB_JOBID=77 LSB_DJOB_HOSTFILE=hosts|nodes -e|!|
		printf '%s\n' batch1 h3 h3 h1 h1 h2 h2 >hosts
		LSB_JOBID=77 LSB_DJOB_HOSTFILE=hosts|nodes -e|h3,h1,h2|-
		printf '%s\n' batch1 h1 h2 >hosts # with one slot each
		LSB_JOBID=77 LSB_DJOB_HOSTFILE=hosts|nodes -e|h1,h2|-
		printf 'h1\nh1\nh2\nh2' >hosts # a first node with slots stays
		LSB_JOBID=77 LSB_DJOB_HOSTFILE=hosts|nodes -e|h1,h2|-
		echo h1 >hosts
		LSB_JOBID=77 LSB_DJOB_HOSTFILE=hosts|nodes -e|h1|-
		LSB_JOBID=77|down-nodes --remote ssh --nodes h1,h2||
		echo >hosts
		LSB_JOBID=77 LSB_DJOB_HOSTFILE=hosts|nodes -e|!|
		printf 'a b\n-x\n' >hosts
		LSB_JOBID=77 LSB_DJOB_HOSTFILE=hosts|nodes -e|!|
		LSB_JOBID=77|end-time|0|
		out bjobs "1:30 L\n"
		LSB_JOBID=77|end-time|+5400|
		called bjobs "-noheader -o time_left 77"
		out bjobs "TIME_LEFT\n  100:00 L \n"
		LSB_JOBID=77|end-time|+360000|
		out bjobs "-\n"
		LSB_JOBID=77|end-time|-1|
		out bjobs "Job <77> is not found\n"
		LSB_JOBID=77|end-time|0|
	END
}

# flux JOBID ALL DOWN LEFT: a mock flux; what its sub-commands do.
flux() {
	act flux 'case "$*" in "getattr jobid") '"$1"' ;;
		"resource list -n -o {nodelist} -s all") '"$2"' ;;
		"resource list -n -o {nodelist} -s down") '"$3"' ;;
		"job timeleft") '"$4"' ;; *) exit 9 ;; esac'
}

@test "Flux: id, nodes, end, and nodes that are down" {
	asked <<-'END'
		flux "echo f23ABC" "echo 'fluke[3,6-8]'" "echo fluke7" "echo 3600"
		FLUX_URI=x|job-id|f23ABC|-
		FLUX_URI=x|nodes -e|fluke3,fluke6,fluke7,fluke8|-
		FLUX_URI=x|down-nodes --remote ssh --nodes fluke[6-8]|fluke7|
		FLUX_URI=x|end-time|+3600|-
		flux "exit 1" "exit 1" "echo" "echo inf"
		FLUX_URI=x|nodes -e|!|
		FLUX_URI=x|down-nodes --remote ssh --nodes fluke[6-8]||
		FLUX_URI=x|end-time|-1|
		FLUX_URI=x|user -v|me|made of the prefix
		FLUX_URI=x FLUX_JOB_ID=f9|job-id|f9|
		flux "exit 1" "echo" "exit 1" "echo soon"
		FLUX_URI=x|nodes -e|!|
		FLUX_URI=x|end-time|0|
	END
}

@test "PBS: id, nodes, end, and nodes that are down" {
	asked <<-'END'
		PBS_JOBID=12.server|job-id|12.server|-
		PBS_JOBID=12.server|nodes -e|!|
		printf '%s\n' r1i0n3 r1i0n3 r1i0n4 r1i0n3 >nodes
		PBS_JOBID=12.server PBS_NODEFILE=nodes|nodes -e|r1i0n3,r1i0n4|-
		PBS_JOBID=12.server|down-nodes --remote ssh --nodes r1i0n[3-4]||
		out pbsnodes "r1i0n4   offline,down   bad disk\nr1i0n3   offline        down for tea\nn9 state-unknown,down\n"
		PBS_JOBID=12.server|down-nodes --remote ssh --nodes r1i0n[3-4]|r1i0n4|
		PBS_JOBID=12.server|end-time|0|
		out qstat "Job Id: 12.server\n    Job_Name = run\n    resources_used.walltime = 00:10:00\n    Resource_List.walltime = 02:00:00\n    stime = Sat Nov 21 09:00:00 2026\n"
		PBS_JOBID=12.server|end-time|1795258800|
		called qstat "-f 12.server"
		out qstat "    resources_used.walltime = 00:10:00\n    Resource_List.walltime = 1:02:00:00\n"
		PBS_JOBID=12.server|end-time|+93000|
		out qstat "    stime = Sat Nov 21 09:00:00 2026\n"
		PBS_JOBID=12.server|end-time|0|
		out qstat "    Resource_List.walltime = long\n"
		PBS_JOBID=12.server|end-time|0|
		out qstat "    Resource_List.walltime = 1:1:1:1:1\n"
		PBS_JOBID=12.server|end-time|0|
	END
}
