import type { PlannedDiskView, WipePlan } from '#conductor/api/teardown-plan.ts';
import type { JsonObject } from '#conductor/model/json-object.ts';
import type { KnownDisk } from '#conductor/model/known-disk.ts';
import { type DiskMarks, matchDisks } from '#conductor/nodes/inspection/match-disks.ts';
import { readSkipList } from '#shared/disks/skip-list.ts';
import { AppError, errorChain } from '#shared/errors/app-error.ts';
import type { DiskIdentity, OsDisk } from '#shared/wire/erase-result.ts';

interface Machine {
  /** Of the last inventory; `undefined` = there was none. */
  readonly disks: readonly KnownDisk[] | undefined;
  /** `null` = unknown. */
  readonly osDisk: OsDisk | null;
  readonly properties: JsonObject;
}

/** Which disks a wipe erases, by the last inventory; the agent decides by what it finds then. Pure. */
export function describeWipe({ disks, osDisk, properties }: Machine, preserve: boolean): WipePlan {
  const unknownOs =
    preserve && osDisk === null
      ? ['which disk holds the operating system is not recorded: a wipe that preserves local storage may be refused']
      : [];
  if (disks === undefined) return { wiped: [], kept: [], remarks: [...unknownOs, 'the node was never inspected'] };
  const skip = skipListOf(properties);
  const whole = disks.filter(({ type }) => type === 'disk');
  const { pairs, unmet } = matchDisks((osDisk?.disks ?? []).map(marksOf), whole.map(marksOf));
  const ofOs = new Set([...pairs.keys()].map(({ device }) => device));
  const views = whole.map((disk): PlannedDiskView => {
    const { name, serial, wwn, model, sizeBytes } = disk;
    const holdsOs = ofOs.has(name);
    const kept = skip.isSkipped(disk)
      ? 'it is on the skip list'
      : preserve && !holdsOs
        ? 'local storage is preserved'
        : null;
    return { name, serial, wwn, model, size_bytes: sizeBytes || null, holds_os: holdsOs, kept };
  });
  return {
    wiped: views.filter(({ kept }) => kept === null),
    kept: views.filter(({ kept }) => kept !== null),
    remarks: [
      ...unknownOs,
      ...skip.remarks,
      ...unmet.map(
        ({ device, serial }) =>
          `the last inventory does not have the OS disk ${device} (serial ${serial ?? 'unknown'})`,
      ),
    ],
  };
}

function skipListOf(properties: JsonObject) {
  try {
    return { isSkipped: readSkipList(properties), remarks: [] };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return { isSkipped: () => false, remarks: [`the wipe will be refused: ${errorChain(error)}`] };
  }
}

function marksOf({ name, serial, wwn, model }: DiskIdentity | KnownDisk): DiskMarks {
  return { device: name, serial, wwn, model };
}
