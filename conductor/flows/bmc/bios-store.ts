import { and, eq, sql } from 'drizzle-orm';
import { z } from 'zod';
import type { BiosInterface } from '#conductor/drivers/interfaces.ts';
import { type StepContext, tryToRead } from '#conductor/flows/step-context.ts';
import type { Queryable, Transaction } from '#conductor/kernel/db/open.ts';
import { statement, storableJson } from '#conductor/kernel/db/query/statement.ts';
import { rowsBy } from '#conductor/kernel/db/query/table-reader.ts';
import { type BiosSettingRow, biosSettings } from '#conductor/kernel/db/schema/node-parts.ts';
import { nodePlace } from '#conductor/kernel/secrets/node-secrets.ts';
import { sealDocument } from '#conductor/kernel/secrets/sealed-document.ts';
import type { Secrets } from '#conductor/kernel/secrets/secrets.ts';
import type { JsonObject } from '#conductor/model/json-object.ts';
import { BiosSetting, holdsPassword, withoutPassword } from '#shared/bios/bios-setting.ts';

/** The settings as last read, by name. */
export const listBiosSettings = rowsBy(biosSettings, 'nodeUuid', 'name');

/** Lists names of the settings that are passwords, or describe one. */
async function listPasswordSettings(db: Queryable, nodeUuid: string): Promise<ReadonlySet<string>> {
  const rows = await db
    .select({ name: biosSettings.name, attribute_type: biosSettings.attributeType })
    .from(biosSettings)
    .where(eq(biosSettings.nodeUuid, nodeUuid));
  return new Set(rows.filter(holdsPassword).map(({ name }) => name));
}

export async function findBiosSetting(
  db: Queryable,
  nodeUuid: string,
  name: string,
): Promise<BiosSettingRow | undefined> {
  const rows = await db
    .select()
    .from(biosSettings)
    .where(and(eq(biosSettings.nodeUuid, nodeUuid), eq(biosSettings.name, name)));
  return rows[0];
}

const described =
  'value attribute_type allowable_values lower_bound upper_bound min_length max_length read_only reset_required "unique"'.split(
    ' ',
  );
const [columns = sql``, columnsBefore, columnsRead] = ['', 'before.', 'excluded.'].map((table) =>
  sql.raw(described.map((name) => `${table}${name}`).join(', ')),
);

/** Makes the stored settings those that were read; rows that are the same keep their times. */
export async function replaceBiosSettings(
  tx: Transaction,
  nodeUuid: string,
  settings: readonly BiosSetting[],
  now: Date,
): Promise<void> {
  const rows = JSON.stringify(
    settings.map((setting) => storableJson({ ...withoutPassword(setting), ...wholeBounds(setting) })),
  );
  await replace(tx, { nodeUuid, rows, now: now.toISOString() });
}

const replace = statement<{ nodeUuid: string; rows: string; now: string }>(
  (value) => sql`
    with found as materialized (select * from jsonb_populate_recordset(null::bios_settings, ${value('rows')}::text::jsonb)),
    gone as (
      delete from bios_settings before where node_uuid = ${value('nodeUuid')}
        and not exists (select from found where found.name = before.name)
    )
    insert into bios_settings as before (node_uuid, name, created_at, ${columns})
    select ${value('nodeUuid')}::uuid, name, ${value('now')}::timestamptz, ${columns} from found
    on conflict (node_uuid, name) do update
    set (${columns}, updated_at) = row(${columnsRead}, excluded.created_at)
    where (${columnsBefore}) is distinct from (${columnsRead})`,
);

/** Makes a setting of its row, in the shape in which settings are read, and answered by the API. */
export function settingOfRow(row: BiosSettingRow): BiosSetting {
  return withoutPassword({
    name: row.name,
    value: row.value,
    attribute_type: row.attributeType,
    allowable_values: row.allowableValues,
    lower_bound: row.lowerBound,
    upper_bound: row.upperBound,
    min_length: row.minLength,
    max_length: row.maxLength,
    read_only: row.readOnly,
    reset_required: row.resetRequired,
    unique: row.unique,
  });
}

