"""Opens logs as tables, beside the tables that pandas reads, and looks at the memory of their columns."""

import datetime
import gc
import io
import os
import subprocess
import sys
import tempfile

import pandas
import polars
import pyarrow

import tallymon

FREE, BUSY, NAME = r"\\vm\Memory\Available Bytes", r"\\vm\Processor(_Total)\% Processor Time", r"\\vm\System\Name"
TEXT = f'''"(PDH-CSV 4.0) (UTC)(0)","{FREE}","{BUSY}","{FREE}"
"11/26/2016 13:46:30.874","4096"," ","1"
"11/26/2016 13:46:31.874","8192","12.5","2"
"11/26/2016 13:46:32.874"," ","25","3"
'''


def fails(error, words, act):
    try:
        act()
    except error as raised:
        assert words in str(raised), raised
        return
    raise AssertionError(f"no {error.__name__}")


def address(chunk):
    return chunk.buffers()[1].address


def a_text_log(folder):
    path = os.path.join(folder, "log.csv")
    with open(path, "w", newline="\r\n") as file:
        file.write(TEXT)
    log = tallymon.read_log(path)
    assert len(log) == 3 and log.paths == [FREE, BUSY, FREE + "#1"], log
    assert log[BUSY] == [None, 12.5, 25.0] and log[FREE.upper()] == [4096.0, 8192.0, None], log[FREE]
    assert list(log.missing(BUSY).values()) == [1] and log.missing(FREE + "#1") == {}, log.missing(BUSY)
    assert repr(log) == "Log(3 records, 3 counters)" and not log.damage and not log.not_found
    table = pyarrow.table(log)
    assert table.schema.field(0).type == pyarrow.timestamp("ns", "UTC"), table.schema
    assert table.schema.field(2).metadata == {b"counter_type": b"PERF_DOUBLE_RAW"}, table.schema.field(2)
    assert [time.value for time in table["time"].to_pandas()] == log.times
    assert str(table["time"][0]) == "2016-11-26 13:46:30.874000+00:00", table["time"][0]
    assert table.column(1).null_count == 1 and table.column(3).null_count == 0
    kept = tallymon.read_log(path, counters=[r"\Processor(*)\*", r"\Dragon\Weight"], start="2016-11-26 13:46:31.5")
    assert kept.paths == [BUSY] and len(kept) == 2 and kept.not_found == [r"\Dragon\Weight"], kept
    zone = datetime.timezone(datetime.timedelta(hours=9))
    end = datetime.datetime(2016, 11, 26, 22, 46, 31, tzinfo=zone)
    assert len(tallymon.read_log(path, end=end)) == 1
    assert tallymon.read_log(path, every=2)[FREE + "#1"] == [1.0, 3.0]
    fails(KeyError, "Dragon", lambda: log[r"\Dragon\Weight"])
    fails(ValueError, "no time", lambda: tallymon.read_log(path, start="yesterday"))
    fails(LookupError, "", lambda: tallymon.read_log(path, start="2030-01-01 00:00"))
    fails(ValueError, "Dragon", lambda: tallymon.read_log(path, counters=[r"\Dragon\Weight"]))
    fails(ValueError, "every", lambda: tallymon.read_log(path, every=0))
    fails(ValueError, "path", lambda: tallymon.read_log())
    fails(FileNotFoundError, "gone.blg", lambda: tallymon.read_log(os.path.join(folder, "gone.blg")))
    return path


def no_copies(path):
    log = tallymon.read_log(path)
    names = ["time", *log.paths]
    one, two = pyarrow.table(log), pyarrow.table(log)
    addresses = [address(one.column(at).chunk(0)) for at in range(len(names))]
    assert addresses == [address(two.column(at).chunk(0)) for at in range(len(names))]
    # A column without gaps is the memory that numpy sees.
    whole = one.column(3).chunk(0).to_numpy(zero_copy_only=True)
    assert whole.__array_interface__["data"][0] == addresses[3]
    # Each takes the column as it is, and keeps it when the table has gone.
    frame = pandas.DataFrame.from_arrow(log)
    of_polars = polars.DataFrame(log)
    assert of_polars.columns == names, of_polars
    for at, name in enumerate(names[1:], 1):
        assert address(of_polars[name].to_arrow()) == addresses[at], name
    assert of_polars[BUSY].null_count() == 1
    del log, one, two
    gc.collect()
    assert whole.tolist() == [1.0, 2.0, 3.0]
    assert list(frame.columns) == names and frame[FREE].tolist()[:2] == [4096.0, 8192.0], frame
    assert pandas.isna(frame[BUSY][0]) and frame[BUSY][2] == 25.0, frame
    assert of_polars[BUSY].to_list() == [None, 12.5, 25.0], of_polars


