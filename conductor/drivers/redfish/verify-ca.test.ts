import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { HardwareType } from '#conductor/drivers/driver-definition.ts';
import { createTransport } from '#conductor/drivers/redfish/client/transport.ts';
import { redfishHardwareType } from '#conductor/drivers/redfish/redfish.ts';
import { errorChain } from '#shared/errors/app-error.ts';
import { silentLog } from '#shared/log.ts';
import { run } from '#shared/process/run.ts';
import { createBmcCertificate } from '#test/simulators/redfish/certificate.ts';
import { createMemoryMachine } from '#test/simulators/redfish/machine.ts';
import { type RedfishSimulator, startRedfishSimulator } from '#test/simulators/redfish/simulator.ts';

let type: HardwareType;
let simulator: RedfishSimulator;
let directory: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'baton-ca-'));
  type = redfishHardwareType({ run, log: silentLog, caDirectory: directory }, { attempts: 1 });
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
  const refusal: unknown = await read(join(directory, 'other.crt.txt')).catch((error: unknown) => error);
  expect(refusal).toMatchObject({ code: 'bmc_error' });
  // how Node is started is nothing that an operator of a BMC decides
  expect(errorChain(refusal)).toMatch(/does not fit redfish_verify_ca: (?!.*--use-system-ca)/);
});

test('no other path is looked at, and every refusal says the same', async () => {
  await writeFile(join(directory, 'large.pem'), '-----BEGIN CERTIFICATE-----\n'.padEnd(1024 * 1024 + 1));
  await writeFile(join(directory, 'key.pem'), '-----BEGIN PRIVATE KEY-----\n');
  await run('mkfifo', [join(directory, 'pipe.pem')]);
  const refusal = (path: string): string => {
    try {
      type.connect({ redfish_address: 'h', redfish_verify_ca: path });
      return `${path} was taken`;
    } catch (error) {
      return String(error);
    }
  };
  const elsewhere = ['/dev/zero', '/etc/passwd', '/nowhere', `${directory}-2/bmc.pem`, `${directory}/../nowhere`];
  const here = ['none.pem', 'large.pem', 'key.pem', 'pipe.pem'].map((name) => join(directory, name));
  expect([...new Set([...elsewhere, ...here].map(refusal))]).toEqual([
    expect.stringMatching(/redfish_verify_ca must be true, false, or .*BATON_CA_DIR/),
  ]);
});

test('no path leads to another host', async () => {
  expect(() => type.connect({ redfish_address: 'h', redfish_system_id: '//host.example/a' })).toThrow(
    /redfish_system_id/,
  );
  const transport = createTransport(
    { origin: simulator.address, verifyCa: false },
    { connectMs: 60_000, answerMs: 60_000 },
  );
  const links = [
    '//host.example/a',
    'http://192.0.2.9//host.example/a',
    'https://u:p@192.0.2.9/a',
    '/\\host.example/a',
  ];
  for (const path of links) {
    const asked = simulator.requests.length;
    await transport.send({ method: 'GET', path });
    expect(simulator.requests.slice(asked).map((request) => request.path)).toHaveLength(1);
  }
  await expect(transport.send({ method: 'GET', path: 'file:///etc/passwd' })).rejects.toThrow('which is no link');
  await transport.close();
});

test('a name is called at addresses that the rules allow', async () => {
  const rules = { setting: 'BATON_BMC_ALLOW', allow: undefined, allowLoopback: false, connectsHere: true };
  const { port } = new URL(simulator.address);
  const strict = createTransport(
    { origin: `https://localhost:${port}`, verifyCa: false },
    { connectMs: 60_000, answerMs: 60_000 },
    rules,
  );
  await expect(strict.send({ method: 'GET', path: '/redfish/v1/' })).rejects.toMatchObject({ code: 'forbidden' });
  await strict.close();
});

const old = { maxVersion: 'TLSv1.1', minVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' } as const;
const tls12 = { maxVersion: 'TLSv1.2' } as const;
const chacha = { maxVersion: 'TLSv1.2', ciphers: 'ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305' } as const;
test.each<[object, Record<string, string>, string]>([
  [old, {}, 'does not speak TLS as asked; redfish_tls_minimum_version'],
  [old, { redfish_tls_minimum_version: '1.1', redfish_tls_ciphers: 'DEFAULT@SECLEVEL=0' }, 'power off'],
  [tls12, { redfish_tls_minimum_version: '1.3' }, 'does not speak TLS as asked'],
  [tls12, { redfish_tls_minimum_version: '1.2' }, 'power off'],
  [chacha, { redfish_tls_ciphers: 'ECDHE+AESGCM' }, 'does not speak TLS as asked'],
  [chacha, { redfish_tls_ciphers: 'ECDHE+CHACHA20' }, 'power off'],
])('a BMC that speaks %j, asked by %j: %s', async (speaks, asked, came) => {
  const tls = { ...createBmcCertificate('127.0.0.1'), ...speaks };
  const login = { username: 'a', password: 'b' };
  const bmc = await startRedfishSimulator({ machine: createMemoryMachine(), ...login, tls });
  const info = { redfish_address: bmc.address, redfish_username: 'a', redfish_password: 'b', redfish_verify_ca: false };
  const power = type.connect({ ...info, ...asked }).power.getPowerState();
  expect(await power.catch((error: unknown) => errorChain(error))).toContain(came);
  await bmc.close();
});

test('driver_info faults are all named', () => {
  expect(() => type.connect({ redfish_auth_type: 'magic', redfish_system_id: 'one' })).toThrow(
    /redfish_address: is required.*redfish_system_id: must be.*redfish_auth_type: must be/,
  );
  expect(() => type.connect({ redfish_address: 'ftp://h' })).toThrow(/redfish_address: must be/);
  expect(() => type.connect({ redfish_address: 'h', redfish_auth_type: 'session' })).toThrow(/redfish_username/);
});
