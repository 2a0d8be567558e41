import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { applySettings } from '#agent/bios/apply-settings.ts';
import { efiSettings } from '#agent/bios/efi-settings.ts';
import { efiVariables, globalVariables, securityDatabase } from '#agent/bios/efi-variables.ts';
import { ranWell } from '#agent/testing/fake-services.ts';

let root: string;
const commands: string[] = [];
const now = new Date('2026-11-21T12:34:56Z');

beforeEach(async () => {
  commands.length = 0;
  root = await mkdtemp(join(tmpdir(), 'baton-efivars-'));
  await put('BootOrder', [1, 0, 0, 0]);
  await put('Timeout', [0, 0]);
  await put('Boot0000', [1]);
  await put('Boot0001', [1]);
  await put('Boot000A', [1]);
  await put('SecureBoot', [0]);
  await put('SetupMode', [1]);
});
afterEach(() => rm(root, { recursive: true }));

const path = (name: string, guid = globalVariables) => join(root, `${name}-${guid}`);
const put = (name: string, data: readonly number[], guid?: string) =>
  writeFile(path(name, guid), Buffer.from([7, 0, 0, 0, ...data]));
const bytes = async (name: string, guid?: string) => [...(await readFile(path(name, guid)))];
const source = () =>
  efiSettings(
    efiVariables(root, (command, args) => {
      commands.push([command, ...args].join(' '));
      return Promise.resolve(ranWell());
    }),
    () => now,
  );
const apply = (name: string, value: string) => applySettings([source()], [{ name: `efi.${name}`, value }]);
const valueOf = async (name: string) => (await source().read()).find((each) => each.name === `efi.${name}`)?.value;

function signatureList(fill: number): Buffer {
  const list = Buffer.alloc(28 + 16 + 32, fill);
  list.writeUInt32LE(list.length, 16);
  list.writeUInt32LE(0, 20);
  list.writeUInt32LE(48, 24);
  return list;
}

test('shows what the variables hold', async () => {
  const settings = await source().read();
  expect(Object.fromEntries(settings.map(({ name, value }) => [name, value]))).toEqual({
    'efi.boot_timeout': '0',
    'efi.boot_order': '0001,0000',
    'efi.boot_next': '',
    'efi.secure_boot': 'false',
    'efi.setup_mode': 'true',
    'efi.secure_boot_dbx': 'none',
    'efi.secure_boot_db': 'none',
    'efi.secure_boot_kek': 'none',
    'efi.secure_boot_pk': 'none',
  });
});

test('a machine started by a BIOS has none', async () => {
  const none = efiSettings(
    efiVariables(join(root, 'nowhere'), () => Promise.resolve(ranWell())),
    () => now,
  );
  expect(await none.read()).toEqual([]);
});

describe('boot', () => {
  test('timeout', async () => {
    expect(await apply('boot_timeout', '300')).toMatchObject({
      changed: ['efi.boot_timeout'],
      rebootPending: false,
    });
    expect(await bytes('Timeout')).toEqual([7, 0, 0, 0, 0x2c, 1]);
    expect(await apply('boot_timeout', '300')).toMatchObject({ changed: [] });
    await expect(apply('boot_timeout', '65536')).rejects.toThrow('up to 65535');
  });

  test('order', async () => {
    await apply('boot_order', '0000, 000a,0001');
    expect(await bytes('BootOrder')).toEqual([7, 0, 0, 0, 0, 0, 0x0a, 0, 1, 0]);
    expect(await valueOf('boot_order')).toBe('0000,000A,0001');
    expect(await apply('boot_order', '0000,000a,0001')).toMatchObject({ changed: [] });
    await expect(apply('boot_order', '0000,0007')).rejects.toThrow(/0007: .*there are 0000, 0001, 000A/);
    await expect(apply('boot_order', '0000,0000')).rejects.toThrow('each once');
  });

  test('next', async () => {
    await apply('boot_next', '0001');
    expect(await bytes('BootNext')).toEqual([7, 0, 0, 0, 1, 0]);
    await apply('boot_next', '');
    expect(await valueOf('boot_next')).toBe('');
    await expect(apply('boot_next', '0009')).rejects.toThrow("efi.boot_next: '0009' is not possible");
  });

  test('what is read only stays', async () => {
    await expect(apply('secure_boot', 'true')).rejects.toThrow('efi.secure_boot: it is read only');
  });
});

describe('Secure Boot keys', () => {
  const list = signatureList(0xaa);
  /** A descriptor with a signature of four bytes in front. */
  const signed = Buffer.concat([
    Buffer.from('ea070b150c2238000000000000000000', 'hex'),
    Buffer.from('1c0000000002f10e9dd2af4adf68ee498aa9347d375665a7', 'hex'),
    Buffer.from([1, 2, 3, 4]),
    signatureList(0xbb),
  ]);

  test('signature lists are written behind a descriptor without a signature', async () => {
    // the firmware would keep the list alone; a file keeps the descriptor, so the reading back differs
    await expect(apply('secure_boot_db', list.toString('base64'))).rejects.toThrow('efi.secure_boot_db');
    const written = Buffer.from(await bytes('db', securityDatabase));
    expect(written.readUInt32LE(0)).toBe(0x27);
    expect(written.subarray(4, 12).toString('hex')).toBe('ea070b150c223800');
    expect(written.readUInt32LE(20)).toBe(24);
    expect(written.subarray(44)).toEqual(list);
  });

  test('keys that are there are left alone, also outside setup mode', async () => {
    await put('db', [...list], securityDatabase);
    await put('SetupMode', [0]);
    expect(await apply('secure_boot_db', list.toString('base64'))).toMatchObject({ changed: [] });
    await expect(apply('secure_boot_kek', list.toString('base64'))).rejects.toMatchObject({ code: 'conflict' });
  });

  test('a signed update is written as it is', async () => {
    await expect(apply('secure_boot_pk', signed.toString('base64'))).rejects.toThrow('efi.secure_boot_pk');
    expect(Buffer.from(await bytes('PK')).subarray(4)).toEqual(signed);
  });

  test('a platform key must be signed; what is neither is refused', async () => {
    await expect(apply('secure_boot_pk', list.toString('base64'))).rejects.toThrow('must be self-signed');
    await expect(apply('secure_boot_db', 'bm90IGEga2V5')).rejects.toThrow('base64 text of signature lists');
    await expect(apply('secure_boot_db', '{"a": 1}')).rejects.toThrow('base64 text of signature lists');
    expect(commands).toEqual([]);
  });
});
