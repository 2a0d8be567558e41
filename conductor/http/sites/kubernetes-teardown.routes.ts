import type { Context } from 'hono';
import { z } from 'zod';
import { Status } from '#conductor/api/service.ts';
import {
  type ClusterWork,
  checkDrainTimes,
  clearLabelsStep,
  type DrainStep,
  drainStep,
  type NodeStep,
  removeFromClusterStep,
  restoreLabelsStep,
  runNodeStep,
  shutdownKubeletStep,
} from '#conductor/cluster/kubernetes/node-steps.ts';
import { rehearseDrain } from '#conductor/cluster/kubernetes/rehearse-drain.ts';
import { requireNoFlowOn } from '#conductor/flows/request/require-no-flow.ts';
import type { ApiEnv } from '#conductor/http/routing/api-env.ts';
import type { HttpContext } from '#conductor/http/routing/context.ts';
import { type ApiApp, answers, queryFlag, routesOf } from '#conductor/http/routing/define-routes.ts';
import { answerStatus } from '#conductor/http/routing/error-answers.ts';
import { airshipPath } from '#conductor/http/sites/airship-values.ts';
import { recordByHand } from '#conductor/http/sites/record-by-hand.ts';
import { drainGracePeriod, nodeStepDefaults } from '#conductor/model/site/cluster-timeouts.ts';

const route = routesOf("teardown of a site's nodes (Promenade's)");
/** Hono knows a path by its text: `/nodes/…` without a prefix is served as `/v1/nodes/…`. */
const prefixes = ['/v1', airshipPath] as const;

const largestSeconds = 604_800;

/** Returns a whole number of seconds, of a week at the most. */
export function wholeSeconds(least: 0 | 1) {
  const kind = `must be a whole number of seconds, ${least} to ${largestSeconds}`;
  return z
    .string()
    .regex(/^\d{1,6}$/, kind)
    .transform(Number)
    .refine((seconds) => seconds >= least && seconds <= largestSeconds, kind);
}

const timeout = (fallback: number) =>
  wholeSeconds(1).default(fallback).describe(`seconds for all of it; default ${fallback}`);
const Params = z.object({
  node_id: z.string().describe('host name of the server: the name of the node in the cluster'),
});
export const forceFlag = queryFlag.describe('though it is the last Ready node of its cluster, or of a role');
export const graceMeaning =
  'seconds that each pod gets to terminate; less than the timeout; 0 = deleted at once, its containers may still run; default: half of the timeout, at most 1800';
const queries = {
  drain: z.strictObject({
    timeout: timeout(nodeStepDefaults.drainTimeout),
    'grace-period': wholeSeconds(0).optional().describe(graceMeaning),
    force: forceFlag,
    'dry-run': queryFlag.describe('only say which pods would be evicted, lost, or kept by budgets'),
  }),
  clearLabels: z.strictObject({ timeout: timeout(nodeStepDefaults.clearLabelsTimeout), force: forceFlag }),
  restoreLabels: z.strictObject({ timeout: timeout(nodeStepDefaults.restoreLabelsTimeout) }),
  shutdownKubelet: z.strictObject({
    timeout: timeout(nodeStepDefaults.shutdownKubeletTimeout),
    'apply-daemon-set': queryFlag.describe('put the daemon set that stops kubelets into the cluster first'),
    'daemon-set-image': z.string().min(1).optional().describe('for its container, with a shell and nsenter'),
  }),
  removeFromCluster: z.strictObject({ timeout: timeout(nodeStepDefaults.removeFromClusterTimeout) }),
};

function stepRoute<Prefix extends string, Verb extends string, Query extends z.ZodObject>(
  prefix: Prefix,
  verb: Verb,
  query: Query,
  summary: string,
) {
  return route.post(
    `${prefix}/nodes/{node_id}/${verb}`,
    summary,
    {
      ...answers(200, 'a Status object: it is done', Status),
      400: { description: 'a parameter that cannot work' },
      404: { description: 'the cluster has no such node' },
      409: { description: 'a flow works on the node, which is named with its site action' },
      500: { description: 'it failed; details.messageList lists the obstacles' },
    },
    { params: Params, query },
  );
}

