import { randomUUID } from 'node:crypto';
import { and, eq, sql } from 'drizzle-orm';
import { insertAllocations, requireNoDuplicates } from '#conductor/allocations/allocation-store.ts';
import type { Allocating } from '#conductor/allocations/allocator.ts';
import { backfillAllocation } from '#conductor/allocations/change-allocation.ts';
import type { AllocationsContext } from '#conductor/allocations/context.ts';
import {
  type Candidate,
  decideAllocation,
  describeShortage,
  listRefusals,
  type Requirements,
} from '#conductor/allocations/match.ts';
import { readAll, readFitting } from '#conductor/allocations/read-candidates.ts';
import type { AllocationRequest } from '#conductor/api/allocations.ts';
import type { TrialAnswer } from '#conductor/api/node-parts.ts';
import type { Caller } from '#conductor/kernel/caller.ts';
import type { Queryable } from '#conductor/kernel/db/open.ts';
import type { AllocationInsert, AllocationRow } from '#conductor/kernel/db/schema/allocation.ts';
import { nodes } from '#conductor/kernel/db/schema/node.ts';
import { nodeNameFault } from '#conductor/nodes/node-fields.ts';
import { visibleNodes } from '#conductor/nodes/node-ownership.ts';
import { finderOf, isAnyNode, isNode } from '#conductor/nodes/node-store.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** An allocation as it was asked for, checked, with all that is filled in. */
interface Order {
  readonly requirements: Pick<AllocationInsert, 'traits' | 'candidateNodes' | 'owner'> & {
    readonly traits: string[];
    readonly candidateNodes: string[];
    readonly owner: string | null;
  };
  /** Absent only with `node`, whose class it then is. */
  readonly resourceClass: string | undefined;
  readonly count: number;
  readonly minCount: number;
}

/**
 * Checks a request in the order that clients know (allocation.md §3): name, owner, node, resource class, candidates.
 * @throws AppError `invalid_argument` naming the field, `forbidden` for another project's owner.
 */
async function checkRequest(
  db: Queryable,
  request: AllocationRequest,
  options: { readonly caller: Caller; readonly version: number },
): Promise<Order> {
  const { count = 1 } = request;
  checkName(request, options.version);
  const owner = ownerOf(request, options.caller);
  checkCombination(request);
  if (!request.resource_class && !request.node) {
    throw new AppError('invalid_argument', 'Missing mandatory parameter: resource_class');
  }
  return {
    requirements: {
      owner,
      traits: [...new Set(request.traits ?? [])],
      candidateNodes: await candidateUuids(db, request.candidate_nodes ?? [], options.caller),
    },
    resourceClass: request.resource_class ?? undefined,
    count,
    minCount: request.min_count ?? count,
  };
}

/**
 * Serves `POST /v1/allocations`: writes one allocation, or as many as `count` says, and has the conductor look for their
 * nodes. With `node` the allocation is active at once.
 * @throws AppError `invalid_argument`, `forbidden`, `conflict` for a uuid or name in use, a uuid that is some node's
 * `instance_uuid`, or a `node` that does not fit.
 */
export async function createAllocations(
  context: Pick<AllocationsContext, 'db' | 'config' | 'clock'> & Allocating,
  request: AllocationRequest,
  options: {
    readonly caller: Caller;
    readonly version: number;
    /** The site action that wants it. */
    readonly actionId?: string | undefined;
  },
): Promise<AllocationRow[]> {
  const { db, config, allocator } = context;
  const order = await checkRequest(db, request, options);
  const given = {
    name: request.name ?? null,
    extra: request.extra ?? {},
    ...order.requirements,
    conductor: config.conductorName,
    actionId: options.actionId ?? null,
  };
  const uuid = request.uuid?.toLowerCase();
  if (request.node) {
    const nodeUuid = await namedNode(db, request.node, options.caller.project);
    return [
      await backfillAllocation(context, nodeUuid, {
        ...given,
        uuid,
        resourceClass: order.resourceClass,
        caller: options.caller,
      }),
    ];
  }
  await requireNoInstanceUuid(db, uuid);
  const common = {
    ...given,
    state: 'allocating' as const,
    resourceClass: order.resourceClass ?? '',
    // by the clock that it is compared with
    waitUntil: request.wait === undefined ? null : sql<Date>`now() + make_interval(secs => ${request.wait}::float8)`,
  };
  const group = request.count === undefined ? {} : groupColumns(request, order);
  const rows = await insertAllocations(
    db,
    memberNames(request).map((name) => ({ ...common, ...group, uuid: uuid ?? randomUUID(), name })),
  );
  allocator.kick();
  return rows;
}

function groupColumns(request: AllocationRequest, { minCount }: Order) {
  return { groupUuid: randomUUID(), minCount, placement: request.placement ?? null };
}

function memberName({ name, count }: AllocationRequest, index: number): string | null {
  if (!name) return null;
  return count === undefined ? name : `${name}-${index}`;
}

/** Lists the names of the requested allocations, in their order. */
function memberNames(request: AllocationRequest): (string | null)[] {
  return Array.from({ length: request.count ?? 1 }, (_, index) => memberName(request, index));
}

function checkName(request: AllocationRequest, version: number): void {
  const longest = memberName(request, (request.count ?? 1) - 1);
  const fault = longest === null ? undefined : nodeNameFault(longest, version);
  if (fault === undefined && request.name !== '') return;
  throw new AppError(
    'invalid_argument',
    `Cannot create allocation with invalid name '${longest ?? ''}': ${fault ?? 'it is empty'}.`,
  );
}

