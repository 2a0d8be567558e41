"""Sends or awaits one broadcast Ethernet frame of our own EtherType: `send IFACE [VLAN]`, `listen IFACE`, which gives up a moment after
its input has ended; or says
by LLDP, twice a second until it is ended, which switch port IFACE is: `lldp IFACE`, or what was recorded: `lldp IFACE TYPE:HEX …`."""

import select
import socket
import sys
import time

MARK = b"\x88\xb5baton-frame"
what, interface = sys.argv[1], sys.argv[2]
raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
raw.bind((interface, 0))
if what == "send":
    tag = b"\x81\x00" + int(sys.argv[3]).to_bytes(2, "big") if len(sys.argv) > 3 else b""
    source = b"\x02\x00\x00\x00\x00" + interface[-1].encode()
    for _ in range(3):
        raw.send(b"\xff" * 6 + source + tag + (MARK + b"\0" * 50))
        time.sleep(0.05)
elif what == "lldp":
    tlvs = [(1, b"\x04\x00\x11\x22\x33\x44\x55"), (2, b"\x05" + interface.encode()), (3, b"\0\x78"), (5, b"test-switch"), (0, b"")]
    if len(sys.argv) > 3:
        recorded = [each.split(":") for each in sys.argv[3:]]
        tlvs = [(int(kind), bytes.fromhex(value)) for kind, value in recorded] + [(0, b"")]
    body = b"".join((kind << 9 | len(value)).to_bytes(2, "big") + value for kind, value in tlvs)
    while True:
        raw.send(b"\xff" * 6 + b"\x02\0\0\0\0\x01" + MARK + b"\0" * 50)
        raw.send(b"\x01\x80\xc2\0\0\x0e" + b"\x02\0\0\0\0\x01\x88\xcc" + body)
        time.sleep(0.5)
else:
    print("ready", flush=True)
    inputs, end = [raw, sys.stdin], None
    while end is None or time.monotonic() < end:
        ready, _, _ = select.select(inputs, [], [], None if end is None else max(0, end - time.monotonic()))
        if sys.stdin in ready:
            inputs, end = [raw], time.monotonic() + 1.5
        if raw not in ready:
            continue
        frame, address = raw.recvfrom(2000)
        if MARK in frame and address[2] != socket.PACKET_OUTGOING:
            print("heard", flush=True)
            break
