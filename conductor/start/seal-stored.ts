import { and, asc, eq, gt, like, notLike, sql } from 'drizzle-orm';
import { agentSessions } from '#conductor/kernel/db/schema/agent.ts';
import { flowSteps, flows, nodeFlow } from '#conductor/kernel/db/schema/flow.ts';
import { configDrives, nodes } from '#conductor/kernel/db/schema/node.ts';
import { receiptKeys } from '#conductor/kernel/db/schema/receipt.ts';
import { siteContents, siteCredentials } from '#conductor/kernel/db/schema/site.ts';
import { deployTemplateSteps, inspectionRules, runbookSteps } from '#conductor/kernel/db/schema/template.ts';
import { volumeTargets } from '#conductor/kernel/db/schema/volume.ts';
import { webhooks } from '#conductor/kernel/db/schema/webhook.ts';
import { nodePlace } from '#conductor/kernel/secrets/node-secrets.ts';
import { type DocumentPlace, resealDocument, resealText } from '#conductor/kernel/secrets/sealed-document.ts';
import { rulePlace } from '#conductor/nodes/inspection/rules/rule-resource.ts';
import { targetPlace } from '#conductor/nodes/volumes/target-secrets.ts';
import { receiptKeyPlace } from '#conductor/receipts/signing-key-store.ts';
import { credentialPlace } from '#conductor/sites/credentials.ts';
import { resealContent } from '#conductor/sites/revisions/encrypted-documents.ts';
import type { ConductorContext } from '#conductor/start/context.ts';
import { templatePlace } from '#conductor/templates/deploy-template.ts';
import { runbookPlace } from '#conductor/templates/runbook.ts';
import { secretPlace } from '#conductor/webhooks/webhook-store.ts';
import { type AppError, errorChain } from '#shared/errors/app-error.ts';

const batchSize = 500;
/** Each row is a commit of its own: several share a write to the disk. */
const atOnce = 8;
const firstUuid = '00000000-0000-0000-0000-000000000000';
type Document = Record<string, unknown>;

/** How a pass over the rows of one table seals them. */
interface Pass {
  readonly context: Pick<ConductorContext, 'db' | 'secrets'>;
  readonly document: (document: Document, place: DocumentPlace) => Document;
  readonly text: (text: string, place: string) => string;
  readonly onClosed: (error: AppError) => void;
}

/**
 * At start: seals what an earlier Baton has stored in clear, and again what other keys than the first have sealed.
 * Idempotent, in batches; a row that changes meanwhile is left to who changes it, since that seals it. Values whose key
 * is missing stay, and are told in the log: they fail where they are needed.
 * @returns how many rows were written
 */
export async function sealStoredSecrets(context: Pick<ConductorContext, 'db' | 'secrets' | 'log'>): Promise<number> {
  const closed: AppError[] = [];
  const onClosed = (error: AppError): void => void closed.push(error);
  const pass: Pass = {
    context,
    document: (document, place) => resealDocument(context.secrets, document, place, onClosed),
    text: (text, place) => resealText(context.secrets, text, place, onClosed),
    onClosed,
  };
  let written = 0;
  for (const table of passes) {
    written += await table(pass);
  }
  if (written > 0) context.log.info({ rows: written }, 'secrets sealed with the first key');
  if (closed.length > 0) {
    context.log.warn({ values: closed.length, first: errorChain(closed[0]) }, 'secrets without their key');
  }
  return written;
}

const passes: readonly ((pass: Pass) => Promise<number>)[] = [
  (pass) => sealNodes(pass),
  (pass) => sealTargets(pass),
  (pass) => sealTemplates(pass),
  (pass) => sealRunbooks(pass),
  (pass) => sealRules(pass),
  (pass) => sealFlows(pass),
  (pass) => sealFlowSteps(pass),
  (pass) => sealConfigDrives(pass),
  (pass) => sealTokens(pass),
  (pass) => sealWebhooks(pass),
  (pass) => sealCredentials(pass),
  (pass) => sealContents(pass),
  (pass) => sealReceiptKeys(pass),
];

/** Runs through a table by its uuid, and counts the rows that were written. */
async function throughRows<Row extends { readonly uuid: string }>(
  read: (after: string) => PromiseLike<Row[]>,
  write: (row: Row) => Promise<boolean>,
): Promise<number> {
  let written = 0;
  for (let after: string | undefined = firstUuid; after !== undefined; ) {
    const rows: Row[] = await read(after);
    for (let index = 0; index < rows.length; index += atOnce) {
      const done = await Promise.all(rows.slice(index, index + atOnce).map(write));
      written += done.filter(Boolean).length;
    }
    after = rows.length < batchSize ? undefined : rows.at(-1)?.uuid;
  }
  return written;
}

