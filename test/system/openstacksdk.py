"""Debian's python3-openstacksdk on a conductor: a machine from nothing to an instance and away again, and what stands
beside nodes. `openstacksdk.py '{"endpoint": …, "auth": {…}, "driver_info": {…}, "mac": …, "instance_info": {…}}'`;
what was seen comes as JSON lines `[what, value]`."""

import json
import sys

import openstack
from openstack import exceptions, utils

given = json.loads(sys.argv[1])
connection = openstack.connect(
    load_yaml_config=False,
    load_envvars=False,
    baremetal_endpoint_override=given["endpoint"],
    **given["auth"],
)
baremetal = connection.baremetal
# it looks every 2 s, and tries again seconds after a 409: long beside a simulated machine
utils.iterate_timeout.__defaults__ = (0.2,)
baremetal.status_code_retry_delay = 0.2


def tell(what, value):
    print(json.dumps([what, value]), flush=True)


def refused(action):
    """The words in which the conductor refuses it."""
    try:
        action()
    except exceptions.SDKException as error:
        return str(error)
    return None


def enrol():
    node = baremetal.create_node(
        name="sdk",
        driver="redfish",
        driver_info=given["driver_info"],
        properties={"capabilities": "boot_mode:bios"},
        network_interface="noop",
        resource_class="sdk-gold",
        provision_state="enroll",
    )
    tell("created", [node.name, node.driver, node.provision_state])
    group = baremetal.create_port_group(node_uuid=node.id, name="sdk-bond")
    port = baremetal.create_port(node_uuid=node.id, address=given["mac"], port_group_id=group.id)
    ports = list(baremetal.ports(details=True, node=node.id))
    tell("ports", [[each.address, each.port_group_id == group.id] for each in ports])
    port = baremetal.update_port(port, extra={"rack": 7})
    tell("port", baremetal.get_port(port.id).extra)
    node = baremetal.set_node_provision_state(node, "manage", wait=True, timeout=120)
    tell("managed", node.provision_state)
    node = baremetal.set_node_provision_state(node, "inspect", wait=True, timeout=120)
    inventory = baremetal.get(f"/nodes/{node.id}/inventory", microversion="1.81").json()
    tell("inspected", [node.provision_state, sorted(inventory), node.properties["cpu_arch"]])
    return node


def change(node):
    baremetal.set_node_traits(node, ["CUSTOM_FAST", "CUSTOM_RED"])
    baremetal.remove_node_trait(node, "CUSTOM_RED")
    node = baremetal.get_node(node.id)  # the object has noted its traits as a change of its own
    node = baremetal.patch_node(node, [{"op": "add", "path": "/extra/rack", "value": 7}])
    node = baremetal.update_node(node, owner="team-a", instance_info=given["instance_info"])
    tell("changed", [node.traits, node.extra, node.owner])
    node = baremetal.set_node_maintenance(node, "new fan")
    tell("maintenance", [node.is_maintenance, node.maintenance_reason])
    node = baremetal.unset_node_maintenance(node)
    baremetal.set_node_boot_device(node, "pxe", persistent=True)
    baremetal.set_node_power_state(node, "power on", wait=True, timeout=120)
    baremetal.set_node_power_state(node, "power off", wait=True, timeout=120)
    node = baremetal.get_node(node.id)
    tell("power", node.power_state)
    validation = baremetal.validate_node(node, required=("boot", "deploy", "power"))
    tell("valid", [validation["deploy"].result, validation["power"].result])
    tell("invalid", refused(lambda: baremetal.validate_node(node, required=("console",))))
    return node


def deploy(node):
    baremetal.set_node_provision_state(node, "provide")
    (node,) = baremetal.wait_for_nodes_provision_state([node], "available", timeout=120)
    wish = {"resource_class": "sdk-gold", "traits": ["CUSTOM_FAST"], "candidate_nodes": [node.id]}
    allocation = baremetal.create_allocation(name="sdk-web", **wish)
    allocation = baremetal.wait_for_allocation(allocation, timeout=120)
    node = baremetal.get_node(node.id)
    same = [allocation.node_id == node.id, node.allocation_id == allocation.id, node.instance_id == allocation.id]
    tell("allocated", [allocation.state, same])
    allocation = baremetal.update_allocation(allocation, extra={"app": "web"})
    tell("allocations", [[each.name, each.extra] for each in baremetal.allocations(fields=["name", "extra"])])
    other = baremetal.create_allocation(resource_class="sdk-gold")
    tell("no second", refused(lambda: baremetal.wait_for_allocation(other, timeout=120)))
    baremetal.delete_allocation(other)
    drive = {"meta_data": {"hostname": "sdk"}}
    node = baremetal.set_node_provision_state(node, "active", config_drive=drive, wait=True, timeout=120)
    tell("deployed", [node.provision_state, node.power_state])
    tell("in use", refused(lambda: baremetal.delete_allocation(allocation)))
    node = baremetal.set_node_provision_state(node, "deleted", wait=True, timeout=120)
    tell("undeployed", [node.provision_state, node.allocation_id, node.instance_id])
    tell("released", [each.name for each in baremetal.allocations()])
    return node


def beside(node):
    chassis = baremetal.create_chassis(description="rack 7")
    node = baremetal.update_node(node, chassis_id=chassis.id)
    tell("chassis", [baremetal.get_node(node.id).chassis_id == chassis.id, refused(lambda: baremetal.delete_chassis(chassis))])
    node = baremetal.patch_node(node, [{"op": "remove", "path": "/chassis_uuid"}])
    baremetal.delete_chassis(chassis)
    connector = baremetal.create_volume_connector(node_id=node.id, type="iqn", connector_id="iqn.2026-11.example:sdk")
    target = baremetal.create_volume_target(node_id=node.id, volume_type="iscsi", boot_index=0, volume_id="v1")
    found = [each.volume_id for each in baremetal.volume_targets(details=True, node=node.id)]
    tell("volumes", [connector.connector_id, found])
    baremetal.delete_volume_target(target)
    baremetal.delete_volume_connector(connector)
    steps = [{"interface": "bios", "step": "apply_configuration", "args": {"settings": []}, "priority": 150}]
    template = baremetal.create_deploy_template(name="CUSTOM_SDK", steps=steps)
    tell("templates", [[each.name, each.steps] for each in baremetal.deploy_templates(details=True)])
    baremetal.delete_deploy_template(template)
    tell("drivers", sorted(driver.name for driver in baremetal.drivers()))
    tell("conductors", [conductor.alive for conductor in baremetal.conductors()])


def list_pages():
    """A generator that follows `next` from page to page."""
    for index in range(7):
        baremetal.create_node(name=f"page-{index}", driver="fake-hardware", provision_state="enroll")
    names = [node.name for node in baremetal.nodes(limit=3, fields=["name", "uuid"], driver="fake-hardware")]
    tell("paged", sorted(names))
    tell("detailed", sum(node.driver == "fake-hardware" for node in baremetal.nodes(details=True, limit=2)))
    for name in names:
        baremetal.delete_node(name)


node = change(enrol())
node = deploy(node)
beside(node)
list_pages()
for port in baremetal.ports(node=node.id):
    baremetal.delete_port(port)
for group in baremetal.port_groups(node=node.id):
    baremetal.delete_port_group(group)
baremetal.delete_node(node)
tell("gone", refused(lambda: baremetal.get_node("sdk")))
