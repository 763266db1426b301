#!/bin/sh
# SPDX-License-Identifier: MIT
# owner: ^database _entry
# source: https://nvd.nist.gov/vuln/detail/CVE-2019-9705: a user's table may have any number of lines, and cron keeps all of them. The limit of the fix is
#         taken back. It runs in a folder of its own, and as any user.
. "$(dirname "$0")/lib"
needs gcc
cron=$PACKAGES/cron-unlimited
if source_of cron cron-unlimited; then
	sed -i 's/^#define MAX_TAB_LINES.*/#define MAX_TAB_LINES 1000000000/; s/^#define[[:space:]]*ROOT_UID.*/#define ROOT_UID getuid()/' "$cron/cron.h"
	sed -i 's|^# define PIDDIR.*|# define PIDDIR ""|; s|"/etc/crontab"|"none"|; s|"/etc/cron.d"|"none"|; s|"/run/crond.reboot"|"ready"|' \
		"$cron/pathnames.h"
fi
(cd "$cron" && gcc -O1 -g -w -I. -DDEBUGGING=0 -DCRONDIR='"."' -o cron cron.c database.c user.c entry.c job.c do_command.c misc.c env.c popen.c compat.c)
mkdir crontabs
seq -f '0 0 1 1 * true %g' 20000 >"crontabs/$(id -un)"
chmod 600 crontabs/*
(
	until_there scanned
	kill "$(cat crond.pid)"
) &
scan_when ready "$cron/cron" -f -L 0
