"""Cumulus Linux's nv: what is set is pending until it is applied."""
import json, os, re, sys

path = os.environ["SWITCH_STATE"]
state = json.load(open(path))
arguments = sys.argv[1:]

def fail(message):
    print("Error: " + message, file=sys.stderr)
    sys.exit(1)

def save():
    with open(path + ".new", "w") as file:
        json.dump(state, file)
    os.rename(path + ".new", path)

def names(key):
    """`swp1-3,swp5`, `swp1-swp3`: NVUE keeps each, and writes those that are alike as one."""
    found, head = [], ""
    for part in key.split(","):
        part = re.sub(r"^(.*[A-Za-z].*?)(\d+)-\1(\d+)$", r"\1\2-\3", part)
        start, first, last = re.fullmatch(r"(.*?)(\d*)(?:-(\d+))?", part).groups()
        head = start or head
        found += [f"{head}{number}" for number in range(int(first), int(last or first) + 1)] if first else [part]
    return found

def merge(under, over):
    for key, value in over.items():
        if isinstance(value, dict) and isinstance(under.get(key), dict):
            merge(under[key], value)
        else:
            under[key] = value

def each_alone(config):
    alone = {}
    for key, settings in sorted(config.get("interface", {}).items(), key=lambda entry: -len(names(entry[0]))):
        for name in names(key):
            merge(alone.setdefault(name, {}), json.loads(json.dumps(settings)))
    return {**json.loads(json.dumps(config)), "interface": alone}

def pending():
    if state["pending"] is None:
        state["pending"] = each_alone(state["applied"])
    return state["pending"]

def value_of(word):
    return int(word) if word.isdigit() else word

if arguments == ["show", "interface", "-o", "json"]:
    made = [name for name in each_alone(state["applied"])["interface"] if name.startswith("bond")]
    print(json.dumps(state.get("shown") or {port: {"type": "swp"} for port in [*state["ports"], *made]}))
elif arguments == ["config", "show", "-o", "json"]:
    print(json.dumps([{"header": {"model": "vx", "nvue-api-version": "nvue_v1"}}, {"set": state["applied"]}]))
elif arguments == ["config", "detach"]:
    state["pending"] = None
    save()
elif arguments == ["config", "apply", "-y"]:
    if state["pending"] is None:
        print("no changes to apply")
    else:
        state["applied"], state["pending"] = state["pending"], None
        save()
        print("applied [rev_id: 7]")
elif arguments == ["config", "save"]:
    state["startup"] = state["applied"]
    save()
elif arguments[0] in ("set", "unset"):
    words = arguments[1:]
    if words[0] == "interface" and words[1] not in state["ports"] and not words[1].startswith("bond"):
        fail(f"Invalid parameter: {words[1]}")
    place = pending()
    if arguments[0] == "unset":
        for word in words[:-1]:
            place = place.get(word, {})
        place.pop(words[-1], None)
    else:
        # the last word is a value, but of a list of VLANs it is a key
        *keys, last = words
        for word in keys[:-1]:
            place = place.setdefault(word, {})
        if keys[-1] in ("vlan", "member"):
            place.setdefault(keys[-1], {})[last] = {}
        else:
            place[keys[-1]] = value_of(last)
    save()
else:
    fail(f"'{arguments[0]}' is not a valid command")
