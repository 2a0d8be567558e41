import { randomUUID } from 'node:crypto';
import {
  type HttpsAnswer,
  type HttpsRequest,
  type HttpsSwitch,
  startHttpsSwitch,
} from '#test/simulators/switch/https-server.ts';

/**
 * The REST API of AOS-CX: sessions by cookie and CSRF token, six at most; ports and VLANs as resources. From HPE's documents, and
 * what a port prints from a recording of 10.09.
 */

interface Port {
  name: string;
  routing: boolean;
  vlan_mode: string | null;
  vlan_tag: Record<string, string> | null;
  vlan_trunks: Record<string, string>;
  /** Members of a bond. */
  interfaces: Record<string, string>;
  lacp?: string;
  other_config: Record<string, unknown>;
  /** Others, as they are printed. */
  more?: Readonly<Record<string, unknown>>;
  /** Resources below it: addresses, logins. */
  below?: Readonly<Record<string, unknown>>;
}

export interface AosCxApi extends HttpsSwitch {
  readonly state: AosCxState;
  reboot(): void;
}

interface AosCxState {
  ports: Map<string, Port>;
  vlans: Map<number, string>;
  version: string;
  mirrors: Record<string, object>;
  startup: { ports: Map<string, Port>; vlans: Map<number, string> };
  readonly sessions: Map<string, string>;
  mostSessions: number;
}

const base = '/rest/v10.04';
const uri = (vlan: number): string => `${base}/system/vlans/${vlan}`;
const links = (vlans: Iterable<number>): Record<string, string> =>
  Object.fromEntries([...vlans].map((vlan) => [String(vlan), uri(vlan)]));

const portUri = (name: string): string => `${base}/system/interfaces/${encodeURIComponent(name)}`;

/** A port that was given no VLANs shows none, is in VLAN 1, and its own member. */
function portOf(given: Partial<Port> & { name: string; routing: boolean }): Port {
  const interfaces: Port['interfaces'] = given.name.startsWith('lag') ? {} : { [given.name]: portUri(given.name) };
  const plain = { vlan_mode: null, vlan_tag: null, vlan_trunks: {}, interfaces, other_config: {} };
  return { ...plain, ...given };
}

/** @param outputs recorded answers, by `GET /system/…` */
export function startRecordedAosCx(outputs: Readonly<Record<string, string>>): Promise<AosCxApi> {
  const read = (part: string): unknown => {
    const [, text = '{}'] = Object.entries(outputs).find(([command]) => command.startsWith(`GET /system${part}`)) ?? [];
    return JSON.parse(text) as unknown;
  };
  const below = read('/interfaces?depth=4') as Record<string, object>;
  const recorded = read('/interfaces?depth=2') as Record<string, Omit<Port, 'other_config'> & Partial<Port>>;
  const ports = Object.entries(recorded).map(([name, port]) => {
    const { routing, vlan_mode, vlan_tag, vlan_trunks, interfaces, other_config = {}, ...more } = port;
    const own = { name, routing, vlan_mode, vlan_tag, vlan_trunks, interfaces, other_config };
    return { ...own, more, below: { ...below[name] } };
  });
  return startAosCx(ports, Object.keys(read('/vlans') as object).map(Number), {
    version: (read('?attributes') as { software_version: string }).software_version,
    mirrors: read('/mirrors') as AosCxState['mirrors'],
  });
}

export function startAosCxApi(portIds: readonly string[]): Promise<AosCxApi> {
  return startAosCx(
    portIds.map((name) => portOf({ name, routing: false })),
    [1],
    { version: 'GL.10.09.0010', mirrors: {} },
  );
}

async function startAosCx(
  its: readonly Port[],
  vlanIds: readonly number[],
  shown: Pick<AosCxState, 'version' | 'mirrors'>,
): Promise<AosCxApi> {
  const ports = new Map(its.map((port) => [port.name, port]));
  const vlans = new Map(vlanIds.map((vlan) => [vlan, vlan === 1 ? 'DEFAULT_VLAN_1' : `VLAN${vlan}`]));
  const state: AosCxState = {
    ports,
    vlans,
    ...shown,
    startup: structuredClone({ ports, vlans }),
    sessions: new Map(),
    mostSessions: 6,
  };
  const server = await startHttpsSwitch((request) => answer(state, request, server));
  return {
    ...server,
    state,
    reboot: () => {
      Object.assign(state, structuredClone(state.startup));
      state.sessions.clear();
      server.dropConnections();
    },
  };
}

