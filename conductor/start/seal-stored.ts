import { and, getTableColumns, like, notLike, or, type SQL, sql } from 'drizzle-orm';
import type { PgColumn, PgTable } from 'drizzle-orm/pg-core';
import { agentSessions } from '#conductor/kernel/db/schema/agent.ts';
import { flowSteps, flows } from '#conductor/kernel/db/schema/flow.ts';
import { configDrives, nodes } from '#conductor/kernel/db/schema/node.ts';
import { receiptKeys } from '#conductor/kernel/db/schema/receipt.ts';
import { siteContents, siteCredentials } from '#conductor/kernel/db/schema/site.ts';
import { deployTemplateSteps, inspectionRules, runbookSteps } from '#conductor/kernel/db/schema/template.ts';
import { volumeTargets } from '#conductor/kernel/db/schema/volume.ts';
import { webhooks } from '#conductor/kernel/db/schema/webhook.ts';
import { nodePlace } from '#conductor/kernel/secrets/node-secrets.ts';
import { type DocumentPlace, resealDocument, resealText } from '#conductor/kernel/secrets/sealed-document.ts';
import { rulePlace } from '#conductor/nodes/inspection/rules/rule-resource.ts';
import { targetPlace } from '#conductor/nodes/resources/volume.ts';
import { receiptKeyPlace } from '#conductor/receipts/signing-key-store.ts';
import { credentialPlace } from '#conductor/sites/credentials.ts';
import { resealContent } from '#conductor/sites/revisions/encrypted-documents.ts';
import type { ConductorContext } from '#conductor/start/open-context.ts';
import { templatePlace } from '#conductor/templates/deploy-template.ts';
import { runbookPlace } from '#conductor/templates/runbook.ts';
import { secretPlace } from '#conductor/webhooks/webhook-store.ts';
import { type AppError, errorChain } from '#shared/errors/app-error.ts';

/** Seals a value again; what is sealed with the first key stays. */
interface Seal {
  readonly document: (document: Record<string, unknown>, place: DocumentPlace) => Record<string, unknown>;
  readonly text: (text: string, place: string) => string;
  readonly content: (content: Parameters<typeof resealContent>[1]) => ReturnType<typeof resealContent>;
}

type Row = Record<string, unknown>;
type Where = (prefix: string) => SQL | undefined;

/** A table with secrets. */
interface Store {
  readonly table: PgTable;
  readonly key: readonly string[];
  /** The columns with secrets. */
  readonly columns: readonly string[];
  /** Columns that the place of its secrets needs besides. */
  readonly also?: Readonly<Record<string, SQL>>;
  /** The rows to look at; default: all. */
  readonly where?: Where;
  /** One row at a time is read: each may have megabytes. */
  readonly isLarge?: boolean;
  /** Answers the columns as they are to be. */
  sealed(row: Row, seal: Seal): Row;
}

function storeOf<
  Table extends PgTable,
  Key extends keyof Table['$inferSelect'] & string,
  Column extends keyof Table['$inferSelect'] & string,
  Also extends string = never,
>(given: {
  readonly table: Table;
  readonly key: readonly Key[];
  readonly columns: readonly Column[];
  readonly also?: Readonly<Record<Also, SQL<string>>>;
  readonly where?: Where;
  readonly isLarge?: boolean;
  sealed(row: Pick<Table['$inferSelect'], Key | Column> & Record<Also, string>, seal: Seal): Row;
}): Store {
  return given;
}

const isNotEmpty = (column: PgColumn, empty: '[]' | '{}'): SQL => sql`${column} <> ${empty}::jsonb`;
const isNotYet = (column: PgColumn) => (prefix: string) => notLike(column, `${prefix}%`);

