import { describe, expect, test } from 'vitest';
import { createRigs, hastyClock, type Rig } from '#conductor/drivers/redfish/testing/rigs.ts';
import type { Quirks } from '#test/simulators/redfish/faults.ts';
import { type VendorName, vendorNames, vendors } from '#test/simulators/redfish/vendors.ts';

/** All that is read of collections, of each maker's BMC, where one member is bad, or each is on a page of its own. */

const { rig } = createRigs();
const oddities: readonly Partial<Quirks>[] = [
  { collections: 'with null' },
  { collections: 'with a nameless one' },
  { collections: 'with a dead one' },
  { collections: 'with a broken one' },
  { collections: 'with a busy one' },
  { collections: 'in pages' },
  { gzip: 'always' },
  { gzip: 'or 406' },
  { gzip: 'always', collections: 'in pages' },
];

async function readAll(bmc: Rig, vendor: VendorName): Promise<unknown> {
  const { virtualMedia, noBiosAttributes, noVolumes } = vendors[vendor];
  const at = (place: string): string => place.replace(bmc.simulator.address, '');
  return {
    power: await bmc.power.getPowerState(),
    boot: await bmc.management.getBootDevice(),
    firmware: (await bmc.firmware?.getComponents())?.components,
    sensors: await bmc.management.getSensors?.(),
    log: await bmc.management.getEventLog?.(5),
    lamps: (await bmc.indicators?.list())?.map((lamp) => ({ ...lamp, place: at(lamp.place) })),
    media: virtualMedia === 'none' ? [] : await bmc.virtualMedia?.list(),
    settings: noBiosAttributes ? [] : await bmc.bios?.getSettings(),
    drives: noVolumes ? [] : (await bmc.raid?.getControllers())?.map(({ drives }) => drives.length),
  };
}

describe.each(vendorNames)('%s', (vendor) => {
  const open = (quirks: Partial<Quirks>): Promise<Rig> =>
    rig({ quirks: { ...vendors[vendor], ...quirks }, clock: hastyClock, redfish: { retryMs: 1 } });

  test.each(oddities)('reads the same of $collections $gzip', async (oddity) => {
    const plain = await open({});
    const odd = await open(oddity);
    expect(await readAll(odd, vendor)).toEqual(await readAll(plain, vendor));
  });
});
