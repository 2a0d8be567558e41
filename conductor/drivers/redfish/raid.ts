import { z } from 'zod';
import { callDeadline } from '#conductor/drivers/call-deadline.ts';
import type {
  NewRaidVolume,
  RaidController,
  RaidDrive,
  RaidInterface,
  RaidVolume,
} from '#conductor/drivers/interfaces.ts';
import { readAllMemberPaths, readEach, readMemberPaths } from '#conductor/drivers/redfish/client/collection.ts';
import { firstTaken, namesOf, underTitle } from '#conductor/drivers/redfish/client/errors.ts';
import { idInPath } from '#conductor/drivers/redfish/client/own-path.ts';
import { readResource } from '#conductor/drivers/redfish/client/resource.ts';
import { orUndefined, Reference } from '#conductor/drivers/redfish/client/schemas.ts';
import type { RedfishSystem } from '#conductor/drivers/redfish/client/system.ts';
import { finishTask } from '#conductor/drivers/redfish/client/task.ts';
import type { RedfishAnswer } from '#conductor/drivers/redfish/client/transport.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** Fields that are read of DMTF's Storage, Drive and Volume resources; as tolerant as `schemas.ts`. */

const References = orUndefined(z.array(Reference));
const Texts = orUndefined(z.array(z.string()));

const Storage = z.looseObject({
  Id: orUndefined(z.string()),
  Drives: References,
  Volumes: orUndefined(Reference),
  StorageControllers: orUndefined(z.array(z.looseObject({ SupportedRAIDTypes: Texts }))),
  /** In place of the list since Storage 1.13. */
  Controllers: orUndefined(Reference),
});
type Storage = z.infer<typeof Storage>;

const StorageController = z.looseObject({ SupportedRAIDTypes: Texts });

const Identifiers = orUndefined(
  z.array(z.looseObject({ DurableName: orUndefined(z.string()), DurableNameFormat: orUndefined(z.string()) })),
);

const Drive = z.looseObject({
  Id: orUndefined(z.string()),
  CapacityBytes: orUndefined(z.number()),
  MediaType: orUndefined(z.string()),
  Protocol: orUndefined(z.string()),
  Model: orUndefined(z.string()),
  Manufacturer: orUndefined(z.string()),
  SerialNumber: orUndefined(z.string()),
  Identifiers,
  Status: orUndefined(z.looseObject({ State: orUndefined(z.string()) })),
});
type Drive = z.infer<typeof Drive>;

const VolumeCollection = z.looseObject({
  '@Redfish.OperationApplyTimeSupport': orUndefined(z.looseObject({ SupportedValues: Texts })),
});

const Volume = z.looseObject({
  Id: orUndefined(z.string()),
  Name: orUndefined(z.string()),
  RAIDType: orUndefined(z.string()),
  VolumeType: orUndefined(z.string()),
  CapacityBytes: orUndefined(z.number()),
  Identifiers,
  Links: orUndefined(z.looseObject({ Drives: References })),
});
type Volume = z.infer<typeof Volume>;

/** Each of hundreds of drives is a request of its own. */
const readTimeoutMs = 15 * 60_000;
/** Within which a controller that doesn't say when it acts begins, or waits for a reset. */
const beginsWithinMs = 5_000;
/** A controller takes minutes for a volume of many drives. */
const writeTimeoutMs = 900_000;

/** Ironic's levels: DMTF's `RAIDType`, and `VolumeType`, which older BMCs have in its place. */
const raidTypes: Readonly<Record<string, { readonly raid: string; readonly volume: string }>> = {
  '0': { raid: 'RAID0', volume: 'NonRedundant' },
  '1': { raid: 'RAID1', volume: 'Mirrored' },
  '5': { raid: 'RAID5', volume: 'StripedWithParity' },
  '6': { raid: 'RAID6', volume: 'StripedWithParity' },
  '1+0': { raid: 'RAID10', volume: 'SpannedMirrors' },
  '5+0': { raid: 'RAID50', volume: 'SpannedStripesWithParity' },
  '6+0': { raid: 'RAID60', volume: 'SpannedStripesWithParity' },
};

