import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { buildConfigDrive, checkConfigDrive, configDriveFiles } from '#conductor/boot/config-drive.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { Run } from '#shared/process/run.ts';

const node = { uuid: 'node-uuid', name: 'n1', instanceUuid: null };
const noRun: Run = () => Promise.reject(new AppError('command_failed', 'nothing may be run here'));

function iso(label: string): Buffer {
  const image = Buffer.alloc(20 * 2048);
  image.write('CD001', 32_769, 'latin1');
  image.write(label.padEnd(32), 32_808, 'latin1');
  return image;
}

function fat(kind: 'FAT16' | 'FAT32', label: string): Buffer {
  const image = Buffer.alloc(4096);
  image.writeUInt16LE(0xaa55, 510);
  const at = kind === 'FAT16' ? 54 : 82;
  image.write(kind, at, 'latin1');
  image.write(label.padEnd(11), at - 11, 'latin1');
  return image;
}

const packed = (image: Buffer): string => gzipSync(image).toString('base64');

describe('checkConfigDrive', () => {
  test.each([
    ['ISO 9660', iso('config-2')],
    ['ISO 9660 in capitals', iso('CONFIG-2')],
    ['FAT16', fat('FAT16', 'CONFIG-2')],
    ['FAT32', fat('FAT32', 'config-2')],
  ])('takes %s', async (_name, image) => {
    expect(await checkConfigDrive(packed(image))).toBe(packed(image));
  });

  test('drops the line breaks that base64 tools write', async () => {
    const text = packed(iso('config-2'));
    expect(await checkConfigDrive(`${text.replaceAll(/(.{76})/g, '$1\n')}\n`)).toBe(text);
  });

  test.each(['http://192.0.2.1/drive', 'https://example.org/a?b=c'])('takes the URL %s', async (url) => {
    expect(await checkConfigDrive(url)).toBe(url);
  });

  test.each([
    ['nothing', '', 'configdrive: it is empty: it must be an http(s) URL, or base64'],
    ['another kind of URL', 'ftp://example.org/x', 'configdrive: URL "ftp://example.org/x" can\'t be used'],
    ['a URL with a blank', 'http://example.org/a b', "can't be used"],
    ['a URL without a host', 'http://', "can't be used"],
    ['text', '#cloud-config', 'configdrive: it is not base64'],
    ['cut base64', packed(iso('config-2')).slice(0, -3), 'configdrive: it is not base64'],
    ['base64 of a plain image', iso('config-2').toString('base64'), 'configdrive: its content is not gzipped'],
    ['damaged gzip', packed(iso('config-2')).slice(0, 40), 'configdrive: its gzip data is damaged'],
    ['gzip of something else', packed(Buffer.alloc(50_000)), 'its content is neither ISO 9660 nor FAT'],
    ['gzip of nothing', packed(Buffer.alloc(0)), 'its content is neither ISO 9660 nor FAT'],
    ['another label', packed(iso('cidata')), 'configdrive: its volume is labelled "cidata"'],
    ['a gzip bomb', packed(Buffer.alloc(32 * 1024 * 1024 + 1)), 'configdrive: it has more than 33554432 bytes'],
  ])('refuses %s', async (_name, value, says) => {
    await expect(checkConfigDrive(value)).rejects.toThrow(says);
    await expect(checkConfigDrive(value)).rejects.toMatchObject({ code: 'invalid_argument' });
  });
});

test('others have their turn while a large drive is looked at', async () => {
  const turns = { count: 0, isOver: false };
  const count = (): void => {
    turns.count += 1;
    if (!turns.isOver) setImmediate(count);
  };
  setImmediate(count);
  // refused at its last character: nothing is unpacked, which is done elsewhere
  await expect(checkConfigDrive(`${'A'.repeat(20 * 1024 * 1024 - 1)}!`)).rejects.toThrow('it is not base64');
  turns.isOver = true;
  expect(turns.count).toBeGreaterThanOrEqual(8);
});