function isSame(before: unknown, after: unknown): boolean {
  return JSON.stringify(before) === JSON.stringify(after);
}

function sealNodes({ context: { db }, document }: Pass): Promise<number> {
  const { uuid, driverInfo, instanceInfo, properties } = nodes;
  return throughRows(
    (after) =>
      db
        .select({ uuid, driverInfo, instanceInfo, properties })
        .from(nodes)
        .where(gt(uuid, after))
        .orderBy(asc(uuid))
        .limit(batchSize),
    async (row) => {
      const sealed = {
        driverInfo: document(row.driverInfo, nodePlace(row.uuid, 'driver_info')),
        instanceInfo: document(row.instanceInfo, nodePlace(row.uuid, 'instance_info')),
        properties: document(row.properties, nodePlace(row.uuid, 'properties')),
      };
      if (isSame({ uuid: row.uuid, ...sealed }, row)) return false;
      await db
        .update(nodes)
        .set(sealed)
        .where(
          and(
            eq(uuid, row.uuid),
            eq(driverInfo, row.driverInfo),
            eq(instanceInfo, row.instanceInfo),
            eq(properties, row.properties),
          ),
        );
      return true;
    },
  );
}

function sealTargets({ context: { db }, document }: Pass): Promise<number> {
  const { uuid, properties } = volumeTargets;
  return throughRows(
    (after) =>
      db.select({ uuid, properties }).from(volumeTargets).where(gt(uuid, after)).orderBy(asc(uuid)).limit(batchSize),
    async (row) => {
      const sealed = document(row.properties, targetPlace(row.uuid));
      if (isSame(sealed, row.properties)) return false;
      const unchanged = and(eq(uuid, row.uuid), eq(properties, row.properties));
      await db.update(volumeTargets).set({ properties: sealed }).where(unchanged);
      return true;
    },
  );
}

/** There are few. */
async function sealTemplates({ context: { db }, document }: Pass): Promise<number> {
  let written = 0;
  for (const { templateUuid, position, args } of await db.select().from(deployTemplateSteps)) {
    const sealed = document(args, templatePlace(templateUuid));
    if (isSame(sealed, args)) continue;
    const isRow = and(eq(deployTemplateSteps.templateUuid, templateUuid), eq(deployTemplateSteps.position, position));
    await db
      .update(deployTemplateSteps)
      .set({ args: sealed })
      .where(and(isRow, eq(deployTemplateSteps.args, args)));
    written += 1;
  }
  return written;
}

/** There are few. */
async function sealRunbooks({ context: { db }, document }: Pass): Promise<number> {
  let written = 0;
  for (const { runbookUuid, position, args } of await db.select().from(runbookSteps)) {
    const sealed = document(args, runbookPlace(runbookUuid));
    if (isSame(sealed, args)) continue;
    const isRow = and(eq(runbookSteps.runbookUuid, runbookUuid), eq(runbookSteps.position, position));
    await db
      .update(runbookSteps)
      .set({ args: sealed })
      .where(and(isRow, eq(runbookSteps.args, args)));
    written += 1;
  }
  return written;
}

/** There are few. */
async function sealRules({ context: { db, secrets }, text }: Pass): Promise<number> {
  let written = 0;
  for (const { uuid, sealed } of await db.select().from(inspectionRules)) {
    if (sealed === null || sealed.startsWith(secrets.prefix)) continue;
    const again = text(sealed, rulePlace(uuid));
    if (again === sealed) continue;
    await db
      .update(inspectionRules)
      .set({ sealed: again })
      .where(and(eq(inspectionRules.uuid, uuid), eq(inspectionRules.sealed, sealed)));
    written += 1;
  }
  return written;
}

function sealFlows({ context: { db }, document }: Pass): Promise<number> {
  const { uuid, requestedSteps } = flows;
  return throughRows(
    (after) =>
      db
        .select({ uuid, nodeUuid: nodeFlow.nodeUuid, requestedSteps })
        .from(flows)
        .where(and(gt(uuid, after), sql`${requestedSteps} <> '[]'::jsonb`))
        .orderBy(asc(uuid))
        .limit(batchSize),
    async (row) => {
      const sealed = row.requestedSteps.map((step) => ({
        ...step,
        args: document(step.args, nodePlace(row.nodeUuid, 'args')),
      }));
      if (isSame(sealed, row.requestedSteps)) return false;
      await db.update(flows).set({ requestedSteps: sealed }).where(eq(uuid, row.uuid));
      return true;
    },
  );
}

