import { createHash } from 'node:crypto';
import type { BootEvent, EventLog } from '#conductor/model/tpm/read-event-log.ts';
import type { PcrValues } from '#conductor/model/tpm/verify-quote.ts';
import { readBytes } from '#shared/tpm/byte-reader.ts';

/** Summary of one boot's quote and log, as it is kept and compared with later ones. */
export interface MeasuredBoot {
  /** SHA-256 values, hex, by the PCR's number. */
  readonly pcrs: Readonly<Record<string, string>>;
  /** `undefined`: the log does not say. */
  readonly secureBoot?: boolean | undefined;
  /** Name that the firmware gives itself; many leave it empty. */
  readonly firmwareVersion?: string | undefined;
  /** SHA-256 of UEFI's variables that decide about Secure Boot, by their names: `PK`, `KEK`, `db`, `dbx` … */
  readonly variables: Readonly<Record<string, string>>;
  /**
   * SHA-256, hex, over PCR 7's digests up to its separator: Secure Boot's state and keys, less whose key each program was
   * checked by, which differs with what is booted. `undefined`: written down by an older release.
   */
  readonly policy?: string | undefined;
  /**
   * Everything, by digest, hex, that PCR 4 was extended by and that is no fixed word of firmware: the programs that it has
   * started (Authenticode digests of boot loaders, of kernels with an EFI stub), whatever the log calls them.
   */
  readonly programs: readonly string[];
}

/** Types of events (PC Client Platform Firmware Profile 1.06, 10.4.1). */
const eventType = { firmwareVersion: 0x8, variable: 0x80000001 } as const;
/** Separates what the firmware has measured of itself from what it boots (2.3.4). */
const separator = createHash('sha256').update('\0\0\0\0').digest('hex');
/** Digests of the fixed words in PCR 4 (2.3.4.5): separators, and that a boot option is tried or has come back. */
const fixedWords: ReadonlySet<string> = new Set([
  separator,
  ...['Calling EFI Application from Boot Option', 'Returning from EFI Application from Boot Option'].map((word) =>
    createHash('sha256').update(word).digest('hex'),
  ),
]);

/** Sums a boot up; of an event's data is believed only what its digest proves. Pure. */
export function summariseBoot(log: EventLog, pcrs: PcrValues): MeasuredBoot {
  const variables = new Map<string, string>();
  let secureBoot: boolean | undefined;
  for (const event of ofType(log, 7, eventType.variable).filter(isProved)) {
    const variable = readVariable(event.data);
    if (!variable) continue;
    variables.set(variable.name, event.digest);
    if (variable.name === 'SecureBoot') secureBoot = variable.value.length === 1 && variable.value[0] === 1;
  }
  const versions = ofType(log, 0, eventType.firmwareVersion).filter(isProved);
  const firmwareVersion = [...new Set(versions.map(({ data }) => readText(data)))].filter(Boolean).join(', ');
  // by digest alone: a quote proves no event's type
  const programs = log.events.filter(({ pcr, digest }) => pcr === 4 && !fixedWords.has(digest));
  return {
    pcrs: Object.fromEntries([...pcrs].map(([pcr, value]) => [String(pcr), value])),
    secureBoot,
    ...(firmwareVersion ? { firmwareVersion } : {}),
    variables: Object.fromEntries(variables),
    policy: policyOf(log),
    programs: programs.map(({ digest }) => digest),
  };
}

function policyOf({ events }: EventLog): string {
  const digests = events.filter(({ pcr }) => pcr === 7).map(({ digest }) => digest);
  const end = digests.indexOf(separator);
  const policy = end === -1 ? digests : digests.slice(0, end);
  return createHash('sha256').update(policy.join('\n')).digest('hex');
}

function ofType({ events }: EventLog, pcr: number, type: number): BootEvent[] {
  return events.filter((event) => event.pcr === pcr && event.type === type);
}

/** Whether the digest, which the quote proves, is that of the data, which anybody may have written. */
function isProved({ digest, data }: BootEvent): boolean {
  return createHash('sha256').update(data).digest('hex') === digest;
}

