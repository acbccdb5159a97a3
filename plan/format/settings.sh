# What scripts share: each takes of it what it calls. It changes the host only by
# way of "set_now", "keep" and "unkeep", which are made for each plan.

# die MESSAGE: not called "stop", for which ksh has an alias.
die() {
	printf '%s\n' "$*" >&2
	exit 1
}

say() { printf '%s\n' "$*"; }

# fail MESSAGE: what could not be done is said, and the exit status tells.
fail() {
	printf '%s\n' "$*" >&2
	status=1
}

# on_one_line TEXT...: with single blanks between its words.
on_one_line() {
	set -f
	# shellcheck disable=SC2048,SC2086 # to be split
	set -- $*
	set +f
	printf '%s\n' "$*"
}

# present N: the present value of a setting.
present() {
	text=$(read_now "$1" 2>/dev/null) || return 1
	text=$(on_one_line "$text")
	case $text in
	'' | *'|'*) return 1 ;;
	esac
	printf '%s\n' "$text"
}

number() {
	case $1 in
	'' | *[!0-9]*) return 1 ;;
	esac
}

# larger A B: whether a whole number is larger than another, however large they are.
larger() {
	a=$1 b=$2
	while [ "$a" != "${a#0}" ]; do a=${a#0}; done
	while [ "$b" != "${b#0}" ]; do b=${b#0}; done
	if [ ${#a} -ne ${#b} ]; then
		[ ${#a} -gt ${#b} ]
		return
	fi
	while [ ${#a} -gt 9 ]; do
		restA=${a#?????????} restB=${b#?????????}
		a=${a%"$restA"} b=${b%"$restB"}
		if [ "1$a" -ne "1$b" ]; then
			[ "1$a" -gt "1$b" ]
			return
		fi
		a=$restA b=$restB
	done
	[ "1$a" -gt "1$b" ]
}

# raise PRESENT WANTED: leaves in $to what is larger of each element, in order.
# It fails where the two are not whole numbers, and as many.
raise() {
	to='' floor=0 rest=$2 raised=''
	for have in $1; do
		want=${rest%% *}
		case $rest in
		*' '*) rest=${rest#* } ;;
		*) rest='' ;;
		esac
		number "$have" || return 1
		number "$want" || return 1
		if larger "$want" "$have"; then have=$want raised=yes; fi
		if larger "$floor" "$have"; then have=$floor; fi
		floor=$have
		to=$to${to:+ }$have
	done
	[ -n "$raised" ] || to=$1
	[ -n "$to" ] && [ -z "$rest" ]
}

# recall NAME: leaves in $was, $ours and $kept what a setting was before this
# script changed it, what the script made of it, and what was kept of it.
recall() {
	[ -f "$saved" ] || return 1
	while IFS='|' read -r known was ours kept; do
		if [ "$known" = "$1" ]; then return 0; fi
	done <"$saved"
	return 1
}

# remember NAME [WAS OURS KEPT]: writes that down; without values, forgets it.
remember() {
	if [ -f "$saved" ]; then
		while IFS= read -r entry; do
			if [ "${entry%%|*}" != "$1" ]; then printf '%s\n' "$entry"; fi
		done <"$saved" >"$saved.new" || return 1
	else
		: >"$saved.new" || return 1
	fi
	if [ $# -gt 1 ]; then
		printf '%s|%s|%s|%s\n' "$1" "$2" "$3" "$4" >>"$saved.new" || return 1
	fi
	mv -f "$saved.new" "$saved"
}

# switch VALUE: as commands call it.
switch() {
	if [ "$1" = 1 ]; then echo on; else echo off; fi
}

# change N VALUE: sets a value, and reads it back.
change() {
	said=$(set_now "$1" "$2" "$(switch "$2")" 2>&1) || return 1
	[ "$(present "$1")" = "$2" ] || {
		said='it was accepted, but it is not so'
		return 1
	}
}

# setting N NAME WANTED raise|switch [FIRST...]: makes one setting, unless one of
# those that have to come first could not be made.
setting() {
	n=$1 name=$2 to=$3 how=$4 wanted=$3
	shift 4
	for first in "$@"; do
		case "|$failed|" in
		*"|$first|"*)
			fail "$name: left alone, since $first comes first and could not be set"
			failed="$failed|$name"
			return
			;;
		esac
	done
	if ! now=$(present "$n"); then
		fail "$name: left alone, since its value cannot be read here"
		failed="$failed|$name"
		return
	fi
	if [ "$how" = raise ] && ! raise "$now" "$wanted"; then
		fail "$name: left alone, since it is \"$now\", which cannot be compared with \"$wanted\""
		failed="$failed|$name"
		return
	fi
	if [ "$now" = "$to" ]; then
		if [ "$to" = "$wanted" ]; then
			say "$name: $now already"
			keep_value "$n" "$to" same
		else
			say "$name: $now already, which is more than $wanted"
			if recall "$name"; then keep_value "$n" "$to" same; fi
		fi
		return
	fi
	if ! { recall "$name" && [ "$ours" = "$now" ]; }; then
		was=$now kept=$(on_one_line "$(kept_now "$n" 2>/dev/null)")
	fi
	if ! remember "$name" "$was" "$to" "$kept"; then
		die "$name: left alone, since its old value cannot be written down in $saved"
	fi
	if change "$n" "$to"; then
		say "$name: $now -> $to"
		keep_value "$n" "$to" new
	else
		fail "$name: cannot be set to $to: $said"
		failed="$failed|$name"
		if [ "$(present "$n")" = "$was" ]; then remember "$name"; fi
	fi
}

# keep_value N VALUE new|same: has it outlive a boot, where this script does that.
keep_value() {
	said=$(keep "$1" "$2" "$(switch "$2")" "$3" 2>&1) || fail "$name: cannot be kept: $said"
	if [ -n "$said" ]; then say "$name: $said"; fi
}

# later N NAME WANTED raise|switch: makes a setting that only counts from the next
# boot on. What is larger already is so by somebody else's line.
later() {
	name=$2 to=$3
	if [ "$4" = raise ] && now=$(present "$1") && raise "$now" "$3" && [ "$to" != "$3" ]; then
		say "$name: $now already, which is more than $3"
		return
	fi
	say "$name: $3 from the next boot on"
	keep_value "$1" "$3" new
}

# keep_line INDEX LINE: for the file of that number, written later.
keep_line() { printf '%s\n' "$2" >>"$work/$1"; }

# put INDEX FILE MARK: writes the lines that are kept in a file between two
# comments that begin with MARK. The rest of the file stays as it is.
put() {
	file=$2 begin="$3 fullbore begin" end="$3 fullbore end"
	if [ ! -f "$work/$1" ]; then
		[ -f "$file" ] || return 0
		: >"$work/$1"
	fi
	if [ -h "$file" ]; then
		fail "$file: left alone, since it is a symbolic link"
		return
	fi
	inside=''
	: >"$work/text"
	if [ -f "$file" ]; then
		while IFS= read -r line || [ -n "$line" ]; do
			if [ "$line" = "$begin" ]; then
				inside=yes
			elif [ "$line" = "$end" ] && [ -n "$inside" ]; then
				inside=''
			elif [ -z "$inside" ]; then
				printf '%s\n' "$line"
			fi
		done <"$file" >"$work/text"
	fi
	if [ -n "$inside" ]; then
		fail "$file: left alone, since it has the line \"$begin\" without \"$end\""
		return
	fi
	if [ -s "$work/$1" ]; then
		{
			say "$begin"
			cat "$work/$1"
			say "$end"
		} >>"$work/text"
	fi
	if [ -f "$file" ] && cmp -s "$work/text" "$file"; then return; fi
	if [ ! -s "$work/text" ]; then
		if rm -f "$file"; then say "$file: removed"; else fail "$file: cannot be removed"; fi
		return
	fi
	if write "$work/text" "$file"; then say "$file: written"; else fail "$file: cannot be written"; fi
}

# write TEXT FILE: the file is the old one or the new one at any time.
write() {
	mkdir -p "${2%/*}" || return 1
	if [ -f "$2" ]; then
		cp -p "$2" "$2.fullbore-new" || return 1
	fi
	cat "$1" >"$2.fullbore-new" && mv -f "$2.fullbore-new" "$2"
}

# put_back N NAME WAS OURS KEPT: sets the old value again where it is still ours.
put_back() {
	name=$2
	if ! now=$(present "$1"); then
		fail "$name: left alone, since its value cannot be read here"
		return 1
	fi
	if [ "$now" != "$4" ] && [ "$now" != "$3" ]; then
		say "$name: left alone, since it is $now by now: not what was set"
		return 0
	fi
	if ! said=$(unkeep "$1" "$3" "$(switch "$3")" "$5" 2>&1); then
		fail "$name: cannot be forgotten: $said"
		return 1
	fi
	if [ "$(present "$1")" = "$3" ]; then
		if [ "$now" = "$3" ]; then say "$name: $3 already"; else say "$name: $now -> $3"; fi
	elif change "$1" "$3"; then
		say "$name: $now -> $3"
	else
		fail "$name: cannot be set to $3: $said"
		return 1
	fi
}

# take_back N NAME: as put_back, with what was written down.
take_back() {
	if recall "$2" && put_back "$1" "$2" "$was" "$ours" "$kept"; then remember "$2"; fi
}