function wholeBounds(setting: BiosSetting) {
  return {
    lower_bound: whole(setting.lower_bound),
    upper_bound: whole(setting.upper_bound),
    min_length: whole(setting.min_length),
    max_length: whole(setting.max_length),
  };
}

/**
 * Returns a bound that is a safe whole number. Some registries bound an unsigned 64-bit integer with 1.8e19, which is no
 * bound at all.
 */
function whole(bound: number | null): number | null {
  return bound !== null && Number.isSafeInteger(bound) ? bound : null;
}

type CacheContext = Pick<StepContext, 'node' | 'bmc' | 'signal' | 'record' | 'clock' | 'log' | 'db' | 'ask'>;

/**
 * Reads the settings from the BMC and remembers them for `GET /v1/nodes/{node}/bios`. As in Ironic it happens when
 * flows begin and after settings have changed. It is a courtesy: a BMC that can't list them stops no flow.
 */
export async function cacheBiosSettings(context: CacheContext): Promise<void> {
  const settings = await readBiosSettings(context);
  if (settings) await rememberBiosSettings(context, settings);
}

/**
 * Reads the settings as they are now; `undefined` when the BMC can't list them.
 * @param options `describe`: what settings may be is read again too, which takes some BMCs long; else only where the
 * settings have other names than those remembered
 */
export async function readBiosSettings(
  context: CacheContext,
  options: { readonly describe?: boolean } = {},
): Promise<readonly BiosSetting[] | undefined> {
  const { bios } = context.bmc();
  if (!bios) return undefined;
  const read = async () =>
    (options.describe ? undefined : await readValues(context, bios)) ?? bios.getSettings({ signal: context.signal });
  return tryToRead(context, 'BIOS settings', read);
}

/** Reads the remembered settings with the values of now; `undefined` where they are not the same settings. */
async function readValues(context: CacheContext, bios: BiosInterface): Promise<readonly BiosSetting[] | undefined> {
  const rows = await context.ask(listBiosSettings(context.db, context.node.uuid));
  if (rows.length === 0) return undefined;
  const { values } = await bios.getProgress({ signal: context.signal });
  if (rows.length !== values.size || rows.some((row) => !values.has(row.name))) return undefined;
  return rows.map((row) => ({ ...settingOfRow(row), value: values.get(row.name) ?? null }));
}

export function rememberBiosSettings(
  context: Pick<StepContext, 'node' | 'record' | 'clock'>,
  settings: readonly BiosSetting[],
): Promise<void> {
  return context.record((tx) => replaceBiosSettings(tx, context.node.uuid, settings, context.clock.now()));
}

/** Answer of Baton's agent to its `bios` steps; another agent's answer says nothing. */
const InBandResult = z.looseObject({ settings: z.array(BiosSetting) });

/** Remembers the settings that the agent saw: the API shows them where no BMC reports any. */
export async function rememberInBandSettings(
  tx: Transaction,
  ended: { readonly nodeUuid: string; readonly output: unknown; readonly now: Date },
): Promise<void> {
  const parsed = InBandResult.safeParse(ended.output);
  if (parsed.success) await replaceBiosSettings(tx, ended.nodeUuid, parsed.data.settings, ended.now);
}

/**
 * Seals secrets in the arguments of a flow's steps, which are stored, and shown, in this form. A BIOS setting may be a
 * password by what the BMC says of it, whatever its name.
 */
export async function sealSteps<Step extends { readonly interface: string; readonly args: JsonObject }>(
  { db, secrets }: { readonly db: Queryable; readonly secrets: Secrets },
  nodeUuid: string,
  steps: readonly Step[],
): Promise<Step[]> {
  const hasSettings = steps.some((step) => step.interface === 'bios' && Object.keys(step.args).length > 0);
  const options = hasSettings ? { secretSettings: await listPasswordSettings(db, nodeUuid) } : {};
  const place = nodePlace(nodeUuid, 'args');
  return steps.map((step) => ({ ...step, args: sealDocument(secrets, step.args, place, options) }));
}
