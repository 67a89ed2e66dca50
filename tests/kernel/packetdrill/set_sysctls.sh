# SPDX-License-Identifier: GPL-2.0
#
# Stands for set_sysctls.py of Linux, in any POSIX shell: sets FILE=VALUE... below /proc/sys, and
# writes the program that packetdrill's scripts run at their end. As each script has a network
# namespace of its own, nothing needs to be restored.
for setting; do
  printf '%s\n' "${setting#*=}" >"${setting%%=*}" || exit 1
done
end=/tmp/sysctl_restore_$PACKETDRILL_PID.sh
echo : >"$end"
chmod +x "$end"
