import { z } from 'zod';
import type { RaidController, RaidDrive, RaidVolume } from '#conductor/drivers/interfaces.ts';
import { readAllMemberPaths, readEach, readShownPaths } from '#conductor/drivers/redfish/client/collection.ts';
import { httpStatusOf } from '#conductor/drivers/redfish/client/errors.ts';
import { idInPath } from '#conductor/drivers/redfish/client/own-path.ts';
import { readResource } from '#conductor/drivers/redfish/client/resource.ts';
import { orUndefined, Reference, Status } from '#conductor/drivers/redfish/client/schemas.ts';
import type { RedfishSystem } from '#conductor/drivers/redfish/client/system.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** Fields that are read of DMTF's Storage, Drive and Volume resources; as tolerant as `schemas.ts`. */

const References = orUndefined(z.array(Reference));
const Texts = orUndefined(z.array(z.string()));

const StorageController = z.looseObject({ SupportedRAIDTypes: Texts });

export const Storage = z.looseObject({
  Id: orUndefined(z.string()),
  Drives: References,
  Volumes: orUndefined(Reference),
  StorageControllers: orUndefined(z.array(StorageController)),
  Status: orUndefined(Status),
  /** In place of the list since Storage 1.13. */
  Controllers: orUndefined(Reference),
});
export type Storage = z.infer<typeof Storage>;

const Identifiers = orUndefined(
  z.array(z.looseObject({ DurableName: orUndefined(z.string()), DurableNameFormat: orUndefined(z.string()) })),
);

export const Drive = z.looseObject({
  Id: orUndefined(z.string()),
  CapacityBytes: orUndefined(z.number()),
  MediaType: orUndefined(z.string()),
  Protocol: orUndefined(z.string()),
  Model: orUndefined(z.string()),
  Manufacturer: orUndefined(z.string()),
  SerialNumber: orUndefined(z.string()),
  Identifiers,
  Status: orUndefined(Status),
});
export type Drive = z.infer<typeof Drive>;

const VolumeCollection = z.looseObject({
  '@Redfish.OperationApplyTimeSupport': orUndefined(z.looseObject({ SupportedValues: Texts })),
});

export const Volume = z.looseObject({
  Id: orUndefined(z.string()),
  Name: orUndefined(z.string()),
  RAIDType: orUndefined(z.string()),
  VolumeType: orUndefined(z.string()),
  CapacityBytes: orUndefined(z.number()),
  Identifiers,
  Links: orUndefined(z.looseObject({ Drives: References })),
});
export type Volume = z.infer<typeof Volume>;

/** Ironic's levels: DMTF's `RAIDType`, and `VolumeType`, which older BMCs have in its place. */
export const raidTypes: Readonly<Record<string, { readonly raid: string; readonly volume: string }>> = {
  '0': { raid: 'RAID0', volume: 'NonRedundant' },
  '1': { raid: 'RAID1', volume: 'Mirrored' },
  '5': { raid: 'RAID5', volume: 'StripedWithParity' },
  '6': { raid: 'RAID6', volume: 'StripedWithParity' },
  '1+0': { raid: 'RAID10', volume: 'SpannedMirrors' },
  '5+0': { raid: 'RAID50', volume: 'SpannedStripesWithParity' },
  '6+0': { raid: 'RAID60', volume: 'SpannedStripesWithParity' },
};

/**
 * Words of DMTF's `Status.State` for a controller that may have volumes and shows none; one that is `Starting` may show some
 * of them only. A machine that is off may have its controllers so
 * (https://github.com/HewlettPackard/ilo-ansible-collection/issues/38).
 */
const hidingStates = ['Updating', 'InTest', 'StandbyOffline', 'UnavailableOffline', 'Deferring'];

/**
 * Reads a storage controller; `undefined` for one that makes no volumes, or that has neither drives nor volumes: one that
 * starts may not show its drives yet.
 * @param driveless ids of controllers that never list drives: such a one without volumes counts by its state
 * @throws AppError `busy` for a controller that says itself that it may not show all; `bmc_error` for a volume that says
 * nothing of itself
 */
export async function readController(
  system: RedfishSystem,
  path: string,
  signal: AbortSignal,
  driveless: readonly string[] = [],
): Promise<RaidController | undefined> {
  const { client } = system;
  const { data } = await readResource(client, path, Storage, signal);
  const volumesPath = data.Volumes?.['@odata.id'];
  const drivePaths = (data.Drives ?? []).map((drive) => drive['@odata.id']);
  const { read, unread } = await readEach(client, drivePaths, Drive, signal);
  const present = read.filter((drive) => drive.data.Status?.State !== 'Absent');
  const found = await readVolumes(client, volumesPath, signal).catch((error: unknown) => {
    if (drivePaths.length === 0 && (httpStatusOf(error) ?? 500) < 500) return undefined;
    throw error;
  });
  requireSettled(path, data.Status?.State, found?.volumes.length);
  const isEmptied = driveless.includes(data.Id ?? path) && data.Status?.State === 'Enabled';
  const isBare = drivePaths.length === 0 && found?.volumes.length === 0;
  if (volumesPath === undefined || !found || (isBare && !isEmptied)) return undefined;
  const types = await readRaidTypes(client, data, signal);
  return {
    id: data.Id ?? path,
    volumesPath,
    levels: levelsOf(types),
    saysLevels: types.some((each) => each.length > 0),
    drives: present.map((drive) => driveOf(drive.path, drive.data)),
    unread: unread.map((drive) => idInPath(drive.path)),
    ...found,
  };
}

