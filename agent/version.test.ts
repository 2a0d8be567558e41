import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { agentVersion } from '#agent/version.ts';

test('the agent tells the version of package.json', async () => {
  const manifest = JSON.parse(await readFile('package.json', 'utf8')) as { readonly version: string };
  expect(agentVersion).toBe(manifest.version);
});
