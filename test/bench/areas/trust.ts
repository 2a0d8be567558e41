import { z } from 'zod';
import { judgeBoot } from '#conductor/model/tpm/judge-boot.ts';
import { makeCredential } from '#conductor/model/tpm/make-credential.ts';
import { summariseBoot } from '#conductor/model/tpm/measured-boot.ts';
import { readAttestationKey, readEndorsementKey } from '#conductor/model/tpm/public-area.ts';
import { differingPcrs, readEventLog } from '#conductor/model/tpm/read-event-log.ts';
import { verifyQuote } from '#conductor/model/tpm/verify-quote.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { quotedPcrs } from '#shared/wire/attestation.ts';
import { type Area, type Figure, median, round } from '#test/bench/area.ts';
import { readRecordings } from '#test/recorded/read-recordings.ts';
import { createDraw } from '#test/support/draw.ts';
import { forgeQuote } from '#test/support/forge-quote.ts';

const rounds = 300;
const mutants = 100_000;

const Quoted = z.looseObject({ kind: z.string(), nonce: z.string() });

/**
 * Attestation: the conductor's time for one machine, from its keys to the verdict (credential, signature, the largest
 * recorded event log; of the slower kind of key the median), and how many of 100,000 forged or replayed quotes are accepted,
 * which takes half a minute.
 */
export const trustArea: Area = {
  name: 'trust',
  measure: async ({ say }) => {
    const quotes = await readQuotes();
    const log = await readLargestLog();
    const times = quotes.map(({ kind, ...quote }) => {
      const each = Array.from({ length: rounds }, () => measureOnce(quote, log));
      say(`${kind}: ${round(median(each), 2)} ms, the slowest ${round(Math.max(...each), 1)} ms`);
      return median(each);
    });
    if (times.length === 0) throw new Error('there are no recorded quotes');
    return {
      verify_ms: { value: round(Math.max(...times), 2), unit: 'ms' },
      forged_accepted: countAccepted(quotes, say),
    };
  },
};

async function readQuotes() {
  const recordings = await readRecordings('tpm/quotes', Quoted);
  return recordings.map(({ outputs, reading }) => {
    const bytes = (name: string): Buffer => Buffer.from(outputs[name] ?? '', 'base64');
    return {
      kind: reading.kind,
      ek: bytes('tpm2_createek'),
      ak: bytes('tpm2_createak'),
      nonce: Buffer.from(reading.nonce, 'hex'),
      evidence: {
        quote: bytes('tpm2_quote message'),
        signature: bytes('tpm2_quote signature'),
        pcrValues: readValues(outputs['tpm2_quote pcrs']),
      },
    };
  });
}
type Quote = Omit<Awaited<ReturnType<typeof readQuotes>>[number], 'kind'>;

async function readLargestLog() {
  const recordings = await readRecordings('tpm/event-logs', z.looseObject({}));
  const logs = recordings.map(({ outputs }) => ({
    bytes: Buffer.from(outputs['binary_bios_measurements'] ?? '', 'base64'),
    pcrs: readValues(outputs['pcr-sha256']),
  }));
  const [largest] = logs.sort((a, b) => b.bytes.length - a.bytes.length);
  if (!largest) throw new Error('there are no recorded event logs');
  return largest;
}
type Log = Awaited<ReturnType<typeof readLargestLog>>;

function readValues(text = ''): Map<number, string> {
  const lines = text.trim().split('\n');
  return new Map(lines.map((line) => line.split(': ')).map(([pcr, value = '']) => [Number(pcr), value] as const));
}

function measureOnce({ ek, ak, nonce, evidence }: Quote, { bytes, pcrs }: Log): number {
  const startedAt = performance.now();
  const key = readAttestationKey(ak);
  makeCredential(readEndorsementKey(ek), key.name, Buffer.alloc(32));
  verifyQuote(evidence, key, { nonce, pcrs: quotedPcrs });
  const log = readEventLog(bytes);
  if (differingPcrs(log, pcrs).length > 0) throw new Error('the recorded log does not give its values');
  const ekPublic = ek.toString('base64');
  const measured = summariseBoot(log, pcrs);
  const known = { ekPublic, acceptedBoot: measured, acceptedBy: null };
  const programs = measured.programs.map((sha256) => ({ sha256, name: 'loader' }));
  const predicted = { programs, kernel: '', events: [] };
  judgeBoot({ ekPublic, known, boot: { measured, events: log.events }, predicted });
  return performance.now() - startedAt;
}

function askedNow(index: number): Buffer {
  const nonce = Buffer.alloc(32);
  nonce.writeUInt32BE(index);
  return nonce;
}

function countAccepted(quotes: readonly Quote[], say: (line: string) => void): Figure {
  const startedAt = performance.now();
  const draw = createDraw(41);
  let accepted = 0;
  for (let index = 0; index < mutants; index += 1) {
    const quote = quotes[index % quotes.length];
    if (!quote) throw new Error('there are no recorded quotes');
    // one in ten is a true quote, which answers an earlier question
    const isReplay = index % 10 === 0;
    const evidence = isReplay ? quote.evidence : forgeQuote(quote.evidence, draw);
    const nonce = isReplay ? askedNow(index) : quote.nonce;
    try {
      verifyQuote(evidence, readAttestationKey(quote.ak), { nonce, pcrs: quotedPcrs });
      accepted += 1;
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== 'invalid_argument') throw error;
    }
  }
  say(`${mutants} forged and replayed quotes in ${round((performance.now() - startedAt) / 1000)} s`);
  return { value: accepted, unit: 'quotes' };
}
