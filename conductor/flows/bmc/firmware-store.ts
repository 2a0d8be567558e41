import { eq } from 'drizzle-orm';
import type { FirmwareComponent, ShownFirmware } from '#conductor/drivers/interfaces.ts';
import { type StepContext, tryToRead } from '#conductor/flows/step-context.ts';
import type { Queryable, Transaction } from '#conductor/kernel/db/open.ts';
import { type KnownFirmware, nodeFirmware } from '#conductor/kernel/db/schema/node-parts.ts';

/** Lists firmware as last read, in the BMC's order; empty where it was never read. */
export async function listFirmware(db: Queryable, nodeUuid: string): Promise<readonly KnownFirmware[]> {
  const [row] = await db.select().from(nodeFirmware).where(eq(nodeFirmware.nodeUuid, nodeUuid));
  return row?.components ?? [];
}

/**
 * Reads the versions as the BMC shows them now, for `rememberFirmware`. It is a courtesy: `undefined` where the BMC does not
 * report them them, which stops no flow.
 */
export async function readFirmware(
  context: Pick<StepContext, 'bmc' | 'signal' | 'log'>,
): Promise<ShownFirmware | undefined> {
  const { firmware } = context.bmc();
  if (!firmware) return undefined;
  return tryToRead(context, 'firmware versions', () => firmware.getComponents({ signal: context.signal }));
}

/** Puts the versions on record. @param flashed components that an update has written */
export async function rememberFirmware(
  tx: Transaction,
  nodeUuid: string,
  found: ShownFirmware,
  { now, flashed = [] }: { readonly now: Date; readonly flashed?: readonly string[] },
): Promise<void> {
  const components = joinFirmware(await listFirmware(tx, nodeUuid), found, { now, flashed });
  const row = { components, readAt: now };
  await tx
    .insert(nodeFirmware)
    .values({ nodeUuid, ...row })
    .onConflictDoUpdate({ target: nodeFirmware.nodeUuid, set: row });
}

/** Joins versions to those of before. A component that may be a part that can't be read now stays as it was read last. */
export function joinFirmware(
  before: readonly KnownFirmware[],
  found: ShownFirmware,
  { now, flashed }: { readonly now: Date; readonly flashed: readonly string[] },
): KnownFirmware[] {
  const old = new Map(before.map((each) => [each.component, each]));
  const read = found.components.map((each) =>
    known(old.get(each.component), each, now, flashed.includes(each.component)),
  );
  for (const { component } of read) old.delete(component);
  return [...read, ...[...old.values()].filter(({ component }) => found.mayHide(component))];
}

function known(
  before: KnownFirmware | undefined,
  { component, version, vendor, model, serialNumber }: FirmwareComponent,
  now: Date,
  isFlashed: boolean,
): KnownFirmware {
  const at = now.toISOString();
  const isSame = before !== undefined && before.current_version === version && !isFlashed;
  return {
    component,
    initial_version: before ? before.initial_version : version,
    current_version: version,
    last_version_flashed: isFlashed ? version : (before?.last_version_flashed ?? null),
    created_at: before?.created_at ?? at,
    updated_at: before === undefined ? null : isSame ? before.updated_at : at,
    vendor: vendor ?? null,
    model: model ?? null,
    serial_number: serialNumber ?? null,
  };
}
