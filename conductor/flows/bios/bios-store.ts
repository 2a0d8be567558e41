import { and, asc, eq, sql } from 'drizzle-orm';
import type { Queryable, Transaction } from '#conductor/kernel/db/open.ts';
import { type BiosSettingRow, biosSettings } from '#conductor/kernel/db/schema/node-parts.ts';
import { statement } from '#conductor/kernel/db/statement.ts';
import { storableJson } from '#conductor/kernel/db/storable-json.ts';
import { type BiosSetting, holdsPassword, withoutPassword } from '#shared/bios/bios-setting.ts';

/** The settings as last read, by name. */
export function listBiosSettings(db: Queryable, nodeUuid: string): Promise<BiosSettingRow[]> {
  return db.select().from(biosSettings).where(eq(biosSettings.nodeUuid, nodeUuid)).orderBy(asc(biosSettings.name));
}

/** Names of the settings that are passwords, or say something of one. */
export async function listPasswordSettings(db: Queryable, nodeUuid: string): Promise<ReadonlySet<string>> {
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

/** In the shape in which settings are read, and answered by the API. */
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

/** Some registries bound an unsigned 64-bit integer with 1.8e19, which is no bound at all. */
function whole(bound: number | null): number | null {
  return bound !== null && Number.isSafeInteger(bound) ? bound : null;
}
