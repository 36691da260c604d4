"""Reads the performance registry of a server many times with impacket, and prints the length of each answer.

Usage: rrp.py PORT PASSWORD-FILE helper|empty COUNT PAUSE. `helper` is hBaseRegQueryValue, which sends the
offered buffer as blanks; `empty` offers a buffer of the same length and sends none of it.
"""

import sys
import time

from impacket.dcerpc.v5 import rrp, transport

OFFERED = 65536


def main():
    port, file, way, count, pause = sys.argv[1:]
    with open(file, encoding="utf-8") as password:
        password = password.read()
    way_there = transport.DCERPCTransportFactory(r"ncacn_np:127.0.0.1[\pipe\winreg]")
    way_there.set_dport(int(port))
    way_there.set_credentials("nobody", password)
    dce = way_there.get_dce_rpc()
    dce.connect()
    dce.bind(rrp.MSRPC_UUID_RRP)
    key = rrp.hOpenPerformanceData(dce)["phKey"]
    for _ in range(int(count)):
        begin = time.monotonic()
        if way == "helper":
            data = rrp.hBaseRegQueryValue(dce, key, "Global\x00", dataLen=OFFERED)[1]
        else:
            data = empty(dce, key)
        assert data[:8] == b"P\0E\0R\0F\0", data[:16]
        print(len(data), flush=True)
        time.sleep(max(0.0, begin + float(pause) - time.monotonic()))


def empty(dce, key):
    request = rrp.BaseRegQueryValue()
    request["hKey"] = key
    request["lpValueName"] = "Global\x00"
    request["lpData"] = b""
    request.fields["lpData"].fields["Data"].fields["MaximumCount"] = OFFERED
    request["lpcbData"] = OFFERED
    request["lpcbLen"] = 0
    return b"".join(dce.request(request)["lpData"])


main()
