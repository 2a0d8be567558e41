import { z } from 'zod';
import type { FirmwareComponent } from '#conductor/drivers/interfaces.ts';
import { readEach, readShownPaths, type Unread } from '#conductor/drivers/redfish/client/collection.ts';
import { idInPath } from '#conductor/drivers/redfish/client/own-path.ts';
import { orUndefined, Reference } from '#conductor/drivers/redfish/client/schemas.ts';
import type { RedfishSystem } from '#conductor/drivers/redfish/client/system.ts';

const Chassis = z.looseObject({ NetworkAdapters: orUndefined(Reference) });
const Adapter = z.looseObject({
  Id: orUndefined(z.string()),
  Manufacturer: orUndefined(z.string()),
  Model: orUndefined(z.string()),
  SerialNumber: orUndefined(z.string()),
  Controllers: orUndefined(z.array(z.looseObject({ FirmwarePackageVersion: orUndefined(z.string()) }))),
});

interface Nic extends FirmwareComponent {
  readonly path: string;
  item: string | undefined;
}

/** Network adapters by Ironic's names, `nic:` and their id; those that report no version are left out. */
export async function readNics(
  system: RedfishSystem,
  signal: AbortSignal,
): Promise<{
  readonly nics: readonly Nic[];
  /** Cards that are there, and tell no version. */
  readonly silent: readonly string[];
  readonly unreadPlaces: readonly Unread[];
  readonly unread: readonly Unread[];
}> {
  const { client } = system;
  const nics: Nic[] = [];
  const silent: string[] = [];
  const places = ((await system.read(signal)).data.Links?.Chassis ?? []).map((place) => place['@odata.id']);
  const { read, unread } = await readEach(client, places, Chassis, signal);
  const unreadPlaces = [...unread];
  const lost: Unread[] = [];
  for (const { data: chassis } of read) {
    const adapters = chassis.NetworkAdapters?.['@odata.id'];
    if (adapters === undefined) continue;
    const paths = await readShownPaths(client, adapters, signal);
    const { read: found, unread: rest } = await readEach(client, paths.read, Adapter, signal);
    unreadPlaces.push(...paths.unread);
    lost.push(...rest);
    for (const { path, data } of found) {
      // one package for all controllers of a card, and not each of them tells it
      const versions = new Set(data.Controllers?.flatMap((each) => each.FirmwarePackageVersion || []));
      const version = [...versions].sort().join(', ');
      const { Manufacturer: vendor, Model: model, SerialNumber: serialNumber } = data;
      const component = `nic:${data.Id ?? idInPath(path)}`;
      if (!version) silent.push(component);
      else if (data.Id) nics.push({ component, version, vendor, model, serialNumber, path, item: undefined });
    }
  }
  return { nics, silent, unreadPlaces, unread: lost };
}
