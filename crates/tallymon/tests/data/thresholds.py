"""Counts, for each constant threshold of PAL's files and each counter of a PDH-CSV, the values that break it.

It shares no code with the library: ElementTree reads the thresholds, csv the log. One line a counter and
threshold: path, operator, threshold, severity, number of values, joined by tabs.
"""
import csv
import fnmatch
import re
import sys
import xml.etree.ElementTree as ElementTree

CALL = re.compile(
    r"StaticThreshold -CollectionOfCounterInstances \$(\w+) -Operator '?\"?(\w\w)'?\"? -Threshold (-?[\d.]+)$"
)
PATH = re.compile(r"^(?:\\\\[^\\]+)?\\(.+?)(?:\((.*)\))?\\([^\\]+)$")
TESTS = {
    "gt": (">", lambda a, b: a > b),
    "ge": (">=", lambda a, b: a >= b),
    "lt": ("<", lambda a, b: a < b),
    "le": ("<=", lambda a, b: a <= b),
    "eq": ("=", lambda a, b: a == b),
    "ne": ("!=", lambda a, b: a != b),
}


def parts(path):
    match = PATH.match(path)
    return tuple(part.lower() if part is not None else None for part in match.groups()) if match else None


def pattern(text):
    # Brackets are no classes here.
    return text.replace("[", "[[]")


log, files = sys.argv[1], sys.argv[2:]
with open(log, newline="", encoding="utf-8") as file:
    rows = list(csv.reader(file))
columns = {}
for at, path in enumerate(rows[0][1:], 1):
    values = [float(row[at]) for row in rows[1:] if row[at].strip()]
    columns[path] = (parts(path), values)

found = {}
for name in files:
    for analysis in ElementTree.parse(name).getroot().iter("ANALYSIS"):
        if analysis.get("ENABLED", "").lower() == "false":
            continue
        sources = {source.get("COLLECTIONVARNAME").lower(): source for source in reversed(analysis.findall("DATASOURCE"))}
        for threshold in analysis.findall("THRESHOLD"):
            code = "".join(code.text or "" for code in threshold.findall("CODE"))
            lines = [line.strip() for line in code.splitlines()]
            code = " ".join(line for line in lines if line and not line.startswith("#"))
            call = CALL.match(re.sub(r"\s+", " ", code))
            severity = {"warning": "warning", "waning": "warning", "critical": "critical"}.get(
                threshold.get("CONDITION", "").lower()
            )
            if not call or not severity or call[1].lower() not in sources:
                continue
            source = sources[call[1].lower()]
            if source.get("TYPE", "").lower() == "generated":
                continue
            wanted = parts(source.get("EXPRESSIONPATH") or source.get("NAME"))
            if wanted is None:
                continue
            except_for = [exclude.get("INSTANCE").lower() for exclude in source.findall("EXCLUDE")]
            sign, breaks = TESTS[call[2].lower()]
            for path, (has, values) in columns.items():
                if has is None or has[0] != wanted[0] or has[2] != wanted[2] or (has[1] is None) != (wanted[1] is None):
                    continue
                if has[1] is not None:
                    if has[1] in except_for or not fnmatch.fnmatchcase(has[1], pattern(wanted[1])):
                        continue
                count = sum(breaks(value, float(call[3])) for value in values)
                if count:
                    key = (path.lower(), sign, float(call[3]), severity)
                    found[key] = count
for (path, sign, limit, severity), count in found.items():
    print(f"{path}\t{sign}\t{limit:.15g}\t{severity}\t{count}")
