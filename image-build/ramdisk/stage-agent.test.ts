import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rootCertificates } from 'node:tls';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { extraHash, readAuthorities, stageAgent } from '#image-build/ramdisk/stage-agent.ts';
import { run } from '#shared/process/run.ts';

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'baton-stage-agent-'));
});
afterAll(() => rm(directory, { recursive: true }));

test('CAs of extra directories go where the agent is started with them, and change the hash', async () => {
  const [one = ''] = rootCertificates;
  expect(await readAuthorities([directory])).toBe('');
  const before = await extraHash([directory]);
  await writeFile(join(directory, 'ca.pem'), one);
  expect(await readAuthorities([directory])).toBe(`${one.trimEnd()}\n`);
  expect(await extraHash([directory])).not.toBe(before);
  const stage = join(directory, 'stage');
  await stageAgent({ run }, { code: Buffer.from(''), sha256: '', npmPackages: [] }, stage, [directory]);
  expect(await readFile(join(stage, 'usr/lib/baton/ca.pem'), 'utf8')).toBe(`${one.trimEnd()}\n`);
  expect(await readFile(join(stage, 'usr/lib/baton/run-agent'), 'utf8')).toContain('/usr/lib/baton/ca.pem');
  await writeFile(join(directory, 'ca.pem'), 'no certificate');
  await expect(readAuthorities([directory])).rejects.toThrow(/ca\.pem must be a PEM certificate/);
});
