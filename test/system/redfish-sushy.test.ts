import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { run } from '#shared/process/run.ts';
import { createBmcCertificate } from '#test/simulators/redfish/certificate.ts';
import type { Quirks } from '#test/simulators/redfish/faults.ts';
import { createMemoryMachine } from '#test/simulators/redfish/machine.ts';
import { startRedfishSimulator } from '#test/simulators/redfish/simulator.ts';

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
    return JSON.parse(result.stdout);
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
    memory_gib: 2,
    resets: ['ForceOff', 'ForceOn', 'ForceRestart', 'GracefulRestart', 'GracefulShutdown', 'On', 'PushPowerButton'],
    boot_sources: ['BiosSetup', 'Cd', 'Hdd', 'None', 'Pxe'],
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
    ['NIC.Slot.1', '1.0.0'],
    ['before the reset', '1.0.0'],
    ['after the reset', '2.0.0'],
  ],
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

describe('python3-sushy drives the simulator', () => {
  test('with a session', async () => {
    expect(await driveWithSushy('session', {})).toMatchObject({ ...expected, ...bios });
  });

  test('with HTTP Basic, demanded ETags and slow power', async () => {
    expect(await driveWithSushy('basic', { requireIfMatch: true, slowPowerMs: 200 })).toMatchObject({
      ...expected,
      bios: 428,
    });
  });

  test('with weak ETags', async () => {
    expect(await driveWithSushy('session', { weakEtagOnly: true })).toMatchObject({ ...expected, ...bios });
  });
});
