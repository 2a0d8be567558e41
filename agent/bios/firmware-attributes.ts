import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { SettingSource } from '#agent/bios/setting-source.ts';
import { type BiosSetting, bareSetting, type WantedBiosSetting } from '#shared/bios/bios-setting.ts';
import { hasValue } from '#shared/bios/check-settings.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { Log } from '#shared/log.ts';

/**
 * The kernel's firmware-attributes class (Documentation/ABI/testing/sysfs-class-firmware-attributes): Dell, HP and
 * Lenovo machines. One folder per driver, in it `attributes/<name>/…` and `authentication/<role>/…`.
 */

const attributeTypes: Readonly<Record<string, string>> = {
  enumeration: 'Enumeration',
  integer: 'Integer',
  string: 'String',
  'ordered-list': 'OrderedList',
};

export interface FirmwareAttributesOptions {
  /** `/sys/class/firmware-attributes`; another folder in tests. */
  readonly root: string;
  readonly log: Log;
  /** The firmware's administrator password, where it has one. */
  readonly adminPassword?: string | undefined;
}

export function firmwareAttributes(options: FirmwareAttributesOptions): SettingSource {
  const { root } = options;
  return {
    read: async () => {
      const folders = await attributeFolders(root);
      return Promise.all([...folders].map(([name, folder]) => readAttribute(name, folder)));
    },
    isAsWanted: hasValue,
    check: async () => {
      for (const driver of await driverFolders(root)) await demandPassword(driver, options.adminPassword);
    },
    write: async (wanted) => {
      const folders = await attributeFolders(root);
      await withPassword(options, () => writeAll(folders, wanted));
    },
    isRebootPending: async () => {
      const flags = await Promise.all(
        (await driverFolders(root)).map((driver) => readText(join(driver, 'attributes', 'pending_reboot'))),
      );
      return flags.includes('1');
    },
  };
}

/**
 * Has the firmware go back to its factory settings at the next reboot.
 * @returns the drivers that did; empty where none offers it
 * @throws AppError `command_failed`, `invalid_argument`
 */
export async function resetFirmwareAttributes(options: FirmwareAttributesOptions): Promise<readonly string[]> {
  const offering: string[] = [];
  for (const driver of await driverFolders(options.root)) {
    // `builtinsafe lastknowngood [factory] custom`: the kinds that there are, the last one asked for in brackets
    const kinds: readonly string[] = (await readText(resetFile(driver)))?.match(/[a-z]+/g) ?? [];
    if (kinds.includes('factory')) offering.push(driver);
  }
  for (const driver of offering) await demandPassword(driver, options.adminPassword);
  await withPassword(options, async () => {
    for (const driver of offering) await writeText(resetFile(driver), 'factory', 'reset the BIOS settings');
  });
  return offering;
}

const resetFile = (driver: string): string => join(driver, 'attributes', 'reset_bios');

async function writeAll(folders: ReadonlyMap<string, string>, wanted: readonly WantedBiosSetting[]): Promise<void> {
  const written: string[] = [];
  for (const { name, value } of wanted) {
    const before = written.length === 0 ? '' : ` (after ${written.join(', ')})`;
    const what = `set BIOS setting ${name}${before}`;
    await writeText(join(folders.get(name) ?? name, 'current_value'), value, what);
    written.push(name);
  }
}

async function driverFolders(root: string): Promise<string[]> {
  return (await listFolder(root)).map((driver) => join(root, driver));
}

/** By name; of two drivers with an attribute of one name, the first has it. */
async function attributeFolders(root: string): Promise<ReadonlyMap<string, string>> {
  const folders = new Map<string, string>();
  for (const driver of await driverFolders(root)) {
    for (const name of await listFolder(join(driver, 'attributes'))) {
      const folder = join(driver, 'attributes', name);
      // beside the attributes stand plain files: pending_reboot, reset_bios, save_settings
      const isAttribute = (await listFolder(folder)).includes('current_value');
      if (isAttribute && !folders.has(name)) folders.set(name, folder);
    }
  }
  return folders;
}

