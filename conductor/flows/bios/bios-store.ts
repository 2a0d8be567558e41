import { and, asc, eq, inArray } from 'drizzle-orm';
import type { Queryable, Transaction } from '#conductor/kernel/db/open.ts';
import { type BiosSettingRow, biosSettings } from '#conductor/kernel/db/schema/bios-setting.ts';
import type { BiosSetting } from '#shared/bios/bios-setting.ts';

/** The settings as last read, by name. */
export function listBiosSettings(db: Queryable, nodeUuid: string): Promise<BiosSettingRow[]> {
  return db.select().from(biosSettings).where(eq(biosSettings.nodeUuid, nodeUuid)).orderBy(asc(biosSettings.name));
}

/** Names of the settings that are passwords. */
export async function listPasswordSettings(db: Queryable, nodeUuid: string): Promise<ReadonlySet<string>> {
  const rows = await db
    .select({ name: biosSettings.name })
    .from(biosSettings)
    .where(and(eq(biosSettings.nodeUuid, nodeUuid), eq(biosSettings.attributeType, 'Password')));
  return new Set(rows.map(({ name }) => name));
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

/** Makes the stored settings those that were read; rows that are the same keep their times. */
export async function replaceBiosSettings(
  tx: Transaction,
  nodeUuid: string,
  settings: readonly BiosSetting[],
  now: Date,
): Promise<void> {
  const before = new Map((await listBiosSettings(tx, nodeUuid)).map((row) => [row.name, row]));
  const names = new Set(settings.map((setting) => setting.name));
  const gone = [...before.keys()].filter((name) => !names.has(name));
  if (gone.length > 0) {
    await tx.delete(biosSettings).where(and(eq(biosSettings.nodeUuid, nodeUuid), inArray(biosSettings.name, gone)));
  }
  const added: (typeof biosSettings.$inferInsert)[] = [];
  for (const setting of settings) {
    const row = before.get(setting.name);
    if (row && JSON.stringify(settingOfRow(row)) === JSON.stringify(setting)) continue;
    if (!row) added.push({ ...columnsOf(setting), nodeUuid, createdAt: now });
    else {
      await tx
        .update(biosSettings)
        .set({ ...columnsOf(setting), updatedAt: now })
        .where(and(eq(biosSettings.nodeUuid, nodeUuid), eq(biosSettings.name, setting.name)));
    }
  }
  if (added.length > 0) await tx.insert(biosSettings).values(added);
}

/** In the shape in which settings are read, and answered by the API. */
export function settingOfRow(row: BiosSettingRow): BiosSetting {
  return {
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
  };
}

function columnsOf(setting: BiosSetting): Omit<typeof biosSettings.$inferInsert, 'nodeUuid'> {
  return {
    name: setting.name,
    value: setting.value,
    attributeType: setting.attribute_type,
    allowableValues: setting.allowable_values,
    lowerBound: whole(setting.lower_bound),
    upperBound: whole(setting.upper_bound),
    minLength: whole(setting.min_length),
    maxLength: whole(setting.max_length),
    readOnly: setting.read_only,
    resetRequired: setting.reset_required,
    unique: setting.unique,
  };
}

/** Some registries bound an unsigned 64-bit integer with 1.8e19, which is no bound at all. */
function whole(bound: number | null): number | null {
  return bound !== null && Number.isSafeInteger(bound) ? bound : null;
}
