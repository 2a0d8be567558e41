import { allText, elementsAt, parseXml, textAt, type XmlElement } from '#conductor/networks/switches/netconf/xml.ts';
import { rpcError } from '#test/simulators/switch/netconf-server.ts';
import { type SwitchServer, startSwitchServer } from '#test/simulators/switch/switch-server.ts';

/**
 * OpenConfig over NETCONF: candidate, lock, validation, a confirmed commit that another session may confirm or cancel. The
 * models' text alone: a port is its `switched-vlan`, a VLAN its number.
 */
export interface OpenconfigSwitch extends SwitchServer {
  readonly state: OpenconfigState;
  configure(port: string, vlan: number): void;
}

interface Port {
  /** Element as it was recorded; what is told below stands in its place. */
  recorded?: XmlElement;
  /** Nothing is said of it where it is `undefined`. */
  isEnabled: boolean | undefined;
  switched: string;
  /** Aggregate of a member. */
  aggregateId?: string | undefined;
  /** Type of an aggregate. */
  lagType?: string | undefined;
  /** Whether it was recorded, and set since. */
  isSet?: true;
}

interface Config {
  readonly ports: Map<string, Port>;
  /** With their names. */
  readonly vlans: Map<number, string>;
  /** Instances that were recorded, which have VLANs of their own. */
  instances?: readonly XmlElement[];
}

interface OpenconfigState {
  running: Config;
  candidate: Config;
  holder: object | undefined;
  confirming: { persist: string; before: Config; timeout: NodeJS.Timeout } | undefined;
}

const copy = (config: Config): Config => structuredClone(config);

const all = ['candidate:1.0', 'confirmed-commit:1.1', 'validate:1.1', 'rollback-on-error:1.0'];

export async function startOpenconfigSwitch(
  ports: readonly string[],
  names: readonly string[] = all,
  running: Config = {
    ports: new Map(ports.map((port) => [port, { isEnabled: true, switched: '' }])),
    vlans: new Map([[1, 'default']]),
  },
): Promise<OpenconfigSwitch> {
  const state: OpenconfigState = { running, candidate: copy(running), holder: undefined, confirming: undefined };
  const server = await startSwitchServer({
    netconf: {
      capabilities: [
        'urn:ietf:params:netconf:base:1.0',
        'urn:ietf:params:netconf:base:1.1',
        ...names.map((name) => `urn:ietf:params:netconf:capability:${name}`),
      ],
      open: () => {
        const session = {};
        return { answer: (operation) => answer(state, session, operation), end: () => release(state, session) };
      },
    },
  });
  return {
    ...server,
    state,
    configure: (port, vlan) => {
      const switched = `<interface-mode>ACCESS</interface-mode><access-vlan>${vlan}</access-vlan>`;
      state.running.ports.set(port, { isEnabled: true, switched });
    },
    stop: async () => {
      clearTimeout(state.confirming?.timeout);
      await server.stop();
    },
  };
}

/** @param outputs by `interfaces` and `network-instances`, as they were recorded */
export async function startRecordedOpenconfig(outputs: Readonly<Record<string, string>>): Promise<OpenconfigSwitch> {
  const partOf = (name: string): XmlElement => parseXml(outputs[name] ?? '<data/>');
  const ports = elementsAt(partOf('interfaces'), 'interfaces', 'interface').map((recorded): [string, Port] => {
    const switched = containers.flatMap((container) => elementsAt(recorded, container, 'switched-vlan', 'config'));
    const enabled = textAt(recorded, 'config', 'enabled');
    return [
      textAt(recorded, 'name') ?? '',
      {
        recorded,
        isEnabled: enabled === undefined ? undefined : enabled === 'true',
        switched: switched.flatMap(({ children }) => children.map(print)).join(''),
        aggregateId: textAt(recorded, 'ethernet', 'config', 'aggregate-id'),
        lagType: textAt(recorded, 'aggregation', 'config', 'lag-type'),
      },
    ];
  });
  const instances = elementsAt(partOf('network-instances'), 'network-instances', 'network-instance');
  return startOpenconfigSwitch([], all, { ports: new Map(ports), vlans: new Map(), instances });
}

