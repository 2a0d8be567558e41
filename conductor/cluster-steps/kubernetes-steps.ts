import { z } from 'zod';
import type { Announce } from '#conductor/cluster/cluster-changes.ts';
import { isUnknownNode } from '#conductor/cluster/cluster-faults.ts';
import { clearLabels } from '#conductor/cluster/kubernetes/clear-labels.ts';
import type { Cluster } from '#conductor/cluster/kubernetes/client/cluster.ts';
import { type ClusterNode, readNode } from '#conductor/cluster/kubernetes/client/objects.ts';
import { withSharedCluster } from '#conductor/cluster/kubernetes/client/share-cluster.ts';
import { drainNode } from '#conductor/cluster/kubernetes/drain-node.ts';
import { guardChanges } from '#conductor/cluster/kubernetes/guard-changes.ts';
import { shutdownKubelet } from '#conductor/cluster/kubernetes/node-steps.ts';
import { findNode, leaveCluster } from '#conductor/cluster/kubernetes/remove-from-cluster.ts';
import { requireSameMachine, requireUnderNoOtherName } from '#conductor/cluster/kubernetes/same-machine.ts';
import type { Round } from '#conductor/cluster/repeat-rounds.ts';
import { type ClusterLook, clusterArgs, newClusterStep, soonThenEvery } from '#conductor/cluster-steps/cluster-step.ts';
import { etcdArgs, requireEtcdAllows } from '#conductor/cluster-steps/etcd-steps.ts';
import type { StepContext } from '#conductor/flows/step-context.ts';
import { findInventory, systemUuidOf } from '#conductor/nodes/inspection/inventory-store.ts';
import { isNoted, noteRegistration, readMemberships } from '#conductor/sites/nodes/membership-store.ts';

type ClusterArgs = z.output<typeof clusterArgs>;

/**
 * Returns a round at the node of that name, when it is this machine.
 * @param mayBeGone the node need not be there any more
 */
function atNode(
  context: StepContext,
  { node: name, not_in_cluster_ok: notInClusterOk }: ClusterArgs,
  work: (cluster: Cluster) => Promise<Round>,
  mayBeGone = false,
): Promise<Round> {
  return withSharedCluster(context.database, context.config.kubeconfigFile, async (cluster) => {
    const inventory = await context.ask(findInventory(context.db, context.node.uuid));
    const systemUuid = systemUuidOf(inventory?.inventory);
    const node = await (mayBeGone ? findNode : readNode)(cluster, name, context.signal).catch(
      async (error: unknown) => {
        if (isUnknownNode(error)) {
          await requireUnderNoOtherName(cluster, { name, systemUuid, notInClusterOk }, context.signal);
        }
        throw error;
      },
    );
    if (node) await noteSeen(context, node);
    const remarks = node ? requireSameMachine(cluster, node, systemUuid) : [];
    const round = await work(cluster);
    return { ...round, messages: [...round.messages, ...remarks] };
  });
}

/** Asks a guard before the first change of the step, whichever look makes it. */
function guarded(
  cluster: Cluster,
  { context, args, report, announce }: ClusterLook<z.output<typeof guardedArgs>>,
  evicts: boolean,
): Announce {
  const { node, force, revision } = args;
  const require = revision === undefined ? undefined : () => requireEtcdAllows(context, { ...args, revision });
  // the action goes on to `remove_node`
  const guard = { node, force, evicts, deletes: true, require, isBegun: report.deeds.length > 0 };
  return guardChanges(cluster, guard, context.signal, announce);
}

/** Notes what distinguishes the instance after the next deploy from this one. */
async function noteSeen(context: StepContext, { metadata: { uid }, status }: ClusterNode): Promise<void> {
  const seen = { uid, bootId: status?.nodeInfo?.bootID || undefined };
  const { uuid } = context.node;
  const known = await context.ask(readMemberships(context.db, [uuid]));
  if (!isNoted(known.get(uuid), seen)) await context.record((tx) => noteRegistration(tx, uuid, seen));
}

const guardedArgs = clusterArgs.extend({
  force: z.boolean().default(false).describe('though it is the last Ready node of its cluster, or of a role'),
  revision: etcdArgs.shape.revision.optional(),
});

const drainArgs = guardedArgs.extend({
  grace_period: z.number().int().min(0).describe('seconds that each pod gets to end by itself'),
});

export const drainClusterStep = newClusterStep({
  step: 'drain',
  description: 'Cordons the node in its Kubernetes cluster and evicts its pods, as their budgets allow.',
  args: drainArgs,
  every: soonThenEvery(2),
  isFirst: true,
  round: (look) =>
    atNode(look.context, look.args, (cluster) => {
      const { node, grace_period: gracePeriodSeconds } = look.args;
      const announce = guarded(cluster, look, true);
      return drainNode(cluster, node, { gracePeriodSeconds, announce }, look.context.signal);
    }),
});

export const clearNodeLabels = newClusterStep({
  step: 'clear_labels',
  description: "Removes the labels that were added to the cluster's node, and waits until its pods have settled.",
  args: guardedArgs,
  every: soonThenEvery(2),
  round: (look) =>
    atNode(look.context, look.args, (cluster) => {
      const { secrets, signal } = look.context;
      return clearLabels(cluster, look.args.node, signal, { announce: guarded(cluster, look, false), secrets });
    }),
});

export const shutDownKubelet = newClusterStep({
  step: 'shutdown_kubelet',
  description:
    "Has a daemon set stop the node's kubelet, and waits until that is silent. Its failure holds nothing up.",
  args: clusterArgs,
  every: soonThenEvery(5),
  mayFail: true,
  round: ({ context, args, announce }) =>
    atNode(context, args, (cluster) => shutdownKubelet(cluster, args.node, context.signal, announce)),
});

export const removeNodeFromCluster = newClusterStep({
  step: 'remove_node',
  description: 'Deletes the drained node from its Kubernetes cluster.',
  args: clusterArgs,
  every: soonThenEvery(2),
  round: ({ context, args, announce, report }) => {
    // to a round a node that is gone is done; one that this step has not deleted may never have been there
    const mayBeGone = report.deeds.some(({ kind }) => kind === 'node');
    const leave = (cluster: Cluster) => leaveCluster(cluster, args.node, { mayBeGone, announce }, context.signal);
    return atNode(context, args, leave, mayBeGone);
  },
});
