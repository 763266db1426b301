#!/bin/sh
# SPDX-License-Identifier: MIT
# verdict: kind=peak,growth function=xmlNewDocNodeEatName,xmlNewDocNode,xmlSAX2StartElementNs,xmlSAX2Characters
# source: http://www.xmlsoft.org/xmlmem.html, General memory requirements: a tree takes about four times the size of its document.
. "$(dirname "$0")/lib"
needs xmllint libxml2-utils
awk 'BEGIN {
	print "<list>"
	for (i = 0; i < 9000; i++)
		printf "<item id=\"%d\"><name>Name %d</name><price>%d.5</price></item>\n", i, i, i
	print "</list>"
}' >list.xml
record xmllint --format list.xml