const containers = ['ethernet', 'aggregation'];

function print({ name, children, text }: XmlElement): string {
  return `<${name}>${children.length === 0 ? text : children.map(print).join('')}</${name}>`;
}

/** Without elements of these names, at any depth. */
function without(element: XmlElement, isGone: (each: XmlElement) => boolean): XmlElement {
  const children = element.children.filter((each) => !isGone(each)).map((each) => without(each, isGone));
  return { ...element, children };
}

/** Gives what was recorded of an element's children, but for these. */
function restOf(element: XmlElement | undefined, ...path: readonly string[]): string {
  const names = path.at(-1)?.split(' ') ?? [];
  const at = element ? elementsAt(element, ...path.slice(0, -1)) : [];
  return at.flatMap(({ children }) => children.filter(({ name }) => !names.includes(name)).map(print)).join('');
}

function release(state: OpenconfigState, session: object): void {
  if (state.holder !== session) return;
  state.holder = undefined;
  state.candidate = copy(state.running);
}

function answer(state: OpenconfigState, session: object, operation: XmlElement): string {
  const { name } = operation;
  if (name === 'get-config') return `<data>${show(state.running, operation)}</data>`;
  if (name === 'cancel-commit') return cancel(state, textAt(operation, 'persist-id'));
  if (state.holder !== undefined && state.holder !== session) {
    return rpcError('lock-denied', 'candidate is locked by another session');
  }
  if (name === 'lock') {
    state.holder = session;
    state.candidate = copy(state.running);
  } else if (name === 'unlock') release(state, session);
  else if (name === 'discard-changes') state.candidate = copy(state.running);
  else if (name === 'edit-config') return edit(state.candidate, operation);
  else if (name === 'commit') return commit(state, operation);
  else if (name !== 'validate') return rpcError('operation-not-supported', name);
  return '<ok/>';
}

function show({ ports, vlans, instances = [] }: Config, operation: XmlElement): string {
  if (elementsAt(operation, 'filter', 'network-instances').length > 0) {
    const list = [...vlans]
      .map(([vlan, name]) => `<vlan><vlan-id>${vlan}</vlan-id><config><name>${name}</name></config></vlan>`)
      .join('');
    const isLeft = ({ name, children }: XmlElement): boolean =>
      name === 'member' && children.some((each) => ports.get(textAt(each, 'interface') ?? '')?.isSet === true);
    const recorded = instances.map((each) => print(without(each, isLeft))).join('');
    return `<network-instances xmlns="http://openconfig.net/yang/network-instance">${recorded}<network-instance><name>default</name><vlans>${list}</vlans></network-instance></network-instances>`;
  }
  const list = [...ports].map(([port, its]) => showPort(port, its));
  return `<interfaces xmlns="http://openconfig.net/yang/interfaces">${list.join('')}</interfaces>`;
}

function showPort(port: string, { recorded, isEnabled, switched, aggregateId, lagType }: Port): string {
  const container = /^port-?channel/i.test(port) ? 'aggregation' : 'ethernet';
  const config =
    restOf(recorded, container, 'config', 'aggregate-id lag-type') +
    (aggregateId === undefined
      ? ''
      : `<lag:aggregate-id xmlns:lag="http://openconfig.net/yang/interfaces/aggregate">${aggregateId}</lag:aggregate-id>`) +
    (lagType === undefined ? '' : `<lag-type>${lagType}</lag-type>`);
  const inside =
    (switched === '' ? '' : `<oc-vlan:config>${switched}</oc-vlan:config>`) +
    restOf(recorded, container, 'switched-vlan', 'config');
  const enabled = isEnabled === undefined ? '' : `<enabled>${isEnabled}</enabled>`;
  return (
    `<interface><name>${port}</name><config><name>${port}</name>${enabled}${restOf(recorded, 'config', 'name enabled')}</config>` +
    `<${container}>${config === '' ? '' : `<config>${config}</config>`}${restOf(recorded, container, 'config switched-vlan')}` +
    `<oc-vlan:switched-vlan xmlns:oc-vlan="http://openconfig.net/yang/vlan">${inside}</oc-vlan:switched-vlan></${container}>` +
    `${restOf(recorded, `name config ${container}`)}</interface>`
  );
}

