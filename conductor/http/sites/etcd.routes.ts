import { z } from 'zod';
import { Status } from '#conductor/api/service.ts';
import { wholeFrom } from '#conductor/api/values.ts';
import { readEtcdHealth } from '#conductor/cluster/etcd/etcd-health.ts';
import { removeEtcd } from '#conductor/cluster/etcd/remove-etcd-round.ts';
import { requireNoFlowOn } from '#conductor/flows/request/require-no-flow.ts';
import type { HttpContext } from '#conductor/http/routing/context.ts';
import { type ApiApp, answers, originsOf, routesOf } from '#conductor/http/routing/define-routes.ts';
import { answerStatus } from '#conductor/http/routing/error-answers.ts';
import { airshipPath } from '#conductor/http/sites/airship-values.ts';
import { wholeSeconds } from '#conductor/http/sites/kubernetes-teardown.routes.ts';
import { recordByHand } from '#conductor/http/sites/record-by-hand.ts';
import { etcdStepDefaults } from '#conductor/model/site/cluster-timeouts.ts';
import { withCredentials } from '#conductor/sites/credentials.ts';
import { findDesign } from '#conductor/sites/revisions/find-design.ts';
import { AppError } from '#shared/errors/app-error.ts';

const route = routesOf("teardown of a site's nodes (Promenade's)");

const designRule = 'must be a revision: its number, its role, or the address of its documents';
/** Design as requests name it. */
export const Design = z.union([z.string(), wholeFrom(0, designRule)], { error: designRule });

/** Seed 001's: which design says where etcd runs. */
export const DesignBody = z.strictObject({
  rel: z.literal('design', { error: 'must be design' }),
  href: Design,
  type: z.string().optional().describe('application/x-yaml; not looked at'),
});

const { removeTimeout } = etcdStepDefaults;

function removeRoute<Prefix extends string>(prefix: Prefix) {
  return route.post(
    `${prefix}/nodes/{node_id}/remove-etcd`,
    "Have a node's etcd members leave their clusters",
    {
      ...answers(200, 'a Status object: no member runs on the node any more', Status),
      400: { description: 'no design, or a design that is not a site' },
      404: { description: 'the design, or its node, is not there' },
      409: { description: 'a flow works on the node, which is named with its site action' },
      500: { description: 'RemoveEtcdError: a cluster needs the member, or has not answered in time' },
    },
    {
      params: z.object({ node_id: z.string().describe('name of the node in the documents') }),
      query: z.strictObject({
        timeout: wholeSeconds(1).default(removeTimeout).describe(`seconds for all of it; default ${removeTimeout}`),
      }),
      limits: 'usual',
      body: DesignBody,
    },
  );
}

function healthRoute<Prefix extends string>(prefix: Prefix) {
  return route.get(
    `${prefix}/etcd-cluster-health-statuses`,
    'Say how the etcd clusters of a design are',
    {
      ...answers(
        200,
        'a Status object with a HealthMessage for each: Healthy, Unhealthy, Unable to access Etcd',
        Status,
      ),
      400: { description: 'MissingDesignRef' },
      404: { description: 'the design is not there, or has no etcd' },
      500: {
        description: 'EtcdNotAccessible: something else than etcd answers; the messages have the other clusters, too',
      },
    },
    {
      query: z.strictObject({
        design_ref: z.string().optional().describe('a revision: its number, role, or the address of its documents'),
      }),
    },
  );
}

/** Serves seed 001's operations on a site's etcd clusters, under its bare paths and below `/api/v1.0`. */
export function etcdRoutes(app: ApiApp, context: HttpContext): void {
  for (const prefix of ['/v1', airshipPath] as const) {
    app.openapi(removeRoute(prefix), async (c) => {
      const { node_id: node } = c.req.valid('param');
      const { site, revision } = await findDesign(context, c.req.valid('json').href, 'href', originsOf(c));
      await requireNoFlowOn(context, node, 'remove-etcd');
      const signal = AbortSignal.any([c.req.raw.signal, context.stopping]);
      const messages = await removeEtcd(withCredentials(context), {
        node,
        site,
        timeout: c.req.valid('query').timeout,
        signal,
        journal: recordByHand(context, c.get('caller'), { node, verb: 'remove-etcd' }),
      });
      const message =
        site.etcdClusters.length === 0
          ? `revision ${revision} has no promenade/EtcdClusters/v1: nothing was looked at`
          : `No etcd member runs on ${node}`;
      return answerStatus(c, { status: 'Success', code: 200, message, messages });
    });
  }

  for (const prefix of ['', airshipPath] as const) {
    app.openapi(healthRoute(prefix), async (c) => {
      const { design_ref: reference } = c.req.valid('query');
      if (reference === undefined || reference === '') {
        const details = { reason: 'MissingDesignRef' };
        throw new AppError('invalid_argument', 'design_ref: it must say which design lists the clusters', { details });
      }
      // the seed's `deckhand+https://`, written into a query as it is: there a plus stands for a space
      const written = reference.replace(/^deckhand (?=https?:)/, 'deckhand+');
      const { site, revision } = await findDesign(context, written, 'design_ref', originsOf(c));
      if (site.etcdClusters.length === 0)
        throw new AppError(
          'not_found',
          `design_ref: revision ${revision} has no promenade/EtcdClusters/v1 with a cluster`,
        );
      const messages = await readEtcdHealth(withCredentials(context), site.etcdClusters, c.req.raw.signal);
      const healthy = messages.filter(({ message }) => message === 'Healthy').length;
      const message = `${healthy} of ${messages.length} etcd clusters are healthy`;
      return answerStatus(c, { status: 'Success', code: 200, message, messages });
    });
  }
}
