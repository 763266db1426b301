/* SPDX-License-Identifier: MIT
 * Which package or server has the names of a module, on systems that are made up. */
#include "host/symbols/remedy.h"
#include "unit/symbols_tools.h"

static const u8 build_id[] = {0xab, 0xcd, 0xef, 0x01, 0x23, 0x45, 0x67, 0x89};

static struct symbolizer_module module_at(const char *path)
{
	return (struct symbolizer_module){.path = path, .build_id = build_id, .build_id_bytes = sizeof build_id};
}

/* lib.so without names, named.so with them, and the system's files below root. */
static void make_files(const char *distribution)
{
	need("gcc", "gcc");
	MUST("echo 'int f(void) { return 1; }' | gcc -x c -shared -fPIC -Wl,--build-id=0xabcdef0123456789 -o named.so - && strip -o lib.so named.so");
	MUST("mkdir -p root/etc root/var/lib/dpkg/info root/var/lib/apt/lists");
	MUST("printf '%s' >root/etc/os-release", distribution);
}

#define DEBIAN "PRETTY_NAME=\"Debian\"\\nVERSION_CODENAME=bookworm\\nID=debian\\n"
#define UBUNTU "VERSION_CODENAME=jammy\\nID=ubuntu\\nID_LIKE=debian\\n"
#define FEDORA "ID=fedora\\n"

static struct remedy remedy_of(const char *file)
{
	struct symbolizer_module module = module_at(in_folder(file));
	struct remedy remedy;

	remedy_find(in_folder("root"), &module, 1, &remedy);
	return remedy;
}

TEST(states, "a module's file may be gone, another build, stripped, or have its names after all")
{
	struct symbolizer_module other = module_at(in_folder("lib.so"));
	static const u8 another[] = {1, 2, 3, 4};
	struct remedy remedy;

	make_files(DEBIAN);
	CHECK_EQ(remedy_of("nothing.so").state, REMEDY_GONE);
	CHECK_EQ(remedy_of("lib.so").state, REMEDY_STRIPPED);
	CHECK_EQ(remedy_of("named.so").state, REMEDY_NAMED);
	other.build_id = another;
	other.build_id_bytes = sizeof another;
	remedy_find(NULL, &other, 1, &remedy);
	CHECK_EQ(remedy.state, REMEDY_REPLACED);
	MUST("echo 'not an ELF file' >text.so");
	CHECK_EQ(remedy_of("text.so").state, REMEDY_REPLACED);
}

TEST(owner, "the package that dpkg lists the file in has a debug package beside it")
{
	struct remedy remedy;

	make_files(DEBIAN);
	MUST("printf '/.\\n/usr\\n%s.1\\n' >root/var/lib/dpkg/info/other.list", in_folder("lib.so"));
	CHECK_STR(remedy_of("lib.so").install, ""); /* of another file */
	MUST("printf '/.\\n/usr\\n%s\\n' >root/var/lib/dpkg/info/libwidget1:amd64.list", in_folder("lib.so"));
	remedy = remedy_of("lib.so");
	CHECK_STR(remedy.install, "apt install libwidget1-dbgsym");
	CHECK_STR(remedy.archive, "Debian's debug archive, suite bookworm-debug");
	CHECK_STR(remedy_of("named.so").install, "");
	make_files(UBUNTU);
	CHECK_STR(remedy_of("lib.so").archive, "Ubuntu's debug archive (ddebs), suite jammy");
}

TEST(apt, "a package that apt knows by the build-id is named, and needs no other archive")
{
	struct remedy remedy;

	make_files(DEBIAN);
	MUST("printf '/.\\n%s\\n' >root/var/lib/dpkg/info/libwidget1.list", in_folder("lib.so"));
	MUST("printf 'Package: a-dbgsym\\nBuild-Ids: 1111\\n\\nPackage: widget-tools-dbgsym\\nSource: widget\\n"
	     "Build-Ids: 2222 abcdef0123456789\\nSize: 1\\n\\nPackage: z-dbgsym\\n' "
	     ">root/var/lib/apt/lists/mirror_debian-debug_dists_bookworm-debug_main_binary-amd64_Packages");
	remedy = remedy_of("lib.so");
	CHECK_STR(remedy.install, "apt install widget-tools-dbgsym");
	CHECK_STR(remedy.archive, "");
}

TEST(servers, "each distribution has its server, and others the one of elfutils")
{
	make_files(DEBIAN);
	CHECK_STR(remedy_server(in_folder("root")), "https://debuginfod.debian.net");
	make_files(UBUNTU);
	CHECK_STR(remedy_server(in_folder("root")), "https://debuginfod.ubuntu.com");
	make_files(FEDORA);
	CHECK_STR(remedy_server(in_folder("root")), "https://debuginfod.fedoraproject.org");
	CHECK_STR(remedy_server(in_folder("nowhere")), "https://debuginfod.elfutils.org");
}