/** Volumes of the system's storage controllers (DMTF Storage, Drive and Volume schemas). */
export function redfishRaid(system: RedfishSystem): RaidInterface {
  const { client } = system;
  return {
    getControllers: async (options) => {
      const { signal } = callDeadline(options, readTimeoutMs);
      const { data, path } = await system.read(signal);
      const place = data.Storage?.['@odata.id'];
      if (place === undefined) {
        throw new AppError('not_supported', `the system ${path} at ${client.origin} has no Storage resource`);
      }
      const controllers: RaidController[] = [];
      for (const member of await readAllMemberPaths(client, place, signal)) {
        const found = await readController(system, member, signal);
        if (found) controllers.push(found);
      }
      return controllers;
    },
    createVolume: async (volume, options) => {
      const { signal } = callDeadline(options, writeTimeoutMs);
      const { controller } = volume;
      const what = `create a RAID ${volume.level} volume on ${controller.id} at ${client.origin}`;
      const post = (body: object) => client.request({ method: 'POST', path: controller.volumesPath, body, signal });
      const send = (body: object) => timed(withTime(controller, body), post);
      return underTitle(what, async () =>
        follow(system, controller, { answer: await firstTaken(bodies(volume), send), what, signal }),
      );
    },
    deleteVolume: async (controller, { path, name }, options) => {
      const { signal } = callDeadline(options, writeTimeoutMs);
      const what = `delete the volume ${name} on ${controller.id} at ${client.origin}`;
      const send = (body: object) =>
        client.request({ method: 'DELETE', path, ...(Object.keys(body).length > 0 ? { body } : {}), signal });
      return underTitle(what, async () => {
        const answer = await timed(withTime(controller, {}), send);
        return follow(system, controller, { answer, what, signal });
      });
    },
  };
}

/** `undefined` for one without drives, or that makes no volumes of them. */
async function readController(
  system: RedfishSystem,
  path: string,
  signal: AbortSignal,
): Promise<RaidController | undefined> {
  const { client } = system;
  const { data } = await readResource(client, path, Storage, signal);
  const volumesPath = data.Volumes?.['@odata.id'];
  const drivePaths = (data.Drives ?? []).map((drive) => drive['@odata.id']);
  if (volumesPath === undefined || drivePaths.length === 0) return undefined;
  const { read, unread } = await readEach(client, drivePaths, Drive, signal);
  const present = read.filter((drive) => drive.data.Status?.State !== 'Absent');
  const collection = (await readResource(client, volumesPath, VolumeCollection, signal)).data;
  const volumes: RaidVolume[] = [];
  for (const volumePath of await readAllMemberPaths(client, volumesPath, signal)) {
    const volume = volumeOf(volumePath, (await readResource(client, volumePath, Volume, signal)).data);
    if (volume) volumes.push(volume);
  }
  const types = await readRaidTypes(client, data, signal);
  return {
    id: data.Id ?? path,
    volumesPath,
    levels: levelsOf(types),
    saysLevels: types.some((each) => each.length > 0),
    applyTimes: collection['@Redfish.OperationApplyTimeSupport']?.SupportedValues ?? [],
    drives: present.map((drive) => driveOf(drive.path, drive.data)),
    unread: unread.map((drive) => idInPath(drive.path)),
    volumes,
  };
}

/** RAID types of each controller, listed here or linked; empty where it does not tell them. */
async function readRaidTypes(
  client: RedfishSystem['client'],
  { StorageControllers: inline, Controllers: linked }: Storage,
  signal: AbortSignal,
): Promise<readonly (readonly string[])[]> {
  if (inline?.length || !linked) return (inline ?? []).map((each) => each.SupportedRAIDTypes ?? []);
  const paths = await readMemberPaths(client, linked['@odata.id'], signal).catch(() => []);
  const { read, unread } = await readEach(client, paths, StorageController, signal);
  return [...read.map(({ data }) => data.SupportedRAIDTypes ?? []), ...unread.map(() => [])];
}