def a_recording(tally, folder):
    """Numbers of a native log, whole and computed, are those of the text that `tally relog` writes."""
    path = os.path.join(folder, "log.tally")
    counters = [r"\Memory\Available Bytes", r"\System\Context Switches/sec"]
    subprocess.run([tally, "watch", *counters, "-c", "5", "-i", "20ms", "-o", path], check=True, capture_output=True)
    log = tallymon.read_log(path)
    table = pyarrow.table(log)
    free, switches = (next(name for name in log.paths if name.endswith(counter)) for counter in counters)
    assert table.schema.field(free).type == pyarrow.uint64() and len(log) == 5, table.schema
    assert table.schema.field(switches).type == pyarrow.float64() and log[switches][0] is None, table.schema
    assert table.schema.field(free).metadata[b"counter_type"] == b"PERF_COUNTER_LARGE_RAWCOUNT", table.schema
    text = subprocess.run([tally, "relog", path, "--utc"], check=True, capture_output=True, text=True).stdout
    expected = pandas.read_csv(io.StringIO(text), na_values=" ")
    for name in (free, switches):
        assert expected[name].tolist()[1:] == [float(value) for value in log[name][1:]], (name, expected, log[name])
    with open(path, "rb") as whole:
        damaged = bytearray(whole.read())
    damaged[len(damaged) * 3 // 4] ^= 0xFF
    with open(path, "wb") as file:
        file.write(damaged)
    damage = tallymon.read_log(path).damage
    assert damage and path in damage[0], damage


def logs_of_windows(folder):
    """Windows' own CSV of a log, read by pandas, has the numbers that we compute from its BLG."""
    base = os.path.join(folder, "PowerShell_CounterSamples")
    expected = pandas.read_csv(base + ".csv", na_values=" ")
    for name in (".csv", ".blg"):
        frame = pyarrow.table(tallymon.read_log(base + name)).to_pandas()
        assert len(frame) == len(expected), (name, len(frame), len(expected))
        compared = 0
        for path in expected.columns[1:]:
            ours = frame[next(column for column in frame.columns if column.lower() == path.lower())]
            for value, wanted in zip(ours, expected[path]):
                if not pandas.isna(wanted):
                    assert abs(value - wanted) <= 1e-9 * max(1.0, abs(wanted)), (name, path, value, wanted)
                    compared += 1
        assert compared > 20, (name, compared)


def another_host(tally, folder):
    """A query over another machine; its ssh is a script that answers here."""
    script = os.path.join(folder, "ssh")
    with open(script, "w") as file:
        file.write(f'#!/bin/sh\nexec "{tally}" serve --stdio\n')
    os.chmod(script, 0o755)
    os.environ["PATH"] = folder + os.pathsep + os.environ["PATH"]
    query = tallymon.Query("ssh://other", timeout=60)
    query.add(r"\Memory\Available Bytes")
    query.collect()
    (path, value), = query.values().items()
    assert path.endswith(r"\Memory\Available Bytes") and value > 1_000_000, (path, value)
    fails(ValueError, "dragon", lambda: tallymon.Query("dragon"))
    fails(ValueError, "timeout", lambda: tallymon.Query("ssh://other", timeout=0))


def a_host_over_tls(tally, folder):
    """A query over TLS, with a server of its own that this reader was let in by."""
    roots = {name: os.path.join(folder, name) for name in ("web", "desk")}
    environment = {name: {**os.environ, "TALLY_ROOT": root} for name, root in roots.items()}
    serve = [tally, "serve", "--tls", "--listen", "127.0.0.1:0"]
    server = subprocess.Popen(serve, env=environment["web"], stdout=subprocess.PIPE, text=True)
    try:
        address = server.stdout.readline().split()[0]
        invite = [tally, "remote", "pair", "--name", "desk"]
        code = subprocess.run(invite, env=environment["web"], check=True, capture_output=True).stdout
        pair = [tally, "remote", "pair", address]
        subprocess.run(pair, env=environment["desk"], check=True, input=code, stdout=subprocess.DEVNULL)
        os.environ["TALLY_ROOT"] = roots["desk"]
        query = tallymon.Query(address, timeout=60)
        query.add(r"\Memory\Available Bytes")
        query.collect()
        (path, value), = query.values().items()
        assert path.endswith(r"\Memory\Available Bytes") and value > 1_000_000, (path, value)
    finally:
        server.kill()
        server.wait()
    # The remote registry: nobody listens at this port any more.
    fails(OSError, "127.0.0.1", lambda: tallymon.Query(address.replace("tls://", "rrp://ann@"), timeout=5))


def a_performance_registry(port, folder):
    """A query over the remote registry of a real Samba, whose counters never change."""
    root = os.path.join(folder, "registry")
    os.mkdir(root)
    os.environ["TALLY_ROOT"] = root
    address = f"rrp://nobody@127.0.0.1:{port}"
    credentials = os.path.join(root, "credentials")

    def knows(password):
        with open(credentials, "w", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
            file.write(f"nobody@127.0.0.1 {password}\n")

    fails(OSError, "credentials has no password", lambda: tallymon.Query(address, timeout=60))
    knows("secret")
    fails(OSError, "STATUS_LOGON_FAILURE", lambda: tallymon.Query(address, timeout=60))
    knows("Pass word #1")
    query = tallymon.Query(address, timeout=60)
    query.add(r"\Widgets(*)\Widget Count")
    fails(LookupError, "Dragon", lambda: query.add(r"\Dragon\Weight"))
    for _ in range(2):
        query.collect()
        found = {path.rsplit("\\", 2)[-2]: value for path, value in query.values().items()}
        assert found == {"Widgets(alpha)": 7, "Widgets(beta)": 11}, found
    # A file that others can read is refused.
    os.chmod(credentials, 0o644)
    fails(OSError, "0600", lambda: tallymon.Query(address, timeout=60))


def main():
    # The last one is the port of a Samba, where there is one.
    tally, samples, *ports = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        no_copies(a_text_log(folder))
        if tally:
            a_recording(tally, folder)
            another_host(tally, folder)
            a_host_over_tls(tally, folder)
        for port in filter(None, ports):
            a_performance_registry(port, folder)
    if samples:
        logs_of_windows(samples)
    print("all right")


main()