function sealFlowSteps({ context: { db }, document }: Pass): Promise<number> {
  const { uuid, args } = flowSteps;
  return throughRows(
    (after) =>
      db
        .select({ uuid, args, nodeUuid: nodeFlow.nodeUuid })
        .from(flowSteps)
        .innerJoin(flows, eq(flows.uuid, flowSteps.flowUuid))
        .where(and(gt(uuid, after), sql`${args} <> '{}'::jsonb`))
        .orderBy(asc(uuid))
        .limit(batchSize),
    async (row) => {
      const sealed = document(row.args, nodePlace(row.nodeUuid, 'args'));
      if (isSame(sealed, row.args)) return false;
      await db.update(flowSteps).set({ args: sealed }).where(eq(uuid, row.uuid));
      return true;
    },
  );
}

/** One at a time: each may have megabytes. */
async function sealConfigDrives({ context: { db, secrets }, text }: Pass): Promise<number> {
  const { nodeUuid, content } = configDrives;
  const others = await db
    .select({ nodeUuid })
    .from(configDrives)
    .where(notLike(content, `${secrets.prefix}%`));
  let written = 0;
  for (const other of others) {
    const [row] = await db.select().from(configDrives).where(eq(nodeUuid, other.nodeUuid));
    const sealed = row && text(row.content, nodePlace(row.nodeUuid, 'config_drive'));
    if (!row || sealed === undefined || sealed === row.content) continue;
    const unchanged = and(eq(nodeUuid, row.nodeUuid), eq(content, row.content));
    await db.update(configDrives).set({ content: sealed }).where(unchanged);
    written += 1;
  }
  return written;
}

async function sealWebhooks({ context: { db, secrets }, text }: Pass): Promise<number> {
  const { uuid, secret } = webhooks;
  let written = 0;
  for (const row of await db
    .select({ uuid, secret })
    .from(webhooks)
    .where(notLike(secret, `${secrets.prefix}%`))) {
    const sealed = text(row.secret, secretPlace(row.uuid));
    if (sealed === row.secret) continue;
    await db
      .update(webhooks)
      .set({ secret: sealed })
      .where(and(eq(uuid, row.uuid), eq(secret, row.secret)));
    written += 1;
  }
  return written;
}

async function sealCredentials({ context: { db, secrets }, text }: Pass): Promise<number> {
  const { name, password } = siteCredentials;
  let written = 0;
  for (const row of await db
    .select({ name, password })
    .from(siteCredentials)
    .where(notLike(password, `${secrets.prefix}%`))) {
    const sealed = text(row.password, credentialPlace(row.name));
    if (sealed === row.password) continue;
    await db
      .update(siteCredentials)
      .set({ password: sealed })
      .where(and(eq(name, row.name), eq(password, row.password)));
    written += 1;
  }
  return written;
}

/** One at a time: each may have megabytes. What is not sealed has no encrypted document. */
async function sealContents({ context: { db, secrets }, onClosed }: Pass): Promise<number> {
  const { hash } = siteContents;
  const others = await db
    .select({ hash })
    .from(siteContents)
    .where(and(like(siteContents.text, 'sealed:%'), notLike(siteContents.text, `${secrets.prefix}%`)));
  let written = 0;
  for (const other of others) {
    const [row] = await db.select().from(siteContents).where(eq(hash, other.hash));
    const sealed = row && resealContent(secrets, row, onClosed);
    if (!row || !sealed || sealed.text === row.text) continue;
    await db
      .update(siteContents)
      .set({ text: sealed.text, documents: [...sealed.documents] })
      .where(and(eq(hash, row.hash), eq(siteContents.text, row.text)));
    written += 1;
  }
  return written;
}

/** One has a private half: that in use. */
async function sealReceiptKeys({ context: { db, secrets }, text }: Pass): Promise<number> {
  const { fingerprint, privateKey } = receiptKeys;
  let written = 0;
  for (const row of await db
    .select({ fingerprint, privateKey })
    .from(receiptKeys)
    .where(notLike(privateKey, `${secrets.prefix}%`))) {
    const sealed = row.privateKey && text(row.privateKey, receiptKeyPlace(row.fingerprint));
    if (sealed === row.privateKey) continue;
    await db
      .update(receiptKeys)
      .set({ privateKey: sealed })
      .where(and(eq(fingerprint, row.fingerprint), eq(privateKey, row.privateKey ?? '')));
    written += 1;
  }
  return written;
}

async function sealTokens({ context: { db, secrets }, text }: Pass): Promise<number> {
  const { nodeUuid, token } = agentSessions;
  let written = 0;
  for (const row of await db
    .select({ nodeUuid, token })
    .from(agentSessions)
    .where(notLike(token, `${secrets.prefix}%`))) {
    const sealed = text(row.token, nodePlace(row.nodeUuid, 'agent_token'));
    if (sealed === row.token) continue;
    const unchanged = and(eq(nodeUuid, row.nodeUuid), eq(token, row.token));
    await db.update(agentSessions).set({ token: sealed }).where(unchanged);
    written += 1;
  }
  return written;
}
