/* SPDX-License-Identifier: MIT
 * Looks through the code of a module; see unchecked.h. Runs in the monitor, when the program has
 * ended. The file is input from strangers: all its numbers are bounded by its size. */
#include "live/program/unchecked.h"

#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include "host/base/io.h"

enum { SECTIONS_MAX = 4096, WORDS = 4096 };

/* ld1 of one register is what a vector load is. The vectoriser makes the others, too, of loads that
 * were checked (clang) or not (gcc). */
static bool is_several(u32 code)
{
	return (code & 0xbf200000) == 0x0c000000 && (code >> 12 & 15) != 7;
}

/* Of one lane, or the same for all, as many elements as its name says. */
static bool is_several_lanes(u32 code)
{
	return (code & 0xbf000000) == 0x0d000000 && (code & (1u << 21 | 1u << 13));
}

static bool is_scalable(u32 code) { return (code & 0x9e000000) == 0x84000000; }

static u64 count_words(const u32 *words, u64 count)
{
	u64 found = 0;

	for (u64 i = 0; i < count; i++)
		found +=
			is_several(words[i]) || is_several_lanes(words[i]) || is_scalable(words[i]);
	return found;
}

static u64 count_section(int fd, const Elf64_Shdr *section)
{
	u32 words[WORDS];
	u64 found = 0, done = 0, bytes = sizeof(words);

	while (done < section->sh_size && bytes == sizeof(words)) {
		u64 left = section->sh_size - done;

		if (io_read_at(fd, words, left < sizeof(words) ? left : sizeof(words),
			       section->sh_offset + done, &bytes) != 0)
			return found;
		found += count_words(words, bytes / sizeof(*words));
		done += bytes;
	}
	return found;
}

/* By sections: a segment of code has data as well, some of which look like such instructions. */
static u64 count_file(int fd)
{
	Elf64_Ehdr head;
	Elf64_Shdr section;
	u64 bytes, found = 0;

	if (io_read_at(fd, &head, sizeof(head), 0, &bytes) != 0 || bytes != sizeof(head) ||
	    head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_machine != EM_AARCH64 ||
	    head.e_shentsize != sizeof(section))
		return 0;
	for (u32 i = 0; i < head.e_shnum && i < SECTIONS_MAX; i++) {
		if (io_read_at(fd, &section, sizeof(section), head.e_shoff + i * sizeof(section),
			       &bytes) != 0 ||
		    bytes != sizeof(section))
			break;
		if (section.sh_type == SHT_PROGBITS && section.sh_flags & SHF_EXECINSTR)
			found += count_section(fd, &section);
	}
	return found;
}

u64 unchecked_count(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	u64 found = fd >= 0 ? count_file(fd) : 0;

	if (fd >= 0)
		close(fd);
	return found;
}
