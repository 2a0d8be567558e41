import type { ListedTpmAnswer } from '#conductor/api/attestation.ts';
import type { FleetEvents } from '#conductor/api/events.ts';
import type { FlowSummaryView } from '#conductor/api/flows.ts';
import { get, getAll, LoginNeeded, NoAnswer, Refused } from '#conductor/board/data/ask-api.ts';
import type { BoardNode } from '#conductor/board/render/render-board.ts';
import { type FleetNodeField, fleetNodeFields } from '#conductor/model/fleet-node.ts';
import type { JsonObject } from '#conductor/model/json-object.ts';
import { imageNameOf, rackOf, rackUnitOf } from '#conductor/model/node-words.ts';

interface Stream {
  readonly readyState: number;
  addEventListener(type: string, listener: (event: { readonly data?: string }) => void): void;
  close(): void;
}
declare const EventSource: new (path: string) => Stream;
const closed = 2;

const againMs = 2000;
/** Fields of events that lists have within others. */
const within: Partial<Record<FleetNodeField, string>> = {
  rack: 'properties',
  rack_unit: 'extra',
  image: 'instance_info',
};
const fields = fleetNodeFields
  .filter((field) => field !== 'attestation') // Ironic's lists have none: a list of its own does
  .map((field) => within[field] ?? field)
  .join();
/** Time without any event after which the stream is taken to be cut: `beat` comes every ten seconds. */
const silentMs = 40_000;

/** Nodes and flows as they are now, by UUID. */
export interface Fleet {
  nodes: Map<string, BoardNode>;
  flows: Map<string, FlowSummaryView>;
  /** Whether the lists have been read once: before that, no node does not mean that there is none. */
  isKnown: boolean;
  /** Time at which the conductor was heard last. */
  heardAt: Date | undefined;
}

/** Lists say rack and image where operators have noted them; events name them. */
type ListedNode = Omit<BoardNode, 'rack' | 'rack_unit' | 'image' | 'attestation'> &
  Parameters<typeof rackOf>[0] & { readonly instance_info: JsonObject };

function toBoardNode(
  { properties, extra, instance_info: instance, ...node }: ListedNode,
  attestation: BoardNode['attestation'],
): BoardNode {
  const noted = { properties, extra };
  return {
    ...node,
    rack: rackOf(noted) ?? null,
    rack_unit: rackUnitOf(noted) ?? null,
    image: imageNameOf({ instance_info: instance }) ?? null,
    attestation,
  };
}

export interface FollowOptions {
  /** @param nodeUuid of what has changed; absent = all was fetched */
  readonly onChange: (nodeUuid?: string) => void;
  /** A site action begins, rests or ends. */
  readonly onAction: () => void;
  readonly onLogin: () => void;
  /** Not up to date any more; it tries again. */
  readonly onTrouble: (error: unknown) => void;
  /** Up to date again. */
  readonly onHeard: () => void;
}

/** Whole states; one that comes twice does no harm. */
type Change = (fleet: Fleet) => string | undefined;

/**
 * Keeps `fleet` as the conductor's: lists first, then `GET /v1/events`. Ends when a login is needed.
 * @returns what ends it
 */
