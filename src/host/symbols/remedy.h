/* SPDX-License-Identifier: MIT
 * What gives the functions of a module their names, on this system: which package has its debug
 * file, and which server could be asked. Reads files only: nothing is asked from the network and no
 * program is started.
 *
 *	struct remedy remedy;
 *	remedy_find("", &module, 1, &remedy);
 *	… remedy.state == REMEDY_STRIPPED, remedy.install is "apt install libjq1-dbgsym"
 */
#ifndef HOST_SYMBOLS_REMEDY_H
#define HOST_SYMBOLS_REMEDY_H

#include "host/symbols/symbolizer.h"

enum remedy_state {
	REMEDY_GONE,     /* there is no such file */
	REMEDY_REPLACED, /* it is another build than the one that ran */
	REMEDY_STRIPPED, /* only names that it exports */
	/* it has names now, or its debug file is installed: they only have to be looked up */
	REMEDY_NAMED,
};

struct remedy {
	enum remedy_state state;
	/* command that installs the debug file; "" = no package has the module */
	char install[200];
	char archive[120]; /* archive that apt's sources need for it first; "" = none */
};

/* root is put before the paths of the system's own files, "" for this system; NULL = do not look
 * for packages. */
void remedy_find(const char *root, const struct symbolizer_module *modules, u32 count,
		 struct remedy *remedies);

/* What the distribution calls itself: "Debian GNU/Linux 13 (trixie)"; "" = it does not say. */
void remedy_system(const char *root, char name[80]);

/* The distribution's server for DEBUGINFOD_URLS. */
const char *remedy_server(const char *root);

#endif
