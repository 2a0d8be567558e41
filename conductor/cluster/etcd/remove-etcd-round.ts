import { type ClusterChange, makeChanges, type Unsettled } from '#conductor/cluster/cluster-changes.ts';
import { asStepFailure } from '#conductor/cluster/cluster-faults.ts';
import { AnyAnswer, type EtcdClient } from '#conductor/cluster/etcd/etcd-client.ts';
import { type ClusterView, type EtcdCluster, nameOf } from '#conductor/cluster/etcd/etcd-cluster.ts';
import { mayPass } from '#conductor/cluster/etcd/etcd-fault.ts';
import { etcdStableRound } from '#conductor/cluster/etcd/etcd-health.ts';
import type { EtcdWork } from '#conductor/cluster/etcd/etcd-work.ts';
import { firstAnswer, lookAtCluster } from '#conductor/cluster/etcd/look-at-cluster.ts';
import {
  describeUnclear,
  describeUnmatched,
  findUnmatched,
  matchMembers,
} from '#conductor/cluster/etcd/match-members.ts';
import { aloneWithCluster, type EtcdContext, withCluster } from '#conductor/cluster/etcd/open-cluster.ts';
import { planRemoval, type RemovalPlan } from '#conductor/cluster/etcd/plan-removal.ts';
import type { Journal } from '#conductor/cluster/journal.ts';
import { joinRounds, type Round, type RoundMessage, repeatRounds } from '#conductor/cluster/repeat-rounds.ts';
import { AppError, errorChain } from '#shared/errors/app-error.ts';

/** The cluster's present answers about the node's members. */
interface Look {
  readonly view: ClusterView;
  readonly plan: RemovalPlan;
}

/** Acts are followed by a look; leaders that were just moved are not known to everybody at once. */
const maxLooks = 20;
const lookAgainMs = 250;

/**
 * Has the node's members leave their clusters (seed 001, "Remove etcd Node"), leaders moved away first. Looks at all
 * clusters before it touches one: what can't be done in one of them leaves all as they are. Done when none has a member
 * on the node; repeated, it goes on where it was.
 * @throws AppError `conflict` when a cluster is too small, or when nothing says where its members run; what can't be
 * reached for want of the right certificates or files
 */
export async function removeEtcdRound(context: EtcdContext, work: EtcdWork): Promise<Round> {
  const { etcdClusters: clusters } = work.site;
  const looks = await Promise.all(
    clusters.map((cluster) =>
      withCluster(context, cluster, work.signal, (client) => lookFor(client, cluster, work)).catch(keepPassing),
    ),
  );
  const refusals = clusters.flatMap(({ name }, index) => {
    const look = looks[index];
    if (look instanceof AppError || look?.plan.act !== 'refuse' || look.plan.mayPass) return [];
    return [inTheWay(name, look.plan.reason)];
  });
  if (refusals.length > 0) throw refused(work.node, refusals);
  const rounds = await Promise.all(
    clusters.map(async (cluster, index): Promise<Round> => {
      const look = looks[index];
      if (look instanceof AppError) return waitingFor(cluster.name, errorChain(look));
      return look?.plan.act === 'nothing' ? nothingThere(cluster, look.view, work) : removeFrom(context, cluster, work);
    }),
  );
  return joinRounds(rounds);
}

/** An error that may pass by itself is waited for; others end the round. */
function keepPassing(error: unknown): AppError {
  if (mayPass(error)) return error;
  throw error;
}

async function lookFor(client: EtcdClient, cluster: EtcdCluster, { node, site }: EtcdWork): Promise<Look> {
  const view = await lookAtCluster(client, cluster);
  const nodes = new Set(site.nodes.keys());
  const { own, unclear } = matchMembers(view.members, cluster, node, nodes);
  if (unclear.length > 0) {
    const why = describeUnclear({ unclear, members: view.members, entries: cluster.members, nodes }, node, (each) =>
      each.name === '' ? nameOf(each) : `${each.name} (${each.peerUrls.join(', ')})`,
    );
    throw refused(node, [
      inTheWay(
        cluster.name,
        `${why}: name it in the members of the promenade/EtcdClusters/v1 document, without a node when it is none of the site's`,
      ),
    ]);
  }
  return { view, plan: planRemoval(view, new Set(own.map(({ id }) => id)), cluster.minimumMembers) };
}

