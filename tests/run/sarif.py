#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""sarif.py FILE RESULTS   checks what SARIF 2.1.0 requires of a log, and that it has so many results."""
import json
import sys
from urllib.parse import urlparse

log = json.load(open(sys.argv[1], encoding="utf-8"))
wanted = int(sys.argv[2])


def need(condition, text):
    if not condition:
        sys.exit("SARIF: " + text)


def is_text(value):
    return isinstance(value, str) and value != ""


need(log.get("version") == "2.1.0", "version")
need(urlparse(log.get("$schema", "")).scheme == "https", "$schema")
need(isinstance(log.get("runs"), list) and len(log["runs"]) == 1, "runs")
for run in log["runs"]:
    driver = run["tool"]["driver"]
    need(is_text(driver.get("name")), "name of the driver")
    rules = driver["rules"]
    need(len({rule["id"] for rule in rules}) == len(rules), "ids of rules are unique")
    for rule in rules:
        need(is_text(rule["id"]) and is_text(rule["shortDescription"]["text"]), "rule")
    need(run["columnKind"] in ("utf16CodeUnits", "unicodeCodePoints"), "columnKind")
    need(len(run["results"]) == wanted, "%d results, not %d" % (len(run["results"]), wanted))
    for result in run["results"]:
        need(is_text(result["message"]["text"]), "message")
        need(result["level"] in ("none", "note", "warning", "error"), "level")
        need(rules[result["ruleIndex"]]["id"] == result["ruleId"], "ruleIndex")
        need(all(is_text(v) for v in result["partialFingerprints"].values()), "fingerprints")
        for location in result["locations"] + result.get("relatedLocations", []):
            need(is_text(location["message"]["text"]), "message of a location")
            physical = location.get("physicalLocation")
            if physical is None:
                continue
            uri = physical["artifactLocation"]["uri"]
            need(all(c.isascii() and c > " " and c not in '<>"{}|\\^`' for c in uri), "uri " + uri)
            need(uri.startswith("file:///") or not uri.startswith("/"), "uri " + uri)
            need(("uriBaseId" in physical["artifactLocation"]) != uri.startswith("file:"), "uriBaseId")
            need(physical.get("region", {"startLine": 1})["startLine"] >= 1, "startLine")
