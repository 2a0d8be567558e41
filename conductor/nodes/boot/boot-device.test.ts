import { expect, test } from 'vitest';
import { createRigs, hastyClock } from '#conductor/drivers/redfish/testing/rigs.ts';
import { renewBootDevice } from '#conductor/nodes/boot/boot-device.ts';
import { silentLog } from '#shared/log.ts';

const { rig } = createRigs();

/** Answers what a BMC that shows `boot` is asked for, before a machine that boots from its disk is switched. */
async function asked(boot: object, target: 'power on' | 'rebooting' | 'power off' = 'power on'): Promise<unknown[]> {
  const bmc = await rig({ clock: hastyClock });
  const body = { '@odata.id': '/redfish/v1/Systems/1', PowerState: 'Off', Boot: boot };
  bmc.simulator.inject({ method: 'GET', path: /Systems\/1$/, body, times: 99 });
  const { signal } = new AbortController();
  await renewBootDevice(bmc, target, { node: { renewedBootDevice: 'disk' }, log: silentLog, signal });
  const patch = bmc.simulator.requests.find(({ method }) => method === 'PATCH');
  return patch ? [(JSON.parse(patch.body) as { Boot: Record<string, unknown> }).Boot['BootSourceOverrideTarget']] : [];
}

const shows = (BootSourceOverrideTarget: string | null, BootSourceOverrideEnabled: string) => ({
  BootSourceOverrideTarget,
  BootSourceOverrideEnabled,
});

test.each([
  ['none', shows('None', 'Disabled')],
  ['a used-up one', shows('Hdd', 'Disabled')],
  ['one for all boots, which a boot from the disk is to come before', shows('Usb', 'Continuous')],
])('a remembered device is set again where the BMC shows %s', async (_, boot) => {
  expect(await asked(boot)).toEqual(['Hdd']);
  expect(await asked(boot, 'rebooting')).toEqual(['Hdd']);
  expect(await asked(boot, 'power off')).toEqual([]);
});

test.each([
  ['that has a name here', shows('Cd', 'Once')],
  ['that has none', shows('Usb', 'Once')],
  ['that the BMC does not show', shows(null, 'Once')],
])("somebody's device for the next boot, %s, comes first", async (_, boot) => {
  expect(await asked(boot)).toEqual([]);
});
