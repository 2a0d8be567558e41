import { createHash, createPrivateKey, createPublicKey } from 'node:crypto';
import { and, eq, isNull } from 'drizzle-orm';
import type { AgentsContext } from '#conductor/agents/context.ts';
import type { HeartbeatStore } from '#conductor/agents/heartbeat-store.ts';
import { checkToken } from '#conductor/agents/record-heartbeat.ts';
import { flows } from '#conductor/kernel/db/schema/flow.ts';
import { nodes } from '#conductor/kernel/db/schema/node.ts';
import { type PortRow, ports } from '#conductor/kernel/db/schema/port.ts';
import { openNodeDocument } from '#conductor/kernel/secrets/node-secrets.ts';
import type { JsonObject } from '#conductor/model/json-object.ts';
import { rackOf } from '#conductor/model/node-words.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { type Neighbour, type NeighboursAnswer, type NeighboursRequest, signTicket } from '#shared/wire/neighbours.ts';

/** A machine that deploys an image. */
export interface GroupMember extends Neighbour {
  /** The same in every group, unlike `id`: a machine is in one group at a time. */
  readonly node: string;
  /** Its rack and switch, as far as they are known: machines are near each other in the order of these texts. */
  readonly place: string;
}

export interface NeighbourGroups {
  /**
   * Takes the machine in, or keeps it, until `keepMs` from now; it leaves the group in which it was.
   * @param group what it deploys, for whom, in which network: others never meet
   * @returns the others of its circle
   */
  join(group: string, member: GroupMember, keepMs: number): readonly Neighbour[];
  /** Machines in all groups. */
  size(): number;
}

/** Each knows all others of its circle: the server sends an image about once to each circle. */
export const circleSize = 24;
const forgetEveryMs = 1000;

type Kept = GroupMember & { readonly until: number };

/**
 * Puts machines that deploy the same image into circles of those that stand near each other. In memory, for nothing
 * depends on it: after a restart agents call again.
 * @param now in milliseconds
 */
export function createNeighbourGroups(now: () => number): NeighbourGroups {
  const groups = new Map<string, readonly Kept[]>();
  /** The circle that each node has joined. */
  const joined = new Map<string, string>();
  const state = { forgottenAt: now() };
  const keep = (group: string, members: readonly Kept[]): void => {
    if (members.length > 0) groups.set(group, members);
    else groups.delete(group);
  };
  const forget = (): void => {
    state.forgottenAt = now();
    for (const [group, members] of groups) {
      const left = members.filter(({ until }) => until > now());
      for (const { node, until } of members) if (until <= now()) joined.delete(node);
      keep(group, left);
    }
  };
  const without = (group: string, { node }: GroupMember): readonly Kept[] =>
    (groups.get(group) ?? []).filter((other) => other.node !== node);
  return {
    join: (group, member, keepMs) => {
      if (now() - state.forgottenAt > forgetEveryMs) forget();
      const before = joined.get(member.node);
      if (before !== undefined && before !== group) keep(before, without(before, member));
      joined.set(member.node, group);
      const others = without(group, member);
      const at = others.findIndex((other) => isBefore(member, other));
      const place = at === -1 ? others.length : at;
      const members = others.toSpliced(place, 0, { ...member, until: now() + keepMs });
      groups.set(group, members);
      return circleAround(members, place)
        .filter(({ id }) => id !== member.id)
        .map(({ id, url, certificate_sha256 }) => ({ id, url, certificate_sha256 }));
    },
    size: () => joined.size,
  };
}

function isBefore(a: GroupMember, b: GroupMember): boolean {
  return a.place < b.place || (a.place === b.place && a.id < b.id);
}

/** Finds the circle around a place: as many circles as are needed, all of about the same size. */
function circleAround<T>(members: readonly T[], place: number): readonly T[] {
  const size = members.length / Math.ceil(members.length / circleSize);
  const circle = Math.floor(place / size);
  return members.slice(Math.ceil(circle * size), Math.ceil((circle + 1) * size));
}

/** Lifetime of a ticket: a machine that goes on is known to its neighbours for as long at most. */
const ticketMs = 600_000;
/** Between two calls of an agent, and more the more there are; at most half of a ticket's life. */
const leastNextMs = 15_000;
const nextMsEach = 50;
const mostNextMs = ticketMs / 2;
/** Calls that may be missed before an agent counts as gone. */
const callsKept = 2.5;

