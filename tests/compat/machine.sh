# SPDX-License-Identifier: MIT
# Runs in an emulated machine, for what holds for a whole machine and is no test's to change on this one; sourced by
# compat.sh. The machine has a kernel of Debian's, and of its own nothing but heapwise, its libraries and the program.

# The kernel: HEAPWISE_TEST_KERNEL, or one of this machine, or Debian's package, which is unpacked and not installed.
machine_kernel()
{
	local kernel package

	for kernel in "${HEAPWISE_TEST_KERNEL:-/nowhere}" /boot/vmlinuz-*; do
		[ ! -r "$kernel" ] || { echo "$kernel"; return; }
	done
	package=$(apt-cache depends linux-image-cloud-amd64 2>/dev/null | sed -n 's/.*Depends: \(linux-image-[0-9]\)/\1/p' | head -1)
	[ -n "$package" ] && mkdir kernel && chmod 755 . || return
	# In unstable the image itself is in linux-binary-VERSION, and linux-image-VERSION is empty.
	for package in "$package" "${package/image/binary}"; do
		(cd kernel && apt-get download "$package" && dpkg-deb -x "./$package"_*.deb .) >/dev/null 2>&1
	done
	ls kernel/boot/vmlinuz-* kernel/usr/lib/modules/*/vmlinuz 2>/dev/null | head -n 1 | grep .
}

# machine_files FILE...   with the libraries that they load, into machine/ under the same names
machine_files()
{
	local file

	for file; do
		echo "$file"
		ldd "$file" 2>/dev/null | grep -o '/[^ ]*'
	done | sort -u | xargs cp -L --parents -t machine
}

# machine_init BEFORE MEANWHILE ARGUMENT...   its process 1. Shell commands come before the runs, and while the recorded program
# waits for /out/go; what is left in /out goes out by the second serial line.
machine_init()
{
	local before=$1 meanwhile=$2

	shift 2
	cat >machine/init <<-END
	#!/bin/sh
	mkdir -p /proc /sys /dev /tmp /out
	mount -t proc none /proc; mount -t sysfs none /sys; mount -t devtmpfs none /dev; mount -t tmpfs none /out
	mkdir -p /dev/shm; mount -t tmpfs none /dev/shm
	export HOME=/out LC_ALL=C
	cd /out
	$before
	touch go
	$target $* >alone.out 2>alone.err; echo \$? >alone.status
	rm -f go waits
	(
		i=0
		while [ ! -e waits ] && [ \$i -lt 60 ]; do sleep 1; i=\$((i + 1)); done
		$meanwhile
		touch go
	) >meanwhile 2>&1 &
	$HEAPWISE run --no-symbols -o trace -- $target $* >recorded.out 2>stderr; echo \$? >status
	touch waits
	wait
	uname -r >kernel
	cat /proc/sys/vm/overcommit_memory >overcommit
	dmesg | grep -c 'PM: suspend exit' >sleeps
	stty -F /dev/ttyS1 raw
	tar -cf - . | gzip | base64 >/dev/ttyS1
	echo END >/dev/ttyS1
	sleep 1
	reboot -f
	END
	chmod 755 machine/init
}

# in_machine BEFORE MEANWHILE ARGUMENT...   runs the target there, alone and recorded; what came of it is in out/
in_machine()
{
	local kernel busybox pid i

	[ "$(uname -m)" = x86_64 ] || skip "the emulated machine is an x86_64"
	needs qemu-system-x86_64 qemu-system-x86
	needs busybox busybox-static
	busybox=$(command -v busybox)
	kernel=$(machine_kernel) && [ -n "$kernel" ] || skip "no kernel that can be read, and none to be had by apt-get"
	mkdir -p machine/bin out
	machine_files "$busybox" "$HEAPWISE" "$HEAPWISE_BUILD_DIR/libheapwise.so" "$target"
	for i in sh mount mkdir touch rm sleep uname cat dmesg grep stty tar gzip base64 reboot date sysctl; do
		ln -sf "$busybox" "machine/bin/$i"
	done
	machine_init "$@"
	(cd machine && find . | busybox cpio -o -H newc 2>/dev/null | gzip -1) >initrd
	qemu-system-x86_64 -machine q35,accel=tcg -cpu max -smp 2 -m 1024 -net none -display none -monitor none -no-reboot \
		-serial file:console -serial file:line -kernel "$kernel" -initrd initrd \
		-append "console=ttyS0 panic=-1 no_timer_check" </dev/null >qemu.log 2>&1 &
	pid=$!
	for ((i = 0; i < 2500; i++)); do
		kill -0 "$pid" 2>/dev/null && ! grep -q ^END line 2>/dev/null || break
		sleep 0.2
	done
	kill "$pid" 2>/dev/null
	wait "$pid" 2>/dev/null
	if ! sed '/^END/,$d' line | base64 -d 2>/dev/null | tar -xmzf - -C out; then
		fail "the machine did not get to its end:"
		tail -n 20 console qemu.log
		finish
	fi
	echo "Linux $(cat out/kernel)"
	alone_status=$(cat out/alone.status)
	cp out/alone.out out/recorded.out out/stderr .
	equal "exit status" "$(cat out/status)" "$alone_status"
	cmp alone.out recorded.out || fail "the program's output is not the same"
	outcome_is "$(truths recorded.out)" out/trace
}