/** Everywhere that secrets are stored. */
const stores: readonly Store[] = [
  storeOf({
    table: nodes,
    key: ['uuid'],
    columns: ['driverInfo', 'instanceInfo', 'properties'],
    sealed: ({ uuid, driverInfo, instanceInfo, properties }, seal) => ({
      driverInfo: seal.document(driverInfo, nodePlace(uuid, 'driver_info')),
      instanceInfo: seal.document(instanceInfo, nodePlace(uuid, 'instance_info')),
      properties: seal.document(properties, nodePlace(uuid, 'properties')),
    }),
  }),
  storeOf({
    table: volumeTargets,
    key: ['uuid'],
    columns: ['properties'],
    sealed: ({ uuid, properties }, seal) => ({ properties: seal.document(properties, targetPlace(uuid)) }),
  }),
  storeOf({
    table: deployTemplateSteps,
    key: ['templateUuid', 'position'],
    columns: ['args'],
    sealed: ({ templateUuid, args }, seal) => ({ args: seal.document(args, templatePlace(templateUuid)) }),
  }),
  storeOf({
    table: runbookSteps,
    key: ['runbookUuid', 'position'],
    columns: ['args'],
    sealed: ({ runbookUuid, args }, seal) => ({ args: seal.document(args, runbookPlace(runbookUuid)) }),
  }),
  storeOf({
    table: inspectionRules,
    key: ['uuid'],
    columns: ['sealed'],
    where: isNotYet(inspectionRules.sealed),
    sealed: ({ uuid, sealed }, seal) => ({ sealed: sealed && seal.text(sealed, rulePlace(uuid)) }),
  }),
  storeOf({
    table: flows,
    key: ['uuid'],
    columns: ['requestedSteps'],
    also: { node: sql<string>`${flows.nodeUuid}` },
    where: () => isNotEmpty(flows.requestedSteps, '[]'),
    sealed: ({ node, requestedSteps }, seal) => ({
      requestedSteps: requestedSteps.map((step) => ({
        ...step,
        args: seal.document(step.args, nodePlace(node, 'args')),
      })),
    }),
  }),
  storeOf({
    table: flowSteps,
    key: ['uuid'],
    columns: ['args'],
    also: { node: sql<string>`(select f.node_uuid from ${flows} f where f.uuid = ${flowSteps.flowUuid})` },
    where: () => isNotEmpty(flowSteps.args, '{}'),
    sealed: ({ node, args }, seal) => ({ args: seal.document(args, nodePlace(node, 'args')) }),
  }),
  storeOf({
    table: configDrives,
    key: ['nodeUuid'],
    columns: ['content'],
    where: isNotYet(configDrives.content),
    isLarge: true,
    sealed: ({ nodeUuid, content }, seal) => ({ content: seal.text(content, nodePlace(nodeUuid, 'config_drive')) }),
  }),
  storeOf({
    table: agentSessions,
    key: ['nodeUuid'],
    columns: ['token', 'served'],
    where: (prefix) => or(isNotYet(agentSessions.token)(prefix), isNotYet(agentSessions.served)(prefix)),
    sealed: ({ nodeUuid, token, served }, seal) => ({
      token: seal.text(token, nodePlace(nodeUuid, 'agent_token')),
      served: served && seal.text(served, nodePlace(nodeUuid, 'served_boot')),
    }),
  }),
  storeOf({
    table: webhooks,
    key: ['uuid'],
    columns: ['secret'],
    where: isNotYet(webhooks.secret),
    sealed: ({ uuid, secret }, seal) => ({ secret: seal.text(secret, secretPlace(uuid)) }),
  }),
  storeOf({
    table: siteCredentials,
    key: ['name'],
    columns: ['password'],
    where: isNotYet(siteCredentials.password),
    sealed: ({ name, password }, seal) => ({ password: seal.text(password, credentialPlace(name)) }),
  }),
  storeOf({
    table: siteContents,
    key: ['hash'],
    columns: ['text', 'documents'],
    // what is not sealed has no encrypted document
    where: (prefix) => and(like(siteContents.text, 'sealed:%'), notLike(siteContents.text, `${prefix}%`)),
    isLarge: true,
    sealed: (row, seal) => ({ ...seal.content(row) }),
  }),
  storeOf({
    table: receiptKeys,
    key: ['fingerprint'],
    columns: ['privateKey'],
    // one has a private half: that in use
    where: isNotYet(receiptKeys.privateKey),
    sealed: ({ fingerprint, privateKey }, seal) => ({
      privateKey: privateKey && seal.text(privateKey, receiptKeyPlace(fingerprint)),
    }),
  }),
];

