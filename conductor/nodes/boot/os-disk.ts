import { and, desc, eq, or, sql } from 'drizzle-orm';
import type { Queryable } from '#conductor/kernel/db/open.ts';
import { flowSteps, flows } from '#conductor/kernel/db/schema/flow.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import type { FlowKindName } from '#conductor/model/flows/flow-states.ts';
import type { JsonObject } from '#conductor/model/json-object.ts';
import type { KnownDisk, SparedDisk } from '#conductor/model/known-disk.ts';
import { isNoDisk, isVirtualMedium } from '#shared/disks/disk.ts';
import { findOsDisks } from '#shared/disks/find-os-disks.ts';
import { exactText, listMismatches, parseHints } from '#shared/disks/root-device-hints.ts';
import { protectedNames } from '#shared/disks/skip-list.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { type DiskIdentity, OsDisk, type SkippedDisk, skipReasons } from '#shared/wire/erase-result.ts';

/**
 * Returns the disk, or the disks of the array, that an image was written to: pure. `undefined` = the inventory does not list
 * which disks the device is made.
 * @param device as the agent named it in the boot that the inventory is of, `/dev/sda`, `/dev/md0`
 */
export function osDiskOf(disks: readonly KnownDisk[], device: string): OsDisk | undefined {
  const written = disks.find(({ name }) => name === device);
  if (!written) return undefined;
  if (written.type === 'disk') return { disks: [identify(written)], array_uuid: null };
  // ironic-python-agent does not report what a volume is made of, and without its UUID it is not known again
  const members = disks.filter(({ type, holders }) => type === 'disk' && holders.includes(device));
  return members.length > 0 && written.wwn !== null
    ? { disks: members.map(identify), array_uuid: written.wwn }
    : undefined;
}

function identify(disk: KnownDisk): DiskIdentity {
  return {
    name: disk.name,
    serial: disk.serial,
    wwn: disk.wwn,
    serials: disk.serials,
    wwns: disk.wwns,
    wwn_with_extension: disk.wwnWithExtension,
    wwn_vendor_extension: disk.wwnVendorExtension,
    model: disk.model,
    by_path: disk.byPath,
    size: disk.sizeBytes === 0 ? null : disk.sizeBytes,
  };
}

/**
 * Reads the device in the words with which Ironic's and our agent answer a write: `image (demo) written to device /dev/sda
 * root_uuid=…`.
 */
export function writtenDevice(output: unknown): string | undefined {
  return typeof output === 'string'
    ? /\bon device (\/\S+)|\bto device (\/\S+)/.exec(output)?.slice(1).find(Boolean)
    : undefined;
}

/**
 * Returns the disk that `properties.root_device` names for a node of which none was recorded. A hint like a size or "the
 * first" names none: what it chooses depends on what the disks have become.
 * @throws AppError `storage_error` saying why no disk is named; `invalid_argument` for bad hints
 */
export function osDiskByHints(disks: readonly KnownDisk[], properties: Readonly<Record<string, unknown>>): OsDisk {
  const none =
    'no deploy has recorded the disk of the operating system (the node was adopted, or deployed by an older release)';
  const hints = properties['root_device'];
  const wanted = typeof hints === 'object' && hints !== null ? (hints as Readonly<Record<string, unknown>>) : {};
  const namesOne = (hint: unknown): boolean => typeof hint === 'string' && exactText(hint) !== undefined;
  if (!['serial', 'wwn', 'wwn_with_extension'].some((key) => namesOne(wanted[key]))) {
    throw refusal(`${none}, and properties.root_device names none by serial or wwn`);
  }
  const tests = parseHints(wanted, 'properties.root_device');
  const matching = disks.filter((disk) => listMismatches(disk, tests).length === 0);
  const [disk] = matching;
  const found = disk && matching.length === 1 ? osDiskOf(disks, disk.name) : undefined;
  if (found) return found;
  const named = matching.length === 0 ? 'no disk of this machine' : matching.map(({ name }) => name).join(', ');
  throw refusal(`${none}, and properties.root_device names ${named}`);
}

function refusal(why: string): AppError {
  return new AppError(
    'storage_error',
    `${why}: local storage can't be preserved; nothing was touched. Set {"serial": …} or {"wwn": …} of the operating ` +
      "system's disk in properties.root_device, or wipe without preserving it",
  );
}

