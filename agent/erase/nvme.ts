import { z } from 'zod';
import type { Clock } from '#shared/clock.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { Run } from '#shared/process/run.ts';

/** Ways in which an NVMe controller can erase itself (NVMe base specification, Identify Controller). */
export interface NvmeAbilities {
  readonly format: boolean;
  /** Format with secure erase 2: the key is thrown away. */
  readonly cryptoErase: boolean;
  /** A format acts on all namespaces of the controller, not only the one named. */
  readonly formatsAllNamespaces: boolean;
  readonly sanitize: readonly SanitizeAction[];
}

export type SanitizeAction = 'crypto erase' | 'block erase';

const sanitizeActions: Readonly<Record<SanitizeAction, { readonly bit: number; readonly code: number }>> = {
  'crypto erase': { bit: 0b01, code: 4 },
  'block erase': { bit: 0b10, code: 2 },
};

/** A format writes or trims the whole disk; a sanitize goes on for hours where it must. */
const longestMs = 12 * 60 * 60_000;

const IdentifyController = z.looseObject({
  oacs: z.number().default(0),
  fna: z.number().default(0),
  sanicap: z.number().default(0),
});

/** @throws AppError `command_failed`, `storage_error` for output that can't be read. */
export async function readNvmeAbilities(run: Run, device: string): Promise<NvmeAbilities> {
  const { stdout } = await run('nvme', ['id-ctrl', device, '--output-format=json']);
  return parseIdentifyController(device, stdout);
}

/** Parses `nvme id-ctrl --output-format=json`. */
export function parseIdentifyController(device: string, stdout: string): NvmeAbilities {
  const { oacs, fna, sanicap } = parseJson(IdentifyController, stdout, `what ${device}'s controller can do`);
  return {
    format: (oacs & 0b10) !== 0,
    cryptoErase: (fna & 0b100) !== 0,
    // the first bit speaks of formats, the second of those with secure erase
    formatsAllNamespaces: (fna & 0b11) !== 0,
    sanitize: (['crypto erase', 'block erase'] as const).filter((each) => (sanicap & sanitizeActions[each].bit) !== 0),
  };
}

/**
 * Formats a namespace, keeping its block size.
 * @param secureErase 1: the data is erased, 2: the key to it
 */
export async function formatNvme(run: Run, device: string, secureErase: 1 | 2, signal: AbortSignal): Promise<void> {
  await run('nvme', ['format', device, `--ses=${secureErase}`, '--force', `--timeout=${longestMs}`], {
    timeoutMs: longestMs,
    signal,
  });
}

/**
 * Sanitizes all of a controller's media and waits for the end.
 * @param onShare called with how far it is, 0 to 1
 * @throws AppError `storage_error` when the controller says that it failed, `timeout`, `aborted`.
 */
export async function sanitizeNvme(
  services: { readonly run: Run; readonly clock: Clock; readonly signal: AbortSignal },
  device: string,
  action: SanitizeAction,
  onShare: (share: number) => void,
): Promise<void> {
  const { run, signal } = services;
  const controller = nvmeController(device);
  await run('nvme', ['sanitize', controller, `--sanact=${sanitizeActions[action].code}`], { signal });
  const state = await awaitSanitize(services, device, onShare);
  if (state !== 'done') throw new AppError('storage_error', `${controller} says that its ${action} failed`);
}

/**
 * Waits while a controller sanitizes, which goes on through a power cycle and refuses all other work meanwhile.
 * @param onShare called with how far it is, 0 to 1
 * @returns how the latest one ended
 * @throws AppError `command_failed` for a controller without sanitize, `timeout`, `aborted`.
 */
export async function awaitSanitize(
  { run, clock, signal }: { readonly run: Run; readonly clock: Clock; readonly signal: AbortSignal },
  device: string,
  onShare: (share: number) => void,
): Promise<'done' | 'failed' | 'never'> {
  const controller = nvmeController(device);
  const deadline = clock.now().getTime() + longestMs;
  for (;;) {
    const { stdout } = await run('nvme', ['sanitize-log', controller, '--output-format=json'], { signal });
    const { state, share } = parseSanitizeLog(controller, stdout);
    if (state !== 'running') return state;
    if (clock.now().getTime() > deadline) {
      throw new AppError('timeout', `the sanitize of ${controller} did not end within ${longestMs / 3_600_000} hours`);
    }
    onShare(share);
    await clock.sleep(2000, signal);
  }
}

/** nvme-cli 2 spells the status out: `{"status": "(2) Sanitize in progress", …}`. */
const SanitizeStatus = z.union([
  z.number(),
  z.looseObject({ status: z.string().regex(/\d/) }).transform(({ status }) => Number(/\d+/.exec(status)?.[0])),
]);
const SanitizeLog = z.looseObject({ sprog: z.number(), sstat: SanitizeStatus });

/** By the status in the log; 4: done, and all blocks deallocated. */
const sanitizeStates = ['never', 'done', 'running', 'failed', 'done'] as const;

/** Parses `nvme sanitize-log --output-format=json`, which names the controller around the values or does not. */
export function parseSanitizeLog(
  controller: string,
  stdout: string,
): { readonly state: 'done' | 'running' | 'failed' | 'never'; readonly share: number } {
  const document = parseJson(z.looseObject({}), stdout, `how far the sanitize of ${controller} is`);
  const logs = 'sprog' in document ? [document] : Object.values(document);
  const parsed = SanitizeLog.safeParse(logs.length === 1 ? logs[0] : undefined);
  if (!parsed.success) {
    throw new AppError('storage_error', `read how far the sanitize of ${controller} is`, { cause: parsed.error });
  }
  const { sprog, sstat } = parsed.data;
  const status = sstat & 0b111;
  return { state: sanitizeStates[status] ?? 'failed', share: sprog / 65_536 };
}

/** `/dev/nvme0` of `/dev/nvme0n1`; the device itself where it is not a namespace. */
export function nvmeController(device: string): string {
  return /^(.*nvme\d+)n\d+$/.exec(device)?.[1] ?? device;
}

function parseJson<T>(schema: z.ZodType<T>, stdout: string, what: string): T {
  try {
    return schema.parse(JSON.parse(stdout));
  } catch (cause) {
    throw new AppError('storage_error', `read ${what}`, { cause });
  }
}
