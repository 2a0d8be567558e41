import { createHash } from 'node:crypto';
import type { PcrValues } from '#conductor/model/tpm/verify-quote.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { algorithms } from '#shared/tpm/algorithms.ts';
import { type ByteReader, readBytes } from '#shared/tpm/byte-reader.ts';

/** An event that firmware or a boot loader has written down beside extending a PCR by its digest. */
export interface BootEvent {
  readonly pcr: number;
  readonly type: number;
  /** SHA-256, hex. Only this is proved by a quote, not the data. */
  readonly digest: string;
  readonly data: Buffer;
}

const noAction = 3;
const signature = 'Spec ID Event03\0';
const locality = 'StartupLocality\0';
/** Some firmware writes hundreds of events; ten times that is no log of a boot. */
const mostEvents = 5_000;
const mostAlgorithms = 16;

/** A log, and the locality that PCR 0 starts from. */
export interface EventLog {
  readonly events: readonly BootEvent[];
  readonly locality: number;
}

/**
 * Reads an event log in the crypto-agile form (TCG PC Client Platform Firmware Profile 1.06, 10.2).
 * @throws AppError `invalid_argument`: it is cut, of the old form that has SHA-1 only, or has no SHA-256 digests
 */
export function readEventLog(bytes: Buffer): EventLog {
  const reader = readBytes(bytes, 'the event log', { order: 'little' });
  const sizes = readHeader(reader);
  const events: BootEvent[] = [];
  let started = 0;
  while (reader.left() > 0) {
    const [pcr, type, digests] = [reader.u32(), reader.u32(), reader.u32()];
    if (digests > mostAlgorithms)
      throw new AppError('invalid_argument', `an event of PCR ${pcr} has ${digests} digests`);
    let digest: string | undefined;
    for (let index = 0; index < digests; index += 1) {
      const algorithm = reader.u16();
      const size = sizes.get(algorithm);
      if (size === undefined)
        throw new AppError('invalid_argument', `an event of PCR ${pcr} has a digest that the log does not announce`);
      const value = reader.take(size);
      if (algorithm === algorithms.sha256) digest = value.toString('hex');
    }
    const data = reader.take(reader.u32());
    if (type === noAction) {
      if (pcr === 0 && data.subarray(0, 16).toString('latin1') === locality) started = data[16] ?? 0;
      continue;
    }
    if (digest === undefined) throw new AppError('invalid_argument', `an event of PCR ${pcr} has no SHA-256 digest`);
    if (events.length === mostEvents)
      throw new AppError('invalid_argument', `the event log has more than ${mostEvents} events`);
    events.push({ pcr, type, digest, data });
  }
  return { events, locality: started };
}

function readHeader(reader: ByteReader): ReadonlyMap<number, number> {
  const [pcr, type] = [reader.u32(), reader.u32()];
  reader.take(20);
  const header = readBytes(reader.take(reader.u32()), "the event log's header", { order: 'little' });
  if (pcr !== 0 || type !== noAction || header.left() < 16 || header.take(16).toString('latin1') !== signature)
    throw new AppError('invalid_argument', 'the event log is of the old form, which has SHA-1 digests only');
  header.take(4 + 4); // platform class, version
  const count = header.u32();
  if (count > mostAlgorithms) throw new AppError('invalid_argument', `the event log announces ${count} algorithms`);
  const sizes = new Map<number, number>();
  for (let index = 0; index < count; index += 1) sizes.set(header.u16(), header.u16());
  if (sizes.get(algorithms.sha256) !== 32)
    throw new AppError('invalid_argument', 'the event log has no SHA-256 digests');
  return sizes;
}

/** Values that PCRs have once a log's events have extended them, by their number; others are zero. */
function replayLog({ events, locality: started }: EventLog): PcrValues {
  const values = new Map<number, Buffer>();
  for (const { pcr, digest } of events) {
    const before = values.get(pcr) ?? (pcr === 0 ? Buffer.concat([Buffer.alloc(31), Buffer.from([started])]) : zero);
    values.set(pcr, createHash('sha256').update(before).update(Buffer.from(digest, 'hex')).digest());
  }
  return new Map([...values].map(([pcr, value]) => [pcr, value.toString('hex')]));
}

const zero = Buffer.alloc(32);

/** PCRs whose quoted value is another than the log's events give: then the log says nothing. */
export function differingPcrs(log: EventLog, quoted: PcrValues): number[] {
  const replayed = replayLog(log);
  return [...quoted]
    .filter(([pcr, value]) => value !== (replayed.get(pcr) ?? zero.toString('hex')))
    .map(([pcr]) => pcr);
}
