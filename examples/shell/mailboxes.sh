#!/usr/bin/env bash
# Delivers, lists, shows and deletes mails in the mailboxes STORES/NODE/mail/KEY/new, also while
# `stead-sync carry` moves them. docs/carry.md, "In the shell", explains it.
#
#     mailboxes.sh deliver KEY FILE      puts a copy of FILE into the mailbox KEY; prints its name
#     mailboxes.sh list KEY              prints the names of the mails
#     mailboxes.sh show KEY NAME         prints a mail
#     mailboxes.sh delete KEY NAME       deletes a mail
#     mailboxes.sh                       reads such commands from standard input, one in a line,
#                                        and prints `exit CODE` after each
#
# The environment may set MAP, the map of this host, STORES and LOCKS.
set -u
map=${MAP:-/var/lib/stead/mail.map} stores=${STORES:-/srv} locks=${LOCKS:-/run/lock/mailboxes}

# one process answers all lookups, each from the newest map
coproc STEAD { exec stead locate --carry --follow "$map"; }

fail() {
	echo "mailboxes.sh: $*" >&2
	return 1
}

# Sets the arrays `reads` and `writes`: the nodes of a mailbox at this moment, in order.
ask() {
	local answer
	printf '%s\n' "$1" >&"${STEAD[1]}" && IFS=$'\t' read -ra answer <&"${STEAD[0]}" || return
	IFS=, read -ra reads <<<"${answer[1]}"
	IFS=, read -ra writes <<<"${answer[2]}"
}

# Sets `mails` to the mailbox at the first node that answers, which is one that is mounted. That
# node decides, also if it has no such mail: the others may still have what was deleted.
look() {
	local node
	ask "$1" || return
	for node in "${reads[@]}"; do
		mails=$stores/$node/mail/$1/new
		[ -d "$stores/$node/mail" ] && return
	done
	fail "no node of $1 answers: ${reads[*]}"
}

# Does a write while no other process of this host writes the mailbox. The nodes are asked for when
# the lock is there, since they may change while it waits. If the write fails at a node, it has
# failed, although it is done at the nodes before. So a mail that is delivered again may be there
# twice, under two names.
write() { # FUNCTION KEY WORD...
	local lock status
	mkdir -p "$locks" && exec {lock}>"$locks/$2" && flock "$lock" || return
	ask "$2" && everywhere "$@"
	status=$?
	exec {lock}>&-
	return $status
}

everywhere() {
	local node
	for node in "${writes[@]}"; do
		[ -d "$stores/$node/mail" ] || fail "$node is not mounted" || return
		"$1" "$stores/$node" "${@:2}" || return
	done
}

# A mail gets its name when it is whole. Empty directories are not carried, and the carrier may
# remove one between `mkdir` and `mv`, so both are tried twice.
put() { # STORE KEY NAME FILE
	mkdir -p "$1/tmp" && cp -- "$4" "$1/tmp/$3" || return
	place "$@" || place "$@"
}
place() { mkdir -p "$1/mail/$2/new" && mv -T "$1/tmp/$3" "$1/mail/$2/new/$3"; }
remove() { rm -f "$1/mail/$2/new/$3"; }

count=0
perform() { # COMMAND KEY [WORD]
	local mails name word='^[A-Za-z0-9][A-Za-z0-9@._+-]*$'
	[[ $1 =~ ^(deliver|list|show|delete)$ ]] || fail "no such command: $1" || return
	[[ ${2-} =~ $word ]] || fail "not a mailbox: ${2-}" || return
	[[ $1 =~ ^(deliver|list)$ || ${3-} =~ $word ]] || fail "not a mail: ${3-}" || return
	case $1 in
	deliver)
		printf -v name '%(%s)T.%d_%d.%s' -1 $$ $((++count)) "$HOSTNAME"
		write put "$2" "$name" "$3" && echo "$name"
		;;
	list) look "$2" && { [ ! -d "$mails" ] || ls "$mails"; } ;;
	show) look "$2" && cat "$mails/$3" ;;
	delete) write remove "$2" "$3" ;;
	esac
}

if [ $# -gt 0 ]; then
	perform "$@"
else
	while read -r command key word; do
		perform "$command" "$key" "$word"
		echo "exit $?"
	done
fi
