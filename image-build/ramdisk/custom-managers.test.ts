import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { paths } from '#image-build/build-context.ts';
import { bundleAgent, listCustomManagers } from '#image-build/ramdisk/agent-bundle.ts';
import { stageAgent } from '#image-build/ramdisk/stage-agent.ts';
import { run } from '#shared/process/run.ts';

/** Outside the repository, as an operator's own directory is. */
let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'baton-extra-'));
});
afterAll(() => rm(directory, { recursive: true }));

const manager = `
import { z } from 'zod';
import { hardwareSupport } from '#agent/hardware/hardware-manager.ts';
import { defineStep } from '#shared/steps/define-step.ts';
const step = defineStep({ interface: 'deploy', step: 'outside', priorities: { deploy: 50 }, destroys: 'none', description: 'an outsider',
  args: z.strictObject({}), run: () => Promise.resolve({ kind: 'done' as const }) });
export const hardwareManager = {
  className: 'OutsideManager', name: 'outside', version: '1',
  evaluateSupport: () => Promise.resolve(hardwareSupport.mainline),
  steps: [step],
};`;

const entry = `
import { customModules } from '#agent/custom/custom-modules.ts';
import { loadCustomHardware } from '#agent/custom/load-custom-hardware.ts';
const run = () => Promise.reject(new Error('no programs'));
void loadCustomHardware({ modules: customModules, scriptDirectory: '/none', taken: [], run }).then(({ managers, problems }) =>
  console.log(JSON.stringify({ managers: managers.map(({ className }) => className), problems })));`;

test('hardware managers of a directory are in the bundle, with the agent’s own copy of what they import', async () => {
  await writeFile(join(directory, 'outside.ts'), manager);
  await writeFile(join(directory, 'outside.test.ts'), 'this is not a part of it');
  await writeFile(join(directory, 'throws.mjs'), 'throw new Error("at import");');
  await writeFile(join(directory, 'entry.js'), entry);
  const modules = await listCustomManagers([directory]);
  expect(modules).toEqual([join(directory, 'outside.ts'), join(directory, 'throws.mjs')]);
  const stage = join(directory, 'stage');
  await stageAgent({ run }, await bundleAgent(join(directory, 'entry.js'), modules), stage, []);
  // nothing else on the line: the bytecode was taken
  const { stdout } = await run(paths.nodeBinary, [join(stage, 'usr/lib/baton/start-agent.cjs')]);
  expect(JSON.parse(stdout)).toEqual({
    managers: ['OutsideManager'],
    problems: ['hardware manager throws.mjs could not be loaded: at import'],
  });
});

test('a directory that is not there is named', async () => {
  await expect(listCustomManagers(['/nonexistent'])).rejects.toThrow('--extra /nonexistent: it must be a directory');
});