function edit(candidate: Config, operation: XmlElement): string {
  const vlans = elementsAt(operation, 'config', 'network-instances', 'network-instance', 'vlans', 'vlan');
  for (const each of vlans) {
    const name = textAt(each, 'config', 'name');
    // one that comes without a name comes to be removed
    if (name === undefined) candidate.vlans.delete(Number(textAt(each, 'vlan-id')));
    else candidate.vlans.set(Number(textAt(each, 'vlan-id')), name);
  }
  for (const each of elementsAt(operation, 'config', 'interfaces', 'interface')) {
    const fault = editPort(candidate, each);
    if (fault !== undefined) return fault;
  }
  return '<ok/>';
}

/** Edits a port; one that comes without settings comes to be removed. */
function editPort({ ports }: Config, each: XmlElement): string | undefined {
  const name = textAt(each, 'name') ?? '';
  const isMade = textAt(each, 'config', 'type')?.endsWith('ieee8023adLag') === true;
  if (isMade && !ports.has(name)) ports.set(name, { isEnabled: true, switched: '' });
  const port = ports.get(name);
  if (!port) return rpcError('data-missing', `no interface ${name}`);
  if (elementsAt(each, 'config').length === 0) {
    const member = [...ports].find(([, { aggregateId }]) => aggregateId === name);
    if (member) return rpcError('data-missing', `leafref of interface ${member[0]}: no interface ${name}`);
    ports.delete(name);
    return undefined;
  }
  if (port.recorded) {
    port.isSet = true;
    // what is in effect follows
    port.recorded = without(port.recorded, (part) => part.name === 'state');
  }
  port.lagType = textAt(each, 'aggregation', 'config', 'lag-type') ?? port.lagType;
  const aggregateId = textAt(each, 'ethernet', 'config', 'aggregate-id');
  if (aggregateId && !ports.has(aggregateId)) return rpcError('data-missing', `no interface ${aggregateId}`);
  if (aggregateId !== undefined) port.aggregateId = aggregateId || undefined;
  port.isEnabled = textAt(each, 'config', 'enabled') === 'true';
  const [switched] = containers.flatMap((container) => elementsAt(each, container, 'switched-vlan', 'config'));
  if (switched)
    port.switched = switched.children.map((leaf) => `<${leaf.name}>${allText(leaf)}</${leaf.name}>`).join('');
  return undefined;
}

function commit(state: OpenconfigState, operation: XmlElement): string {
  const persistId = textAt(operation, 'persist-id');
  const { confirming } = state;
  if (persistId !== undefined && confirming?.persist !== persistId)
    return rpcError('invalid-value', 'no such persist-id');
  if (persistId === undefined && confirming) return rpcError('in-use', 'a confirmed commit is pending');
  clearTimeout(confirming?.timeout);
  state.confirming = undefined;
  const before = state.running;
  state.running = copy(state.candidate);
  if (elementsAt(operation, 'confirmed').length === 0) return '<ok/>';
  const seconds = Number(textAt(operation, 'confirm-timeout') ?? 600);
  const timeout = setTimeout(() => takeBack(state), seconds * 1000);
  state.confirming = { persist: textAt(operation, 'persist') ?? '', before, timeout };
  return '<ok/>';
}

function cancel(state: OpenconfigState, persistId: string | undefined): string {
  if (state.confirming?.persist !== persistId) return rpcError('invalid-value', 'no confirmed commit is pending');
  takeBack(state);
  return '<ok/>';
}

function takeBack(state: OpenconfigState): void {
  if (!state.confirming) return;
  clearTimeout(state.confirming.timeout);
  state.running = state.confirming.before;
  state.candidate = copy(state.running);
  state.confirming = undefined;
}
