#!/bin/sh
# usage: enter-chroot.sh TREE [SOURCE:TARGET]... -- COMMAND [ARGUMENT]...
# Runs COMMAND in TREE. Started by unshare in mount and process namespaces of its own: what is mounted here is gone
# when COMMAND is. The real agent believes that it owns its machine. So that it can't harm the one it runs on, it gets no
# disk (no /sys but what is bound there, no device nodes, no right to make any), no SysRq and no right to reboot.
set -eu
tree=$1
shift
mount -t proc proc "$tree/proc"
[ ! -e "$tree/proc/sysrq-trigger" ] || mount --bind /dev/null "$tree/proc/sysrq-trigger"
for place in run tmp var/tmp; do
  mount -t tmpfs -o mode=1777 tmpfs "$tree/$place"
done
while [ "$1" != -- ]; do
  mount --bind "${1%%:*}" "$tree/${1#*:}"
  shift
done
shift
rights=-all,+chown,+dac_override,+fowner,+fsetid,+kill,+setgid,+setuid,+net_bind_service,+net_raw,+sys_chroot
exec setpriv --bounding-set="$rights" --inh-caps=-all --no-new-privs chroot "$tree" "$@"