/** `UEFI_VARIABLE_DATA`; its digest is of the whole. */
function readVariable(data: Buffer): { readonly name: string; readonly value: Buffer } | undefined {
  try {
    const reader = readBytes(data, 'a variable', { order: 'little' });
    reader.take(16);
    const [characters, bytes] = [reader.u64(), reader.u64()];
    const name = reader.take(Number(characters) * 2).toString('utf16le');
    const value = reader.take(Number(bytes));
    return /^[A-Za-z][A-Za-z0-9]{0,31}$/.test(name) ? { name, value } : undefined;
  } catch {
    // of another form than TCG's: its digest counts all the same, in the PCR
    return undefined;
  }
}

/** UTF-16 with a zero at its end. Printable ASCII only: it goes into texts for people. */
function readText(data: Buffer): string {
  return data
    .toString('utf16le')
    .replaceAll(/[^\x20-\x7e]/g, '')
    .slice(0, 64);
}

/**
 * Names, as people read them, the differences between an accepted boot and another one of the same machine. PCRs 1, 3, 5 and
 * 6 hold what differs between honest boots, such as the boot order; the programs of PCR 4 are compared one by one. Pure.
 * @param served programs that the machine was served now, which may be others than before
 */
export function describeChanges(accepted: MeasuredBoot, now: MeasuredBoot, served: readonly string[] = []): string[] {
  const known = new Set(accepted.programs);
  const strange = [...new Set(now.programs)].filter((digest) => !served.includes(digest) && !known.has(digest));
  return [
    ...firmwareChanges(accepted, now),
    ...secureBootChanges(accepted, now),
    ...strange.map(
      (digest) =>
        `the firmware has started a program that no accepted boot had (SHA-256 ${digest.slice(0, 16)}…, PCR 4)`,
    ),
  ];
}

const parts = { '0': 'firmware', '2': 'option ROMs of its cards' } as const;

function firmwareChanges(accepted: MeasuredBoot, now: MeasuredBoot): string[] {
  return Object.entries(parts).flatMap(([pcr, part]) => {
    if (accepted.pcrs[pcr] === now.pcrs[pcr]) return [];
    const [before, after] = [accepted.firmwareVersion, now.firmwareVersion];
    const versions = pcr === '0' && before !== after ? ` ${before ?? 'unnamed'} → ${after ?? 'unnamed'}` : '';
    return [`the ${part} changed${versions} (PCR ${pcr})`];
  });
}

function secureBootChanges(accepted: MeasuredBoot, now: MeasuredBoot): string[] {
  if (accepted.policy !== undefined && accepted.policy === now.policy) return [];
  const state = (on: boolean | undefined) => (on === undefined ? 'unknown' : on ? 'on' : 'off');
  const [before, after] = [state(accepted.secureBoot), state(now.secureBoot)];
  const names = new Set([...Object.keys(accepted.variables), ...Object.keys(now.variables)]);
  const changed = [...names].filter(
    (name) => name !== 'SecureBoot' && accepted.variables[name] !== now.variables[name],
  );
  const changes = [
    ...(before === after ? [] : [`Secure Boot was ${before} and is ${after}`]),
    ...(changed.length === 0 ? [] : [`Secure Boot's ${changed.join(', ')} changed`]),
  ];
  if (changes.length === 0 && !isOlderAndSame(accepted, now)) changes.push("Secure Boot's policy changed");
  return changes.map((change) => `${change} (PCR 7)`);
}

/**
 * Checks a boot that an older release has written down, whose variables are all that is known of its policy: its PCR 7 has
 * what shim adds as well, such as `SbatLevel`. Where it has no variables either, the whole of PCR 7 counts.
 */
function isOlderAndSame(accepted: MeasuredBoot, now: MeasuredBoot): boolean {
  if (accepted.policy !== undefined) return false;
  const hasState = accepted.secureBoot !== undefined && Object.keys(accepted.variables).length > 0;
  return hasState || accepted.pcrs['7'] === now.pcrs['7'];
}
