import { asc, eq, inArray, or } from 'drizzle-orm';
import { RunbookDescription, runbookFields } from '#conductor/api/templates.ts';
import { accessDenied, type Caller } from '#conductor/kernel/caller.ts';
import type { Queryable, Transaction } from '#conductor/kernel/db/open.ts';
import { type RunbookRow, runbookSteps, runbooks } from '#conductor/kernel/db/schema/template.ts';
import { keepMasked, maskDocument } from '#conductor/kernel/secrets/mask-document.ts';
import { type DocumentPlace, openDocument, sealWritten } from '#conductor/kernel/secrets/sealed-document.ts';
import type { Secrets } from '#conductor/kernel/secrets/secrets.ts';
import type { RequestedStep } from '#conductor/model/flows/planned-step.ts';
import type { JsonObject } from '#conductor/model/json-object.ts';
import type { Resource, ResourceChange } from '#conductor/nodes/resources/resource.ts';
import { getRow, lockRow, updateRow } from '#conductor/nodes/resources/resource-store.ts';
import { listTraits } from '#conductor/nodes/traits.ts';
import { AppError } from '#shared/errors/app-error.ts';

interface RunbookStep {
  readonly interface: string;
  readonly step: string;
  readonly args: JsonObject;
  readonly order: number;
}

interface Runbook extends RunbookRow {
  /** In the order given. */
  readonly steps: readonly RunbookStep[];
}

/** Steps for nodes with one of its traits. A flow that is planned keeps the steps that it has. */
export const runbookResource: Resource<Runbook> = {
  ...runbookFields,
  named: true,
  table: runbooks,
  description: RunbookDescription,
  duplicates: { name: ({ name }) => `A runbook with name ${name} already exists.` },
  views: { steps: ({ steps }) => steps.map((step) => ({ ...step, args: maskDocument(step.args) })) },
  visible: (project) => or(eq(runbooks.public, true), eq(runbooks.owner, project)),
  // what is for everybody belongs to nobody
  settle: ({ public: isPublic, owner }, caller, before) => {
    if (isPublic) return { owner: null };
    return before || owner ? {} : { owner: caller.project ?? null };
  },
  admit: (_, change) => requireOwn(change),
  seal: (secrets, { uuid, steps = [] }, before) => ({
    steps: steps.map((step) => {
      const isIt = (each: RunbookStep) => each.order === step.order && each.step === step.step;
      const own = before?.steps.find((each) => isIt(each) && each.interface === step.interface)?.args ?? {};
      const place = runbookPlace(before?.uuid ?? uuid ?? '');
      return { ...step, args: sealWritten(secrets, keepMasked(step.args, own), place, { before: own }) };
    }),
  }),
  parts: { load: loadSteps, save: saveSteps },
};

/** @throws AppError `forbidden` for a caller of another project than the runbook's. */
function requireOwner({ owner }: Pick<RunbookRow, 'owner'>, caller: Caller, doing: 'update' | 'delete'): void {
  if (caller.project === undefined || owner === caller.project) return;
  throw accessDenied(`baremetal:runbook:${doing}`, caller, undefined);
}

/** A project changes what is its own, and neither gives it away nor makes it everybody's. */
function requireOwn({ before, after, changed, caller }: ResourceChange<Runbook>): void {
  if (caller.project === undefined) return;
  if (before) requireOwner(before, caller, after ? 'update' : 'delete');
  if (after?.public) throw accessDenied('baremetal:runbook:update:public', caller, undefined);
  if (changed.includes('owner') && after?.owner !== caller.project)
    throw accessDenied('baremetal:runbook:update:owner', caller, undefined);
}

/** Lists a runbook's traits, sorted. @throws AppError `not_found`. */
export async function listRunbookTraits(db: Queryable, ident: string, { project }: Caller): Promise<readonly string[]> {
  return (await getRow(db, runbookResource, ident, project)).traits;
}

/** @throws AppError `not_found`, `forbidden`, what `change` throws. */
export async function changeRunbookTraits(
  db: Queryable,
  ident: string,
  caller: Caller,
  change: (traits: readonly string[]) => readonly string[],
): Promise<void> {
  await db.transaction(async (tx) => {
    const { uuid } = await getRow(tx, runbookResource, ident, caller.project);
    const before = await lockRow(tx, runbookResource, uuid);
    requireOwner(before, caller, 'update');
    const traits = [...new Set(change(before.traits))].sort();
    await updateRow(tx, runbookResource, before, { traits });
  });
}

/** Says why a node may not have a runbook done, or nothing; before 1.112 its name is the trait that counts. Pure. */
function refuseNode({ name, traits }: Pick<Runbook, 'name' | 'traits'>, own: readonly string[], version: number) {
  const needed = version >= traitsVersion ? traits : [name];
  if (needed.some((trait) => own.includes(trait))) return undefined;
  if (needed.length === 0)
    return 'it has no traits: add one that the node has (PUT /v1/runbooks/{runbook}/traits/{trait})';
  return `add ${needed.length === 1 ? `the trait ${needed[0]}` : `one of the traits ${needed.join(', ')}`} to the node first`;
}

/** Microversion since which runbooks have traits, and a name that need not be one. */
export const traitsVersion = 112;

/**
 * Gives the runbook's steps, for a node that has one of its traits.
 * @throws AppError `not_found`, `invalid_argument` for a node without such a trait.
 */
export async function useRunbook(
  { db, secrets }: { readonly db: Queryable; readonly secrets: Secrets },
  ident: string,
  nodeUuid: string,
  { caller, version }: { readonly caller: Caller; readonly version: number },
): Promise<{ readonly steps: readonly RequestedStep[]; readonly disableRamdisk: boolean }> {
  const runbook = await getRow(db, runbookResource, ident, caller.project);
  const { uuid, name, steps, disableRamdisk } = runbook;
  const why = refuseNode(runbook, (await listTraits(db, [nodeUuid])).get(nodeUuid) ?? [], version);
  if (why !== undefined)
    throw new AppError('invalid_argument', `runbook: ${name} has not been approved for node ${nodeUuid}: ${why}.`);
  const inOrder = [...steps].sort((one, other) => one.order - other.order);
  return {
    disableRamdisk,
    steps: inOrder.map(({ interface: kind, step, args }) => ({
      interface: kind,
      step,
      args: openDocument(secrets, args, runbookPlace(uuid)),
      priority: 0,
    })),
  };
}

export function runbookPlace(uuid: string): DocumentPlace {
  return `runbook ${uuid} args`;
}

async function loadSteps(db: Queryable, rows: readonly RunbookRow[]): Promise<Runbook[]> {
  if (rows.length === 0) return [];
  const uuids = rows.map(({ uuid }) => uuid);
  const steps = await db
    .select()
    .from(runbookSteps)
    .where(inArray(runbookSteps.runbookUuid, uuids))
    .orderBy(asc(runbookSteps.position));
  const byRunbook = Map.groupBy(steps, ({ runbookUuid }) => runbookUuid);
  return rows.map((row) => ({
    ...row,
    steps: (byRunbook.get(row.uuid) ?? []).map(({ interface: kind, step, args, order }) => ({
      interface: kind,
      step,
      args,
      order,
    })),
  }));
}

/** Saves steps in place of those that the runbook had. */
async function saveSteps(tx: Transaction, runbookUuid: string, { steps }: Partial<Runbook>): Promise<void> {
  if (!steps) return;
  await tx.delete(runbookSteps).where(eq(runbookSteps.runbookUuid, runbookUuid));
  await tx.insert(runbookSteps).values(steps.map((step, position) => ({ ...step, runbookUuid, position })));
}
