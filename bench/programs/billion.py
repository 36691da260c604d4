"""A question over synthetic values: in a lake, and in a naive table of the same values, asked by DuckDB and ClickHouse.

    python3 bench/programs/billion.py FOLDER [VALUES [TALLY]]

needs duckdb and chdb (PyPI) and a `tally` (by default the one in the PATH). The values of one log become a lake by
`tally relog`. Its parts are in the table as often as VALUES needs, each with a day of its own: a billion values take
some 4 GB. The naive table has the same rows as one wide text column and a number, as programs that dump
counters write them: Parquet as the library writes it, neither sorted nor in folders. VALUES is 10 million unless
given. What it has written is removed at the end.
"""

import os
import random
import shutil
import subprocess
import sys
import time

COLUMNS, RECORDS = 1_000, 2_000


def duckdb_engine():
    import duckdb
    engine = duckdb.connect()
    engine.execute("SET threads = 1")
    engine.execute("SET memory_limit = '4GB'")
    return lambda query: engine.execute(query).fetchall()


def chdb_engine():
    import chdb
    return lambda query: str(chdb.query(query + " SETTINGS max_threads = 1", "CSV")).splitlines()


def made_log(folder):
    """A log of 250 processors with four counters, each second: values that wander, and some that rest."""
    names = ["% Processor Time", "% User Time", "Interrupts/sec", "C1 Transitions/sec"]
    paths = [f"\\\\host\\Processor({nth})\\{name}" for nth in range(COLUMNS // 4) for name in names]
    chance = random.Random(1)
    values = [chance.random() * 100 for _ in paths]
    name = os.path.join(folder, "made.csv")
    with open(name, "w") as out:
        out.write('"(PDH-CSV 4.0) (UTC)(0)",' + ",".join(f'"{path}"' for path in paths) + "\r\n")
        for second in range(RECORDS):
            values = [max(0, value + chance.gauss(0, 1)) if nth % 3 else value for nth, value in enumerate(values)]
            clock = f"{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}"
            out.write(f'"11/26/2026 {clock}.000",' + ",".join(f'"{value:.3f}"' for value in values) + "\r\n")
    return name


def relog(tally, log, output, *more):
    """The processor time of one conversion."""
    child = subprocess.Popen([tally, "relog", log, "-o", output, *more], stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    assert status == 0, output
    return used.ru_utime + used.ru_stime


def timed(ask, query):
    """Seconds by the clock and of the processor, and how many values the answer is of."""
    begin, before = time.monotonic(), time.process_time()
    row = ask(query)[0]
    count = int(row.split(",")[0] if isinstance(row, str) else row[0])
    return time.monotonic() - begin, time.process_time() - before, count


def main():
    folder = os.path.join(sys.argv[1], f"billion-{os.getpid()}")
    values = int(sys.argv[2]) if len(sys.argv) > 2 else 10_000_000
    tally = sys.argv[3] if len(sys.argv) > 3 else "tally"
    os.makedirs(folder)
    try:
        run(folder, values, tally)
    finally:
        shutil.rmtree(folder)


def run(folder, values, tally):
    import duckdb
    lake, naive = os.path.join(folder, "lake"), os.path.join(folder, "naive")
    log = made_log(folder)
    native = os.path.join(folder, "made.tally")
    relog(tally, log, native)
    os.remove(log)
    copies = {"native log": "copy.tally", "Parquet file": "copy.parquet", "lake": "lake"}
    for name, there in copies.items():
        there = os.path.join(folder, there)
        spent = relog(tally, native, there, *(["-f", "lake"] if there == lake else []))
        speed = COLUMNS * RECORDS / spent / 1e6
        print(f"a native log becomes a {name}: {speed:.2f} million values a second of a processor")
    day, part = None, None
    for place, _, names in os.walk(lake):
        for name in names:
            if name.endswith(".parquet"):
                day, part = os.path.basename(os.path.dirname(place)), os.path.join(place, name)
    os.makedirs(naive)
    plain = os.path.join(naive, "0.parquet")
    duckdb.execute(f"COPY (SELECT time::VARCHAR || ' ' || path AS sample, value FROM '{part}' ORDER BY time) "
                   f"TO '{plain}' (FORMAT parquet)")
    copies = max(1, values // (COLUMNS * RECORDS))
    for nth in range(1, copies):
        there = os.path.join(lake, f"day=2000-01-01-{nth:05}", "object=Processor")
        os.makedirs(there)
        os.link(part, os.path.join(there, "part.parquet"))
        os.link(plain, os.path.join(naive, f"{nth}.parquet"))
    total = copies * COLUMNS * RECORDS
    # The same file has several names, so that the disk holds more than it has; each name is read.
    print(f"{total:,} values; lake {os.path.getsize(part) / COLUMNS / RECORDS:.2f} bytes a value, "
          f"naive {os.path.getsize(plain) / COLUMNS / RECORDS:.2f}")
    questions(lake, naive, total)


def questions(lake, naive, total):
    parts = f"{lake}/*/*/*.parquet"
    # One counter of one instance; the mean of one counter over all instances; everything.
    one = r"instance = '17' AND counter = '% Processor Time'"
    one_naive = r"sample LIKE '%\\Processor(17)\\% Processor Time'".replace("\\\\", "\\")
    each = "counter = '% User Time'"
    each_naive = "sample LIKE '%User Time'"
    duck = (f"read_parquet('{parts}', hive_partitioning = false)", f"read_parquet('{naive}/*.parquet')")
    click = (f"file('{parts}', Parquet)", f"file('{naive}/*.parquet', Parquet)")
    print(f"{'':12}{'question':28}{'lake, s':>10}{'CPU s':>10}{'naive, s':>10}{'CPU s':>10}")
    for name, start, (ours, theirs) in (("DuckDB", duckdb_engine, duck), ("ClickHouse", chdb_engine, click)):
        try:
            ask = start()
        except ImportError as missing:
            print(f"{name:12}is not here: {missing}")
            continue
        # ClickHouse takes a backslash of a text as an escape.
        like = one_naive.replace("\\", "\\\\\\\\") if name == "ClickHouse" else one_naive
        for question, of_lake, of_naive in (
            ("one counter of one instance", f"WHERE {one}", f"WHERE {like}"),
            ("a counter of all instances", f"WHERE {each}", f"WHERE {each_naive}"),
            ("everything", "", ""),
        ):
            wall, cpu, count = timed(ask, f"SELECT count(*), avg(value), max(value) FROM {ours} {of_lake}")
            other, other_cpu, same = timed(ask, f"SELECT count(*), avg(value), max(value) FROM {theirs} {of_naive}")
            assert count == same and (count == total) == (question == "everything"), (question, count, same)
            print(f"{name:12}{question:28}{wall:10.2f}{cpu:10.2f}{other:10.2f}{other_cpu:10.2f}", flush=True)


main()
