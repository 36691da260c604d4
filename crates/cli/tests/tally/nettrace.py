"""Checks an event stream against Microsoft's description of the format (NetTraceFormat_v4.md of PerfView), and prints
what is in it as JSON. Written from the description alone, so that it and our reader cannot share a mistake.

It wants more than a reader needs: sizes and ends of all objects, ids that were defined before they are used, times
within those of their block, sequence numbers that never fall, and nothing behind the end."""

import collections
import json
import struct
import sys


class Bytes:
    def __init__(self, data, at=0, end=None):
        self.data, self.at, self.end = data, at, len(data) if end is None else end

    def take(self, count):
        assert 0 <= count <= self.end - self.at, f"byte {self.at}: {count} bytes of {self.end - self.at}"
        self.at += count
        return self.data[self.at - count:self.at]

    def number(self, form):
        return struct.unpack("<" + form, self.take(struct.calcsize("<" + form)))[0]

    def varying(self, bits):
        value = shift = 0
        while True:
            byte = self.number("B")
            value |= (byte & 0x7F) << shift
            assert value < 1 << bits, f"byte {self.at}: a number of more than {bits} bits"
            shift += 7
            if byte < 0x80:
                return value

    def text(self):
        letters = []
        while True:
            letter = self.number("H")
            if letter == 0:
                return struct.pack(f"<{len(letters)}H", *letters).decode("utf-16-le")
            letters.append(letter)


NULL, BEGIN, END = 1, 5, 6
# The least version of a reader for each object of version 4.
OBJECTS = {"Trace": 4, "StackBlock": 2, "MetadataBlock": 2, "EventBlock": 2, "SPBlock": 2}


class Check:
    def __init__(self, data):
        self.all = Bytes(data)
        self.trace, self.metadata, self.stacks = {}, {}, set()
        self.least = {}
        self.dropped = 0
        self.events, self.threads = collections.Counter(), set()
        self.with_stack = 0

    def run(self):
        assert self.all.take(8) == b"Nettrace"
        assert self.all.take(self.all.number("i")) == b"!FastSerialization.1"
        while True:
            tag = self.all.number("B")
            if tag == NULL:
                break
            assert tag == BEGIN, f"byte {self.all.at}: tag {tag}"
            self.object()
        assert self.all.at == self.all.end, f"{self.all.end - self.all.at} bytes behind the end"

    def object(self):
        assert (self.all.number("B"), self.all.number("B")) == (BEGIN, NULL)
        version, least = self.all.number("i"), self.all.number("i")
        name = self.all.take(self.all.number("i")).decode()
        assert self.all.number("B") == END
        assert OBJECTS[name] == least <= version, (name, version, least)
        assert bool(self.trace) != (name == "Trace"), "the first object, and no other, is the trace"
        if name == "Trace":
            self.head()
        else:
            size = self.all.number("i")
            while self.all.at % 4:
                assert self.all.number("B") == 0, "padding"
            block = Bytes(self.all.data, self.all.at, self.all.at + size)
            self.all.take(size)
            {"StackBlock": self.stack_block, "SPBlock": self.sequence_point}.get(name, self.event_block)(
                block, name == "MetadataBlock")
            assert block.at == block.end, f"byte {block.at}: {block.end - block.at} bytes left in a {name}"
        assert self.all.number("B") == END

    def head(self):
        year, month, _, day, *_ = [self.all.number("h") for _ in range(8)]
        assert 2020 < year and 1 <= month <= 12 and 1 <= day <= 31
        names = ["start", "frequency"], ["pointer", "pid", "processors", "rate"]
        self.trace = {name: self.all.number("q") for name in names[0]}
        self.trace |= {name: self.all.number("i") for name in names[1]}
        assert self.trace["frequency"] > 0 and self.trace["pointer"] in (4, 8), self.trace

    def stack_block(self, block, _):
        first, count = block.number("i"), block.number("i")
        for number in range(first, first + count):
            size = block.number("i")
            assert size % self.trace["pointer"] == 0
            block.take(size)
            self.stacks.add(number)

    def sequence_point(self, block, _):
        block.number("q")
        for _ in range(block.number("i")):
            thread, number = block.number("q"), block.number("I")
            # The number that the next event has at least; events before it may have been dropped.
            least = self.least.get(thread, number)
            step = (number - least) % (1 << 32)
            # Events that were read meanwhile have raised it.
            assert step < 1 << 31 or least - number == 1, f"thread {thread}: sequence point {number}, not {least}"
            self.dropped += step if step < 1 << 31 else 0
            self.least[thread] = max(number, least)
        # Ids of stacks begin again.
        self.stacks.clear()

    def event_block(self, block, is_metadata):
        size, flags = block.number("h"), block.number("h")
        first, last = block.number("q"), block.number("q")
        block.take(size - 20)
        assert flags & 1, "only compressed headers are described for this version"
        kind = sequence = capture = thread = stack = time = length = 0
        while block.at < block.end:
            flags = block.number("B")
            if flags & 1:
                kind = block.varying(32)
            if flags & 2:
                # Differences may be negative: they count modulo the size of the field.
                sequence = (sequence + block.varying(32)) % (1 << 32)
                capture = block.varying(64)
                block.varying(32)
            elif kind:
                sequence = (sequence + 1) % (1 << 32)
            if flags & 4:
                thread = block.varying(64)
            if flags & 8:
                stack = block.varying(32)
            time = (time + block.varying(64)) % (1 << 64)
            block.take(16 * bool(flags & 16) + 16 * bool(flags & 32))
            if flags & 128:
                length = block.varying(32)
            payload = Bytes(block.data, block.at, block.at + length)
            block.take(length)
            assert first <= time <= last or is_metadata, f"time {time} is not from {first} to {last}"
            if is_metadata:
                number, provider, event, name = payload.number("i"), payload.text(), payload.number("i"), payload.text()
                assert number > 0
                self.metadata[number] = (provider, event, name)
                continue
            assert kind in self.metadata, f"an event of the unknown kind {kind}"
            assert stack == 0 or stack in self.stacks, f"the unknown stack {stack}"
            provider, event, _ = self.metadata[kind]
            # What a session says at its end has numbers of its own.
            if not provider.endswith("Rundown") and provider != "Microsoft-DotNETCore-EventPipe":
                # A thread whose last event was read long ago begins again with 0. An event that was written just then has
                # the number before it.
                again = sequence in (0, (1 << 32) - 1)
                least = sequence if again else self.least.get(capture, sequence)
                step = (sequence - least) % (1 << 32)
                # A sequence point may be one ahead of an event that was written just then.
                assert step < 1 << 31 or step == (1 << 32) - 1, (
                    f"{provider}/{event}, thread {capture}: event {sequence}, not from {least} on")
                self.dropped += step if step < 1 << 31 else 0
                self.least[capture] = (sequence + 1) % (1 << 32)
            self.events[f"{provider}/{event}"] += 1
            self.with_stack += bool(stack)
            self.threads.add(thread)


check = Check(open(sys.argv[1], "rb").read())
check.run()
print(json.dumps({**check.trace, "events": check.events, "dropped": check.dropped, "threads": len(check.threads),
                  "stacks": check.with_stack}))
