"""Reads Redfish services with Debian's python3-sushy, boots each system once from the network, and prints what it saw as JSON; arguments: user password URL…"""

import json
import sys

import sushy
from sushy import auth

username, password, *urls = sys.argv[1:]


def value(each):
    return getattr(each, "value", each)


def as_text(each):
    return each if each is None or isinstance(each, str) else json.dumps(each)


def look(url):
    root = sushy.Sushy(url, auth=auth.SessionAuth(username=username, password=password))
    system = root.get_system_collection().get_members()[0]
    system.set_system_boot_options(sushy.BootSource.PXE, sushy.BootSourceOverrideEnabled.ONCE)
    inventory = root.get_update_service().firmware_inventory.get_members()
    seen = {
        "path": system.path,
        "manufacturer": system.manufacturer,
        "power": value(system.power_state),
        "resets": sorted(value(each) for each in system.get_allowed_reset_system_values()),
        "firmware": [{"component": item.identity, "version": item.version} for item in inventory if item.identity not in ("BIOS", "BMC")],
    }
    try:
        seen["bios"] = {name: as_text(each) for name, each in (system.bios.attributes or {}).items()}
    except sushy.exceptions.MissingAttributeError:
        seen["bios"] = {}
    try:
        seen["secure_boot"] = system.secure_boot.enabled
    except sushy.exceptions.MissingAttributeError:
        seen["secure_boot"] = None
    drives = []
    for place in [system, *system.managers]:
        try:
            drives += [drive.path for drive in place.virtual_media.get_members() if sushy.VirtualMediaType.CD in drive.media_types]
        except (sushy.exceptions.MissingAttributeError, AttributeError):
            pass
    seen["drives"] = sorted(set(drives))
    return seen


print(json.dumps([look(url) for url in urls]))
