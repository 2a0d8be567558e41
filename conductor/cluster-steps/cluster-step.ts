import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import {
  type Announce,
  afterLook,
  type ClusterReport,
  readReport,
  withRecordedChanges,
} from '#conductor/cluster/cluster-changes.ts';
import { isUnknownNode, messagesOf } from '#conductor/cluster/cluster-faults.ts';
import { mayPass } from '#conductor/cluster/etcd/etcd-fault.ts';
import { isAccessFault } from '#conductor/cluster/kubernetes/client/refusal.ts';
import type { Round, RoundMessage } from '#conductor/cluster/repeat-rounds.ts';
import { noteOutput } from '#conductor/flows/log/flow-store.ts';
import {
  type ConductorStep,
  type ConductorStepOutcome,
  type StepContext,
  stepArgs,
} from '#conductor/flows/step-context.ts';
import { valueWithout } from '#conductor/kernel/secrets/mask-document.ts';
import { deployedStates } from '#conductor/model/provision-states.ts';
import { remarkOf } from '#conductor/model/remarks/remark.ts';
import { AppError, errorChain } from '#shared/errors/app-error.ts';
import { parseStepArgs } from '#shared/steps/define-step.ts';

/** Time for which a cluster that was open before may let nobody in. */
const patienceMs = 300_000;

/** Arguments of all steps of the interface `cluster`. */
export const clusterArgs = z.object({
  node: z.string().describe('its name in the clusters, which is its host name'),
  timeout: z.number().int().positive().describe('seconds for all of it'),
  not_in_cluster_ok: z
    .boolean()
    .default(false)
    .describe('a node that the Kubernetes cluster does not have is done, though its instance is deployed'),
});

export interface ClusterLook<Args> {
  readonly context: StepContext;
  readonly args: Args;
  /** Report of what earlier looks of this step have done. */
  readonly report: ClusterReport;
  readonly announce: Announce;
}

export interface ClusterStepOptions<Args extends z.output<typeof clusterArgs>> {
  readonly step: string;
  readonly description: string;
  readonly args: z.ZodType<Args>;
  /** Seconds between two looks; `sinceStart`: for how many seconds the step has been under way. */
  readonly every: number | ((args: Args, sinceStart: number) => number);
  /** Whether the step's failure is only reported, and holds nothing up. */
  readonly mayFail?: boolean;
  /**
   * Whether the step is the first of its flow to look at this cluster: a refusal at once is then a mistake that only people
   * can mend.
   */
  readonly isFirst?: boolean;
  readonly round: (look: ClusterLook<Args>) => Promise<Round>;
}

/** Returns the seconds between looks at work that mostly ends soon: the longer it lasts, the longer, up to a limit. Pure. */
export function soonThenEvery(limit: number): (args: unknown, sinceStart: number) => number {
  return (_, sinceStart) => Math.min(limit, Math.max(0.2, sinceStart / 2));
}

/**
 * Makes a step that looks at a cluster, one round at a time, until it is done or its time is up. What a round does is
 * written down before it does it. An error that may pass is waited for, as long as the step has time.
 */
export function newClusterStep<Args extends z.output<typeof clusterArgs>>(
  options: ClusterStepOptions<Args>,
): ConductorStep {
  const look = (context: StepContext): Promise<ConductorStepOutcome> => lookOnce(context, options);
  const { step, description } = options;
  return { interface: 'cluster', step, description, run: look, resume: look };
}

