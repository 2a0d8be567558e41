import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { Caller } from '#conductor/kernel/caller.ts';
import type { Transaction } from '#conductor/kernel/db/open.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import { type JsonPatch, patchDocument } from '#conductor/kernel/json-patch.ts';
import type { NodesContext } from '#conductor/nodes/context.ts';
import { columnName } from '#conductor/nodes/node-fields.ts';
import { changeNote, describePatch } from '#conductor/nodes/node-history.ts';
import { changeUnlocked } from '#conductor/nodes/node-lock.ts';
import {
  columnsOf,
  describeRow,
  type Resource,
  type ResourceChange,
  type ResourceRow,
  toColumns,
} from '#conductor/nodes/resources/resource.ts';
import { deleteRow, getRow, insertRow, lockRow, updateRow } from '#conductor/nodes/resources/resource-store.ts';
import { AppError } from '#shared/errors/app-error.ts';

type ResourceContext = Pick<NodesContext, 'db' | 'clock' | 'config' | 'secrets'>;

/**
 * Adds one, to a node where it is part of one.
 * @throws AppError `conflict` for a duplicate, `node_locked`, what `admit` of the resource throws.
 */
export function createResource<Row extends ResourceRow>(
  context: ResourceContext,
  resource: Resource<Row>,
  identity: { readonly uuid?: string | undefined; readonly nodeUuid?: string | undefined },
  description: Readonly<Record<string, unknown>>,
  caller: Caller,
): Promise<Row> {
  const { nodeUuid, uuid = randomUUID() } = identity;
  const columns = Object.entries(description).filter(([, value]) => value !== undefined);
  // what is given as null has its default
  const given = toColumns<Row>(Object.fromEntries(columns.filter(([, value]) => value !== null)));
  const changed = columns.map(([field]) => columnName(field));
  const described = { ...given, uuid, ...(nodeUuid === undefined ? {} : { nodeUuid }) };
  const row = { ...described, ...resource.settle?.(described, caller) };
  const note = `${nameOf(resource, row)} created`;
  return inTransaction(context, { nodeUuid, note, caller }, async (tx, node) => {
    await resource.admit?.(tx, { after: row, changed, ...(node ? { node } : {}), caller });
    return insertRow(tx, resource, { ...row, ...resource.seal?.(context.secrets, row) });
  });
}

/**
 * Applies a JSON patch. A field that it removes is back at its default.
 * @throws AppError `not_found`, `invalid_argument` naming the field, `conflict` for a duplicate, `node_locked`, what
 * `admit` of the resource throws.
 */
export async function changeResource<Row extends ResourceRow>(
  context: ResourceContext,
  resource: Resource<Row>,
  ident: string,
  patch: JsonPatch,
  caller: Caller,
): Promise<Row> {
  const found = await getRow(context.db, resource, ident, caller.project);
  const note = `${nameOf(resource, found)}: ${describePatch(patch)}`;
  const change = { uuid: found.uuid, patch, caller };
  const isChanged = (row: Row): boolean => !isDeepStrictEqual(row, found);
  return inTransaction(context, { nodeUuid: found.nodeUuid, note, caller, isChanged }, (tx, node) =>
    patchRow(tx, context, resource, { ...change, ...(node ? { node } : {}) }),
  );
}

/** The same within a transaction of the node's own: neither lease nor history are looked after. */
export async function patchRow<Row extends ResourceRow>(
  tx: Transaction,
  { secrets }: Pick<ResourceContext, 'secrets'>,
  resource: Resource<Row>,
  {
    uuid,
    patch,
    ...of
  }: { readonly uuid: string; readonly patch: JsonPatch } & Pick<ResourceChange<Row>, 'node' | 'caller'>,
): Promise<Row> {
  const stored = await lockRow(tx, resource, uuid);
  const before = resource.open?.(secrets, stored) ?? stored;
  const patched = patchDocument(describeRow(resource, before), patch, resource.description);
  const written = toColumns<Row>(withDefaults(resource, patched));
  const settled = { ...written, ...resource.settle?.(written, of.caller, before) };
  const after = { ...before, ...settled };
  await resource.admit?.(tx, { before, after, changed: Object.keys(changesOf(settled, before)), ...of });
  const change = changesOf({ ...settled, ...resource.seal?.(secrets, settled, before) }, stored);
  if (Object.keys(change).length > 0) await updateRow(tx, resource, stored, change);
  return getRow(tx, resource, uuid);
}

/** @throws AppError `not_found`, `node_locked`, what `admit` of the resource throws. */
export async function removeResource<Row extends ResourceRow>(
  context: ResourceContext,
  resource: Resource<Row>,
  ident: string,
  caller: Caller,
): Promise<void> {
  const found = await getRow(context.db, resource, ident, caller.project);
  const note = `${nameOf(resource, found)} deleted`;
  await inTransaction(context, { nodeUuid: found.nodeUuid, note, caller }, async (tx, node) => {
    const before = await lockRow(tx, resource, found.uuid);
    await resource.admit?.(tx, { before, changed: [], ...(node ? { node } : {}), caller });
    await deleteRow(tx, resource, found.uuid);
  });
}

/** Changes a part of a node while no conductor works on the node, with an entry in its history. */
function inTransaction<Result>(
  context: ResourceContext,
  {
    nodeUuid,
    note,
    caller,
    isChanged = () => true,
  }: {
    readonly nodeUuid: string | null | undefined;
    readonly note: string;
    readonly caller: Caller;
    readonly isChanged?: (result: Result) => boolean;
  },
  work: (tx: Transaction, node?: NodeRow) => Promise<Result>,
): Promise<Result> {
  if (!nodeUuid) return context.db.transaction((tx) => work(tx));
  const written = changeNote(context, caller, note);
  return changeUnlocked(context, nodeUuid, work, (result) => (isChanged(result) ? written : undefined));
}

function nameOf<Row extends ResourceRow>(resource: Resource<Row>, row: Partial<Row>): string {
  return `${resource.what} ${String(row[(resource.label ?? 'uuid') as keyof Row])}`;
}

function withDefaults<Row extends ResourceRow>(
  resource: Resource<Row>,
  described: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const columns = columnsOf(resource);
  const whole = Object.keys(resource.description.shape).map((field) => {
    const value = described[field] ?? undefined;
    const column = columns[columnName(field)];
    if (value === undefined && column?.notNull && !column.hasDefault)
      throw new AppError('invalid_argument', `Cannot remove /${field}: it is a required property`);
    return [field, value ?? column?.default ?? null] as const;
  });
  return Object.fromEntries(whole);
}

function changesOf<Row extends ResourceRow>(after: Partial<Row>, before: Row): Partial<Row> {
  const isOther = (name: keyof Row) => JSON.stringify(after[name]) !== JSON.stringify(before[name]);
  return Object.fromEntries(Object.entries(after).filter(([name]) => isOther(name as keyof Row))) as Partial<Row>;
}
