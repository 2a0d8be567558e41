import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { AnyAnswer, createEtcdClient, type EtcdClient, MemberListAnswer } from '#conductor/cluster/etcd/etcd-client.ts';
import type { EtcdCluster } from '#conductor/cluster/etcd/etcd-cluster.ts';
import { readEtcdTls } from '#conductor/cluster/etcd/etcd-tls.ts';
import { lookAtCluster } from '#conductor/cluster/etcd/look-at-cluster.ts';
import { run } from '#shared/process/run.ts';
import { waitUntil } from '#test/lab/wait-until.ts';
import { type EtcdCertificates, makeEtcdCertificates } from '#test/support/etcd-certificates.ts';
import { type EtcdTestMember, peerUrlAt, startEtcdMember } from '#test/support/etcd-member.ts';
import { createPeerNetwork, type PeerNetwork } from '#test/support/etcd-peer-network.ts';

export interface EtcdTestCluster {
  /** `BATON_ETCD_TLS_DIR`; the cluster's set is called as the cluster. */
  readonly tlsDirectory: string;
  readonly client: EtcdClient;
  /** Describes the cluster as a site's documents do: all that run are endpoints. */
  describe(more?: Partial<EtcdCluster>): EtcdCluster;
  member(name: string): EtcdTestMember;
  /** Lists the members that run. */
  running(): readonly EtcdTestMember[];
  kill(name: string): Promise<void>;
  /** Adds one, and starts it unless told otherwise; one that was there before comes without its data. */
  add(name: string, options?: { readonly isLearner?: boolean; readonly isStarted?: boolean }): Promise<void>;
  /** Name of the leader, once all that answer agree. */
  leader(): Promise<string>;
  /** Until all that answer agree on it. */
  moveLeader(to: string): Promise<void>;
  /** Waits until these answer with the word of a quorum. Default: all that run. */
  waitHealthy(names?: readonly string[]): Promise<void>;
  /** The independent witness. @returns what it prints */
  etcdctl(...args: readonly string[]): Promise<string>;
  close(): Promise<void>;
}

const clusterName = 'kubernetes';
const timeoutMs = 60_000;
const limits = { connectMs: 3000, askMs: 5000, actMs: 15_000 };
const addresses = Array.from({ length: 250 }, (_, index) => `192.0.2.${index + 1}`);

interface Cluster {
  readonly directory: string;
  readonly tlsDirectory: string;
  readonly files: EtcdCertificates;
  readonly client: EtcdClient;
  readonly network: PeerNetwork;
  readonly strictReconfigCheck: boolean;
  readonly heartbeatMs: number;
  /** By name. */
  readonly running: Map<string, EtcdTestMember>;
  /** Addresses by name; a name keeps its own. */
  readonly homes: Map<string, string>;
  /** Names, one for each start. */
  readonly begun: string[];
}

/** A cluster of real members with mutual TLS on loopback, their data in memory; each is ended by its pid. */
export async function startEtcd(
  names: readonly string[],
  options: {
    /** etcd's own guard, which wants 5 s of quiet before each removal. Default off: it is ours that is tested. */
    readonly strictReconfigCheck?: boolean;
    /** Default 200, twice etcd's own: at a quicker pace a busy machine loses leaders. An election takes ten beats. */
    readonly heartbeatMs?: number;
    /** Where to make its directory; default in memory. */
    readonly below?: string;
  } = {},
): Promise<EtcdTestCluster> {
  const directory = await mkdtemp(join(options.below ?? '/dev/shm', 'baton-etcd-'));
  const tlsDirectory = join(directory, 'tls');
  const cluster: Cluster = {
    directory,
    tlsDirectory,
    files: await makeEtcdCertificates(tlsDirectory, clusterName, ['127.0.0.1', ...addresses]),
    client: createEtcdClient({ tls: await readEtcdTls(tlsDirectory, clusterName), limits }),
    network: createPeerNetwork(),
    strictReconfigCheck: options.strictReconfigCheck ?? false,
    heartbeatMs: options.heartbeatMs ?? 200,
    running: new Map(),
    homes: new Map(),
    begun: [],
  };
  try {
    const initialCluster = names.map((name) => `${name}=${peerUrlAt(addressOf(cluster, name))}`);
    for (const name of names) await begin(cluster, name, initialCluster, true);
    await waitHealthy(cluster);
  } catch (error) {
    await close(cluster);
    throw error;
  }
  return {
    tlsDirectory,
    client: cluster.client,
    describe: (more) => describe(cluster, more),
    member: (name) => find(cluster, name),
    running: () => [...cluster.running.values()],
    kill: (name) => kill(cluster, name),
    add: (name, how) => add(cluster, name, how),
    leader: () => findLeader(cluster),
    moveLeader: (to) => moveLeader(cluster, to),
    waitHealthy: (wanted) => waitHealthy(cluster, wanted),
    etcdctl: (...args) => etcdctl(cluster, args),
    close: () => close(cluster),
  };
}