export function followFleet(
  fleet: Fleet,
  { onChange, onAction, onLogin, onTrouble, onHeard }: FollowOptions,
): () => void {
  const state = { isOver: false, stream: undefined as Stream | undefined, openedAt: 0 };
  /** Changes that come while lists are fetched: they are newer. */
  let early: Change[] | undefined;
  const watch = setInterval(() => {
    const heardAt = Math.max(fleet.heardAt?.getTime() ?? 0, state.openedAt);
    if (state.stream && Date.now() - heardAt > silentMs) fail(new NoAnswer({ cause: 'no event' }));
  }, againMs);
  const end = (): void => {
    state.isOver = true;
    clearInterval(watch);
    state.stream?.close();
  };
  const hear = (): void => {
    fleet.heardAt = new Date();
    onHeard();
  };
  const fail = (error: unknown): void => {
    if (state.isOver) return;
    if (error instanceof LoginNeeded) {
      end();
      onLogin();
      return;
    }
    onTrouble(error);
    state.stream?.close();
    state.stream = undefined;
    setTimeout(open, againMs);
  };
  const fetchAll = async (): Promise<void> => {
    early = [];
    await readLists(fleet, () => onChange());
    for (const change of early) change(fleet);
    early = undefined;
    fleet.isKnown = true;
    hear();
    onChange();
  };
  const take = (change: Change): void => {
    if (early) early.push(change);
    else onChange(change(fleet));
  };
  const open = (): void => {
    if (state.isOver) return;
    const stream = new EventSource('v1/events');
    state.stream = stream;
    state.openedAt = Date.now();
    const on = <Type extends keyof FleetEvents>(type: Type, listener: (data: FleetEvents[Type]) => void): void =>
      stream.addEventListener(type, ({ data = '{}' }) => {
        listener(JSON.parse(data) as FleetEvents[Type]);
        if (fleet.isKnown) hear();
      });
    on('beat', () => undefined);
    for (const type of ['hello', 'reload'] as const) on(type, () => void fetchAll().catch(fail));
    on('node', (node) => take(({ nodes }) => nodes.set(node.uuid, node) && node.uuid));
    on('flow', (flow) => take(({ flows }) => flows.set(flow.uuid, flow) && flow.node_uuid));
    on('action', onAction);
    on('gone', ({ kind, uuid }) => take((now) => forget(now, kind, uuid)));
    on('logout', () => fail(new LoginNeeded('the login has ended')));
    stream.addEventListener('error', () => {
      // a stream that is refused says no reason: another request does
      if (stream.readyState === closed)
        get('v1/session').then(() => fail(new Error('the stream of events ended')), fail);
      else onTrouble(new NoAnswer({ cause: 'the stream of events was cut' }));
    });
  };
  open();
  return end;
}

/** Reads the lists again; of a fleet that nothing is known of yet, each page is worth seeing. */
async function readLists(fleet: Fleet, onPage: () => void): Promise<void> {
  const showPage = (page: readonly ListedNode[]): void => {
    for (const node of page) fleet.nodes.set(node.uuid, toBoardNode(node, null));
    onPage();
  };
  const [nodes, flows, tpms] = await Promise.all([
    getAll<ListedNode>(`v1/nodes?fields=${fields}`, 'nodes', fleet.isKnown ? undefined : showPage),
    getAll<FlowSummaryView>('v1/flows', 'flows'),
    readTpms(),
  ]);
  fleet.nodes = new Map(nodes.map((node) => [node.uuid, toBoardNode(node, tpms.get(node.uuid) ?? null)]));
  fleet.flows = new Map(flows.map((flow) => [flow.uuid, flow]));
}

async function readTpms(): Promise<ReadonlyMap<string, NonNullable<BoardNode['attestation']>>> {
  try {
    const tpms = await getAll<ListedTpmAnswer>('v1/tpms', 'tpms');
    return new Map(
      tpms.map(({ uuid, verdict, reasons, accepted, another }) => [
        uuid,
        { verdict, reasons: [...reasons], accepted, another },
      ]),
    );
  } catch (error) {
    // a conductor of the release before has no such list
    if (error instanceof Refused && error.status === 404) return new Map();
    throw error;
  }
}

function forget({ nodes, flows }: Fleet, kind: string, uuid: string): string | undefined {
  const nodeUuid = kind === 'flow' ? flows.get(uuid)?.node_uuid : uuid;
  if (kind === 'node') nodes.delete(uuid);
  if (kind === 'flow') flows.delete(uuid);
  return nodeUuid;
}

export function uuidByName(fleet: Fleet, name: string): string | undefined {
  for (const node of fleet.nodes.values()) if (node.name === name) return node.uuid;
  return undefined;
}

/** Nodes that each conductor works on, by its name. */
export function countWork(fleet: Fleet): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { conductor, ended_at: end } of fleet.flows.values())
    if (conductor !== null && end === null) counts.set(conductor, (counts.get(conductor) ?? 0) + 1);
  return counts;
}
