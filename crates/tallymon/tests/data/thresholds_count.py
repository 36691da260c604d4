"""Counts the thresholds of PAL's files: thresholds_count.py FILE...

For each file: how many thresholds it has, with those of the files that it inherits from. It shares nothing with the reader
of this project: another parser of XML, and no look at what a threshold says.
"""
import os
import sys
import xml.etree.ElementTree as tree


def files(path, seen):
    yield path
    for name in (node.get("FILEPATH") for node in tree.parse(path).getroot().iter("INHERITANCE")):
        folder = os.path.dirname(path)
        found = [os.path.join(folder, name), os.path.join(folder, "PAL_" + name)] if name else []
        found = next((one for one in found if os.path.isfile(one)), None)
        if found and found not in seen:
            seen.append(found)
            yield from files(found, seen)


for path in sys.argv[1:]:
    roots = (tree.parse(one).getroot() for one in files(path, [path]))
    count = sum(len(list(analysis.iter("THRESHOLD"))) for root in roots for analysis in root.iter("ANALYSIS"))
    print(os.path.basename(path), count, sep="\t")
