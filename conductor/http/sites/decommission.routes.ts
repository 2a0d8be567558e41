import { z } from 'zod';
import { Status } from '#conductor/api/service.ts';
import { type DecommissionStep, runDecommission } from '#conductor/cluster/cluster-settings.ts';
import { removeEtcd, waitForStableEtcd } from '#conductor/cluster/etcd/remove-etcd-round.ts';
import type { Journal } from '#conductor/cluster/journal.ts';
import {
  checkDrainTimes,
  clearLabelsStep,
  drainStep,
  runNodeStep,
  shutdownKubeletStep,
} from '#conductor/cluster/kubernetes/node-steps.ts';
import { requireNoFlowOn } from '#conductor/flows/request/require-no-flow.ts';
import type { HttpContext } from '#conductor/http/routing/context.ts';
import { type ApiApp, answers, originsOf, queryFlag, routesOf } from '#conductor/http/routing/define-routes.ts';
import { answerStatus } from '#conductor/http/routing/error-answers.ts';
import { airshipPath } from '#conductor/http/sites/airship-values.ts';
import { DesignBody } from '#conductor/http/sites/etcd.routes.ts';
import { forceFlag, graceMeaning, wholeSeconds } from '#conductor/http/sites/kubernetes-teardown.routes.ts';
import { recordByHand } from '#conductor/http/sites/record-by-hand.ts';
import { drainGracePeriod, etcdStepDefaults, nodeStepDefaults } from '#conductor/model/site/cluster-timeouts.ts';
import { withCredentials } from '#conductor/sites/credentials.ts';
import { whyNeededByEtcd } from '#conductor/sites/nodes/why-undeployable.ts';
import { findDesign } from '#conductor/sites/revisions/find-design.ts';
import type { Site } from '#conductor/sites/site.ts';
import { AppError } from '#shared/errors/app-error.ts';

const route = routesOf("teardown of a site's nodes (Promenade's)");

const Query = z.strictObject({
  'drain-node-timeout': wholeSeconds(1).default(nodeStepDefaults.drainTimeout).describe('seconds for the drain'),
  'drain-node-grace-period': wholeSeconds(0).optional().describe(graceMeaning),
  force: forceFlag,
  'clear-labels-timeout': wholeSeconds(1)
    .default(nodeStepDefaults.clearLabelsTimeout)
    .describe('seconds for the pods to settle'),
  'remove-etcd-timeout': wholeSeconds(1)
    .default(etcdStepDefaults.removeTimeout)
    .describe('seconds for the etcd members to leave'),
  'etcd-ready-timeout': wholeSeconds(1)
    .default(etcdStepDefaults.readyTimeout)
    .describe('seconds for the etcd clusters to become stable'),
  'apply-daemon-set': queryFlag.describe('as of shutdown-kubelet'),
  'daemon-set-image': z.string().min(1).optional().describe('as of shutdown-kubelet'),
});

function decommissionRoute<Prefix extends string>(prefix: Prefix) {
  return route.post(
    `${prefix}/nodes/{node_id}/decommission`,
    'Drain a node, clear its labels, have it leave etcd, wait for etcd, stop its kubelet',
    {
      ...answers(
        200,
        'a Status object: all is done; a kubelet that could not be stopped is reported, and is not a failure',
        Status,
      ),
      400: { description: 'an unknown parameter, no design, or a design that is not a site' },
      404: { description: 'the design, or the cluster, has no such node' },
      409: { description: 'a flow works on the node, or it can not leave its clusters: nothing was done' },
      500: { description: 'DisassociateStepFailure: a step has failed; details.messageList has what each step did' },
    },
    {
      params: z.object({ node_id: z.string().describe('host name of the server, in documents and cluster') }),
      query: Query,
      limits: 'usual',
      body: DesignBody,
    },
  );
}

/** Serves seed 001's `POST /nodes/{node_id}/decommission`, bare and below `/api/v1.0`; synchronous as its steps are. */
export function decommissionRoutes(app: ApiApp, context: HttpContext): void {
  for (const prefix of ['/v1', airshipPath] as const) {
    app.openapi(decommissionRoute(prefix), async (c) => {
      const { node_id: node } = c.req.valid('param');
      const { site } = await findDesign(context, c.req.valid('json').href, 'href', originsOf(c));
      if (!site.nodes.has(node)) throw new AppError('not_found', `the design has no node ${node}`);
      await requireNoFlowOn(context, node, 'decommission');
      const signal = AbortSignal.any([c.req.raw.signal, context.stopping]);
      const journal = recordByHand(context, c.get('caller'), { node, verb: 'decommission' });
      const messages = await runDecommission(
        node,
        stepsOf(context, { node, site, signal, query: c.req.valid('query'), journal }),
      );
      const errors = messages.filter(({ error }) => error).length;
      const message = `Node ${node} is decommissioned${errors > 0 ? '; its kubelet could not be stopped' : ''}`;
      return answerStatus(c, { status: 'Success', code: 200, message, messages });
    });
  }
}

/** Refuses a node that etcd can't do without, before its pods leave and its labels go. */
async function requireEtcdAllows(context: HttpContext, { node, site }: Pick<Work, 'node' | 'site'>): Promise<void> {
  const why = await whyNeededByEtcd(context, site, node);
  if (why === undefined) return;
  throw new AppError('conflict', `${node} is not taken out of its clusters: ${why}`, { details: { refusal: true } });
}

interface Work {
  readonly node: string;
  readonly site: Site;
  readonly signal: AbortSignal;
  readonly journal: Journal;
  readonly query: z.output<typeof Query>;
}

/** Lists the steps in the seed's order; only the step of the kubelet may fail without holding the process up. */
function stepsOf(context: HttpContext, { query, ...work }: Work): DecommissionStep[] {
  const { node, signal, journal } = work;
  const file = context.config.kubeconfigFile;
  const step = { node, signal, journal };
  const guard = { force: query.force === true, require: () => requireEtcdAllows(context, work) };
  const timeout = query['drain-node-timeout'];
  const drain = { timeout, gracePeriod: query['drain-node-grace-period'] ?? drainGracePeriod(timeout) };
  return [
    {
      name: 'drain',
      run: async () => {
        checkDrainTimes(drain);
        return runNodeStep(file, 'DrainNodeError', drainStep, { ...step, ...guard, ...drain });
      },
    },
    {
      name: 'clear-labels',
      run: () => {
        const clear = { ...step, ...guard, secrets: context.secrets, timeout: query['clear-labels-timeout'] };
        return runNodeStep(file, 'ClearLabelsError', clearLabelsStep, clear);
      },
    },
    {
      name: 'remove-etcd',
      run: () => removeEtcd(withCredentials(context), { ...work, timeout: query['remove-etcd-timeout'] }),
    },
    {
      name: 'etcd-ready',
      run: () => waitForStableEtcd(withCredentials(context), { ...work, timeout: query['etcd-ready-timeout'] }),
    },
    {
      name: 'shutdown-kubelet',
      mayFail: true,
      run: () =>
        runNodeStep(file, 'ShutdownKubeletError', shutdownKubeletStep, {
          ...step,
          timeout: nodeStepDefaults.shutdownKubeletTimeout,
          applyDaemonSet: query['apply-daemon-set'] === true,
          image: query['daemon-set-image'],
        }),
    },
  ];
}
