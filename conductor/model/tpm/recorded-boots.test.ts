import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { summariseBoot } from '#conductor/model/tpm/measured-boot.ts';
import { differingPcrs, type EventLog, readEventLog } from '#conductor/model/tpm/read-event-log.ts';
import type { PcrValues } from '#conductor/model/tpm/verify-quote.ts';
import { readRecordings } from '#test/recorded/read-recordings.ts';

const Reading = z.strictObject({
  secureBoot: z.boolean(),
  programs: z.number(),
  /** First and last of GRUB's commands. */
  grub: z.array(z.string()),
});
const recordings = await readRecordings('tpm/event-logs', Reading);

function open(outputs: Readonly<Record<string, string>>): { bytes: Buffer; pcrs: PcrValues } {
  const lines = (outputs['pcr-sha256'] ?? '').trim().split('\n');
  return {
    bytes: Buffer.from(outputs['binary_bios_measurements'] ?? '', 'base64'),
    pcrs: new Map(lines.map((line) => line.split(': ')).map(([pcr, value = '']) => [Number(pcr), value])),
  };
}

describe.each(recordings)('$name', ({ outputs, reading }) => {
  const { bytes, pcrs } = open(outputs);
  const log = readEventLog(bytes);

  test('gives the values that the TPM has', () => {
    expect(pcrs.size).toBe(14);
    expect(differingPcrs(log, pcrs)).toEqual([]);
  });

  test('says what was booted', () => {
    const { secureBoot, programs, variables } = summariseBoot(log, pcrs);
    expect({ secureBoot, programs: programs.length }).toEqual({
      secureBoot: reading.secureBoot,
      programs: reading.programs,
    });
    expect(Object.keys(variables)).toEqual(['SecureBoot', 'PK', 'KEK', 'db', 'dbx']);
    const commands = log.events
      .filter(({ pcr }) => pcr === 8)
      .map(({ data }) => data.toString('latin1').replaceAll('\0', ''))
      .filter((text) => text.startsWith('grub_cmd'));
    expect([commands.at(0), commands.at(-1)].filter((text) => text !== undefined)).toEqual(reading.grub);
  });

  test('with one event changed, left out or added gives other values', () => {
    const { events, locality } = log;
    const changed = (change: (events: EventLog['events'][number][]) => void): number[] => {
      const copy = [...events];
      change(copy);
      return differingPcrs({ events: copy, locality }, pcrs);
    };
    for (const [index, event] of events.entries()) {
      const digest = event.digest.replace(/^./, (first) => (first === '0' ? '1' : '0'));
      expect(changed((copy) => copy.splice(index, 1, { ...event, digest }))).toEqual([event.pcr]);
      expect(changed((copy) => copy.splice(index, 1))).toEqual([event.pcr]);
      expect(changed((copy) => copy.splice(index, 0, event))).toEqual([event.pcr]);
    }
  });

  test('is refused in words wherever it is cut, or is no log', () => {
    // a cut between two events leaves a log that is shorter, and does not add up
    for (let length = 0; length < bytes.length; length += 1) {
      const cut = bytes.subarray(0, length);
      let problem: unknown;
      try {
        problem = differingPcrs(readEventLog(cut), pcrs);
      } catch (error) {
        problem = error;
      }
      expect(problem instanceof Error ? problem.message : (problem as number[]).length).toSatisfy(
        (found: string | number) => (typeof found === 'string' ? /^(an|the) event/.test(found) : found > 0),
      );
    }
  });
});

test('whatever the log calls it, a program that was started is one', () => {
  const [recording] = recordings.filter(({ name }) => name === 'grub-cd');
  const { bytes, pcrs } = open(recording?.outputs ?? {});
  const log = readEventLog(bytes);
  const digest = 'e'.repeat(64);
  for (const type of [0x3, 0x4, 0x5, 0xd, 0x80000003, 0x80000004, 0x80000007]) {
    const events = [...log.events];
    events.splice(1, 0, { pcr: 4, type, digest, data: Buffer.from('Calling EFI Application from Boot Option') });
    const { programs } = summariseBoot({ ...log, events }, pcrs);
    expect(programs).toEqual([digest, ...summariseBoot(log, pcrs).programs]);
  }
});

test('an event text that its digest does not prove is not believed', () => {
  const [recording] = recordings.filter(({ name }) => name === 'secure-boot');
  const { bytes, pcrs } = open(recording?.outputs ?? {});
  const log = readEventLog(bytes);
  const lying = log.events.map((event) => {
    const data = Buffer.from(event.data);
    const isState = event.pcr === 7 && data.includes(Buffer.from('SecureBoot', 'utf16le'));
    if (isState) data[data.length - 1] = 0;
    return { ...event, data };
  });
  expect(differingPcrs({ ...log, events: lying }, pcrs), 'the digests are the same').toEqual([]);
  expect(summariseBoot(log, pcrs).secureBoot).toBe(true);
  expect(summariseBoot({ ...log, events: lying }, pcrs).secureBoot).toBeUndefined();
});