function addressOf({ homes }: Cluster, name: string): string {
  const address = homes.get(name) ?? addresses[homes.size] ?? '';
  homes.set(name, address);
  return address;
}

function find({ running }: Cluster, name: string): EtcdTestMember {
  const found = running.get(name);
  if (!found) throw new Error(`no member ${name} runs`);
  return found;
}

function describe({ running }: Cluster, more: Partial<EtcdCluster> = {}): EtcdCluster {
  const endpoints = [...running.values()].map(({ url }) => url);
  return { name: clusterName, endpoints, tls: clusterName, minimumMembers: 1, members: [], ...more };
}

async function begin(cluster: Cluster, name: string, initialCluster: readonly string[], isNew: boolean): Promise<void> {
  const { directory, files, network, strictReconfigCheck, heartbeatMs, running, begun } = cluster;
  begun.push(name);
  const dataDirectory = join(directory, `${begun.length}-${name}`);
  const more = { files, network, initialCluster, isNew, strictReconfigCheck, heartbeatMs };
  running.set(name, await startEtcdMember({ name, address: addressOf(cluster, name), dataDirectory, ...more }));
}

async function kill({ running }: Cluster, name: string): Promise<void> {
  const member = running.get(name);
  running.delete(name);
  await member?.kill();
}

async function add(
  cluster: Cluster,
  name: string,
  { isLearner = false, isStarted = true }: { readonly isLearner?: boolean; readonly isStarted?: boolean } = {},
): Promise<void> {
  const { client, homes } = cluster;
  await kill(cluster, name);
  const { url } = find(cluster, await findLeader(cluster));
  const body = { peerURLs: [peerUrlAt(addressOf(cluster, name))], isLearner };
  // an id is made from the peer URL and the second: one that was removed within it can't come back before the next
  await waitUntil(
    `${name} to be added`,
    async () => client.post(url, '/v3/cluster/member/add', body, AnyAnswer, { acts: true }),
    { timeoutMs, everyMs: 100 },
  );
  if (!isStarted) return;
  const { members } = await client.post(url, '/v3/cluster/member/list', {}, MemberListAnswer);
  const nameAt = (peer: string): string => [...homes].find(([, home]) => peerUrlAt(home) === peer)?.[0] ?? '';
  const peers = members.flatMap(({ peerURLs }) => peerURLs.map((peer) => `${nameAt(peer)}=${peer}`));
  await begin(cluster, name, peers, false);
  if (!isLearner) await waitHealthy(cluster, [name]);
}

function findLeader(cluster: Cluster): Promise<string> {
  const look = async (): Promise<string | undefined> => {
    const view = await lookAtCluster(cluster.client, describe(cluster));
    return view.members.find(({ id }) => id === view.leader)?.name;
  };
  return waitUntil('a leader that all agree on', look, { timeoutMs, everyMs: 20 });
}

async function moveLeader(cluster: Cluster, to: string): Promise<void> {
  const look = async (): Promise<true | undefined> => {
    const { members, leader } = await lookAtCluster(cluster.client, describe(cluster));
    const from = members.find(({ id }) => id === leader);
    if (!from || from.name === to) return from && true;
    const targetID = members.find(({ name }) => name === to)?.id;
    const { url } = find(cluster, from.name);
    await cluster.client.post(url, '/v3/maintenance/transfer-leadership', { targetID }, AnyAnswer, { acts: true });
    return undefined;
  };
  await waitUntil(`${to} to lead`, look, { timeoutMs, everyMs: 20 });
}

async function waitHealthy(cluster: Cluster, names?: readonly string[]): Promise<void> {
  const wanted = names ?? [...cluster.running.keys()];
  const look = async (): Promise<true | undefined> => {
    const healthy = await Promise.all(wanted.map((name) => cluster.client.isHealthy(find(cluster, name).url)));
    return healthy.every(Boolean) || undefined;
  };
  await waitUntil(`${wanted.join(', ')} to be healthy`, look, { timeoutMs, everyMs: 20 });
}

async function etcdctl({ running, tlsDirectory }: Cluster, args: readonly string[]): Promise<string> {
  const endpoints = [...running.values()].map(({ url }) => url).join(',');
  const set = join(tlsDirectory, clusterName);
  const access = [`--cacert=${set}/ca.crt`, `--cert=${set}/client.crt`, `--key=${set}/client.key`];
  const all = [`--endpoints=${endpoints}`, ...access, '--command-timeout=30s', ...args];
  return (await run('etcdctl', all, { env: { ETCDCTL_API: '3' } })).stdout;
}

async function close({ running, client, network, directory }: Cluster): Promise<void> {
  await Promise.all([...running.values()].map((each) => each.kill()));
  await Promise.all([client.close(), network.close()]);
  await rm(directory, { recursive: true, force: true });
}
