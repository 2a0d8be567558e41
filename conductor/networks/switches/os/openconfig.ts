import { allVlans, type PortVlans, vlanList } from '#conductor/model/port-vlans.ts';
import type { SwitchOs } from '#conductor/networks/switches/command-line/switch-os.ts';
import { netconf } from '#conductor/networks/switches/netconf/netconf.ts';
import { textAt } from '#conductor/networks/switches/netconf/xml.ts';
import {
  readOpenconfigBonds,
  readOpenconfigPorts,
  vlanElements,
} from '#conductor/networks/switches/os/ports/openconfig-ports.ts';

/**
 * OpenConfig's models over NETCONF: `openconfig-vlan` at interfaces and aggregates. No value of these models isolates a port
 * on every switch, so that an isolated one is disabled.
 */

const model = (name: string): string => `xmlns="http://openconfig.net/yang/${name}"`;
const nc = 'xmlns:nc="urn:ietf:params:xml:ns:netconf:base:1.0"';
const candidate = '<target><candidate/></target>';
/** Id of Baton's commits that nobody has confirmed: a conductor that finds one takes it back. */
const persistId = 'baton';
const isAggregate = (portId: string): boolean => /^(port-?channel|ae|lag|bond)/i.test(portId);

const vlansOfInstances = `<get-config><source><running/></source><filter type="subtree"><network-instances ${model('network-instance')}/></filter></get-config>`;

export const openconfig: SwitchOs = {
  name: 'openconfig',
  transports: { netconf },
  portId: /^[A-Za-z][\w./:-]{0,62}$/,
  read: {
    commands: [
      `<get-config><source><running/></source><filter type="subtree"><interfaces ${model('interfaces')}/></filter></get-config>`,
      vlansOfInstances,
    ],
    parse: readOpenconfigPorts,
  },
  isolate: (portIds) => [
    edit(portIds.map((portId) => interfaceOf(portId, false, `<config ${nc} nc:operation="remove"/>`))),
  ],
  access: (portIds, vlan) => [
    edit(
      portIds.map((portId) =>
        interfaceOf(
          portId,
          true,
          `<config ${nc} nc:operation="replace"><interface-mode>ACCESS</interface-mode><access-vlan>${vlan}</access-vlan></config>`,
        ),
      ),
    ),
  ],
  trunk: (portIds, vlans) => [edit(portIds.map((portId) => interfaceOf(portId, true, trunkOf(vlans))))],
  bonds: {
    // as EOS has them; other systems that have other names refuse it
    name: (number) => `Port-Channel${number}`,
    modes: ['lacp', 'static'],
    pairs: [],
    members: readOpenconfigBonds,
    make: ({ name, mode }) => [
      edit([
        `<interface><name>${name}</name><config><name>${name}</name><type xmlns:ift="urn:ietf:params:xml:ns:yang:iana-if-type">ift:ieee8023adLag</type>` +
          `<enabled>false</enabled></config><aggregation ${model('interfaces/aggregate')}><config><lag-type>${mode === 'lacp' ? 'LACP' : 'STATIC'}</lag-type></config></aggregation></interface>`,
      ]),
    ],
    join: (portIds, { name }) => [edit(portIds.map((portId) => memberOf(portId, `>${name}</aggregate-id>`)))],
    leave: (portIds) => [edit(portIds.map((portId) => memberOf(portId, ` ${nc} nc:operation="remove"/>`)))],
    remove: (name) => [edit([`<interface ${nc} nc:operation="remove"><name>${name}</name></interface>`])],
  },
  createVlan: (vlan) => [
    `<edit-config>${candidate}<config><network-instances ${model('network-instance')}><network-instance><name>default</name>` +
      `<vlans><vlan><vlan-id>${vlan}</vlan-id><config><vlan-id>${vlan}</vlan-id><name>baton-${vlan}</name></config></vlan></vlans>` +
      '</network-instance></network-instances></config></edit-config>',
  ],
  removeVlan: {
    commands: [vlansOfInstances],
    findOwn: ([instances = '']) =>
      vlanElements(instances).flatMap((each) => {
        const vlan = Number(textAt(each, 'vlan-id'));
        return textAt(each, 'config', 'name') === `baton-${vlan}` ? vlan : [];
      }),
    lines: (vlan) => [
      `<edit-config>${candidate}<config><network-instances ${model('network-instance')}><network-instance><name>default</name>` +
        `<vlans><vlan ${nc} nc:operation="remove"><vlan-id>${vlan}</vlan-id></vlan></vlans>` +
        '</network-instance></network-instances></config></edit-config>',
    ],
  },
  transaction: {
    open: () => [`<lock>${candidate}</lock>`],
    // a commit validates; after `validate`, netconfd 2.13 commits nothing and says yes
    diff: () => [],
    commit: () => [
      `<commit><confirmed/><confirm-timeout>120</confirm-timeout><persist>${persistId}</persist></commit>`,
      `<unlock>${candidate}</unlock>`,
    ],
    confirm: () => [`<commit><persist-id>${persistId}</persist-id></commit>`],
    abort: () => ['<discard-changes/>', `<unlock>${candidate}</unlock>`],
    leftBehind: {
      command: `<cancel-commit><persist-id>${persistId}</persist-id></cancel-commit>`,
      // there is none
      mayBeRefused: true,
      find: () => [],
    },
  },
  save: () => ['<copy-config><target><startup/></target><source><running/></source></copy-config>'],
};

function edit(interfaces: readonly string[]): string {
  return `<edit-config>${candidate}<config><interfaces ${model('interfaces')}>${interfaces.join('')}</interfaces></config></edit-config>`;
}

function interfaceOf(portId: string, isEnabled: boolean, switched: string): string {
  const [container, name] = isAggregate(portId)
    ? ['aggregation', 'interfaces/aggregate']
    : ['ethernet', 'interfaces/ethernet'];
  return (
    `<interface><name>${portId}</name><config><name>${portId}</name><enabled>${isEnabled}</enabled></config>` +
    `<${container} ${model(name)}><switched-vlan ${model('vlan')}>${switched}</switched-vlan></${container}></interface>`
  );
}

/** A member is up: what isolates is that its bond is not. */
function memberOf(portId: string, aggregateId: string): string {
  return (
    `<interface><name>${portId}</name><config><name>${portId}</name><enabled>true</enabled></config>` +
    `<ethernet ${model('interfaces/ethernet')}><config><aggregate-id ${model('interfaces/aggregate')}${aggregateId}</config></ethernet></interface>`
  );
}

function trunkOf(vlans: PortVlans): string {
  const native = vlans.untagged === undefined ? '' : `<native-vlan>${vlans.untagged}</native-vlan>`;
  const ranges = vlanList(allVlans(vlans))
    .split(',')
    .map((range) => `<trunk-vlans>${range.replace('-', '..')}</trunk-vlans>`);
  return `<config ${nc} nc:operation="replace"><interface-mode>TRUNK</interface-mode>${native}${ranges.join('')}</config>`;
}
