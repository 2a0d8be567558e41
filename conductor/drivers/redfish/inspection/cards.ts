import { z } from 'zod';
import { idInPath } from '#conductor/drivers/redfish/client/own-path.ts';
import { type ComputerSystem, orUndefined, Status } from '#conductor/drivers/redfish/client/schemas.ts';
import { type Ask, readPartsOf } from '#conductor/drivers/redfish/inspection/part.ts';
import type { ShownCard } from '#conductor/drivers/shown-machine.ts';
import { parseCardAddress } from '#shared/mac-address.ts';

const EthernetInterface = z.looseObject({
  Id: orUndefined(z.string()),
  MACAddress: orUndefined(z.string()),
  PermanentMACAddress: orUndefined(z.string()),
  SpeedMbps: orUndefined(z.number()),
  LinkStatus: orUndefined(z.string()),
  InterfaceEnabled: orUndefined(z.boolean()),
  Status: orUndefined(Status),
});

const links: Readonly<Record<string, boolean>> = { LinkUp: true, LinkDown: false, NoLink: false };

/** Reads the network cards; one without a MAC address of its own can't be known again, and is left out. */
export async function readCards(ask: Ask, system: ComputerSystem): Promise<ShownCard[]> {
  const place = system.EthernetInterfaces?.['@odata.id'];
  const found = place === undefined ? [] : await readPartsOf(ask, place, EthernetInterface);
  const cards = found.flatMap(({ path, data }): ShownCard[] => {
    // a blade's profile gives its cards others than their own, which networks then see
    const mac = parseCardAddress(data.MACAddress ?? '') ?? parseCardAddress(data.PermanentMACAddress ?? '');
    if (mac === undefined || data.Status?.State === 'Absent') return [];
    return [
      {
        name: data.Id || idInPath(path),
        mac,
        isDisabled: data.Status?.State === 'Disabled' || data.InterfaceEnabled === false,
        hasLink: links[data.LinkStatus ?? ''],
        speedMbps: data.SpeedMbps || undefined,
      },
    ];
  });
  if (cards.length === 0) ask.missing.push('the BMC shows no network card with a MAC address');
  return cards;
}
