export type SuiteName = 'tempest' | 'openstacksdk' | 'ironicclient' | 'gophercloud';

/** Reason → the tests (parts of their names) that fail for it; those of newer suites too, which may not be there. */
export const expectedFailures: Readonly<Record<SuiteName, Readonly<Record<string, readonly string[]>>>> = {
  tempest: {
    'it asks for nodes/states/console/NODE, a path that only the router of Ironic knows': [
      'TestNodes.test_get_console',
      'SystemReader.test_reader_cannot_get_console',
    ],
    'it asks for nodes/NODE/states/target_raid_config, which nothing has': ['cannot_set_raid_state'],
    'fake-hardware has no indicators': ['SystemReader.test_reader_can_get_indicator_state'],
    'it asks for the allocation of a node called None': [
      'TestNodeAllocationMicroversions.test_show_allocation_by_node',
    ],
    'it sends a heartbeat to no node': ['TestUtilityMicroversions.test_ipa_heartbeat'],
    'it adds properties at 1.23, before port groups have them (1.26); mended in its version 3': [
      'TestPortGroups.test_update_portgroup_add',
    ],
  },
  openstacksdk: {},
  ironicclient: {
    "errors' words are Baton's own": [
      'Expected_UUID_for_uuid',
      '_does_not_match__',
      'Nodes_cannot_be_found__',
      '_is_too_short__',
    ],
  },
  gophercloud: {
    'it asks for RAID 5 on two disks, which no controller can make': ['v1.TestNodesRAIDConfig'],
  },
};

/** Reason → tests (parts of their names) that pass or fail by the machine's speed. */
export const undecided: Readonly<Record<string, readonly string[]>> = {
  "they look right after asking for the node's next state, and don't wait for it": ['ProvisionStateTests'],
};