function ownerOf({ owner }: AllocationRequest, { project }: Caller): string | null {
  if (project === undefined) return owner ?? null;
  if (owner !== undefined && owner !== null && owner !== project) {
    throw new AppError('forbidden', `Cannot create allocation with owner ${owner} for project ${project}.`);
  }
  return project;
}

/** @throws AppError `invalid_argument` for fields that do not go together. */
function checkCombination(request: AllocationRequest): void {
  const refuse = (field: keyof AllocationRequest, text: string): never => {
    throw new AppError('invalid_argument', `${field}: ${text}`);
  };
  const { count, min_count: minCount } = request;
  if (count === undefined) {
    if (minCount !== undefined) refuse('min_count', 'it needs count');
    if (request.placement !== undefined) refuse('placement', 'it needs count');
  }
  if (minCount !== undefined && count !== undefined && minCount > count) {
    refuse('min_count', `${minCount} is more than count, which is ${count}`);
  }
  if (count !== undefined && request.uuid) refuse('uuid', 'with count, each allocation gets a UUID of its own');
  if (!request.node) return;
  for (const field of ['wait', 'count', 'dry_run'] as const) {
    if (request[field] !== undefined) refuse(field, 'it does not go with node, which is given already');
  }
}

/** Lists UUIDs of the candidates in the order given; each candidate must be a node. */
async function candidateUuids(db: Queryable, idents: readonly string[], { project }: Caller): Promise<string[]> {
  if (idents.length === 0) return [];
  const rows = await db
    .select({ uuid: nodes.uuid, name: nodes.name })
    .from(nodes)
    .where(and(isAnyNode(idents), visibleNodes(project)));
  const find = finderOf(rows);
  return idents.map((ident) => {
    const found = find(ident);
    if (found) return found.uuid;
    throw new AppError('invalid_argument', `candidate_nodes: Node ${ident} could not be found.`);
  });
}

/**
 * Refuses what `createAllocations` would refuse beyond `checkRequest`, without writing. @throws AppError `conflict`.
 */
async function requireFreeName(db: Queryable, request: AllocationRequest): Promise<void> {
  const uuid = request.uuid?.toLowerCase();
  await requireNoInstanceUuid(db, uuid);
  await requireNoDuplicates(db, { uuid, names: memberNames(request) });
}

async function requireNoInstanceUuid(db: Queryable, uuid: string | undefined): Promise<void> {
  if (uuid === undefined) return;
  const [node] = await db.select({ uuid: nodes.uuid }).from(nodes).where(eq(nodes.instanceUuid, uuid));
  if (!node) return;
  throw new AppError('conflict', `uuid: ${uuid} is the instance_uuid of a node already.`);
}

/**
 * Finds the UUID of the node that a request's `node` names.
 * @throws AppError `invalid_argument` (it is the request that is wrong) for one that is not there, or that a caller bound
 * to the project may not know of.
 */
export async function namedNode(db: Queryable, ident: string, project: string | undefined): Promise<string> {
  const [node] = await db
    .select({ uuid: nodes.uuid })
    .from(nodes)
    .where(and(isNode(ident), visibleNodes(project)));
  if (node) return node.uuid;
  throw new AppError('invalid_argument', `node: Node ${ident} could not be found.`);
}

/**
 * Answers a `dry_run`: nothing is written.
 * @throws AppError as the request itself would.
 */
export async function tryAllocation(
  db: Queryable,
  request: AllocationRequest,
  options: { readonly caller: Caller; readonly version: number },
): Promise<TrialAnswer> {
  const order = await checkRequest(db, request, options);
  await requireFreeName(db, request);
  const requirements: Requirements = { ...order.requirements, resourceClass: order.resourceClass ?? '' };
  const nodes = await readAll(db, options.caller.project);
  const judged = nodes.map((node) => ({ node, reasons: reasonsAgainst(node, requirements) }));
  const fitting = await readFitting(db, requirements, { names: [], needed: order.count, limit: undefined });
  const names = memberNames(request);
  const verdict = decideAllocation(
    { ...order, names, placement: request.placement, mayWait: request.wait !== undefined, triesLeft: 0 },
    fitting,
  );
  const chosen = verdict.kind === 'take' ? verdict.nodes : [];
  const named =
    requirements.candidateNodes.length > 0 ? candidatesOf(nodes, requirements) : nodes.filter(isOfClass(requirements));
  return {
    dry_run: true,
    nodes: chosen.map(({ uuid, name, rack }) => ({ uuid, name, rack: rack ?? null })),
    fitting: fitting.filter(({ isLocked }) => !isLocked).length,
    error: verdict.kind === 'take' ? null : describeShortage(requirements, named, order.count),
    refused: judged
      .filter(({ reasons }) => reasons.length > 0)
      .map(({ node: { uuid, name }, reasons }) => ({ uuid, name, reasons })),
  };
}

function reasonsAgainst(node: Candidate, requirements: Requirements): string[] {
  const locked = node.isLocked ? ['is locked by a conductor at work, which is waited for'] : [];
  return [...listRefusals(node, requirements).map(({ text }) => text), ...locked];
}

const isOfClass =
  (requirements: Requirements) =>
  (node: Candidate): boolean =>
    node.resourceClass === requirements.resourceClass;

function candidatesOf(nodes: readonly Candidate[], requirements: Requirements): Candidate[] {
  return nodes.filter(({ uuid }) => requirements.candidateNodes.includes(uuid));
}
