import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { redfishHardwareType } from '#conductor/drivers/redfish/redfish.ts';
import { silentLog } from '#shared/log.ts';
import { run } from '#shared/process/run.ts';
import { createBmcCertificate } from '#test/simulators/redfish/certificate.ts';
import { type Quirks, standardQuirks } from '#test/simulators/redfish/faults.ts';
import { createMemoryMachine } from '#test/simulators/redfish/machine.ts';
import { type RedfishSimulator, startRedfishSimulator } from '#test/simulators/redfish/simulator.ts';
import { vendorNames, vendors } from '#test/simulators/redfish/vendors.ts';

/** The Redfish simulator against an independent client (Debian: python3-sushy), so that both sides are not our own reading. */

async function driveWithSushy(how: 'session' | 'basic', quirks: Partial<Quirks>): Promise<unknown> {
  const machine = createMemoryMachine();
  const tls = createBmcCertificate('127.0.0.1');
  const simulator = await startRedfishSimulator({ machine, username: 'admin', password: 'secret', tls, quirks });
  const folder = await mkdtemp(join(tmpdir(), 'baton-sushy-'));
  try {
    const authority = join(folder, 'bmc.pem');
    await writeFile(authority, tls.cert);
    const client = join(import.meta.dirname, 'redfish-client.py');
    const result = await run('/usr/bin/python3', [client, simulator.address, 'admin', 'secret', how, authority], {
      // python-requests puts this variable above what its caller asks for
      env: { REQUESTS_CA_BUNDLE: authority },
    });
    expect(simulator.counters.logins).toBe(how === 'session' ? 1 : 0);
    expect(machine.actions.slice(0, 4)).toEqual(['on', 'off', 'on', 'graceful']);
    return { ...(JSON.parse(result.stdout) as object), authority: tls.cert.trim() };
  } finally {
    await simulator.close();
    await rm(folder, { recursive: true });
  }
}

const expected = {
  redfish_version: '1.11.0',
  systems: ['/redfish/v1/Systems/1'],
  system: {
    identity: '1',
    manufacturer: 'Baton',
    memory_gib: 16,
    resets: ['ForceOff', 'ForceOn', 'ForceRestart', 'GracefulRestart', 'GracefulShutdown', 'On', 'PushPowerButton'],
    boot_sources: ['BiosSetup', 'Cd', 'Hdd', 'None', 'Pxe', 'UefiHttp'],
    managers: ['1'],
    chassis: ['1'],
  },
  power: expect.arrayContaining(['On', 'Off', 'On', 'Off']) as unknown,
  bios_registry: ['Integer', 1, 8, true],
  boot: [
    ['Pxe', 'Once', 'UEFI'],
    ['Hdd', 'Continuous', 'Legacy'],
  ],
  media: [
    ['CD', 'https://192.0.2.9/medium.iso', true],
    ['CD', null, false],
  ],
  firmware: [
    ['BIOS', '1.0.0'],
    ['BMC', '1.0.0'],
    ['NIC.Slot.1', '1.0.0'],
    ['before the reset', '1.0.0'],
    ['after the reset', '2.0.0'],
  ],
  sensors: [
    ['Ambient Temp', 19],
    ['CPU 1 Temp', 92.5],
  ],
  lamp: 'Blinking',
  events: ['1', 'https://192.0.2.9/events', 'rack 1', ['Alert'], []],
  missing: 404,
  registry: ['Base', '1.8.0', true],
};

const bios = {
  bios: [
    ['Performance', 4, false],
    ['Performance', 4, false],
    ['PerfPerWatt', 8, true],
  ],
  bios_refused: expect.stringContaining('NumCores is out of range') as unknown,
};

interface Seen {
  readonly drives: readonly string[];
}

/** Reads with our driver what sushy has read and set, in sushy's words. */
async function readWithDriver(simulator: RedfishSimulator) {
  const type = redfishHardwareType({ run, log: silentLog });
  const { address } = simulator;
  const bmc = type.connect({ redfish_address: address, redfish_username: 'admin', redfish_password: 'secret' });
  try {
    const components = (await bmc.firmware?.getComponents())?.components ?? [];
    // what sushy has set; where it stands in a Settings resource, sushy does not read it
    expect(await bmc.management.getBootDevice()).toEqual({ bootDevice: 'pxe', persistent: false });
    return {
      power: (await bmc.power.getPowerState()) === 'power on' ? 'On' : 'Off',
      bios: Object.fromEntries((await bmc.bios?.getProgress())?.values ?? []),
      secure_boot: (await bmc.firmwareBoot?.read())?.secureBoot ?? null,
      firmware: components.filter(({ component }) => component === 'NIC.Slot.1'),
    };
  } finally {
    await type.close?.();
  }
}

test('python3-sushy and the driver see the same in each vendor', async () => {
  const simulators = await Promise.all(
    vendorNames.map((vendor) =>
      startRedfishSimulator({
        machine: createMemoryMachine(),
        username: 'admin',
        password: 'secret',
        quirks: vendors[vendor],
      }),
    ),
  );
  try {
    const client = join(import.meta.dirname, 'redfish-vendors.py');
    const urls = simulators.map(({ address }) => address);
    const result = await run('/usr/bin/python3', [client, 'admin', 'secret', ...urls]);
    const bySushy = JSON.parse(result.stdout) as Seen[];
    const byDriver = await Promise.all(simulators.map((simulator) => readWithDriver(simulator)));
    const expected = vendorNames.map((vendor, index) => {
      const { paths = {}, manufacturer, resetTypes, actionInfo, virtualMedia = '', slots } = vendors[vendor];
      const cds = (slots ?? standardQuirks.slots).filter(({ types }) => types?.includes('CD'));
      const resets = [...(resetTypes ?? standardQuirks.resetTypes)].toSorted();
      return {
        ...byDriver[index],
        manufacturer,
        path: paths['/redfish/v1/Systems/1'] ?? '/redfish/v1/Systems/1',
        // Debian's sushy reads no ActionInfo, and no drives but those of managers
        resets: actionInfo ? undefined : resets,
        drives: ['none', 'of the system'].includes(virtualMedia) ? 0 : cds.length,
      };
    });
    const counted = bySushy.map((seen) => ({ ...seen, drives: seen.drives.length }));
    const judged = counted.map((seen, index) => (expected[index]?.resets ? seen : { ...seen, resets: undefined }));
    expect(judged).toEqual(expected);
  } finally {
    await Promise.all(simulators.map((simulator) => simulator.close()));
  }
});

describe('python3-sushy drives the simulator', () => {
  test('with a session', async () => {
    expect(await driveWithSushy('session', {})).toMatchObject({ ...expected, ...bios, trust: 405 });
  });

  test('with slots that verify who serves the image', async () => {
    const { cert } = createBmcCertificate('192.0.2.9');
    const seen = (await driveWithSushy('session', { media: { imageAuthority: cert } })) as {
      readonly authority: string;
      readonly trust: unknown;
    };
    expect(seen).toMatchObject({ ...expected, ...bios, trust: [true, [['PEM', `${seen.authority}\n`]]] });
  });

  test('with HTTP Basic, demanded ETags and slow power', async () => {
    expect(await driveWithSushy('basic', { requireIfMatch: true, slowPowerMs: 200 })).toMatchObject({
      ...expected,
      bios: 428,
      lamp: 428,
    });
  });

  test('with weak ETags', async () => {
    expect(await driveWithSushy('session', { weakEtagOnly: true })).toMatchObject({ ...expected, ...bios });
  });
});
