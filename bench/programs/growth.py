"""What series of many hosts cost: bytes, memory and processor time in Prometheus and in a lake.

    python3 bench/programs/growth.py FOLDER [TALLY [HOSTS...]]

needs promtool and duckdb (PyPI). The same made values of 10, 1,000 and 100,000 hosts (or HOSTS) become a block of
Prometheus by promtool, and a lake by `tally relog`, from a log for each hundred hosts. 30 counters of a host, or 3 of
each from 10,000 hosts on, ten records. What was made is removed.
"""

import os
import random
import shutil
import subprocess
import sys
import time

RECORDS, OF_A_LOG = 10, 100
BEGIN = 1_700_000_000
OBJECTS = ("Memory", "Processor", "PhysicalDisk")


def counters(hosts):
    return 30 if hosts < 10_000 else 3


def values(host, hosts):
    chance = random.Random(host)
    paths = [(OBJECTS[nth % 3], f"Counter {nth}") for nth in range(counters(hosts))]
    return [(path, [round(chance.random() * 1000, 2) for _ in range(RECORDS)]) for path in paths]


def bytes_of(folder, end=""):
    return sum(os.path.getsize(os.path.join(place, name))
               for place, _, names in os.walk(folder) for name in names if name.endswith(end))


def run(*command):
    """Runs a program: its processor time, and the most memory that it had."""
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    words = child.stderr.read()
    _, status, used = os.wait4(child.pid, 0)
    assert status == 0, words.decode()
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def prometheus(folder, hosts):
    text, blocks = os.path.join(folder, "metrics.txt"), os.path.join(folder, "blocks")
    with open(text, "w") as out:
        for nth in range(counters(hosts)):
            out.write(f"# TYPE nt_counter_{nth} gauge\n")
            for host in range(hosts):
                (found, _), numbers = values(host, hosts)[nth]
                for record, number in enumerate(numbers):
                    labels = f'object="{found}",host="host-{host:06}"'
                    out.write(f"nt_counter_{nth}{{{labels}}} {number} {BEGIN + 15 * record}\n")
        out.write("# EOF\n")
    spent, memory = run("promtool", "tsdb", "create-blocks-from", "openmetrics", text, blocks)
    os.remove(text)
    return bytes_of(blocks), bytes_of(blocks, "index"), spent, memory


def lake(folder, hosts, tally):
    logs, there = os.path.join(folder, "logs"), os.path.join(folder, "lake")
    os.makedirs(logs)
    for first in range(0, hosts, OF_A_LOG):
        columns = []
        for host in range(first, min(first + OF_A_LOG, hosts)):
            columns += [(f"\\\\host-{host:06}\\{found}\\{name}", numbers)
                        for (found, name), numbers in values(host, hosts)]
        with open(os.path.join(logs, f"{first:06}.csv"), "w") as out:
            out.write('"(PDH-CSV 4.0) (UTC)(0)",' + ",".join(f'"{path}"' for path, _ in columns) + "\r\n")
            for record in range(RECORDS):
                clock = time.strftime("%m/%d/%Y %H:%M:%S.000", time.gmtime(BEGIN + 15 * record))
                out.write(f'"{clock}",' + ",".join(f'"{numbers[record]}"' for _, numbers in columns) + "\r\n")
    spent, memory = run(tally, "relog", logs, "-f", "lake", "-o", there)
    shutil.rmtree(logs)
    count = sum(name.endswith(".parquet") for _, _, names in os.walk(there) for name in names)
    before = bytes_of(there, ".parquet")
    more, _ = run(tally, "lake", "compact", there)
    run(tally, "lake", "vacuum", there, "--older-than", "10ms")
    return before, bytes_of(there, ".parquet"), count, spent, more, memory, there


def asked(there):
    """The processor time of the busiest hosts, by DuckDB."""
    import duckdb
    before = time.process_time()
    query = (f"SELECT host, avg(value) FROM read_parquet('{there}/*/*/*.parquet') WHERE counter = 'Counter 1' "
             "GROUP BY host ORDER BY 2 DESC LIMIT 10")
    assert len(duckdb.sql(query).fetchall()) == 10
    return time.process_time() - before


def main():
    tally = sys.argv[2] if len(sys.argv) > 2 else "tally"
    sizes = [int(size) for size in sys.argv[3:]] or [10, 1_000, 100_000]
    for hosts in sizes:
        folder = os.path.join(sys.argv[1], f"growth-{os.getpid()}")
        os.makedirs(folder)
        try:
            series = hosts * counters(hosts)
            total = series * RECORDS
            print(f"{hosts:,} hosts, {series:,} series, {total:,} values", flush=True)
            block, index, spent, memory = prometheus(folder, hosts)
            print(f"  Prometheus: {block:,} bytes, of which the index has {index:,} ({index / series:.0f} a series), "
                  f"{(block - index) / total:.1f} a value; {spent:.1f} s, {memory:.0f} MB", flush=True)
            before, after, parts, spent, more, memory, there = lake(folder, hosts, tally)
            print(f"  lake: {before:,} bytes in {parts} parts, {after:,} compacted ({after / total:.1f} a value); "
                  f"{spent:.1f} s and {more:.1f} s, {memory:.0f} MB; a question in DuckDB {asked(there):.2f} s", flush=True)
        finally:
            shutil.rmtree(folder)


main()
