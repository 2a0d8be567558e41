import type { z } from 'zod';
import { AlarmAnswer, type EtcdClient, MemberListAnswer, StatusAnswer } from '#conductor/cluster/etcd/etcd-client.ts';
import type { ClusterMember, ClusterView, EtcdCluster, MemberState } from '#conductor/cluster/etcd/etcd-cluster.ts';
import { type EtcdFault, etcdError, faultOf } from '#conductor/cluster/etcd/etcd-fault.ts';
import { AppError, errorChain } from '#shared/errors/app-error.ts';

type Listed = z.infer<typeof MemberListAnswer>['members'][number];

interface Probe {
  readonly url: string;
  /** Absent = no answer. */
  readonly status?: z.infer<typeof StatusAnswer>;
  readonly isHealthy: boolean;
  readonly error?: unknown;
}

/**
 * A cluster as it is now: each member asked for itself, at the document's endpoints and, where those don't lead to it, at
 * the client URLs that it advertises. The list of members is taken from one that has the word of a quorum where there is
 * one: a member that is cut off has an old list.
 * @throws AppError when nobody answers, naming each endpoint with its reason (`faultOf` has the gravest), or somebody who
 * is not etcd (`invalid`), or when the endpoints are of several clusters
 */
export async function lookAtCluster(
  client: EtcdClient,
  { name, endpoints }: Pick<EtcdCluster, 'name' | 'endpoints'>,
): Promise<ClusterView> {
  const first = await Promise.all(endpoints.map((url) => probe(client, url)));
  const invalid = first.find(({ error }) => faultOf(error) === 'invalid');
  if (invalid) throw etcdError('invalid', `look at etcd cluster ${name}`, invalid.error);
  const answering = first.filter(({ status }) => status !== undefined);
  if (answering.length === 0) throw nobodyAnswers(name, first);
  requireOneCluster(name, answering);
  const isQuorate = answering.some(({ isHealthy }) => isHealthy);
  const sources = isQuorate ? answering.filter(({ isHealthy }) => isHealthy) : answering;
  const [source, listed] = await firstAnswer(name, sources, (url) =>
    client.post(url, '/v3/cluster/member/list', { linearizable: isQuorate }, MemberListAnswer),
  );
  const probes = [...first, ...(await probeMembers(client, listed.members, first))];
  const alarms = isQuorate
    ? await client.post(source, '/v3/maintenance/alarm', { action: 'GET' }, AlarmAnswer)
    : { alarms: [] };
  const members = listed.members.map((member) => describeMember(member, probes)).toSorted(byId);
  const leader = agreedLeader(members, probes);
  return {
    members,
    ...(leader === undefined ? {} : { leader }),
    alarms: alarms.alarms.map(({ memberID: member, alarm }) => ({ member, alarm })),
  };
}

/**
 * Returns the first answer of several members, asked in turn, and who gave it.
 * @throws AppError naming each with its reason
 */
export async function firstAnswer<Answer>(
  name: string,
  sources: readonly { readonly url: string }[],
  ask: (url: string) => Promise<Answer>,
): Promise<readonly [url: string, answer: Answer]> {
  const failures: Probe[] = [];
  for (const { url } of sources) {
    try {
      return [url, await ask(url)];
    } catch (error) {
      if (faultOf(error) === undefined) throw error;
      failures.push({ url, isHealthy: false, error });
    }
  }
  throw nobodyAnswers(name, failures);
}

async function probe(client: EtcdClient, url: string): Promise<Probe> {
  const [status, health] = await Promise.allSettled([
    client.post(url, '/v3/maintenance/status', {}, StatusAnswer),
    client.isHealthy(url),
  ]);
  // what is not a fault of a member's is one of ours: it was told to stop
  for (const each of [status, health]) {
    if (each.status === 'rejected' && faultOf(each.reason) === undefined) throw each.reason as Error;
  }
  if (status.status === 'rejected') return { url, isHealthy: false, error: status.reason };
  const error: unknown = health.status === 'rejected' ? health.reason : undefined;
  return { url, status: status.value, isHealthy: health.status === 'fulfilled' && health.value, error };
}

