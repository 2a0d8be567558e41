"""SONiC's config, sonic-db-cli and sonic-cfggen, by the name it is called by, on a database in a file of JSON."""
import fnmatch, json, os, sys

path = os.environ["SWITCH_STATE"]
tables = json.load(open(path))
program, arguments = os.path.basename(sys.argv[0]), sys.argv[1:]

def fail(message):
    print("Usage: config [OPTIONS] COMMAND [ARGS]...\n\nError: " + message, file=sys.stderr)
    sys.exit(2)

def save():
    with open(path + ".new", "w") as file:
        json.dump(tables, file)
    os.rename(path + ".new", path)

if program == "sonic-cfggen":
    print(json.dumps(tables, indent=4))
elif program == "sonic-db-cli" and arguments[1] == "hset":
    table, _, rest = arguments[2].partition("|")
    tables[table][rest][arguments[3]] = arguments[4]
    save()
elif program == "sonic-db-cli" and arguments[1] == "hget":
    table, _, rest = arguments[2].partition("|")
    print(tables.get(table, {}).get(rest, {}).get(arguments[3], ""))
elif program == "sonic-db-cli":
    _, _, pattern = arguments
    table, _, rest = pattern.partition("|")
    for key in tables.get(table, {}):
        if fnmatch.fnmatchcase(key, rest):
            print(f"{table}|{key}")
elif arguments[:2] == ["switchport", "mode"]:
    mode, port = arguments[2:]
    entry = {**tables["PORT"], **tables["PORTCHANNEL"]}[port]
    if any(key.endswith("|" + port) for key in tables["VLAN_MEMBER"]):
        fail(f"{port} has untagged member. \nRemove them to change mode to {mode}")
    if entry.get("mode") == mode:
        fail(f"{port} is already in {mode} mode")
    entry["mode"] = mode
    save()
elif arguments[:2] == ["vlan", "add"]:
    name = "Vlan" + arguments[2]
    if name in tables["VLAN"]:
        fail(f"{name} already exists.")
    tables["VLAN"][name] = {"vlanid": arguments[2]}
    save()
elif arguments[:2] == ["vlan", "del"]:
    name = "Vlan" + arguments[2]
    if name not in tables["VLAN"]:
        fail(f"{name} does not exist")
    if any(key.startswith(name + "|") for key in tables["VLAN_MEMBER"]):
        fail(f"VLAN ID {arguments[2]} can not be removed. First remove all members assigned to this VLAN.")
    del tables["VLAN"][name]
    save()
elif arguments[:3] == ["vlan", "member", "add"]:
    *untagged, vlan, port = arguments[3:]
    members = tables["VLAN_MEMBER"]
    if "Vlan" + vlan not in tables["VLAN"]:
        fail(f"Vlan{vlan} does not exist")
    if any(key.endswith("|" + port) for key in tables.get("PORTCHANNEL_MEMBER", {})):
        fail(f"{port} is part of portchannel!")
    mode = {**tables["PORT"], **tables["PORTCHANNEL"]}.get(port, {}).get("mode")
    if port in tables.get("INTERFACE", {}) or mode == "routed":
        fail(f"{port} is in routed mode!\nUse switchport mode command to change port mode")
    if mode == "access" and not untagged:
        fail(f"{port} is in access mode! Tagged Members cannot be added")
    if port not in {**tables["PORT"], **tables["PORTCHANNEL"]}:
        fail(f"Interface name {port} is invalid. Please enter a valid interface name!!")
    if untagged and any(key.endswith("|" + port) and value["tagging_mode"] == "untagged" for key, value in members.items()):
        fail(f"{port} is already untagged member!")
    members[f"Vlan{vlan}|{port}"] = {"tagging_mode": "untagged" if untagged else "tagged"}
    # earlier releases keep a list at the VLAN, too
    if "members" in tables["VLAN"]["Vlan" + vlan]:
        tables["VLAN"]["Vlan" + vlan]["members"].append(port)
    save()
elif arguments[:3] == ["vlan", "member", "del"]:
    key = f"Vlan{arguments[3]}|{arguments[4]}"
    if key not in tables["VLAN_MEMBER"]:
        fail(f"{arguments[4]} is not a member of Vlan{arguments[3]}")
    del tables["VLAN_MEMBER"][key]
    listed = tables["VLAN"][f"Vlan{arguments[3]}"].get("members", [])
    if arguments[4] in listed:
        listed.remove(arguments[4])
    save()
elif arguments[:2] in (["portchannel", "add"], ["portchannel", "del"]):
    name, channels = arguments[2], tables["PORTCHANNEL"]
    if arguments[1] == "add":
        if name in channels:
            fail(f"{name} already exists!")
        channels[name] = {"admin_status": "up", "mtu": "9100"}
    else:
        members = [key for table in ("PORTCHANNEL_MEMBER", "VLAN_MEMBER", "MCLAG_INTERFACE") for key in tables.get(table, {}) if name in key.split("|")]
        if name not in channels or members:
            fail(f"{name} has members or does not exist.")
        del channels[name]
    save()
elif arguments[:2] == ["portchannel", "member"]:
    key = "|".join(arguments[3:5])
    members = tables.setdefault("PORTCHANNEL_MEMBER", {})
    if arguments[2] == "add":
        if any(each.endswith("|" + arguments[4]) for each in [*members, *tables["VLAN_MEMBER"]]):
            fail(f"{arguments[4]} is a member of a portchannel or a VLAN")
        members[key] = {}
    elif key not in members:
        fail(f"{arguments[4]} is not a member of {arguments[3]}")
    else:
        del members[key]
    save()
elif arguments[:2] == ["mclag", "member"]:
    domain, name = arguments[3:]
    if domain not in tables.get("MCLAG_DOMAIN", {}):
        fail(f"MCLAG Domain {domain} not configured, configure mclag domain first")
    paired = tables.setdefault("MCLAG_INTERFACE", {})
    if arguments[2] == "add":
        if name not in tables["PORTCHANNEL"]:
            fail(f"Invalid ConfigDB. Error: {name} is no PORTCHANNEL")
        paired[f"{domain}|{name}"] = {"if_type": "PortChannel"}
    elif paired.pop(f"{domain}|{name}", None) is None:
        fail(f"Failed to delete mclag member {name} from mclag domain {domain}")
    save()
elif arguments == ["save", "-y"]:
    with open(path + ".startup", "w") as file:
        json.dump(tables, file)
else:
    fail(f'No such command "{arguments[0]}".')