async function lookOnce<Args extends z.output<typeof clusterArgs>>(
  context: StepContext,
  options: ClusterStepOptions<Args>,
): Promise<ConductorStepOutcome> {
  const { step, mayFail = false, round } = options;
  const args = parseStepArgs({ interface: 'cluster', step, args: options.args }, stepArgs(context));
  const { every } = options;
  const kept = keepReport(context);
  const waitFor = (reason: string): ConductorStepOutcome => {
    const leftMs = timeLeft(context, args.timeout);
    // a step that may fail ends by itself: the engine would take its timeout for a failure
    if (mayFail && leftMs <= 0)
      return reportedFailure(context.log, kept.report(), `not ended within ${args.timeout} s: ${reason}`);
    const seconds = typeof every === 'number' ? every : every(args, sinceStart(context));
    const checkEveryMs = Math.min(seconds * 1000, Math.max(leftMs, 1));
    const timeoutMs = mayFail ? Infinity : Math.max(leftMs, 0);
    return { kind: 'wait', reason, code: 'cluster_wait', timeoutMs, checkEveryMs };
  };
  try {
    const now = await round({ context, args, report: kept.report(), announce: kept.announce });
    if (now.state === 'done') return { kind: 'done', output: afterLook(kept.report(), now) };
    await kept.looked(now);
    if (now.failure) throw now.failure;
    return waitFor(now.reason);
  } catch (error) {
    if (context.signal.aborted || !(error instanceof AppError)) throw error;
    if (isUnknownNode(error)) return notInCluster(context, args, { kept: kept.report(), error, mayFail });
    // the database's own, and a node that is another conductor's now
    if (error.code === 'database_error' || error.code === 'lease_lost') throw error;
    if (mayPass(error)) return waitFor(errorChain(error));
    if (!mayFail && isAccessFault(error) && (await kept.refused(options.isFirst === true))) {
      return waitFor(
        `${errorChain(error)}; the cluster was open before: it is asked again for ${patienceMs / 60_000} minutes`,
      );
    }
    if (mayFail) return reportedFailure(context.log, kept.report(), errorChain(error));
    await kept.reported(messagesOf(error));
    throw error;
  }
}

/** Returns the seconds since the first look, no matter which conductor has made it. */
function sinceStart({ clock, step }: StepContext): number {
  const now = clock.now().getTime();
  return (now - (step.startedAt?.getTime() ?? now)) / 1000;
}

function timeLeft({ clock, step }: StepContext, timeout: number): number {
  const now = clock.now().getTime();
  // maintenance prolongs the limit of a step that waits
  const until = step.waitUntil?.getTime() ?? (step.startedAt?.getTime() ?? now) + timeout * 1000;
  return until - now;
}

function reportedFailure(log: StepContext['log'], report: ClusterReport, reason: string): ConductorStepOutcome {
  log.warn({ reason }, 'step has not come about, which holds nothing up');
  return { kind: 'done', output: { ...report, messages: [{ message: reason, error: true }] } };
}

function notInCluster(
  { node }: StepContext,
  args: z.output<typeof clusterArgs>,
  { kept, error, mayFail }: { readonly kept: ClusterReport; readonly error: AppError; readonly mayFail: boolean },
): ConductorStepOutcome {
  const isExpected = args.not_in_cluster_ok || !deployedStates.has(node.provisionState);
  if (isExpected || mayFail) {
    return {
      kind: 'done',
      output: { ...kept, messages: [{ message: errorChain(error), error: !isExpected, remark: remarkOf(error) }] },
    };
  }
  throw new AppError(
    'not_found',
    `node ${args.node} is ${node.provisionState}, but not in the cluster: BATON_KUBECONFIG may name another one. If it ` +
      'was never in it, or was removed by hand, ask again with --param not-in-cluster-ok=true',
    { cause: error },
  );
}

interface KeptReport {
  readonly report: () => ClusterReport;
  readonly announce: Announce;
  /** After a look that has ended: what was announced is done. */
  readonly looked: (round: Round) => Promise<void>;
  /** Records what stood in the way of a look that has failed. */
  readonly reported: (messages: readonly RoundMessage[]) => Promise<void>;
  /** Records a look that was not let in. @returns whether to try again */
  readonly refused: (isFirst: boolean) => Promise<boolean>;
}

/** Keeps the step's report in its row, written only when there is news. */
function keepReport(context: StepContext): KeptReport {
  const state = { report: readReport(context.step.output) };
  const keep = async (report: ClusterReport): Promise<void> => {
    if (isDeepStrictEqual(report, state.report)) return;
    await context.record((tx) => noteOutput(tx, context.step.uuid, valueWithout(context.hide, report)));
    state.report = report;
  };
  return {
    report: () => state.report,
    announce: (deeds, outcome) => keep(withRecordedChanges(state.report, deeds, outcome)),
    looked: (round) => keep(afterLook(state.report, round)),
    reported: (messages) =>
      messages.length === 0 ? Promise.resolve() : keep({ ...state.report, messages: [...messages] }),
    refused: async (isFirst) => {
      const { deeds, refusedSince } = state.report;
      if (isFirst && context.step.waitUntil === null && deeds.length === 0) return false;
      const now = context.clock.now();
      if (refusedSince === undefined) await keep({ ...state.report, refusedSince: now.toISOString() });
      return refusedSince === undefined || now.getTime() - Date.parse(refusedSince) < patienceMs;
    },
  };
}
