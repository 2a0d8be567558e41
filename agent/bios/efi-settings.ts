import {
  authenticatedAttributes,
  type EfiVariables,
  globalVariables,
  plainAttributes,
  securityDatabase,
} from '#agent/bios/efi-variables.ts';
import type { SettingSource } from '#agent/bios/setting-source.ts';
import { fingerprint, parseKeyUpdate } from '#agent/bios/signature-lists.ts';
import type { BiosSetting, WantedBiosSetting } from '#shared/bios/bios-setting.ts';
import { hasValue } from '#shared/bios/check-settings.ts';
import { efiSetting } from '#shared/bios/efi-settings.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** In the order in which they must be written: the platform key ends setup mode. */
const keyVariables = [
  { setting: 'efi.secure_boot_dbx', name: 'dbx', guid: securityDatabase },
  { setting: 'efi.secure_boot_db', name: 'db', guid: securityDatabase },
  { setting: 'efi.secure_boot_kek', name: 'KEK', guid: globalVariables },
  { setting: 'efi.secure_boot_pk', name: 'PK', guid: globalVariables },
] as const;
type KeyVariable = (typeof keyVariables)[number];

const keyOf = (setting: string): KeyVariable | undefined => keyVariables.find((each) => each.setting === setting);

export function efiSettings(variables: EfiVariables, now: () => Date): SettingSource {
  return {
    read: () => readSettings(variables),
    isAsWanted: (setting, wanted) =>
      keyOf(setting.name)
        ? setting.value === fingerprint(parseKeyUpdate(setting.name, wanted, now()).lists)
        : hasValue(setting, normal(setting.name, wanted)),
    check: async (settings, wanted) => {
      checkBootOrder(settings, wanted);
      await checkKeys(variables, settings, wanted, now());
    },
    write: async (wanted) => {
      const order = wanted.map((each) => ({
        ...each,
        rank: keyVariables.findIndex((key) => key.setting === each.name),
      }));
      for (const { name, value } of order.sort((a, b) => a.rank - b.rank)) {
        await writeSetting(variables, { name, value: normal(name, value) }, now());
      }
    },
    // the firmware reads them when it next boots, whenever that is
    isRebootPending: () => Promise.resolve(false),
  };
}

async function readSettings(variables: EfiVariables): Promise<BiosSetting[]> {
  const names = await variables.list(globalVariables);
  if (names.length === 0) return [];
  const entries = names.flatMap((name) => /^Boot([0-9A-F]{4})$/.exec(name)?.[1] ?? []);
  const order = await variables.read('BootOrder');
  const next = await variables.read('BootNext');
  const timeout = await variables.read('Timeout');
  return [
    efiSetting('efi.boot_timeout', timeout && timeout.length >= 2 ? String(timeout.readUInt16LE()) : null),
    efiSetting('efi.boot_order', numbersIn(order).join(',')),
    { ...efiSetting('efi.boot_next', numbersIn(next)[0] ?? ''), allowable_values: ['', ...entries] },
    efiSetting('efi.secure_boot', await flag(variables, 'SecureBoot')),
    efiSetting('efi.setup_mode', await flag(variables, 'SetupMode')),
    ...(await Promise.all(
      keyVariables.map(async ({ setting, name, guid }) =>
        efiSetting(setting, fingerprint(await variables.read(name, guid))),
      ),
    )),
  ];
}

async function flag(variables: EfiVariables, name: string): Promise<string | null> {
  const data = await variables.read(name);
  return data && data.length > 0 ? String(data[0] === 1) : null;
}

/** Boot entry numbers, as `efibootmgr` writes them. */
function numbersIn(data: Buffer | undefined): string[] {
  return Array.from({ length: Math.floor((data?.length ?? 0) / 2) }, (_, index) =>
    (data?.readUInt16LE(index * 2) ?? 0).toString(16).toUpperCase().padStart(4, '0'),
  );
}

function normal(name: string, value: string): string {
  if (name !== 'efi.boot_order' && name !== 'efi.boot_next') return value;
  return value.replaceAll(/\s/g, '').toUpperCase();
}

function checkBootOrder(settings: readonly BiosSetting[], wanted: readonly WantedBiosSetting[]): void {
  const order = wanted.find(({ name }) => name === 'efi.boot_order');
  if (!order) return;
  const known = settings.find(({ name }) => name === 'efi.boot_next')?.allowable_values ?? [];
  const numbers = normal(order.name, order.value).split(',');
  const wrong = numbers.filter((number, index) => !known.includes(number) || numbers.indexOf(number) !== index);
  if (wrong.length === 0) return;
  throw new AppError(
    'invalid_argument',
    `BIOS settings: efi.boot_order: ${wrong.join(', ')}: it must be numbers of boot entries, each once, like ` +
      `0003,0001; there are ${known.filter(Boolean).join(', ') || 'none'}`,
  );
}

/** @throws AppError `conflict` outside setup mode: nobody but the platform key's owner may then change keys. */
async function checkKeys(
  variables: EfiVariables,
  settings: readonly BiosSetting[],
  wanted: readonly WantedBiosSetting[],
  now: Date,
): Promise<void> {
  const updates = wanted.filter(({ name }) => keyOf(name));
  const changes = updates.filter(({ name, value }) => {
    const { lists, isSigned } = parseKeyUpdate(name, value, now);
    if (name === 'efi.secure_boot_pk' && !isSigned) {
      throw new AppError(
        'invalid_argument',
        `BIOS settings: ${name}: a platform key (PK) must be self-signed; give the base64 text of its .auth file`,
      );
    }
    return settings.find((setting) => setting.name === name)?.value !== fingerprint(lists);
  });
  if (changes.length === 0 || (await flag(variables, 'SetupMode')) === 'true') return;
  throw new AppError(
    'conflict',
    `set ${changes.map(({ name }) => name).join(', ')}: the firmware is not in setup mode; remove its platform key ` +
      'in its menu first',
  );
}

async function writeSetting(variables: EfiVariables, { name, value }: WantedBiosSetting, now: Date): Promise<void> {
  const key = keyOf(name);
  if (key) {
    const { payload } = parseKeyUpdate(name, value, now);
    await variables.write(key.name, payload, { guid: key.guid, attributes: authenticatedAttributes });
    return;
  }
  if (name === 'efi.boot_next' && value === '') {
    await variables.delete('BootNext');
    return;
  }
  const isTimeout = name === 'efi.boot_timeout';
  const numbers = isTimeout ? [Number(value)] : value.split(',').map((number) => Number.parseInt(number, 16));
  const data = Buffer.alloc(numbers.length * 2);
  numbers.forEach((number, index) => data.writeUInt16LE(number, index * 2));
  const variable = { 'efi.boot_timeout': 'Timeout', 'efi.boot_order': 'BootOrder', 'efi.boot_next': 'BootNext' }[name];
  if (variable === undefined) throw new AppError('internal', `no EFI variable behind ${name}`);
  await variables.write(variable, data, { attributes: plainAttributes });
}
