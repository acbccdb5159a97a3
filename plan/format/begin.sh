
case $(id) in
"uid=0("*) ;;
*) die "this changes settings of the system: run it as root" ;;
esac
mkdir -p "$state" || die "$state: cannot be made"
work=$state/work.$$
(umask 077 && mkdir "$work") || die "$work: cannot be made"
trap 'rm -rf "$work"' 0
trap 'exit 1' 1 2 15
