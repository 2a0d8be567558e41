import { describe, expect, test } from 'vitest';
import { createRigs, hastyClock, type Rig } from '#conductor/drivers/redfish/testing/rigs.ts';
import { biosRegistryPath, biosSettingsPath } from '#test/simulators/redfish/bios.ts';
import type { Fault, Quirks } from '#test/simulators/redfish/faults.ts';
import { type VendorName, vendorNames, vendors } from '#test/simulators/redfish/vendors.ts';

/**
 * Settings are changed at each maker's BMC, where the place for them is not as linked, or its registry is not as it
 * should be.
 */

const { rig } = createRigs();
const system = '/redfish/v1/Systems/1';

/** Where AMI's BMCs have them, by the maker's names. */
function below(vendor: VendorName, name: 'SD' | 'Settings'): Quirks['paths'] {
  const { paths = {} } = vendors[vendor];
  const own = paths[system] ?? system;
  const bios = paths[`${system}/Bios`] ?? `${own}/Bios`;
  return { ...paths, [`${system}/Settings`]: `${own}/${name}`, [biosSettingsPath]: `${bios}/${name}` };
}

const places: readonly (readonly [string, (vendor: VendorName) => Partial<Quirks>])[] = [
  ['are linked to nothing', () => ({ deadSettingsLinks: true, bootViaSettings: false, noBiosSettings: true })],
  ['are nowhere', () => ({ bootViaSettings: false, noBiosSettings: true })],
  ...(['SD', 'Settings'] as const).map(
    (name) =>
      [
        `are at ${name} without a link`,
        (vendor: VendorName) => ({ bootViaSettings: true, unlinkedSettings: true, paths: below(vendor, name) }),
      ] as const,
  ),
  [
    'can not be read',
    (vendor) => ({ unlinkedSettings: true, unreadableBiosSettings: true, paths: below(vendor, 'SD') }),
  ],
  ['take one change at a time', () => ({ oneBiosJob: true })],
  ['list what waits', () => ({ biosListsWaiting: true })],
  ['want If-Match, and have weak ETags', () => ({ requireIfMatch: true, weakEtagOnly: true, noEtag: false })],
  ['refuse each If-Match', () => ({ rejectIfMatch: true, requireIfMatch: false })],
];

type RegistryFault = Omit<Fault, 'path'> & { readonly of: 'file' | 'document' };
const registries: readonly (readonly [string, Partial<Quirks>, RegistryFault | undefined])[] = [
  ['is not named', { noAttributeRegistry: true }, undefined],
  [
    'has another name in its file',
    { registryFileNames: { id: 'BiosRegistry', registry: 'BiosAttributeRegistry.2.0' } },
    undefined,
  ],
  ['has a file that is gone', {}, { of: 'file', status: 404 }],
  ['has a file that can not be read', {}, { of: 'file', status: 500 }],
  ['is gone', {}, { of: 'document', status: 404 }],
  ['is not ready', {}, { of: 'document', status: 503 }],
  ['breaks off', {}, { of: 'document', body: '{"RegistryEntries": {"Attr' }],
  ['is a page', {}, { of: 'document', body: '<html>' }],
  ['has entries that are none', {}, { of: 'document', body: { RegistryEntries: { Attributes: [null, {}, 7] } } }],
  ['calls it read only', { biosFreedBy: { NumCores: ['BootMode', 'Uefi'] } }, undefined],
];

/** Reads what is shown in the end. */
async function setAll(bmc: Rig, hasBios: boolean): Promise<readonly unknown[]> {
  await bmc.management.setBootDevice('pxe', { persistent: false });
  const { bootDevice } = await bmc.management.getBootDevice();
  if (!hasBios || !bmc.bios) return [bootDevice];
  const isListed = (await bmc.bios.getSettings()).some(({ name }) => name === 'NumCores');
  await bmc.bios.applySettings([{ name: 'NumCores', value: '4' }]);
  await bmc.power.setPowerState('power on');
  const { values, pending, failures } = await bmc.bios.getProgress();
  return [bootDevice, isListed, values.get('NumCores'), pending, failures];
}

const allSet = ['pxe', true, '4', [], []];

describe.each(vendorNames)('%s', (vendor) => {
  const { noBiosAttributes = false } = vendors[vendor];
  const open = (quirks: Partial<Quirks>): Promise<Rig> =>
    rig({ quirks: { ...vendors[vendor], ...quirks }, clock: hastyClock, redfish: { retryMs: 1 } });

  test.each(places)('sets device and settings where its settings places %s', async (_, quirks) => {
    const shown = await setAll(await open(quirks(vendor)), !noBiosAttributes);
    expect(shown).toEqual(noBiosAttributes ? ['pxe'] : allSet);
  });

  test.skipIf(noBiosAttributes).each(registries)('sets settings whose registry %s', async (_, quirks, fault) => {
    const bmc = await open(quirks);
    const of = fault?.of === 'document' ? `${biosRegistryPath}.json` : biosRegistryPath;
    if (fault) bmc.simulator.inject({ ...fault, path: new RegExp(`${of.replaceAll('.', '\\.')}$`), times: 99 });
    expect(await setAll(bmc, true)).toEqual(allSet);
  });
});
