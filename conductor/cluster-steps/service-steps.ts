import { z } from 'zod';
import { etcdMemberRound } from '#conductor/cluster/etcd/etcd-health.ts';
import {
  findWatchedNode,
  forgetWatchedNode,
  type WatchedNode,
  whyNotReady,
} from '#conductor/cluster/kubernetes/node-watch.ts';
import { requireSameMachine } from '#conductor/cluster/kubernetes/same-machine.ts';
import type { Round } from '#conductor/cluster/repeat-rounds.ts';
import { whySilent } from '#conductor/cluster-steps/ask-instance.ts';
import { clusterArgs, newClusterStep } from '#conductor/cluster-steps/cluster-step.ts';
import { etcdArgs, etcdWork } from '#conductor/cluster-steps/etcd-steps.ts';
import type { StepContext } from '#conductor/flows/step-context.ts';
import { findInventory, systemUuidOf } from '#conductor/nodes/inspection/inventory-store.ts';
import { withCredentials } from '#conductor/sites/credentials.ts';
import { recordInService } from '#conductor/sites/nodes/membership-store.ts';
import { errorChain } from '#shared/errors/app-error.ts';

export const secondsBetweenLooks = z.number().int().positive().describe('seconds between two looks');

/** Arguments that name what the deployed node must not be. */
export const joinedArgs = z.object({
  uids: z.array(z.string()).describe("UIDs of the node's objects in Kubernetes before the deploy"),
  boot_ids: z.array(z.string()).describe('boots that its kubelet had reported before the deploy'),
  deployed_after: z.number().describe('when the deploy began; milliseconds since 1970'),
});

const readyArgs = clusterArgs.extend({ every: secondsBetweenLooks, ...joinedArgs.shape });
export const answersArg = z.array(z.object({ by: z.enum(['ping', 'tcp', 'http']), target: z.string() }));

function findNode(context: StepContext, name: string, againMs: number): Promise<WatchedNode | undefined> {
  const { database: owner, config, signal, stopping, nudge, node } = context;
  const { kubeconfigFile } = config;
  return findWatchedNode({ owner, kubeconfigFile, name, againMs, signal, stopping, changed: () => nudge(node.uuid) });
}

export const waitUntilReady = newClusterStep({
  step: 'wait_until_ready',
  description: 'Waits until the deployed node is Ready in its Kubernetes cluster.',
  args: readyArgs,
  every: (args) => args.every,
  round: async ({ context, args }): Promise<Round> => {
    const why = await whyNotJoined(context, args);
    if (why !== undefined) {
      return {
        state: 'waiting',
        reason: waitingSince(context, args, `node to be Ready in Kubernetes: ${why}`),
        messages: [],
      };
    }
    forgetWatchedNode(context.database, args.node);
    return { state: 'done', messages: [{ message: `Node ${args.node} is Ready`, error: false }] };
  },
});

/** @returns why the deployed node is not Ready; `undefined` = it is */
export async function whyNotJoined(
  context: StepContext,
  args: z.output<typeof joinedArgs> & { readonly node: string; readonly every: number },
): Promise<string | undefined> {
  const node = await findNode(context, args.node, args.every * 1000);
  return (
    whyNotReady(node, { uids: args.uids, bootIds: args.boot_ids, deployedAfter: args.deployed_after }) ??
    (await whyAnother(context, node))
  );
}

/** Explains why the cluster's node is another machine, which may have taken the name. */
async function whyAnother(context: StepContext, node: WatchedNode | undefined): Promise<string | undefined> {
  if (!node) return undefined;
  const inventory = await context.ask(findInventory(context.db, context.node.uuid));
  try {
    requireSameMachine({ server: 'BATON_KUBECONFIG' }, node, systemUuidOf(inventory?.inventory));
    return undefined;
  } catch (error) {
    return errorChain(error);
  }
}

export const waitForMembers = newClusterStep({
  step: 'wait_for_members',
  description:
    'Waits until the deployed node has a healthy voting member in each etcd cluster that it was taken out of.',
  args: etcdArgs.extend({ clusters: z.array(z.string()).describe('names of the etcd clusters') }),
  every: 5,
  round: ({ context, args }) =>
    context.ask(
      etcdWork(context, args)
        .then((work) => etcdMemberRound(withCredentials(context), work, args.clusters))
        .then((round) =>
          round.state === 'done' ? round : { ...round, reason: waitingSince(context, args, round.reason) },
        ),
    ),
});

export const waitForAnswers = newClusterStep({
  step: 'wait_for_answers',
  description: 'Waits until the instance answers as its documents ask.',
  args: clusterArgs.extend({
    every: secondsBetweenLooks,
    answers: answersArg,
    in_kubernetes: z.boolean().default(false).describe('it has joined the Kubernetes cluster'),
  }),
  every: (args) => args.every,
  round: async ({ context, args }): Promise<Round> => {
    const reasons = await whySilent(args.answers, { rules: context.config.outbound.health, signal: context.signal });
    if (reasons.length > 0) {
      return {
        state: 'waiting',
        reason: waitingSince(context, args, `its instance to answer: ${reasons.join('; ')}`),
        messages: [],
      };
    }
    const joined = args.in_kubernetes ? await findNode(context, args.node, args.every * 1000) : undefined;
    forgetWatchedNode(context.database, args.node);
    const { uid } = joined?.metadata ?? {};
    const bootId = joined?.status?.nodeInfo?.bootID || undefined;
    await context.record((tx) =>
      recordInService(tx, context.node.uuid, uid === undefined ? undefined : { uid, bootId }),
    );
    return { state: 'done', messages: [{ message: `Node ${args.node} is in service`, error: false }] };
  },
});

function waitingSince({ step, clock }: StepContext, { timeout }: { readonly timeout: number }, what: string): string {
  const since = step.startedAt ?? clock.now();
  const until = step.waitUntil ?? new Date(since.getTime() + timeout * 1000);
  return `${what} (since ${since.toISOString()}, until ${until.toISOString()})`;
}
