import { createHash, createPrivateKey, createPublicKey } from 'node:crypto';
import { and, eq, isNull } from 'drizzle-orm';
import type { AgentsContext } from '#conductor/agents/context.ts';
import type { HeartbeatStore } from '#conductor/agents/heartbeat-store.ts';
import { createNeighbourGroups } from '#conductor/agents/neighbours/neighbour-groups.ts';
import { checkToken } from '#conductor/agents/record-heartbeat.ts';
import type { Queryable } from '#conductor/kernel/db/open.ts';
import { flows } from '#conductor/kernel/db/schema/flow.ts';
import { nodes } from '#conductor/kernel/db/schema/node.ts';
import { type PortRow, ports } from '#conductor/kernel/db/schema/port.ts';
import { rackOf } from '#conductor/model/node-rack.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { signTicket } from '#shared/wire/image-ticket.ts';
import type { NeighboursAnswer, NeighboursRequest } from '#shared/wire/neighbours.ts';

/** Of a ticket: a machine that goes on is known to its neighbours for as long at most. */
const ticketMs = 600_000;
/** Between two calls of an agent, and more the more there are; at most half of a ticket's life. */
const leastNextMs = 15_000;
const nextMsEach = 50;
const mostNextMs = ticketMs / 2;
/** Calls that may be missed before an agent counts as gone. */
const callsKept = 2.5;

type Context = Pick<AgentsContext, 'db' | 'secrets' | 'clock' | 'config'>;

/**
 * `POST /v1/neighbours/{node}` (Baton's own): tells an agent that deploys an image who else does, for the same project
 * and in the same network, and gives it a ticket by which they know it. Nothing waits for it.
 * @returns answers a request
 */
export function createNeighbourFinder(
  context: Context,
  { session: sessionOf }: Pick<HeartbeatStore, 'session'>,
): (ident: string, request: NeighboursRequest) => Promise<NeighboursAnswer> {
  const { db, secrets, clock, config } = context;
  const now = (): number => clock.now().getTime();
  const groups = createNeighbourGroups(now);
  const key = ticketKey(secrets.digest('key of image tickets'));
  const publicKey = createPublicKey(key).export({ type: 'spki', format: 'pem' }).toString();

  return async (ident, request) => {
    const { nodeUuid, session: known } = await sessionOf(ident);
    const session = checkToken(secrets, known, request.agent_token);
    if (!config.imageNeighbours)
      throw new AppError('forbidden', 'Images are not shared here (BATON_IMAGE_NEIGHBOURS).');
    const place = await readPlace(db, nodeUuid);
    const host = URL.parse(session.callbackUrl ?? '')?.hostname;
    if (!place || host === undefined) throw new AppError('conflict', `Node ${nodeUuid} is not being deployed.`);
    const group = sha256(JSON.stringify([request.image, place.project, place.network]));
    const neighbour = {
      id: sha256(`${group} ${nodeUuid}`).slice(0, 16),
      url: `https://${host}:${request.port}`,
      certificate_sha256: request.certificate_sha256,
    };
    const nextMs = nextCallMs(groups.size());
    const member = { ...neighbour, node: nodeUuid, place: place.stands };
    const neighbours = groups.join(group, member, nextMs * callsKept);
    return {
      ticket: signTicket({ ...neighbour, group, expires: now() + ticketMs }, key),
      public_key: publicKey,
      neighbours: [...neighbours],
      next_ms: nextMs,
    };
  };
}

/** Until an agent calls again, where so many share images. */
export function nextCallMs(machines: number): number {
  return Math.min(mostNextMs, leastNextMs + nextMsEach * machines);
}

/** Of all conductors the same, and as long as their oldest key: an agent need not know which one has signed. */
function ticketKey(seedHex: string) {
  const prefix = Buffer.from('302e020100300506032b657004220420', 'hex'); // PKCS #8 of an Ed25519 seed (RFC 8410)
  return createPrivateKey({ key: Buffer.concat([prefix, Buffer.from(seedHex, 'hex')]), format: 'der', type: 'pkcs8' });
}

interface Place {
  readonly project: string | null;
  readonly network: string | null;
  readonly stands: string;
}

/** Whose instance the machine gets, and where it stands; `undefined` when it is not being deployed. */
async function readPlace(db: Queryable, nodeUuid: string): Promise<Place | undefined> {
  const rows = await db
    .select({
      owner: nodes.owner,
      lessee: nodes.lessee,
      properties: nodes.properties,
      extra: nodes.extra,
      port: ports,
    })
    .from(flows)
    .innerJoin(nodes, eq(nodes.uuid, flows.nodeUuid))
    .leftJoin(ports, and(eq(ports.nodeUuid, nodes.uuid), eq(ports.pxeEnabled, true)))
    .where(and(eq(flows.nodeUuid, nodeUuid), eq(flows.kind, 'deploy'), isNull(flows.endedAt)));
  const [row] = rows;
  if (!row) return undefined;
  const bootPort = rows.map(({ port }) => port).find((port) => switchOf(port) !== undefined) ?? row.port;
  return {
    project: row.lessee ?? row.owner,
    network: bootPort?.physicalNetwork ?? null,
    stands: [rackOf(row), switchOf(bootPort)].map((part) => part ?? '').join('\n'),
  };
}

function switchOf(port: PortRow | null): string | undefined {
  const id = port?.localLinkConnection['switch_id'];
  return typeof id === 'string' && id !== '' ? id.toLowerCase() : undefined;
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
