import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * Neutron's API with ports that ML2 binds to switches, and Keystone's tokens: as Neutron 26 of Debian 13 was seen to answer
 * (`test/interop/real-neutron.test.ts` runs the same on the real one).
 */
export interface SimulatedNeutron {
  readonly url: string;
  readonly state: NeutronState;
  /** Every request: `PUT /v2.0/ports/…`. */
  readonly requests: string[];
  addNetwork(name: string, physicalNetwork?: string): string;
  /** @param subnet in Neutron's words */
  addSubnet(subnet: Readonly<Record<string, unknown>>): string;
  /** Adds a port as a tenant makes one. */
  addPort(networkId: string, port?: Partial<Port>): Port;
  stop(): Promise<void>;
}

interface Port {
  id: string;
  name: string;
  network_id: string;
  mac_address: string;
  status: string;
  admin_state_up: boolean;
  project_id: string;
  device_id: string;
  device_owner: string;
  'binding:host_id': string;
  'binding:vif_type': string;
  'binding:vnic_type': string;
  'binding:profile': Record<string, unknown>;
  fixed_ips: { subnet_id: string; ip_address: string }[];
  /** Details of a trunk's parent. */
  trunk_details?: {
    trunk_id: string;
    sub_ports: { port_id: string; segmentation_id: number; segmentation_type: 'vlan'; mac_address: string }[];
  };
}

interface NeutronState {
  readonly networks: Map<string, { id: string; name: string; 'provider:physical_network': string | null }>;
  readonly subnets: Map<string, Readonly<Record<string, unknown>>>;
  readonly ports: Map<string, Port>;
  /** `switch_id`s that a mechanism driver knows. */
  readonly switches: Set<string>;
  /** How often a port is read before it is ACTIVE; `Infinity` = never. */
  looks: number;
  /** Whether a token is asked for, and which count. */
  keystone: { readonly username: string; readonly password: string } | undefined;
  readonly tokens: Set<string>;
  /** Hangs up at that request, counted from now on and from 1; `done` = it takes effect first. */
  cutAt: { request: number; done: boolean } | undefined;
}

let macs = 0x80_00_00;

/** A MAC that no other port has, nor a test writes down. */
function newMac(): string {
  macs += 1;
  return `fa:16:3e:${(macs.toString(16).match(/../g) ?? []).join(':')}`;
}

class Refusal extends Error {
  readonly status: number;
  readonly type: string;
  constructor(status: number, type: string, message: string) {
    super(message);
    this.status = status;
    this.type = type;
  }
}

export async function startSimulatedNeutron(): Promise<SimulatedNeutron> {
  const state: NeutronState = {
    networks: new Map(),
    subnets: new Map(),
    ports: new Map(),
    switches: new Set(['leaf1']),
    looks: 1,
    keystone: undefined,
    tokens: new Set(),
    cutAt: undefined,
  };
  const requests: string[] = [];
  const server = createServer((request, response) => void serve(request, response));
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    requests.push(`${request.method} ${request.url}`);
    const { cutAt } = state;
    if (cutAt) cutAt.request -= 1;
    const isCut = cutAt?.request === 0;
    if (isCut) state.cutAt = undefined;
    if (isCut && !cutAt.done) return void request.socket.destroy();
    const { status, headers = {}, body } = answerOf(state, request, Buffer.concat(parts).toString(), url);
    if (isCut) return void request.socket.destroy();
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(body === undefined ? '' : JSON.stringify(body));
  };
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    state,
    requests,
    addNetwork: (name, physicalNetwork) => {
      const id = randomUUID();
      state.networks.set(id, { id, name, 'provider:physical_network': physicalNetwork ?? null });
      return id;
    },
    addSubnet: (subnet) => {
      const id = randomUUID();
      state.subnets.set(id, { id, gateway_ip: null, host_routes: [], dns_nameservers: [], ...subnet });
      return id;
    },
    addPort: (networkId, port = {}) => createPort(state, { network_id: networkId, ...port }),
    stop: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

interface Answer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

function answerOf(state: NeutronState, request: IncomingMessage, text: string, self: string): Answer {
  try {
    const url = new URL(request.url ?? '/', self);
    if (url.pathname === '/v3/auth/tokens') return logIn(state, JSON.parse(text), self);
    const token = request.headers['x-auth-token'];
    if (state.keystone && !(typeof token === 'string' && state.tokens.has(token)))
      return { status: 401, body: { error: 'x' } };
    const mayBind =
      state.keystone !== undefined || (request.headers['x-roles'] === 'service' && !request.headers['x-project-id']);
    const body = (text === '' ? {} : JSON.parse(text)) as { port?: Partial<Port> };
    return resource(state, request.method ?? '', url, body.port ?? {}, mayBind);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return { status: error.status, body: { NeutronError: { type: error.type, message: error.message, detail: '' } } };
  }
}

