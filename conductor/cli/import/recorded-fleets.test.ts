import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { z } from 'zod';
import type { Fleet } from '#conductor/cli/import/fleet.ts';
import { readMaas } from '#conductor/cli/import/read-maas.ts';
import { readManifests } from '#conductor/cli/import/read-manifests.ts';
import { readMetal3 } from '#conductor/cli/import/read-metal3.ts';
import { readTinkerbell } from '#conductor/cli/import/read-tinkerbell.ts';
import { readRecordings } from '#test/recorded/read-recordings.ts';

/** Output of the other systems, in their newest forms, is read as its recording says. */

const recordings = await readRecordings('imports', z.array(z.looseObject({ name: z.string() })).min(1));

async function readObjects(text: string, read: typeof readMetal3): Promise<Fleet> {
  const directory = await mkdtemp(join(tmpdir(), 'baton-recorded-'));
  try {
    const file = join(directory, 'objects.yaml');
    await writeFile(file, text);
    return read(await readManifests([file]));
  } finally {
    await rm(directory, { recursive: true });
  }
}

const readers: Readonly<Record<string, (outputs: Readonly<Record<string, string>>) => Fleet | Promise<Fleet>>> = {
  maas: (outputs) => readMaas(outputs['machines'] ?? '', outputs['power-parameters']),
  metal3: (outputs) => readObjects(outputs['hosts.yaml'] ?? '', readMetal3),
  tinkerbell: (outputs) => readObjects(outputs['hardware.yaml'] ?? '', readTinkerbell),
};

test.each(recordings)('$name: $shows', async ({ name, outputs, reading }) => {
  const [system = ''] = name.split('/');
  const fleet = await readers[system]?.(outputs);
  expect(fleet?.nodes).toHaveLength(reading.length);
  expect(fleet?.nodes).toMatchObject(reading);
  expect(fleet?.nodes.filter(({ refused }) => refused !== undefined)).toEqual([]);
});
