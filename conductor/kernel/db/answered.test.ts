import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { rememberAnswers } from '#conductor/kernel/db/answered.ts';
import { silentLog } from '#shared/log.ts';

const here = { system: '1', timeline: 1 };

test('what is remembered is in the file once it is closed, and a later life’s file is left alone', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'baton-answered-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  const [file, other] = [join(directory, 'here.json'), join(directory, 'other.json')];
  const first = rememberAnswers(file, silentLog);
  first.adopt(here);
  first.add({ xid: '7', lsn: '0/1' });
  await first.close();
  expect(rememberAnswers(file, silentLog).memory()).toEqual({ ...here, marks: [{ xid: '7', lsn: '0/1' }] });

  const later = JSON.stringify({ ...here, timeline: 2, marks: [] });
  await writeFile(file, later);
  // writes of others that became due after the first's have been made, so it would have made its own
  const second = rememberAnswers(other, silentLog);
  for (const xid of ['8', '9']) {
    second.adopt(here);
    second.add({ xid, lsn: '0/1' });
    await expect.poll(() => readFile(other, 'utf8').catch(() => '')).toContain(xid);
  }
  expect(await readFile(file, 'utf8')).toBe(later);
});
