/* SPDX-License-Identifier: MIT
 * A report in one file: the web page with the answers inside that its views ask for first. */
#ifndef SERVE_REPORT_PAGE_H
#define SERVE_REPORT_PAGE_H

#include <stdio.h>

#include "serve/api.h"

/* Of the first trace of the API, which must be loaded. */
int report_page_write(struct api *api, FILE *out, struct err *err);

#endif
