"""Drives a Redfish service with Debian's python3-sushy and prints what it saw as JSON; arguments: URL user password session|basic CA-FILE."""

import json
import sys
import time

import sushy
from sushy import auth

url, username, password, how, authority = sys.argv[1:6]
kind = auth.SessionAuth if how == "session" else auth.BasicAuth
root = sushy.Sushy(url, auth=kind(username=username, password=password), verify=authority)
seen = {"redfish_version": root.redfish_version, "systems": list(root.get_system_collection().members_identities)}
system = root.get_system_collection().get_members()[0]
seen["system"] = {
    "identity": system.identity,
    "manufacturer": system.manufacturer,
    "memory_gib": system.memory_summary.size_gib,
    "resets": sorted(value.value for value in system.get_allowed_reset_system_values()),
    "boot_sources": sorted(value.value for value in system.get_allowed_system_boot_source_values()),
    "managers": [manager.identity for manager in system.managers],
    "chassis": [chassis.identity for chassis in system.chassis],
}
seen["power"] = []


def reset(value, state):
    system.reset_system(value)
    for _ in range(100):
        system.refresh(force=True)
        if system.power_state == state:
            break
        time.sleep(0.05)
    seen["power"].append(system.power_state.value)


reset(sushy.RESET_ON, sushy.PowerState.ON)
reset(sushy.RESET_FORCE_OFF, sushy.PowerState.OFF)
reset(sushy.RESET_ON, sushy.PowerState.ON)
reset(sushy.RESET_GRACEFUL_SHUTDOWN, sushy.PowerState.OFF)

seen["boot"] = []
for target, enabled, mode in [
    (sushy.BootSource.PXE, sushy.BootSourceOverrideEnabled.ONCE, sushy.BootSourceOverrideMode.UEFI),
    (sushy.BootSource.HDD, sushy.BootSourceOverrideEnabled.CONTINUOUS, sushy.BootSourceOverrideMode.LEGACY),
]:
    system.set_system_boot_options(target, enabled, mode)
    system.refresh(force=True)
    boot = system.boot
    seen["boot"].append([boot.target.value, boot.enabled.value, boot.mode.value])

media = [drive for drive in system.managers[0].virtual_media.get_members() if sushy.VirtualMediaType.CD in drive.media_types][0]
seen["media"] = []
media.insert_media("https://192.0.2.9/medium.iso")
media.refresh(force=True)
seen["media"].append([media.identity, media.image, media.inserted])
media.eject_media()
media.refresh(force=True)
seen["media"].append([media.identity, media.image, media.inserted])
try:
    media.set_verify_certificate(True)
    with open(authority) as file:
        media.certificates.create_member(file.read(), sushy.CertificateType.PEM)
    media.refresh(force=True)
    authorities = media.certificates.get_members()
    seen["trust"] = [media.verify_certificate, [[each.certificate_type.value, each.certificate_string] for each in authorities]]
except sushy.exceptions.HTTPError as error:
    seen["trust"] = error.status_code


chassis = system.chassis[0]
seen["sensors"] = [[each.name, each.reading_celsius] for each in chassis.thermal.temperatures]
try:
    system.set_indicator_led(sushy.IndicatorLED.BLINKING)
    system.refresh(force=True)
    seen["lamp"] = system.indicator_led.value
except sushy.exceptions.HTTPError as error:
    # nor here
    seen["lamp"] = error.status_code

update_service = root.get_update_service()
inventory = update_service.firmware_inventory
seen["firmware"] = [[item.identity, item.version] for item in inventory.get_members()]
update_service.simple_update("http://192.0.2.9/bios-2.0.0.bin")
system.refresh(force=True)
seen["firmware"].append(["before the reset", system.bios_version])
reset(sushy.RESET_ON, sushy.PowerState.ON)
seen["firmware"].append(["after the reset", system.bios_version])
reset(sushy.RESET_FORCE_OFF, sushy.PowerState.OFF)


def change_bios():
    """The machine is off: what is asked for waits for the next power-on."""
    names = ["SysProfile", "NumCores", "Virtualization"]
    bios = system.bios
    bios.set_attributes(dict(zip(names, ["Performance", 4, False])), apply_time=sushy.APPLY_TIME_ON_RESET)
    bios.refresh(force=True)
    waiting = dict(bios.pending_attributes)
    reset(sushy.RESET_ON, sushy.PowerState.ON)
    bios.refresh(force=True)
    applied = dict(bios.attributes)
    bios.reset_bios()
    reset(sushy.RESET_FORCE_OFF, sushy.PowerState.OFF)
    reset(sushy.RESET_ON, sushy.PowerState.ON)
    bios.refresh(force=True)
    seen["bios"] = [[source[name] for name in names] for source in (waiting, applied, bios.attributes)]
    try:
        bios.set_attribute("NumCores", 99)
    except sushy.exceptions.BadRequestError as error:
        seen["bios_refused"] = str(error)


try:
    change_bios()
except sushy.exceptions.HTTPError as error:
    # this sushy sends no If-Match with BIOS settings
    seen["bios"] = error.status_code

events = root.get_event_service()
made = events.subscriptions.create(
    {"Destination": "https://192.0.2.9/events", "Protocol": "Redfish", "Context": "rack 1", "EventTypes": ["Alert"]}
)
seen["events"] = [made.identity, made.destination, made.context, made.event_types]
made.delete()
events.subscriptions.refresh(force=True)
seen["events"].append(list(events.subscriptions.members_identities))

try:
    root.get_system("/redfish/v1/Systems/9")
except sushy.exceptions.ResourceNotFoundError as error:
    seen["missing"] = error.status_code

# Debian's package lacks the standard registries that the public property `registries` loads first
registry = root._get_registry_collection().get_members()[0].get_message_registry("en", None)
seen["registry"] = [registry.registry_prefix, registry.registry_version, "NoValidSession" in registry.messages]
described = [
    registry
    for registry in root._get_registry_collection().get_members()
    if registry.registry.startswith("BiosAttributeRegistry")
][0].get_attribute_registry("en", None)
cores = [entry for entry in described.registry_entries.attributes if entry.name == "NumCores"][0]
seen["bios_registry"] = [cores.attribute_type, cores.lower_bound, cores.upper_bound, cores.reset_required]
print(json.dumps(seen))
