import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type PushTarget, pushForms } from '#conductor/drivers/redfish/push.ts';
import { createRigs, type Rig } from '#conductor/drivers/redfish/testing/rigs.ts';
import { AppError, errorChain } from '#shared/errors/app-error.ts';
import type { Quirks } from '#test/simulators/redfish/faults.ts';
import { vendors } from '#test/simulators/redfish/vendors.ts';

const { rig } = createRigs();
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'baton-push-'));
});
afterAll(() => rm(folder, { recursive: true }));

async function push(bmc: Rig, component: 'bios' | 'bmc' | 'NIC.Slot.1', content?: string): Promise<void> {
  const name = `${component === 'NIC.Slot.1' ? 'nic' : component}-3.0.0.bin`;
  const path = join(folder, name);
  await writeFile(path, content ?? `firmware of ${name}`);
  if (!bmc.firmware) throw new AppError('internal', 'the redfish driver has no firmware');
  await bmc.firmware.startUpdate({ component, url: `http://192.0.2.7/${name}`, mustPush: true }, (use) => use(path));
  await bmc.power.setPowerState('rebooting');
  expect((await bmc.firmware.getComponents()).components).toContainEqual({ component, version: '3.0.0' });
}

const uploads = ({ simulator }: Rig) =>
  simulator.requests.filter(({ method, path }) => method === 'POST' && /upload$|UpdateService$/i.test(path));

const forms: readonly Quirks['pushForm'][] = [
  'no targets',
  'an empty list',
  'an item',
  'the resource',
  'an item and its type',
];

describe('a BMC takes an image in its own form, of any maker', () => {
  test.each(forms)('with %s', async (pushForm) => {
    const bmc = await rig({ quirks: { pushForm } });
    await push(bmc, 'bios');
    await push(bmc, 'bmc');
    expect(uploads(bmc).length).toBeGreaterThan(1);
  });
});

test.each(['Supermicro', 'Gigabyte', 'DGX'] as const)("%s gets its maker's form first", async (vendor) => {
  const bmc = await rig({ quirks: vendors[vendor] });
  await push(bmc, 'bios');
  expect(uploads(bmc)).toHaveLength(1);
  await push(bmc, 'bmc');
  expect(uploads(bmc)).toHaveLength(2);
});

test("an item's image is never sent without it, and once", async () => {
  const bmc = await rig({ quirks: { pushForm: 'an empty list' } });
  await push(bmc, 'NIC.Slot.1');
  await expect(push(bmc, 'NIC.Slot.1', 'no image')).rejects.toThrow('update NIC.Slot.1 at');
  expect(uploads(bmc).map(({ body }) => /"Targets":(\[.*?\])/.exec(body)?.[1])).toEqual(
    Array(2).fill('["/redfish/v1/UpdateService/FirmwareInventory/NIC.Slot.1"]'),
  );
});

test('an image that no form makes right is refused in the words for the first', async () => {
  const bmc = await rig();
  await expect(push(bmc, 'bios', 'no image')).rejects.toMatchObject({ code: 'bmc_error' });
});

test('what is no refusal ends it: the image may be at work', async () => {
  const bmc = await rig();
  bmc.simulator.inject({ method: 'POST', path: /upload$/, status: 500 });
  await expect(push(bmc, 'bios')).rejects.toMatchObject({ code: 'bmc_error' });
  bmc.simulator.inject({ method: 'POST', path: /upload$/, drop: true });
  await expect(push(bmc, 'bios')).rejects.toMatchObject({ code: 'unavailable' });
  expect(uploads(bmc)).toHaveLength(2);
});

test('documents of the form have no file names, and it is sent whole once more to a BMC that is busy', async () => {
  const bmc = await rig();
  bmc.simulator.inject({ method: 'POST', path: /upload$/, status: 503 });
  await push(bmc, 'bios', `firmware of bios-3.0.0.bin${'x'.repeat(300_000)}`);
  const [first, second] = uploads(bmc);
  expect(second?.body).toBe(first?.body);
  expect(first?.body).toContain('Content-Disposition: form-data; name="UpdateParameters"\r\n');
  expect(first?.body).toContain('name="UpdateFile"; filename="bios-3.0.0.bin"\r\n');
  expect(first?.headers['content-length']).toBe(String(first?.body.length));
});

describe('a BMC that takes images as they are', () => {
  const only: Partial<Quirks> = { rawPush: true, multipartPush: false, simpleUpdate: 'none' };

  test('gets them', async () => {
    const bmc = await rig({ quirks: only });
    await push(bmc, 'bios');
    await push(bmc, 'bmc');
    expect(uploads(bmc)).toHaveLength(2);
  });

  test.each([
    ['for one part', 'NIC.Slot.1', {}, 'takes no image for one part'],
    ['that are set up for another', 'bios', { rawPushTargets: ['/redfish/v1/Chassis/7'] }, 'set up for /redfish/v1/Ch'],
    ['where there is none', 'bios', { rawPush: false, simpleUpdate: 'by its URL' as const }, 'no MultipartHttpPushUri'],
  ] as const)('gets none %s', async (_what, component, quirks, words) => {
    const bmc = await rig({ quirks: { ...only, ...quirks } });
    const refusal = await push(bmc, component).catch(errorChain);
    expect(refusal).toContain(words);
    expect(uploads(bmc)).toEqual([]);
  });
});

test('one item of the inventory that can not be read keeps no other from its update, and is named', async () => {
  const bmc = await rig();
  bmc.simulator.inject({ method: 'GET', path: /FirmwareInventory\/BIOS$/, status: 404, times: 100 });
  await push(bmc, 'NIC.Slot.1');
  const missing = { component: 'BIOS', url: 'http://192.0.2.7/bios-3.0.0.bin', mustPush: false };
  await expect(bmc.firmware?.startUpdate(missing, (use) => use(''))).rejects.toThrow(
    'could not be read: /redfish/v1/UpdateService/FirmwareInventory/BIOS',
  );
});

test("of AMI's two images the first is for itself, or both", () => {
  const items = ['BMCImage1', 'BMCImage2'].map((name) => `/redfish/v1/UpdateService/FirmwareInventory/${name}`);
  const target: PushTarget = { item: undefined, known: { type: 'BMC', resource: '/redfish/v1/Managers/Self', items } };
  const [first, second, ...others] = pushForms(target, [{ Manufacturer: 'Lenovo' }, { Manufacturer: 'AMI' }]);
  const oem = { ImageType: 'BMC' };
  expect([first, second]).toEqual([
    { parameters: { Targets: items.slice(0, 1) }, oem },
    { parameters: { Targets: items }, oem },
  ]);
  expect(others.map(({ parameters }) => parameters)).toEqual([
    {},
    { Targets: [] },
    { Targets: items.slice(0, 1) },
    { Targets: items },
    { Targets: ['/redfish/v1/Managers/Self'] },
  ]);
});
