"""Thresholds that hold for a while, over a PDH-CSV: what somebody writes with pandas who has no tally.

Usage: thresholds.py LOG.csv. Prints a line for each instance and each stretch of time. It does what nine rules of
`crates/tallymon/src/analyze/rules` do, and nothing else of `tally analyze`.
"""
import re
import sys

import pandas as pd

# Object, counter, whether a value is bad, and the seconds that it must last.
RULES = [
    ("Processor", "% Processor Time", lambda value: value > 85, 30),
    ("Processor", "% Privileged Time", lambda value: value > 50, 60),
    ("Processor", "% Interrupt Time", lambda value: value > 15, 30),
    ("System", "Processor Queue Length", lambda value: value > 4, 30),
    ("Memory", "Available MBytes", lambda value: value < 256, 30),
    ("Memory", "Pages/sec", lambda value: value > 1000, 30),
    ("PhysicalDisk", "Avg. Disk sec/Transfer", lambda value: value > 0.025, 30),
    ("PhysicalDisk", "Avg. Disk Queue Length", lambda value: value > 2, 30),
    ("Network Interface", "Output Queue Length", lambda value: value > 2, 30),
]
PATH = re.compile(r"^\\\\[^\\]+\\([^(\\]+)(?:\(.*\))?\\(.+)$")

table = pd.read_csv(sys.argv[1], na_values=[" "], low_memory=False)
times = pd.to_datetime(table.iloc[:, 0], format="%m/%d/%Y %H:%M:%S.%f")
for name in table.columns[1:]:
    found = PATH.match(name)
    if not found:
        continue
    for thing, counter, is_bad, seconds in RULES:
        if (thing, counter) != found.groups():
            continue
        bad = is_bad(table[name])
        runs = times.groupby((bad != bad.shift()).cumsum()).agg(["first", "last"])
        runs = runs[bad.groupby((bad != bad.shift()).cumsum()).first()]
        for _, run in runs.iterrows():
            lasted = (run["last"] - run["first"]).total_seconds()
            if lasted >= seconds:
                print(name, run["first"], run["last"], lasted)