/** Seals stored secrets as a task that is repeated until it has once succeeded: the more a fleet has behind it, the longer it takes. */
export function sealStoredOnce(
  context: Pick<ConductorContext, 'db' | 'secrets' | 'log'>,
): (signal: AbortSignal) => Promise<void> {
  const state = { isDone: false };
  return async (signal) => {
    if (state.isDone) return;
    await sealStoredSecrets(context, signal);
    state.isDone = !signal.aborted;
  };
}

/**
 * Seals what an earlier Baton has stored in clear, and again what other keys than the first have sealed.
 * Idempotent, in batches; a row that changes meanwhile is left to who changes it, since that seals it. Values whose key
 * is missing stay, and are reported in the log: they fail where they are needed. A signal that aborts ends it between batches.
 * @returns how many rows were written
 */
export async function sealStoredSecrets(
  context: Pick<ConductorContext, 'db' | 'secrets' | 'log'>,
  signal?: AbortSignal,
): Promise<number> {
  const { secrets, log } = context;
  const closed: AppError[] = [];
  const onClosed = (error: AppError): void => void closed.push(error);
  const seal: Seal = {
    document: (document, place) => resealDocument(secrets, document, place, onClosed),
    text: (text, place) => resealText(secrets, text, place, onClosed),
    content: (content) => resealContent(secrets, content, onClosed),
  };
  let written = 0;
  for (const each of stores) written += await sealRows({ ...context, signal }, each, seal);
  // operators wait for what is said here before they remove a key
  if (signal?.aborted) return written;
  log.info({ rows: written }, 'stored secrets are sealed with the first key');
  if (closed.length > 0) log.warn({ values: closed.length, first: errorChain(closed[0]) }, 'secrets without their key');
  return written;
}

/** Each row is a commit of its own: several share a write to the disk. */
const atOnce = 8;

async function sealRows(
  { db, secrets, signal }: Pick<ConductorContext, 'db' | 'secrets'> & { readonly signal: AbortSignal | undefined },
  store: Store,
  seal: Seal,
): Promise<number> {
  const { table, key, columns, also, where, isLarge } = store;
  const all = Object.entries(getTableColumns(table));
  const keyColumns = all.filter(([name]) => key.includes(name));
  const secretColumns = all.filter(([name]) => columns.includes(name));
  const isRow = (row: Row, named: typeof all) =>
    and(
      ...named.map(([name, column]) =>
        row[name] === null ? sql`${column} is null` : sql`${column} = ${sql.param(row[name], column)}`,
      ),
    );
  const order = keyColumns.map(([, column]) => column);
  const batchSize = isLarge ? 1 : 500;
  const write = async (row: Row): Promise<boolean> => {
    const change = store.sealed(row, seal);
    if (columns.every((name) => JSON.stringify(change[name]) === JSON.stringify(row[name]))) return false;
    const unchanged = isRow(row, [...keyColumns, ...secretColumns]);
    await db.update(table).set(change).where(unchanged);
    return true;
  };
  let written = 0;
  for (let rows: Row[] | undefined; rows === undefined || rows.length === batchSize; ) {
    if (signal?.aborted) return written;
    const last = rows?.at(-1);
    const values = keyColumns.map(([name, column]) => sql`${sql.param(last?.[name], column)}`);
    const after = last && sql`(${sql.join(order, sql`, `)}) > (${sql.join(values, sql`, `)})`;
    rows = await db
      .select({ ...Object.fromEntries([...keyColumns, ...secretColumns]), ...also })
      .from(table)
      .where(and(where?.(secrets.prefix), after))
      .orderBy(...order)
      .limit(batchSize);
    for (let index = 0; index < rows.length; index += atOnce) {
      const done = await Promise.all(rows.slice(index, index + atOnce).map(write));
      written += done.filter(Boolean).length;
    }
  }
  return written;
}
