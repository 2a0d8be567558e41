import { describe, expect, test } from 'vitest';
import { bootDeviceOf } from '#conductor/drivers/redfish/boot-plans.ts';
import { createRigs, hastyClock, type Rig } from '#conductor/drivers/redfish/testing/rigs.ts';
import type { BootDevice } from '#conductor/model/power-and-boot.ts';
import { errorChain } from '#shared/errors/app-error.ts';
import type { Fault, Quirks } from '#test/simulators/redfish/faults.ts';
import { type VendorName, vendorNames, vendors } from '#test/simulators/redfish/vendors.ts';

/** Requests for a boot override, a boot mode and secure boot are looked at afterwards. */

const { rig: make } = createRigs();
const rig = ({ quirks }: { readonly quirks?: Partial<Quirks> } = {}) =>
  make({ quirks: quirks ?? {}, clock: hastyClock });

const failureOf = (asked: Promise<unknown> | undefined): Promise<string> =>
  Promise.resolve(asked).then(
    () => 'no failure',
    (error: unknown) => errorChain(error),
  );

const once = { persistent: false, bootMode: 'uefi' } as const;

describe.each(vendorNames)('%s', (vendor: VendorName) => {
  const quirks = (more: Partial<Quirks>): Partial<Quirks> => ({ ...vendors[vendor], ...more });

  test('a boot device that is taken and not shown is an error that names both', async () => {
    const { management } = await rig({ quirks: quirks({ bootPatches: 'ignored' }) });
    const failure = await failureOf(management.setBootDevice('pxe', once));
    expect(failure).toMatch(/set boot device pxe at .*does not show it: asked for Pxe Once.*, shown is None Disabled/);
  });

  test('a boot device that is refused and shown is set', async () => {
    const { management } = await rig({ quirks: quirks({ bootPatches: 'refused and done', taskPolls: 0 }) });
    for (const device of ['pxe', 'pxe', 'disk'] as const) {
      await management.setBootDevice(device, once);
      expect(await management.getBootDevice()).toEqual({ bootDevice: device, persistent: false });
    }
  });

  test('a boot mode that falls to legacy is set along', async () => {
    const { management } = await rig({ quirks: quirks({ forgetsBootMode: true }) });
    const hides = vendors[vendor].hidesBootMode;
    await management.setBootDevice('pxe', once);
    expect(await management.getBootDevice()).toEqual({ bootDevice: 'pxe', persistent: false });
    expect(await management.getBootMode?.()).toBe(hides ? undefined : 'uefi');
  });
});

