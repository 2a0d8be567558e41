"""iproute2's bridge and ip, by the name it is called by, on ports in a file of JSON: as much as a switch needs."""
import json, os, sys

path = os.environ["SWITCH_STATE"]
state = json.load(open(path))

def fail(message):
    print(message, file=sys.stderr)
    save()
    sys.exit(1)

def save():
    with open(path + ".new", "w") as file:
        json.dump(state, file)
    os.rename(path + ".new", path)

def find(device):
    if device not in state:
        fail(f'Cannot find device "{device}"')
    return state[device]

def masterOf(port):
    return port.get("master", "br0")

def members(device):
    return [port for port in state.values() if masterOf(port) == device]

def enslave(port, master):
    if master not in state and master != "br0":
        fail("Error: Device does not exist.")
    if masterOf(port) != master:
        # the kernel takes it out of the one before it asks the other
        port.update(master="", isolated=False, vlans={})
        if master != "br0" and port.get("up", True):
            fail("Error: Device can not be enslaved while up.")
        if master != "br0" and port.get("refusesBonds"):
            fail("Error: Device type cannot be enslaved.")
        port["master"] = master

def set_link(device, words):
    port = find(device)
    while words:
        word = words.pop(0)
        if word == "master":
            enslave(port, words.pop(0))
        elif word == "mtu":
            port["mtu"] = int(words.pop(0))
        else:
            port["up"] = word == "up"

def describe(name, port):
    """As it was recorded, where it was, but for what the switch has been told since."""
    link = json.loads(json.dumps(port.get("link", {})))
    info = link.get("linkinfo", {})
    if "bond" in port:
        info.update(info_kind="bond", info_data={**info.get("info_data", {}), "mode": port["bond"]})
    was = info.pop("info_slave_kind", None), info.pop("info_slave_data", {})
    if masterOf(port) == "br0":
        data = was[1] if was[0] == "bridge" else {"state": "forwarding"}
        info.update(info_slave_kind="bridge", info_slave_data={**data, "isolated": port["isolated"]})
    elif masterOf(port):
        info.update(info_slave_kind="bond", info_slave_data={"state": "ACTIVE"})
    if "link" in port and not masterOf(port):
        return link
    return {**link, "ifname": name, "mtu": port.get("mtu", 1500), "master": masterOf(port), "linkinfo": info}

def links(arguments):
    if arguments == ["-j", "-d", "link", "show"]:
        bridge = {"ifname": "br0", "linkinfo": {"info_kind": "bridge", "info_data": {"vlan_filtering": 1}}}
        bridges = [] if "br0" in state else [bridge]
        print(json.dumps([*bridges, *(describe(name, port) for name, port in state.items())]))
    elif arguments[:-1] in (["-o", "link", "show", "dev"], ["link", "show", "dev"], ["-o", "link", "show", "master"]):
        device = arguments[-1]
        if device not in state:
            fail(f'Device "{device}" does not exist.')
        for name, port in state.items():
            if device == (masterOf(port) if "master" in arguments else name):
                print(f"9: {name}: <UP> mtu {port.get('mtu', 1500)} qdisc noqueue master {masterOf(port)} state UP")
    elif arguments[:3] == ["link", "set", "dev"]:
        set_link(arguments[3], arguments[4:])
        save()
    elif arguments[:3] == ["link", "del", "dev"]:
        find(arguments[3])
        for port in members(arguments[3]):
            port["master"] = ""
        del state[arguments[3]]
        save()
    elif arguments[:3] == ["link", "add", "dev"]:
        if arguments[3] in state:
            fail("RTNETLINK answers: File exists")
        state[arguments[3]] = {"isolated": False, "vlans": {}, "master": "", "bond": arguments[arguments.index("mode") + 1]}
        save()
    else:
        fail(f"ip {arguments}: what is this?")

def change(words):
    device = words[words.index("dev") + 1]
    port = find(device)
    if masterOf(port) != "br0":
        fail("RTNETLINK answers: Operation not supported")
    if words[0] == "link":
        port["isolated"] = words[words.index("isolated") + 1] == "on"
        return
    first, _, last = words[words.index("vid") + 1].partition("-")
    numbers = range(int(first), int(last or first) + 1)
    if words[1] == "del":
        port["vlans"] = {vlan: flags for vlan, flags in port["vlans"].items() if int(vlan) not in numbers}
    else:
        flags = (["PVID"] if "pvid" in words else []) + (["Egress Untagged"] if "untagged" in words else [])
        port["vlans"].update({str(vlan): flags for vlan in numbers})

arguments = sys.argv[1:]
inBridge = {name: port for name, port in state.items() if masterOf(port) == "br0"}
if os.path.basename(sys.argv[0]) == "ip":
    links(arguments)
elif arguments == ["-j", "vlan", "show"]:
    print(json.dumps([{"ifname": name, "vlans": [{"vlan": int(vlan), **({"flags": flags} if flags else {})}
        for vlan, flags in sorted(port["vlans"].items(), key=lambda each: int(each[0]))]}
        for name, port in inBridge.items() if port["vlans"]]))
elif arguments == ["-batch", "-"]:
    for number, line in enumerate(sys.stdin, 1):
        if line.strip():
            change(line.split())
    save()
elif arguments[:2] in (["vlan", "add"], ["vlan", "del"], ["link", "set"]):
    change(arguments)
    save()
else:
    fail(f"Command {arguments} is unknown, try bridge help")
