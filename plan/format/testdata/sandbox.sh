# sandbox.sh CARRIERS FILES COMMAND...: runs a command on a copy of this machine's
# files that nothing comes back from, with the programs of CARRIERS ("": none)
# added, and FILES at /plan. It is started in mount, network and process namespaces of its own.
set -eu
carriers=$1 files=$2
shift 2
mount --make-rprivate /
# Any directory will do: what is mounted is seen by nobody else.
mount -t tmpfs tmpfs /mnt
mkdir /mnt/upper /mnt/work /mnt/root
mount -t overlay overlay -o lowerdir=/,upperdir=/mnt/upper,workdir=/mnt/work /mnt/root
root=/mnt/root
if [ -d "$carriers" ]; then
	cp -a "$carriers/." "$root/"
fi
mkdir "$root/plan"
cp -a "$files/." "$root/plan/"
mount -t proc proc "$root/proc" 2>/dev/null || mount --rbind /proc "$root/proc"
# Of the kernel's settings only those of the network namespace can be changed.
mount --bind "$root/proc/sys" "$root/proc/sys"
mount -o remount,bind,ro "$root/proc/sys"
mount --bind /proc/sys/net "$root/proc/sys/net"
mount -t sysfs sysfs "$root/sys"
mount --rbind /dev "$root/dev"
mount -t tmpfs tmpfs "$root/run"
rm -rf "$root/etc/sysctl.d" "$root/etc/sysctl.conf"
mkdir "$root/etc/sysctl.d"
rm -rf "$root/var/lib/fullbore" # what this machine's own fullbore keeps
ip link set lo up
cd "$root/plan"
exec chroot "$root" "$@"
