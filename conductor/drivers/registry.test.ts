import { readdirSync } from 'node:fs';
import { Writable } from 'node:stream';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { createDrivers } from '#conductor/drivers/registry.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { silentLog } from '#shared/log.ts';
import { run } from '#shared/process/run.ts';

const drivers = createDrivers({ run, log: silentLog });

test('every folder of drivers is in the table', () => {
  const folders = readdirSync(import.meta.dirname, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  expect(folders.map((folder) => folder.name).sort()).toEqual(['fake', 'ipmi', 'redfish']);
  expect(drivers.hardwareTypes.map((type) => type.name)).toEqual(['redfish', 'ipmi', 'fake-hardware']);
});

test('an unknown driver is not found, and the known ones are named', () => {
  expect(() => drivers.connect('ilo', {})).toThrow(/ilo is not known.*redfish, ipmi, fake-hardware/);
});

test('properties say whether they are required, and secrets are among them', () => {
  for (const type of drivers.hardwareTypes) {
    for (const text of Object.values(type.properties)) expect(text).toMatch(/(Required|Optional)/);
    for (const secret of type.secretProperties) expect(type.properties).toHaveProperty(secret);
  }
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
    { run, log: pino(sink) },
    {
      fake: {
        beforeAction: (action) => {
          if (action === 'setBootDevice') throw new AppError('bmc_error', 'on purpose');
        },
      },
    },
  );
  const bmc = logged.connect('fake-hardware', { redfish_password: 'hidden' });
  await bmc.power.setPowerState('power on');
  await expect(bmc.management.setBootDevice('pxe', { persistent: false })).rejects.toThrow('on purpose');
  expect(lines).toMatchObject([
    { driver: 'fake-hardware', action: 'set power state', target: 'power on', outcome: 'done' },
    { driver: 'fake-hardware', action: 'set boot device', bootDevice: 'pxe', outcome: 'bmc_error' },
  ]);
  expect(lines[0]).toHaveProperty('durationMs');
  expect(JSON.stringify(lines)).not.toContain('hidden');
});
