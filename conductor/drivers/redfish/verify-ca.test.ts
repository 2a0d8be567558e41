import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { redfishHardwareType } from '#conductor/drivers/redfish/redfish.ts';
import { silentLog } from '#shared/log.ts';
import { run } from '#shared/process/run.ts';
import { createBmcCertificate } from '#test/simulators/redfish/certificate.ts';
import { createMemoryMachine } from '#test/simulators/redfish/machine.ts';
import { type RedfishSimulator, startRedfishSimulator } from '#test/simulators/redfish/simulator.ts';

const type = redfishHardwareType({ run, log: silentLog }, { attempts: 1 });
let simulator: RedfishSimulator;
let directory: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'baton-ca-'));
  const tls = createBmcCertificate('127.0.0.1');
  const other = createBmcCertificate('127.0.0.1');
  await writeFile(join(directory, 'bmc.pem'), tls.cert);
  await writeFile(join(directory, 'other.crt.txt'), other.cert);
  simulator = await startRedfishSimulator({ machine: createMemoryMachine(), username: 'a', password: 'b', tls });
});

afterAll(async () => {
  await type.close?.();
  await simulator.close();
  await rm(directory, { recursive: true });
});

const read = (redfish_verify_ca: unknown) =>
  type
    .connect({ redfish_address: simulator.address, redfish_username: 'a', redfish_password: 'b', redfish_verify_ca })
    .power.getPowerState();

test('false and "False" accept any certificate', async () => {
  expect(await read(false)).toBe('power off');
  expect(await read('False')).toBe('power off');
});

test('a file or a directory of authorities accepts what they signed', async () => {
  expect(await read(join(directory, 'bmc.pem'))).toBe('power off');
  expect(await read(directory)).toBe('power off');
});

test('the default and another authority refuse it, and say which property decides', async () => {
  await expect(read(undefined)).rejects.toMatchObject({
    code: 'bmc_error',
    message: expect.stringContaining('redfish_verify_ca') as string,
  });
  await expect(read(join(directory, 'other.crt.txt'))).rejects.toMatchObject({ code: 'bmc_error' });
});

test('a path that is none is invalid', () => {
  expect(() => type.connect({ redfish_address: 'h', redfish_verify_ca: '/nowhere' })).toThrow(/redfish_verify_ca/);
});

test('driver_info faults are all named', () => {
  expect(() => type.connect({ redfish_auth_type: 'magic', redfish_system_id: 'one' })).toThrow(
    /redfish_address is required.*redfish_system_id must be.*redfish_auth_type must be/,
  );
  expect(() => type.connect({ redfish_address: 'ftp://h' })).toThrow(/redfish_address must be/);
  expect(() => type.connect({ redfish_address: 'h', redfish_auth_type: 'session' })).toThrow(/redfish_username/);
});