async function removeFrom(context: EtcdContext, cluster: EtcdCluster, work: EtcdWork): Promise<Round> {
  const round = await aloneWithCluster(context.database, cluster.name, () =>
    withCluster(context, cluster, work.signal, (client) => actUntilGone(context, client, cluster, work)),
  );
  return round ?? waitingFor(cluster.name, 'another removal from it is under way');
}

/** Looks again before each act: what others did meanwhile counts. */
async function actUntilGone(
  context: EtcdContext,
  client: EtcdClient,
  cluster: EtcdCluster,
  work: EtcdWork,
): Promise<Round> {
  const messages: RoundMessage[] = [];
  const unsettled: Unsettled[] = [];
  let reason = 'its members are still changing';
  for (let looks = 0; looks < maxLooks; looks += 1) {
    const { view, plan } = await lookFor(client, cluster, work);
    if (plan.act === 'nothing')
      return {
        state: 'done',
        messages: messages.length > 0 ? messages : nothingThere(cluster, view, work).messages,
      };
    if (plan.act === 'refuse') {
      if (!plan.mayPass) throw refused(work.node, [...messages, inTheWay(cluster.name, plan.reason)]);
      ({ reason } = plan);
      // nothing has been begun: the others' trouble is not over in a moment
      if (messages.length === 0) break;
      await context.clock.sleep(lookAgainMs, work.signal);
      continue;
    }
    const change = changeOf(cluster.name, plan);
    try {
      const done = await makeChanges(work.announce, [change], () => act(client, cluster.name, view, plan));
      context.log.info({ cluster: cluster.name, node: work.node }, done);
      messages.push({ message: done, error: false, kind: 'EtcdCluster', name: cluster.name });
    } catch (error) {
      const kept = keepPassing(error);
      reason = errorChain(kept);
      unsettled.push({ change, isRefused: false });
      break;
    }
  }
  const { messages: waiting } = waitingFor(cluster.name, reason);
  return {
    state: 'waiting',
    reason: `etcd cluster ${cluster.name}: ${reason}`,
    messages: [...messages, ...waiting],
    unsettled,
  };
}

type Act = Extract<RemovalPlan, { readonly act: 'remove' | 'move leader' }>;

function changeOf(cluster: string, plan: Act): ClusterChange {
  const message = describeAct(cluster, plan);
  if (plan.act === 'move leader') return { kind: 'etcd leader', name: nameOf(plan.to), of: cluster, message };
  return {
    kind: 'etcd member',
    name: nameOf(plan.member),
    value: plan.member.peerUrls.join(', '),
    of: cluster,
    message,
  };
}

function describeAct(cluster: string, plan: Act): string {
  return plan.act === 'move leader'
    ? `leader of ${cluster} moved from ${nameOf(plan.from)} to ${nameOf(plan.to)}`
    : `member ${nameOf(plan.member)} removed from ${cluster}`;
}

/** @returns what was done, in words */
async function act(client: EtcdClient, cluster: string, { members }: ClusterView, plan: Act): Promise<string> {
  const acts = { acts: true };
  if (plan.act === 'move leader') {
    // only the leader itself can hand over
    const at = plan.from.url === undefined ? [] : [{ url: plan.from.url }];
    await firstAnswer(cluster, at, (url) =>
      client.post(url, '/v3/maintenance/transfer-leadership', { targetID: plan.to.id }, AnyAnswer, acts),
    );
    return describeAct(cluster, plan);
  }
  const others = members.flatMap(({ id, url, state, isLearner }) =>
    id !== plan.member.id && state === 'healthy' && !isLearner && url !== undefined ? [{ url }] : [],
  );
  await firstAnswer(cluster, others, (url) =>
    client.post(url, '/v3/cluster/member/remove', { ID: plan.member.id }, AnyAnswer, acts),
  );
  return describeAct(cluster, plan);
}

