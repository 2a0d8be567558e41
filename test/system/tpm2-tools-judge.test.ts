import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { readAttestationKey } from '#conductor/model/tpm/public-area.ts';
import { differingPcrs, readEventLog } from '#conductor/model/tpm/read-event-log.ts';
import { type QuoteEvidence, verifyQuote } from '#conductor/model/tpm/verify-quote.ts';
import { run } from '#shared/process/run.ts';
import { quotedPcrs } from '#shared/wire/attestation.ts';
import { readRecordings } from '#test/recorded/read-recordings.ts';
import { createDraw } from '#test/support/draw.ts';
import { forgeQuote } from '#test/support/forge-quote.ts';

/** Our verifier and Debian's tpm2-tools judge the same bytes. */

const quotes = await readRecordings('tpm/quotes', z.looseObject({ kind: z.string(), nonce: z.string() }));
const logs = await readRecordings('tpm/event-logs', z.looseObject({}));
let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'baton-judges-'));
});
afterAll(() => rm(directory, { recursive: true }));

describe.each(logs)('the event log $name', ({ outputs }) => {
  test('gives the values that tpm2_eventlog computes', async () => {
    const bytes = Buffer.from(outputs['binary_bios_measurements'] ?? '', 'base64');
    await writeFile(join(directory, 'log'), bytes);
    const { stdout } = await run('tpm2_eventlog', [join(directory, 'log')]);
    const computed = stdout.slice(stdout.lastIndexOf('\npcrs:'));
    const [, sha256 = ''] = computed.split(/^ {2}sha256:$/m);
    const values = new Map(
      [...sha256.matchAll(/^ {4}(\d+) *: 0x([0-9a-f]{64})$/gim)].map(
        ([, pcr, value = '']) => [Number(pcr), value.toLowerCase()] as const,
      ),
    );
    expect(values.size).toBeGreaterThan(5);
    expect(differingPcrs(readEventLog(bytes), values)).toEqual([]);
  });
});

describe.each(quotes)('the quote by a key of kind $reading.kind', ({ outputs, reading }) => {
  const bytes = (name: string) => Buffer.from(outputs[name] ?? '', 'base64');
  const lines = (outputs['tpm2_quote pcrs'] ?? '').trim().split('\n');
  const evidence = {
    quote: bytes('tpm2_quote message'),
    signature: bytes('tpm2_quote signature'),
    pcrValues: new Map(lines.map((line) => line.split(': ')).map(([pcr, value = '']) => [Number(pcr), value] as const)),
  };
  const key = readAttestationKey(bytes('tpm2_createak'));

  const ours = (given: QuoteEvidence, nonce: string): boolean => {
    try {
      verifyQuote(given, key, { nonce: Buffer.from(nonce, 'hex'), pcrs: quotedPcrs });
      return true;
    } catch {
      return false;
    }
  };
  const theirs = async ({ quote, signature }: QuoteEvidence, nonce: string): Promise<boolean> => {
    const at = (name: string) => join(directory, name);
    await writeFile(at('ak.pem'), key.key.export({ format: 'pem', type: 'spki' }));
    await writeFile(at('quote'), quote);
    await writeFile(at('signature'), signature);
    const args = ['-u', at('ak.pem'), '-m', at('quote'), '-s', at('signature'), '-g', 'sha256', '-q', nonce];
    const { exitCode } = await run('tpm2_checkquote', args, { okExitCodes: [0, 1, 2, 3, 4, 5] });
    return exitCode === 0;
  };

  test('holds for both, and by another nonce for neither', async () => {
    expect([ours(evidence, reading.nonce), await theirs(evidence, reading.nonce)]).toEqual([true, true]);
    const other = '01'.repeat(32);
    expect([ours(evidence, other), await theirs(evidence, other)]).toEqual([false, false]);
  });

  test('is accepted by us in no form that tpm2_checkquote refuses', async () => {
    const draw = createDraw(2);
    for (let index = 0; index < 60; index += 1) {
      const forged = { ...forgeQuote(evidence, draw), pcrValues: evidence.pcrValues };
      const isOurs = ours(forged, reading.nonce);
      // tpm2_checkquote reads past what follows a signature, which we refuse
      expect(isOurs && !(await theirs(forged, reading.nonce))).toBe(false);
      const isSame = forged.quote.equals(evidence.quote) && forged.signature.equals(evidence.signature);
      expect(isOurs).toBe(isSame);
    }
  });
});
