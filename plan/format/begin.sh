
case $(id) in
"uid=0("*) ;;
*) stop "this changes settings of the system: run it as root" ;;
esac
mkdir -p "$state" || stop "$state: cannot be made"
work=$state/work.$$
(umask 077 && mkdir "$work") || stop "$work: cannot be made"
trap 'rm -rf "$work"' 0
trap 'exit 1' 1 2 15