function answer(state: AosCxState, request: HttpsRequest, server: HttpsSwitch): HttpsAnswer {
  const { method, headers, body, query } = request;
  if (!request.path.startsWith(base)) return { status: 404 };
  const path = request.path.slice(base.length);
  if (path === '/login') return logIn(state, new URLSearchParams(body), server);
  const cookie = /sessionId=([^;]+)/.exec(headers.cookie ?? '')?.[1] ?? '';
  if (!state.sessions.has(cookie) || headers['x-csrf-token'] !== state.sessions.get(cookie))
    return { status: 401, body: 'Authorization Required' };
  if (path === '/logout') {
    state.sessions.delete(cookie);
    return {};
  }
  if (path === '/fullconfigs/startup-config' && method === 'PUT') {
    if (query.get('from') !== `${base}/fullconfigs/running-config`) return { status: 400, body: 'from' };
    state.startup = structuredClone({ ports: state.ports, vlans: state.vlans });
    return {};
  }
  if (path === '/system/vlans') {
    if (method === 'GET' && query.get('depth') === '2')
      return { body: Object.fromEntries([...state.vlans].map(([id, vlanName]) => [id, { id, name: vlanName }])) };
    if (method === 'GET') return { body: links(state.vlans.keys()) };
    const { id, name: vlanName } = JSON.parse(body) as { id: number; name: string };
    if (state.vlans.has(id)) return { status: 400, body: `VLAN ${id} already exists` };
    state.vlans.set(id, vlanName);
    return { status: 201, body: '' };
  }
  const gone = method === 'DELETE' ? /^\/system\/vlans\/(\d+)$/.exec(path)?.[1] : undefined;
  if (gone !== undefined) return { status: state.vlans.delete(Number(gone)) ? 204 : 404, body: '' };
  if (path === '/system/interfaces' && method === 'POST') return makeBond(state, JSON.parse(body) as Port);
  if (path === '/system/interfaces') {
    const view = query.has('attributes') ? viewBelow : viewPort;
    return { body: Object.fromEntries([...state.ports].map(([name, port]) => [name, view(port)])) };
  }
  if (path === '/system/mirrors') return { body: state.mirrors };
  if (path === '/system') return { body: { software_version: state.version } };
  const name = /^\/system\/interfaces\/(.+)$/.exec(path)?.[1];
  const port = state.ports.get(decodeURIComponent(name ?? ''));
  if (!port) return { status: 404, body: 'Object not found' };
  if (method === 'DELETE') return { status: state.ports.delete(port.name) ? 204 : 404, body: '' };
  return change(state, port, JSON.parse(body) as Record<string, unknown>);
}

/** A map that is empty is printed as a list; what is below a port as a path. */
function viewPort({ more, ...port }: Port): Record<string, unknown> {
  const printed = Object.entries({ ...port, ...more, below: undefined });
  const maps = printed.map(([name, value]) => {
    const isEmpty = typeof value === 'object' && value !== null && Object.keys(value).length === 0;
    return [name, isEmpty && name.startsWith('vlan_') ? [] : value] as const;
  });
  return {
    ip4_address: null,
    ip4_address_secondary: [],
    ip6_addresses: `${portUri(port.name)}/ip6_addresses`,
    ip6_address_link_local: {},
    applied_vlan_mode: port.routing ? null : (port.vlan_mode ?? 'access'),
    applied_vlan_tag: port.routing ? null : (port.vlan_tag ?? links([1])),
    port_access_vlan_trunks: [],
    mvrp_enable: false,
    vrf: port.routing ? { default: `${base}/system/vrfs/default` } : null,
    ...Object.fromEntries(maps),
  };
}

function viewBelow({ below }: Port): Record<string, unknown> {
  return { ip6_addresses: {}, port_access_auth_configurations: {}, ...below };
}

function logIn(state: AosCxState, form: URLSearchParams, server: HttpsSwitch): HttpsAnswer {
  if (form.get('username') !== server.username || form.get('password') !== server.password)
    return { status: 401, body: 'Login failed' };
  if (state.sessions.size >= state.mostSessions) return { status: 503, body: 'Session limit reached' };
  const [cookie, token] = [randomUUID(), randomUUID()];
  state.sessions.set(cookie, token);
  return { headers: { 'set-cookie': `sessionId=${cookie}; Path=/; HttpOnly; Secure`, 'x-csrf-token': token } };
}

function makeBond(state: AosCxState, given: Port): HttpsAnswer {
  if (state.ports.has(given.name)) return { status: 400, body: `Interface ${given.name} already exists` };
  if (!/^lag\d+$/.test(given.name)) return { status: 400, body: `Invalid name ${given.name}` };
  state.ports.set(given.name, portOf(given));
  return { status: 201, body: '' };
}

const membersOf = ({ ports }: AosCxState, but?: Port): string[] =>
  [...ports.values()].flatMap((port) =>
    port.name.startsWith('lag') && port !== but ? Object.keys(port.interfaces) : [],
  );

function setMembers(state: AosCxState, bond: Port, uris: readonly string[]): HttpsAnswer {
  const names = [...state.ports.keys()].filter((name) => uris.includes(portUri(name)));
  if (names.length < uris.length) return { status: 400, body: `Invalid interfaces ${uris.join()}` };
  const taken = names.find((name) => membersOf(state, bond).includes(name));
  if (taken !== undefined) return { status: 400, body: `Interface ${taken} is in another LAG` };
  bond.interfaces = Object.fromEntries(names.map((name) => [name, portUri(name)]));
  return { status: 204, body: '' };
}

function change(state: AosCxState, port: Port, settings: Readonly<Record<string, unknown>>): HttpsAnswer {
  if (Array.isArray(settings['interfaces'])) return setMembers(state, port, settings['interfaces'] as string[]);
  if (membersOf(state).includes(port.name))
    return { status: 400, body: `Operation not allowed on ${port.name}, which is part of a LAG` };
  const numberOf = (link: unknown): number =>
    Number(new RegExp(`^${base}/system/vlans/(\\d+)$`).exec(String(link))?.[1] ?? 0);
  const {
    routing,
    vlan_mode: mode,
    vlan_tag: tag,
    vlan_trunks: trunks,
  } = settings as {
    routing: boolean;
    vlan_mode: string | null;
    vlan_tag: string | null;
    vlan_trunks: string[];
  };
  const named = [...(tag === null ? [] : [tag]), ...trunks].map(numberOf);
  const absent = named.find((vlan) => !state.vlans.has(vlan));
  if (absent !== undefined) return { status: 400, body: `VLAN ${absent} does not exist` };
  const { applied_vlan_mode: _mode, applied_vlan_tag: _tag, applied_vlan_trunks: _trunks, ...more } = port.more ?? {};
  Object.assign(port, {
    more,
    routing,
    vlan_mode: mode,
    vlan_tag: tag === null ? null : links([numberOf(tag)]),
    vlan_trunks: links(trunks.map(numberOf)),
  });
  return { status: 204, body: '' };
}