describe('boot device', () => {
  test('a mode that falls to legacy and can not be set is an error', async () => {
    const { management } = await rig({ quirks: { forgetsBootMode: true, rejectBootMode: true } });
    const failure = await failureOf(management.setBootDevice('pxe', once));
    expect(failure).toMatch(/asked for Pxe Once UEFI, shown is Pxe Once Legacy/);
  });

  test.each<[Quirks['bootHolds'], boolean, boolean]>([
    ['Once', true, false],
    ['Continuous', false, true],
  ])('one that is held %s is answered so', async (bootHolds, asked, persistent) => {
    const { management } = await rig({ quirks: { bootHolds } });
    expect(await management.setBootDevice('disk', { persistent: asked })).toEqual({ persistent });
  });

  test('one for all boots that is refused and shown since is set', async () => {
    const { management, simulator } = await rig({ quirks: { bootPatches: 'refused and done' } });
    expect(await management.setBootDevice('disk', { persistent: true })).toEqual({ persistent: true });
    expect(simulator.requests.filter(({ method }) => method === 'PATCH')).toHaveLength(1);
  });

  test('a used-up one that is still shown is no success where all is refused', async () => {
    const { management, simulator } = await rig();
    await management.setBootDevice('disk', { persistent: true });
    simulator.inject({ method: 'PATCH', path: /Systems\/1$/, status: 400, times: 99 });
    expect(await failureOf(management.setBootDevice('disk', { persistent: true }))).toMatch(/answered 400/);
  });

  test.each([500, 400, 409])('another way is tried after %i', async (status) => {
    const { management, simulator, machine } = await rig();
    simulator.inject({ method: 'PATCH', path: /Systems\/1$/, status });
    await management.setBootDevice('pxe', { persistent: false, bootMode: 'bios' });
    expect(await machine.getBoot()).toMatchObject({ device: 'pxe', once: true });
  });

  test.each([true, false])(
    'a passing failure takes nothing from what was asked for, for all boots: %s',
    async (persistent) => {
      const { management, simulator } = await rig();
      simulator.inject({ method: 'PATCH', path: /Systems\/1$/, status: 500 });
      await management.setBootDevice('pxe', { persistent, bootMode: 'bios' });
      expect(await management.getBootDevice()).toEqual({ bootDevice: 'pxe', persistent });
      expect(await management.getBootMode?.()).toBe('bios');
    },
  );

  test('a task that the BMC forgets is judged by what is shown', async () => {
    const { management, simulator } = await rig({ quirks: { tasks: true } });
    simulator.inject({ method: 'GET', path: /TaskMonitors/, status: 404, times: 9 });
    await management.setBootDevice('pxe', once);
    expect(await management.getBootDevice()).toMatchObject({ bootDevice: 'pxe' });
  });

  test('one that the machine does not offer is known without a try', async () => {
    const bootTargets = ['None', 'Pxe', 'BiosSetup', 'UefiTarget', 'UefiHttp'];
    const { management, simulator } = await rig({ quirks: { bootTargets } });
    const check = (device: BootDevice): Promise<string> => failureOf(management.checkBootDevice?.(device));
    expect(await check('disk')).toMatch(/boot device disk: the BMC offers None, Pxe, BiosSetup, UefiTarget, UefiHttp/);
    expect(await check('pxe')).toBe('no failure');
    expect(simulator.requests.filter(({ method }) => method === 'PATCH')).toEqual([]);
  });
});

test.each<[Record<string, unknown>, object]>([
  [
    { BootSourceOverrideTarget: 'Usb', BootSourceOverrideEnabled: 'Continuous' },
    { persistent: true, other: 'Usb' },
  ],
  [
    { BootSourceOverrideTarget: 'Usb', BootSourceOverrideEnabled: 'Once' },
    { persistent: false, other: 'Usb' },
  ],
  [{ BootSourceOverrideTarget: 'Usb' }, { other: 'Usb' }],
  [
    { BootSourceOverrideTarget: null, BootSourceOverrideEnabled: 'Once' },
    { other: expect.stringContaining('not show'), persistent: false },
  ],
  [{ BootSourceOverrideTarget: 'Usb', BootSourceOverrideEnabled: 'Disabled' }, {}],
  [{ BootSourceOverrideTarget: 'None', BootSourceOverrideEnabled: 'Once' }, {}],
  [{ BootSourceOverrideTarget: null, BootSourceOverrideEnabled: null }, {}],
])('a boot device without a name here is told from none: %j', (boot, shown) => {
  expect(bootDeviceOf(boot)).toEqual({ bootDevice: undefined, ...shown });
});

describe.each<[string, Omit<Fault, 'path'>, Omit<Fault, 'path'>]>([
  ...[403, 404, 405, 500, 502, 503, 504].map(
    (status) => [`answered ${status}`, { actsAs: status }, { status }] as const satisfies [string, object, object],
  ),
  ['got no answer', { dropAnswer: true }, { drop: true }],
])('a request that %s', (words, whenDone, whenNot) => {
  const asks: readonly [string, RegExp, (bmc: Rig) => Promise<unknown> | undefined, (bmc: Rig) => Promise<unknown>][] =
    [
      [
        'a boot device',
        /Systems\/1$/,
        (bmc) => bmc.management.setBootDevice('pxe', once),
        async (bmc) => (await bmc.management.getBootDevice()).bootDevice === 'pxe',
      ],
      [
        'a boot mode',
        /Systems\/1$/,
        (bmc) => bmc.firmwareBoot?.setBootMode('bios'),
        async (bmc) => (await bmc.firmwareBoot?.read())?.bootMode === 'bios',
      ],
      [
        'secure boot',
        /SecureBoot$/,
        (bmc) => bmc.firmwareBoot?.setSecureBoot(true),
        async (bmc) => (await bmc.firmwareBoot?.read())?.secureBoot === true,
      ],
    ];

  test.each(asks)('has set %s where the BMC shows that', async (_what, path, ask, isSet) => {
    const bmc = await rig();
    bmc.simulator.inject({ method: 'PATCH', path, ...whenDone, times: 99 });
    await ask(bmc);
    expect(await isSet(bmc)).toBe(true);
  });

  test.each(asks)('has not set %s where it does not', async (_what, path, ask, isSet) => {
    const bmc = await rig();
    bmc.simulator.inject({ method: 'PATCH', path, ...whenNot, times: 99 });
    expect(await failureOf(ask(bmc))).toContain(words);
    expect(await isSet(bmc)).toBe(false);
  });
});

