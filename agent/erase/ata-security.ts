import { AppError } from '#shared/errors/app-error.ts';
import type { Run, RunOptions } from '#shared/process/run.ts';
import { runCleanup } from '#shared/process/run-cleanup.ts';

/** The security feature set of an ATA disk. */
export interface AtaSecurity {
  readonly supported: boolean;
  /** A password is set. */
  readonly enabled: boolean;
  /** Nothing but its password opens the disk. */
  readonly locked: boolean;
  /** The firmware has forbidden security commands until the next power cycle. */
  readonly frozen: boolean;
  /** Also erases what the disk has remapped. */
  readonly enhancedErase: boolean;
  /** Minutes that the disk estimates; `undefined` where it doesn't. */
  readonly eraseMinutes: number | undefined;
  readonly enhancedEraseMinutes: number | undefined;
}

/** The password that an erase needs to be set for as long as it takes: the same that ironic-python-agent sets. */
const password = 'NULL';

/** Versions of hdparm differ in whether they take that word for itself or for the empty password. */
const otherPassword = '';

/** `undefined` for a disk that speaks no ATA. */
export async function readAtaSecurity(run: Run, device: string): Promise<AtaSecurity | undefined> {
  try {
    return parseAtaSecurity((await run('hdparm', ['-I', device])).stdout);
  } catch (error) {
    // a disk behind SCSI or virtio answers the question with an error
    if (error instanceof AppError && error.code === 'command_failed') return undefined;
    throw error;
  }
}

/** Parses `hdparm -I`. */
export function parseAtaSecurity(stdout: string): AtaSecurity | undefined {
  const lines = stdout.split('\n');
  const from = lines.findIndex((line) => line.startsWith('Security:'));
  if (!/^ATA device/m.test(stdout)) return undefined;
  const rest = from < 0 ? [] : lines.slice(from + 1);
  const end = rest.findIndex((line) => /^\S/.test(line));
  const words = rest.slice(0, end < 0 ? undefined : end).map((line) => line.trim().replaceAll(/\s+/g, ' '));
  const minutes = (name: string): number | undefined => {
    const found = new RegExp(`(\\d+)min for ${name}\\.?`).exec(words.join(' '));
    return found ? Number(found[1]) : undefined;
  };
  return {
    supported: words.includes('supported'),
    enabled: words.includes('enabled'),
    locked: words.includes('locked'),
    frozen: words.includes('frozen'),
    enhancedErase: words.includes('supported: enhanced erase'),
    eraseMinutes: minutes('SECURITY ERASE UNIT'),
    enhancedEraseMinutes: minutes('ENHANCED SECURITY ERASE UNIT'),
  };
}

/**
 * Has an ATA disk erase itself, enhanced where it offers that.
 * @throws AppError `storage_error` for a frozen disk, one locked with a password that is not ours, and a failed erase.
 */
export async function eraseAta(run: Run, device: string, before: AtaSecurity, signal: AbortSignal): Promise<void> {
  const security = await unlockAta(run, device, before);
  if (security.frozen) {
    throw new AppError(
      'storage_error',
      `the firmware has frozen the security settings of ${device}: a power cycle or a firmware setting unfreezes them`,
    );
  }
  await hdparm(run, device, '--security-set-pass');
  const command = security.enhancedErase ? '--security-erase-enhanced' : '--security-erase';
  const minutes = (security.enhancedErase ? security.enhancedEraseMinutes : security.eraseMinutes) ?? 8 * 60;
  try {
    await hdparm(run, device, command, { timeoutMs: (2 * minutes + 30) * 60_000, signal });
  } catch (cause) {
    await removePassword(run, device, cause);
    throw new AppError('storage_error', `${device} did not erase itself`, { cause });
  }
  const after = await readAtaSecurity(run, device);
  if (after?.enabled || after?.locked) {
    const failure = new AppError('storage_error', `${device} still has its password after it erased itself`);
    await removePassword(run, device, failure);
    throw failure;
  }
}

/**
 * Opens a disk whose erase was interrupted, for it has our password still; locked, it neither reads nor writes.
 * @returns how it is now
 * @throws AppError `storage_error` for another password.
 */
export async function unlockAta(run: Run, device: string, security: AtaSecurity): Promise<AtaSecurity> {
  if (!security.locked && !security.enabled) return security;
  try {
    if (security.locked) await withOwnPassword(run, device, '--security-unlock');
    await withOwnPassword(run, device, '--security-disable');
  } catch (cause) {
    throw new AppError('storage_error', `${device} is locked with a password that this agent did not set`, { cause });
  }
  return (await readAtaSecurity(run, device)) ?? security;
}

/** Else the disk is locked from the next power-on. @throws AppError with both failures. */
async function removePassword(run: Run, device: string, reason: unknown): Promise<void> {
  try {
    await withOwnPassword((...call) => runCleanup(run, ...call), device, '--security-disable');
  } catch (cause) {
    const both = new AggregateError([reason, cause]);
    throw new AppError(
      'storage_error',
      `${device} did not erase itself and keeps its password, which is "${password}": it is locked from the next power-on`,
      { cause: both },
    );
  }
}

async function withOwnPassword(run: Run, device: string, command: string): Promise<void> {
  try {
    await hdparm(run, device, command);
  } catch (error) {
    if (!(error instanceof AppError && error.code === 'command_failed')) throw error;
    await hdparm(run, device, command, {}, otherPassword);
  }
}

function hdparm(
  run: Run,
  device: string,
  command: string,
  options: Pick<RunOptions, 'timeoutMs' | 'signal'> = {},
  word = password,
): ReturnType<Run> {
  return run('hdparm', ['--user-master', 'u', command, word, device], { timeoutMs: 60_000, ...options });
}
