import type { SettingSource } from '#agent/bios/setting-source.ts';
import type { BiosSetting, WantedBiosSetting } from '#shared/bios/bios-setting.ts';
import { checkSettings } from '#shared/bios/check-settings.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** Settings that the conductor caches, and shows to the operator. */
export interface AppliedSettings {
  /** All settings as they are now. */
  readonly settings: readonly BiosSetting[];
  /** Names of those that were changed. */
  readonly changed: readonly string[];
  readonly rebootPending: boolean;
}

interface ReadSource {
  readonly source: SettingSource;
  readonly settings: readonly BiosSetting[];
}

/**
 * Brings the settings to the wanted values: checks all before it writes one, writes what differs, reads it back.
 * @throws AppError `not_supported` where the machine has no settings, `invalid_argument`, `conflict`, `command_failed`
 */
export async function applySettings(
  sources: readonly SettingSource[],
  wanted: readonly WantedBiosSetting[],
): Promise<AppliedSettings> {
  const read = await readAll(sources);
  const known = read.flatMap(({ settings }) => settings);
  if (known.length === 0) {
    throw new AppError(
      'not_supported',
      'set BIOS settings: the machine has neither EFI variables nor a firmware-attributes driver',
    );
  }
  // the form of keys is the source's business, which knows more of it
  checkSettings(known, wanted);
  const work = read.map(({ source, settings }) => ({ source, settings, changes: differing(source, settings, wanted) }));
  for (const { source, settings, changes } of work) {
    if (changes.length > 0) await source.check(settings, changes);
  }
  for (const { source, changes } of work) if (changes.length > 0) await source.write(changes);
  const pending = await Promise.all(sources.map((source) => source.isRebootPending()));
  const after = await readAll(sources);
  for (const [index, { source, settings }] of after.entries()) {
    const left = differing(source, settings, wanted).filter(({ name }) => !isPassword(settings, name));
    if (left.length === 0 || pending[index]) continue;
    throw new AppError(
      'command_failed',
      `the firmware took the BIOS settings ${left.map(({ name }) => name).join(', ')} and shows other values: ` +
        left
          .map(({ name }) => `${name} = ${settings.find((each) => each.name === name)?.value ?? 'unknown'}`)
          .join(', '),
    );
  }
  return {
    settings: after.flatMap(({ settings }) => settings),
    changed: work.flatMap(({ changes }) => changes.map(({ name }) => name)),
    rebootPending: pending.includes(true),
  };
}

async function readAll(sources: readonly SettingSource[]): Promise<readonly ReadSource[]> {
  return Promise.all(sources.map(async (source) => ({ source, settings: await source.read() })));
}

/** Selects, of the wanted settings, those that this source has and that are not so yet. */
function differing(
  source: SettingSource,
  settings: readonly BiosSetting[],
  wanted: readonly WantedBiosSetting[],
): WantedBiosSetting[] {
  const byName = new Map(settings.map((setting) => [setting.name, setting]));
  return wanted.filter(({ name, value }) => {
    const setting = byName.get(name);
    return setting !== undefined && !source.isAsWanted(setting, value);
  });
}

function isPassword(settings: readonly BiosSetting[], name: string): boolean {
  return settings.find((each) => each.name === name)?.attribute_type === 'Password';
}