/**
 * Probes the members that no endpoint has led to; anything else that answers there (`localhost` is advertised by
 * default) is not one. A password that the endpoints get over TLS goes nowhere without.
 */
async function probeMembers(client: EtcdClient, members: readonly Listed[], known: readonly Probe[]): Promise<Probe[]> {
  const reached = new Set(known.map(({ status }) => status?.header.member_id));
  const asked = new Set(known.map(({ url }) => url));
  const protocols = new Set(known.map(({ url }) => new URL(url).protocol));
  const urls = members
    .filter(({ ID }) => !reached.has(ID))
    .flatMap(({ clientURLs }) => clientURLs.map((url) => url.replace(/\/$/, '')))
    .filter((url) => !asked.has(url) && protocols.has(URL.parse(url)?.protocol ?? ''));
  return Promise.all([...new Set(urls)].map((url) => probe(client, url)));
}

/** Recognizes a member that was added, and never started: it gets its name and its client URLs with its first start. */
export function isUnstarted({ name, clientURLs }: Pick<Listed, 'name' | 'clientURLs'>): boolean {
  return name === '' && clientURLs.length === 0;
}

function describeMember(listed: Listed, probes: readonly Probe[]): ClusterMember {
  const { ID: id, name, peerURLs: peerUrls, clientURLs, isLearner } = listed;
  const base = { id, name, peerUrls, isLearner };
  const own = probes.filter(({ status }) => status?.header.member_id === id);
  const found = own.find(({ isHealthy }) => isHealthy) ?? own[0];
  if (!found?.status) {
    const failure = probes.find(({ url, error }) => error !== undefined && clientURLs.includes(url));
    const why = failure ? { why: errorChain(failure.error) } : {};
    const state: MemberState = isUnstarted(listed) ? 'unstarted' : 'unreachable';
    return { ...base, state, ...why, raftIndex: 0n };
  }
  const { status, url } = found;
  const why = whyUnhealthy(found, isLearner);
  const state: MemberState = why === undefined ? 'healthy' : 'unhealthy';
  return { ...base, state, ...(why === undefined ? {} : { why }), url, raftIndex: BigInt(status.raftIndex) };
}

/** A learner has no vote, and answers no question that takes one. */
function whyUnhealthy({ status, isHealthy, error }: Probe, isLearner: boolean): string | undefined {
  if (status?.leader === undefined) return 'it knows of no leader';
  if (isLearner || isHealthy) return undefined;
  return error === undefined ? 'it does not have the word of a quorum' : errorChain(error);
}

function agreedLeader(members: readonly ClusterMember[], probes: readonly Probe[]): string | undefined {
  const healthy = new Set(
    members.filter(({ state, isLearner }) => state === 'healthy' && !isLearner).map(({ id }) => id),
  );
  const named = probes.flatMap(({ status }) => (status && healthy.has(status.header.member_id) ? [status.leader] : []));
  const [leader, ...others] = new Set(named);
  return others.length === 0 && members.some(({ id }) => id === leader) ? leader : undefined;
}

function requireOneCluster(name: string, probes: readonly Probe[]): void {
  const [first, ...others] = probes;
  const stranger = others.find(({ status }) => status?.header.cluster_id !== first?.status?.header.cluster_id);
  if (!first || !stranger) return;
  throw new AppError(
    'invalid_argument',
    `etcd cluster ${name}: ${first.url} and ${stranger.url} are members of different clusters`,
  );
}

function nobodyAnswers(name: string, failures: readonly Probe[]): AppError {
  const faults = new Set(failures.map(({ error }) => faultOf(error)));
  // what somebody has to mend counts before what may mend itself
  const order: readonly EtcdFault[] = ['tls', 'denied', 'refused'];
  const fault = order.find((each) => faults.has(each)) ?? 'unreachable';
  const reasons = failures.map(({ error }) => errorChain(error)).join('; ');
  return etcdError(fault, `none of the endpoints of etcd cluster ${name} can be asked: ${reasons}`);
}

function byId(a: ClusterMember, b: ClusterMember): number {
  return BigInt(a.id) < BigInt(b.id) ? -1 : 1;
}