/**
 * Serves seed 001's operations on a node of the Kubernetes cluster, under its bare paths and below `/api/v1.0`. They are
 * synchronous: each answers when all is done, or time is up; who hangs up stops it at the next round.
 */
export function kubernetesTeardownRoutes(
  app: ApiApp,
  context: Pick<HttpContext, 'config' | 'db' | 'log' | 'secrets' | 'stopping'>,
): void {
  const { config, stopping } = context;

  const run = async <Step extends NodeStep>(
    c: Context<ApiEnv>,
    reason: string,
    work: ClusterWork<Step>,
    step: Omit<Step, 'signal'>,
  ) => {
    const verb = c.req.path.split('/').at(-1) ?? reason;
    await requireNoFlowOn(context, step.node, verb);
    const journal = recordByHand(context, c.get('caller'), { node: step.node, verb });
    const signal = AbortSignal.any([c.req.raw.signal, stopping]);
    const messages = await runNodeStep(config.kubeconfigFile, reason, work, { ...step, signal, journal } as Step);
    const message = messages.at(-1)?.message ?? `Node ${step.node}: done`;
    return answerStatus(c, { status: 'Success', code: 200, message, messages });
  };

  for (const prefix of prefixes) {
    app.openapi(stepRoute(prefix, 'drain', queries.drain, 'Cordon a node and evict its pods'), (c) => {
      const query = c.req.valid('query');
      const { timeout: seconds, 'grace-period': gracePeriod = drainGracePeriod(seconds) } = query;
      const step = { node: c.req.valid('param').node_id, timeout: seconds, gracePeriod, force: query.force === true };
      checkDrainTimes(step);
      if (query['dry-run'] === true) return rehearse(context, c, step);
      return run(c, 'DrainNodeError', drainStep, step);
    });

    app.openapi(
      stepRoute(prefix, 'clear-labels', queries.clearLabels, 'Remove the labels that were added to a node'),
      (c) =>
        run(c, 'ClearLabelsError', clearLabelsStep, {
          secrets: context.secrets,
          node: c.req.valid('param').node_id,
          timeout: c.req.valid('query').timeout,
          force: c.req.valid('query').force === true,
        }),
    );

    app.openapi(
      stepRoute(
        prefix,
        'restore-labels',
        queries.restoreLabels,
        'Put cleared labels back onto a node, and uncordon it',
      ),
      (c) =>
        run(c, 'RestoreLabelsError', restoreLabelsStep, {
          secrets: context.secrets,
          node: c.req.valid('param').node_id,
          timeout: c.req.valid('query').timeout,
        }),
    );

    app.openapi(stepRoute(prefix, 'shutdown-kubelet', queries.shutdownKubelet, 'Have a node stop its kubelet'), (c) => {
      const query = c.req.valid('query');
      return run(c, 'ShutdownKubeletError', shutdownKubeletStep, {
        node: c.req.valid('param').node_id,
        timeout: query.timeout,
        applyDaemonSet: query['apply-daemon-set'] === true,
        image: query['daemon-set-image'],
      });
    });

    app.openapi(
      stepRoute(
        prefix,
        'remove-from-cluster',
        queries.removeFromCluster,
        'Delete a node that is drained and unlabelled',
      ),
      (c) =>
        run(c, 'DeleteNodeError', removeFromClusterStep, {
          node: c.req.valid('param').node_id,
          timeout: c.req.valid('query').timeout,
        }),
    );
  }
}

async function rehearse(
  { config, stopping }: Pick<HttpContext, 'config' | 'stopping'>,
  c: Context<ApiEnv>,
  step: Omit<DrainStep, 'signal'>,
) {
  const signal = AbortSignal.any([c.req.raw.signal, stopping]);
  const messages = await runNodeStep(config.kubeconfigFile, 'DrainNodeError', rehearseDrain, { ...step, signal });
  return answerStatus(c, { status: 'Success', code: 200, message: messages.at(-1)?.message ?? '', messages });
}