function resource(state: NeutronState, method: string, url: URL, wanted: Partial<Port>, mayBind: boolean): Answer {
  const [, , kind, id] = url.pathname.split('/');
  if (kind === 'networks') {
    if (id === undefined) return { status: 200, body: { networks: filtered(state.networks, url) } };
    const network = state.networks.get(id);
    if (!network) throw new Refusal(404, 'NetworkNotFound', `Network ${id} could not be found.`);
    return { status: 200, body: { network } };
  }
  if (kind === 'subnets') {
    if (id === undefined) return { status: 200, body: { subnets: filtered(state.subnets, url) } };
    const subnet = state.subnets.get(id);
    if (!subnet) throw new Refusal(404, 'SubnetNotFound', `Subnet ${id} could not be found.`);
    return { status: 200, body: { subnet } };
  }
  if (id === undefined && method === 'POST') return { status: 201, body: { port: createPort(state, wanted) } };
  if (id === undefined) return { status: 200, body: { ports: filtered(state.ports, url) } };
  const port = state.ports.get(id);
  if (!port) throw new Refusal(404, 'PortNotFound', `Port ${id} could not be found.`);
  if (method === 'DELETE') {
    state.ports.delete(id);
    return { status: 204 };
  }
  if (method === 'PUT') updatePort(state, port, wanted, mayBind);
  else if (port.status.startsWith('BUILD') && port.admin_state_up) {
    port.status = port.status.length - 'BUILD'.length >= state.looks ? 'ACTIVE' : `${port.status}+`;
  }
  return { status: 200, body: { port: { ...port, status: port.status.replace(/^BUILD\+*$/, 'DOWN') } } };
}

/** Filters rows; of several values of a filter any fits. */
function filtered(rows: ReadonlyMap<string, object>, { searchParams }: URL): object[] {
  return [...rows.values()].filter((row) =>
    [...new Set(searchParams.keys())].every((key) => {
      const value: unknown = Reflect.get(row, key);
      return typeof value === 'string' && searchParams.getAll(key).includes(value);
    }),
  );
}

function createPort(state: NeutronState, wanted: Partial<Port>): Port {
  const { network_id: network = '', mac_address: mac = newMac() } = wanted;
  if (!state.networks.has(network)) throw new Refusal(404, 'NetworkNotFound', `Network ${network} could not be found.`);
  requireFreeMac(state, network, mac, '');
  const port: Port = {
    id: randomUUID(),
    name: '',
    network_id: network,
    mac_address: mac,
    status: 'DOWN',
    admin_state_up: true,
    project_id: 'demo',
    device_id: '',
    device_owner: '',
    'binding:host_id': '',
    'binding:vif_type': 'unbound',
    'binding:vnic_type': 'normal',
    'binding:profile': {},
    fixed_ips: [],
    ...wanted,
  };
  state.ports.set(port.id, port);
  return port;
}

function requireFreeMac(state: NeutronState, network: string, mac: string, self: string): void {
  const other = [...state.ports.values()].find(
    (each) => each.network_id === network && each.mac_address === mac && each.id !== self,
  );
  if (other)
    throw new Refusal(
      409,
      'MacAddressInUse',
      `Unable to complete operation for network ${network}. The mac address ${mac} is in use.`,
    );
}

function updatePort(
  state: NeutronState,
  port: Port,
  { mac_address: mac, ...wanted }: Partial<Port>,
  mayBind: boolean,
): void {
  if (!mayBind && Object.keys(wanted).some((key) => key.startsWith('binding:'))) {
    throw new Refusal(403, 'PolicyNotAuthorized', '(rule:update_port:binding:profile) is disallowed by policy');
  }
  const isBound = port['binding:host_id'] !== '' && port['binding:vif_type'] !== 'unbound';
  if (mac !== undefined && mac !== port.mac_address) {
    if (isBound)
      throw new Refusal(
        409,
        'PortBound',
        `Unable to complete operation on port ${port.id}, port is already bound, port type: other`,
      );
    requireFreeMac(state, port.network_id, mac, port.id);
    // null asks for a new one
    port.mac_address = mac ?? newMac();
  }
  const before = JSON.stringify([port['binding:host_id'], port['binding:profile']]);
  Object.assign(port, wanted);
  const isOther = JSON.stringify([port['binding:host_id'], port['binding:profile']]) !== before;
  if (!port.admin_state_up && port.status === 'ACTIVE') port.status = 'DOWN';
  if (port['binding:host_id'] === '') Object.assign(port, { 'binding:vif_type': 'unbound', status: 'DOWN' });
  else if (isOther || ['unbound', 'binding_failed'].includes(port['binding:vif_type'])) {
    const links = (port['binding:profile']['local_link_information'] ?? []) as { switch_id: string }[];
    const isKnown = links.length > 0 && links.every((link) => state.switches.has(link.switch_id));
    Object.assign(port, {
      'binding:vif_type': isKnown ? 'other' : 'binding_failed',
      status: isKnown ? 'BUILD' : 'DOWN',
    });
  }
}

function logIn(state: NeutronState, asked: unknown, self: string): Answer {
  const { auth } = asked as {
    auth: {
      identity: {
        password?: { user: { name: string; password: string } };
        application_credential?: { id: string; secret: string };
      };
    };
  };
  const { password, application_credential: credential } = auth.identity;
  const [name, secret] = password ? [password.user.name, password.user.password] : [credential?.id, credential?.secret];
  if (name !== state.keystone?.username || secret !== state.keystone?.password)
    return { status: 401, body: { error: { message: 'no' } } };
  const token = randomUUID();
  state.tokens.add(token);
  const endpoints = [
    { interface: 'public', region: 'elsewhere', url: 'http://192.0.2.1:9696' },
    { interface: 'public', region: 'here', url: self },
  ];
  const catalog = [{ type: 'network', name: 'neutron', endpoints }];
  const expires_at = new Date(Date.now() + 3_600_000).toISOString();
  return { status: 201, headers: { 'x-subject-token': token }, body: { token: { expires_at, catalog } } };
}
