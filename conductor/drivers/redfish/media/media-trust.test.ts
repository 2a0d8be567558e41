import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { redfishHardwareType } from '#conductor/drivers/redfish/redfish.ts';
import { createRigs } from '#conductor/drivers/redfish/testing/rigs.ts';
import { systemAuthorities } from '#conductor/kernel/files.ts';
import { AppError, errorChain } from '#shared/errors/app-error.ts';
import { silentLog } from '#shared/log.ts';
import { run } from '#shared/process/run.ts';
import { createBmcCertificate } from '#test/simulators/redfish/certificate.ts';

const { rig } = createRigs();
const image = 'https://192.0.2.9/one.iso';
const { cert: authority } = createBmcCertificate('192.0.2.9');
const { cert: other } = createBmcCertificate('192.0.2.10');
let directory: string;
const file = (name: string): string => join(directory, name);

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'baton-media-'));
  await writeFile(file('images.pem'), `# ours\n${other}\n${authority}`);
  await writeFile(file('other.pem'), other);
  await writeFile(file('many.pem'), Array.from({ length: 11 }, () => other).join('\n'));
});
afterAll(() => rm(directory, { recursive: true }));

async function bmc(verify: unknown, media: object = { imageAuthority: authority }) {
  const { simulator, type, login } = await rig({ quirks: { media }, caDirectory: directory });
  const connect = (virtual_media_verify_ca: unknown) => {
    const { virtualMedia } = type.connect({ ...login, virtual_media_verify_ca });
    if (!virtualMedia) throw new AppError('internal', 'the driver has no virtual media');
    return virtualMedia;
  };
  const asked = (): string[] =>
    simulator.requests.flatMap(({ method, path, body }) => {
      if (method === 'GET' || path.endsWith('/Sessions')) return [];
      const what = /"VerifyCertificate":(true|false)/.exec(body)?.[1];
      return [what === undefined ? (path.split(/[./]/).at(-1) ?? '') : `verify: ${what}`];
    });
  return { media: connect(verify), asked, simulator, connect };
}

test('a BMC verifies as it does by itself where nothing is asked for', async () => {
  const { media, asked } = await bmc(undefined);
  await media.insert(image);
  expect(asked()).toEqual(['InsertMedia']);
});

test('authorities are given to a slot, once, and it then verifies', async () => {
  const { media, asked } = await bmc(file('images.pem'));
  await media.insert(image);
  expect(asked()).toEqual(['Certificates', 'Certificates', 'verify: true', 'InsertMedia']);
  await media.eject();
  await media.insert(image);
  expect(asked().slice(4)).toEqual(['EjectMedia', 'InsertMedia']);
});

test.each([404, 500])('an authority of others that is answered with %i costs nothing', async (status) => {
  const { media, asked, simulator } = await bmc(file('images.pem'));
  await media.insert(image);
  await media.eject();
  simulator.inject({ method: 'GET', path: /Certificates\/1$/, status, times: 9 });
  await media.insert(image);
  expect(asked().slice(4)).toEqual(['EjectMedia', 'Certificates', 'InsertMedia']);
});

test.each([
  ['another authority', () => file('other.pem')],
  ["the BMC's own authorities", () => true],
])('%s: an image whose server it does not know is refused', async (_, verify) => {
  const { media, simulator } = await bmc(verify());
  const error: unknown = await media.insert(image).catch((reason: unknown) => reason);
  expect(errorChain(error)).toContain('The certificate of the image server is not trusted.');
  expect(simulator.requests.some(({ body }) => body === '{"VerifyCertificate":true}')).toBe(true);
});

test('a slot that verifies is told not to, and one that does not is asked nothing', async () => {
  const { media, asked, simulator, connect } = await bmc(file('other.pem'));
  await media.insert(image).catch(() => undefined);
  await connect(false).insert(image);
  expect(asked().slice(-2)).toEqual(['verify: false', 'InsertMedia']);
  await media.eject();
  await connect(false).insert(image);
  expect(asked().slice(-2)).toEqual(['EjectMedia', 'InsertMedia']);
  expect(simulator.requests.at(-1)?.path).toContain('/CD');
});

test('nothing is verified of an image without HTTPS', async () => {
  const { media, asked } = await bmc(true);
  await media.insert('http://192.0.2.9/one.iso');
  expect(asked()).toEqual(['InsertMedia']);
});

test.each<[string, object]>([
  ['has no VerifyCertificate; unset virtual_media_verify_ca', {}],
  ['VerifyCertificate was set to true, and the BMC shows false', { imageAuthority: authority, keepsVerify: true }],
])('a slot that %s is not filled', async (words, media) => {
  const { media: drive, asked } = await bmc(true, media);
  const error: unknown = await drive.insert(image).catch((reason: unknown) => reason);
  expect(errorChain(error)).toContain(words);
  expect(asked()).not.toContain('InsertMedia');
});

test('a BMC that has an authority and shows no text of it refuses it a second time, and is not asked in vain', async () => {
  const { media, asked, simulator } = await bmc(file('other.pem'));
  simulator.inject({ method: 'POST', path: /Certificates$/, status: 409, times: 2 });
  await media.insert(image).catch(() => undefined);
  expect(asked().slice(0, 3)).toEqual(['Certificates', 'verify: true', 'InsertMedia']);
});

test('what driver_info says is refused where it is wrong', () => {
  const type = redfishHardwareType({ run, log: silentLog, caDirectory: directory });
  const connect = (virtual_media_verify_ca: unknown) => () =>
    type.connect({ redfish_address: 'h', virtual_media_verify_ca });
  expect(connect(7)).toThrow('virtual_media_verify_ca: must be true, false or the path');
  expect(connect(file('none.pem'))).toThrow(/virtual_media_verify_ca must be .*BATON_CA_DIR/);
  expect(connect(join(systemAuthorities, 'none.pem'))).toThrow(/virtual_media_verify_ca must be/);
  expect(connect(file('many.pem'))).toThrow(/has 11 certificates; BMCs have room for few/);
  expect(connect('False')).not.toThrow();
});