function refused(node: string, messages: readonly RoundMessage[]): AppError {
  const reasons = messages.filter(({ error }) => error).map(({ message }) => message);
  return new AppError('conflict', `etcd can't be removed from ${node}: ${reasons.join('; ')}`, {
    details: { messages },
  });
}

function inTheWay(cluster: string, reason: string): RoundMessage {
  return {
    message: `etcd cluster ${cluster}: ${reason}`,
    error: true,
    kind: 'EtcdCluster',
    name: cluster,
    summarized: true,
  };
}

/**
 * Names entries that no member fits besides, of the node and of nodes that the site does not have: one that is mistyped says
 * nothing of where its member runs.
 */
function nothingThere(
  { name, members: entries }: EtcdCluster,
  { members }: ClusterView,
  { node, site: { nodes } }: EtcdWork,
): Round {
  const mayBeItsOwn = entries.filter((entry) => entry.node === node || (entry.node && !nodes.has(entry.node)));
  const unmatched = findUnmatched(members, mayBeItsOwn);
  const texts = [
    `no member of ${name} runs on ${node}`,
    ...(unmatched.length === 0
      ? []
      : [
          `warning: etcd cluster ${name}: ${describeUnmatched(unmatched)}: correct it, or drop it if the member has left`,
        ]),
  ];
  return { state: 'done', messages: texts.map((message) => ({ message, error: false, kind: 'EtcdCluster', name })) };
}

function waitingFor(cluster: string, reason: string): Round {
  const message = inTheWay(cluster, reason);
  return { state: 'waiting', reason: message.message, messages: [message] };
}

export interface EtcdStep extends EtcdWork {
  /** Seconds for all of it. */
  readonly timeout: number;
  /** Fires when nobody waits for it any more. */
  readonly signal: AbortSignal;
  readonly journal?: Journal | undefined;
}

/** A member that comes back is seen after so long at the latest. */
const removeEveryMs = 5_000;
/** Seed 001, "Ensure that etcd cluster(s) are in a stable state": polls for status every 30 seconds. */
const stableEveryMs = 30_000;

/**
 * Has the node's members leave their clusters, from the first round until it is done.
 * @throws AppError `not_found` for a node that is not the site's, `unavailable` when it was stopped in the middle; else
 * `command_failed` with `details.reason` and `details.messages`
 */
export function removeEtcd(context: EtcdContext, step: EtcdStep): Promise<readonly RoundMessage[]> {
  const what = `removal of etcd from node ${step.node}`;
  return runStep('RemoveEtcdError', step, () =>
    repeatRounds((signal, announce) => removeEtcdRound(context, { ...step, signal, announce }), {
      what,
      timeoutMs: step.timeout * 1000,
      everyMs: removeEveryMs,
      signal: step.signal,
      journal: step.journal,
    }),
  );
}

/** Waits until the site's clusters are well without the node. @throws AppError as `removeEtcd` */
export function waitForStableEtcd(context: EtcdContext, step: EtcdStep): Promise<readonly RoundMessage[]> {
  return runStep('EtcdNotStable', step, () =>
    repeatRounds((signal) => etcdStableRound(context, { ...step, signal }), {
      what: `wait for etcd to be stable without node ${step.node}`,
      timeoutMs: step.timeout * 1000,
      everyMs: stableEveryMs,
      signal: step.signal,
    }),
  );
}

async function runStep(
  reason: string,
  { node, site }: EtcdWork,
  work: () => Promise<readonly RoundMessage[]>,
): Promise<readonly RoundMessage[]> {
  if (!site.nodes.has(node)) throw new AppError('not_found', `the design has no node ${node}`);
  try {
    return await work();
  } catch (error) {
    throw asStepFailure(error, `etcd of ${node}`, reason);
  }
}
