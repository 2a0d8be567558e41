import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { layOutMachine, RecordedMachine, readRecordedMachine } from '#agent/hardware/testing/recorded-machine.ts';
import { readRecordings } from '#test/recorded/read-recordings.ts';

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'baton-recorded-'));
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(root, { recursive: true });
});

const recordings = await readRecordings('machines', RecordedMachine);

test.each(recordings)('$name: $shows', async ({ outputs, reading }) => {
  vi.stubEnv('PATH', `${await layOutMachine(root, outputs)}:/usr/bin:/bin`);
  const found = await readRecordedMachine(root, outputs, reading);
  expect(found).toMatchObject(reading);
  // nothing is among them that is not the machine's
  expect(found.cards).toEqual(reading.cards);
});
