import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { applySettings } from '#agent/bios/apply-settings.ts';
import { firmwareAttributes, resetFirmwareAttributes } from '#agent/bios/firmware-attributes.ts';
import { silentLog } from '#shared/log.ts';

/** A tree as Dell's driver makes it; the kernel's reactions are left to the tests. */
const tree: Readonly<Record<string, string>> = {
  'attributes/pending_reboot': '0\n',
  'attributes/reset_bios': 'builtinsafe lastknowngood [factory] custom\n',
  'attributes/SecureBoot/type': 'enumeration\n',
  'attributes/SecureBoot/current_value': 'Disabled\n',
  'attributes/SecureBoot/possible_values': 'Disabled;Enabled;\n',
  'attributes/WakeMinute/type': 'integer\n',
  'attributes/WakeMinute/current_value': '5\n',
  'attributes/WakeMinute/min_value': '0\n',
  'attributes/WakeMinute/max_value': '59\n',
  'attributes/Asset/type': 'string\n',
  'attributes/Asset/current_value': '\n',
  'attributes/Asset/min_length': '0\n',
  'attributes/Asset/max_length': '8\n',
  'attributes/OldLenovo/current_value': 'Enable\n',
  'attributes/OldLenovo/possible_values': 'Disable,Enable\n',
  'authentication/Admin/role': 'bios-admin\n',
  'authentication/Admin/is_enabled': '0\n',
  'authentication/Admin/current_password': '',
};

let root: string;
const file = (path: string) => join(root, 'dell-wmi-sysman', path);
const text = (path: string) => readFile(file(path), 'utf8');

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'baton-attributes-'));
  for (const [path, content] of Object.entries(tree)) {
    await mkdir(dirname(file(path)), { recursive: true });
    await writeFile(file(path), content);
  }
});
afterEach(() => rm(root, { recursive: true }));

const source = (adminPassword?: string) => firmwareAttributes({ root, log: silentLog, adminPassword });
const apply = (name: string, value: string, adminPassword?: string) =>
  applySettings([source(adminPassword)], [{ name, value }]);

test('reads every attribute with what the kernel tells of it', async () => {
  expect(await source().read()).toMatchObject([
    { name: 'Asset', value: '', attribute_type: 'String', min_length: 0, max_length: 8 },
    { name: 'OldLenovo', value: 'Enable', attribute_type: 'Enumeration', allowable_values: ['Disable', 'Enable'] },
    { name: 'SecureBoot', value: 'Disabled', attribute_type: 'Enumeration', allowable_values: ['Disabled', 'Enabled'] },
    { name: 'WakeMinute', value: '5', attribute_type: 'Integer', lower_bound: 0, upper_bound: 59 },
  ]);
});

test('a machine without the class has no settings', async () => {
  const none = firmwareAttributes({ root: join(root, 'nowhere'), log: silentLog });
  expect(await none.read()).toEqual([]);
  await expect(applySettings([none], [{ name: 'X', value: '1' }])).rejects.toMatchObject({ code: 'not_supported' });
});

describe('applySettings', () => {
  test('writes what differs and tells it', async () => {
    const { changed, rebootPending, settings } = await applySettings(
      [source()],
      [
        { name: 'SecureBoot', value: 'Enabled' },
        { name: 'WakeMinute', value: '05' },
      ],
    );
    expect({ changed, rebootPending }).toEqual({ changed: ['SecureBoot'], rebootPending: false });
    expect(await text('attributes/SecureBoot/current_value')).toBe('Enabled');
    expect(await text('attributes/WakeMinute/current_value')).toBe('5\n');
    expect(settings.find(({ name }) => name === 'SecureBoot')).toMatchObject({ value: 'Enabled' });
  });

  test('a second run changes nothing, and still asks for the reboot that waits', async () => {
    await apply('SecureBoot', 'Enabled');
    await writeFile(file('attributes/pending_reboot'), '1\n');
    expect(await apply('SecureBoot', 'Enabled')).toMatchObject({ changed: [], rebootPending: true });
    await writeFile(file('attributes/pending_reboot'), '0\n');
    expect(await apply('SecureBoot', 'Enabled')).toMatchObject({ changed: [], rebootPending: false });
  });

  test('one impossible value keeps all from being written', async () => {
    const wanted = [
      { name: 'SecureBoot', value: 'Enabled' },
      { name: 'WakeMinute', value: '60' },
      { name: 'Nope', value: '1' },
    ];
    await expect(applySettings([source()], wanted)).rejects.toThrow(/WakeMinute: '60'.*up to 59; Nope: no such/);
    expect(await text('attributes/SecureBoot/current_value')).toBe('Disabled\n');
  });

  test('a value that the firmware does not let be written is named', async () => {
    await rm(file('attributes/SecureBoot/current_value'));
    await symlink(join(root, 'gone', 'file'), file('attributes/SecureBoot/current_value'));
    await expect(apply('SecureBoot', 'Enabled')).rejects.toThrow(
      'set BIOS setting SecureBoot: the firmware refuses it',
    );
  });
});

describe('an administrator password', () => {
  beforeEach(() => writeFile(file('authentication/Admin/is_enabled'), '1\n'));

  test('is asked for before anything is written', async () => {
    await expect(apply('SecureBoot', 'Enabled')).rejects.toThrow('give it as the argument admin_password');
    expect(await text('attributes/SecureBoot/current_value')).toBe('Disabled\n');
  });

  test('is given and taken back', async () => {
    await apply('SecureBoot', 'Enabled', 'open sesame');
    expect(await text('attributes/SecureBoot/current_value')).toBe('Enabled');
    expect(await text('authentication/Admin/current_password')).toBe('');
    // a folder in place of the file: giving the password is what fails
    await rm(file('authentication/Admin/current_password'));
    await mkdir(file('authentication/Admin/current_password'));
    const failure: unknown = await apply('SecureBoot', 'Disabled', 'open sesame').catch((error: unknown) => error);
    expect(String(failure)).toContain("give the firmware's administrator password: the firmware refuses it");
    expect(String(failure)).not.toContain('sesame');
  });

  test('where nothing is to be changed none is needed', async () => {
    expect(await apply('SecureBoot', 'Disabled')).toMatchObject({ changed: [] });
  });
});

describe('resetFirmwareAttributes', () => {
  const reset = () => resetFirmwareAttributes({ root, log: silentLog });

  test('asks for the factory settings', async () => {
    expect(await reset()).toEqual([join(root, 'dell-wmi-sysman')]);
    expect(await text('attributes/reset_bios')).toBe('factory');
  });

  test('is not there where the driver has none', async () => {
    await rm(file('attributes/reset_bios'));
    expect(await reset()).toEqual([]);
  });
});