test('a lost answer is the failure where the BMC shows nothing, either', async () => {
  const { management, simulator } = await rig();
  await management.getBootDevice();
  simulator.inject({ method: 'PATCH', path: /Systems\/1$/, status: 502, times: 99 });
  simulator.inject({ method: 'GET', path: /Systems\/1$/, status: 503, times: 99 });
  const read = simulator.requests.length;
  expect(await failureOf(management.setBootDevice('pxe', once))).toContain('answered 50');
  expect(simulator.requests.length).toBeGreaterThan(read);
});

describe('where the boot override is written', () => {
  const asrock = {
    manufacturer: 'ASRockRack',
    bootViaSettings: true,
    unlinkedSettings: true,
    requireIfMatch: true,
    paths: { '/redfish/v1/Systems/1/Settings': '/redfish/v1/Systems/1/SD' },
  };

  test.each(['ASRockRack', 'of a maker nobody knows'])('AMI names it in its refusal: %s', async (manufacturer) => {
    const { management, simulator, power, machine } = await rig({ quirks: { ...asrock, manufacturer } });
    await management.setBootDevice('pxe', { persistent: true });
    expect(simulator.requests.findLast(({ method }) => method === 'PATCH')?.path).toBe('/redfish/v1/Systems/1/SD');
    expect(await management.getBootDevice()).toMatchObject({ bootDevice: 'pxe' });
    await power.setPowerState('power on');
    expect(await machine.getBoot()).toMatchObject({ device: 'pxe', once: false });
  });

  test('AMI behind NAT names it with its inner address, and a query: it is asked for at the BMC itself', async () => {
    const { management, simulator } = await rig({ quirks: { ...asrock, manufacturer: 'Nobody' } });
    const text = 'moved to FutureState URI(http://10.9.9.9/redfish/v1/Systems/1/SD?part=boot)';
    const info = { MessageId: 'Ami.1.0.OperationSupportedInFutureStateURI', Message: text };
    const body = { error: { code: 'Base.1.0.GeneralError', '@Message.ExtendedInfo': [info] } };
    // it isn't where others have it
    simulator.inject({ method: 'GET', path: /Systems\/1\/(SD|Settings)$/, status: 404, times: 2 });
    simulator.inject({ method: 'PATCH', path: /Systems\/1$/, status: 400, body });
    await management.setBootDevice('pxe', { persistent: true });
    const patched = simulator.requests.findLast(({ method }) => method === 'PATCH');
    expect(`${patched?.path}${patched?.query}`).toBe('/redfish/v1/Systems/1/SD?part=boot');
  });

  test('a settings resource that does not exist is looked for once, whatever the BMC says of it', async () => {
    const { management, simulator } = await rig();
    simulator.inject({ method: 'GET', path: /Systems\/1\/(SD|Settings)$/, status: 500, times: 99 });
    await management.getBootDevice();
    await management.getBootDevice();
    const asked = simulator.requests.map(({ path }) => path.split('/').at(-1));
    expect(new Set(asked.filter((name) => name === 'SD' || name === 'Settings'))).toEqual(new Set(['SD', 'Settings']));
    const before = simulator.requests.length;
    await management.getBootDevice();
    expect(simulator.requests.slice(before).map(({ path }) => path)).toEqual(['/redfish/v1/Systems/1']);
  });

  test.each(['https://198.51.100.7/redfish/v1/Systems/1/SD', '//198.51.100.7/SD'])(
    '%s is not followed',
    async (uri) => {
      const { management, simulator } = await rig();
      const error = {
        code: 'Ami.1.0.OperationSupportedInFutureStateURI',
        '@Message.ExtendedInfo': [
          {
            MessageId: 'Ami.1.0.OperationSupportedInFutureStateURI',
            Message: `Support of this Operation is moved to FutureState URI(${uri})`,
          },
        ],
      };
      simulator.inject({ method: 'PATCH', path: /Systems\/1$/, status: 400, body: { error }, times: 9 });
      expect(await failureOf(management.setBootDevice('pxe', once))).toMatch(/moved to FutureState URI/);
      expect(simulator.requests.map(({ path }) => path)).not.toContain('/SD');
    },
  );

  test('a link that leads to nothing is none', async () => {
    const { management, firmwareBoot } = await rig({ quirks: { deadSettingsLinks: true } });
    await management.setBootDevice('disk', { persistent: true });
    expect(await management.getBootDevice()).toEqual({ bootDevice: 'disk', persistent: true });
    await firmwareBoot?.setBootMode('bios');
    expect(await firmwareBoot?.read()).toMatchObject({ bootMode: 'bios' });
  });

  test.each([
    [428, 'Base.1.8.PreconditionRequired'],
    [400, 'Ami.1.0.PreconditionHeaderMissing'],
  ])('one that wants If-Match by %i gets it', async (status, id) => {
    const { management, simulator, machine } = await rig();
    const message = 'The request did not provide the required precondition, such as an If-Match header.';
    const error = { code: id, message, '@Message.ExtendedInfo': [{ MessageId: id, Message: message }] };
    simulator.inject({ method: 'PATCH', path: /Systems\/1$/, status, body: { error } });
    await management.setBootDevice('pxe', once);
    expect(await machine.getBoot()).toMatchObject({ device: 'pxe' });
  });
});

