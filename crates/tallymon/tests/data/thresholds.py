"""Says, for each threshold of PAL's files and each counter of a PDH-CSV or PDH-TSV, which values break it.

Thresholds are constants, or computed from the questions of the files with the default answers. It shares no code with
the library: ElementTree reads the thresholds, csv the log. One line a counter and threshold: path, operator, threshold,
severity, number of values, number of ranges, begin of the first and end of the last one, joined by tabs. A range begins
at the record before the first value that breaks the threshold; a value that is missing ends it, and so does a gap: two
records that are more than three times the usual distance apart, which is the middle one of the last fifteen. Times are
milliseconds since the first record.
"""
import csv
import datetime
import fnmatch
import re
import sys
import xml.etree.ElementTree as ElementTree

CALL = re.compile(
    r"StaticThreshold -CollectionOfCounterInstances \$(\w+) -Operator '?\"?(\w\w)'?\"? -Threshold (\S+)"
    r"(?: -IsTrendOnly \$?[Ff]alse)?$"
)
ASSIGNED = re.compile(r"\$(\w+) ?= ?([^=]+?) (?=\$\w+ ?=|If |StaticThreshold )")
LIMITED = re.compile(r"If ?\(\$(\w+) -lt (\d+)\) ?\{ ?\$(\w+) ?= ?(\d+) ?\} ?", re.IGNORECASE)
SIZES = {"kb": 1 << 10, "mb": 1 << 20, "gb": 1 << 30, "tb": 1 << 40}
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


def number(text):
    """A number of PowerShell; None for anything else."""
    match = re.fullmatch(r"(-?\d+(?:\.\d+)?|-?\.\d+)([kmgt]b)?", text.strip().lower())
    return float(match[1]) * SIZES.get(match[2], 1) if match else None


def arithmetic(text, variables):
    """What PowerShell computes from numbers and variables; None for anything else."""
    text = re.sub(r"\[(?:int|long|double|single|decimal)\d*\]", "", text, flags=re.IGNORECASE)
    text = re.sub(r"\$(\w+)", lambda name: repr(variables.get(name[1].lower(), "?")), text.replace("$(", "("))
    text = re.sub(r"\b[\d.]+[kmgt]b\b", lambda size: repr(number(size[0])), text, flags=re.IGNORECASE)
    return float(eval(text)) if re.fullmatch(r"[\d.+*/() e-]+", text) else None


def threshold_of(code, answers):
    """The counter, the operator and the number of a threshold that is no program."""
    variables = dict(answers)
    while not code.startswith("StaticThreshold "):
        if match := LIMITED.match(code):
            name = match[1].lower()
            if name != match[3].lower() or match[2] != match[4] or name not in variables:
                return None
            variables[name] = max(variables[name], float(match[2]))
        elif match := ASSIGNED.match(code):
            value = arithmetic(match[2], variables)
            if value is None:
                return None
            variables[match[1].lower()] = value
        else:
            return None
        code = code[match.end() :]
    call = CALL.match(code)
    limit = number(call[3]) if call else None
    if call and limit is None:
        limit = arithmetic(call[3], variables)
    return (call[1].lower(), call[2].lower(), limit) if limit is not None else None


def times_of(rows):
    """The time of each record, and whether it follows the one before it."""
    times = [datetime.datetime.strptime(row[0], "%m/%d/%Y %H:%M:%S.%f") for row in rows]
    times = [round((time - times[0]) / datetime.timedelta(milliseconds=1)) for time in times]
    distances, follows = [], []
    for at, time in enumerate(times):
        if at == 0:
            follows.append(False)
            continue
        distance = time - times[at - 1]
        usual = sorted(distances[-15:])[len(distances[-15:]) // 2] if distances else None
        follows.append(distance >= 0 and not (usual is not None and distance > 3 * usual))
        distances.append(distance)
    return times, follows


def ranges_of(values, breaks, limit, times, follows):
    found, is_open = [], False
    for at, value in enumerate(values):
        is_open = is_open and follows[at]
        if value is None or not breaks(value, limit):
            is_open = False
            continue
        if not is_open:
            found.append([times[at - 1] if follows[at] else times[at], times[at]])
        found[-1][1], is_open = times[at], True
    return found


log, files = sys.argv[1], sys.argv[2:]
with open(log, newline="", encoding="utf-8") as file:
    rows = list(csv.reader(file, delimiter="\t" if log.endswith(".tsv") else ","))
times, follows = times_of(rows[1:])
columns = {}
for at, path in enumerate(rows[0][1:], 1):
    columns[path] = (parts(path), [float(row[at]) if row[at].strip() else None for row in rows[1:]])
answers = {}
for name in files:
    for question in ElementTree.parse(name).getroot().iter("QUESTION"):
        value = number(question.get("DEFAULTVALUE", ""))
        if value is not None:
            answers.setdefault(question.get("QUESTIONVARNAME", "").lower(), value)

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
            call = threshold_of(re.sub(r"\s+", " ", code).strip(), answers)
            severity = {"warning": "warning", "waning": "warning", "critical": "critical"}.get(
                threshold.get("CONDITION", "").lower()
            )
            if not call or not severity or call[0] not in sources:
                continue
            source = sources[call[0]]
            if source.get("TYPE", "").lower() == "generated":
                continue
            wanted = parts(source.get("EXPRESSIONPATH") or source.get("NAME"))
            if wanted is None:
                continue
            except_for = [exclude.get("INSTANCE").lower() for exclude in source.findall("EXCLUDE")]
            sign, breaks = TESTS[call[1]]
            for path, (has, values) in columns.items():
                if has is None or has[0] != wanted[0] or has[2] != wanted[2] or (has[1] is None) != (wanted[1] is None):
                    continue
                if has[1] is not None:
                    if has[1] in except_for or not fnmatch.fnmatchcase(has[1], pattern(wanted[1])):
                        continue
                count = sum(value is not None and breaks(value, call[2]) for value in values)
                if count:
                    ranges = ranges_of(values, breaks, call[2], times, follows)
                    key = (path.lower(), sign, call[2], severity)
                    found[key] = (count, len(ranges), ranges[0][0], ranges[-1][1])
for (path, sign, limit, severity), numbers in found.items():
    print(path, sign, f"{limit:.15g}", severity, *numbers, sep="\t")
