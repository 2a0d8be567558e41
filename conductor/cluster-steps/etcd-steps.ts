import { z } from 'zod';
import type { Announce } from '#conductor/cluster/cluster-changes.ts';
import { etcdStableRound } from '#conductor/cluster/etcd/etcd-health.ts';
import type { EtcdWork } from '#conductor/cluster/etcd/etcd-work.ts';
import { removeEtcdRound } from '#conductor/cluster/etcd/remove-etcd-round.ts';
import { clusterArgs, newClusterStep } from '#conductor/cluster-steps/cluster-step.ts';
import type { StepContext } from '#conductor/flows/step-context.ts';
import { withCredentials } from '#conductor/sites/credentials.ts';
import { noteEtcdMember } from '#conductor/sites/nodes/membership-store.ts';
import { whyNeededByEtcd } from '#conductor/sites/nodes/why-undeployable.ts';
import { readRevision } from '#conductor/sites/revisions/check-revision.ts';
import { readEtcdSite } from '#conductor/sites/revisions/find-design.ts';
import { AppError } from '#shared/errors/app-error.ts';

export const etcdArgs = clusterArgs.extend({
  revision: z
    .number()
    .int()
    .positive()
    .describe('of the documents that say where the etcd clusters are, beside the committed ones'),
});

export async function etcdWork(context: StepContext, args: z.output<typeof etcdArgs>): Promise<EtcdWork> {
  // faults that other nodes have by now stop none whose pods are gone already
  const site = await readRevision(context, args.revision);
  const etcd = await readEtcdSite(context, { revisionId: args.revision, site });
  return { node: args.node, site: etcd, signal: context.signal };
}

/**
 * Refuses a teardown that etcd does not allow, before pods and labels are taken for nothing.
 * @throws AppError `conflict` when the node's members can't leave, whatever is waited for
 */
export async function requireEtcdAllows(context: StepContext, args: z.output<typeof etcdArgs>): Promise<void> {
  const why = await context.ask(etcdWork(context, args).then(({ site }) => whyNeededByEtcd(context, site, args.node)));
  if (why !== undefined) throw new AppError('conflict', why, { retryable: false });
}

export const removeEtcd = newClusterStep({
  step: 'remove_etcd',
  description: "Has the node's members leave their etcd clusters, leaders moved away first.",
  args: etcdArgs,
  every: 5,
  round: ({ context, args, announce }) =>
    context.ask(
      etcdWork(context, args).then((work) =>
        removeEtcdRound(withCredentials(context), { ...work, announce: rememberMembers(context, announce) }),
      ),
    ),
});

/** A redeploy of the node has to bring them back, whichever action comes to it. */
function rememberMembers(context: StepContext, announce: Announce): Announce {
  return async (deeds, outcome) => {
    for (const { kind, of } of outcome === undefined ? deeds : []) {
      if (kind !== 'etcd member' || of === undefined) continue;
      await context.record((tx) => noteEtcdMember(tx, context.node.uuid, of));
    }
    await announce(deeds, outcome);
  };
}

export const waitForEtcd = newClusterStep({
  step: 'wait_for_etcd',
  description: 'Waits until all etcd clusters of the site are well without the node.',
  args: etcdArgs,
  every: 30,
  round: ({ context, args }) =>
    context.ask(etcdWork(context, args).then((work) => etcdStableRound(withCredentials(context), work))),
});
