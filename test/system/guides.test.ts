import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openGuideStage } from '#test/guides/guide-stage.ts';
import { guideStages } from '#test/guides/guide-stages.ts';
import { readGuides, scriptsOf } from '#test/guides/read-guides.ts';
import { runScript } from '#test/guides/run-script.ts';

/** Each command of the README and the guides does what its page says: none of them ends with another exit code than 0. */

const scripts = scriptsOf(readGuides());

test.each(scripts)('$name', async (script) => {
  const setStage = guideStages[script.name];
  if (!setStage) throw new Error(`${script.name} has no stage in test/guides/guide-stages.ts`);
  const directory = await mkdtemp(join(tmpdir(), 'baton-guide-'));
  const { stage, close } = openGuideStage(directory);
  try {
    await setStage(stage);
    const { exitCode, stdout, stderr } = await runScript(script, stage);
    expect({ exitCode, stderr, stdout }).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/./) as unknown });
  } finally {
    await close();
    await rm(directory, { recursive: true });
  }
});

test('a command that fails amid others ends its script, and is named', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'baton-guide-'));
  const { stage, close } = openGuideStage(directory);
  try {
    const script = { name: 'page', text: '\n\nfalse && true\ntouch reached\n', files: new Map<string, string>() };
    expect(await runScript(script, stage)).toMatchObject({ exitCode: 1, stderr: 'line 3: exit code 1\n' });
    stage.replacements.set('192.0.2.9', '127.0.0.1');
    await expect(runScript(script, stage)).rejects.toThrow('page: "192.0.2.9" stands in no command of it');
  } finally {
    await close();
    await rm(directory, { recursive: true });
  }
});
