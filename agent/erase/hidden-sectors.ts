import { AppError } from '#shared/errors/app-error.ts';
import type { Run } from '#shared/process/run.ts';

const remedy =
  'the hidden sectors can be neither read nor overwritten. Enable ATA secure erase, remove the limit by hand ' +
  '(hdparm -N, --dco-restore, then a power cycle), or pull the disk';

/**
 * Refuses to discard or overwrite an ATA disk that has sectors no command reaches: a host protected area (HPA; ACS-3
 * calls it accessible max address) or a device configuration overlay (DCO). Its own secure erase reaches them.
 * @throws AppError `storage_error` when there are some, or when the disk offers such and does not report.
 */
export async function requireNoHiddenSectors(run: Run, device: string): Promise<void> {
  const identify = await ask(run, ['-I', device]);
  // SAS, virtio and what else speaks no ATA answers that with an error, or as something else
  if (identify === undefined || !/^ATA device/m.test(identify)) return;
  const limits = readHiddenSectors({
    identify,
    native: (await ask(run, ['-N', device])) ?? '',
    overlay: hasOverlay(identify) ? ((await ask(run, ['--dco-identify', device])) ?? '') : '',
  });
  if (limits === undefined) return;
  throw new AppError('storage_error', `${device} ${limits}: ${remedy}`);
}

/**
 * Describes what is wrong with a disk's size, from `hdparm -I`, `-N` and `--dco-identify`; `undefined` = all its
 * sectors are seen. A bridge may print nonsense and succeed: only sizes that agree count.
 */
export function readHiddenSectors(texts: {
  readonly identify: string;
  readonly native: string;
  readonly overlay: string;
}): string | undefined {
  const [, shown = 0, native = 0] = (/max sectors\s*=\s*(\d+)\/(\d+)/.exec(texts.native) ?? []).map(Number);
  const isClear = /(?:HPA|ACCESSIBLE MAX ADDRESS)(?: is)? (?:enabled|disabled)/i.test(texts.native) && shown > 0;
  if (isClear && shown < native) return `hides ${native - shown} sectors (HPA)`;
  if (!(isClear && shown === native) && offersProtectedArea(texts.identify)) {
    return 'supports hidden sectors (HPA) and does not report whether it has any';
  }
  if (!hasOverlay(texts.identify)) return undefined;
  const real = Number(/Real max sectors:\s*(\d+)/.exec(texts.overlay)?.[1] ?? 0);
  // without an answer to the first question there is no HPA
  const visible = isClear ? native : sectorsOf(texts.identify);
  if (visible > 0 && real > visible) return `hides ${real - visible} sectors (DCO)`;
  return visible > 0 && real === visible
    ? undefined
    : 'supports hidden sectors (DCO) and does not report whether it has any; the firmware may have frozen it';
}

/** ACS-3, version 10, and later offer the accessible max address, of which hdparm's list of features says nothing. */
function offersProtectedArea(identify: string): boolean {
  return /Host Protected Area feature set|SET_MAX|^\s*Supported:.*\b1\d\b/m.test(identify);
}

function hasOverlay(identify: string): boolean {
  return /Device Configuration Overlay feature set/.test(identify);
}

function sectorsOf(identify: string): number {
  const found = /LBA48\s+user addressable sectors:\s*(\d+)/.exec(identify);
  return Number((found ?? /LBA\s+user addressable sectors:\s*(\d+)/.exec(identify))?.[1] ?? 0);
}

/** `undefined` = the disk does not answer that. */
async function ask(run: Run, args: readonly string[]): Promise<string | undefined> {
  try {
    return (await run('hdparm', args)).stdout;
  } catch (error) {
    if (error instanceof AppError && error.code === 'command_failed') return undefined;
    throw error;
  }
}
