"""Publishes every kind of counter, reads them back, and shows them to another program."""

import os
import subprocess
import sys
import threading
import time

import tallymon

RAW = tallymon.PERF_COUNTER_LARGE_RAWCOUNT


def fails(error, act):
    try:
        act()
    except error:
        return
    raise AssertionError(f"no {error.__name__}")


def sets():
    behemoth = (
        tallymon.CounterSet("Behemoth", help="The behemoths that are alive.", instances=True)
        .words("ru", name="Бегемот")
        .counter("Weight", RAW, unit="kg")
        .words("ru", name="Вес")
        .counter("Steps", RAW, shared=True)
        .counter("Meals/sec", tallymon.PERF_COUNTER_BULK_COUNT)
        .counter("% Awake", tallymon.PERF_LARGE_RAW_FRACTION)
        .counter("Avg. Nap", tallymon.PERF_AVERAGE_TIMER)
        .counter("Age", tallymon.PERF_ELAPSED_TIME)
        .text("Mood", 16)
        .histogram("Walk", most=100_000, percentiles=[50, 99.9])
        .together([("X", RAW), ("Y", RAW)])
    )
    return [behemoth, tallymon.CounterSet("Behemoths Summary").counter("Count", tallymon.PERF_COUNTER_RAWCOUNT)]


def write(publisher):
    ada = publisher.instance("Behemoth", "Ada", id=42)
    ada["Weight"].value = 9000
    weight = ada["Weight"]
    weight.add(-500)
    assert weight.value == 8500
    steps = ada["Steps"]

    def walk():
        for _ in range(10_000):
            steps.add()

    threads = [threading.Thread(target=walk) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert steps.value == 40_000
    ada["% Awake"].set_all([7, 28])
    ada["Age"].start_time()
    ada["Mood"].set_text("грустный и голодный")
    place = ada["X"]
    place.set_all([17, 4])
    place.add_all([1, -1])
    walked = ada["Walk"]
    for length in range(1, 101):
        walked.record(length)
    return ada, weight


def read_and_compare(ada):
    query = tallymon.Query()
    of_all = query.add(r"\Behemoth(*)\*")
    of_memory = query.add(r"\Memory\Available Bytes")
    meals, naps = ada["Meals/sec"], ada["Avg. Nap"]
    query.collect()
    for _ in range(10):
        meals.add(3)
        naps.record_time(0.25)
    time.sleep(0.2)
    query.collect()
    values = query.values()
    expected = {
        "Weight": 8500, "Steps": 40_000, "% Awake": 25.0, "Avg. Nap": 0.25, "Mood": "грустный", "X": 18, "Y": 3,
        "Walk (count)": 100,
    }
    for name, value in expected.items():
        assert values[rf"\Behemoth(Ada)\{name}"] == value, (name, values)
    assert 0 < values[r"\Behemoth(Ada)\Meals/sec"] <= 150, values
    assert abs(values[r"\Behemoth(Ada)\Walk (50 %)"] - 50) <= 2, values
    assert values[r"\Memory\Available Bytes"] > 1_000_000
    for reading in query.readings():
        assert reading.handle == (of_memory if "Memory" in reading.path else of_all), reading
        assert not reading.stale and (reading.value is None) == (reading.reason is not None), reading
    none = [reading for reading in query.readings() if reading.path.endswith(r"\Walk")]
    assert none[0].value is None and none[0].reason and "None" in repr(none[0]), none


def other_machine(tally):
    """A table of hosts, and a program `ssh` that plays one of them."""
    root = os.environ["TALLYMON_ROOT"]
    programs = os.path.join(root, "programs")
    os.makedirs(programs, exist_ok=True)
    with open(os.path.join(root, "hosts"), "w") as table:
        table.write("far ssh://far\naway ssh://away\n")
    ssh = os.path.join(programs, "ssh")
    with open(ssh, "w") as script:
        script.write(f"#!/bin/sh\ncase \"$*\" in *away*) exit 255;; esac\nexec '{tally}' serve --stdio\n")
    os.chmod(ssh, 0o755)
    os.environ["PATH"] = programs + ":" + os.environ["PATH"]
    query = tallymon.Query()
    query.add(r"\\far\Memory\Available Bytes")
    query.add(r"\System\Processes")
    query.collect()
    assert all(value > 0 for value in query.values().values()) and len(query.values()) == 2, query.readings()
    # Every path is of the first one's machine.
    fails(LookupError, lambda: query.add(r"\\away\Memory\Available Bytes"))
    for absent in ("away", "nobody"):
        fails(LookupError, lambda: tallymon.Query().add(rf"\\{absent}\Memory\Available Bytes"))
    # A path that is refused leaves the query to the next one.
    query = tallymon.Query()
    fails(LookupError, lambda: query.add(r"\\nobody\Memory\Available Bytes"))
    query.add(r"\\far\Memory\Available Bytes")
    # So does one of another machine, which has no such counter: the next path is of this machine.
    query = tallymon.Query()
    fails(LookupError, lambda: query.add(r"\\far\Dragon(*)\Weight"))
    query.add(r"\System\Processes")
    query.collect()
    assert [path.count("far") for path in query.values()] == [0], query.readings()


def refusals(publisher, ada, weight):
    fails(ValueError, lambda: tallymon.Publisher("wrong", [tallymon.CounterSet("Empty")]))
    fails(ValueError, lambda: tallymon.CounterSet("Empty").words("Klingon", name="x"))
    fails(ValueError, lambda: publisher.instance("Behemoth", ""))
    fails(KeyError, lambda: publisher.instance("Dragon", "Ada"))
    fails(KeyError, lambda: ada["Height"])
    fails(RuntimeError, lambda: ada["Weight"])
    fails(TypeError, lambda: weight.set_text("heavy"))
    fails(TypeError, lambda: weight.record(1))
    fails(ValueError, lambda: ada["Avg. Nap"].record_time(-1.0))
    fails(OverflowError, lambda: weight.add(1 << 64))
    fails(LookupError, lambda: tallymon.Query().add(r"\Dragon(*)\Weight"))
    with publisher.instance("Behemoth", "Bob", parent=ada) as bob:
        bob["Weight"].value = 1
        query = tallymon.Query()
        query.add(r"\Behemoth(Ada/Bob)\Weight")
        query.collect()
        assert list(query.values().values()) == [1], query.readings()
    fails(RuntimeError, lambda: bob["Weight"])
    fails(RuntimeError, lambda: publisher.instance("Behemoth", "Eve", parent=bob))


def main():
    publisher = tallymon.Publisher("behemoths", sets())
    summary = publisher.instance("Behemoths Summary")
    count = summary["Count"]
    count.add(2)
    ada, weight = write(publisher)
    read_and_compare(ada)
    refusals(publisher, ada, weight)
    for tally in filter(None, sys.argv[1:]):
        paths = [r"\Behemoth(*)\Weight", r"\Behemoths Summary\Count"]
        shown = subprocess.run([tally, "get", *paths], capture_output=True, text=True, check=True).stdout
        assert [line.split()[-1] for line in shown.splitlines()] == ["8500", "2"], shown
        other_machine(tally)
    path = publisher.path
    assert os.path.exists(path)
    del publisher, summary, count, ada, weight
    assert not os.path.exists(path)
    print("all right")


main()