/** Ironic's levels of all controllers together; all that there are while one of them has not told its own. */
export function levelsOf(raidTypesOfEach: readonly (readonly string[])[]): readonly string[] {
  const known = Object.keys(raidTypes);
  if (raidTypesOfEach.length === 0 || raidTypesOfEach.some((each) => each.length === 0)) return known;
  return known.filter((level) => raidTypesOfEach.flat().includes(raidTypes[level]?.raid ?? ''));
}

/** DMTF's `MediaType` of a drive: whether it turns. */
const turning: Readonly<Record<string, boolean>> = { HDD: true, SMR: true, SSD: false };

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
 */
function volumeOf(path: string, volume: Volume): RaidVolume | undefined {
  const drives = (volume.Links?.Drives ?? []).map((drive) => drive['@odata.id']);
  const { RAIDType: raidType, VolumeType: volumeType } = volume;
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
function wwnOf(identifiers: Drive['Identifiers']): string | null {
  const name = identifiers?.find(({ DurableNameFormat: format }) => format === 'NAA')?.DurableName;
  return name ? `0x${name.toLowerCase().replace(/^0x/, '')}` : null;
}

/**
 * The bodies to POST, the next one for a BMC that refuses the one before: as DMTF has it now, without `VolumeType`; as
 * it was; and with the drives outside of `Links`, as older iDRACs and iLO take them.
 */
function bodies({ level, name, sizeBytes, drives }: NewRaidVolume): readonly object[] {
  const references = drives.map(({ path }) => ({ '@odata.id': path }));
  const type = raidTypes[level];
  const plain = {
    ...(name === undefined ? {} : { Name: name }),
    ...(sizeBytes === undefined ? {} : { CapacityBytes: sizeBytes }),
    RAIDType: type?.raid,
  };
  return [
    { ...plain, Links: { Drives: references } },
    { ...plain, VolumeType: type?.volume, Links: { Drives: references } },
    { ...plain, Drives: references },
    { ...plain, VolumeType: type?.volume, Drives: references },
  ];
}

function withTime({ applyTimes }: RaidController, body: object): object {
  const time = ['Immediate', 'OnReset'].find((each) => applyTimes.includes(each));
  return time === undefined ? body : { ...body, '@Redfish.OperationApplyTime': time };
}

/** Sends it with the time at which it is to be done, and without to a BMC that names this as what it doesn't know. */
async function timed(body: object, send: (body: object) => Promise<RedfishAnswer>): Promise<RedfishAnswer> {
  const { '@Redfish.OperationApplyTime': time, ...rest } = body as { readonly '@Redfish.OperationApplyTime'?: string };
  try {
    return await send(body);
  } catch (error) {
    // iDRAC from 6.00.02 on, of deletions: 500 (sushy's release notes)
    if (time === undefined || !namesOf(error).has('OperationApplyTime')) throw error;
    return send(rest);
  }
}

/**
 * To its end where it is done at once; a task that has not begun may wait for the reset, which it is left to. What has come
 * of it the collection shows, also where the BMC forgets its tasks as they end.
 */
async function follow(
  { client, clock }: RedfishSystem,
  { applyTimes }: RaidController,
  { answer, what, signal }: { readonly answer: RedfishAnswer; readonly what: string; readonly signal: AbortSignal },
): Promise<boolean> {
  const isLeft = !applyTimes.includes('Immediate');
  const pendingMs = applyTimes.includes('OnReset') ? 0 : beginsWithinMs;
  return finishTask(client, answer, what, {
    clock,
    signal,
    isLookedAt: true,
    ...(isLeft ? { leavePendingAfterMs: pendingMs } : {}),
  });
}
