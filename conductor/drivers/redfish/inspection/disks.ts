import { z } from 'zod';
import { unlessUnread } from '#conductor/drivers/redfish/client/collection.ts';
import { idInPath } from '#conductor/drivers/redfish/client/own-path.ts';
import { type ComputerSystem, orUndefined, Status } from '#conductor/drivers/redfish/client/schemas.ts';
import { type Ask, readParts, readPartsOf } from '#conductor/drivers/redfish/inspection/part.ts';
import { Drive, Storage, turning, Volume, volumeOf, wwnOf } from '#conductor/drivers/redfish/raid/raid-controllers.ts';
import type { ShownDisk } from '#conductor/drivers/shown-machine.ts';

const SimpleStorage = z.looseObject({
  Id: orUndefined(z.string()),
  Devices: orUndefined(
    z.array(
      z.looseObject({
        Name: orUndefined(z.string()),
        Manufacturer: orUndefined(z.string()),
        Model: orUndefined(z.string()),
        CapacityBytes: orUndefined(z.number()),
        Status: orUndefined(Status),
      }),
    ),
  ),
});

/** Reads volumes and the drives that are in none; where there is no Storage, the devices of SimpleStorage. */
export async function readDisks(ask: Ask, system: ComputerSystem): Promise<ShownDisk[]> {
  const place = system.Storage?.['@odata.id'];
  const simple = system.SimpleStorage?.['@odata.id'];
  const controllers = place === undefined ? [] : await readPartsOf(ask, place, Storage);
  const disks: ShownDisk[] = [];
  for (const { path, data } of controllers) {
    if (!data.Drives) ask.missing.push(`${path} lists no drives`);
    disks.push(...(await disksOf(ask, data)));
  }
  if (disks.length === 0 && ask.unread.length === 0 && simple !== undefined)
    disks.push(...(await simpleDisks(ask, simple)));
  if (disks.length === 0) ask.missing.push('the BMC shows no disks');
  return disks;
}

async function disksOf(ask: Ask, storage: Storage): Promise<ShownDisk[]> {
  const paths = storage.Drives?.map((drive) => drive['@odata.id']);
  const drives = paths ? await readParts(ask, paths, Drive) : [];
  const place = storage.Volumes?.['@odata.id'];
  const found = place === undefined ? [] : await readPartsOf(ask, place, Volume);
  const volumes: NonNullable<ReturnType<typeof volumeOf>>[] = [];
  for (const { path, data } of found) {
    const volume = await unlessUnread(ask.client, path, ask.unread, ask.signal, () =>
      Promise.resolve(volumeOf(path, data)),
    );
    if (volume) volumes.push(volume);
  }
  const members = new Set(volumes.flatMap((volume) => volume.drives));
  return [
    ...volumes.map(({ name, sizeBytes, wwn }) => ({ ...unnamed, name, sizeBytes: sizeBytes || null, wwn })),
    ...drives
      .filter(({ path, data }) => data.Status?.State !== 'Absent' && !members.has(path))
      .map(({ path, data }) => diskOf(path, data)),
  ];
}

const unnamed = { model: null, vendor: null, serial: null, wwn: null, rotational: null, tran: null } as const;

function diskOf(path: string, drive: Drive): ShownDisk {
  return {
    name: drive.Id || idInPath(path),
    sizeBytes: drive.CapacityBytes || null,
    model: drive.Model || null,
    vendor: drive.Manufacturer || null,
    serial: drive.SerialNumber || null,
    wwn: wwnOf(drive.Identifiers),
    rotational: turning[drive.MediaType ?? ''] ?? null,
    tran: drive.Protocol?.toLowerCase() || null,
  };
}

async function simpleDisks(ask: Ask, place: string): Promise<ShownDisk[]> {
  const found = await readPartsOf(ask, place, SimpleStorage);
  return found.flatMap(({ data }) =>
    (data.Devices ?? [])
      // slots that are empty are listed, too
      .filter(({ Status: status, CapacityBytes: size }) => status?.State !== 'Absent' && size)
      .map(({ Name: name, Manufacturer: vendor, Model: model, CapacityBytes: size }) => ({
        ...unnamed,
        name: name || `${data.Id ?? 'a device'} without a name`,
        sizeBytes: size || null,
        model: model || null,
        vendor: vendor || null,
      })),
  );
}