describe('configDriveFiles', () => {
  const files = (configDrive: unknown, of: Parameters<typeof configDriveFiles>[1] = node) =>
    configDriveFiles(configDrive, of);
  const metaData = (...args: Parameters<typeof files>): unknown => JSON.parse(files(...args)['meta_data.json'] ?? '');

  test('writes what is given and fills meta_data from the node', () => {
    expect(
      files({
        meta_data: { public_keys: { k: 'ssh-ed25519 …' } },
        network_data: { links: [] },
        user_data: '#cloud-config\n',
        vendor_data: { v: 1 },
      }),
    ).toEqual({
      'meta_data.json': '{"uuid":"node-uuid","name":"n1","hostname":"n1","public_keys":{"k":"ssh-ed25519 …"}}',
      'network_data.json': '{"links":[]}',
      user_data: '#cloud-config\n',
      'vendor_data.json': '{"v":1}',
    });
  });

  test('what is given wins over the node', () => {
    expect(metaData({ meta_data: { uuid: 'u', name: 'x', hostname: 'h' } })).toEqual({
      uuid: 'u',
      name: 'x',
      hostname: 'h',
    });
  });

  test('prefers the instance’s UUID, and makes a host name of any node name', () => {
    expect(metaData({}, { uuid: 'node-uuid', name: 'metal3~host_1~', instanceUuid: 'i' })).toEqual({
      uuid: 'i',
      name: 'metal3~host_1~',
      hostname: 'metal3-host-1',
    });
    expect(metaData({}, { uuid: 'node-uuid', name: '~' })).toMatchObject({ hostname: 'node' });
    expect(metaData({}, { uuid: 'node-uuid' })).toEqual({ uuid: 'node-uuid' });
  });

  test('writes user_data that is an object or a list as JSON', () => {
    expect(files({ user_data: { a: 1 } })['user_data']).toBe('{"a":1}');
    expect(files({ user_data: [1] })['user_data']).toBe('[1]');
  });

  test('takes null for absent, and the node’s network_data', () => {
    const nothing = { meta_data: null, network_data: null, user_data: null, vendor_data: null };
    expect(Object.keys(files(nothing))).toEqual(['meta_data.json']);
    expect(files(nothing, { ...node, networkData: { services: [] } })['network_data.json']).toBe('{"services":[]}');
    expect(Object.keys(files({}, { ...node, networkData: {} }))).toEqual(['meta_data.json']);
  });

  test.each([
    [{ meta_data: 'x' }, 'configdrive.meta_data must be an object'],
    [{ meta_data: [] }, 'configdrive.meta_data must be an object'],
    [{ network_data: 7 }, 'configdrive.network_data must be an object'],
    [{ user_data: 7 }, 'configdrive.user_data must be a string, or an object or list'],
    [{ vendor_data: 'x' }, 'configdrive.vendor_data must be an object'],
    [{ userdata: 'x' }, 'configdrive: it has unknown keys userdata; keys are: meta_data, network_data, user_data'],
    [7, 'configdrive: must be a string or an object'],
    [null, 'configdrive: must be a string or an object'],
    [[], 'configdrive: must be a string or an object'],
  ])('refuses %j', (value, says) => {
    expect(() => files(value)).toThrow(says);
    expect(() => files(value)).toThrow(expect.objectContaining({ code: 'invalid_argument' }));
  });

  test('lists all faults at once', () => {
    expect(() => files({ meta_data: 1, vendor_data: 2 })).toThrow(
      'configdrive.meta_data must be an object; configdrive.vendor_data must be an object',
    );
  });
});

describe('buildConfigDrive', () => {
  const build = (configDrive: unknown, run = noRun) => buildConfigDrive({ configDrive, node, run });

  test('hands on a string as it is', async () => {
    expect(await build('http://192.0.2.1/drive')).toBe('http://192.0.2.1/drive');
  });

  test('refuses documents that are too large before anything is run', async () => {
    await expect(build({ user_data: 'x'.repeat(32 * 1024 * 1024) })).rejects.toMatchObject({
      code: 'invalid_argument',
      message: expect.stringContaining('configdrive: its documents have'),
    });
  });

  test('reports that xorrisofs failed', async () => {
    await expect(build({})).rejects.toMatchObject({ code: 'command_failed' });
  });
});