describe('boot mode and secure boot', () => {
  test('a mode that is taken and not shown is an error that names both', async () => {
    const { firmwareBoot } = await rig({ quirks: { bootPatches: 'ignored' } });
    expect(await failureOf(firmwareBoot?.setBootMode('bios'))).toMatch(
      /set boot mode bios at .*asked for boot mode Legacy, shown is UEFI/,
    );
  });

  test('a mode that is refused and there is set', async () => {
    const { firmwareBoot } = await rig({ quirks: { rejectBootMode: true } });
    await firmwareBoot?.setBootMode('uefi');
    expect(await firmwareBoot?.read()).toMatchObject({ bootMode: 'uefi' });
  });

  test('a place that shows nothing of the mode does not hide that it was not set', async () => {
    const { firmwareBoot, management, simulator } = await rig({ quirks: { bootPatches: 'ignored' } });
    simulator.inject({ method: 'GET', path: /Systems\/1\/Settings$/, body: { Id: 'Settings' }, times: 99 });
    simulator.inject({ method: 'PATCH', path: /Systems\/1\/Settings$/, status: 204, times: 99 });
    expect(await failureOf(firmwareBoot?.setBootMode('bios'))).toMatch(/asked for boot mode Legacy, shown is UEFI/);
    expect(await failureOf(management.setBootDevice('pxe', once))).toMatch(/asked for Pxe Once.*, shown is None/);
  });

  test('secure boot that is taken and not shown is an error that names both', async () => {
    const { firmwareBoot } = await rig({ quirks: { secureBootPatches: 'ignored' } });
    expect(await failureOf(firmwareBoot?.setSecureBoot(true))).toMatch(
      /switch secure boot on at .*asked for secure boot on, shown is off/,
    );
  });

  test('where the BMC says that it takes a reset it need not be shown before', async () => {
    const { firmwareBoot } = await rig({ quirks: { secureBootPatches: 'at the reset' } });
    expect(await failureOf(firmwareBoot?.setSecureBoot(true))).toBe('no failure');
  });
});
