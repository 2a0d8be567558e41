import { Writable } from 'node:stream';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { createDrivers } from '#conductor/drivers/table/registry.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { silentLog } from '#shared/log.ts';
import { run } from '#shared/process/run.ts';
import { createMemoryMachine } from '#test/simulators/redfish/machine.ts';
import { startRedfishSimulator } from '#test/simulators/redfish/simulator.ts';
import { testSecrets } from '#test/support/test-secrets.ts';

const drivers = createDrivers({ run, log: silentLog, secrets: testSecrets });

test('an unknown driver is not found, and the known ones are named', () => {
  expect(() => drivers.connect({ uuid: 'n', driver: 'ilo', driverInfo: {}, powerHold: null })).toThrow(
    /ilo is not known.*redfish, idrac, ipmi, fake-hardware/,
  );
});

test('each call is logged with action, duration and outcome', async () => {
  const lines: Record<string, unknown>[] = [];
  const sink = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      lines.push(JSON.parse(chunk.toString()) as Record<string, unknown>);
      done();
    },
  });
  const logged = createDrivers(
    { run, log: pino(sink), secrets: testSecrets },
    {
      fake: {
        beforeAction: (action) => {
          if (action === 'setBootDevice') throw new AppError('bmc_error', 'on purpose');
        },
      },
    },
  );
  const bmc = logged.connect({
    uuid: 'n',
    driver: 'fake-hardware',
    powerHold: null,
    driverInfo: { redfish_password: 'hidden' },
  });
  await bmc.power.setPowerState('power on');
  await expect(bmc.management.setBootDevice('pxe', { persistent: false })).rejects.toThrow('on purpose');
  expect(lines).toMatchObject([
    { driver: 'fake-hardware', action: 'set power state', target: 'power on', outcome: 'done' },
    { driver: 'fake-hardware', action: 'set boot device', bootDevice: 'pxe', outcome: 'bmc_error' },
  ]);
  expect(lines[0]).toHaveProperty('durationMs');
  expect(JSON.stringify(lines)).not.toContain('hidden');
});

test('while power is held nothing stops the system of the machine', async () => {
  const powerHold = { step: 's', until: '2999-01-01T00:00:00Z', why: 'firmware.flash may be under way' };
  const { management } = drivers.connect({ uuid: 'n', driver: 'fake-hardware', driverInfo: {}, powerHold });
  await expect(management.injectNmi?.()).rejects.toThrow(/a non-maskable interrupt: not before 2999.*firmware\.flash/);
});

test('32 BMCs are inspected at once, and the others when their turn comes', async () => {
  const login = { username: 'admin', password: 'secret' };
  const bmcs = await Promise.all(
    Array.from({ length: 40 }, () => startRedfishSimulator({ ...login, machine: createMemoryMachine() })),
  );
  const asked = () => bmcs.filter(({ counters }) => counters.requests > 0).length;
  const connect = ({ address }: { readonly address: string }, index: number) => {
    const driverInfo = { redfish_address: address, redfish_username: 'admin', redfish_password: 'secret' };
    return drivers.connect({ uuid: `n${index}`, driver: index % 2 ? 'redfish' : 'idrac', driverInfo, powerHold: null });
  };
  const [free, ...frozen] = bmcs;
  try {
    for (const bmc of frozen) bmc.freeze();
    const reads = frozen.map((bmc, index) => connect(bmc, index).inspection!.readMachine());
    await expect.poll(asked).toBe(32);
    // whatever would have begun with them is heard before this has ended
    await connect(free!, 99).power.getPowerState();
    expect(asked()).toBe(33);
    for (const bmc of frozen) bmc.thaw();
    await Promise.all(reads);
    expect(asked()).toBe(40);
  } finally {
    for (const bmc of bmcs) await bmc.close();
  }
});
