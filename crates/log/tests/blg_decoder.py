"""Decodes a BLG in counter mode, written from the description of the format and not from any other decoder.

Prints one line for each value: record time, path, type, time base, scale, status, first and second value. Everything
that the description says about lengths, order and padding is asserted, so a file with a fault ends with an error.
"""

import struct
import sys
import uuid

PROVIDER = uuid.UUID("933f3bb3-943e-490d-9ced-3cbb14c14479").bytes_le


def text(data, at):
    end = at
    while data[end : end + 2] != b"\0\0":
        assert end + 2 <= len(data), "a text without end"
        end += 2
    return data[at:end].decode("utf-16-le")


def header(buffer, n_buffers):
    size, used = struct.unpack_from("<I", buffer, 0)[0], struct.unpack_from("<I", buffer, 0x30)[0]
    assert struct.unpack_from("<HH", buffer, 0x34) == (1, 4), "flags and type of the header buffer"
    assert buffer[0x4A] == 2 and buffer[0x4B] == 0xC0, "not the header event of a 64-bit writer"
    event = struct.unpack_from("<H", buffer, 0x4C)[0]
    assert 0x48 + event <= used < 0x48 + event + 8
    assert struct.unpack_from("<I", buffer, 0x68)[0] == size
    assert struct.unpack_from("<I", buffer, 0x68 + 0x24)[0] == n_buffers, "number of buffers"
    assert struct.unpack_from("<I", buffer, 0x68 + 0x2C)[0] == 8, "size of pointers"
    assert set(buffer[used:]) == {0xFF}
    zone = 0x68 + 0x48
    names = (zone + 172 + 7 & ~7) + 0x20
    return text(buffer, names)


def events(data):
    size = struct.unpack_from("<I", data, 0)[0]
    assert len(data) % size == 0
    n_buffers = len(data) // size
    log = header(data[:size], n_buffers)
    for number in range(1, n_buffers):
        buffer = data[number * size : (number + 1) * size]
        assert struct.unpack_from("<I", buffer, 0)[0] == size
        assert struct.unpack_from("<Q", buffer, 0x18)[0] == number, "sequence number"
        used, flags, kind = struct.unpack_from("<IHH", buffer, 0x30)
        assert (flags, kind) == (0x21 if number == n_buffers - 1 else 0x20, 0)
        at = 0x48
        while at < used:
            length, version, flag, kind = struct.unpack_from("<HBBB", buffer, at)
            assert (version, flag) == (0x14, 0xC0) and buffer[at + 0x18 : at + 0x28] == PROVIDER
            assert str(uuid.UUID(bytes_le=buffer[at + 0x30 : at + 0x40])) == log
            time = struct.unpack_from("<q", buffer, at + 0x10)[0]
            part, parts = struct.unpack_from("<II", buffer, at + 0x40)
            yield kind, time, part, parts, buffer[at + 0x48 : at + length]
            at += length + 7 & ~7
        assert at == used and set(buffer[used:]) <= {0xFF}


def whole_records(data):
    pending, expected = b"", 1
    for kind, time, part, parts, body in events(data):
        assert part == expected and (part == parts or len(body) == 8000)
        pending += body
        if part == parts:
            yield kind, time, pending
            pending, expected = b"", 1
        else:
            expected += 1
    assert not pending, "the last part is missing"


def counter_list(body):
    assert struct.unpack_from("<II", body) == (0x6FF, 0x20008)
    at, entries = 8, []
    while at < len(body):
        length, flags, _, kind, base, scale = struct.unpack_from("<IIIIqi", body, at)
        machine, obj, instance, parent, index, counter = struct.unpack_from("<iiiiIi", body, at + 0x1C)
        assert length % 8 == 0 and index == 0 and parent == -1
        strings = body[at + 0x34 : at + length]
        name = lambda offset: None if offset == -1 else text(strings, offset)
        entries.append((flags, kind, base, scale, name(machine), name(obj), name(instance), name(counter)))
        at += length
    assert at == len(body)
    return entries


def path(entry, instance):
    _, _, _, _, machine, obj, _, counter = entry
    return f"{machine}\\{obj}" + (f"({instance})" if instance is not None else "") + f"\\{counter}"


def main(name):
    data = open(name, "rb").read()
    entries, previous = None, None
    for kind, time, body in whole_records(data):
        if kind == 0x20:
            assert entries is None
            entries, previous = counter_list(body), time
            continue
        assert kind == 0x22 and entries is not None and time > previous
        previous = time
        tag, length = struct.unpack_from("<4sI", body)
        assert tag == b"BL\x03\x00" and length == len(body)
        at = 8
        for entry in entries:
            tag, length = struct.unpack_from("<4sI", body, at)
            assert length % 8 == 0
            what = " ".join(map(str, (hex(entry[1]), entry[2], entry[3])))
            block = body[at + 8 : at + length]
            if entry[0] & 1:
                assert tag == b"BL\x03\x02"
                size, count, zero, status, stamp = struct.unpack_from("<IIIIq", block)
                assert size == len(block) and zero == 0
                for item in range(count):
                    offset, _, first, second = struct.unpack_from("<IIqq", block, 0x18 + 24 * item)
                    print(time, path(entry, text(block, offset)), what, hex(status), stamp, first, second)
            else:
                assert tag == b"BL\x03\x01" and length == 0x30
                status, stamp, _, first, second, count = struct.unpack_from("<IqIqqI", block)
                print(time, path(entry, entry[6]), what, hex(status), stamp, first, second, count)
            at += length
        assert at == len(body)


main(sys.argv[1])
