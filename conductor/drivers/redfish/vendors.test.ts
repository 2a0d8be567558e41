import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import type { Bmc } from '#conductor/drivers/interfaces.ts';
import { redfishHardwareType } from '#conductor/drivers/redfish/redfish.ts';
import { createInstantClock } from '#conductor/drivers/redfish/testing/rigs.ts';
import { vendorContracts } from '#conductor/drivers/redfish/testing/vendor-contracts.ts';
import type { Clock } from '#shared/clock.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { silentLog } from '#shared/log.ts';
import { run } from '#shared/process/run.ts';
import { type Quirks, standardQuirks } from '#test/simulators/redfish/faults.ts';
import { createMemoryMachine } from '#test/simulators/redfish/machine.ts';
import { type RedfishSimulator, startRedfishSimulator } from '#test/simulators/redfish/simulator.ts';
import { type VendorName, vendorNames, vendors } from '#test/simulators/redfish/vendors.ts';

/** Every call of the driver at BMCs that differ as vendors' published trees do. */

interface Rig extends Bmc {
  readonly simulator: RedfishSimulator;
  readonly isOn: () => Promise<boolean>;
  /** Gives the image in the machine's CD drive. */
  readonly inDrive: () => string | undefined;
  close(): Promise<void>;
}

const open = new Set<Rig>();
afterEach(async () => {
  for (const each of open) await each.close();
});

async function rig(
  vendor: VendorName,
  { quirks = {}, clock }: { quirks?: Partial<Quirks>; clock?: Clock } = {},
): Promise<Rig> {
  let inDrive: string | undefined;
  const machine = { ...createMemoryMachine(), setMedia: (url: string | undefined): void => void (inDrive = url) };
  const login = { username: 'admin', password: 'open sesame' };
  const simulator = await startRedfishSimulator({ machine, ...login, quirks: { ...vendors[vendor], ...quirks } });
  const type = redfishHardwareType(
    { run, log: silentLog, ...(clock ? { clock } : {}) },
    { retryMs: 5, timings: { pollMs: 5, resendAfterMs: 100 } },
  );
  const bmc = type.connect({
    redfish_address: simulator.address,
    redfish_username: login.username,
    redfish_password: login.password,
  });
  const made: Rig = {
    ...bmc,
    simulator,
    isOn: async () => (await machine.getPower()) === 'on',
    inDrive: () => inDrive,
    close: async () => {
      open.delete(made);
      await type.close?.();
      await simulator.close();
    },
  };
  open.add(made);
  return made;
}

function part<Name extends keyof Bmc>(bmc: Bmc, name: Name): NonNullable<Bmc[Name]> {
  const found = bmc[name];
  if (!found) throw new AppError('internal', `the redfish driver has no ${name}`);
  return found;
}

const noFile = () => Promise.reject(new AppError('internal', 'the BMC was to fetch it'));

for (const vendor of vendorNames) vendorContracts(vendor, vendor, () => rig(vendor));

test('what a BMC lacks is empty, or refused in words', async () => {
  const { bios: settings, raid } = await rig('OpenBMC');
  expect(await settings?.getSettings()).toEqual([]);
  expect(await raid?.getControllers()).toEqual([]);
  const { virtualMedia } = await rig('BlueField');
  await expect(virtualMedia?.insert('https://192.0.2.9/one.iso')).rejects.toMatchObject({ code: 'not_supported' });
});