/**
 * Reads the disk that the last deploy has recorded; `null` = nothing that can be relied on: it may be a data disk of
 * the one after.
 */
export async function trustedOsDisk(
  db: Queryable,
  { uuid, osDisk }: Pick<NodeRow, 'uuid' | 'osDisk'>,
): Promise<OsDisk | null> {
  if (osDisk === null) return null;
  const wrote = sql`exists (select from ${flowSteps} where ${flowSteps.flowUuid} = ${flows.uuid}
    and ${flowSteps.step} = 'write_image' and ${flowSteps.startedAt} is not null)`;
  // one that has succeeded without may have an instance that boots from a volume
  const [last] = await db
    .select({ uuid: flows.uuid })
    .from(flows)
    .where(and(eq(flows.nodeUuid, uuid), eq(flows.kind, 'deploy'), or(eq(flows.state, 'succeeded'), wrote)))
    .orderBy(desc(flows.startedAt))
    .limit(1);
  return last === undefined || last.uuid === osDisk.flow ? OsDisk.parse(osDisk) : null;
}

/**
 * Lists what a deploy after this wipe has to leave alone; disks without serial number and WWN can't be distinguished
 * from others.
 */
export function sparedDisks(skipped: readonly SkippedDisk[]): readonly SparedDisk[] {
  return skipped
    .filter(({ reason, serial, wwn }) => reason === skipReasons.preserved && (serial !== null || wwn !== null))
    .map(({ serial, wwn }) => ({ serial, wwn }));
}

/**
 * Refuses, before anything is touched, a disk that can't be put on the skip list: to the next deploy it would be as free as
 * any.
 * @param disks as a ramdisk has just reported them
 * @throws AppError `storage_error` naming it, or because the disk of the operating system is not there
 */
export function requireIdentifiedDisks(disks: readonly KnownDisk[], osDisk: OsDisk, properties: JsonObject): void {
  const kept = protectedNames(properties, disks);
  const own = findOsDisks(
    disks.filter(({ type }) => type === 'disk'),
    osDisk,
  );
  const anonymous = disks.filter(
    (disk) =>
      disk.type === 'disk' &&
      !isNoDisk(disk.name) &&
      !own.includes(disk) &&
      disk.serial === null &&
      disk.wwn === null &&
      disk.sizeBytes > 0 &&
      !kept.has(disk.name) &&
      !isVirtualMedium(disk),
  );
  if (anonymous.length === 0) return;
  const named = anonymous.map(({ name, model, sizeBytes }) => `${name} (${model ?? 'no model'}, ${sizeBytes} bytes)`);
  throw new AppError(
    'storage_error',
    `local storage can't be preserved; nothing was touched: ${named.join(', ')} has neither serial number nor WWN by which ` +
      'the next deploy could skip it. Add it to properties.skip_block_devices by {"by_path": …} or ' +
      '{"hctl": …}, or wipe without preserving local storage',
  );
}

/**
 * Returns the node's properties with what a wipe has preserved on the skip list (agent-protocol.md §6.6): without it
 * cleaning would erase such a disk, and the next deploy could take it for the root device or for an array, when names or
 * sizes are alike. Pure.
 */
export function withSparedDisks(
  properties: JsonObject,
  { sparedDisks: spared }: Pick<NodeRow, 'sparedDisks'>,
): JsonObject {
  const listed = properties['skip_block_devices'] ?? [];
  // one that can't be understood stops every step that goes by it
  if (spared === null || spared.length === 0 || !Array.isArray(listed)) return properties;
  return { ...properties, skip_block_devices: [...(listed as readonly unknown[]), ...spared.map(asHints)] };
}

/**
 * Gives the properties that the agent is to go by in a flow of this kind: a wipe says itself what is erased, and
 * nothing else may.
 */
export function propertiesIn(
  kind: FlowKindName | undefined,
  { properties, sparedDisks: spared }: Pick<NodeRow, 'properties' | 'sparedDisks'>,
): JsonObject {
  return kind === 'wipe' ? properties : withSparedDisks(properties, { sparedDisks: spared });
}

function asHints({ serial, wwn }: SparedDisk): JsonObject {
  return {
    ...(serial === null ? {} : { serial: `s== ${serial}` }),
    ...(wwn === null ? {} : { wwn: `s== ${wwn}` }),
  };
}