type Context = Pick<AgentsContext, 'db' | 'secrets' | 'clock' | 'config'>;

/**
 * `POST /v1/neighbours/{node}` (Baton's own): lists to an agent that deploys an image who else does, for the same project
 * and in the same network, and gives it a ticket by which they know it. Nothing waits for it.
 * @returns answers a request
 */
export function createNeighbourFinder(
  context: Context,
  { session: sessionOf }: Pick<HeartbeatStore, 'session'>,
): (ident: string, request: NeighboursRequest) => Promise<NeighboursAnswer> {
  const { secrets, clock, config } = context;
  const now = (): number => clock.now().getTime();
  const groups = createNeighbourGroups(now);
  const key = ticketKey(secrets.digest('key of image tickets'));
  const publicKey = createPublicKey(key).export({ type: 'spki', format: 'pem' }).toString();

  return async (ident, request) => {
    const { nodeUuid, session: known } = await sessionOf(ident);
    const session = checkToken(secrets, known, request.agent_token);
    if (!config.imageNeighbours)
      throw new AppError('forbidden', 'Images are not shared here (BATON_IMAGE_NEIGHBOURS).');
    const place = await readPlace(context, nodeUuid);
    const host = URL.parse(session.callbackUrl ?? '')?.hostname;
    if (!place || host === undefined) throw new AppError('conflict', `Node ${nodeUuid} is not being deployed.`);
    const { named } = place;
    // the agent says what it writes: no stranger's ramdisk learns who else deploys what its node does not
    if (named === undefined || (!isUrl(named) && named !== request.image)) {
      throw new AppError('conflict', `Node ${nodeUuid} does not deploy this image: its instance_info names another.`);
    }
    const group = sha256(JSON.stringify([request.image, named, ...place.projects, place.network]));
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

/** Returns the milliseconds until an agent is to call again: the more machines share images, the more. */
export function nextCallMs(machines: number): number {
  return Math.min(mostNextMs, leastNextMs + nextMsEach * machines);
}

/**
 * Derives the key of tickets: for all conductors the same, and as long as their oldest key, so that an agent need not
 * know which one has signed.
 */
function ticketKey(seedHex: string) {
  const prefix = Buffer.from('302e020100300506032b657004220420', 'hex'); // PKCS #8 of an Ed25519 seed (RFC 8410)
  return createPrivateKey({ key: Buffer.concat([prefix, Buffer.from(seedHex, 'hex')]), format: 'der', type: 'pkcs8' });
}

interface Place {
  /**
   * Machines with the same are of one project: the lessee, else the owner; and who Nova says the instance is for. Who may
   * patch `instance_info` leaves its own project's group by the latter, but gets into no other's.
   */
  readonly projects: readonly unknown[];
  /** The digest of the image that `instance_info` names, or the URL of one. */
  readonly named: string | undefined;
  readonly network: string | null;
  readonly stands: string;
}

/** Reads which instance the machine gets, and where it stands; `undefined` when it is not being deployed. */
async function readPlace(
  { db, secrets }: Pick<Context, 'db' | 'secrets'>,
  nodeUuid: string,
): Promise<Place | undefined> {
  const rows = await db
    .select({
      uuid: nodes.uuid,
      instanceInfo: nodes.instanceInfo,
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
  const info = openNodeDocument(secrets, row, 'instanceInfo');
  return {
    projects: [row.lessee ?? row.owner, info['project_id'] ?? null],
    named: namedChecksum(info),
    network: bootPort?.physicalNetwork ?? null,
    stands: [rackOf(row), switchOf(bootPort)].map((part) => part ?? '').join('\n'),
  };
}

function switchOf(port: PortRow | null): string | undefined {
  const id = port?.localLinkConnection['switch_id'];
  return typeof id === 'string' && id !== '' ? id.toLowerCase() : undefined;
}

/** Gives the checksum as the agent reads it: the pair before `image_checksum`. */
function namedChecksum(info: JsonObject): string | undefined {
  const named = [info['image_os_hash_value'], info['image_checksum']].find((value) => value !== '' && value != null);
  if (typeof named !== 'string') return undefined;
  return isUrl(named) ? named : named.trim().toLowerCase();
}

function isUrl(checksum: string): boolean {
  return /^https?:\/\//.test(checksum);
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