async function readAttribute(name: string, folder: string): Promise<BiosSetting> {
  const text = (file: string): Promise<string | undefined> => readText(join(folder, file));
  const number = async (file: string): Promise<number | null> => {
    const value = await text(file);
    return value === undefined || value === '' || !Number.isFinite(Number(value)) ? null : Number(value);
  };
  const possible = await text('possible_values');
  // think-lmi reports no type before Linux 6.3, and puts commas between values
  const type = (await text('type')) ?? (possible ? 'enumeration' : undefined);
  return {
    ...bareSetting(name, (await text('current_value')) ?? null),
    attribute_type: attributeTypes[type ?? ''] ?? type ?? null,
    allowable_values: type === 'enumeration' && possible ? valuesIn(possible) : null,
    lower_bound: await number('min_value'),
    upper_bound: await number('max_value'),
    min_length: await number('min_length'),
    max_length: await number('max_length'),
    read_only: false,
    reset_required: true,
  };
}

function valuesIn(possible: string): string[] {
  return possible.split(possible.includes(';') ? ';' : ',').filter((value) => value !== '');
}

async function adminAuthentications(driver: string): Promise<string[]> {
  const folders = (await listFolder(join(driver, 'authentication'))).map((name) =>
    join(driver, 'authentication', name),
  );
  const found: string[] = [];
  for (const folder of folders) {
    const isAdmin = (await readText(join(folder, 'role'))) === 'bios-admin';
    if (isAdmin && (await readText(join(folder, 'is_enabled'))) === '1') found.push(folder);
  }
  return found;
}

async function demandPassword(driver: string, password: string | undefined): Promise<void> {
  if (password !== undefined || (await adminAuthentications(driver)).length === 0) return;
  throw new AppError(
    'invalid_argument',
    'the firmware has an administrator password: give it as the argument admin_password',
  );
}

/** The kernel keeps the password in memory until another is written: it is taken back whatever happens. */
async function withPassword(options: FirmwareAttributesOptions, act: () => Promise<void>): Promise<void> {
  const { adminPassword, root, log } = options;
  const drivers = adminPassword === undefined ? [] : await driverFolders(root);
  const files = (await Promise.all(drivers.map(adminAuthentications)))
    .flat()
    .map((folder) => join(folder, 'current_password'));
  try {
    for (const file of files) await writeText(file, adminPassword ?? '', "give the firmware's administrator password");
    await act();
  } finally {
    for (const file of files) {
      await writeText(file, '', 'take the password back').catch((error: unknown) =>
        log.warn({ err: error }, 'the administrator password stays in memory until the next boot'),
      );
    }
  }
}

/** Names in a folder, sorted; empty where there is no such folder. */
async function listFolder(path: string): Promise<string[]> {
  try {
    return (await readdir(path)).sort();
  } catch (error) {
    if (hasCode(error, ['ENOENT', 'ENOTDIR'])) return [];
    throw new AppError('command_failed', `list ${path}`, { cause: error });
  }
}

/** A file's text without its line end; `undefined` where it is not there, or the firmware does not let it be read. */
async function readText(path: string): Promise<string | undefined> {
  try {
    return (await readFile(path, 'utf8')).replace(/\n$/, '');
  } catch (error) {
    if (hasCode(error, ['ENOENT', 'ENOTDIR', 'EACCES', 'EIO', 'ENODEV', 'EOPNOTSUPP'])) return undefined;
    throw new AppError('command_failed', `read ${path}`, { cause: error });
  }
}

async function writeText(path: string, text: string, what: string): Promise<void> {
  try {
    await writeFile(path, text);
  } catch (error) {
    const hint = hasCode(error, ['EACCES', 'EPERM'])
      ? ' (a wrong or missing admin_password, or locked by the firmware)'
      : '';
    throw new AppError('command_failed', `${what}: the firmware refuses it${hint}`, { cause: error });
  }
}

function hasCode(error: unknown, codes: readonly string[]): boolean {
  return error instanceof Error && 'code' in error && codes.includes(String(error.code));
}
