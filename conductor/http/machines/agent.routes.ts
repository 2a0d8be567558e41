import { z } from 'zod';
import { createNeighbourFinder } from '#conductor/agents/find-neighbours.ts';
import { createHeartbeatStore } from '#conductor/agents/heartbeat-store.ts';
import { createKnownAgents } from '#conductor/agents/known-agents.ts';
import { recordHeartbeat, recordProgress } from '#conductor/agents/record-heartbeat.ts';
import { AgentLookup } from '#conductor/api/node-parts.ts';
import { lookupNode } from '#conductor/flows/request/lookup-node.ts';
import { addressOf } from '#conductor/http/doors/admit-strangers.ts';
import type { HttpContext } from '#conductor/http/routing/context.ts';
import { type ApiApp, answers, routesOf } from '#conductor/http/routing/define-routes.ts';
import { noteRefusal } from '#conductor/nodes/boot/note-refusal.ts';
import { isUuid } from '#conductor/nodes/node-store.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { describeIssues } from '#shared/errors/describe-issues.ts';
import { parseCardAddresses } from '#shared/mac-address.ts';
import { bootTokenHeader, Heartbeat } from '#shared/wire/agent-calls.ts';
import { attestationProblemHeader } from '#shared/wire/attestation.ts';
import { NeighboursAnswer, NeighboursRequest } from '#shared/wire/neighbours.ts';
import { ProgressReport } from '#shared/wire/progress.ts';

const route = routesOf('agent');
const agentVersion = 22;

const lookup = route.get(
  '/v1/lookup',
  'Look up the node that a ramdisk runs on',
  answers(200, 'node and config, with the boot token the first time', AgentLookup),
  {
    since: agentVersion,
    query: z.strictObject({ addresses: z.string().optional(), node_uuid: z.string().optional() }),
  },
);

const heartbeat = route.post('/v1/heartbeat/{node}', "Take an agent's heartbeat", answers(202, 'accepted'), {
  since: agentVersion,
  limits: 'agent',
  body: z.record(z.string(), z.unknown()),
});

const progress = route.post(
  '/v1/progress/{node}',
  "Take an agent's progress report (Baton's own)",
  answers(204, 'taken'),
  { limits: 'agent', body: ProgressReport },
);

const neighbours = route.post(
  '/v1/neighbours/{node}',
  "List for an agent the machines that deploy the same image (Baton's own)",
  answers(200, 'neighbours, and a ticket for them', NeighboursAnswer),
  { limits: 'agent', body: NeighboursRequest },
);

/** Fields newer than the first heartbeats, with Ironic's texts (agent-protocol.md §2.3). */
const gatedFields: readonly {
  readonly fields: readonly (keyof Heartbeat)[];
  readonly since: number;
  readonly text: string;
}[] = [
  { fields: ['agent_version'], since: 36, text: 'Field "agent_version" not recognised' },
  { fields: ['agent_token'], since: 62, text: 'Field "agent_token" not recognised' },
  { fields: ['agent_verify_ca'], since: 68, text: 'Field "agent_verify_ca" not recognised in this version' },
  {
    fields: ['agent_status', 'agent_status_message'],
    since: 72,
    text: 'Fields "agent_status" and "agent_status_message" not recognised.',
  },
];

/**
 * Parses the heartbeat in a request body.
 * @throws AppError `invalid_argument` in the texts that agents and their operators know.
 */
export function parseHeartbeat(body: Readonly<Record<string, unknown>>, version: number): Heartbeat {
  const given = Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null));
  const unexpected = Object.keys(given).filter((key) => !(key in Heartbeat.shape));
  if (unexpected.length > 0) throw new AppError('invalid_argument', `Unexpected arguments: ${unexpected.join(', ')}`);
  if (given['callback_url'] === undefined) {
    throw new AppError('invalid_argument', 'Missing mandatory parameter: callback_url');
  }
  for (const gate of gatedFields) {
    if (version < gate.since && gate.fields.some((field) => given[field] !== undefined)) {
      throw new AppError('invalid_argument', gate.text);
    }
  }
  const parsed = Heartbeat.safeParse(given);
  if (parsed.success) return parsed.data;
  if (parsed.error.issues.some((issue) => issue.path[0] === 'agent_status')) {
    throw new AppError('invalid_argument', 'Agent status is invalid. Valid states are start,end,error.');
  }
  throw new AppError('invalid_argument', describeIssues(parsed.error));
}

/** Refusal that people read in place of the error, which has names of fields that anybody may have sent. */
const ofUnknownForm = new AppError(
  'invalid_argument',
  'it has fields that this conductor does not know, or lacks some.',
  {
    details: { advice: 'Its ramdisk is of another release than this conductor, or a stranger calls.' },
  },
);

/**
 * Mounts what a ramdisk calls. No authentication: lookups reveal nothing to strangers, the rest needs the boot's token.
 */
export function agentRoutes(app: ApiApp, context: HttpContext): void {
  const heartbeats = createHeartbeatStore(context.db);
  const memory = { heartbeats, known: createKnownAgents() };
  const findNeighbours = createNeighbourFinder(context, heartbeats);

  app.openapi(lookup, async (c) => {
    const version = c.get('version');
    const { addresses: list, node_uuid: nodeUuid } = c.req.valid('query');
    // dash forms are ignored without a word, as in Ironic
    const macs = (list ?? '').split(',').filter((text) => !text.includes('-'));
    const addresses = parseCardAddresses(macs);
    if (addresses.length === 0 && !nodeUuid) {
      throw new AppError(
        'invalid_argument',
        "At least one of 'addresses' and 'node_uuid' parameters must be specified",
      );
    }
    if (nodeUuid && !isUuid(nodeUuid)) {
      throw new AppError('invalid_argument', `Expected UUID for node_uuid: ${nodeUuid}`);
    }
    return c.json(
      await lookupNode(context, {
        addresses,
        nodeUuid,
        version,
        bootToken: c.req.header(bootTokenHeader),
        attestationProblem: c.req.header(attestationProblemHeader),
      }),
    );
  });

  app.openapi(heartbeat, async (c) => {
    const { node: ident } = c.req.valid('param');
    let said: Heartbeat | undefined;
    try {
      said = parseHeartbeat(c.req.valid('json'), c.get('version'));
      await recordHeartbeat(context, memory, { ident, heartbeat: said, source: addressOf(c) });
      context.metrics.heartbeats.inc({ outcome: 'taken' });
    } catch (error) {
      context.metrics.heartbeats.inc({ outcome: 'refused' });
      await noteRefusal(context, { ident }, 'heartbeat', said === undefined ? ofUnknownForm : error);
      throw error;
    }
    return c.body(null, 202);
  });

  app.openapi(progress, async (c) => {
    await recordProgress(context, c.req.valid('param').node, c.req.valid('json'));
    return c.body(null, 204);
  });

  app.openapi(neighbours, async (c) => c.json(await findNeighbours(c.req.valid('param').node, c.req.valid('json'))));
}