describe.each(vendorNames)('%s', (vendor) => {
  test('restarts its BMC, sets its clock', async () => {
    const { management, simulator } = await rig(vendor);
    await management.setBmcClock?.(new Date('2030-01-02T03:04:05Z'));
    await management.resetBmc?.();
    expect(simulator.counters.bmcResets).toBe(1);
    expect(simulator.requests.map(({ body }) => body)).toContain('{"DateTime":"2030-01-02T03:04:05+00:00"}');
  });

  test('resets the secure boot keys and interrupts the machine, where it can', async () => {
    const { management, power, simulator } = await rig(vendor);
    await power.setPowerState('power on');
    const { noSecureBoot = false, resetTypes = [] } = vendors[vendor];
    const came = await Promise.allSettled([management.resetSecureBootKeys?.('none'), management.injectNmi?.()]);
    const refused = { status: 'rejected', reason: { code: 'not_supported' } };
    const done = { status: 'fulfilled' };
    const interrupted = resetTypes.includes('Nmi');
    expect(came).toMatchObject([noSecureBoot ? refused : done, interrupted ? done : refused]);
    expect(simulator.counters.nmis).toBe(interrupted ? 1 : 0);
  });

  test('tells what its sensors read and what its log says, and switches its lamp', async () => {
    const made = await rig(vendor);
    const readings = await made.management.getSensors?.();
    expect(readings).toContainEqual({
      name: 'CPU 1 Temp',
      kind: 'temperature',
      value: 92.5,
      unit: 'Cel',
      health: 'warning',
    });
    expect(readings?.map(({ name }) => name)).toEqual(['Ambient Temp', 'CPU 1 Temp', 'Fan 1', 'Input Power']);
    expect(await made.management.getEventLog?.(1)).toEqual([
      { at: '2026-11-24T18:00:02.000Z', severity: 'critical', message: 'Power supply 1 lost its input.' },
    ]);
    const lamps = part(made, 'indicators');
    const all = await lamps.list();
    const names = all.map(({ component, name }) => `${name}@${component}`);
    expect(names).toEqual(['led@system', 'led@chassis', ...[0, 1, 2, 3, 4, 5].map((bay) => `Disk.Bay.${bay}@drive`)]);
    expect(all.map(({ state }) => state)).toEqual(all.map(() => 'OFF'));
    const stateOf = async (place: string) => (await lamps.list()).find((each) => each.place === place)?.state;
    for (const lamp of [0, 1, 5].flatMap((index) => all[index] ?? [])) {
      for (const state of lamp.states) {
        await lamps.set(lamp, state);
        expect(await stateOf(lamp.place)).toBe(state);
      }
    }
  });

  test.skipIf(vendors[vendor].virtualMedia === 'none')('fills and empties the CD drive', async () => {
    const made = await rig(vendor);
    const media = part(made, 'virtualMedia');
    const url = 'https://192.0.2.9/one.iso';
    await media.insert(url);
    expect(made.inDrive()).toBe(url);
    await made.management.setBootDevice('cdrom', { persistent: false });
    expect(await made.management.getBootDevice()).toMatchObject({ bootDevice: 'cdrom' });
    await media.eject();
    expect(made.inDrive()).toBeUndefined();
  });

  describe.skipIf(vendors[vendor].virtualMedia === 'none')('its virtual media', () => {
    const { slots = standardQuirks.slots, media: ways = {} } = vendors[vendor];
    const cd = slots.find(({ types, refuses }) => refuses === undefined && types?.includes('CD'));
    const held = { image: 'http://192.0.2.7/left.iso', via: 'URI' } as const;
    const console = { image: '//client/os.iso', via: 'Applet', isKept: true } as const;
    test.each<[string, Partial<Quirks>]>([
      ['names no types', { slots: slots.map((slot) => (slot === cd ? { ...slot, types: null } : slot)) }],
      ['is taken in the first slot', { slots: [{ id: 'taken', types: ['CD'], holds: console }, ...slots] }],
      ['is left full', { slots: slots.map((slot) => ({ ...slot, holds: slot === cd ? held : console })) }],
      ['leads nowhere first', { slots: [{ id: 'gone', types: ['CD'], unreadable: 404 }, ...slots] }],
      ['refuses in the first slot', { slots: [{ id: 'inner', types: ['CD'], refuses: 400 }, ...slots] }],
      ['shows names that were left', { media: { ...ways, shows: 'left over' } }],
      ['is always full', { media: { ...ways, shows: 'always in' } }],
      ['is empty until it is read', { media: { ...ways, shows: 'unread' } }],
      [
        'wants a login',
        { media: { ...ways, needs: ['UserName', 'Password'], refusal: { status: 400, named: 'as related' } } },
      ],
      ['wants how', { media: { ...ways, needs: ['TransferProtocolType', 'TransferMethod'] } }],
      [
        'fails without',
        { media: { ...ways, needs: ['TransferProtocolType'], refusal: { status: 500, named: 'nowhere' } } },
      ],
      ['is slow to empty', { media: { ...ways, busyAfterEject: 2 } }],
      ['refuses when it is empty', { media: { ...ways, ejectsFullOnly: true } }],
      ['names its manager otherwise', { managedBy: 'Managers' }],
      ['names no manager', { managedBy: 'nowhere' }],
    ])('is filled, and emptied, where it %s', async (_, quirks) => {
      const made = await rig(vendor, { quirks, clock: createInstantClock() });
      const media = part(made, 'virtualMedia');
      for (const url of ['https://192.0.2.9/one.iso', 'http://192.0.2.9/two.iso']) {
        await media.insert(url, { replaces: (image) => image.includes('one.iso') });
        expect(made.inDrive()).toBe(url);
      }
      await media.eject({ only: (image) => image.includes('two.iso') });
      expect(made.inDrive()).not.toBe('http://192.0.2.9/two.iso');
    });
  });

  test.skipIf(vendors[vendor].noVolumes)('makes and deletes volumes', async () => {
    const made = await rig(vendor);
    const raid = part(made, 'raid');
    const restart = (): Promise<void> => made.power.setPowerState('rebooting');
    const [controller] = await raid.getControllers();
    if (!controller) throw new AppError('internal', 'no controller');
    const drives = controller.drives.slice(0, 2);
    await raid.createVolume({ controller, level: '1', drives, name: 'root', sizeBytes: undefined });
    await restart();
    const [full] = await raid.getControllers();
    expect(full?.volumes).toMatchObject([{ level: '1', drives: drives.map(({ path }) => path) }]);
    for (const volume of full?.volumes ?? []) await raid.deleteVolume(controller, volume);
    await restart();
    expect((await raid.getControllers())[0]?.volumes).toEqual([]);
  });

  test('updates the firmware', async () => {
    const made = await rig(vendor);
    const firmware = part(made, 'firmware');
    const url = 'http://192.0.2.9/bios-2.0.0.bin';
    const { before, task } = await firmware.startUpdate({ component: 'bios', url, mustPush: false }, noFile);
    expect(before).toBe('1.0.0');
    await made.power.setPowerState('rebooting');
    await expect.poll(async () => task && (await firmware.getUpdateProgress(task)).state).toBe('done');
    expect((await firmware.getComponents()).components).toContainEqual({ component: 'bios', version: '2.0.0' });
  });

  test('takes an image that is sent to it, where it can', async () => {
    const made = await rig(vendor);
    const firmware = part(made, 'firmware');
    const folder = await mkdtemp(join(tmpdir(), 'baton-vendors-'));
    const file = join(folder, 'nic-3.0.0.bin');
    await writeFile(file, 'firmware of a network card');
    const update = { component: 'nic:NIC.Slot.1', url: 'http://192.0.2.9/nic-3.0.0.bin', mustPush: true };
    const came = await Promise.allSettled([firmware.startUpdate(update, (use) => use(file))]);
    await rm(folder, { recursive: true });
    await made.power.setPowerState('rebooting');
    const canPush = vendors[vendor].multipartPush ?? true;
    expect(came).toMatchObject([
      canPush ? { status: 'fulfilled' } : { status: 'rejected', reason: { code: 'not_supported' } },
    ]);
    const version = canPush ? '3.0.0' : '1.0.0';
    expect((await firmware.getComponents()).components).toContainEqual({ component: 'nic:NIC.Slot.1', version });
  });
});
