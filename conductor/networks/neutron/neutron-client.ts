import { readFile } from 'node:fs/promises';
import { Agent } from 'undici';
import { z } from 'zod';
import { openKeystone } from '#conductor/networks/neutron/keystone.ts';
import type { NeutronSettings } from '#conductor/networks/neutron/neutron-settings.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { askPeer, type PeerAnswer, type PeerRequest } from '#shared/peers/ask-peer.ts';

/** Neutron's API 2.0, in so far as it binds ports. */
export interface NeutronClient {
  /** @throws AppError `not_found` naming it, `invalid_argument` when several have the name */
  findNetwork(nameOrId: string, signal?: AbortSignal): Promise<NeutronNetwork>;
  listPorts(filter: Filter, signal?: AbortSignal): Promise<NeutronPort[]>;
  listNetworks(filter: Filter, signal?: AbortSignal): Promise<NeutronNetwork[]>;
  listSubnets(filter: Filter, signal?: AbortSignal): Promise<NeutronSubnet[]>;
  /** @throws AppError `not_found` */
  getSubnet(id: string, signal?: AbortSignal): Promise<NeutronSubnet>;
  /** @throws AppError `not_found` */
  getPort(id: string, signal?: AbortSignal): Promise<NeutronPort>;
  createPort(port: Readonly<Record<string, unknown>>, signal?: AbortSignal): Promise<NeutronPort>;
  updatePort(id: string, port: Readonly<Record<string, unknown>>, signal?: AbortSignal): Promise<NeutronPort>;
  /** One that is gone already is fine. */
  deletePort(id: string, signal?: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

/** A filter; of several values any fits. */
type Filter = Readonly<Record<string, string | readonly string[]>>;

const Network = z.object({
  id: z.string(),
  name: z.string(),
  mtu: z.number().nullish(),
  'provider:physical_network': z.string().nullish(),
  segments: z.array(z.object({ 'provider:physical_network': z.string().nullish() })).optional(),
});
export type NeutronNetwork = z.infer<typeof Network>;

const Subnet = z.object({
  id: z.string(),
  cidr: z.string(),
  ip_version: z.union([z.literal(4), z.literal(6)]),
  enable_dhcp: z.boolean(),
  gateway_ip: z.string().nullish(),
  ipv6_address_mode: z.string().nullish(),
  dns_nameservers: z.array(z.string()).default([]),
  host_routes: z.array(z.object({ destination: z.string(), nexthop: z.string() })).default([]),
});
export type NeutronSubnet = z.infer<typeof Subnet>;

const Port = z.object({
  id: z.string(),
  name: z.string(),
  network_id: z.string(),
  mac_address: z.string(),
  status: z.string(),
  admin_state_up: z.boolean().default(true),
  project_id: z.string().nullish(),
  device_id: z.string().default(''),
  device_owner: z.string().default(''),
  'binding:host_id': z.string().default(''),
  'binding:vif_type': z.string().default('unbound'),
  'binding:vnic_type': z.string().default('normal'),
  'binding:profile': z.record(z.string(), z.unknown()).default({}),
  fixed_ips: z.array(z.object({ subnet_id: z.string(), ip_address: z.string() })).default([]),
  /** Where it is the parent of a trunk. */
  trunk_details: z
    .object({ sub_ports: z.array(z.object({ port_id: z.string(), segmentation_id: z.number() })).default([]) })
    .nullish(),
});
export type NeutronPort = z.infer<typeof Port>;

const Networks = z.object({ networks: z.array(Network) });
const Subnets = z.object({ subnets: z.array(Subnet) });
const Ports = z.object({ ports: z.array(Port) });
const OneNetwork = z.object({ network: Network });
const OneSubnet = z.object({ subnet: Subnet });
const OnePort = z.object({ port: Port });

const Fault = z.object({ NeutronError: z.union([z.string(), z.object({ message: z.string() })]) });

export function createNeutronClient(settings: NeutronSettings): NeutronClient {
  const state: { agent?: Promise<Agent> } = {};
  const agent = (): Promise<Agent> => (state.agent ??= openAgent(settings.caFile));
  const keystone = settings.keystone && openKeystone(settings.keystone, async () => agent());
  const send = async (
    method: PeerRequest['method'],
    path: string,
    body: unknown,
    signal: AbortSignal | undefined,
  ): Promise<PeerAnswer> => {
    const token = await keystone?.token(signal);
    const base = settings.url ?? token?.endpoint ?? '';
    // without Keystone the role says that ports may be bound; a project would take that right away again
    const headers = token ? { 'x-auth-token': token.id } : { 'x-roles': 'service' };
    try {
      return await askPeer('neutron', `${base}/v2.0${path}`, {
        who: 'Neutron',
        method,
        headers: { accept: 'application/json', 'content-type': 'application/json', ...headers },
        body: body === undefined ? undefined : JSON.stringify(body),
        dispatcher: await agent(),
        signal,
      });
    } catch (cause) {
      if (cause instanceof AppError) throw cause;
      if (signal?.aborted) throw new AppError('aborted', `${method} ${path} of Neutron was stopped`, { cause });
      throw new AppError('unavailable', `Neutron at ${base} does not answer ${method} ${path}`, { cause });
    }
  };
  const ask = async <Schema extends z.ZodType>(
    schema: Schema,
    method: PeerRequest['method'],
    path: string,
    body?: unknown,
    signal?: AbortSignal,
  ): Promise<z.infer<Schema>> => {
    let answer = await send(method, path, body, signal);
    if (answer.status === 401 && keystone) {
      // the token was taken back before its time
      keystone.forget();
      answer = await send(method, path, body, signal);
    }
    requireDone(answer, `${method} ${path}`);
    const parsed = schema.safeParse(answer.body);
    if (parsed.success) return parsed.data;
    throw new AppError('switch_error', `Neutron's answer to ${method} ${path} is not what was asked for`, {
      cause: parsed.error,
    });
  };
  const read = <Schema extends z.ZodType>(schema: Schema, kind: string, id: string, signal?: AbortSignal) =>
    ask(schema, 'GET', `/${kind}/${encodeURIComponent(id)}`, undefined, signal);
  const list = <Schema extends z.ZodType>(schema: Schema, kind: string, filter: Filter, signal?: AbortSignal) =>
    ask(schema, 'GET', `/${kind}?${queryOf(filter)}`, undefined, signal);
  return {
    findNetwork: async (nameOrId, signal) => {
      if (z.uuid().safeParse(nameOrId).success) {
        return (await read(OneNetwork, 'networks', nameOrId, signal)).network;
      }
      const { networks } = await list(Networks, 'networks', { name: nameOrId }, signal);
      const [network, ...more] = networks;
      if (!network) throw new AppError('not_found', `Neutron has no network ${nameOrId}`);
      if (more.length === 0) return network;
      throw new AppError('invalid_argument', `Neutron has ${networks.length} networks ${nameOrId}: give a UUID`);
    },
    listPorts: async (filter, signal) => (await list(Ports, 'ports', filter, signal)).ports,
    listNetworks: async (filter, signal) => (await list(Networks, 'networks', filter, signal)).networks,
    listSubnets: async (filter, signal) => (await list(Subnets, 'subnets', filter, signal)).subnets,
    getSubnet: async (id, signal) => (await read(OneSubnet, 'subnets', id, signal)).subnet,
    getPort: async (id, signal) => (await read(OnePort, 'ports', id, signal)).port,
    createPort: async (port, signal) => (await ask(OnePort, 'POST', '/ports', { port }, signal)).port,
    updatePort: async (id, port, signal) =>
      (await ask(OnePort, 'PUT', `/ports/${encodeURIComponent(id)}`, { port }, signal)).port,
    deletePort: async (id, signal) => {
      const answer = await send('DELETE', `/ports/${encodeURIComponent(id)}`, undefined, signal);
      if (answer.status !== 404) requireDone(answer, `DELETE /ports/${id}`);
    },
    close: async () => {
      await (await state.agent)?.destroy();
      delete state.agent;
    },
  };
}

function queryOf(filter: Filter): string {
  const query = new URLSearchParams();
  for (const [key, values] of Object.entries(filter)) for (const value of [values].flat()) query.append(key, value);
  return query.toString();
}

function requireDone(answer: PeerAnswer, what: string): void {
  const { status, body } = answer;
  if (status < 300) return;
  const fault = Fault.safeParse(body).data?.NeutronError;
  const said = (typeof fault === 'string' ? fault : fault?.message) ?? answer.text();
  const words = said.trim().slice(0, 500) || `HTTP ${status}`;
  const code = status === 404 ? 'not_found' : status >= 500 ? 'unavailable' : 'switch_error';
  throw new AppError(code, `Neutron refused ${what}: ${words}`);
}

async function openAgent(caFile: string | undefined): Promise<Agent> {
  if (caFile === undefined) return new Agent({ connections: 4, allowH2: false });
  const ca = await readFile(caFile, 'utf8').catch((cause: unknown) => {
    throw new AppError('invalid_argument', `neutron.ca_file: read ${caFile}`, { cause });
  });
  return new Agent({ connections: 4, allowH2: false, connect: { ca } });
}