/** @throws AppError `busy` for a controller of which volumes that it does not show may be there */
function requireSettled(path: string, state: string | null | undefined, volumes: number | undefined): void {
  const mayHide = !volumes && hidingStates.includes(state ?? '');
  if (state !== 'Starting' && !mayHide) return;
  const why = `${path} is ${state}: it may have volumes that it does not show`;
  throw new AppError('busy', why, { details: { isNoAnswer: true } });
}

async function readVolumes(
  client: RedfishSystem['client'],
  place: string | undefined,
  signal: AbortSignal,
): Promise<Pick<RaidController, 'applyTimes' | 'volumes'> | undefined> {
  if (place === undefined) return undefined;
  const { '@Redfish.OperationApplyTimeSupport': times } = (await readResource(client, place, VolumeCollection, signal))
    .data;
  const volumes: RaidVolume[] = [];
  for (const path of await readAllMemberPaths(client, place, signal)) {
    const volume = volumeOf(path, (await readResource(client, path, Volume, signal)).data);
    if (volume) volumes.push(volume);
  }
  return { applyTimes: times?.SupportedValues ?? [], volumes };
}

/** RAID types of each controller, listed here or linked; empty where it does not tell them. */
async function readRaidTypes(
  client: RedfishSystem['client'],
  { StorageControllers: inline, Controllers: linked }: Storage,
  signal: AbortSignal,
): Promise<readonly (readonly string[])[]> {
  if (inline?.length || !linked) return (inline ?? []).map((each) => each.SupportedRAIDTypes ?? []);
  const paths = await readShownPaths(client, linked['@odata.id'], signal);
  const { read, unread } = await readEach(client, paths.read, StorageController, signal);
  return [...read.map(({ data }) => data.SupportedRAIDTypes ?? []), ...[...paths.unread, ...unread].map(() => [])];
}

/** Ironic's levels of all controllers together; all that there are while one of them has not told its own. */
export function levelsOf(raidTypesOfEach: readonly (readonly string[])[]): readonly string[] {
  const known = Object.keys(raidTypes);
  if (raidTypesOfEach.length === 0 || raidTypesOfEach.some((each) => each.length === 0)) return known;
  return known.filter((level) => raidTypesOfEach.flat().includes(raidTypes[level]?.raid ?? ''));
}

/** DMTF's `MediaType` of a drive: whether it turns. */
export const turning: Readonly<Record<string, boolean>> = { HDD: true, SMR: true, SSD: false };

function driveOf(path: string, drive: Drive): RaidDrive {
  const wwn = wwnOf(drive.Identifiers);
  return {
    path,
    name: drive.Id ?? path,
    type: 'disk',
    sizeBytes: drive.CapacityBytes ?? 0,
    model: drive.Model ?? null,
    vendor: drive.Manufacturer ?? null,
    serial: drive.SerialNumber ?? null,
    wwn,
    wwnWithExtension: wwn,
    wwnVendorExtension: null,
    serials: [],
    wwns: [],
    links: [],
    hctl: null,
    byPath: null,
    rotational: turning[drive.MediaType ?? ''] ?? null,
    tran: drive.Protocol?.toLowerCase() ?? null,
    readOnly: false,
    removable: false,
    mountpoints: [],
    holders: [],
  };
}

/**
 * `undefined` for a drive that is passed through as it is, which many BMCs list among the volumes. A volume of a kind that
 * is not known here has that as its level: it holds drives, and data, too.
 * @throws AppError `bmc_error` for a document that says nothing of a volume, as a BMC that starts may answer
 */
export function volumeOf(path: string, volume: Volume): RaidVolume | undefined {
  const drives = (volume.Links?.Drives ?? []).map((drive) => drive['@odata.id']);
  const { RAIDType: raidType, VolumeType: volumeType } = volume;
  if ((raidType ?? volumeType ?? volume.CapacityBytes ?? volume.Links) == null) {
    throw new AppError('bmc_error', `${path} does not say of which kind the volume is`, {
      details: { isNoAnswer: true },
    });
  }
  const isPassedThrough = raidType
    ? raidType === 'None'
    : volumeType === 'RawDevice' || (!volumeType && drives.length < 2);
  if (isPassedThrough) return undefined;
  const byType = Object.keys(raidTypes).find((level) => raidTypes[level]?.raid === raidType);
  const byOldType = Object.keys(raidTypes).find((level) => raidTypes[level]?.volume === volumeType);
  const level = byType ?? (raidType ? undefined : byOldType);
  return {
    path,
    name: volume.Name ?? volume.Id ?? path,
    level: level ?? `of type ${raidType ?? volumeType ?? 'unknown'}`,
    sizeBytes: volume.CapacityBytes ?? 0,
    drives,
    wwn: wwnOf(volume.Identifiers),
  };
}

/** Gives the WWN as lsblk writes it: `0x64cd98f0…`. */
export function wwnOf(identifiers: Drive['Identifiers']): string | null {
  const name = identifiers?.find(({ DurableNameFormat: format }) => format === 'NAA')?.DurableName;
  return name ? `0x${name.toLowerCase().replace(/^0x/, '')}` : null;
}
